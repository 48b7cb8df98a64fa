"""Parquet in the workload schema: nothing is lost, and wrong files are refused by file, column and row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from workload_helpers import assert_equal, ints, texts

from slurmsim.errors import OutputError, WorkloadError
from slurmsim.workload import ADDED, INT_COLUMNS, TEXT_COLUMNS, QualityReport, TextColumn, Workload, WorkloadHeader
from slurmsim_workloads import read_workload, write_workload
from slurmsim_workloads.parquet import METADATA_KEY, to_table

_RANGES = {
    "job_id": (1, 10**9), "submit": (0, 2**40), "time_limit": (-2, 2**40), "cpus_per_task": (1, 999), "nice": (-99, 99),
    "exclusive": (0, 1), "oversubscribe": (0, 1), "contiguous": (0, 1), "hold": (0, 1), "requeue": (0, 1),
    "exit_code": (0, 255), "exit_signal": (0, 64), "nodes": (1, 9), "nodes_max": (9, 99), "tasks": (1, 9),
    "tasks_per_node": (1, 9), "min_nodes": (1, 9), "max_nodes": (1, 9), "malleable": (0, 1),
}  # fmt: skip


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    n = draw(st.integers(0, 8))
    columns = {}
    for name in INT_COLUMNS:
        low, high = _RANGES.get(name, (-1, 2**40))
        values = st.lists(st.integers(low, high), min_size=n, max_size=n, unique=name == "job_id")
        columns[name] = np.array(draw(values), np.int64)
    columns["depends_on"][:] = -1  # loops are refused
    word = st.text(st.characters(blacklist_categories=["Cs"]), max_size=4)
    coded = {name: TextColumn.from_list(draw(st.lists(word, min_size=n, max_size=n))) for name in TEXT_COLUMNS}
    coded["dependency"] = TextColumn.constant(n)
    report = QualityReport(9, n, {"repaired so": 2}, {"dropped so": 1}, {"repaired so": ["line 3: job 4"]})
    header = WorkloadHeader("log", "swf", 77, 5, 10, {"Note": "héllo\nworld"})
    return Workload(columns, coded, header, report).sorted()


@given(workloads())
def test_everything_survives_writing_and_reading(tmp_path_factory: pytest.TempPathFactory, workload: Workload) -> None:
    path = tmp_path_factory.mktemp("parquet") / "w.parquet"
    assert write_workload(workload, path) == []
    again = read_workload(path)
    assert_equal(again, workload)
    assert again.header == workload.header and again.quality == workload.quality
    before = path.read_bytes()
    write_workload(again, path)
    assert path.read_bytes() == before


def test_several_row_groups_keep_their_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slurmsim_workloads.parquet.ROW_GROUP", 3)
    n = 20
    names = [f"u{i % 7}" for i in range(n)]
    w = Workload(
        {"job_id": np.arange(1, n + 1), "submit": np.arange(n)},
        {"user": TextColumn.from_list(names)},
    )
    write_workload(w, tmp_path / "w.parquet")
    assert pq.ParquetFile(tmp_path / "w.parquet").num_row_groups == 7
    assert texts(read_workload(tmp_path / "w.parquet"), "user") == names


def test_a_table_made_elsewhere_needs_only_two_columns(tmp_path: Path) -> None:
    table = pa.table(
        {
            "submit": pa.array([30, 10], pa.int32()),
            "job_id": pa.array([1, 2], pa.uint16()),
            "user": ["ann", None],
            "nodes": pa.array([None, 4], pa.int64()),
            "exclusive": [True, False],
        }
    )
    pq.write_table(table, tmp_path / "w.parquet")
    w = read_workload(tmp_path / "w.parquet")
    assert ints(w, "job_id") == [2, 1] and ints(w, "nodes") == [4, -1] and ints(w, "exclusive") == [0, 1]
    assert texts(w, "user") == ["", "ann"] and ints(w, "time_limit") == [-1, -1]
    assert (w.header.source, w.quality.jobs) == ("w.parquet", 2)


def test_content_is_recognised_without_a_suffix(tmp_path: Path) -> None:
    pq.write_table(pa.table({"job_id": [1], "submit": [0]}), tmp_path / "w")
    assert len(read_workload(tmp_path / "w")) == 1


BASE = {"job_id": [1, 2, 3], "submit": [0, 5, 9]}
CASES = [
    ({"job_id": [1]}, "submit: the column is missing (expected at least ('job_id', 'submit'))"),
    (BASE | {"users": ["a", "b", "c"]}, "users: unknown column (expected perhaps 'user')"),
    (BASE | {"tasks": [1.5, 2.0, 1.0]}, "tasks: type double (expected int64)"),
    (BASE | {"user": [1, 2, 3]}, "user: type int64 (expected text)"),
    (BASE | {"tasks": [1, 2, -4]}, "tasks: row 2 (job 3) holds -4 (expected at least -1)"),
    (BASE | {"nodes": [1, 0, 4]}, "nodes: row 1 (job 2) holds 0 (expected a number > 0, or -1 for not given)"),
    (BASE | {"hold": [0, 0, 2]}, "hold: row 2 (job 3) holds 2 (expected 0 or 1)"),
    (
        BASE | {"nodes": [4, 1, 1], "nodes_max": [3, -1, 1]},
        "nodes_max: row 0 (job 1) holds 3 (expected not below nodes)",
    ),
    (BASE | {"job_id": [1, 2, 1]}, "job_id: row 2 (job 1) holds 1 (expected each job id once)"),
    (BASE | {"job_id": [1, None, 3]}, "job_id: row 1 is empty (expected a whole number)"),
    (BASE | {"submit": [0, -5, 9]}, "submit: row 1 (job 2) holds -5 (expected at least 0)"),
    (BASE | {"depends_on": [3, 1, 2]}, "depends_on: row 0 (job 1) holds 3 (expected no circular dependencies)"),
    (
        BASE | {"dependency": ["afterok:2", "afterany:1", ""]},
        "dependency: job 1 waits for itself through its dependencies (expected no circular dependencies)",
    ),
]


@pytest.mark.parametrize(("columns", "message"), CASES, ids=range(len(CASES)))
def test_wrong_tables(tmp_path: Path, columns: dict[str, list], message: str) -> None:
    path = tmp_path / "w.parquet"
    pq.write_table(pa.table(columns), path)
    with pytest.raises(WorkloadError) as caught:
        read_workload(path)
    assert str(caught.value) == f"{path}: {message}"


def _newer(path: Path) -> None:
    table = pa.table(BASE).replace_schema_metadata({METADATA_KEY: b'{"version": 99}'})
    pq.write_table(table, path)


def _garbled(path: Path) -> None:
    pq.write_table(pa.table(BASE).replace_schema_metadata({METADATA_KEY: b"{"}), path)


def _cut(path: Path) -> None:
    pq.write_table(pa.table(BASE), path)
    path.write_bytes(path.read_bytes()[:-20])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_newer, "workload schema version 99 (expected at most 2; newer slurmsim?)"),
        (_garbled, "slurmsim.workload: metadata are damaged: "),
        (_cut, "is no intact Parquet file: "),
        (lambda path: path.write_bytes(b"PAR1"), "is no intact Parquet file: "),
    ],
)
def test_damaged_files(tmp_path: Path, spoil: Callable[[Path], None], message: str) -> None:
    path = tmp_path / "w.parquet"
    spoil(path)
    with pytest.raises(WorkloadError) as caught:
        read_workload(path)
    assert str(caught.value).startswith(f"{path}: {message}") and "\n" not in str(caught.value)


def test_a_column_with_other_rows_than_the_file_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flipped bit does that; a column without rows once ended in a traceback (found by the nightly mutations)."""
    path = tmp_path / "w.parquet"
    pq.write_table(pa.table(BASE), path)
    whole = pq.ParquetFile.read

    def damaged(file: pq.ParquetFile, columns: list[str], **more: Any) -> pa.Table:
        return whole(file, columns, **more).slice(0, 0 if columns == ["job_id"] else None)

    monkeypatch.setattr(pq.ParquetFile, "read", damaged)
    with pytest.raises(WorkloadError) as caught:
        read_workload(path)
    assert str(caught.value) == f"{path}: job_id: has 0 rows (expected the 3 of the file)"


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "w.parquet"
    pq.write_table(pa.table(BASE), path)
    w, before = read_workload(path), path.read_bytes()

    def full_disk(table: pa.Table, target: Path, **_: object) -> None:
        Path(target).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full_disk)
    with pytest.raises(OutputError) as caught:
        write_workload(w, path)
    assert str(caught.value) == f"{path}: cannot be written: No space left on device"
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["w.parquet"]


def test_the_schema_names_every_column() -> None:
    table = to_table(Workload({"job_id": np.array([1]), "submit": np.array([0])}, {}))
    assert table.column_names == [name for name in (*INT_COLUMNS, *TEXT_COLUMNS) if name not in ADDED]
    told = Workload({"job_id": np.array([1]), "submit": np.array([0]), "malleable": np.array([1])}, {})
    assert [name for name in to_table(told).column_names if name in ADDED] == ["malleable"]
