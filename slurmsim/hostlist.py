"""Hostlist expressions: ``n[01-03,7],g1`` into names and back.

Mirrors Slurm's host list rules (22.05): several bracket groups are read; only the last number of a name is compressed
on output; zero padding is significant. Fast enough for 100,000 nodes.
"""

from __future__ import annotations

from slurmsim.errors import InputError
from slurmsim.fast_imports import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable


MAX_HOSTS = 1 << 20
"""Most names one expression may stand for; a longer one is a typing mistake that would eat the memory."""
MAX_RANGE = 1 << 16  # most names of one range for Slurm's own commands and daemons (hostlist.c, MAX_RANGE)

_DIGITS = pattern(r"\d+")
_RANGE = pattern(r"(?a)(\d+)(?:-(\d+))?")
_MAX_DIGITS = 18  # of a number in brackets: more do not fit Slurm's 64-bit range either


class HostlistError(InputError, ValueError):
    """A hostlist expression is wrong; the message quotes the bad part."""


class BadRange(HostlistError):
    """A range in brackets is none, or stands for too many names; `complaint` is what Slurm's hostlist.c says of it."""

    def __init__(self, message: str, part: str, *, wide: bool = False, expected: str | None = None) -> None:
        super().__init__(message, expected=expected)
        what = "Too many hosts in range" if wide else "Invalid range:"
        self.complaint = f"_parse_single_range: {what} `{part}'"


def expand(expr: str, limit: int = MAX_HOSTS, widest: int = MAX_HOSTS) -> list[str]:
    """Names an expression stands for, in the order written, duplicates kept.

    Parameters
    ----------
    expr
        Names and bracketed names separated by commas or blanks: ``r[1-2]n[01-03,7],login``. Empty gives no names.
    limit, widest
        Most names in all, and of one range. They are counted before anything is expanded.

    Raises
    ------
    HostlistError
        Unbalanced, nested or empty brackets, a part that is no number or range, a range that runs backwards,
        or more than `limit` names; `BadRange` for what stands in brackets, also a range of more than `widest`.

    Examples
    --------
    >>> expand("n[01-03,7],g1")
    ['n01', 'n02', 'n03', 'n7', 'g1']
    """
    names: list[str] = []
    for item in _split(expr):
        if len(names) >= limit:
            raise _too_many(expr, limit)
        names.extend(_expand_item(item, limit - len(names), widest) if "[" in item else [item])
    return names


def compress(names: Iterable[str]) -> str:
    """Shortest Slurm expression for a set of names, sorted and without duplicates.

    Prefixes come in natural order, numbers by length then value (n9, n10, n010), runs of equal padding as ranges,
    everything of one prefix in one bracket. One number needs no bracket; no names give "".

    Examples
    --------
    >>> compress(["n10", "n9", "n07", "g1", "n8"])
    'g1,n[8-9,07,10]'
    """
    numbers: dict[str, list[str]] = {}
    bare: set[str] = set()
    for name in set(names):
        prefix, digits = numbered(name)
        if not digits or len(digits) > _MAX_DIGITS:
            bare.add(name)
        else:
            numbers.setdefault(prefix, []).append(digits)
    parts: list[tuple[str, bool, str]] = [(natural_key(name), False, name) for name in bare]
    for prefix, digits_of in numbers.items():
        digits_of.sort(key=lambda digits: (len(digits), digits))
        text = digits_of[0] if len(digits_of) == 1 else f"[{','.join(_ranges(digits_of))}]"
        parts.append((natural_key(prefix), True, prefix + text))
    return ",".join(part[2] for part in sorted(parts))


def compress_in_order(names: Iterable[str]) -> str:
    """Return a Slurm expression that keeps the order of names: only neighbours of one prefix share a bracket.

    Examples
    --------
    >>> compress_in_order(["n03", "n02", "n07", "n08", "g1", "n1"])
    'n[03,02,07-08],g1,n1'
    """
    parts: list[tuple[str, list[list[str]]]] = []  # prefix, runs of numbers
    for name in names:
        prefix, digits = numbered(name)
        if not digits or len(digits) > _MAX_DIGITS:
            parts.append((name, []))
            continue
        if not parts or parts[-1][0] != prefix or not parts[-1][1]:
            parts.append((prefix, []))
        runs = parts[-1][1]
        if runs and len(runs[-1][-1]) == len(digits) and int(runs[-1][-1]) + 1 == int(digits):
            runs[-1].append(digits)
        else:
            runs.append([digits])
    return ",".join(prefix + _bracket(runs) for prefix, runs in parts)


