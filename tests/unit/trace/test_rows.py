"""Rows become the same arrays by the kernel, as Python and as extension, and column by column."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.kernel_forms import FORMS, kernel

from slurmsim.errors import InvariantError
from slurmsim.trace import columns, rows, schema
from slurmsim.trace.writer import BATCH, TraceWriter


class Shade(StrEnum):
    RED = "red"
    BLUE = "blau"


INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 300)
CELLS = {
    "int64": INTEGERS,
    "int64?": st.none() | INTEGERS,
    "text": st.none()
    | st.sampled_from(["", "red", "n[1-2]", Shade.RED, Shade.BLUE])
    | st.text("aé\U0001f600", max_size=3),
}
EVENTS = schema.fields("events", False)
ROW = (10, "START", 7, "RUNNING", "None", "bätch", "n[1-2]", None, "Main")


def on_kernel(form: str) -> Any:
    """The kernel in that form where rows are split."""
    return mock.patch.object(rows, "kernel", kernel("rows", form))


def by_columns(table: list[rows.Row]) -> list[pa.Array]:
    """The same without any kernel."""
    cells = zip(*table, strict=True)
    return [
        columns.text_array(values)
        if column.kind == "text"
        else columns.int_array(values, nullable=column.kind != "int64")
        for column, values in zip(EVENTS.values(), cells, strict=True)
    ]


def buffers(array: pa.Array) -> tuple[Any, ...]:
    """All an array is made of, a dictionary's texts too."""
    inner = array.dictionary.to_pylist() if pa.types.is_dictionary(array.type) else None
    return array.type, len(array), [None if b is None else b.to_pybytes() for b in array.buffers()[:2]], inner


@FORMS
@given(st.lists(st.tuples(*(CELLS[column.kind] for column in EVENTS.values())), min_size=1, max_size=20))
def test_rows_become_what_their_columns_would(form: str, table: list[rows.Row]) -> None:
    with on_kernel(form):
        taken = rows.RowColumns(EVENTS, 50)
        for _ in range(2):  # full ones are given away: what comes next has nothing of them
            for begin in range(0, len(table), 7):
                assert taken.take(table[begin : begin + 7])
            found = taken.arrays()
            assert [buffers(array) for array in found] == [buffers(array) for array in by_columns(table)]


@FORMS
@pytest.mark.parametrize(
    "wrong",
    [ROW[:-1], (*ROW, 1), (None, *ROW[1:]), ("x", *ROW[1:]), (2**63, *ROW[1:]), (ROW[0], 5, *ROW[2:])],
    ids=["short", "long", "null", "text for an integer", "beyond 64 bits", "integer for a text"],
)
def test_a_wrong_row_is_left_to_who_can_name_its_column(form: str, wrong: rows.Row) -> None:
    with on_kernel(form):
        taken = rows.RowColumns(EVENTS, 3)
        assert not taken.take([(*ROW[:-1], "never seen"), wrong, ROW])
        assert taken.take([ROW, ROW])
        assert not taken.take([ROW, ROW])  # there is room for one
        assert [buffers(array) for array in taken.arrays()] == [buffers(array) for array in by_columns([ROW, ROW])]


@pytest.mark.parametrize("asked", [False, True])
def test_the_writer_says_which_column_is_wrong_with_the_kernel_and_without(tmp_path: Path, asked: bool) -> None:
    with mock.patch.object(rows, "COMPILED", asked):
        writer = TraceWriter(tmp_path / "t")
    writer.events.append((None, *ROW[1:]))
    with pytest.raises(InvariantError, match=r"events.parquet: column time: "):
        writer.close()
    writer.abort()


def test_a_file_has_the_same_bytes_with_the_kernel_and_without(tmp_path: Path) -> None:
    table = [
        (i, "START", i % 97, ("RUNNING", Shade.RED)[i % 2], "", "p", f"n{i % 50}", (None, i)[i % 3 > 0], "")
        for i in range(BATCH + 9)
    ]
    written = []
    for name, asked in (("plain", False), ("kernel", True)):
        with mock.patch.object(rows, "COMPILED", asked):
            writer = TraceWriter(tmp_path / name)
        for at, row in enumerate(table):
            writer.events.append(row)
            if at % 1_000 == 0:
                writer.flush_if_full()
        written.append((writer.close() / "events.parquet").read_bytes())
    assert written[0] == written[1]
