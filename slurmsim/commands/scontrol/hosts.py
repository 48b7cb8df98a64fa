"""``scontrol show hostnames``, ``hostlist`` and ``hostlistsorted``: nothing is asked of the daemon."""

from __future__ import annotations

from slurmsim.commands.scontrol.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Words = Sequence[str]
_MOST = 1 << 24  # characters of a file


def host_names(session: Session, value: str | None, words: Words) -> None:
    from slurmsim.commands.text.typed_hosts import typed_hosts

    text = value if value is not None else session.io.environ.get("SLURM_NODELIST")
    if text is None:
        session.error("host list is empty")
        return
    try:
        names = typed_hosts(text, session.error, session.release) if text else []
    except ValueError:
        names = []
    if text and not names:
        session.io.error(f"Invalid hostlist: {text}")
        return
    for name in names:
        session.io.out(f"{name}\n")


def host_list(ordered: bool) -> Callable[[Session, str | None, Words], None]:
    def handler(session: Session, value: str | None, words: Words) -> None:
        from slurmsim.commands.text.host_list_text import encode
        from slurmsim.commands.text.typed_hosts import typed_hosts

        if value is None:
            session.fail("invalid encode argument")
            session.usage(session)
            return
        text = value
        if value.startswith("/"):
            try:
                with open(value, encoding="utf-8", errors="surrogateescape") as file:
                    text = ",".join(filter(None, file.read(_MOST).replace("\n", ",").split(",")))
            except OSError:
                session.fail(f"Can not open {value}")
                return
        try:
            names = typed_hosts(text, session.error, session.release) if text else []
        except ValueError:
            session.fail(f"Invalid hostlist: {text}")
            return
        session.io.out(encode(names, ordered) + "\n")

    return handler
