"""Host lists as ``scontrol show hostlist`` prints them: in the order given, neighbours put together."""

from __future__ import annotations

from slurmsim.hostlist import natural_key, numbered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


_Range = tuple[int, int, int]  # low, high, digits


def encode(names: Iterable[str], ordered: bool = False) -> str:
    """Names as a list: brackets around numbers behind the same prefix, as long as they follow each other.

    >>> encode(["n01", "n02", "x5", "n03"]), encode(["n3", "n1", "n2"], True), encode(["n1", "n3", "n2", "n07"])
    ('n[01-02],x5,n03', 'n[1-3]', 'n[1,3,2,07]')
    """
    given = sorted(names, key=_place) if ordered else list(names)
    groups: list[tuple[str, list[_Range]]] = []  # no ranges: a plain name
    for name in given:
        prefix, text = numbered(name)
        if not text:
            groups.append((name, []))
            continue
        number, width = int(text), len(text)
        if not groups or groups[-1][0] != prefix or not groups[-1][1]:
            groups.append((prefix, [(number, number, width)]))
            continue
        ranges = groups[-1][1]
        low, high, digits = ranges[-1]
        if number == high + 1 and str(number).zfill(digits) == text:
            ranges[-1] = (low, number, digits)
        else:
            ranges.append((number, number, width))
    return ",".join(_shown(prefix, ranges) for prefix, ranges in groups)


def _place(name: str) -> tuple[str, int, str]:
    """Names without a number first, then numbers by length and value, behind each prefix.

    >>> sorted(["n10", "n9", "n08", "a"], key=_place)
    ['a', 'n9', 'n08', 'n10']
    """
    prefix, digits = numbered(name)
    return natural_key(prefix), len(digits), digits


def _shown(prefix: str, ranges: list[_Range]) -> str:
    texts = [
        str(low).zfill(digits) + (f"-{str(high).zfill(digits)}" if high > low else "") for low, high, digits in ranges
    ]
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return prefix + texts[0]
    return f"{prefix}[{','.join(texts)}]" if texts else prefix
