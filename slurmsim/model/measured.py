"""What a job drew while it ran, as a log has measured it: text of the column ``watts``, and what it says."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.model.power import MOST_W

EXPECTED = "watts (900), or seconds and a value for each so many of them (300:900,950.5)"
MOST_VALUES = 100_000


@dataclass(frozen=True, slots=True)
class MeasuredPower:
    """Milliwatts of all nodes of a job; each value lasts `step_s` seconds of its run, the last one to its end."""

    step_s: int
    values: tuple[int, ...]

    def at(self, done_s: float) -> tuple[int, float | None]:
        """Return what it draws after `done_s` seconds, and for how long; None: to the end."""
        last = len(self.values) - 1
        at = min(int(done_s // self.step_s), last)
        level, until = self.values[at], at
        while until < last and self.values[until + 1] == level:
            until += 1
        return level, None if until == last else (until + 1) * self.step_s - done_s


def read_measured(text: str) -> MeasuredPower:
    """Return what a cell says. Raises ConfigError."""
    head, colon, rest = text.partition(":")
    words = rest.split(",") if colon else [head]
    try:
        step = int(head) if colon else 1
        values = tuple(float(word) for word in words)
    except ValueError:
        step, values = 0, ()
    if step < 1 or not values or len(values) > MOST_VALUES or not all(0 <= one <= MOST_W for one in values):
        raise ConfigError(f"{text[:60]!r}", field="watts", expected=EXPECTED)
    return MeasuredPower(step, tuple(round(1000 * one) for one in values))


def measured_text(samples: Sequence[float | None], each_s: int, step_s: int) -> str:
    """Return the cell for `samples` taken every `each_s` seconds, as means of `step_s` seconds; empty for none.

    A sample that is missing is not part of its mean; a mean without samples is that before it.
    """
    size = max(step_s // each_s, 1)
    means: list[float] = []
    for begin in range(0, len(samples), size):
        told = [one for one in samples[begin : begin + size] if one is not None and isfinite(one) and one >= 0]
        if told:
            means.append(min(sum(told) / len(told), MOST_W))
        elif means:
            means.append(means[-1])
    words = [f"{one:.1f}".removesuffix(".0") for one in means[:MOST_VALUES]]
    if len(set(words)) < 2:
        return words[0] if words else ""
    return f"{size * each_s}:{','.join(words)}"
