"""Columns of equal values take the room of one value, and stay so as rows are taken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slurmsim.workload import TextColumn, Workload, compact, constant, taken
from slurmsim_workloads import read_workload, write_workload


def room(column: np.ndarray) -> int:
    return column.itemsize if column.strides == (0,) else column.nbytes


def workload(n: int) -> Workload:
    ids = np.arange(1, n + 1)
    user = TextColumn.from_list(["anna", "bert"] * (n // 2))
    return Workload({"job_id": ids, "submit": ids * 10, "tasks": np.full(n, 4)}, {"user": user})


def test_a_column_of_equal_values_is_one_value() -> None:
    equal, ends_equal = compact(np.full(1000, 7)), compact(np.array([7, 8, 7]))
    assert room(equal) == 8 and equal.tolist() == [7] * 1000 and equal.dtype == np.int64
    assert room(ends_equal) == 24
    assert compact(np.zeros(0, np.int64)).tolist() == []
    with pytest.raises(ValueError, match="read-only"):
        equal[0] = 1


def test_the_codes_that_occur_are_told_ascending() -> None:
    codes = np.array([3, 1, 3], np.int32)
    assert TextColumn(codes, ["", "a", "b", "c"]).used() == [1, 3]
    assert TextColumn.constant(1000, "a").used() == [1] and TextColumn.constant(0).used() == []


def test_rows_of_one_are_one() -> None:
    column = constant(10, 3)
    for rows in (np.array([4, 2]), np.arange(10) < 2):
        found = taken(column, rows)
        assert found.tolist() == [3, 3] and room(found) == 8
    assert taken(np.arange(10), np.array([4, 2])).tolist() == [4, 2]


def test_what_a_log_does_not_say_takes_no_room(tmp_path: Path) -> None:
    write_workload(workload(1000), tmp_path / "log.parquet")
    read = read_workload(tmp_path / "log.parquet")
    spacious = {name for name, column in read.ints.items() if room(column) > 8}
    assert spacious == {"job_id", "submit"}
    assert {name for name, column in read.texts.items() if room(column.codes) > 4} == {"user"}
    assert read.ints["tasks"].tolist() == [4] * 1000
    assert {name for name, column in read.take(np.arange(500)).ints.items() if room(column) > 8} == spacious


def test_sorted_is_by_submission_and_itself_if_it_was() -> None:
    there = workload(10)
    assert there.sorted() is there
    back = there.take(np.arange(10)[::-1])
    assert back.sorted().ints["job_id"].tolist() == list(range(1, 11))
