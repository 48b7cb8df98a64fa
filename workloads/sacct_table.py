"""A ``sacct -P`` dump as Arrow text columns: header, delimiter, rows of the right width, line numbers for errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from slurmsim.errors import WorkloadError
from slurmsim_workloads.files import read_blocks
from slurmsim_workloads.sacct_fields import CANONICAL, FREE_TEXT, USED

if TYPE_CHECKING:
    import pyarrow as pa

DELIMITERS = ("|", "\x1f", "\t", ";", ",")
NAMED_DELIMITERS = {"tab": "\t", "us": "\x1f", "pipe": "|", "comma": ",", "semicolon": ";"}
_HEADER_HINT = "the header line of sacct -P; leave out -n (--noheader)"
_PIPE_HINT = "put JobName and SubmitLine last, or dump with --delimiter=$'\\x1f'"


@dataclass(slots=True)
class Dump:
    """`columns` by canonical name, only those slurmsim reads; `lines` (n,) the line number of each row.

    `bad` holds (line, number of fields) of rows left out for their width.
    """

    columns: dict[str, pa.ChunkedArray]
    lines: npt.NDArray[np.int64]
    bad: list[tuple[int, int]] = field(default_factory=list)
    repeated_headers: int = 0


def looks_like_header(line: bytes) -> bool:
    """Whether a file that begins with `line` can be a sacct dump."""
    text = line.decode("utf-8", "replace")
    return any(_known(text.split(d)) >= 2 and "jobid" in text.lower() for d in DELIMITERS)


def read_dump(path: Path, delimiter: str = "", *, drop_bad: bool = False) -> Dump:
    """Read a dump into columns.

    Parameters
    ----------
    path
        Plain or gzip.
    delimiter
        Empty: told by the header line. Otherwise the text between fields, or tab, us, pipe, comma, semicolon.
    drop_bad
        Leave out rows with a wrong number of fields instead of refusing the file.

    Raises
    ------
    WorkloadError
        No header line, output made without -P, or a row with too few or too many fields.
    """
    data = b"".join(read_blocks(path))
    if b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
    start = len(data) - len(data.lstrip(b"\n"))
    end = data.find(b"\n", start)
    header = data[start : end if end >= 0 else len(data)].decode("utf-8", "replace").strip("\ufeff")
    if not header.strip():
        raise WorkloadError("is empty", file=str(path), expected=_HEADER_HINT)
    line = start + 1
    chosen = NAMED_DELIMITERS.get(delimiter, delimiter) or _delimiter(header, line, path)
    names = _names(header, chosen, line, path)
    body = data[end + 1 :] if end >= 0 else b""
    del data
    return _Rows(path, names, chosen, body, line + 1, header, drop_bad).dump()


def _known(names: list[str]) -> int:
    return sum(name.strip().lower() in CANONICAL for name in names)


def _delimiter(header: str, line: int, path: Path) -> str:
    best = max(DELIMITERS, key=lambda d: _known(header.split(d)))
    if _known(header.split(best)) >= 2:
        return best
    if _known(header.split()) >= 2:
        raise WorkloadError("columns padded with blanks", file=str(path), line=line, expected="output of sacct -P")
    raise WorkloadError(f"no sacct field names in {header[:40]!r}", file=str(path), line=line, expected=_HEADER_HINT)


def _names(header: str, delimiter: str, line: int, path: Path) -> list[str]:
    """Canonical names of the columns; ``""`` for those not read. With -p the line ends with a delimiter."""
    raw = [name.strip() for name in header.split(delimiter)]
    if _known(raw) < 2:
        raise WorkloadError(
            f"no sacct field names between {delimiter!r}", file=str(path), line=line, expected=_HEADER_HINT
        )
    names = [CANONICAL.get(name.lower(), name) for name in raw]
    for name in USED:
        if names.count(name) > 1:
            raise WorkloadError("the field is there twice", file=str(path), line=line, field=name)
    return names


class _Rows:
    def __init__(
        self, path: Path, names: list[str], delimiter: str, body: bytes, line: int, header: str, drop_bad: bool
    ) -> None:
        self.path, self.names, self.delimiter, self.body = path, names, delimiter, body
        self.line, self.header, self.drop_bad = line, header, drop_bad
        self.wanted = [name for name in names if name in USED]

    def dump(self) -> Dump:
        import pyarrow.compute as pc

        dump = self._fast() or self._slow()
        # monthly dumps put together bring their header lines along
        first = self.wanted[0]
        again = pc.equal(pc.utf8_lower(dump.columns[first]), first.lower())
        dump.repeated_headers = pc.sum(again).as_py() or 0
        if dump.repeated_headers:
            keep = pc.invert(again)
            dump.columns = {name: column.filter(keep) for name, column in dump.columns.items()}
            dump.lines = dump.lines[keep.to_numpy()]
        return dump

    def _fast(self) -> Dump | None:
        """Arrow's CSV reader; None when a row has another width or the delimiter is longer than a character."""
        import pyarrow as pa
        from pyarrow import csv

        if len(self.delimiter.encode()) != 1:
            return None
        unique = [name if name in USED else f"#{i}" for i, name in enumerate(self.names)]
        if not self.body.strip():
            empty = {name: pa.chunked_array([pa.array([], pa.string())]) for name in self.wanted}
            return Dump(empty, np.empty(0, np.int64))
        try:
            table = csv.read_csv(
                pa.BufferReader(self.body),
                read_options=csv.ReadOptions(column_names=unique, block_size=1 << 22, use_threads=False),
                parse_options=csv.ParseOptions(delimiter=self.delimiter, quote_char=False, escape_char=False),
                convert_options=csv.ConvertOptions(
                    column_types={name: pa.string() for name in self.wanted},
                    include_columns=self.wanted,
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            if "UTF8" in str(error):  # a name in some older encoding: replace what cannot be read, and go on
                self.body = self.body.decode("utf-8", "replace").encode()
                return self._fast()
            return None
        lines = self._line_numbers()
        if len(lines) != len(table):
            return None
        return Dump({name: table[name] for name in self.wanted}, lines)

    def _line_numbers(self) -> npt.NDArray[np.int64]:
        """Numbers of the lines that are not empty."""
        characters = np.frombuffer(self.body, np.uint8)
        step = 1 << 24
        blocks = range(0, len(characters), step)
        ends = np.concatenate([np.flatnonzero(characters[i : i + step] == 10) + i for i in blocks])
        if characters[-1] != 10:
            ends = np.append(ends, len(characters))
        filled = np.diff(ends, prepend=-1) > 1
        return np.flatnonzero(filled) + self.line

    def _slow(self) -> Dump:
        import pyarrow as pa

        n, dump_lines, bad = len(self.names), [], []
        free_end = self.names[-1] in FREE_TEXT
        wanted = [(i, name) for i, name in enumerate(self.names) if name in USED]
        cells: list[list[str]] = [[] for _ in wanted]
        for line, raw in enumerate(self.body.decode("utf-8", "replace").split("\n"), self.line):
            if not raw:
                continue
            fields = raw.split(self.delimiter, n - 1) if free_end else raw.split(self.delimiter)
            if len(fields) != n:
                if not self.drop_bad:
                    raise self._width(line, len(fields))
                bad.append((line, len(fields)))
                continue
            for cell, (i, _) in zip(cells, wanted, strict=True):
                cell.append(fields[i])
            dump_lines.append(line)
        columns = {
            name: pa.chunked_array([pa.array(c, pa.string())]) for c, (_, name) in zip(cells, wanted, strict=True)
        }
        return Dump(columns, np.array(dump_lines, np.int64), bad)

    def _width(self, line: int, found: int) -> WorkloadError:
        n = len(self.names)
        free = [name for name in self.names if name in FREE_TEXT]
        if found < n:
            reason, name = f"{found} fields, none for this one", self.names[found]
            hint = f"{n} fields" + (f"; a line break inside {free[0]} does this" if free else "")
            return WorkloadError(reason, file=str(self.path), line=line, field=name, expected=hint)
        hint = f"{n} fields" + (f"; a {self.delimiter!r} inside {free[0]} does this: {_PIPE_HINT}" if free else "")
        return WorkloadError(
            f"{found} fields, the surplus begins behind this one",
            file=str(self.path),
            line=line,
            field=self.names[-1] or self.names[-2],
            expected=hint,
        )
