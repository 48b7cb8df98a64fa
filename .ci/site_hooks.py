"""Links of docs/ that leave the folder: the site has only docs/, so they lead to the repository, or become plain text.

`repo_url` of mkdocs.yml names the repository (variable SLURMSIM_REPOSITORY). Pages are written for readers of the
checkout, where ``../policies/fcfs.py`` is a file.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>\.\./[^)\s]+)\)")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Rewrite the links of one page."""
    folder = posixpath.dirname(page.file.src_uri)

    def outward(found: re.Match[str]) -> str:
        path, _, anchor = found["target"].partition("#")
        inside = posixpath.normpath(posixpath.join("docs", folder, path))
        if inside.startswith("docs/"):
            return found[0]
        if not config.repo_url:
            return found["text"]
        place = f"{config.repo_url.rstrip('/')}/blob/main/{inside}"
        return f"[{found['text']}]({place}{'#' + anchor if anchor else ''})"

    return _LINK.sub(outward, markdown)
