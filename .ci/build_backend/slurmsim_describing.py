"""What an index shows of slurmsim: the README as the long description, and the project's addresses.

The repository has no public address yet. The variable SLURMSIM_REPOSITORY holds it (``https://HOST/OWNER/slurmsim``)
for distributions, the site and the recipes of `.ci/packaging`. Without it there are no addresses, and links of the
README into the repository become plain text: an index shows no dead link.
"""

from __future__ import annotations

import os
import re

_FENCE = re.compile(r"^```", re.MULTILINE)
_COMMENT = re.compile(r"^<!--.*-->\n", re.MULTILINE)
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")


def repository() -> str:
    """The repository's address without a slash at its end, or an empty text. SystemExit for what is no web address."""
    said = os.environ.get("SLURMSIM_REPOSITORY", "").strip().rstrip("/")
    if said and not re.fullmatch(r"https://[\w.-]+(/[\w.~-]+)+", said):
        raise SystemExit(f"SLURMSIM_REPOSITORY: expected https://HOST/OWNER/NAME, not {said!r}")
    return said


def addresses(home: str) -> dict[str, str]:
    """The addresses an index lists beside the package; none without a repository."""
    if not home:
        return {}
    return {
        "Source": home,
        "Documentation": f"{home}/blob/main/docs/README.md",
        "Changelog": f"{home}/blob/main/CHANGELOG.md",
        "Issues": f"{home}/issues",
    }


def long_description(readme: str, home: str, version: str) -> str:
    """The README for a reader outside the repository: links lead to the files of this version, or are plain text."""

    def outward(found: re.Match[str]) -> str:
        text, target = found["text"], found["target"]
        if "://" in target or target.startswith(("#", "mailto:")):
            return found[0]
        if not home:
            return "" if found["image"] else text
        kind = "raw" if found["image"] else "blob"
        return f"{found['image']}[{text}]({home}/{kind}/v{version}/{target})"

    parts = _FENCE.split(readme)  # every other part is a block of code
    parts[::2] = [_LINK.sub(outward, _COMMENT.sub("", part)) for part in parts[::2]]
    return "```".join(parts)
