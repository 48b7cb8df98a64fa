"""Columns of a trace as NumPy arrays, read from Parquet or from plain Python lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass, field
from slurmsim.errors import WorkloadError
from slurmsim.parquet_file import open_parquet
from slurmsim.trace.schema import Column

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

NULL: int = int(np.iinfo(np.int64).min)  # stands for null in an integer column


def distinct(values: IntArray) -> IntArray:
    """Return the different values, ascending; several times faster than the hashing `numpy.unique` on long arrays."""
    ordered = np.sort(values)
    found: IntArray = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


Fields = Mapping[str, Column]


@dataclass(slots=True)
class Texts:
    """A text column: row i is ``values[codes[i]]``; `values` has no duplicates."""

    codes: IntArray
    values: list[str]

    def __getitem__(self, row: int | np.integer[Any]) -> str:
        return self.values[int(self.codes[row])]

    def code(self, value: str) -> int:
        """Code of `value`, -1 when no row can have it."""
        return self.values.index(value) if value in self.values else -1

    def mask(self, wanted: Iterable[str]) -> BoolArray:
        """Return a mask of the rows that have one of the texts `wanted`, shape (n_rows,)."""
        chosen = frozenset(wanted)
        lookup = np.fromiter((v in chosen for v in self.values), bool, len(self.values))
        return lookup[self.codes] if len(lookup) else np.zeros(len(self.codes), bool)

    def then(self, other: Texts) -> Texts:
        """Return this column's rows, then those of `other`."""
        index = {value: i for i, value in enumerate(self.values)}
        lookup = np.zeros(len(other.values) + 1, np.int64)
        for code in distinct(other.codes).tolist():
            lookup[code] = index.setdefault(other.values[code], len(index))
        return Texts(np.concatenate([self.codes, lookup[other.codes]]), list(index))

    @classmethod
    def of(cls, items: Iterable[str | None]) -> Texts:
        """Code a list of texts; None becomes the empty text."""
        index: dict[str, int] = {}
        codes = [index.setdefault(item or "", len(index)) for item in items]
        return cls(np.array(codes, np.int64), list(index))


@dataclass(slots=True)
class Table:
    """Equally long columns by name. Integer columns are int64 with `NULL` for null."""

    n: int
    ints: dict[str, IntArray] = field(default_factory=dict)
    texts: dict[str, Texts] = field(default_factory=dict)

    def has(self, *names: str) -> bool:
        """Return True if all columns `names` are there."""
        return all(name in self.ints or name in self.texts for name in names)


def stacked(one: Table, two: Table) -> Table:
    """Return the rows of `one`, then those of `two`; the columns both have."""
    return Table(
        one.n + two.n,
        {name: np.concatenate([one.ints[name], two.ints[name]]) for name in one.ints if name in two.ints},
        {name: one.texts[name].then(two.texts[name]) for name in one.texts if name in two.texts},
    )


def read_table(file: Path, fields: Fields) -> Table:
    """Read the columns `fields` of a Parquet file.

    Raises
    ------
    WorkloadError
        The file is missing or not Parquet, or a column is missing, has nulls where it may not or another type.
    """
    import pyarrow as pa

    try:
        with open_parquet(file) as parquet:
            there = parquet.schema_arrow
            for name in fields:
                if name not in there.names:
                    raise WorkloadError("column is missing", file=str(file), field=name)
            found = parquet.read(columns=list(fields))
            found.validate(full=True)  # a damaged file may name texts its dictionary does not have
    except FileNotFoundError:
        raise WorkloadError("missing from the trace", file=str(file)) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise WorkloadError(f"not a readable Parquet file: {lines[0]}", file=str(file)) from error
    table = Table(found.num_rows)
    for name, wanted in fields.items():
        if wanted.kind == "text":
            table.texts[name] = _texts(found.column(name), str(file), name)
        else:
            table.ints[name] = _ints(found.column(name), wanted.kind, str(file), name)
    return table


def table_of(columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]], fields: Fields, name: str) -> Table:
    """Return the columns of `fields` among `columns` (lists or arrays by name, None for null); others are refused.

    Raises
    ------
    WorkloadError
        An unknown column, or columns of different lengths.
    """
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise WorkloadError(f"columns of different lengths {sorted(lengths)}", file=name)
    table = Table(lengths.pop() if lengths else 0)
    for column, values in columns.items():
        if column not in fields:
            raise WorkloadError("unknown column", file=name, field=column)
        if fields[column].kind == "text":
            table.texts[column] = Texts.of(values)
        else:
            table.ints[column] = np.array([NULL if v is None else v for v in values], np.int64)
    return table


def _ints(column: Any, kind: str, file: str, name: str) -> IntArray:
    import pyarrow as pa

    if not pa.types.is_integer(column.type):
        raise WorkloadError(f"column of type {column.type}", file=file, field=name, expected="int64")
    if column.null_count:
        if not kind.endswith("?"):
            raise WorkloadError(f"{column.null_count} nulls", file=file, field=name, expected="a value in each row")
        return np.concatenate([_filled(chunk, NULL) for chunk in column.cast(pa.int64()).chunks])
    found: IntArray = column.to_numpy().astype(np.int64, copy=False)
    return found


def _filled(chunk: Any, null: int) -> IntArray:
    """Return integers with `null` for nulls. Arrow's own `fill_null` loads pandas, which takes half a second."""
    if len(chunk) == 0:
        return np.zeros(0, np.int64)
    present, values = chunk.buffers()
    kind = np.dtype(str(chunk.type))
    found = np.frombuffer(values, kind, len(chunk), chunk.offset * kind.itemsize).astype(np.int64)
    if chunk.null_count:
        bits = np.unpackbits(np.frombuffer(present, np.uint8), bitorder="little")
        found[bits[chunk.offset : chunk.offset + len(chunk)] == 0] = null
    return found


def _texts(column: Any, file: str, name: str) -> Texts:
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            raise WorkloadError(f"column of type {column.type}", file=file, field=name, expected="text")
        column = column.dictionary_encode()
    if len(column) == 0:
        return Texts(np.zeros(0, np.int64), [])
    column = column.unify_dictionaries()
    values = column.chunk(0).dictionary.to_pylist()
    codes = np.concatenate([_filled(chunk.indices, len(values)) for chunk in column.chunks])
    if column.null_count:
        values.append("")
    if len(set(values)) < len(values):  # the same text twice in one dictionary is legal Arrow
        index: dict[str, int] = {}
        again = np.array([index.setdefault(v, len(index)) for v in values], np.int64)
        return Texts(again[codes], list(index))
    return Texts(codes, values)
