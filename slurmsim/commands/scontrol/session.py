"""What a call of scontrol remembers: its switches, its exit code, and how it complains."""

from __future__ import annotations

from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.text.messages import Stop
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from slurmsim.commands.io import Io

NO_ERROR = "No error"
"""What errno says where nothing failed: of a word that cannot be read, or of the last of several ids."""


def null(value: Any) -> str:
    """Return a text, ``(null)`` for none."""
    return "(null)" if value is None else str(value)


class Session:
    """One call of scontrol."""

    def __init__(self, io: Io, release: str, usage: Callable[[Session], None]) -> None:
        # usage: prints what may be asked
        self.io, self.release, self.usage = io, release, usage
        # all, details, one_line, future: ``-a``, ``-d``, ``-o``, ``-F``
        # leave: a session is to end
        self.all = self.details = self.one_line = self.future = self.leave = False
        # quiet: 1 with ``-Q``, -1 with ``-v``
        # code: exit code so far
        self.quiet = self.code = 0
        # dump, parser, argv: ``--json`` or ``--yaml``, what follows it, and all words as they came
        self.dump = self.parser = ""
        self.argv: list[str] = ["scontrol"]
        self.acting_uid: int | None = None  # ``-u``: the user that an update of a job acts for
        self._hello: dict[str, Any] | None = None

    # -- complaints -------------------------------------------------------------------------------------------------

    def fail(self, text: str) -> None:
        """Print a line on standard error, also with -Q; set exit code 1."""
        self.code = 1
        self.io.error(text)

    def warn(self, text: str) -> None:
        """Print a line on standard error, but not with -Q; set exit code 1."""
        self.code = 1
        if self.quiet != 1:
            self.io.error(text)

    def error(self, text: str) -> None:
        """Print a line as Slurm's log has it; the exit code stays."""
        self.io.error(f"scontrol: error: {text}")

    def refuse(self, text: str) -> None:
        """Print a line as Slurm's log has it; the exit code is 1."""
        self.code = 1
        self.error(text)

    def complain(self, what: str, text: str, *, loud: bool = False) -> None:
        """Print ``what: text`` as perror does; where -Q matters without the blank, or the text if nothing failed."""
        self.code = 1
        if self.quiet == 1 and not loud:
            return
        if loud or not since(self.release, "colon_without_blank"):
            self.io.error(f"{what}: {text}")
        else:
            self.io.error(what if text == NO_ERROR else f"{what}:{text}")

    # -- the cluster --------------------------------------------------------------------------------------------------

    @property
    def hello(self) -> dict[str, Any]:
        """What the daemon says of itself and of who asks; nothing when it does not answer."""
        if self._hello is None:
            try:
                self._hello = self.io.client.call("hello")
            except FAILED_CALLS:
                self._hello = {}
        return self._hello

    @property
    def now(self) -> int:
        """The cluster's clock."""
        return int(self.hello.get("now") or self.io.now())

    @property
    def privileged(self) -> bool:
        """True if who asks is the cluster's owner or an operator."""
        return bool(self.hello.get("operator"))

    def uid_of(self, name: str) -> int | None:
        """Return the id of a user by name or number."""
        try:
            found = self.io.client.call("users", names=[name])["uids"][0]
        except FAILED_CALLS:
            return None
        return None if found is None else int(found)

    def use_cluster(self, names: str) -> None:
        """-M: only the cluster itself is known."""
        own = str(self.hello.get("cluster") or "")
        if not names or not own:
            return
        from slurmsim.commands.text.cluster_facts import NO_CLUSTER, not_reached

        lines = not_reached(names, own, database=bool(self.hello.get("accounting", True)))
        for line in lines:
            self.io.error(line)
        if not lines:
            return
        if since(self.release, "unknown_cluster_is_fatal"):
            self.io.error(f"scontrol: fatal: {NO_CLUSTER}")
        raise Stop(1)

    def request(self, name: str, **arguments: Any) -> str:
        """Make a request; return what is wrong with it, "" for nothing."""
        try:
            self.io.client.call(name, **arguments)
        except FAILED_CALLS as error:
            return text_of(error)
        return ""

    def load(self, what: str, fields: list[str], **arguments: Any) -> list[dict[str, Any]]:
        """Return records as rows. Raises Refusal or Unreachable."""
        answer = self.io.client.call(what, fields=fields, **arguments)
        columns = answer["columns"]
        if answer.get("now") is not None:
            self.hello["now"] = answer["now"]
        return [{name: columns[name][k] for name in fields} for k in range(answer["n"])]
