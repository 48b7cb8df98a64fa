"""Building blocks of a self-contained HTML page, as functions over those of `slurmsim.report.web.markup`.

Every text is escaped. A block is markup; one without content is the empty text.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence

from slurmsim.report.web import assets, markup


def page(title: str, blocks: Iterable[str], *, styles: Sequence[str] = (), scripts: Sequence[str] = ()) -> str:
    """Return a whole HTML document of blocks, those that are empty left out; no file, font or script from elsewhere."""
    return assets.frame(title, [block for block in blocks if block], styles=styles, scripts=scripts)


def heading(title: str, *lines: str) -> str:
    """Return the page's title and quieter lines under it."""
    return markup.heading(title, lines)


def banner(text: str) -> str:
    """Something the reader must not miss."""
    return markup.banner(text)


def paragraph(text: str) -> str:
    return markup.paragraph(text)


def tiles(values: Iterable[tuple[str, str]]) -> str:
    """Large numbers: (label, value) pairs."""
    return markup.tiles(list(values))


def section(title: str, *blocks: str) -> str:
    """Return a titled part of the page, nothing when it has no content."""
    inside = [block for block in blocks if block]
    return markup.section(title, inside) if inside else ""


def more(title: str, *blocks: str, opened: bool = False) -> str:
    """Return a part of the page that is shown once its title is clicked, nothing when it has no content."""
    inside = [block for block in blocks if block]
    return markup.more(title, inside, opened) if inside else ""


def subsection(title: str, block: str) -> str:
    """Return a titled part of a section, nothing when it has no content."""
    return markup.subsection(title, block) if block else ""


def stack(*blocks: str) -> str:
    """Blocks under each other, as one."""
    return markup.stack([block for block in blocks if block])


def columns(*blocks: str) -> str:
    """Blocks side by side where there is room."""
    shown = [block for block in blocks if block]
    return markup.columns(shown) if shown else ""


def figure(png: bytes, caption: str) -> str:
    """Return a picture inside the page."""
    return markup.figure(f"data:image/png;base64,{base64.b64encode(png).decode()}", caption)


def figures(pictures: Iterable[tuple[str, bytes]]) -> list[str]:
    """Pictures, given as caption and PNG."""
    return [figure(png, caption) for caption, png in pictures]


def drawings(pictures: Iterable[tuple[str, str]]) -> list[str]:
    """Return figures of SVG pictures, given as caption and SVG; texts in the SVG must be escaped already."""
    return [markup.drawing(svg, caption) for caption, svg in pictures]


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, left: Iterable[int] = (0,)) -> str:
    """Return a table of texts, the columns `left` flush left and allowed to wrap; nothing when there are no rows."""
    found = list(rows)
    return markup.table(header, found, frozenset(left)) if found else ""


def intervals(title: str, rows: Iterable[tuple[str, float, float | None, float | None, str]]) -> str:
    """Differences from zero as dots with their intervals, one row a thing; nothing when there are no rows.

    Parameters
    ----------
    title
        What is shown, for those who do not see it.
    rows
        Name, mean, low and high end of the interval (None where there is none), and all of these as people read them.
    """
    found = list(rows)
    if not found:
        return ""
    ends = [x for _, *numbers, _ in found for x in (0.0, *numbers) if x is not None]
    low, high = min(ends), max(ends)
    scale = 100 / ((high - low) or 1.0)

    def at(x: float | None) -> float | None:
        return None if x is None else round((x - low) * scale, 2)

    placed = [(name, at(mean), at(low), at(high), text) for name, mean, low, high, text in found]
    return markup.intervals(title, at(0.0), placed)


def bullets(texts: Iterable[str]) -> str:
    """Return a list of texts, nothing when there are none."""
    found = list(texts)
    return markup.bullets(found) if found else ""


def snippet(title: str, blocks: Iterable[str]) -> str:
    """Return a few blocks for a notebook, which brings styles of its own."""
    return markup.snippet(title, [block for block in blocks if block])


def definitions(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values, values in a fixed-width face."""
    found = list(pairs)
    return markup.definitions(found) if found else ""
