"""An application in pictures: speed-up and energy over nodes and watts, and what a fit leaves of its samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from slurmsim.errors import ConfigError
from slurmsim.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from slurmsim.energy import Application, Fit


@style.styled
def surfaces(application: Application, nodes: Sequence[int], watts: Sequence[float]) -> Figure:
    """Speed-up over the fewest nodes at the lowest cap, and joules of a whole run, with their lines of equal height.

    Parameters
    ----------
    nodes, watts
        The axes, ascending: at least two counts of nodes, and two caps from the application's lowest on.

    Raises
    ------
    ConfigError
        Fewer or not ascending, or values the application has no time for.
    """
    for name, values in (("nodes", nodes), ("watts", watts)):
        if len(values) < 2 or np.any(np.diff(np.asarray(values, np.float64)) <= 0):
            raise ConfigError(f"{list(values)} is no axis", field=name, expected="two or more values that ascend")
    n, p = np.meshgrid(np.asarray(nodes, np.float64), np.asarray(watts, np.float64))
    fig = style.figure(9.6, 3.8)
    left, right = fig.subplots(1, 2)
    fig.subplots_adjust(left=0.07, right=0.98, top=0.88, bottom=0.15, wspace=0.25)
    over = (float(nodes[0]), float(watts[0]))
    _surface(left, n, p, application.speedup(n, p, over), f"speed-up; 1 is {nodes[0]:g} × {watts[0]:g} W")
    _surface(right, n, p, application.energy_j(n, p) / 1e6, "energy of a run, MJ")
    return fig


def _surface(ax: Axes, n: NDArray[np.float64], p: NDArray[np.float64], z: NDArray[np.float64], title: str) -> None:
    filled = ax.contourf(n, p, z, levels=12, cmap="viridis")
    lines = ax.contour(n, p, z, levels=list(filled.levels)[::2], colors="white", linewidths=0.6)
    ax.clabel(lines, fontsize=7, fmt="%.3g")
    ax.set_xlabel("nodes")
    ax.set_ylabel("cap of a processor, W")
    ax.set_title(title)


@style.styled
def residuals(fit: Fit, nodes: ArrayLike, ghz: ArrayLike) -> Figure:
    """Measured less modelled, of each sample that `fit` was made of: seconds over nodes, watts over frequency.

    Parameters
    ----------
    nodes, ghz
        Of the samples, as they were given to ``Application.fit``; (n,).

    Raises
    ------
    ConfigError
        Not as many as the fit has.
    """
    fig = style.figure(9.6, 3.4)
    panels = fig.subplots(1, 2)
    fig.subplots_adjust(left=0.08, right=0.98, top=0.88, bottom=0.16, wspace=0.25)
    given = (("nodes", nodes, fit.residuals_s, "run time, s"), ("ghz", ghz, fit.residuals_w, "power, W"))
    for ax, (name, values, left, title) in zip(panels, given, strict=True):
        x = np.asarray(values, np.float64)
        if x.shape != left.shape:
            raise ConfigError(f"{x.size} values", field=name, expected=f"those of the fit's {left.size} samples")
        ax.axhline(0, color=style.INK, linewidth=0.8)
        ax.scatter(x, left, s=14, color=style.ACCENT)
        ax.set_xlabel({"nodes": "nodes", "ghz": "frequency, GHz"}[name])
        ax.set_ylabel("measured less modelled")
        ax.set_title(title)
    return fig


__all__ = ["residuals", "surfaces"]
