"""Reading traces back, and what is said of folders that are none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from slurmsim.errors import WorkloadError
from slurmsim.trace import schema
from slurmsim.trace.reader import read_trace
from slurmsim.trace.writer import ROW_GROUP, TraceWriter


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with TraceWriter(tmp_path / "t") as writer:
        for i in range(5):
            job = {
                name: 0 if column.kind == "int64" else None if column.kind == "int64?" else ""
                for name, column in schema.JOBS.items()
            }
            job |= {"job_id": i, "user": f"user{i % 2}", "start": 10 * i if i else None}
            writer.jobs.append(tuple(job.values()))
        writer.write_json("summary.json", {"jobs": 5})
    return tmp_path / "t"


def test_columns_come_as_arrays_and_codes(folder):
    trace = read_trace(folder)
    ids, starts = trace.ints("jobs", "job_id", "start", null=-1)
    assert ids.tolist() == [0, 1, 2, 3, 4] and starts.tolist() == [-1, 10, 20, 30, 40]
    codes, names = trace.text("jobs", "user")
    assert [names[c] for c in codes] == ["user0", "user1", "user0", "user1", "user0"]
    assert trace.summary == {"jobs": 5} and not trace.partial
    assert trace.ints("events", "time")[0].tolist() == []


def test_frames_have_every_column_with_nulls_and_texts_pandas_understands(folder):
    trace = read_trace(folder)
    frame = trace.jobs_frame()
    assert list(frame.columns) == list(schema.JOBS) and len(frame) == 5
    assert frame["start"].isna().tolist() == [True, False, False, False, False]
    assert frame["start"].sum() == 100 and frame["start"].dtype == pd.Int64Dtype()
    assert frame["job_id"].dtype == np.int64
    assert frame.groupby("user")["job_id"].sum().to_dict() == {"user0": 6, "user1": 4}
    assert frame["user"].str.upper().tolist()[0] == "USER0"
    assert list(trace.events_frame().columns) == list(schema.EVENTS) and len(trace.events_frame()) == 0
    assert list(trace.usage_frame().columns) == list(schema.USAGE)


def test_rows_are_chosen_by_a_text_across_row_groups(tmp_path):
    n = ROW_GROUP + 50
    with TraceWriter(tmp_path / "t") as writer:
        for i in range(n):
            writer.usage.append((i, "batch" if i % 3 else "", *[i] * 10))
    trace = read_trace(tmp_path / "t")
    time, cpus = trace.ints_where("usage", ("time", "alloc_cpus"), "partition", "")
    assert time.tolist() == cpus.tolist() == list(range(0, n, 3))
    assert trace.ints_where("usage", ("alloc_nodes",), "partition", "")[0].tolist() == time.tolist()  # they are known
    assert trace.ints_where("usage", ("time",), "partition", "nobody")[0].tolist() == []


def test_a_column_read_after_the_whole_table_is_the_same(folder):
    one, other = read_trace(folder), read_trace(folder)
    assert other.jobs.num_columns == len(schema.JOBS)
    assert one.read("jobs", ["job_id", "user"]) == other.read("jobs", ["job_id", "user"])


@pytest.fixture
def next_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """The schema of the next version, with two more columns of jobs."""
    following = schema.SCHEMA_VERSION + 1
    monkeypatch.setattr(schema, "SCHEMA_VERSION", following)
    colour, weight = (schema.Column(kind, "", "A new one.", following) for kind in ("text", "int64?"))
    more = {"colour": colour, "weight": weight}
    monkeypatch.setitem(schema.TABLES, "jobs", {**more, **schema.JOBS})


def test_columns_that_came_later_are_empty_in_older_traces(folder, next_version):
    trace = read_trace(folder)
    assert trace.jobs.column_names == ["colour", "weight", *schema.JOBS]
    assert trace.jobs.column("weight").null_count == 5
    assert trace.text("jobs", "colour")[1] == [""]
    assert trace.ints("jobs", "weight", "job_id", null=-1)[0].tolist() == [-1] * 5
    assert [ids.tolist() for ids in trace.ints_where("jobs", ["job_id", "weight"], "user", "user1", null=-1)] == [
        [1, 3], [-1, -1],
    ]  # fmt: skip
    frame = trace.jobs_frame()
    assert frame["colour"].tolist() == [""] * 5 and frame["weight"].isna().all()
    assert read_trace(folder).read("jobs", ["weight", "job_id"]).column_names == ["weight", "job_id"]
    assert trace.events.num_rows == 0


def test_an_older_column_may_not_be_missing(folder, next_version):
    jobs = pq.read_table(folder / "jobs.parquet")
    pq.write_table(jobs.drop_columns("user"), folder / "jobs.parquet")
    with pytest.raises(WorkloadError, match=r"jobs.parquet: user: column is missing"):
        read_trace(folder).jobs_frame()


@pytest.mark.parametrize("version", [2, schema.SCHEMA_VERSION + 2])
def test_versions_that_are_not_read_are_named_with_those_that_are(folder, next_version, version):
    (folder / "run.json").write_text(json.dumps({"trace_schema": version}))
    with pytest.raises(WorkloadError, match=rf"schema version {version} \(expected {schema.versions()}\)"):
        read_trace(folder)


def broken(folder: Path, name: str, change) -> None:
    file = folder / name
    file.write_bytes(change(file.read_bytes()))


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda f: (f / "run.json").unlink(), "t: not a slurmsim trace: run.json is missing"),
        (lambda f: (f / "run.json").write_text("{"), "run.json: not valid JSON"),
        (lambda f: (f / "run.json").write_text("[]"), "run.json: not a JSON object"),
        (lambda f: (f / "run.json").write_text("{}"), "run.json: trace_schema: not a slurmsim trace"),
        (
            lambda f: (f / "run.json").write_text(json.dumps({"trace_schema": 99})),
            r"run.json: trace_schema: schema version 99 \(expected version 3 to 8\)",
        ),
        (lambda f: (f / "jobs.parquet").unlink(), "jobs.parquet: missing from the trace"),
        (lambda f: broken(f, "jobs.parquet", lambda b: b[: len(b) // 2]), "jobs.parquet: not a readable Parquet file"),
        (lambda f: broken(f, "jobs.parquet", lambda b: b""), "jobs.parquet: not a readable Parquet file"),
        (
            lambda f: pq.write_table(pq.read_table(f / "jobs.parquet").drop_columns("user"), f / "jobs.parquet"),
            "jobs.parquet: user: column is missing",
        ),
        (
            lambda f: pq.write_table(
                pq.read_table(f / "jobs.parquet").replace_schema_metadata({"slurmsim.trace_schema": "0"}),
                f / "jobs.parquet",
            ),
            r"jobs.parquet: schema version 0 \(expected version 3 to 8\)",
        ),
    ],
)
def test_what_is_wrong_is_one_line_with_the_file(folder, prepare, message):
    prepare(folder)
    with pytest.raises(WorkloadError, match=message) as caught:
        read_trace(folder).ints("jobs", "submit")
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(WorkloadError, match="nowhere: no such folder"):
        read_trace(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkloadError, match="file: not a folder"):
        read_trace(tmp_path / "file")