def _bracket(runs: list[list[str]]) -> str:
    """Return runs of numbers behind a prefix; one number needs no bracket."""
    texts = [run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return f"[{','.join(texts)}]" if len(texts) > 1 or "-" in "".join(texts) else "".join(texts)


def numbered(name: str) -> tuple[str, str]:
    """Return what a name begins with, and the digits of the number that it ends with, "" for none.

    >>> numbered("n01"), numbered("7"), numbered("head")
    (('n', '01'), ('', '7'), ('head', ''))
    """
    prefix = name.rstrip("0123456789")
    return prefix, name[len(prefix) :]


def natural_key(name: str) -> str:
    """Sort key of Slurm's node table: numbers inside a name compare as numbers (``n2`` before ``n10``).

    As in the natural order slurmctld uses, a number with leading zeros compares digit by digit like a decimal
    fraction, so it comes before every number without.
    """
    return _DIGITS.sub(_number_key, name)


def _number_key(match: re.Match[str]) -> str:
    digits = match[0]
    if digits[0] == "0":
        return f"{digits}\0"
    return f"1{chr(len(digits))}{digits}"


def _split(expr: str) -> list[str]:
    """Cut at commas and blanks outside brackets; empty items vanish, as in Slurm."""
    if "[" not in expr and "]" not in expr:
        return expr.replace(",", " ").split()
    items: list[str] = []
    start = depth = 0
    for i, char in enumerate(expr):
        if char == "[":
            depth += 1
            if depth > 1:
                raise HostlistError(f"nested '[' in hostlist {expr[start : i + 1]!r}")
        elif char == "]":
            depth -= 1
            if depth < 0:
                raise HostlistError(f"']' without '[' in hostlist {expr[start : i + 1]!r}")
        elif depth == 0 and (char == "," or char.isspace()):
            if i > start:
                items.append(expr[start:i])
            start = i + 1
    if depth:
        raise HostlistError(f"'[' without ']' in hostlist {expr[start:]!r}")
    if start < len(expr):
        items.append(expr[start:])
    return items


def _expand_item(item: str, limit: int, widest: int) -> list[str]:
    """Expand the groups of one bracketed name; the last varies fastest, then the first, the second and so on."""
    names = [""]
    position, final = 0, item.rindex("[")
    while (opening := item.find("[", position)) >= 0:
        closing = item.index("]", opening)
        literal = item[position:opening]
        ranges = _group(item[opening + 1 : closing], item, widest)
        if len(names) * sum(last - first + 1 for first, last, _ in ranges) > limit:
            raise _too_many(item, limit)
        numbers = [f"{number:0{width}d}" for first, last, width in ranges for number in range(first, last + 1)]
        if opening == final:
            names = [f"{name}{literal}{number}" for name in names for number in numbers]
        else:
            names = [f"{name}{literal}{number}" for number in numbers for name in names]
        position = closing + 1
    tail = item[position:]
    return [name + tail for name in names] if tail else names


def _group(text: str, item: str, widest: int) -> list[tuple[int, int, int]]:
    """Ranges of one bracket group: first and last number, and the width the first is padded to."""
    ranges = []
    for part in text.split(","):
        part = part.strip()
        match = _RANGE.fullmatch(part)
        if match is None:
            text = f"bad range {_short(part)} in hostlist {_short(item)}"
            raise BadRange(text, part, expected="a number or FIRST-LAST")
        low, high = match[1], match[2] or match[1]
        if max(len(low), len(high)) > _MAX_DIGITS:
            raise HostlistError(f"number too long in range {_short(part)} of hostlist {_short(item)}")
        first, last = int(low), int(high)
        if last < first:
            raise BadRange(f"range {_short(part)} in hostlist {_short(item)} runs backwards", part)
        if last - first >= widest:
            raise BadRange(_too_many(item, widest).message, part, wide=True)
        ranges.append((first, last, len(low)))
    return ranges


def _ranges(digits_of: list[str]) -> list[str]:
    """Merge sorted numbers into ranges; a range goes on while its padding does."""
    ranges: list[str] = []
    low = high = digits_of[0]
    value = int(low)
    for digits in digits_of[1:]:
        if digits == f"{value + 1:0{len(low)}d}":
            high, value = digits, value + 1
            continue
        ranges.append(low if low == high else f"{low}-{high}")
        low = high = digits
        value = int(digits)
    ranges.append(low if low == high else f"{low}-{high}")
    return ranges


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _too_many(expr: str, limit: int) -> HostlistError:
    return HostlistError(f"hostlist {_short(expr)} stands for more than {limit} names")
