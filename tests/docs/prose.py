"""Measures the English of the source: five words to avoid, and the length of sentences.

``python tests/docs/prose.py`` prints the tables of `test_plain_words` as they are now; ``… FILE`` lists the places of a
file or a folder. Docstrings are found by their quotes: parsing a thousand modules would take seconds.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AVOIDED = re.compile(r"(?i)\b(?:somebody|nobody|whoever|whom|whose)\b")
LONGEST = 40
"""Words that a sentence may have."""
GENERATED = {"coverage.md", "port.md"}
TOP = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
MEAN = 20.0
"""Words that the sentences of a room or page may have on average."""

_SOURCES = {".py", ".pxd", ".js", ".html", ".css", ".toml", ".j2"}
_TRIPLE = re.compile(r'(?P<alone>^[ \t]*[rR]?)?"""(?P<text>.*?)"""(?P<ends>[ \t]*$)?', re.DOTALL | re.MULTILINE)
_UNDERLINED = re.compile(r"^[ \t]*[^\n]+\n[ \t]*(?:-{3,}|={3,})[ \t]*$", re.MULTILINE)
_FENCED = re.compile(r"^[ \t]*```.*?^[ \t]*```", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"``[^`]+``|`[^`\n]+`")
_ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_TABLE = re.compile(r"^[ \t]*=+(?: +=+)+$.*?^[ \t]*=+(?: +=+)+$", re.DOTALL | re.MULTILINE)
_NO_PROSE = re.compile(r"^\s*(?:\||#|>>>|\.\.\. |\.\. |<|\w+ = |\[\[|.*\S {3,}\S)")
_TERM = re.compile(r"^\s*[*\w]+(?:, [*\w]+)*(?: : .*)?$")
_END = re.compile(r"(?<=[.!?:])[\")»*_]*\s+(?=[\"(«*_`]*[A-Z`])|(?<=[.!?])[\")»]*$")
_WORD = re.compile(r"[^\W_][\w'’.,/-]*")


def room(path: Path) -> str:
    """Return the room of a source file, such as `slurmsim/core` or `policies`; `slurmsim` for its own modules."""
    top, *inner = path.relative_to(ROOT).parts
    return f"{top}/{inner[0]}" if top == "slurmsim" and len(inner) > 1 else top


def sources() -> Iterator[Path]:
    """Yield the files of the product."""
    for top in ("slurmsim", "policies", "workloads"):
        yield from (path for path in sorted((ROOT / top).rglob("*")) if path.suffix in _SOURCES)


def pages() -> Iterator[Path]:
    """Yield the pages whose sentences are measured."""
    yield from (ROOT / name for name in (*TOP, "benchmarks/README.md"))
    found = sorted((ROOT / "docs").rglob("*.md"))
    yield from (path for path in found if path.name not in GENERATED)


def docstrings(text: str) -> str:
    """Return the docstrings of a module as one text, a blank line between two."""
    return "\n\n".join(found["text"] for found in _TRIPLE.finditer(text) if None not in found.groups())


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a docstring or page; tables, headings, examples and lines of types are none."""
    for block in re.split(r"\n\s*\n", _no_layout(text)):
        for paragraph in _paragraphs(block):
            yield from (part for part in _END.split(paragraph) if part.strip())


def _no_layout(text: str) -> str:
    for layout in (_FENCED, _TABLE, _UNDERLINED):
        text = layout.sub("\n\n", text)
    return text


def _paragraphs(block: str) -> Iterator[str]:
    """Split a block at list items, at names with a description below them, and at lines that are no prose."""
    lines: list[str] = []
    rows = block.splitlines()
    for line, after in zip(rows, [*rows[1:], ""], strict=False):
        named = _TERM.match(line) and _indent(after) > _indent(line)
        if (named or _NO_PROSE.match(line) or _ITEM.match(line)) and lines:
            yield " ".join(lines)
            lines = []
        if not named and not _NO_PROSE.match(line):
            lines.append(_ITEM.sub("", line).strip())
    yield " ".join(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def length(sentence: str) -> int:
    """Return the number of words; a piece of code is one."""
    return len(_WORD.findall(_CODE.sub(" code ", sentence)))


def avoided() -> Counter[str]:
    """Return how often each room says one of the words to avoid."""
    found: Counter[str] = Counter()
    for path in sources():
        found[room(path)] += len(AVOIDED.findall(path.read_text("utf-8")))
    return +found


@cache
def lengths() -> dict[str, list[int]]:
    """Return the words of each sentence in a room's docstrings, and of each sentence on a page."""
    found: dict[str, list[int]] = {}
    for path in sources():
        if path.suffix == ".py":
            found.setdefault(room(path), []).extend(map(length, sentences(docstrings(path.read_text("utf-8")))))
    for path in pages():
        found[str(path.relative_to(ROOT))] = [length(sentence) for sentence in sentences(path.read_text("utf-8"))]
    return {name: every for name, every in found.items() if every}


def too_long() -> dict[str, int]:
    """Return how many sentences of each room or page are longer than `LONGEST`."""
    return +Counter({name: sum(n > LONGEST for n in every) for name, every in lengths().items()})


def means() -> dict[str, float]:
    """Return the mean length of a sentence where it is above `MEAN`, to one decimal."""
    return {name: round(mean, 1) for name, every in lengths().items() if (mean := sum(every) / len(every)) > MEAN}


def _places(path: Path) -> Iterator[str]:
    text = path.read_text("utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if AVOIDED.search(line):
            yield f"{path}:{number}: {line.strip()}"
    for sentence in sentences(docstrings(text) if path.suffix == ".py" else text):
        if length(sentence) > LONGEST:
            yield f"{path}: {length(sentence)} words: {sentence}"


def main(asked: list[str]) -> int:
    """Print the places of the files asked for, or both tables."""
    for name in asked:
        path = Path(name).resolve()
        for found in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            sys.stdout.writelines(f"{place}\n" for place in _places(found))
    if not asked:
        for table in (avoided(), too_long(), means()):
            print(*(f'    "{name}": {n},' for name, n in sorted(table.items())), "", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
