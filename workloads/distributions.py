"""Distributions by their names in SciPy, drawn from a counter-based generator: draw k needs no draw before it.

5                                          always 5
{dist = "expon", scale = 3600}             parameters as SciPy names them: shapes, loc, scale
{dist = "poisson", mu = 8, least = 1}      cut off below and above by least and most
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.extras import how_to_install
from slurmsim_workloads.parameters import MOST

Floats = npt.NDArray[np.float64]
WORDS = 4  # random words of a job: one block of Philox


def uniforms(seed: int, stream: int, first: int, count: int) -> Floats:
    """(count, 4) numbers in (0, 1): row k are those of draw `first` + k, whatever was drawn before."""
    generator = np.random.Philox(key=np.array([seed, stream], np.uint64), counter=first)
    words = generator.random_raw(count * WORDS).reshape(count, WORDS)
    found: Floats = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return found


@dataclass(frozen=True)
class Distribution:
    """A distribution, or a constant."""

    constant: float = 0.0  # always that, if there is no `law`
    law: Any = None  # a frozen distribution of SciPy
    # least, most: what is beyond counts as these, and what is beyond `MOST` as `MOST`
    least: float = -math.inf
    most: float = math.inf

    def of(self, u: Floats) -> Floats:
        """Return the quantiles at the probabilities `u`, an array of the same shape."""
        if self.law is None:
            return np.full(len(u), self.constant)
        return np.clip(np.asarray(self.law.ppf(u), np.float64), self.least, min(self.most, MOST))


def read_distribution(value: Any, file: str, field: str, *, positive: bool) -> Distribution:
    """Return what a TOML value says; `positive`: something above 0 has to come out. Raises ConfigError."""
    if type(value) in (int, float):
        if not 0 <= value <= MOST or (positive and value == 0):
            expected = ("more than 0" if positive else "at least 0") + (f", at most {MOST:,}" if value > MOST else "")
            raise ConfigError(f"{str(value)[:40]}", file=file, field=field, expected=expected)
        return Distribution(float(value))
    if not isinstance(value, Mapping) or not isinstance(value.get("dist"), str):
        raise ConfigError(f"{value!r} is no distribution", file=file, field=field,
                          expected='a number, or {dist = "NAME in scipy.stats", …}')  # fmt: skip
    given = {key: one for key, one in value.items() if key not in ("dist", "least", "most")}
    for key, one in value.items():
        # beyond NumPy's numbers: whole ones of TOML may have hundreds of digits
        if key != "dist" and (type(one) not in (int, float) or not abs(one) < 1e300):
            raise ConfigError(f"{str(one)[:40]}", file=file, field=f"{field}.{key}", expected="a number")
    least, most = float(value.get("least", -math.inf)), float(value.get("most", math.inf))
    if least > most:
        raise ConfigError(f"least {least:g} is more than most {most:g}", file=file, field=field, expected="a range")
    with np.errstate(all="ignore"):  # SciPy multiplies what is infinite; the result is looked at
        law = _frozen(value["dist"], {key: float(one) for key, one in given.items()}, file, field)
        high = min(float(law.support()[1]), most)
    if positive and not high > 0:
        raise ConfigError("nothing above 0 can come out", file=file, field=field, expected="more than 0")
    return Distribution(0.0, law, least, most)


def _frozen(name: str, given: Mapping[str, float], file: str, field: str) -> Any:
    try:
        from scipy import stats
    except ImportError as error:
        raise ConfigError("SciPy is not installed", file=file, field=field,
                          expected=how_to_install("scipy")) from error  # fmt: skip
    known = getattr(stats, name, None)
    if not isinstance(known, stats.rv_continuous | stats.rv_discrete):
        raise ConfigError(f"no distribution of SciPy is called {name!r}", file=file, field=f"{field}.dist",
                          expected="as expon, gamma, lognorm, norm, poisson, uniform, weibull_min")  # fmt: skip
    names = [*(word.strip() for word in (known.shapes or "").split(",") if word.strip()), "loc"]
    names += [] if isinstance(known, stats.rv_discrete) else ["scale"]
    for key in given:
        if key not in names:
            expected = ", ".join([*names, "least", "most"])
            raise ConfigError("unknown parameter", file=file, field=f"{field}.{key}", expected=expected)
    for key in names:
        if key not in ("loc", "scale") and key not in given:
            raise ConfigError("missing", file=file, field=f"{field}.{key}", expected=f"a number: a shape of {name}")
    law = known(**given)
    if not math.isfinite(float(law.ppf(0.5))):
        raise ConfigError(f"{dict(given)} are no parameters of {name}", file=file, field=field,
                          expected="parameters SciPy takes")  # fmt: skip
    return law
