"""The plan of one dispatching problem as a picture: nodes by time, a box for the units of a job on a node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slurmsim.report import style
from slurmsim.report.plan_text import spans

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_NAMES = 150


@style.styled
def figure(problem: Mapping[str, Any], answer: Mapping[str, Any], title: str) -> Figure:
    """Each node is a row as high as its first resource; jobs that run already are pale."""
    from matplotlib.patches import Rectangle

    sizes = _sizes(problem)
    fig = style.figure(11, min(12.0, max(3.0, 1.2 + 0.16 * len(sizes))))
    ax = fig.add_axes((0.07, 0.1, 0.9, 0.8))
    ax.set_title(f"{title}: {answer['status']}, {answer['criterion']} {answer['objective']:,}")
    free: dict[int, list[tuple[int, int, float, float]]] = {}
    names = 0
    found = spans(problem, answer)
    resource = next(key for key in problem["nodes"][0] if key != "count")
    for number, (job, start, end) in enumerate(found):
        layout = answer["layout"].get(str(job["id"]), {})
        color = style.PALETTE[number % len(style.PALETTE)]
        for node, units in sorted((int(node), units) for node, units in layout.items()):
            height = max(job.get(resource, 0) * units / max(1, sizes[node]), 0.08)
            low = _room(free.setdefault(node, []), start, end, height)
            begin = max(start, problem["now"])
            box = Rectangle((begin, node - 0.45 + 0.9 * low), end - begin, 0.9 * height, facecolor=color,
                            alpha=0.45 if "start" in job else 1.0, edgecolor="white", linewidth=0.3)  # fmt: skip
            ax.add_patch(box)
        if layout and names < _MOST_NAMES:
            names += 1
            first = min(map(int, layout))
            ax.text(max(start, problem["now"]), first, f" {job['id']}", fontsize=6, va="center", ha="left")
    ax.set_xlim(problem["now"], max((end for _, _, end in found), default=problem["now"] + 1))
    ax.set_ylim(len(sizes) - 0.5, -0.5)
    ax.set_xlabel("seconds")
    ax.set_ylabel("node")
    return fig


def _sizes(problem: Mapping[str, Any]) -> list[int]:
    resource = next(key for key in problem["nodes"][0] if key != "count")
    return [group.get(resource, 0) for group in problem["nodes"] for _ in range(group.get("count", 1))]


def _room(taken: list[tuple[int, int, float, float]], start: int, end: int, height: float) -> float:
    """Return the lowest free place in the row of a node; it may lie beyond the row where jobs are in crumbs."""
    lows = [0.0, *(low + size for begin, until, low, size in taken if begin < end and start < until)]
    for low in sorted(lows):
        if all(until <= start or end <= begin or low + height <= other + 1e-9 or other + size <= low + 1e-9
               for begin, until, other, size in taken):  # fmt: skip
            taken.append((start, end, low, height))
            return low
    raise AssertionError("above all others there is room")
