"""Rows of cells as Arrow arrays, a column each: by the kernel where it is an extension, else column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from slurmsim.kernel import compiled, load
from slurmsim.trace import columns
from slurmsim.trace.schema import Column

Row = tuple[int | str | None, ...]
COMPILED = compiled("rows")
kernel = load("rows")
_KINDS = {"int64": kernel.INTEGER, "int64?": kernel.OPTIONAL, "text": kernel.TEXT}


class RowSplitter:
    """Makes arrays of the rows of one table, whose columns are `fields`."""

    def __init__(self, fields: Mapping[str, Column]) -> None:
        self._kinds = np.array([_KINDS[column.kind] for column in fields.values()], np.int64)
        kinds = self._kinds.tolist()
        self._n_texts, self._n_optional = kinds.count(kernel.TEXT), kinds.count(kernel.OPTIONAL)
        self._n_integers = len(kinds) - self._n_texts

    def arrays(self, rows: Sequence[Row]) -> list[pa.Array] | None:
        """The columns of `rows` as `columns.int_array` and `columns.text_array` make them, to the byte.

        None where a row or a cell is not what its table wants: who goes column by column can say which.
        """
        n = len(rows)
        integers, codes = np.empty((self._n_integers, n), np.int64), np.empty((self._n_texts, n), np.int32)
        valid = np.ones((self._n_optional, n), np.uint8)
        numbers: list[dict[str, int]] = [{} for _ in range(self._n_texts)]
        try:
            kernel.split(rows, self._kinds, integers, valid, codes, numbers)
        except (TypeError, ValueError, OverflowError):
            return None
        of_integers, of_optional, of_texts = iter(integers), iter(valid), zip(codes, numbers, strict=True)
        found = []
        for kind in self._kinds.tolist():
            if kind == kernel.TEXT:
                values, texts = next(of_texts)
                found.append(columns.coded_array(values, [str(text) for text in texts]))
            else:
                known = next(of_optional).view(bool) if kind == kernel.OPTIONAL else None
                found.append(columns.known_integers(next(of_integers), known))
        return found
