"""The verdict on a published claim: the same rule in every experiment.

`Target` is what a paper says, with the values of ours that would mean the same, written down before a run. What was
measured is an interval: a point where nothing is drawn at random, else the 95 % interval of a mean or of a share.
`judge` goes through these questions in order:

1. Was the figure fitted or forced? Then it is *by construction*, and no finding.
2. Was it not tried? *not attempted*; the reason is said beside it.
3. Is the interval inside the target? *reproduced*.
4. Does it hold "no effect", and meet the target? *undetermined*.
5. Is it wholly on the paper's side of "no effect"? *direction only*.
6. Else: *not reproduced*.

A figure without a direction has no value for "no effect": it is *undetermined* where its interval meets the target.
"""

from __future__ import annotations

import math

from slurmsim.data_classes import dataclass
from slurmsim.metrics.estimate import Estimate, Share

REPRODUCED, UNDETERMINED, DIRECTION, NOT, CONSTRUCTED, MISSING = (
    "reproduced", "undetermined", "direction only", "not reproduced", "by construction", "not attempted",
)  # fmt: skip
VERDICTS = (REPRODUCED, UNDETERMINED, DIRECTION, NOT, CONSTRUCTED, MISSING)
SEEDS_WORTH_NAMING = 1000
Measured = float | Estimate | Share


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a measured value lies, ends included."""

    low: float
    high: float

    @classmethod
    def of(cls, measured: Measured) -> Interval:
        """Return a point for a number, the 95 % interval of an estimate; of one replicate nothing is known."""
        if isinstance(measured, Share):
            return cls(*measured.ends)
        if isinstance(measured, Estimate):
            half = math.inf if measured.half is None else measured.half
            return cls(measured.mean - half, measured.mean + half)
        return cls(measured, measured)


@dataclass(frozen=True, slots=True)
class Target:
    """The values of ours that would mean what the paper says."""

    # low, high: its two ends. They count, but for an end that is `no_effect`.
    low: float = -math.inf
    high: float = math.inf
    # the value at which the paper's claim is empty; None for a figure without a direction
    no_effect: float | None = None

    @classmethod
    def near(cls, value: float, share: float, no_effect: float | None = None) -> Target:
        """Return the target of values that differ from `value` by no more than `share` of it."""
        margin = abs(value) * share
        return cls(value - margin, value + margin, no_effect)

    @property
    def side(self) -> int:
        """1 where the paper's values are above "no effect", -1 where they are below, 0 without a direction."""
        if self.no_effect is None:
            return 0
        return 1 if self.low >= self.no_effect else -1

    def holds(self, ours: Interval) -> bool:
        """Return True if all of `ours` lies inside."""
        return self._reaches(ours.low) and self._stays(ours.high)

    def meets(self, ours: Interval) -> bool:
        """Return True if some of `ours` lies inside."""
        return self._reaches(ours.high) and self._stays(ours.low)

    def _reaches(self, value: float) -> bool:
        return value > self.low or (value == self.low and value != self.no_effect)

    def _stays(self, value: float) -> bool:
        return value < self.high or (value == self.high and value != self.no_effect)

    def text(self, digits: int = 2) -> str:
        """Return it for a table: ``0.5 to 0.7``, ``> 0``, ``≤ 3``."""
        ends = {end: f"{end:,.{digits}f}".rstrip("0").rstrip(".") if digits else f"{end:,.0f}"
                for end in (self.low, self.high) if math.isfinite(end)}  # fmt: skip
        if self.low == self.high:
            return ends[self.low]
        if math.isinf(self.high):
            return f"{'>' if self.low == self.no_effect else '≥'} {ends[self.low]}"
        if math.isinf(self.low):
            return f"{'<' if self.high == self.no_effect else '≤'} {ends[self.high]}"
        return f"{ends[self.low]} to {ends[self.high]}"


def judge(target: Target, measured: Measured, *, constructed: bool = False) -> str:
    """Return the verdict on a claim, by the rule of this module."""
    ours = Interval.of(measured)
    if constructed:
        return CONSTRUCTED
    if target.holds(ours):
        return REPRODUCED
    nothing = target.no_effect
    if target.meets(ours) and (nothing is None or ours.low <= nothing <= ours.high):
        return UNDETERMINED
    if nothing is not None and (ours.low > nothing if target.side > 0 else ours.high < nothing):
        return DIRECTION
    return NOT


def seeds_to_decide(target: Target, measured: Measured) -> int | None:
    """Return about how many replicates an undetermined claim wants, if the mean stays; None where that is not known.

    An interval shrinks with the root of the number of replicates. It has to leave out "no effect", or to lie inside
    the target or beside it.
    """
    if not isinstance(measured, Estimate) or not measured.half:
        return None
    room = min((abs(measured.mean - end) for end in (target.low, target.high) if math.isfinite(end)), default=0.0)
    wanted = room if target.no_effect is None else max(room, abs(measured.mean - target.no_effect))
    if wanted <= 0:
        return None
    return max(math.ceil(measured.n * (measured.half / wanted) ** 2), measured.n + 1)
