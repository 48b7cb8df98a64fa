"""A plot as SVG inside a page: a box with two axes, and what is drawn in it, as plain markup.

For the few kinds of picture a report has. Drawing one takes milliseconds, and needs nothing that has to be imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import numpy.typing as npt

from slurmsim.report.series import FloatArray
from slurmsim.report.style import GRID, INK, MUTED
from slurmsim.shown import cell

_SMALL, _TITLE = 12, 14.5  # sizes of letters
_LETTER = 0.56  # how wide one is, as a part of its size: enough to see whether texts meet


class Plot:
    """A box of the picture with axes from `x` to `x` and `y` to `y`, upwards.

    Parameters
    ----------
    box
        Left, top, width and height.
    x, y
        The first and the last value of each axis.
    """

    def __init__(self, box: tuple[float, float, float, float], x: tuple[float, float], y: tuple[float, float]) -> None:
        self.left, self.top, self.width, self.height = box
        self.x, self.y = x, y
        self._parts: list[str] = []

    def markup(self) -> str:
        """All that has been drawn, in that order."""
        return "".join(self._parts)

    # -- data ---------------------------------------------------------------------------------------------------------

    def line(self, x: FloatArray, y: FloatArray, color: str, *, step: bool = False, dashed: bool = False) -> None:
        """Draw a line through the points; with `step` it stays as high as a point until the next."""
        if step:
            x, y = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
        points = " ".join(f"{a:g},{b:g}" for a, b in zip(self._across(x), self._up(y), strict=True))
        dashes = ' stroke-dasharray="6 3"' if dashed else ""
        self._add(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.8"{dashes}/>')

    def bars(self, heights: FloatArray, color: str) -> None:
        """Draw bars from the axis up at 0, 1, 2 and so on."""
        at = np.arange(len(heights))
        lefts, rights = self._across(at - 0.41), self._across(at + 0.41)
        bottom = self.top + self.height
        for a, b, high in zip(lefts, rights, self._up(heights), strict=True):
            self._rect(a, high, b - a, bottom - high, color)

    def cells(self, grid: FloatArray, x: FloatArray, y: FloatArray, classes: Sequence[float], fill: list[str]) -> None:
        """Cells of a grid between the edges `x` and `y`, coloured by the last of `classes` they reach; empty ones not.

        One path for each colour, which is a tenth of a rectangle for each cell.
        """
        lefts, tops = self._across(x), self._up(y)
        code = np.searchsorted(classes, grid, "right") - 1
        for k, color in enumerate(fill):
            where = np.argwhere((code == k) & (grid > 0)).tolist()
            path = "".join(
                f"M{lefts[i]:g} {tops[j + 1]:g}H{lefts[i + 1]:g}V{tops[j]:g}H{lefts[i]:g}z" for i, j in where
            )
            if path:
                self._add(f'<path d="{path}" fill="{color}" shape-rendering="crispEdges"/>')

    # -- axes ---------------------------------------------------------------------------------------------------------

    def x_axis(self, at: Sequence[float], labels: Sequence[str], title: str, *, grid: bool = True) -> None:
        """Ticks, their labels (slanted where they would meet) and what they are."""
        bottom = self.top + self.height
        slanted = sum(map(len, labels)) * _SMALL * _LETTER > 0.8 * self.width
        for x, label in zip(self._across(at), labels, strict=True):
            if grid:
                self._rule(x, self.top, x, bottom)
            if slanted:
                at_x, at_y = x + 4, bottom + 14
                self._text(at_x, at_y, label, anchor="end", more=f' transform="rotate(-30 {at_x:g} {at_y:g})"')
            else:
                self._text(x, bottom + 16, label, anchor="middle")
        self._text(self.left + self.width / 2, bottom + (58 if slanted else 36), title, anchor="middle")

    def y_axis(self, at: Sequence[float], labels: Sequence[str], title: str = "") -> None:
        """Draw the axis at the left; without a title where the plot beside it has it."""
        for y, label in zip(self._up(at), labels, strict=True):
            self._rule(self.left, y, self.left + self.width, y)
            self._text(self.left - 6, y + 4, label, anchor="end")
        if title:
            x, y = self.left - 52, self.top + self.height / 2
            self._text(x, y, title, anchor="middle", more=f' transform="rotate(-90 {x:g} {y:g})"')

    # -- words --------------------------------------------------------------------------------------------------------

    def title(self, text: str, note: str = "") -> None:
        """Write the title of the plot, and a quieter line at the right of the same height."""
        self._text(self.left, self.top - 9, text, size=_TITLE, more=' font-weight="600"')
        if note:
            self._text(self.left + self.width, self.top - 9, note, anchor="end", color=MUTED)

    def note(self, text: str) -> None:
        """Why the plot is empty."""
        self._text(self.left + self.width / 2, self.top + self.height / 2, text, anchor="middle", color=MUTED)

    def legend(self, entries: Sequence[tuple[str, str, bool]], title: str = "", *, upper: bool = False) -> None:
        """Label, colour and whether dashed of each line, at the right, below (or above) the middle."""
        rows = len(entries) + bool(title)
        wide = max(len(text) for text in (title, *(label for label, _, _ in entries))) * _SMALL * _LETTER + 40
        left, high = self.left + self.width - wide - 6, rows * 17 + 8
        top = self.top + 6 if upper else self.top + self.height - high - 6
        self._rect(left, top, wide, high, "#ffffff", ' fill-opacity="0.85"')
        y = top + 17.0
        if title:
            self._text(left + 8, y, title)
            y += 17
        for label, color, dashed in entries:
            dashes = ' stroke-dasharray="6 3"' if dashed else ""
            self._add(f'<path d="M{left + 8:g} {y - 4:g}h22" stroke="{color}" stroke-width="1.8"{dashes}/>')
            self._text(left + 36, y, label)
            y += 17

    # -- marks --------------------------------------------------------------------------------------------------------

    def _across(self, x: npt.ArrayLike) -> list[float]:
        first, last = self.x
        share = (np.asarray(x, np.float64) - first) / (last - first)
        found: list[float] = np.round(self.left + share * self.width, 1).tolist()
        return found

    def _up(self, y: npt.ArrayLike) -> list[float]:
        first, last = self.y
        share = (np.asarray(y, np.float64) - first) / (last - first)
        found: list[float] = np.round(self.top + (1 - share) * self.height, 1).tolist()
        return found

    def _rule(self, x: float, y: float, to_x: float, to_y: float) -> None:
        self._add(f'<path d="M{x:g} {y:g}L{to_x:g} {to_y:g}" stroke="{GRID}" stroke-width="0.9"/>')

    def _rect(self, x: float, y: float, width: float, height: float, color: str, more: str = "") -> None:
        self._add(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{color}"{more}/>')

    def _text(
        self, x: float, y: float, text: str, *, anchor: str = "start", size: float = _SMALL, color: str = INK,
        more: str = "",
    ) -> None:  # fmt: skip
        self._add(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size:g}" fill="{color}"{more}>'
            f"{escape(cell(text))}</text>"
        )

    def _add(self, markup: str) -> None:
        self._parts.append(markup)


def drawing(width: float, height: float, plots: Sequence[Plot]) -> str:
    """Return plots as one SVG element of a page."""
    inside = "".join(plot.markup() for plot in plots)
    return f'<svg viewBox="0 0 {width:g} {height:g}" font-family="inherit">{inside}</svg>'


def document(element: str) -> bytes:
    """Return an element that `drawing` made as a file of its own, on white."""
    head = '<svg xmlns="http://www.w3.org/2000/svg" style="background:#fff"'
    return element.replace("<svg", head, 1).replace('font-family="inherit"', 'font-family="sans-serif"', 1).encode()
