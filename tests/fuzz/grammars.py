"""Inputs that keep to the grammar of a format and fill it with odd things; same seed, same input.

Damaged bytes (`mutations`) seldom come past the first check of a parser. What is made here is well formed: a tree of
TOML or JSON with other values, keys and depths, lines of ``Key=Value``, rows of a table with other cells.
"""

from __future__ import annotations

import json
import random
import re
import tomllib
from collections.abc import Callable
from typing import Any

from mutations import ODD, mutate

Grammar = Callable[[bytes, random.Random], bytes]

DEEP = 3000
_ODD_TEXTS = [word.decode("utf-8", "replace") for word in ODD]
_ODD_NUMBERS = (
    0, -1, 1, 2**31, 2**32 - 1, 2**32 - 2, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), 10**18, 10**30, 10**400,
    0.5, -0.0, 1e308, 1e-320,
)  # fmt: skip
_DATES = (
    "0001-01-01T00:00:00", "1969-12-31T23:59:59", "2024-02-29T00:00:00", "2023-02-29T00:00:00", "2038-01-19T03:14:08",
    "9999-12-31T23:59:59", "10000-01-01T00:00:00", "now+9999999days", "now-1", "+99999999:00:00", "-1:00",
    "253402300800",
)  # fmt: skip
_ESCAPED = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def bytes_only(seed: bytes, rng: random.Random) -> bytes:
    """Damage alone, for formats that are no text."""
    return mutate(seed, rng)


def as_toml(seed: bytes, rng: random.Random) -> bytes:
    """The tables of `seed`, changed."""
    tree = _changed(tomllib.loads(seed.decode()), rng)
    try:
        text = _toml(tree)
    except RecursionError:
        text = f"a = {'[' * 5000}"
    return text.encode("utf-8", "replace")


def as_json(seed: bytes, rng: random.Random) -> bytes:
    """The tree of `seed`, changed; rarely far too deep."""
    tree = _changed(json.loads(seed), rng)
    text = json.dumps(tree, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1)))
    if rng.random() < 0.03:
        text = text.replace("null", "[" * 100_000, 1).replace("[]", '{"a":' * 50_000, 1)
    return text.encode("utf-8", "surrogatepass")


def as_json_lines(seed: bytes, rng: random.Random) -> bytes:
    """A tree a line, one of them changed."""
    lines = seed.splitlines()
    k = rng.randrange(len(lines))
    lines[k] = as_json(lines[k], rng).replace(b"\n", b" ")
    return b"\n".join(lines) + b"\n" * rng.randrange(2)


def as_pairs(seed: bytes, rng: random.Random) -> bytes:
    """Lines of ``Key=Value``: values and keys of others, odd ones, keys twice, lines that go on."""
    lines = seed.decode().splitlines()
    pairs = re.findall(r"([A-Za-z]\w*)=(\S*)", seed.decode())
    for _ in range(rng.randrange(1, 6)):
        k = rng.randrange(len(lines))
        words = lines[k].split(" ") or [""]
        at = rng.randrange(len(words))
        key = words[at].partition("=")[0]
        match rng.randrange(7):
            case 0:
                words[at] = f"{key}={_text(rng)}"
            case 1:
                words[at] = f"{key}={rng.choice(pairs)[1]}" if pairs else _text(rng)
            case 2:
                words.insert(at, "=".join(rng.choice(pairs)) if pairs else _text(rng))
            case 3:
                words[at] = f"{rng.choice(pairs)[0] if pairs else key}{words[at][len(key) :]}"
            case 4:
                words[at] += rng.choice((" \\", "#", ",", "+=x", " ", "\t", '"', "'", "\\\n"))
            case 5:
                words = [*words, *words]
            case _:
                words[at] = f"{key}={','.join([_text(rng)] * rng.choice((2, 50)))}"
        lines[k] = " ".join(words)
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def as_table(delimiter: str) -> Grammar:
    """Rows of cells between `delimiter`: cells, columns and names changed."""

    def grown(seed: bytes, rng: random.Random) -> bytes:
        rows = [line.split(delimiter) for line in seed.decode().splitlines()]
        for _ in range(rng.randrange(1, 6)):
            row = rows[rng.randrange(len(rows))]
            at = rng.randrange(len(row))
            match rng.randrange(7):
                case 0 | 1:
                    row[at] = _text(rng)
                case 2:
                    row[at] += rng.choice((delimiter, "\n", "\r", delimiter * 3, "\n\n", delimiter * 300, "\0", '"'))
                case 3:
                    other = rng.choice(rows)
                    row[at] = other[rng.randrange(len(other))]
                case 4:
                    for each in rows:
                        del each[min(at, len(each) - 1)]
                    rows = [each or [""] for each in rows]
                case 5:
                    a, b = rng.randrange(len(row)), rng.randrange(len(row))
                    for each in rows:
                        if max(a, b) < len(each):
                            each[a], each[b] = each[b], each[a]
                case _:
                    rows.append(list(row))
        return ("\n".join(delimiter.join(row) for row in rows) + "\n").encode("utf-8", "replace")

    return grown


def _text(rng: random.Random) -> str:
    number = rng.random()
    if number < 0.3:
        return str(rng.choice(_ODD_NUMBERS))
    return rng.choice(_DATES) if number < 0.5 else rng.choice(_ODD_TEXTS)


def _changed(tree: Any, rng: random.Random) -> Any:
    """`tree` with one to four of its values, keys or elements changed."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        places = list(_places(tree))
        if not places:
            break
        container, key = rng.choice(places)
        match rng.randrange(6):
            case 0 | 1 | 2:
                container[key] = _value(rng)
            case 3:
                del container[key]
            case 4 if isinstance(container, dict):
                container[_text(rng)] = container.pop(key)
            case 4:
                container.append(container[key])
            case _:
                other, where = rng.choice(places)
                container[key] = json.loads(json.dumps(other[where], default=str)) if where in _keys(other) else None
    return tree


def _keys(container: Any) -> range | set[str]:
    return range(len(container)) if isinstance(container, list) else set(container)


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """(container, key) of everything below `tree`."""
    found: list[tuple[Any, Any]] = []
    left = [tree]
    while left:
        node = left.pop()
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in items:
            found.append((node, key))
            left.append(value)
    return found


def _value(rng: random.Random) -> Any:
    match rng.randrange(8):
        case 0 | 1:
            return rng.choice(_ODD_NUMBERS)
        case 2 | 3:
            return _text(rng)
        case 4:
            return rng.choice((True, False, []))
        case 5:
            return [_value(rng) for _ in range(rng.randrange(4))]
        case 6:
            return {_text(rng): _value(rng) for _ in range(rng.randrange(3))}
        case _:
            deep: Any = 1
            for _ in range(rng.choice((5, 50, 300))):
                deep = [deep] if rng.random() < 0.5 else {"a": deep}
            return deep


def _toml(value: Any, depth: int = 0) -> str:
    """`value` as TOML: inline tables below the outermost one."""
    if isinstance(value, dict):
        pairs = [f"{_toml(str(key))} = {_toml(item, depth + 1)}" for key, item in value.items()]
        return "".join(f"{pair}\n" for pair in pairs) if depth == 0 else "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item, depth + 1) for item in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if value is None:
        return '""'
    if isinstance(value, str):
        text = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + '"'
    return str(value)  # dates and times
