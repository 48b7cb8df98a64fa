"""CSV in the workload schema: all columns there and back; wrong files are refused by file, line and column."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from test_parquet import workloads
from workload_helpers import assert_equal, texts

from slurmsim.errors import WorkloadError
from slurmsim.workload import Workload, WorkloadHeader
from slurmsim_workloads import read_workload, write_workload


@given(workloads())
def test_columns_survive_writing_and_reading(tmp_path_factory: pytest.TempPathFactory, workload: Workload) -> None:
    path = tmp_path_factory.mktemp("csv") / "w.csv"
    write_workload(workload, path)
    again = read_workload(path)
    assert_equal(again, workload)
    assert again.header == WorkloadHeader(source="w.csv", format="csv")


APP = "LeanMD:parallelism=24:sigma=0.2"


def test_a_file_by_hand(tmp_path: Path) -> None:
    """Any order, a byte order mark, quotes, Windows' ends of lines, empty cells and lines; by content, zipped too."""
    text = f'\ufeffsubmit,job_id,"app",max_nodes,nodes,malleable\r\n5,2,{APP},16,8,1\r\n\r\n0, 1 ,"",,2,\r\n'
    for name, data in (("jobs.csv", text.encode()), ("jobs", gzip.compress(text.encode()))):
        path = tmp_path / name
        path.write_bytes(data)
        found = read_workload(path)
        assert found.ints["job_id"].tolist() == [1, 2] and found.ints["max_nodes"].tolist() == [-1, 16]
        assert found.ints["malleable"].tolist() == [0, 1] and texts(found, "app") == ["", APP]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("job_id,nodes\n1,2\n", "jobs.csv: submit: the column is missing"),
        ("job_id,submit,max_node\n1,2,3\n", "max_node: unknown column (expected perhaps 'max_nodes')"),
        ("job_id,submit,submit\n1,2,3\n", "the column is there twice"),
        ("job_id,submit\n1,2\n\n3,4,5\n", "jobs.csv:4: 3 cells (expected 2, as in the first line)"),
        ("job_id,submit\n1,2\n2,soon\n", "jobs.csv:3: submit: 'soon' (expected a whole number)"),
        ("job_id,submit\n1,1.5\n", "jobs.csv:2: submit: '1.5'"),
        ("job_id,submit\n1,99999999999999999999\n", "jobs.csv:2: submit: '99999999999999999999'"),
        ("job_id,submit\n1,\n", "submit: row 0 is empty"),
        ("job_id,submit,malleable\n1,2,3\n", "malleable"),
        ('job_id,submit\n1,"2\n', "jobs.csv:2: unexpected end of data"),
        ("", "jobs.csv"),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(WorkloadError) as wrong:
        read_workload(path, "csv")
    assert message in str(wrong.value) and "\n" not in str(wrong.value)


def test_what_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_bytes(b"job_id,submit\n1,\xff\n")
    with pytest.raises(WorkloadError, match=r"jobs\.csv: is no UTF-8 text"):
        read_workload(path)
