"""An application by the PASS model: its run time on n nodes with processors capped at p watts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slurmsim.data_classes import dataclass, fields
from slurmsim.energy import fitting
from slurmsim.energy import frequency as model
from slurmsim.energy.scaling import share_of_t1
from slurmsim.errors import ConfigError

FloatArray = NDArray[np.float64]
BASE_W = 56.0
"""What a node draws beside its processor: 38 W and 18 W of memory (the paper's equation 5 forgets the memory)."""


@dataclass(frozen=True)
class Power:
    """A processor under an application: p = a f^3 + b f + c (W, GHz), used from `p_low_w` to `p_high_w`.

    `beta`, 0 to 1: the part of the time at `p_low_w` that full speed saves. A mapping, too: ``**TABLE["LeanMD"]``.
    """

    a: float
    b: float
    c: float
    p_low_w: float
    p_high_w: float
    beta: float

    def keys(self) -> Iterator[str]:
        """Names of its numbers."""
        return iter([one.name for one in fields(self)])

    def __getitem__(self, name: str) -> float:
        return float(getattr(self, name))


@dataclass(frozen=True)
class Application:
    """An application and its processors' power.

    Raises
    ------
    ConfigError
        A number is out of its range; the field names it.
    """

    t1_s: float  # seconds on one node at full speed
    # parallelism, sigma: a >= 1 and its variation, 0 to 1 (`scaling`)
    parallelism: float
    sigma: float
    # a, b, c, p_low_w, p_high_w, beta: as in `Power`
    a: float
    b: float
    c: float
    p_low_w: float
    p_high_w: float
    beta: float

    def __post_init__(self) -> None:
        for name, good, expected in (
            ("t1_s", self.t1_s > 0, "seconds, more than 0"), ("parallelism", self.parallelism >= 1, "at least 1"),
            ("sigma", 0 <= self.sigma <= 1, "from 0 to 1: Downey's other regime is not modelled"),
            ("a", self.a > 0, "more than 0"), ("b", self.b >= 0, "at least 0"), ("c", self.c >= 0, "at least 0"),
            ("p_low_w", self.p_low_w > self.c, "more than c"),
            ("p_high_w", self.p_high_w > self.p_low_w, "more than p_low_w"),
            ("beta", 0 <= self.beta < 1, "from 0 to less than 1"),
        ):  # fmt: skip
            if not (good and np.isfinite(getattr(self, name))):
                raise ConfigError(f"{name} = {getattr(self, name):g}", field=name, expected=expected)

    @property
    def power(self) -> Power:
        """Its processors."""
        return Power(self.a, self.b, self.c, self.p_low_w, self.p_high_w, self.beta)

    def frequency_ghz(self, watts: ArrayLike) -> Any:
        """Frequency at which the processor draws `watts`; scalars give a float, arrays an array of their shape."""
        return _like(model.frequency(watts, self.a, self.b, self.c))

    def power_w(self, ghz: ArrayLike) -> Any:
        """Watts the processor draws at that frequency."""
        return _like(model.power(ghz, self.a, self.b, self.c))

    def time_s(self, nodes: ArrayLike, watts: ArrayLike) -> Any:
        """Return the run time on `nodes` nodes with processors capped at `watts`; no cap works above `p_high_w`.

        Raises
        ------
        ConfigError
            Less than one node, or a cap below `p_low_w`, where the model says nothing.
        """
        n, p = np.asarray(nodes, np.float64), np.asarray(watts, np.float64)
        if not np.all(n >= 1):
            raise ConfigError(f"{np.min(n):g} nodes", field="nodes", expected="at least 1")
        if not np.all(p >= self.p_low_w):
            raise ConfigError(
                f"a cap of {np.min(p):g} W", field="watts", expected=f"p_low_w, {self.p_low_w:g}, or more"
            )
        low, high = (float(model.frequency(one, self.a, self.b, self.c)) for one in (self.p_low_w, self.p_high_w))
        full_speed = self.t1_s * share_of_t1(n, self.parallelism, self.sigma)
        ghz = model.frequency(np.minimum(p, self.p_high_w), self.a, self.b, self.c)
        slower = model.slowdown(ghz, low, high, self.beta)
        return _like(full_speed * np.where(p >= self.p_high_w, 1.0, slower))

    def speedup(self, nodes: ArrayLike, watts: ArrayLike, over: tuple[float, float] | None = None) -> Any:
        """How many times faster than on `over` = (nodes, watts); one node at full speed unless given."""
        before = self.t1_s if over is None else self.time_s(*over)
        return _like(before / np.asarray(self.time_s(nodes, watts)))

    def energy_j(self, nodes: ArrayLike, watts: ArrayLike, base_w: float = BASE_W) -> Any:
        """Joules of a whole run: its nodes draw the cap, at most `p_high_w`, and `base_w` each."""
        n = np.asarray(nodes, np.float64)
        drawn = np.minimum(np.asarray(watts, np.float64), self.p_high_w) + base_w
        return _like(n * drawn * np.asarray(self.time_s(nodes, watts)))

    @classmethod
    def fit(cls, nodes: ArrayLike, watts: ArrayLike, ghz: ArrayLike, seconds: ArrayLike) -> Fit:
        """Return the application that fits samples: a, b and c power and frequency, the others run times.

        Parameters
        ----------
        nodes, watts, ghz, seconds
            Of each sample: nodes used, watts and frequency of a processor, run time; (n,), n >= 6, with at least three
            frequencies and three counts of nodes.

        Raises
        ------
        ConfigError
            Too few samples, or numbers that cannot be; or SciPy is not installed.
        """
        n, p, f, t = fitting.checked(nodes, watts, ghz, seconds)
        (a, b, c), power_half = fitting.power_constants(f, p)
        low, high = float(f.min()), float(f.max())
        (t1, wide, vary, beta), time_half = fitting.time_constants(n, f, t, low, high)
        ends = model.power(np.array([low, high]), a, b, c)
        half_widths = {
            **dict(zip(("a", "b", "c"), power_half.tolist(), strict=True)),
            **dict(zip(("t1_s", "parallelism", "sigma", "beta"), time_half.tolist(), strict=True)),
        }
        modelled = fitting.seconds_of(n, f, low, high, t1, wide, vary, beta)
        found = cls(t1, wide, vary, a, b, c, float(ends[0]), float(ends[1]), beta)
        return Fit(found, half_widths, t - modelled, p - model.power(f, a, b, c))


@dataclass(frozen=True)
class Fit:
    """An application fitted to samples."""

    application: Application  # with the parameters found; its range of power is that of the samples
    # half of the 95 % confidence interval of each parameter that was fitted, by name; infinite where the samples do not
    # tell
    half_widths: dict[str, float]
    # residuals_s, residuals_w: measured less modelled: seconds and watts of each sample; (n,)
    residuals_s: FloatArray
    residuals_w: FloatArray


def _like(found: Any) -> Any:
    """Return a float of what has no dimension."""
    return float(found) if np.ndim(found) == 0 else np.asarray(found)
