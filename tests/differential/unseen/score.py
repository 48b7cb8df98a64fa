"""Which commands count, which are equal, and the table of both by verb.

A command counts if it had an effect: real Slurm printed something beside headings. A difference that shows nothing new
counts once: one whose every differing word differed in the same way before in its session, where numbers differ in
the same way if they are equally far apart (a job refused by one side shifts all later ids). Such repeats are neither
equal nor different. Where a session was recorded twice, what real Slurm itself answered differently does not count
either.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

VIEWS = frozenset({"squeue", "sinfo", "sacct", "sprio", "sshare", "sacctmgr"})
_WORD = re.compile(r"[^\s|,;()'\"\[\]]+")


@dataclass
class Answer:
    """What one side answered, volatile parts replaced."""

    code: int | None
    out: list[str]
    error: list[str]

    @property
    def lines(self) -> list[str]:
        return [*self.out, *self.error]


@dataclass
class Judged:
    """One command that was compared. `verdict`: equal, different, repeat, no effect, unsure."""

    session: str
    number: int
    verb: str
    option: str
    command: str
    verdict: str
    real: Answer
    ours: Answer
    persona: str = ""

    @property
    def kind(self) -> str:
        """The kind of cluster a session of personas was on."""
        return self.session.partition("-")[2]

    def difference(self) -> str:
        """The lines that differ, for people."""
        head = [] if self.real.code == self.ours.code else [f"exit code {self.ours.code}, real {self.real.code}"]
        found = difflib.unified_diff(self.real.lines, self.ours.lines, "real", "ours", lineterm="", n=0)
        return "\n".join([*head, *found])


def has_effect(verb: str, answer: Answer) -> bool:
    """Whether there is anything beside headings."""
    if verb not in VIEWS or answer.code or answer.error:
        return bool(answer.lines) or bool(answer.code)
    rows = answer.out
    dashed = len(rows) > 1 and not rows[1].strip("-+ ")
    # one line without a heading is a row; that it was none of the two is not to be seen, so it counts as heading
    return len(rows) > 2 if dashed else len(rows) > 1 or any(re.search(r"\d", row) for row in rows)


def facts(real: Answer, ours: Answer) -> set[tuple[str, str]]:
    """The pairs of words that differ; a number beside another one is told by how far they are apart."""
    found: set[tuple[str, str]] = set()
    if real.code != ours.code:
        found.add((f"exit {real.code}", f"exit {ours.code}"))
    for mine, theirs in ((ours.out, real.out), (ours.error, real.error)):
        blocks = difflib.SequenceMatcher(None, theirs, mine, autojunk=False).get_opcodes()
        for tag, a, b, c, d in blocks:
            if tag != "equal":
                found |= _words(_WORD.findall("\n".join(theirs[a:b])), _WORD.findall("\n".join(mine[c:d])))
    return found


def _words(theirs: list[str], mine: list[str]) -> set[tuple[str, str]]:
    found = set()
    for tag, a, b, c, d in difflib.SequenceMatcher(None, theirs, mine, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        left, right = theirs[a:b], mine[c:d]
        for k in range(max(len(left), len(right))):
            found.add(_pair(left[k] if k < len(left) else "", right[k] if k < len(right) else ""))
    return found


def _pair(real: str, ours: str) -> tuple[str, str]:
    one, other = re.findall(r"\d+", real), re.findall(r"\d+", ours)
    if one and len(one) == len(other) and re.sub(r"\d+", "#", real) == re.sub(r"\d+", "#", ours):
        return re.sub(r"\d+", "#", real), " ".join(str(int(b) - int(a)) for a, b in zip(one, other, strict=True))
    return real, ours


@dataclass
class Tally:
    """How many commands of one verb were equal, different, and did not count."""

    counts: Counter[str] = field(default_factory=Counter)

    @property
    def asked(self) -> int:
        return self.counts["equal"] + self.counts["different"]

    @property
    def rate(self) -> float:
        return self.counts["equal"] / self.asked if self.asked else 1.0

    @property
    def plain_rate(self) -> float:
        """With every repeat a difference of its own."""
        return self.counts["equal"] / (self.asked + self.counts["repeat"]) if self.asked else 1.0


def judge(session: str, pairs: Iterable[tuple[dict[str, Any], Answer, Answer, bool]]) -> list[Judged]:
    """The verdict on each command of a session, in order: step, real answer, ours, whether real Slurm repeats it."""
    seen: set[tuple[str, str]] = set()
    found = []
    for step, real, ours, sure in pairs:
        new = facts(real, ours)
        if not sure:
            verdict = "unsure"
        elif not new:
            verdict = "equal" if has_effect(step["verb"], real) else "no effect"
        else:
            verdict = "different" if new - seen else "repeat"
        seen |= new
        found.append(Judged(session, step["n"], step["verb"], step["option"], step["cmd"], verdict, real, ours,
                            step.get("persona", "")))  # fmt: skip
    return found


Key = Callable[[Judged], str]


def by_verb(one: Judged) -> str:
    """What was asked."""
    return one.verb


def by_persona(one: Judged) -> str:
    """Who asked."""
    return one.persona


def by_kind(one: Judged) -> str:
    """On which kind of cluster."""
    return one.kind


def tallies(judged: Iterable[Judged], key: Key = by_verb) -> dict[str, Tally]:
    """By verb, or another key; the scene does not count."""
    found: dict[str, Tally] = {}
    for one in judged:
        if one.verb != "scene":
            found.setdefault(key(one), Tally()).counts[one.verdict] += 1
    return found


def table(judged: Iterable[Judged], key: Key = by_verb) -> str:
    """As Markdown, a row a verb, or what else the key tells."""
    rows = tallies(judged, key)
    whole = Tally(sum((tally.counts for tally in rows.values()), Counter()))
    head = key.__name__.removeprefix("by_")
    lines = [f"| {head} | asked | equal | rate | repeats | without effect |", "|---|---|---|---|---|---|"]
    for name, tally in [*sorted(rows.items()), ("**all**", whole)]:
        counts = tally.counts
        lines.append(f"| {name} | {tally.asked} | {counts['equal']} | {tally.rate:.1%} | {counts['repeat']} "
                     f"| {counts['no effect'] + counts['unsure']} |")  # fmt: skip
    return "\n".join(lines)


def figures(judged: list[Judged], itself: list[Judged], values: list[int]) -> dict[str, Any]:
    """Asked and equal by persona and kind, of so many sessions, as tests/docs/persona_tables.py reads them.

    Beside that real Slurm's last recording by those before it, and the `values` of documents.
    """
    by_key = {"persona": tallies(judged, by_persona), "kind": tallies(judged, by_kind)}
    rows = {name: {row: [t.asked, t.counts["equal"]] for row, t in sorted(of.items())} for name, of in by_key.items()}
    again = Tally(sum((tally.counts for tally in tallies(itself).values()), Counter()))
    sessions = len({one.session for one in judged})
    return {"sessions": sessions, **rows, "again": [again.asked, again.counts["equal"]], "values": values}
