"""Python and NumPy columns to Arrow arrays and back.

Everything goes through buffers: `pyarrow.array` and `pyarrow.compute` import pandas and a table of kernels behind the
scenes (0.4 s, more than a small run takes), and for the few types of our schema buffers are as fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

IntValues = npt.NDArray[np.int64]

# What stands for null where a column is held as plain int64: no time, count or id has this value.
NULL: int = int(np.iinfo(np.int64).min)

TEXT = pa.dictionary(pa.int32(), pa.string())


def arrow_type(kind: str) -> pa.DataType:
    """Arrow type of a schema type: ``int64``, ``int64?`` or ``text``."""
    if kind in ("int64", "int64?"):
        return pa.int64()
    if kind == "text":
        return TEXT
    raise ValueError(f"schema type {kind!r}")


def int_array(values: Sequence[int | None] | npt.NDArray[Any], *, nullable: bool) -> pa.Array:
    """Arrow int64 array of `values`; None (in an array: `NULL`, in a masked array: masked) becomes null.

    Raises
    ------
    TypeError
        A null in a column that is not `nullable`, or something that is not an integer.
    """
    n = len(values)
    if isinstance(values, np.ndarray):
        return _from_ndarray(values, nullable)
    if _is_constant(values) and (nullable or values[0] is not None):
        if values[0] is None:
            return _masked(np.zeros(n, np.int64), np.zeros(n, bool))
        return _plain(np.full(n, values[0], np.int64))
    if not nullable:
        return _plain(np.fromiter(values, np.int64, n))
    nulls = values.count(None)
    if nulls == 0:
        return _plain(np.fromiter(values, np.int64, n))
    if nulls == n:
        return _masked(np.zeros(n, np.int64), np.zeros(n, bool))
    valid = np.fromiter([v is not None for v in values], bool, n)
    return _masked(np.fromiter([0 if v is None else v for v in values], np.int64, n), valid)


def known_integers(values: IntValues, known: npt.NDArray[np.bool_] | None) -> pa.Array:
    """Arrow int64 array of `values`, null where not `known`; it keeps the memory of `values`."""
    return _plain(values) if known is None or known.all() else _masked(values, known)


def text_array(values: Sequence[str | None] | npt.NDArray[Any]) -> pa.Array:
    """Dictionary-coded array of `values`, the dictionary in order of first appearance.

    None becomes the empty text, a member of a `StrEnum` its value.
    """
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if _is_constant(values):
        return coded_array(np.zeros(len(values), np.int32), ["" if values[0] is None else str(values[0])])
    index: dict[str, int] = {}
    codes_of = {v: index.setdefault("" if v is None else str(v), len(index)) for v in dict.fromkeys(values)}
    codes = np.fromiter(map(codes_of.__getitem__, values), np.int32, len(values))
    return coded_array(codes, list(index))


def coded_array(codes: npt.NDArray[Any], values: Sequence[str]) -> pa.Array:
    """Dictionary-coded array from `codes` into `values`."""
    codes = np.ascontiguousarray(codes, np.int32)
    return pa.DictionaryArray.from_buffers(TEXT, len(codes), [None, pa.py_buffer(codes)], _strings(values))


def int_values(column: pa.ChunkedArray | pa.Array, null: int = NULL) -> IntValues:
    """Return an int64 Arrow column as NumPy, nulls as `null`."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    n, offset = len(array), array.offset
    if n == 0:
        return np.zeros(0, np.int64)
    bitmap, data = array.buffers()
    values = np.frombuffer(data, np.int64)[offset : offset + n]
    if array.null_count == 0:
        return values
    bits = np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little")[offset : offset + n]
    return np.where(bits.astype(bool), values, null)


def text_codes(column: pa.ChunkedArray | pa.Array) -> tuple[npt.NDArray[np.int32], list[str]]:
    """Return a text column as codes and the list of texts they point into; ``values[codes[i]]`` is row i."""
    chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    if len(chunked) == 0:
        return np.zeros(0, np.int32), []
    if not pa.types.is_dictionary(chunked.type):
        chunked = chunked.dictionary_encode()
    chunked = chunked.unify_dictionaries()
    codes = np.concatenate([_indices(chunk.indices) for chunk in chunked.chunks])
    return codes, chunked.chunk(0).dictionary.to_pylist()


def _is_constant(values: Any) -> bool:
    """Return True if all values are the same, as in many columns for thousands of rows; they then cost nothing."""
    return len(values) > 0 and values[0] is values[-1] and values.count(values[0]) == len(values)


def _indices(array: pa.Array) -> npt.NDArray[np.int32]:
    width = array.type.bit_width // 8
    data = np.frombuffer(array.buffers()[1], f"i{width}")
    return data[array.offset : array.offset + len(array)].astype(np.int32, copy=False)


def _from_ndarray(values: npt.NDArray[Any], nullable: bool) -> pa.Array:
    if values.dtype.kind not in "iub":
        if values.dtype == object:
            return int_array(values.tolist(), nullable=nullable)
        raise TypeError(f"integers wanted, not {values.dtype}")
    valid: npt.NDArray[np.bool_] | None = None
    if type(values) is not np.ndarray and isinstance(
        values, np.ma.MaskedArray
    ):  # NumPy loads numpy.ma when it is named
        valid = ~np.ma.getmaskarray(values)
        values = values.filled(0)
    # A private copy: the caller may reuse its array before the row group is written.
    data = np.array(values, np.int64, order="C")
    is_null = data == NULL
    if is_null.any():
        valid = ~is_null if valid is None else valid & ~is_null
    if valid is None or valid.all():
        return _plain(data)
    if not nullable:
        raise TypeError("null in a column that has no nulls")
    return _masked(data, valid)


def _plain(data: IntValues) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(data), [None, pa.py_buffer(data)])


def _masked(data: IntValues, valid: npt.NDArray[np.bool_]) -> pa.Array:
    bitmap = np.packbits(valid, bitorder="little")
    return pa.Array.from_buffers(pa.int64(), len(data), [pa.py_buffer(bitmap), pa.py_buffer(data)])


def _strings(values: Sequence[str]) -> pa.Array:
    joined = "".join(values)
    data = joined.encode()
    if len(data) == len(joined):
        sizes = map(len, values)
    else:
        sizes = map(len, [v.encode() for v in values])
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum(np.fromiter(sizes, np.int32, len(values)), out=offsets[1:])
    return pa.StringArray.from_buffers(len(values), pa.py_buffer(offsets), pa.py_buffer(data))
