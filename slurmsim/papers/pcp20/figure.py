"""The PCP'20 experiment as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from slurmsim.papers.pcp20.run import Result, schedulers
from slurmsim.papers.pcp20.tables import system_table
from slurmsim.report import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@style.styled
def figure(found: Result) -> Figure:
    """Return a panel a part: PCP'20's CPU over PCP'19's, times of a dispatch, the queue over time."""
    panels = [part for part in found.parts if not part.startswith("instances") or found.instances(part)]
    fig = style.figure(4.2 * max(1, len(panels)), 3.8)
    axes = fig.subplots(1, max(1, len(panels)), squeeze=False)[0]
    fig.subplots_adjust(left=0.05, right=0.99, top=0.9, bottom=0.16, wspace=0.3)
    for ax, part in zip(axes, panels, strict=False):
        kind = part.split("-")[0]
        if kind == "instances":
            _instances_panel(ax, found.instances(part))
        elif kind == "variables":
            _variables_panel(ax, found.of(part))
        elif kind == "systems":
            _systems_panel(ax, system_table(found, part)[1:])
        else:
            _queue_panel(ax, found, part)
        ax.set_title(part)
    if not panels:
        style.note(axes[0], "no part was run")
    return fig


def _instances_panel(ax: Any, each: Sequence[dict[str, Any]]) -> None:
    """Of every instance the ratio of variables and that of CPU time."""
    each = [one for one in each if one["pcp19_asked"]]
    x = [one["pcp20_variables"] / one["pcp19_variables"] for one in each]
    y = [one["pcp20_paper_s"] / one["pcp19_paper_s"] for one in each]
    ax.scatter(x, y, s=14, color=style.colors(["ratio"])[0])
    ax.axhline(1, color=style.INK, linewidth=0.8)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("variables, PCP'20 / PCP'19")
    ax.set_ylabel("CPU to one objective, PCP'20 / PCP'19")


def _variables_panel(ax: Any, runs: dict[str, dict[str, Any]]) -> None:
    """Draw the share of instances up to each ratio of variables, a line a pace of arrivals."""
    asked = {pace: one for pace, one in runs.items() if one["sizes"]}
    for (pace, one), color in zip(asked.items(), style.colors(list(asked)), strict=True):
        ratios = sorted(small / large for _, small, large in one["sizes"])
        shares = [100 * (k + 1) / len(ratios) for k in range(len(ratios))]
        ax.step(ratios, shares, where="post", color=color, label=f"arrivals × {pace}", linewidth=1.2)
    ax.axvline(0.1, color=style.INK, linewidth=0.8)
    ax.set_xscale("log")
    ax.set_xlabel("variables, PCP'20 / PCP'19")
    ax.set_ylabel("instances, %")
    ax.legend(fontsize=7)


def _systems_panel(ax: Any, rows: Sequence[Sequence[str]]) -> None:
    names = [f"{name}\n{letter}" for letter, name, *_ in rows]
    ax.bar(range(len(rows)), [float(row[4]) for row in rows], color=style.colors(["ours"])[0])
    ax.set_xticks(range(len(rows)), names, fontsize=7)
    ax.set_ylabel("CPU of a dispatch, HCP'19 = 1")


def _queue_panel(ax: Any, found: Result, part: str) -> None:
    """Draw the mean queue in parts of the run, of the first replicate."""
    names = list(schedulers(part))
    for name, color in zip(names, style.colors(names), strict=True):
        ax.plot(found.cells[f"{part}-{name}-1"]["queue_over_time"], color=color, label=name, linewidth=1.2)
    ax.set_xlabel("time, in 24 parts of the run")
    ax.set_ylabel("waiting jobs")
    ax.legend(fontsize=7)
