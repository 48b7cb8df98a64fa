"""Broken job logs in all formats: one line that names file, line (or job) and field; exit code 2; nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bad_input_support import (
    SACCT,
    SACCT_HEADER,
    SWF,
    Case,
    assert_refused,
    command,
    prepare,
    run_cli,
    sacct_job,
    swf_job,
    truncated_gzip,
)

N = SWF.count("\n")  # lines of the good log; what a case appends is on line N + 1


def swf(name: str, tail: str, *says: str, line: int = 1) -> Case:
    return Case(name, (f"log.swf:{N + line}", *says), files={"log.swf": SWF + tail})


def sacct(name: str, content: str, *says: str) -> Case:
    return Case(name, ("jobs.txt", *says), files={"jobs.txt": content}, argv=("--format", "sacct"), workload="jobs.txt")


CASES = [
    swf("too few columns", "6 60 -1 60 4\n", "5 columns"),
    swf("too many columns", swf_job(6).strip() + " 7\n", "19 columns"),
    swf("word for a number", swf_job(6, procs="many"), "many", "processors"),
    swf("fraction of a processor", swf_job(6, procs="2.5"), "2.5", "processors"),
    swf("job number zero", swf_job(0), "job number"),
    swf("same job number twice", swf_job(3), "3", "job number"),
    swf("negative size", swf_job(6, procs=-7), "-7", "processors"),
    swf("negative submit time", swf_job(6, submit=-100), "-100", "submit time"),
    swf("number beyond 64 bits", swf_job(6, run=10**30), "run time"),
    Case(
        "job larger than the cluster",
        ("log.swf", "job 6", "400"),
        files={"log.swf": SWF.replace("; MaxProcs: 16\n", "").replace("; MaxNodes: 4\n", "") + swf_job(6, procs=400)},
    ),
    Case(
        "jobs that wait for each other",
        ("log.swf", "circular"),
        files={"log.swf": SWF + swf_job(6, f17=7, f18=5) + swf_job(7, f17=6, f18=5)},
    ),
    Case(
        "truncated gzip", ("log.swf.gz", "truncated"), files={"log.swf.gz": truncated_gzip(SWF)}, workload="log.swf.gz"
    ),
    Case(
        "gzip with a broken body",
        ("log.swf.gz",),
        files={"log.swf.gz": b"\x1f\x8b\x08" + b"\0" * 60},
        workload="log.swf.gz",
    ),
    Case("empty log", ("log.swf", "no job"), files={"log.swf": ""}),
    Case("log of comments", ("log.swf", "no job"), files={"log.swf": "; MaxProcs: 16\n"}),
    Case("missing log", ("nowhere.swf", "No such file"), workload="nowhere.swf"),
    Case("log that is a folder", (".",), workload=".", argv=("--format", "swf")),
    Case("log below a file", ("log.swf/x.swf",), workload="log.swf/x.swf"),
    Case("log of no known format", ("notes.txt:1",), files={"notes.txt": "buy milk\n"}, workload="notes.txt"),
    Case("wrong format named", ("log.swf:",), argv=("--format", "sacct")),
    Case("unknown format named", ("xml", "swf"), argv=("--format", "xml")),
    sacct("no header", sacct_job(1) + sacct_job(2), ":1"),
    sacct("header without State", SACCT.replace("State", "Stat"), "State"),
    sacct("too few fields", SACCT + "3|3|ann\n", ":4", "3"),
    sacct("bad time", SACCT + sacct_job(3, Submit="yesterday"), ":4", "Submit", "yesterday"),
    sacct("bad limit", SACCT + sacct_job(3, Timelimit="long"), ":4", "Timelimit", "long"),
    sacct("bad state", SACCT + sacct_job(3, State="DANCING"), ":4", "State", "DANCING"),
    sacct("negative nodes", SACCT + sacct_job(3, NNodes=-2), ":4", "NNodes", "-2"),
    sacct("unknown partition", SACCT + sacct_job(3, Partition="gpu"), "partition", "gpu", "3", "--impossible-jobs"),
    sacct(
        "several of an unknown partition",
        SACCT + "".join(sacct_job(i, Partition="debug,gpu") for i in (3, 4, 5)),
        "partition",
        "job 3 wants partition 'gpu'",
        "and 2 other jobs likewise",
    ),
    sacct(
        "circular dependencies",
        SACCT_HEADER + "\n" + sacct_job(1, Dependency="afterok:2") + sacct_job(2, Dependency="afterok:1"),
        "circular",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_broken_log_is_refused(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path, case)
    assert_refused(run_cli(*command(case)), case.code, case.says)
    assert not (tmp_path / "out").exists()


GOOD_COLUMNS = {
    "job_id": np.array([1, 2], np.int64),
    "submit": np.array([0, 10], np.int64),
    "run_time": np.array([60, 60], np.int64),
    "time_limit": np.array([120, 120], np.int64),
    "tasks": np.array([1, 4], np.int64),
}
TABLES = {
    "wrong column": ({"jobs": np.array([1, 2], np.int64)}, "job_id"),
    "text for numbers": (GOOD_COLUMNS | {"run_time": np.array(["a", "b"])}, "run_time"),
    "negative size": (GOOD_COLUMNS | {"tasks": np.array([1, -4], np.int64)}, "tasks"),
    "same id twice": (GOOD_COLUMNS | {"job_id": np.array([1, 1], np.int64)}, "job_id"),
    "circular dependencies": (GOOD_COLUMNS | {"dependency": np.array(["afterok:2", "afterok:1"])}, "circular"),
    "column nobody knows": (GOOD_COLUMNS | {"colour": np.array([1, 1], np.int64)}, "colour"),
}


@pytest.mark.parametrize("name", TABLES, ids=lambda name: name.replace(" ", "-"))
def test_broken_parquet_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    columns, field = TABLES[name]
    case = Case(name, ("log.parquet", field), workload="log.parquet")
    prepare(tmp_path, case)
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    assert_refused(run_cli(*command(case)), 2, case.says)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("keep", [0, 3, 100, -9], ids=["empty", "magic-alone", "head-alone", "tail-missing"])
def test_parquet_cut_short_is_refused(keep: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    case = Case("cut short", ("log.parquet",), workload="log.parquet")
    prepare(tmp_path, case)
    pq.write_table(pa.table(GOOD_COLUMNS), tmp_path / "log.parquet")
    (tmp_path / "log.parquet").write_bytes((tmp_path / "log.parquet").read_bytes()[:keep])
    assert_refused(run_cli(*command(case)), 2, case.says)
    assert not (tmp_path / "out").exists()


def test_jobs_the_cluster_could_not_take_are_left_out_aloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of some years names partitions that are gone and is from a larger machine."""
    monkeypatch.chdir(tmp_path)
    text = SACCT + sacct_job(3, Partition="gpu") + sacct_job(4, NNodes=5, NCPUS=20) + sacct_job(5, Partition="gpu")
    case = sacct("", text)
    prepare(tmp_path, case)
    outcome = run_cli(*command(case), "--impossible-jobs", "drop")
    assert outcome.code == 0, outcome.err
    workload = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))["workload"]
    assert workload["jobs"] == 2
    assert workload["dropped"] == {
        "wants partition 'gpu', which the cluster does not have": 2, "asks for more CPUs than the cluster has": 1,
    }  # fmt: skip
    only = sacct("", SACCT_HEADER + "\n" + sacct_job(3, Partition="gpu"))
    prepare(tmp_path, only)
    assert_refused(run_cli(*command(only), "--impossible-jobs", "drop"), 2, ("jobs.txt", "none of its jobs"))


def test_a_job_that_sbatch_would_refuse_is_left_out_aloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes on without the job, as a cluster would, and says so on the screen and in the manifest."""
    monkeypatch.chdir(tmp_path)
    case = Case("", (), workload="log.parquet")
    prepare(tmp_path, case)
    pq.write_table(pa.table(GOOD_COLUMNS | {"dependency": np.array(["", "whenever:1"])}), tmp_path / "log.parquet")
    outcome = run_cli(*(argument for argument in command(case) if argument != "--quiet"))
    assert outcome.code == 0, outcome.err
    dropped = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))["workload"]["dropped"]
    assert dropped == {"refused at submission: Job dependency problem": 1}
    assert "Job dependency problem" in outcome.out + outcome.err
    assert "job 2" in outcome.out + outcome.err
