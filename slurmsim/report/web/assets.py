"""Files that pages are made of, read from the package: styles, scripts, and the libraries in them.

A page loads nothing: all of it is inside, and its content policy lets a browser run no script but these and fetch
nothing at all.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from slurmsim.report.web import markup

STYLES = ("page.css",)
SCRIPTS = ("theme.js",)
WORKBENCH_STYLES = ("vendored/uPlot.min.css", "vendored/tabulator_simple.min.css", "workbench.css")
WORKBENCH_SCRIPTS = ("vendored/uPlot.iife.min.js", "vendored/tabulator.min.js", "common.js", "report.js")


@cache
def content(name: str) -> str:
    """Text of a file of this package. No script or style may hold what would end its element."""
    found = files(__package__).joinpath(name).read_text("utf-8")
    assert "</script" not in found.lower() and "</style" not in found.lower(), name
    return found


def content_policy(scripts: Sequence[str]) -> str:
    """Return the content security policy of a page with these scripts: no other runs, and nothing is fetched."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def frame(title: str, parts: Sequence[str], *, styles: Sequence[str] = (), scripts: Sequence[str] = ()) -> str:
    """Return a whole document; `styles` and `scripts` name files besides those of every page."""
    code = [content(name) for name in (*SCRIPTS, *scripts)]
    return markup.frame(title, content_policy(code), [content(name) for name in (*STYLES, *styles)], code, parts)
