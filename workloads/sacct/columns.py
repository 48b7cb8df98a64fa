"""Text columns of a dump turned into numbers: each distinct text is read once, errors name line and field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.workload import TextColumn
from slurmsim_workloads.sacct.fields import NOTHING
from slurmsim_workloads.sacct.table import Dump

if TYPE_CHECKING:
    import pyarrow as pa

IntColumn = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
T = TypeVar("T")

_TIME_HINT = "YYYY-MM-DDTHH:MM:SS, Unix seconds (SLURM_TIME_FORMAT=%s) or Unknown"
_QUARTER = 900


class Columns:
    """The rows of a dump, or a selection of them, as typed columns.

    Parameters
    ----------
    path, dump
        The file, for errors, and its rows.
    zone
        Time zone of ISO times; None takes them as they are, as if they were UTC.
    drop_bad
        Mark rows with a value that is not understood in `bad` instead of raising an error.
    """

    def __init__(self, path: Path, dump: Dump, zone: ZoneInfo | None, *, drop_bad: bool = False) -> None:
        self.path, self.zone, self.drop_bad = path, zone, drop_bad
        # lines: (n_rows,) int64, the line each row is on
        self._columns, self.lines = dump.columns, dump.lines
        # (n_rows,) bool, rows with a value that was not understood so far
        self.bad: Mask = np.zeros(len(self.lines), np.bool_)
        self.reason = ""  # what is wrong with the first of them

    def __len__(self) -> int:
        return len(self.lines)

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def select(self, mask: Mask) -> Columns:
        """Return the rows under `mask`."""
        import pyarrow as pa

        keep = pa.array(mask)
        chosen = Columns.__new__(Columns)
        chosen.path, chosen.zone, chosen.drop_bad = self.path, self.zone, self.drop_bad
        chosen._columns = {name: column.filter(keep) for name, column in self._columns.items()}
        chosen.lines, chosen.bad, chosen.reason = self.lines[mask], self.bad[mask], self.reason
        return chosen

    def refuse(self, rows: Mask, name: str, message: Callable[[int], str], expected: str | None = None) -> None:
        """Raise the error of the first of `rows`, which hold something wrong in column `name`; or mark them."""
        hit = np.flatnonzero(rows & ~self.bad)
        if not len(hit):
            return
        error = self.fail(int(hit[0]), name, message(int(hit[0])), expected)
        if not self.drop_bad:
            raise error
        self.reason = self.reason or f"line {error.line}: {name}: {error.message}"
        self.bad |= rows

    def fail(self, row: int, name: str, message: str, expected: str | None = None) -> WorkloadError:
        return WorkloadError(message, file=str(self.path), line=int(self.lines[row]), field=name, expected=expected)

    def array(self, name: str) -> pa.Array:
        """Return the texts of a column, blanks at the ends removed."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = pc.utf8_trim_whitespace(self._columns[name])
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

    def text(self, name: str) -> TextColumn:
        """Return a column as dictionary-coded text; Slurm's words for nothing are the empty text."""
        if name not in self:
            return TextColumn.constant(len(self))
        coded = self.array(name).dictionary_encode()
        index: dict[str, int] = {"": 0}
        values = coded.dictionary.to_pylist()
        remap = np.array(
            [0 if v.lower() in NOTHING else index.setdefault(v, len(index)) for v in values] or [0], np.int32
        )
        return TextColumn(remap[coded.indices.to_numpy()], list(index))

    def parsed(
        self, name: str, read: Callable[[str], T], missing: T, cuts: Sequence[tuple[str, str]] = ()
    ) -> tuple[npt.NDArray[np.int32], list[T]]:
        """Codes and the values they stand for; `missing` everywhere when the dump has no such column.

        `cuts` are patterns of what `read` does not look at, and what takes its place: without it fewer texts are
        different, so fewer are read.
        """
        if name not in self:
            return np.zeros(len(self), np.int32), [missing]
        texts = self.array(name)
        for pattern, place in cuts:
            import pyarrow.compute as pc

            texts = pc.replace_substring_regex(texts, pattern, place)
        coded = texts.dictionary_encode()
        codes = coded.indices.to_numpy()
        values: list[T] = []
        for code, text in enumerate(coded.dictionary.to_pylist()):
            try:
                values.append(read(text))
            except ValueError as error:
                shown = f"{text if len(text) <= 80 else f'{text[:77]}...'!r} is not understood"
                self.refuse(codes == code, name, lambda row, shown=shown: shown, str(error))  # type: ignore[misc]
                values.append(missing)
        return codes, values or [missing]

    def ints(self, name: str, read: Callable[[str], int], missing: int = -1) -> IntColumn:
        codes, values = self.parsed(name, read, missing)
        return np.array(values, np.int64)[codes]

    def times(self, name: str) -> IntColumn:
        """Return a column of times in Unix seconds; -1 where unknown."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if name not in self:
            return np.full(len(self), -1, np.int64)
        texts = self.array(name)
        blank = pc.is_in(pc.utf8_lower(texts), pa.array([*sorted(NOTHING), "0"]))
        digits = pc.match_substring_regex(texts, r"^\d{1,12}$")
        number = pc.if_else(pc.and_(digits, pc.invert(blank)), texts, None)
        iso = pc.if_else(pc.or_(digits, blank), None, texts)
        bad = pc.invert(pc.match_substring_regex(iso, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$"))
        if pc.any(bad).as_py():
            self._refuse_times(bad.fill_null(False).to_numpy(False), name, texts)
            iso = pc.if_else(bad, None, iso)
        try:
            local = iso.cast(pa.timestamp("s")).cast(pa.int64())
        except pa.ArrowInvalid:
            # well formed, but on no calendar, such as 31 February
            impossible = np.array([text is not None and not _is_date(text) for text in iso.to_pylist()], np.bool_)
            self._refuse_times(impossible, name, texts)
            local = pc.if_else(pa.array(impossible), None, iso).cast(pa.timestamp("s")).cast(pa.int64())
        unix = number.cast(pa.int64()).fill_null(-1).to_numpy(False)
        has_local = local.is_valid().to_numpy(False)
        seconds = local.fill_null(0).to_numpy(False)
        if self.zone is not None and has_local.any():
            seconds = local_to_unix(seconds, self.zone)
        told: IntColumn = np.where(has_local, seconds, unix)
        return told

    def _refuse_times(self, rows: Mask, name: str, texts: pa.Array) -> None:
        self.refuse(rows, name, lambda row: f"{texts[row].as_py()!r} is not a time", _TIME_HINT)


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def time_zone(name: str) -> ZoneInfo | None:
    """Return the zone of a name such as ``Europe/Paris``; None for the empty name.

    Raises
    ------
    ConfigError
        No such zone on this machine.
    """
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # ZoneInfoNotFoundError is a KeyError
        raise ConfigError(f"no time zone {name!r}", field="timezone", expected="a name such as Europe/Paris") from None


def local_to_unix(local: IntColumn, zone: ZoneInfo, *, fold: int = 0) -> IntColumn:
    """Wall-clock seconds of `zone` as Unix seconds.

    Clocks are changed on a quarter of an hour, so one look-up a quarter is enough. Of the hour that comes twice in
    autumn the first is taken, as there is no telling; with `fold` 1 the second.
    """
    quarters, codes = np.unique(local // _QUARTER, return_inverse=True)
    offsets = np.empty(len(quarters), np.int64)
    for i, quarter in enumerate(quarters.tolist()):
        wall = datetime.fromtimestamp(quarter * _QUARTER, UTC).replace(tzinfo=zone, fold=fold)
        offset = wall.utcoffset()
        offsets[i] = 0 if offset is None else round(offset.total_seconds())
    return local - offsets[codes]
