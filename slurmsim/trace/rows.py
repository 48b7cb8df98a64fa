"""Rows of cells into columns, by the kernel where it is an extension; else the writer goes column by column."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from slurmsim.kernel import compiled, constants, load
from slurmsim.trace import columns
from slurmsim.trace.schema import Column

Row = tuple[int | str | None, ...]
COMPILED = compiled("rows")
kernel = load("rows")
_KINDS = {"int64": constants.INTEGER, "int64?": constants.OPTIONAL, "text": constants.TEXT}


class RowColumns:
    """The columns of one table of `fields`, with room for `size` rows, into which rows go as they come.

    Attributes
    ----------
    n
        Rows in them.
    """

    def __init__(self, fields: Mapping[str, Column], size: int) -> None:
        self._kinds = np.array([_KINDS[column.kind] for column in fields.values()], np.int64)
        kinds = self._kinds.tolist()
        self._n_texts, self._n_optional = kinds.count(constants.TEXT), kinds.count(constants.OPTIONAL)
        self._n_integers, self._size = len(kinds) - self._n_texts, size
        self._numbers: list[dict[str, int]] = [{} for _ in range(self._n_texts)]
        self._make_room()
        self._empty()

    def _make_room(self) -> None:
        """Memory, which the system gives as it is written to."""
        size = self._size
        self._integers = np.empty((self._n_integers, size), np.int64)
        self._valid = np.empty((self._n_optional, size), np.uint8)
        self._codes = np.empty((self._n_texts, size), np.int32)

    def _empty(self) -> None:
        self.n = 0
        for texts in self._numbers:
            texts.clear()

    def take(self, rows: Sequence[Row]) -> bool:
        """Add `rows`; False, and nothing is added, where a row or a cell is not what its table wants."""
        had = [len(texts) for texts in self._numbers]
        try:
            kernel.split(rows, self.n, self._kinds, self._integers, self._valid, self._codes, self._numbers)
        except (TypeError, ValueError, OverflowError):  # who goes column by column can say which
            for texts, before in zip(self._numbers, had, strict=True):
                while len(texts) > before:
                    texts.popitem()
            return False
        self.n += len(rows)
        return True

    def arrays(self, *, written_next: bool = False) -> list[pa.Array]:
        """Return the rows as `columns.int_array` and `columns.text_array` make them, to the byte; empty the columns.

        `written_next`: the caller needs the arrays only until the next rows come, which take their memory.
        """
        n = self.n
        of_integers, of_optional, of_texts = iter(self._integers), iter(self._valid), iter(self._codes)
        numbers = iter(self._numbers)
        found = []
        for kind in self._kinds.tolist():
            if kind == constants.TEXT:
                found.append(columns.coded_array(next(of_texts)[:n], [str(text) for text in next(numbers)]))
            else:
                known = next(of_optional)[:n].view(bool) if kind == constants.OPTIONAL else None
                found.append(columns.known_integers(next(of_integers)[:n], known))
        if not written_next:
            self._make_room()
        self._empty()
        return found
