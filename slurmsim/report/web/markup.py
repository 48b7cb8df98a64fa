"""Pieces of HTML as functions, and the frame around them.

A piece is `Html`. Every other text is escaped where it enters a piece (`escaped`), with escapes for what would steer a
terminal; so a piece in a piece stays what it is. Written out here, a page needs no library of templates: loading one
and translating two templates took 60 of the 480 ms of CPU of a run of one job.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from slurmsim.shown import shown


class Html(str):
    """A text that is markup already."""

    __slots__ = ()


def escaped(value: object) -> str:
    """Return `value` as it stands in a page or within quotes."""
    if isinstance(value, Html):
        return value
    text = shown(value) if isinstance(value, str) else str(value)
    for sign, escape in _ESCAPES:
        text = text.replace(sign, escape)
    return text


_ESCAPES = (("&", "&amp;"), (">", "&gt;"), ("<", "&lt;"), ("'", "&#39;"), ('"', "&#34;"))


def _joined(blocks: Iterable[object]) -> str:
    return "".join(map(escaped, blocks))


def heading(title: str, lines: Iterable[str]) -> Html:
    below = "".join(f'<p class="muted">{escaped(line)}</p>' for line in lines)
    return Html(f"<header><h1>{escaped(title)}</h1>{below}</header>")


def banner(text: str) -> Html:
    return Html(f'<p class="banner" role="note">{escaped(text)}</p>')


def tiles(values: Iterable[tuple[str, str]]) -> Html:
    pairs = ((escaped(label), escaped(value)) for label, value in values)
    inside = "".join(f'<div class="tile"><b>{value}</b><span>{label}</span></div>' for label, value in pairs)
    return Html(f'<div class="tiles">{inside}</div>')


def section(title: str, blocks: Iterable[str]) -> Html:
    return Html(f"<section><h2>{escaped(title)}</h2>{_joined(blocks)}</section>")


def more(title: str, blocks: Iterable[str], opened: bool) -> Html:
    start = f'<details class="more"{" open" if opened else ""}><summary><h2>{escaped(title)}</h2></summary>'
    return Html(f"{start}{_joined(blocks)}</details>")


def subsection(title: str, block: str) -> Html:
    return Html(f"<h3>{escaped(title)}</h3>{escaped(block)}")


def paragraph(text: str) -> Html:
    return Html(f"<p>{escaped(text)}</p>")


def stack(blocks: Iterable[str]) -> Html:
    return Html(_joined(blocks))


def columns(blocks: Iterable[str]) -> Html:
    inside = "".join(f"<div>{escaped(block)}</div>" for block in blocks)
    return Html(f'<div class="columns">{inside}</div>')


def figure(source: str, caption: str) -> Html:
    said = escaped(caption)
    return Html(f'<figure><img alt="{said}" src="{escaped(source)}"><figcaption>{said}</figcaption></figure>')


def drawing(markup: str, caption: str) -> Html:
    """Return a picture that is markup, such as SVG; its texts must be escaped already."""
    said = escaped(caption)
    picture = f'<div role="img" aria-label="{said}">{markup}</div>'
    return Html(f"<figure>{picture}<figcaption>{said}</figcaption></figure>")


def table(header: Iterable[str], rows: Iterable[Sequence[str]], left: Collection[int]) -> Html:
    heads = "".join(_head(cell, at in left) for at, cell in enumerate(header))
    body = "".join(f"<tr>{''.join(_cell(cell, at in left) for at, cell in enumerate(row))}</tr>" for row in rows)
    return Html(f'<div class="card"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>')


def _head(cell: str, is_left: bool) -> str:
    """Return one cell of a header; an empty one is no header of anything."""
    tag, scope = ("th", ' scope="col"') if cell else ("td", "")
    kind = ' class="l"' if is_left else ""
    return f"<{tag}{scope}{kind}>{escaped(cell)}</{tag}>"


def _cell(cell: str, is_left: bool) -> str:
    kind = ' class="l w"' if is_left else ""
    return f"<td{kind}>{escaped(cell)}</td>"


def definitions(pairs: Iterable[tuple[str, str]]) -> Html:
    rows = (
        f'<tr><th scope="row" class="l">{escaped(name)}</th><td class="l w"><code>{escaped(value)}</code></td></tr>'
        for name, value in pairs
    )
    return Html(f'<div class="card"><table><tbody>{"".join(rows)}</tbody></table></div>')


def bullets(texts: Iterable[str]) -> Html:
    return Html(f'<ul class="bullets">{"".join(f"<li>{escaped(text)}</li>" for text in texts)}</ul>')


Interval = tuple[str, float | None, float | None, float | None, str]
"""Name, mean, low and high end as places on the scale, and what is written beside it."""


def intervals(title: str, zero: float | None, rows: Iterable[Interval]) -> Html:
    inside = "".join(_interval(zero, row) for row in rows)
    return Html(f'<div class="card intervals" role="list" aria-label="{escaped(title)}">{inside}</div>')


def _interval(zero: float | None, row: Interval) -> str:
    name, mean, low, high, text = row
    span = "" if low is None else f'<line class="span" x1="{low}" x2="{high}" y1="5" y2="5"/>'
    return (
        f'<div class="interval" role="listitem"><span>{escaped(name)}</span>\n'
        '<svg viewBox="-2 0 104 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<line class="zero" x1="{zero}" x2="{zero}" y1="0" y2="10"/>{span}'
        f'<line class="mean" x1="{mean}" x2="{mean}" y1="2" y2="8"/></svg><span>{escaped(text)}</span></div>'
    )


def snippet(title: str, blocks: Iterable[str]) -> Html:
    return Html(f"<div><p><b>{escaped(title)}</b></p>{_joined(blocks)}</div>")


def frame(
    title: str, policy: str, styles: Iterable[str], scripts: Iterable[str], blocks: Iterable[str]
) -> str:  # fmt: skip
    """Return a whole document; styles and scripts are files of the package."""
    lines = [
        "<!doctype html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escaped(policy)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">', f"<title>{escaped(title)}</title>",
        *(f"<style>{style}</style>" for style in styles), "</head>", "<body>", "<main>",
        '<button id="theme" type="button" hidden></button>', *map(escaped, blocks), "</main>",
        *(f"<script>{script}</script>" for script in scripts), "</body>", "</html>",
    ]  # fmt: skip
    return "\n".join(lines)
