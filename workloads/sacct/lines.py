"""The lines of a ``sacct -P`` dump: those of the header's width as they are, the others made whole or put aside."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass, field
from slurmsim_workloads.sacct.fields import FREE_TEXT
from slurmsim_workloads.sacct.repair import Mender

_STEP = 1 << 24
Numbers = npt.NDArray[np.int64]

JOINED = "record over several lines, joined"


@dataclass(slots=True)
class Mended:
    """The lines that had another width than the header, and their repair."""

    # (index of the record's first line, its texts), in order
    rows: list[tuple[int, Sequence[str]]] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)  # indices of all lines that are not rows of their own
    # (index of the line, its number of fields) of lines no record could be made of
    bad: list[tuple[int, int]] = field(default_factory=list)
    # reason -> indices of the first lines of the records it was done to
    repaired: dict[str, list[int]] = field(default_factory=dict)


class Lines:
    """The lines below the header, by their index from 0.

    Parameters
    ----------
    delimiter
        One byte.
    """

    def __init__(self, body: bytes, delimiter: bytes) -> None:
        self.body = body
        ends = _places(body, b"\n")
        if body and not body.endswith(b"\n"):
            ends = np.append(ends, len(body))
        self.ends = ends
        self.starts = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
        before = np.searchsorted(_places(body, delimiter), ends)
        self.widths: Numbers = np.diff(before, prepend=0) + 1
        self.filled = self.ends > self.starts
        self._odd_ends = np.searchsorted(_places(body, b"\r"), ends)

    def __len__(self) -> int:
        return len(self.ends)

    def odd(self, width: int) -> Numbers:
        """Return the indices of the lines of another width, and of those with a lone carriage return."""
        returns = np.diff(self._odd_ends, prepend=0) > 0
        return np.flatnonzero(self.filled & ((self.widths != width) | returns))

    def text(self, first: int, last: int) -> str:
        """Return the lines from `first` to `last`; what is no UTF-8 is replaced."""
        return self.body[int(self.starts[first]) : int(self.ends[last])].decode("utf-8", "replace")

    def without(self, gone: Numbers) -> bytes:
        """Return the bytes of all lines but `gone` (ascending)."""
        if not len(gone):
            return self.body
        edges = np.concatenate(([-1], gone, [len(self)]))
        runs = [(a + 1, b - 1) for a, b in pairwise(edges.tolist()) if b - a > 1]
        parts = [self.body[int(self.starts[a]) : int(self.ends[b]) + 1] for a, b in runs]
        return b"".join(part if part.endswith(b"\n") else part + b"\n" for part in parts)


def mend_lines(lines: Lines, odd: Numbers, mender: Mender) -> Mended:
    """Make records of the `odd` lines."""
    done = Mended()
    width = len(mender.names)
    for group in _groups(lines, odd, mender, width):
        first, last = group[0], group[-1]
        text = lines.text(first, last)
        if first == last and lines.widths[first] == width:  # a carriage return inside
            cells: Sequence[str] | None = text.split(mender.delimiter)
            held: tuple[str, ...] = ()
        else:
            whole = mender.mend(text)
            cells, held = (whole.fields, whole.held) if whole else (None, ())
        if cells is None:
            own = [i for i in group if lines.widths[i] != width or i != first]
            done.bad += [(i, int(lines.widths[i])) for i in own]
            done.gone += own
            continue
        done.gone += group
        done.rows.append((first, cells))
        if first != last:
            done.repaired.setdefault(JOINED, []).append(first)
        for name in held:
            if name != mender.names[-1]:
                reason = f"delimiter inside {name}, told by the fields around it"
                done.repaired.setdefault(reason, []).append(first)
    return done


def _groups(lines: Lines, odd: Numbers, mender: Mender, width: int) -> Iterator[list[int]]:
    """Lines that may be one record, the line of the right width before them included if they can go on from it."""
    group: list[int] = []
    may_go_on = any(name in FREE_TEXT for name in mender.names)
    previous = _previous_filled(lines, odd)
    for i, before in zip(odd.tolist(), previous.tolist(), strict=True):
        text = lines.text(i, i)
        begins = mender.begins(text)
        if not begins and may_go_on and not mender.is_cut(text):
            if group and group[-1] == before:
                group += [*range(before + 1, i + 1)]
                continue
            if before >= 0 and lines.widths[before] == width:
                if group:
                    yield group
                group = [*range(before, i + 1)]
                continue
        if group:
            yield group
        group = [i]
    if group:
        yield group


def _previous_filled(lines: Lines, odd: Numbers) -> Numbers:
    """Return the index of the line before each of `odd` that is not empty; -1 without one."""
    filled = np.flatnonzero(lines.filled)
    at = np.searchsorted(filled, odd) - 1
    return np.where(at >= 0, filled[np.maximum(at, 0)] if len(filled) else -1, -1)


def _places(data: bytes, byte: bytes) -> Numbers:
    characters = np.frombuffer(data, np.uint8)
    blocks = range(0, len(characters), _STEP)
    found = [np.flatnonzero(characters[i : i + _STEP] == byte[0]) + i for i in blocks]
    return np.concatenate(found) if found else np.empty(0, np.int64)
