"""The Standard Workload Format as a table of numbers: 18 columns a line, ``;`` comments, plain or gzip.

Blocks of whole lines are parsed by the kernel where it is an extension, else at NumPy's speed. Only a block that does
not fit is gone through again in Python, to name the line and the field that are wrong.

Source: Chapin et al., "Benchmarks and standards for the evaluation of parallel job schedulers", JSSPP 1999,
section 2 (the format), as kept by the Parallel Workloads Archive (version 2.2).
"""

import re
import warnings
from pathlib import Path

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass, field
from slurmsim.errors import WorkloadError
from slurmsim.kernel import compiled, load
from slurmsim_workloads.files import read_line_blocks

COLUMNS = (
    "job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time", "used memory",
    "requested processors", "requested time", "requested memory", "status", "user", "group", "executable", "queue",
    "partition", "preceding job", "think time",
)  # fmt: skip
(JOB, SUBMIT, WAIT, RUN, PROCS, CPU, MEM, REQ_PROCS, REQ_TIME, REQ_MEM, STATUS, USER, GROUP, EXECUTABLE, QUEUE,
 PARTITION, PRECEDING, THINK) = range(18)  # fmt: skip

# Columns in which converters leave fractions; a fraction anywhere else is an error.
_FRACTIONAL = (SUBMIT, WAIT, RUN, CPU, MEM, REQ_TIME, REQ_MEM, THINK)
_LARGEST = 1 << 53
_COMMENT = re.compile(rb"^[ \t]*;([^\r\n]*)", re.MULTILINE)
_NEWLINE = 10


@dataclass(slots=True)
class SwfTable:
    """Numbers and comments of a file.

    `values` (n, 18) int64 is as in the file, each column in one piece; `lines` (n,) has their 1-based line numbers, and
    `comments` are without ``;``.
    `rounded` maps a column index to the line numbers where a fraction was rounded to the nearest whole number.
    """

    values: npt.NDArray[np.int64]
    lines: npt.NDArray[np.int64]
    comments: list[str] = field(default_factory=list)
    rounded: dict[int, list[int]] = field(default_factory=dict)


def read_table(path: Path, *, ignore_extra: bool = False) -> SwfTable:
    """Return all records of an SWF file.

    Parameters
    ----------
    path
        The file, plain or gzip.
    ignore_extra
        Accept lines with more than 18 columns and leave out the rest of each.

    Raises
    ------
    WorkloadError
        Unreadable file, wrong number of columns, or a field that is not a number; the line is named.
    """
    table = SwfTable(np.empty((0, 18), np.int64), np.empty(0, np.int64))
    blocks = [_without_comments(block, table) for block in read_line_blocks(path)]
    room = sum(newlines for _, newlines in blocks)
    values, lines = np.empty((18, room), np.int64), np.empty(room, np.int64)
    n, first_line = 0, 1
    for k, (block, newlines) in enumerate(blocks):
        blocks[k] = b"", 0  # its text is of no use any more
        end = _parse(block, first_line, n, values, lines)
        if end < 0:
            found = _parse_slow(block, first_line, path, ignore_extra, table)
            end = n + len(found[1])
            values[:, n:end], lines[n:end] = found
        n, first_line = end, first_line + newlines
    table.values, table.lines = values[:, :n].T, lines[:n]
    return table


def _without_comments(block: bytes, table: SwfTable) -> tuple[bytes, int]:
    """Return the block, a newline at its end, with its comments taken out and kept, and how many lines it has."""
    if b";" in block:
        end = block.find(b"\n", block.rfind(b";")) + 1 or len(block)  # they are in the first lines, as a rule
        table.comments += [m.decode("utf-8", "replace").strip() for m in _COMMENT.findall(block[:end])]
        block = _COMMENT.sub(b"", block[:end]) + block[end:]
    if not block.endswith(b"\n"):
        block += b"\n"
    return block, block.count(b"\n")


_Parsed = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Columns, (18, n), and the line of each of their values, (n,)."""


def _parse(
    block: bytes, first_line: int, begin: int, values: npt.NDArray[np.int64], lines: npt.NDArray[np.int64]
) -> int:  # fmt: skip
    """Put the block into the columns from `begin` on, and say where the next goes.

    -1 unless every line has 18 whole numbers or is empty.
    """
    if compiled("numbers"):
        return int(load("numbers").columns_of(block, first_line, begin, values, lines))
    found = _parse_fast(block, first_line)
    if found is None:
        return -1
    end = begin + len(found[1])
    values[:, begin:end], lines[begin:end] = found
    return end


def _parse_fast(block: bytes, first_line: int) -> _Parsed | None:
    """Columns and line numbers of a block by NumPy; None unless every line has 18 whole numbers or is empty."""
    characters = np.frombuffer(block, np.uint8)
    blank = characters <= 32
    ends = np.empty(len(characters), np.uint8)  # 1 on the blank right behind a field
    ends[0] = 0
    np.logical_and(blank[1:], ~blank[:-1], out=ends[1:].view(np.bool_))
    line_starts = np.concatenate(([0], np.flatnonzero(characters == _NEWLINE)[:-1] + 1))
    fields = np.add.reduceat(ends, line_starts, dtype=np.uint8)  # modulo 256: all of the block's are counted below
    full = fields == 18
    if not np.all(full | (fields == 0)):
        return None
    n = int(np.count_nonzero(full))
    if n == 0:
        return np.empty((18, 0), np.int64), np.empty(0, np.int64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # older NumPy warns where newer ones raise
            flat = np.fromstring(block, np.int64, sep=" ")
    except ValueError:
        return None
    if len(flat) != 18 * n or flat.max() > _LARGEST or flat.min() < -_LARGEST:
        return None
    return flat.reshape(n, 18).T, np.flatnonzero(full) + first_line


def _parse_slow(block: bytes, first_line: int, path: Path, ignore_extra: bool, table: SwfTable) -> _Parsed:
    """Return the same for a block with fractions or surplus columns; raises at the first line that is neither."""
    rows: list[list[int]] = []
    lines: list[int] = []
    for line, raw in enumerate(block.split(b"\n"), first_line):
        fields = raw.split()
        if not fields:
            continue
        if len(fields) != 18 and not (ignore_extra and len(fields) > 18):
            hint = "18; option extra=ignore leaves out the surplus" if len(fields) > 18 else "18"
            raise WorkloadError(f"{len(fields)} columns", file=str(path), line=line, expected=hint)
        rows.append([_number(fields[i], i, line, path, table) for i in range(18)])
        lines.append(line)
    return np.array(rows, np.int64).reshape(len(rows), 18).T, np.array(lines, np.int64)


def _number(text: bytes, column: int, line: int, path: Path, table: SwfTable) -> int:
    try:
        value = float(text)
        whole = round(value)
    except (ValueError, OverflowError):
        value, whole = float("inf"), 0
    if not abs(value) <= _LARGEST or b"_" in text:
        raise WorkloadError(
            f"{text.decode('utf-8', 'replace')!r} is not a number",
            file=str(path),
            line=line,
            field=f"column {column + 1} ({COLUMNS[column]})",
            expected="a whole number, -1 for unknown",
        )
    if whole != value:
        if column not in _FRACTIONAL:
            raise WorkloadError(
                f"{text.decode()!r} is not a whole number",
                file=str(path),
                line=line,
                field=f"column {column + 1} ({COLUMNS[column]})",
            )
        table.rounded.setdefault(column, []).append(line)
    return whole
