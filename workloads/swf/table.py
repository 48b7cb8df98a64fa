"""The Standard Workload Format as a table of numbers: 18 columns a line, ``;`` comments, plain or gzip.

Blocks of whole lines are parsed at NumPy's speed and their columns counted line by line; only a block that does not
fit is gone through again in Python, to name the line and the field that are wrong.

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
    """`values` (n, 18) int64 as in the file, `lines` (n,) their 1-based line numbers, `comments` without ``;``.

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
    values: list[npt.NDArray[np.int64]] = []
    lines: list[npt.NDArray[np.int64]] = []
    first_line = 1
    for block in read_line_blocks(path):
        n_lines = block.count(b"\n")
        if b";" in block:
            end = block.find(b"\n", block.rfind(b";")) + 1 or len(block)  # they are in the first lines, as a rule
            table.comments += [m.decode("utf-8", "replace").strip() for m in _COMMENT.findall(block[:end])]
            block = _COMMENT.sub(b"", block[:end]) + block[end:]
        parsed = _parse_fast(block, first_line) or _parse_slow(block, first_line, path, ignore_extra, table)
        values.append(parsed[0])
        lines.append(parsed[1])
        first_line += n_lines
    if values:
        table.values, table.lines = np.concatenate(values), np.concatenate(lines)
    return table


_Parsed = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def _parse_fast(block: bytes, first_line: int) -> _Parsed | None:
    """Rows and line numbers of a block in which every line has 18 whole numbers or is empty; None if it has not."""
    if not block.endswith(b"\n"):
        block += b"\n"
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
        return np.empty((0, 18), np.int64), np.empty(0, np.int64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # older NumPy warns where newer ones raise
            flat = np.fromstring(block, np.int64, sep=" ")
    except ValueError:
        return None
    if len(flat) != 18 * n or flat.max() > _LARGEST or flat.min() < -_LARGEST:
        return None
    return flat.reshape(n, 18), np.flatnonzero(full) + first_line


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
    return np.array(rows, np.int64).reshape(len(rows), 18), np.array(lines, np.int64)


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
