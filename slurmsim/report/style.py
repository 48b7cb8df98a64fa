"""One look for all figures: colours, fonts, axes of time and of durations.

Matplotlib is imported inside functions, and without pyplot: no global figures, no window system.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from slurmsim.metrics.utilization import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE = (
    "#2b5985", "#fba355", "#4f9d69", "#c75540", "#7e68ad", "#38a7b9", "#c56a9f", "#7e614f", "#ab992e", "#5c6b7a",
)  # fmt: skip
"""Ten colours that are told apart without red or green, too (a difference of at least 12 in CIELAB)."""
RAMP = ("#eeb45a", "#d9683c", "#a13e6d", "#5b3d8c", "#1f2b5c")  # of what has an order, from the light to the dark
DENSITY = ("#dbe6f1", PALETTE[0], "#16324f")  # from one job to the most
INK = "#1f2933"
MUTED = "#6b7785"
GRID = "#e3e7ec"
IDLE = "#f2f4f7"
DOWN = "#2d333b"
OTHER = "#b4bcc6"
ACCENT = PALETTE[0]
QUEUE = PALETTE[1]

# For legends inside a plot, where curves may run behind them.
CLEAR: Any = {"frameon": True, "framealpha": 0.85, "edgecolor": "none", "facecolor": "white"}

RC: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.color": INK,
    "axes.edgecolor": "#c3cad3",
    "axes.labelcolor": INK,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.titley": 1.0,  # or every draw lays the ticks out a second time to see whether the title must move up
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.6,
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "figure.facecolor": "white",
    "svg.hashsalt": "slurmsim",
    "path.simplify_threshold": 0.3,
}

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_STEPS = (
    1, 2, 5, 10, 30, _MINUTE, 2 * _MINUTE, 5 * _MINUTE, 10 * _MINUTE, 30 * _MINUTE, _HOUR, 2 * _HOUR, 3 * _HOUR,
    6 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, 4 * _DAY, 7 * _DAY, 14 * _DAY,
)  # fmt: skip
_MONTHS = (1, 2, 3, 6, 12, 24, 60)
_DURATIONS = (
    (1, "1 s"), (10, "10 s"), (_MINUTE, "1 min"), (10 * _MINUTE, "10 min"), (_HOUR, "1 h"), (6 * _HOUR, "6 h"),
    (_DAY, "1 d"), (7 * _DAY, "1 w"), (30 * _DAY, "30 d"), (365 * _DAY, "1 y"),
)  # fmt: skip

P = ParamSpec("P")
T = TypeVar("T")


_NO_LOOKS = ("backend", "backend_fallback", "interactive", "timezone", "toolbar", "webagg.open_in_browser")


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """Matplotlib's defaults under the house style, whatever the caller's settings.

    Matplotlib reads a file ``matplotlibrc`` of the working folder, which may be a stranger's and could have texts go
    through LaTeX.
    """
    import matplotlib

    looks = {key: value for key, value in matplotlib.rcParamsDefault.items() if key not in _NO_LOOKS}
    with matplotlib.rc_context(looks | RC):
        yield


def styled(draw: Callable[P, T]) -> Callable[P, T]:
    """Run `draw` under the house style, leaving the caller's Matplotlib settings alone."""

    @functools.wraps(draw)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        with house_style():
            return draw(*args, **kwargs)

    return wrapper


