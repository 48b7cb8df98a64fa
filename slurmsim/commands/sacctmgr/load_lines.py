"""The lines of a file that sacctmgr loads: what each is about, and its options."""

from __future__ import annotations

from slurmsim.colon_fields import parts_of
from slurmsim.commands.sacctmgr.settings import ASSOCIATION, QOS, Settings
from slurmsim.commands.sacctmgr.words import Session, word_of
from slurmsim.fast_imports import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS = {"machine": "Cluster", "cluster": "Cluster", "parent": "Parent", "account": "Account", "project": "Account",
          "user": "User", "qos": "QOS"}  # fmt: skip
_LINE = pattern(r"\s*(\w+)\s*-\s*(.*)")
_COMMENT = pattern(r"(?<!\\)#.*")
OWN = {
    "Cluster": ("classification",), "Account": ("description", "organization"),
    "User": ("partition", "defaultaccount", "defaultwckey", "adminlevel", "coordinator"),
}  # fmt: skip
"""Options that are no limits."""


class Unreadable(Exception):
    """An option of a line cannot be read; what is to be said of it, "" where that is said."""


class Line:
    """One line: its number, `kind` (None for an unknown one), the name in quotes, and the rest."""

    def __init__(self, number: int, text: str, kind: str | None, rest: str, *, typed: bool) -> None:
        self.number, self.text, self.kind = number, text, kind
        self._parts, _ = parts_of(rest, typed=typed)
        self.name = self._parts[0].strip().strip("\"'")
        # limits and the like, once `options` has read them
        self.settings = Settings(QOS if kind == "QOS" else ASSOCIATION)

    def options(self, session: Session) -> dict[str, str]:
        """Options that are no settings, in lower case. Raises Unreadable."""
        found = {}
        for part in self._parts[1:]:
            if "=" not in part:
                raise Unreadable(f" Bad format on {part}: End your option with an '=' sign")
            word = word_of(part)
            key = word.name.lower()
            own = next((name for name in OWN.get(self.kind or "", ()) if name.startswith(key)), "")
            if own:
                found[own] = word.value.strip("\"'")
                continue
            if key == "fairshare" and word.value == "2147483647":
                word = word_of(f"{word.name}=parent")
            if not self.settings.take(session, word):
                raise Unreadable(f" Unknown option: {part}")
        return found

    def qos_options(self, session: Session) -> str:
        """Return the description of a QOS, its settings aside; "" for none. Raises Unreadable with the option."""
        description = ""
        known = {name.partition(":")[0].lower() for row in QOS for name in row.update.split(" ")}
        for part in self._parts[1:]:
            word = word_of(part)
            if word.name.lower() == "description":
                description = word.value.strip("\"'")
            elif not word.equals or not any(name.startswith(word.name.lower()) for name in known):
                raise Unreadable(part)
            else:
                self.settings.take(session, word)
        return description


def lines_of(text: str, *, typed: bool) -> Iterator[Line]:
    """Yield the lines that say something; what has no dash in it is passed over.

    `typed`: types of TRES may stand in them.
    """
    for number, raw in enumerate(text.splitlines(), 1):
        line = _COMMENT.sub("", raw).strip()
        match = _LINE.fullmatch(line)
        if match is not None:
            yield Line(number, raw.strip(), _KINDS.get(match[1].lower()), match[2], typed=typed)
