"""Recorded commands that differ here, each with its reason: ``tests/conformance/commands/known.toml``.

``python tests/golden/known.py`` prints the tables of docs/fidelity-figures.md; with ``--write`` it puts them there.
What is listed is held against reality by ``replay.py --check``. Differences that no recording shows are beside them.
"""

from __future__ import annotations

import gzip
import json
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
SESSIONS = TOP / "tests" / "conformance" / "commands"
LIST, PAGE = SESSIONS / "known.toml", TOP / "docs" / "fidelity-figures.md"
BEGIN, END = "<!-- known differences: made by tests/golden/known.py -->\n", "<!-- end of known differences -->\n"
_WIDTH = 36
_RELEASE = {"rules": "22.05"}


@dataclass(frozen=True, slots=True)
class Known:
    """What may differ: texts of reasons by name, and of each session the reason's name by step."""

    reasons: Mapping[str, str]
    steps: Mapping[str, Mapping[int, str]]
    since: Mapping[str, str] = field(default_factory=dict)
    """Version of slurmsim that listed a command first, by ``session#step``; "" has that of the others."""
    open: Sequence[Mapping[str, str]] = ()
    """Differences without a recording: `id`, `releases`, `since` and `what` of each."""

    def of(self, session: str) -> Mapping[int, str]:
        """Step -> name of the reason, of a session called ``22.05/sinfo``."""
        return self.steps.get(session, {})


def session_of(path: Path) -> str:
    """What a recording is called in the list.

    >>> session_of(Path("tests/commands/22.05/sinfo.json.gz"))
    '22.05/sinfo'
    """
    return f"{path.resolve().parent.name}/{path.name.partition('.json')[0]}"


@cache
def known() -> Known:
    """The list. Raises ValueError for a reason nobody has given, or a step listed twice."""
    found = tomllib.loads(LIST.read_text("utf-8"))
    reasons: dict[str, str] = found["reasons"]
    steps: dict[str, dict[int, str]] = {}
    for session, groups in found["sessions"].items():
        mine = steps.setdefault(session, {})
        for reason, numbers in groups.items():
            if reason not in reasons:
                raise ValueError(f"{LIST}: {session}: no reason {reason!r}")
            for number in numbers:
                if number in mine:
                    raise ValueError(f"{LIST}: {session}: step {number} is listed twice")
                mine[number] = reason
    since = {"": found["since"], **{name: version for version, names in found["later"].items() for name in names}}
    return Known(reasons, steps, since, found["open"])


def compare(session: str, differing: Iterable[int]) -> tuple[list[int], list[int]]:
    """Steps that differ without a reason, and listed ones that do not differ any more."""
    listed, found = known().of(session), set(differing)
    return sorted(found - set(listed)), sorted(set(listed) - found)


def _commands(session: str) -> dict[int, str]:
    data: dict[str, Any] = json.loads(gzip.decompress((SESSIONS / f"{session}.json.gz").read_bytes()))
    return {step["n"]: step["cmd"] for step in data["steps"] if "cmd" in step}


def _short(command: str) -> str:
    text = " ".join(command.split())
    text = text if len(text) <= _WIDTH else text[: _WIDTH - 2] + " …"
    return text.replace("|", "\\|").replace("`", "'")


def table() -> str:
    """All of it as Markdown: the reasons, then commands by session and reason, then what no recording shows."""
    listed = known()
    count = {name: sum(list(steps.values()).count(name) for steps in listed.steps.values()) for name in listed.reasons}
    lines = ["| reason | commands | |", "|---|---|---|"]
    lines += [f"| {name} | {count[name]} | {text} |" for name, text in listed.reasons.items()]
    lines += ["", "| id | release | command | since | reason |", "|---|---|---|---|---|"]
    for session, steps in sorted(listed.steps.items()):
        commands, top = _commands(session), session.partition("/")[0]
        rows: dict[tuple[str, str], list[int]] = {}
        for n in sorted(steps):
            since = listed.since.get(f"{session}#{n}", listed.since[""])
            rows.setdefault((steps[n], since), []).append(n)
        for (reason, since), numbers in rows.items():
            shown = ", ".join(dict.fromkeys(f"`{_short(commands[n])}`" for n in numbers))
            name = f"{session}#{','.join(map(str, numbers))}"
            lines.append(f"| {name} | {_RELEASE.get(top, top)} | {shown} | {since} | {reason} |")
    lines += ["", "| id | release | what differs | since |", "|---|---|---|---|"]
    lines += [f"| {one['id']} | {one['releases']} | {one['what']} | {one['since']} |" for one in listed.open]
    return "\n".join(lines) + "\n"


def page() -> str:
    """docs/fidelity-figures.md with the table as it should be. Raises ValueError where the page has no place for it."""
    text = PAGE.read_text("utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE}: no {(END if begin else BEGIN).strip()}")
    return before + begin + "\n" + table() + "\n" + end + after


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), "utf-8")
    else:
        print(table(), end="")
