"""A ``sacct -P`` dump as Arrow text columns: header, delimiter, rows, line numbers for errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass, field
from slurmsim.errors import WorkloadError
from slurmsim_workloads.files import read_blocks
from slurmsim_workloads.sacct.fields import FREE_TEXT, USED
from slurmsim_workloads.sacct.header import HEADER_HINT, read_header
from slurmsim_workloads.sacct.lines import Lines, Mended, mend_lines
from slurmsim_workloads.sacct.patterns import HOLDS_DELIMITER
from slurmsim_workloads.sacct.repair import Mender, node_stem

if TYPE_CHECKING:
    import pyarrow as pa

_SEPARATORS = b"\x1f\x1e\x1d\x1c\x01\x02\x03\x04\x05\x06"
_USUAL_CAUSES = frozenset({"Constraints", "JobName", "Comment", "SubmitLine"})
DROP_HINT = "--option bad_lines=drop leaves such lines out"


@dataclass(slots=True)
class Dump:
    """`columns` by canonical name, only those slurmsim reads; `lines` (n,) the line number of each row.

    `bad` holds (line, number of fields) of lines left out for their width; `repaired` the lines of records that were
    made whole, by what was done.
    """

    columns: dict[str, pa.ChunkedArray]
    lines: npt.NDArray[np.int64]
    bad: list[tuple[int, int]] = field(default_factory=list)
    repaired: dict[str, list[int]] = field(default_factory=dict)
    repeated_headers: int = 0


def read_table(path: Path, delimiter: str = "", *, drop_bad: bool = False) -> Dump:
    """Read a dump into columns; `delimiter` and `drop_bad` as `read_dump` has them.

    Raises
    ------
    WorkloadError
        No header line, output made without -P, or a line with too few or too many fields.
    """
    data = b"".join(read_blocks(path))
    if b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
    start = len(data) - len(data.lstrip(b"\n"))
    end = data.find(b"\n", start)
    header = data[start : end if end >= 0 else len(data)].decode("utf-8", "replace").strip("\ufeff")
    if not header.strip():
        raise WorkloadError("is empty", file=str(path), expected=HEADER_HINT)
    names, chosen = read_header(header, delimiter, start + 1, path)
    body = data[end + 1 :] if end >= 0 else b""
    del data
    return _Rows(path, names, chosen, body, start + 2, drop_bad).dump()


class _Rows:
    def __init__(self, path: Path, names: list[str], shown: str, body: bytes, line: int, drop_bad: bool) -> None:
        self.path, self.names, self.shown, self.line, self.drop_bad = path, names, shown, line, drop_bad
        self.wanted = [name for name in names if name in USED]
        delimiter = shown.encode()
        if len(delimiter) > 1:  # one byte that the dump does not have stands for it from here on
            free = next((c for c in _SEPARATORS if c not in body), None)
            if free is None:
                raise WorkloadError(f"the delimiter {shown!r} has more than one byte, and the texts hold all others",
                                    file=str(path), expected="a dump with --delimiter=$'\\x1f'")  # fmt: skip
            body, delimiter = body.replace(delimiter, bytes((free,))), bytes((free,))
        self.delimiter = delimiter
        self.lines = Lines(body, delimiter)

    def dump(self) -> Dump:
        """Return all rows, in the order of their lines."""
        odd = self.lines.odd(len(self.names))
        done = mend_lines(self.lines, odd, self._mender()) if len(odd) else Mended()
        if done.bad and not self.drop_bad:
            raise self._width(*min(done.bad))
        gone = np.unique(np.array(done.gone, np.int64))
        keep = self.lines.filled.copy()
        keep[gone] = False
        numbers = np.flatnonzero(keep)
        columns = self._arrow(self.lines.without(gone))
        if done.rows:
            columns, numbers = self._with_mended(columns, numbers, done)
        dump = Dump(columns, numbers + self.line, [(i + self.line, n) for i, n in sorted(done.bad)])
        dump.repaired = {reason: [i + self.line for i in rows] for reason, rows in sorted(done.repaired.items())}
        return self._without_headers(dump)

    def _shown(self, texts: Sequence[str]) -> Sequence[str]:
        """Return the texts with the delimiter that the dump has."""
        inner = self.delimiter.decode()
        return texts if self.shown == inner else [text.replace(inner, self.shown) for text in texts]

    def _mender(self) -> Mender:
        stems = self._stems(self.names.index("NodeList")) if "NodeList" in self.names else frozenset()
        return Mender(self.names, self.delimiter.decode(), stems)

    def _stems(self, column: int) -> frozenset[str]:
        """Return what the node lists of lines of the right width begin with."""
        whole = np.ones(len(self.lines), np.bool_)
        whole[self.lines.odd(len(self.names))] = False
        rows = np.flatnonzero(whole & self.lines.filled)[:10_000].tolist()
        separator = self.delimiter.decode()
        return frozenset({node_stem(self.lines.text(i, i).split(separator)[column]) for i in rows} | {"None assigned"})

    def _with_mended(
        self, columns: dict[str, pa.ChunkedArray], numbers: npt.NDArray[np.int64], done: Mended
    ) -> tuple[dict[str, pa.ChunkedArray], npt.NDArray[np.int64]]:
        import pyarrow as pa

        numbers = np.concatenate((numbers, np.array([i for i, _ in done.rows], np.int64)))
        order = pa.array(np.argsort(numbers, kind="stable"))
        for name in self.wanted:
            at = self.names.index(name)
            more = pa.array(self._shown([cells[at] for _, cells in done.rows]), pa.string())
            columns[name] = pa.chunked_array([*columns[name].chunks, more]).combine_chunks().take(order)
        return columns, np.sort(numbers)

    def _arrow(self, body: bytes) -> dict[str, pa.ChunkedArray]:
        """Lines of the right width by Arrow's CSV reader."""
        import pyarrow as pa
        from pyarrow import csv

        if not body.strip(b"\n"):
            return {name: pa.chunked_array([pa.array([], pa.string())]) for name in self.wanted}
        unique = [name if name in USED else f"#{i}" for i, name in enumerate(self.names)]
        try:
            table = csv.read_csv(
                pa.BufferReader(body),
                read_options=csv.ReadOptions(column_names=unique, block_size=1 << 22, use_threads=False),
                parse_options=csv.ParseOptions(delimiter=self.delimiter.decode(), quote_char=False, escape_char=False),
                convert_options=csv.ConvertOptions(
                    column_types={name: pa.string() for name in self.wanted},
                    include_columns=self.wanted,
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            if "UTF8" in str(error):  # a name in some older encoding: replace what cannot be read, and go on
                return self._arrow(body.decode("utf-8", "replace").encode())
            raise WorkloadError(str(error).splitlines()[0][:200], file=str(self.path)) from None
        return {name: table[name] for name in self.wanted}

    def _without_headers(self, dump: Dump) -> Dump:
        """Monthly dumps put together bring their header lines along."""
        import pyarrow.compute as pc

        first = self.wanted[0]
        again = pc.equal(pc.utf8_lower(dump.columns[first]), first.lower())
        dump.repeated_headers = pc.sum(again).as_py() or 0
        if dump.repeated_headers:
            keep = pc.invert(again)
            dump.columns = {name: column.filter(keep) for name, column in dump.columns.items()}
            dump.lines = dump.lines[keep.to_numpy(zero_copy_only=False)]
        return dump

    def _width(self, index: int, found: int) -> WorkloadError:
        """Too few or too many fields, and what does this."""
        few = found < len(self.names)
        holding = [name for name in self.names if name in (FREE_TEXT if few else HOLDS_DELIMITER)]
        causes = [name for name in holding if name in _USUAL_CAUSES] or holding[:3]
        what = "a line break" if few else f"a {self.shown!r}"
        listed = causes[0] if len(causes) == 1 else f"{', '.join(causes[:-1])} or {causes[-1]}" if causes else ""
        cause = f": {what} in {listed} does this" if causes else ""
        message = f"{found} field{'s' * (found != 1)} for {len(self.names)} names{cause}; {DROP_HINT}"
        return WorkloadError(message, file=str(self.path), line=index + self.line)
