"""Parameters of an application from samples of real runs, each with half of its 95 % confidence interval."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slurmsim.energy import frequency as model
from slurmsim.energy.scaling import share_of_t1
from slurmsim.errors import ConfigError
from slurmsim.extras import how_to_install
from slurmsim.laws import student_quantile

FloatArray = NDArray[np.float64]
LEAST = 6  # samples: as many as there are parameters of a kind, and more


def checked(nodes: ArrayLike, watts: ArrayLike, ghz: ArrayLike, seconds: ArrayLike) -> tuple[FloatArray, ...]:
    """Return the samples as arrays (n,). Raises ConfigError for too few, and for numbers that cannot be."""
    n, p, f, t = (np.asarray(one, np.float64).ravel() for one in (nodes, watts, ghz, seconds))
    if not len(n) == len(p) == len(f) == len(t):
        raise ConfigError("columns of different lengths", field="samples", expected="nodes, watts, GHz and s of each")
    for name, values, good, expected in (
        ("nodes", n, n >= 1, "at least 1"), ("watts", p, p > 0, "more than 0"), ("ghz", f, f > 0, "more than 0"),
        ("seconds", t, t > 0, "more than 0"),
    ):  # fmt: skip
        wrong = values[~(good & np.isfinite(values))]
        if len(wrong):
            raise ConfigError(f"a sample of {wrong[0]:g}", field=name, expected=expected)
    if len(n) < LEAST or len(np.unique(f)) < 3 or len(np.unique(n)) < 3:
        raise ConfigError(
            f"{len(n)} samples of {len(np.unique(f))} frequencies and {len(np.unique(n))} counts of nodes",
            field="samples", expected=f"at least {LEAST}, 3 and 3",
        )  # fmt: skip
    return n, p, f, t


def power_constants(f: FloatArray, p: FloatArray) -> tuple[tuple[float, float, float], FloatArray]:
    """Return a > 0, b and c >= 0 by least squares (equation 18), and their half-widths."""
    from_scipy = _scipy()
    columns = np.stack([f**3, f, np.ones_like(f)], axis=1)
    found = from_scipy.lsq_linear(columns, p, bounds=([1e-9, 0, 0], np.inf)).x
    residuals = p - columns @ found
    return (float(found[0]), float(found[1]), float(found[2])), _half_widths(columns, residuals)


def time_constants(
    n: FloatArray, f: FloatArray, t: FloatArray, low: float, high: float
) -> tuple[tuple[float, float, float, float], FloatArray]:
    """T1, A, sigma and beta by least squares of relative errors, from several beginnings, and their half-widths."""
    least_squares = _scipy().least_squares
    t1 = float(t[n == n.min()].min() * n.min())

    def errors(x: FloatArray) -> FloatArray:
        return np.asarray(seconds_of(n, f, low, high, float(np.exp(x[0])), float(np.exp(x[1])), x[2], x[3]) / t - 1)

    bounds = ([-50.0, 0.0, 0.0, 0.0], [50.0, 30.0, 1.0, 0.999])
    begins = [(np.log(t1), np.log(wide), vary, 0.3) for wide in np.geomspace(max(n.max() / 4, 1), 4 * n.max(), 5)
              for vary in (0.1, 0.5, 0.9)]  # fmt: skip
    best = min((least_squares(errors, begin, bounds=bounds) for begin in begins), key=lambda one: one.cost)
    x = best.x
    scale = np.array([np.exp(x[0]), np.exp(x[1]), 1.0, 1.0])
    return (float(scale[0]), float(scale[1]), float(x[2]), float(x[3])), _half_widths(best.jac, best.fun) * scale


def seconds_of(
    n: FloatArray, f: FloatArray, low: float, high: float, t1: float, wide: float, vary: float, beta: float
) -> FloatArray:
    """Run time on n nodes at f GHz; `low` and `high` as in `frequency.slowdown`."""
    return np.asarray(t1 * share_of_t1(n, wide, vary) * model.slowdown(f, low, high, beta))


def _half_widths(jacobian: FloatArray, residuals: FloatArray) -> FloatArray:
    """Half of the 95 % intervals of a least-squares fit; infinite where the samples do not tell a parameter."""
    free = len(residuals) - jacobian.shape[1]
    if free < 1:
        return np.full(jacobian.shape[1], np.inf)
    _, sizes, rows = np.linalg.svd(jacobian, full_matrices=False)
    told = sizes > sizes.max() * 1e-10
    variance = np.full(jacobian.shape[1], np.inf)
    spread = np.where(told[:, np.newaxis], rows / np.where(told, sizes, 1)[:, np.newaxis], 0)
    known = ~np.any(np.abs(rows[~told]) > 1e-6, axis=0)
    variance[known] = (spread**2).sum(axis=0)[known] * (residuals @ residuals) / free
    return np.asarray(student_quantile(free, 0.975) * np.sqrt(variance))


def _scipy() -> Any:
    try:
        from scipy import optimize
    except ImportError as error:
        raise ConfigError("SciPy is not installed", field="fit", expected=how_to_install("scipy")) from error
    return optimize
