"""No regular expression takes long for a long text: 10,000 blanks, quotes, commas or digits are read in a moment.

The search reads the syntax, and tries each pattern in the way its module uses it. It does not see patterns whose text
is made while the program runs.
"""

from __future__ import annotations

import ast
import re
import signal
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
ROOMS = ("slurmsim", "policies", "workloads")
METHODS = ("match", "fullmatch", "search", "findall", "finditer", "split", "sub")
LENGTH = 10_000
MOST_S = 0.1
"""Seconds of CPU; what is linear takes milliseconds, what is quadratic tenths of a second."""
ATOMS = (" ", '"', "'", ",", "1", "a", "=", "-", ":", "[", "(", "|", "\\", "\n", ".", "a ", "a,", "1-", "a=")
TEXTS = [first + atom * (LENGTH // len(atom)) + "\0" for first, atom in product(("", "a", "a="), ATOMS)]


def patterns() -> Iterator[tuple[str, str, int, str]]:
    """(file, text, flags, method) of each pattern that is written in the sources."""
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        source = path.read_text("utf-8")
        if "import re\n" not in source and " pattern" not in source:
            continue
        tree = ast.parse(source)
        nodes = list(ast.walk(tree))
        used = [(node.value.id, node.attr) for node in nodes
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]  # fmt: skip
        named = {id(node.value): target.id for node in nodes if isinstance(node, ast.Assign)
                 for target in node.targets if isinstance(target, ast.Name)}  # fmt: skip
        for node in nodes:
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = ast.unparse(node.func)
            text, method, where = node.args[0], name.removeprefix("re."), str(path.relative_to(ROOT))
            if not (isinstance(text, ast.Constant) and isinstance(text.value, str)):
                continue
            if name in ("re.compile", "pattern"):
                ways = {way for owner, way in used if owner == named.get(id(node)) and way in METHODS} or set(
                    METHODS[:4]
                )
                yield from ((where, text.value, flags(node), way) for way in sorted(ways))
            elif name.startswith("re.") and method in METHODS:
                yield where, text.value, flags(node), method


def flags(call: ast.Call) -> int:
    """The flags that a call gives by name."""
    return sum(getattr(re, name) for name in set(re.findall(r"\bre\.([A-Z]+)\b", ast.unparse(call))))


class TooLong(Exception):
    """A pattern took more than it may."""


def too_long(number: int, frame: FrameType | None) -> None:
    raise TooLong


def slow_text(compiled: re.Pattern[str], method: str) -> str | None:
    """The first of the texts that takes too long."""
    act: Any = getattr(compiled, method)
    for text in TEXTS:
        signal.setitimer(signal.ITIMER_VIRTUAL, MOST_S)
        try:
            if method == "sub":
                act("", text)
            elif method == "finditer":
                list(act(text))
            else:
                act(text)
        except TooLong:
            return text
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return None


def test_no_pattern_takes_long() -> None:
    before = signal.signal(signal.SIGVTALRM, too_long)
    found, slow = list(patterns()), []
    try:
        for where, text, given, method in found:
            hard = slow_text(re.compile(text, given), method)
            if hard is not None:
                slow.append((where, text, method, hard[:9] + hard[-1:]))
    finally:
        signal.signal(signal.SIGVTALRM, before)
    assert len(found) > 140
    assert not slow, "\n".join(map(str, slow))
