"""The words of a sacctmgr command: conditions, settings, formats; and the voice that says what is wrong with them.

Mirrors the _set_cond and _set_rec of sacctmgr (22.05): names may be shortened, case does not matter, a word without
``=`` is a name.
"""

from __future__ import annotations

from slurmsim.commands.sacctmgr.fields import matches
from slurmsim.commands.text.dashed_table import Style
from slurmsim.commands.text.database_away import database_away
from slurmsim.commands.text.messages import Stop
from slurmsim.commands.text.values import leading_number
from slurmsim.fast_imports import NamedTuple, dataclass, field, pattern
from slurmsim.protocol import DENIED, Refusal, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.io import Io


NO_PRIVILEGE = "Your user doesn't have privilege to perform this action"
_OPTION = pattern(r"(?s)(.*?)([+-]?)=(.*)")


class Word(NamedTuple):
    """``name``, ``operator`` (+, - or nothing) and ``value`` of NAME+=VALUE; a bare word has no `equals`."""

    text: str
    name: str
    operator: str
    value: str
    equals: bool


def folded(word: Word) -> str:
    """Return the value of a word without its quotes, in lower case."""
    return word.value.strip("\"'").lower()


def word_of(text: str) -> Word:
    """One word taken apart."""
    match = _OPTION.fullmatch(text)
    if match is None or not match[1]:
        return Word(text, text, "", text, False)
    return Word(text, match[1], match[2], match[3], True)


def names_in(text: str, *, fold: bool = True) -> list[str]:
    """Return a list of names, each once; in lower case with `fold`."""
    text = text.strip("\"'")
    found = [name.strip().strip("\"'") for name in text.split(",")]
    if not text:
        return [""]
    return list(dict.fromkeys(name.lower() if fold else name for name in found if name))


@dataclass
class Session:
    """One sacctmgr: its options, and whether something went wrong."""

    io: Io
    release: str
    style: Style = field(default_factory=Style)
    immediate: bool = False
    with_assoc: bool = False
    readonly: bool = False
    quiet: int = 0
    code: int = 0
    dump: str = ""
    parser: str | None = None
    over: bool = False
    unread: str = ""
    """What was typed behind an answer, of which the first letter counts: the next question reads on there."""
    argv: list[str] = field(default_factory=list)

    @property
    def now(self) -> int:
        """Return the cluster's clock, epoch seconds. Raises Refusal and Unreachable."""
        return int(self.io.client.call("ping")["now"])

    def wrong(self, text: str) -> None:
        """Say it, and end with exit code 1."""
        self.code = 1
        self.io.error(text)

    def note(self, text: str) -> None:
        self.io.error(text)

    def list(self, kind: str, **arguments: Any) -> list[dict[str, Any]]:
        """Return records of the database. Raises Stop."""
        try:
            found: list[dict[str, Any]] = self.io.client.call("account_list", kind=kind, **arguments)["records"]
        except Unreachable as error:
            self.io.error(database_away("sacctmgr", error))
            raise Stop(1) from None
        except Refusal as error:
            text = error.text
            self.io.error(f"sacctmgr: error: {NO_PRIVILEGE if text == DENIED and kind == 'wckey' else text}")
            if text == DENIED:
                whole = kind in ("account", "reservation")
                self.io.error(" Problem with query." if whole else f" Error with request: {text}")
            raise Stop(1) from None
        return found

    def ask(self, warning: str) -> bool:
        """Ask whether to go on (commit_check); no answer in time means no."""
        if self.immediate:
            return True
        io = self.io
        io.out(f"{warning} (You have 30 seconds to decide)\n")
        io.out("(N/y): ")
        io.stdout.flush()
        answer, self.unread = self.unread or io.stdin.readline(), ""
        if not answer:
            io.out("timeout\n")
            return False
        io.out("\n")
        self.unread = answer[1:]
        return answer[:1] in ("y", "Y")


_CONDITIONS = (
    ("Accounts:2 Acct:4", "accounts"), ("Ids:1 Associations:2", "ids"), ("Clusters:1", "clusters"),
    ("DefaultQOS:8", "default_qos"), ("Partitions:3", "partitions"), ("Parents:4", "parents"), ("QosLevel:1", "qos"),
    ("Users:1", "users"),
)  # fmt: skip


def association_condition(session: Session, cond: dict[str, Any], word: Word) -> bool:
    """Conditions that choose associations (sacctmgr_set_assoc_cond)."""
    key = next((key for names, key in _CONDITIONS if matches(word.name, names)), None)
    if key is None:
        return False
    if key != "ids":
        found = known_qos(session, word.value) if key in ("default_qos", "qos") else names_in(word.value)
        cond.setdefault(key, []).extend(found)
        return True
    for text in names_in(word.value):
        number, rest = leading_number(text)  # what follows it counts for nothing: 1-5 is 1
        if rest == text:
            session.wrong(f"sacctmgr: error: Invalid value for AssocId ({text})")
        else:
            cond.setdefault("ids", []).append(number)
    return True


def known_qos(session: Session, text: str) -> list[str]:
    """Names of QOS that exist; says which does not."""
    known = [record["name"] for record in session.list("qos")]
    ids = {str(record["id"]): record["name"] for record in session.list("qos")}
    found = []
    for item in names_in(text):
        sign, name = (item[0], item[1:]) if item[:1] in "+-" and item else ("", item)
        name = ids.get(name, name)
        if name not in known:
            session.wrong(f"sacctmgr: error: You gave a bad qos '{name}'. Valid QOS's are {','.join(known)}")
            return []
        found.append(sign + name)
    return found
