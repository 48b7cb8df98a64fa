"""What papers say beside what was measured: claims with their verdicts, and the list of all a paper says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from slurmsim.data_classes import asdict, dataclass, replace
from slurmsim.experiments.verdicts import (
    MISSING,
    SEEDS_WORTH_NAMING,
    UNDETERMINED,
    VERDICTS,
    Measured,
    Target,
    judge,
    seeds_to_decide,
)
from slurmsim.metrics.estimate import Estimate, Share

NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Goal:
    """One claim of a paper, before a run."""

    what: str  # the claim in words
    where: str  # the table, figure, section or page that has it; empty for a claim of ours
    target: Target  # which of our values would mean the same
    value: float | None = None  # the number that is printed in the paper; None where it is said in words
    said: str = ""  # what is printed, if that is more than `value`
    corrected: float | None = None  # the value we take instead, where what is printed is wrong
    # unit, digits: how values are shown
    unit: str = ""
    digits: int = 2
    constructed: bool = False  # True if our value is fitted or forced

    @classmethod
    def near(cls, what: str, where: str, value: float, share: float, *, no_effect: float | None = None,
             corrected: float | None = None, **more: Any) -> Goal:  # fmt: skip
        """Return the goal of a number: ours may differ from it, or from its correction, by `share` of it."""
        target = Target.near(value if corrected is None else corrected, share, no_effect)
        return cls(what, where, target, value, corrected=corrected, **more)

    @classmethod
    def positive(cls, what: str, where: str, said: str = "yes", **more: Any) -> Goal:
        """Return the goal of a difference that the paper says is above zero, without a number."""
        return cls(what, where, Target(low=0.0, no_effect=0.0), said=said, **more)

    @property
    def paper(self) -> str:
        """What the paper prints, for a table."""
        if self.said:
            return self.said
        return NOTHING if self.value is None else self._number(self.value)

    def _number(self, value: float) -> str:
        return f"{value:,.{self.digits}f}{self.unit and ' ' + self.unit}"

    def called(self, what: str) -> Goal:
        """Return the same goal under another name."""
        return replace(self, what=what)

    def measured(self, ours: Measured, text: str = "") -> Claim:
        """Return the claim with the value that was measured; `text` says it, where a number does not."""
        aim = self.corrected if self.corrected is not None else self.value
        mean = ours.mean if isinstance(ours, Estimate | Share) else ours
        verdict = judge(self.target, ours, constructed=self.constructed)
        seeds = seeds_to_decide(self.target, ours) if verdict == UNDETERMINED else None
        shown = ours.text(self.digits) if isinstance(ours, Estimate | Share) else f"{ours:,.{self.digits}f}"
        if self.unit and not isinstance(ours, Share):  # a share says its own
            shown += f" {self.unit}"
        return Claim(
            self.what, self.where or NOTHING, self.paper,
            NOTHING if self.corrected is None else self._number(self.corrected), self.target.text(self.digits),
            text or shown, f"{mean / aim:.2f}" if aim else NOTHING, verdict, seeds,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Claim:
    """A row of a table of claims, in words."""

    what: str
    where: str
    # paper, corrected: what is printed in the paper, and what we put in its place where that is wrong
    paper: str
    corrected: str
    counts: str  # the values that count as the same
    ours: str
    ratio: str
    verdict: str
    seeds: int | None = None  # of an undetermined claim, how many replicates would decide it, as far as that is known

    @property
    def outcome(self) -> str:
        """The verdict for people."""
        return f"{self.verdict} ({self.wanted} replicates would decide)" if self.wanted else self.verdict

    @property
    def wanted(self) -> str:
        """How many replicates would decide it: ``about 18``; empty where that is not known, or nothing is open."""
        if self.verdict != UNDETERMINED or self.seeds is None:
            return ""
        many = self.seeds > SEEDS_WORTH_NAMING
        return f"more than {SEEDS_WORTH_NAMING:,}" if many else f"about {self.seeds}"


CLAIM_TITLES = ("claim", "where", "paper", "corrected", "counts as the same", "ours", "ratio", "verdict")


def not_attempted(what: str, reason: str, where: str = "", paper: str = NOTHING) -> Claim:
    """Return a claim that was not tried, and why."""
    return Claim(what, where or NOTHING, paper, NOTHING, NOTHING, reason, NOTHING, MISSING)


def claims_table(claims: Iterable[Claim], title: str = CLAIM_TITLES[0]) -> list[list[str]]:
    """Return a row a claim; the first row is a header. A column without an entry is left out."""
    rows = [[title, *CLAIM_TITLES[1:]]]
    rows += [[c.what, c.where, c.paper, c.corrected, c.counts, c.ours, c.ratio, c.outcome] for c in claims]
    used = [k for k in range(len(rows[0])) if k in (0, 2, 5, 7) or any(row[k] != NOTHING for row in rows[1:])]
    return [[row[k] for k in used] for row in rows]


@dataclass(frozen=True, slots=True)
class Listed:
    """One table, figure, equation or claim of a paper."""

    what: str  # what it is, in words
    claims: Sequence[str] = ()  # what the claims on it begin with, if the experiment has some
    shown: str = ""  # where else it is shown or checked; or why it was not attempted
    attempted: bool = True  # False if `shown` is such a reason

    def of(self, claims: Iterable[Claim]) -> list[Claim]:
        """Return those of `claims` that are about it."""
        return [claim for claim in claims if claim.what.startswith(tuple(self.claims))] if self.claims else []


def list_of_claims(listed: Iterable[Listed], claims: Sequence[Claim]) -> list[list[str]]:
    """Return all that a paper says with what became of it; the first row is a header."""
    rows = [["of the paper", "verdict"]]
    for one in listed:
        found = one.of(claims)
        if found:
            text = verdict_counts(found)
            rows.append([one.what, f"{text}; {one.shown}" if one.shown else text])
        elif one.claims or not one.attempted:
            reason = "this part was not run" if one.attempted else one.shown
            rows.append([one.what, f"{MISSING}: {reason}"])
        else:
            rows.append([one.what, one.shown])
    return rows


def verdict_counts(claims: Iterable[Claim]) -> str:
    """Return ``3 reproduced, 1 undetermined``; one claim is its verdict alone."""
    counts = Counter(claim.verdict for claim in claims)
    if counts.total() == 1:
        return next(iter(counts))
    return ", ".join(f"{counts[word]} {word}" for word in VERDICTS if counts[word])


def claim_facts(claims: Iterable[Claim]) -> list[dict[str, Any]]:
    return [asdict(claim) for claim in claims]


def in_order(values: Iterable[tuple[str, float]]) -> str:
    """Return ``a < b = c``: names by value, ties as ties."""
    return " ".join(_joined(sorted(values, key=lambda pair: pair[1])))


def _joined(ordered: Sequence[tuple[str, float]]) -> Iterator[str]:
    for k, (name, value) in enumerate(ordered):
        if k:
            yield "=" if value == ordered[k - 1][1] else "<"
        yield name
