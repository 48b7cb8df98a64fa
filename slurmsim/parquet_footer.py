"""What the footer of a Parquet file says of each column of each row group, read without building Arrow's view of it.

Arrow's own view ends the whole process where the statistics of a column contradict its type. Layout: parquet.thrift of
Apache Parquet, in Thrift's compact protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

MAGIC = b"PAR1"
TAIL = 8  # bytes after the footer: its length, and the magic
DELTA_BYTE_ARRAY = 7  # the encoding of texts as what differs from the text before
_DEEPEST = 24
# types
_BOOLS, _INTS, _BINARY, _LISTS, _MAP, _STRUCT = (1, 2), (4, 5, 6), 8, (9, 10), 11, 12
_FIXED = {3: 1, 7: 8}  # a byte, a double: their bytes
# ids of fields
_ROW_GROUPS, _COLUMNS, _META_DATA = 4, 1, 3
_ENCODINGS, _NUM_VALUES, _UNCOMPRESSED = 2, 5, 6


class FooterError(ValueError):
    """The footer is damaged."""


class Chunk(NamedTuple):
    """A column of a row group: its encodings (numbers of parquet.thrift), values, and bytes when decompressed."""

    encodings: list[int]
    num_values: int
    uncompressed: int


def chunks(footer: bytes) -> Iterator[Chunk]:
    """Yield every column of every row group of `footer`, without length and magic.

    Raises FooterError.
    """
    reader = _Reader(footer)
    try:
        for field, kind in reader.fields():
            if field != _ROW_GROUPS:
                reader.skip(kind)
                continue
            for _ in reader.structs():
                yield from _columns(reader)
    except (IndexError, RecursionError) as error:
        raise FooterError("the footer ends too early or is too deep") from error


def _columns(reader: _Reader) -> Iterator[Chunk]:
    for field, kind in reader.fields():
        if field != _COLUMNS:
            reader.skip(kind)
            continue
        for _ in reader.structs():
            for inner, inner_kind in reader.fields():
                if inner == _META_DATA and inner_kind == _STRUCT:
                    yield _meta_data(reader)
                else:
                    reader.skip(inner_kind)


def _meta_data(reader: _Reader) -> Chunk:
    encodings: list[int] = []
    num_values = uncompressed = 0
    for field, kind in reader.fields():
        if field == _ENCODINGS:
            encodings = reader.numbers()
        elif field == _NUM_VALUES:
            num_values = reader.number()
        elif field == _UNCOMPRESSED:
            uncompressed = reader.number()
        else:
            reader.skip(kind)
    return Chunk(encodings, num_values, uncompressed)


class _Reader:
    """Thrift's compact protocol: values one after the other, from `at` on."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """Yield id and type of each field of a struct; the caller reads or skips its value."""
        field, data = 0, self.data
        while head := data[self.at]:
            self.at += 1
            step = head >> 4
            field = field + step if step else self.number()
            yield field, head & 15
        self.at += 1

    def structs(self) -> Iterator[None]:
        """Yield once for each struct of a list; the caller reads it."""
        kind, n = self._list()
        if kind != _STRUCT:
            raise FooterError("a list of structs is expected")
        for _ in range(n):
            yield

    def numbers(self) -> list[int]:
        """Read a list of whole numbers."""
        kind, n = self._list()
        if kind not in _INTS:
            raise FooterError("a list of numbers is expected")
        return [self.number() for _ in range(n)]

    def number(self) -> int:
        """Read a whole number with its sign."""
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)

    def skip(self, kind: int, depth: int = 0) -> None:
        """Pass over a value of this type."""
        if depth > _DEEPEST:
            raise FooterError("the footer is too deep")
        if kind in _INTS:
            self._unsigned()
        elif kind == _BINARY:
            n = self._unsigned()
            self.at += n
        elif kind == _STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        elif kind in _LISTS:
            inner, n = self._list()
            for _ in range(n):
                self._skip_element(inner, depth + 1)
        elif kind == _MAP:
            self._skip_map(depth + 1)
        elif kind in _FIXED:
            self.at += _FIXED[kind]
        elif kind not in _BOOLS:  # a field of these has its value in its type
            raise FooterError(f"type {kind} is not known")

    def _skip_element(self, kind: int, depth: int) -> None:
        if kind in _BOOLS:
            self.at += 1
        else:
            self.skip(kind, depth)
        if self.at > len(self.data):
            raise IndexError  # else the elements of a long list would never end

    def _skip_map(self, depth: int) -> None:
        n = self._unsigned()
        if n:
            kinds = self.data[self.at]
            self.at += 1
            for _ in range(n):
                self._skip_element(kinds >> 4, depth)
                self._skip_element(kinds & 15, depth)

    def _list(self) -> tuple[int, int]:
        head = self.data[self.at]
        self.at += 1
        n = head >> 4
        return head & 15, self._unsigned() if n == 15 else n

    def _unsigned(self) -> int:
        data, value, shift = self.data, 0, 0
        while True:
            byte = data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise FooterError("a number is too long")
