"""Building blocks of a self-contained HTML page: no script, no font, no file from elsewhere."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape

_CSS = """
:root { --bg: #f6f7f9; --card: #fff; --ink: #1f2933; --muted: #64707d; --line: #e3e7ec; --accent: #3a6ea5;
  --warn-bg: #fff4e0; --warn: #8a5a00; }
@media (prefers-color-scheme: dark) {
  :root { --bg: #14181d; --card: #1c2229; --ink: #e4e8ed; --muted: #97a3b0; --line: #2d353f; --accent: #7fb0e6;
    --warn-bg: #3a2d14; --warn: #f0c675; }
  figure img { filter: invert(0.905) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 26px; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 18px; margin: 34px 0 10px; }
p { margin: 4px 0 0; } .muted, figcaption { color: var(--muted); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(165px, 1fr)); gap: 12px; margin: 22px 0 0; }
.tile, .card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.tile { padding: 12px 14px; } .tile b { display: block; font-size: 22px; font-weight: 650; line-height: 1.25; }
.tile span { color: var(--muted); font-size: 13px; }
.card { padding: 4px 14px; overflow-x: auto; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(430px, 1fr)); gap: 0 22px; }
figure { margin: 14px 0; background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 12px; }
figure img { display: block; width: 100%; height: auto; } figcaption { font-size: 13px; padding-top: 6px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 6px 10px 6px 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--muted); font-weight: 550; font-size: 13px; } tr:last-child td { border-bottom: 0; }
td.l, th.l { text-align: left; } td.w { white-space: normal; overflow-wrap: anywhere; }
td.up { color: #c4523f; } td.down { color: #3f8f5c; }
code { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.banner { background: var(--warn-bg); color: var(--warn); border-radius: 8px; padding: 10px 14px; margin: 18px 0 0; }
@media print { body { background: #fff; } figure, .tile { break-inside: avoid; } }
"""


def page(title: str, blocks: Iterable[str]) -> str:
    """A whole HTML document."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{_CSS}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(blocks)
        + "\n</main>\n</body>\n</html>\n"
    )


def heading(title: str, *lines: str) -> str:
    """The page's title and quieter lines under it."""
    return (
        f"<header><h1>{escape(title)}</h1>" + "".join(f'<p class="muted">{escape(x)}</p>' for x in lines) + "</header>"
    )


def banner(text: str) -> str:
    """Something the reader must not miss."""
    return f'<p class="banner" role="note">{escape(text)}</p>'


def tiles(values: Iterable[tuple[str, str]]) -> str:
    """Large numbers: (label, value) pairs."""
    cells = "".join(f'<div class="tile"><b>{escape(v)}</b><span>{escape(k)}</span></div>' for k, v in values)
    return f'<div class="tiles">{cells}</div>'


def section(title: str, *blocks: str) -> str:
    """A titled part of the page, nothing when it has no content."""
    inside = "".join(blocks)
    return f"<section><h2>{escape(title)}</h2>{inside}</section>" if inside else ""


def columns(*blocks: str) -> str:
    """Blocks side by side where there is room."""
    shown = [f"<div>{b}</div>" for b in blocks if b]
    return f'<div class="columns">{"".join(shown)}</div>' if shown else ""


def figure(png: bytes, caption: str) -> str:
    """A picture inside the page."""
    data = base64.b64encode(png).decode()
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, left: Iterable[int] = (0,)) -> str:
    """A table of texts, the columns `left` flush left and allowed to wrap; nothing when there are no rows."""
    lefts = frozenset(left)

    def line(tag: str, cells: Sequence[str]) -> str:
        found = [
            f'<{tag} class="l{" w" if tag == "td" else ""}">{escape(c)}</{tag}>' if i in lefts
            else f"<{tag}>{escape(c)}</{tag}>"
            for i, c in enumerate(cells)
        ]  # fmt: skip
        return f"<tr>{''.join(found)}</tr>"

    body = "".join(line("td", row) for row in rows)
    if not body:
        return ""
    return f'<div class="card"><table><thead>{line("th", header)}</thead><tbody>{body}</tbody></table></div>'


def definitions(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values, values in a fixed-width face."""
    body = "".join(
        f'<tr><td class="l">{escape(k)}</td><td class="l w"><code>{escape(v)}</code></td></tr>' for k, v in pairs
    )
    return f'<div class="card"><table><tbody>{body}</tbody></table></div>' if body else ""
