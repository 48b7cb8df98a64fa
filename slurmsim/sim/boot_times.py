"""How long nodes take to boot in a replay (``--boot-time``): always the same, or drawn for each boot."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import isfinite, log
from typing import NamedTuple

from slurmsim.errors import ConfigError
from slurmsim.numerals import is_number
from slurmsim.sim.network import BOOT_S

FIELD = "--boot-time"
EXPECTED = "seconds, A-B or lognormal:MEDIAN:SIGMA"
MOST_S = 86_400
MOST_SIGMA = 5.0


class BootTime(NamedTuple):
    """Seconds of a boot: `seconds` always, or uniform from `low` to `high`, or lognormal with a median and a sigma."""

    seconds: int = BOOT_S
    low: int = -1
    high: int = -1
    sigma: float = 0.0

    @classmethod
    def parse(cls, text: str) -> BootTime:
        """Return what a text means; "" is the default. Raises ConfigError.

        >>> BootTime.parse("90").seconds, BootTime.parse("60-180")[1:3], BootTime.parse("lognormal:90:0.5").sigma
        (90, (60, 180), 0.5)
        """
        if not text:
            return cls()
        kind, _, rest = text.partition(":")
        if kind == "lognormal":
            median, _, sigma = rest.partition(":")
            spread = _number(sigma, text)
            if spread > MOST_SIGMA:
                raise ConfigError(f"{text!r}", field=FIELD, expected=f"a sigma up to {MOST_SIGMA:g}")
            return cls(_seconds(median, text), sigma=spread)
        low, dash, high = text.partition("-")
        if not dash:
            return cls(_seconds(text, text))
        found = cls(low=_seconds(low, text), high=_seconds(high, text))
        if found.low > found.high:
            raise ConfigError(f"{text!r}", field=FIELD, expected="A-B with A not above B")
        return found

    def drawn_by(self, seed: int) -> Callable[[], int] | None:
        """Return what draws the seconds of a boot; None where all are alike."""
        source = random.Random(f"boot {seed}")
        if self.sigma:
            median = max(1, self.seconds)
            return lambda: min(MOST_S, round(source.lognormvariate(log(median), self.sigma)))
        return None if self.low < 0 else lambda: source.randint(self.low, self.high)


def _seconds(text: str, whole: str) -> int:
    if not is_number(text) or int(text) > MOST_S:
        raise ConfigError(f"{whole[:40]!r}", field=FIELD, expected=f"{EXPECTED}, up to {MOST_S:,} s")
    return int(text)


def _number(text: str, whole: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if not isfinite(found) or found < 0:
        raise ConfigError(f"{whole[:40]!r}", field=FIELD, expected=EXPECTED)
    return found
