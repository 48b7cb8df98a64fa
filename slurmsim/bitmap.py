"""Sets of nodes as Python ints: bit i is node i in table order.

``&``, ``|``, ``& ~`` and ``int.bit_count`` cost well under 3 µs on 40,000 nodes; walking bits one at a time does not,
so everything that needs indices or runs goes through NumPy here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from slurmsim.kernel import compiled, load

Bitmap = int
_PICKER: Final[Any] = load("picking").Picker() if compiled("picking") else None  # else big integers are quicker
FEW: Final = 8  # below so many members one shift each is quickest
MANY: Final = 64  # up to so many a shift for each run
FEW_RUNS: Final = 8  # up to so many it is quicker to take them off one by one
Indices = npt.NDArray[np.int64]


def from_indices(indices: Iterable[int]) -> Bitmap:
    """Return the set holding `indices`."""
    array = indices if isinstance(indices, np.ndarray) else np.fromiter(indices, np.int64)
    if len(array) < FEW:
        mask = 0
        for i in array.tolist():
            mask |= 1 << i
        return mask
    bits = np.zeros(int(array.max()) + 1, np.uint8)
    bits[array] = 1
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def from_ascending(indices: list[int]) -> Bitmap:
    """Return the set holding `indices`, which ascend and are at least one."""
    first, n = indices[0], len(indices)
    if indices[-1] - first == n - 1:
        return span(first, n)
    if n > MANY:
        return from_indices(np.fromiter(indices, np.int64, n))
    mask, after = 0, first
    for i in indices:
        if i != after:
            mask |= span(first, after - first)
            first = i
        after = i + 1
    return mask | span(first, after - first)


def from_bools(flags: npt.NDArray[np.bool_]) -> Bitmap:
    """Return the set of positions where `flags` is true; shape (n,)."""
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def to_bools(mask: Bitmap, n: int) -> npt.NDArray[np.bool_]:
    """Membership of nodes 0..n-1, shape (n,)."""
    raw = np.frombuffer(mask.to_bytes((n + 7) >> 3, "little"), np.uint8)
    return np.unpackbits(raw, count=n, bitorder="little").view(np.bool_)


def to_indices(mask: Bitmap) -> Indices:
    """Members in ascending order."""
    if mask.bit_count() <= 4:
        out = []
        while mask:
            low = mask & -mask
            out.append(low.bit_length() - 1)
            mask ^= low
        return np.array(out, np.int64)
    words = np.frombuffer(mask.to_bytes((mask.bit_length() + 63) >> 6 << 3, "little"), np.uint64)
    if len(words) > 32:  # a wide set may be sparse: unpack only the words that hold something
        at = words.nonzero()[0]
        bits = np.unpackbits(words[at].view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
        row, column = bits.view(np.bool_).nonzero()
        return (at[row] << 6) + column
    return np.unpackbits(words.view(np.uint8), bitorder="little").view(np.bool_).nonzero()[0]


def runs(mask: Bitmap) -> list[tuple[int, int]]:
    """Return maximal runs of consecutive members as (first, length), ascending."""
    if _PICKER is not None:
        found: list[tuple[int, int]] = _PICKER.runs(mask.to_bytes((mask.bit_length() + 7) >> 3, "little"))
        return found
    return by_integers(mask)


def by_integers(mask: Bitmap) -> list[tuple[int, int]]:
    """Return the same on big integers."""
    edges = mask ^ (mask << 1)  # a set bit where a run begins and one past where it ends
    if edges.bit_count() <= 2 * FEW_RUNS:
        found = []
        while mask:
            low = mask & -mask
            rest = mask + low  # the carry clears the first run and sets the bit past its end
            first = low.bit_length() - 1
            found.append((first, (rest & -rest).bit_length() - 1 - first))
            mask &= rest
        return found
    at = to_indices(edges).tolist()
    return [(at[i], at[i + 1] - at[i]) for i in range(0, len(at), 2)]


def span(first: int, length: int) -> Bitmap:
    """Return the run of `length` members beginning at `first`."""
    return ((1 << length) - 1) << first


def lowest(mask: Bitmap, k: int) -> Bitmap:
    """Return the `k` lowest members; `mask` must hold at least `k`."""
    if k == 0:
        return 0
    if mask.bit_count() == k:
        return mask
    at = int(to_indices(mask)[k - 1])
    return mask & ((1 << (at + 1)) - 1)