def figure(width: float, height: float) -> Figure:
    """Return an empty figure, `width` by `height` inches, that draws itself without a window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    fig = Figure(figsize=(width, height))
    FigureCanvasAgg(fig)
    return fig


def steps(ax: Axes, edges: np.ndarray, values: np.ndarray, **look: Any) -> None:
    """Draw a line that is ``values[i]`` high from ``edges[i]`` to ``edges[i + 1]``.

    `Axes.stairs` draws the same, but takes as long as the rest of the figure to find out how far the steps reach.
    """
    ax.plot(edges, np.append(values, values[-1:]), drawstyle="steps-post", **look)


def shade(ax: Axes, edges: np.ndarray, values: np.ndarray, base: float = 0, **look: Any) -> None:
    """Shade the area between `steps` and `base`."""
    ax.fill_between(edges, np.append(values, values[-1:]), base, step="post", linewidth=0, **look)


def colors(names: Sequence[str], other: str | None = None) -> list[str]:
    """Return a colour for each class; `other` names the class that collects the rest and is grey."""
    return [OTHER if name == other else PALETTE[i % len(PALETTE)] for i, name in enumerate(names)]


def time_axis(ax: Axes, over: Interval, epoch: int | None, origin: int, most: int = 9) -> None:
    """Make x a time axis: dates (UTC) when the epoch is known, else the time since `origin`, the first submit.

    The data are in the trace's own seconds either way.
    """
    ticks, labels, title = time_ticks(over, epoch, origin, most)
    ax.set_xlim(over.begin, over.end)
    ax.set_xticks(ticks, labels)
    ax.set_xlabel(title)


def time_ticks(over: Interval, epoch: int | None, origin: int, most: int = 9) -> tuple[list[float], list[str], str]:
    """Positions (trace seconds), labels, and the axis title; at most `most` ticks."""
    if epoch is None:
        return _elapsed_ticks(over, origin, most)
    begin, end = over.begin + epoch, over.end + epoch
    moments = _calendar(begin, end, most)
    step = moments[1] - moments[0] if len(moments) > 1 else end - begin
    texts = []
    for i, moment in enumerate(moments):
        when = dt.datetime.fromtimestamp(moment, dt.UTC)
        if step >= 28 * _DAY:
            texts.append(f"{when:%b}\n{when:%Y}" if i == 0 or when.month == 1 else f"{when:%b}")
        elif step >= _DAY:
            texts.append(f"{when.day} {when:%b}")
        elif i == 0 or moment % _DAY == 0:
            clock = f"{when:%H:%M}" if step % _MINUTE == 0 else f"{when:%H:%M:%S}"
            texts.append(f"{clock}\n{when.day} {when:%b}")
        else:
            texts.append(f"{when:%H:%M}" if step % _MINUTE == 0 else f"{when:%H:%M:%S}")
    first, last = (dt.datetime.fromtimestamp(t, dt.UTC) for t in (begin, end))
    years = f"{first.year}" if first.year == last.year else f"{first.year}–{last.year}"
    return [float(m - epoch) for m in moments], texts, f"time (UTC, {years})"


def _calendar(begin: int, end: int, most: int) -> list[int]:
    for step in _STEPS:
        if (end - begin) / step <= most:
            # Weeks begin on Monday; the epoch was a Thursday.
            shift = 4 * _DAY if step % (7 * _DAY) == 0 else 0
            first = -(-(begin - shift) // step) * step + shift
            return list(range(first, end + 1, step))
    first_day = dt.datetime.fromtimestamp(begin, dt.UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    months = _MONTHS[-1]
    for candidate in _MONTHS:
        if (end - begin) / (candidate * 30.4 * _DAY) <= most:
            months = candidate
            break
    found: list[int] = []
    count = first_day.year * 12 + first_day.month - 1
    while True:
        moment = int(dt.datetime(count // 12, count % 12 + 1, 1, tzinfo=dt.UTC).timestamp())
        if moment > end:
            return found
        if moment >= begin and count % months == 0:
            found.append(moment)
        count += 1


def _elapsed_ticks(over: Interval, origin: int, most: int) -> tuple[list[float], list[str], str]:
    span = over.length_s
    unit, name = next(
        ((size, text) for size, text in ((_DAY, "days"), (_HOUR, "hours"), (_MINUTE, "minutes")) if span >= 3 * size),
        (1, "seconds"),
    )
    step = nice_step(span / unit, most) * unit
    first = int(np.ceil((over.begin - origin) / step))
    counts = range(first, int((over.end - origin) // step) + 1)
    return (
        [origin + i * step for i in counts],
        [f"{i * step / unit:g}" for i in counts],
        f"{name} since the first submit",
    )


def nice_step(span: float, most: int) -> float:
    """Return the least of 1, 2, 5 times a power of ten that cuts `span` into at most `most` parts."""
    raw = span / most
    power = 10.0 ** np.floor(np.log10(raw)) if raw > 0 else 1.0
    return float(next(power * m for m in (1, 2, 5, 10) if power * m >= raw * (1 - 1e-9)))


def duration_ticks(low: float, high: float) -> tuple[list[float], list[str]]:
    """Ticks for a logarithmic axis of durations from `low` to `high` seconds."""
    inside = [(float(s), text) for s, text in _DURATIONS if low <= s <= high]
    return [s for s, _ in inside], [text for _, text in inside]


def duration_axis(axis: Any, low: float, high: float) -> None:
    """Make an x or y axis (``ax.xaxis``) logarithmic in durations, `low` to `high` seconds."""
    from matplotlib.ticker import NullLocator

    ax, vertical = axis.axes, axis.axis_name == "y"
    (ax.set_yscale if vertical else ax.set_xscale)("log")
    (ax.set_ylim if vertical else ax.set_xlim)(low, high)
    axis.set_minor_locator(NullLocator())
    axis.set_ticks(*duration_ticks(low, high))


def shades(color: str) -> list[tuple[float, float, float]]:
    """Three lightnesses of a colour, so that neighbours of one class can be told apart."""
    from matplotlib.colors import to_rgb

    base = np.array(to_rgb(color))
    return [tuple((base + light * (1 - base)).tolist()) for light in (0.0, 0.16, 0.32)]


def ordered_colors(n: int) -> list[str]:
    """`n` colours that read as an order, from the light and warm to the dark."""
    return ramp(RAMP, [i / max(n - 1, 1) for i in range(n)])


def ramp(stops: Sequence[str], at: Sequence[float]) -> list[str]:
    """Colours from the first of `stops`, evenly spaced, at 0 to the last at 1."""
    channels = np.array([[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops])
    places = np.linspace(0, 1, len(stops))
    mixed = np.column_stack([np.interp(at, places, channel) for channel in channels.T])
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in mixed.round().astype(int).tolist()]


def categories(axis: Any, names: Sequence[str]) -> None:
    """Name the bars at 0, 1, 2, … of an axis, slanted when they are too long to stand side by side."""
    slanted = sum(map(len, names)) > 42
    axis.set_ticks(range(len(names)), names, rotation=30 if slanted else 0, ha="right" if slanted else "center")


def thousands(axis: Any) -> None:
    """Thousands separators on an axis of counts."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}" if x == round(x) else ""))


def note(ax: Axes, text: str) -> None:
    """Say in an empty plot why it is empty."""
    ax.set_axis_off()
    ax.text(0.5, 0.5, text, ha="center", va="center", color=MUTED, transform=ax.transAxes)


def subtitle(ax: Axes, text: str) -> None:
    """Write a quieter line at the right, at the height of the title."""
    ax.text(1.0, 1.012, text, ha="right", va="bottom", color=MUTED, fontsize=8.5, transform=ax.transAxes)
