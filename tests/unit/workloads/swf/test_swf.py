"""SWF: what each column becomes, repairs and drops, the public logs, and writing back."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from workload_helpers import assert_equal, ints, texts

from slurmsim.workload import TextColumn, Workload, WorkloadHeader
from slurmsim_workloads import read_workload, write_workload
from slurmsim_workloads.swf.format import SwfFormat
from slurmsim_workloads.swf.table import read_table
from slurmsim_workloads.swf.write import reduce_to_swf

HEADER = "; Version: 2.2\n; UnixStartTime: 843480031\n; MaxNodes: 25\n; MaxProcs: 100\n; Note: a\n; Note: b\n"
# id submit wait run procs cpu mem rprocs rtime rmem status user group exe queue part prec think
FULL = "7 10 5 100 4 99 2048 8 120 4096 1 12 3 6 2 1 -1 -1\n"


def read(tmp_path: Path, text: str, **options: str) -> Workload:
    path = tmp_path / "log.swf"
    path.write_text(text)
    return read_workload(path, options=options)


NAMES = (
    "id", "submit", "wait", "run", "procs", "cpu", "mem", "rprocs", "rtime", "rmem", "status", "user", "group", "exe",
    "queue", "part", "prec", "think",
)  # fmt: skip


def row(**fields: int | str) -> str:
    values = dict.fromkeys(NAMES, -1) | {"id": 1, "submit": 0, "run": 10, "procs": 1} | fields
    return " ".join(str(values[n]) for n in NAMES) + "\n"


def test_every_column_lands_where_it_belongs(tmp_path: Path) -> None:
    w = read(tmp_path, HEADER + FULL, memory="yes", partitions="queue", map="2:batch")
    expected = {
        "job_id": 7, "submit": 10, "run_time": 100, "time_limit": 120, "tasks": 8, "cpus_per_task": 1, "nodes": -1,
        "mem_per_cpu": 4, "log_start": 15, "log_end": 115, "exit_code": 0, "depends_on": -1, "think_after": -1,
    }  # fmt: skip
    assert {name: ints(w, name)[0] for name in expected} == expected
    expected_texts = {"user": "user12", "account": "group3", "name": "app6", "partition": "batch", "outcome": "",
                      "log_state": "COMPLETED"}  # fmt: skip
    assert {name: texts(w, name)[0] for name in expected_texts} == expected_texts
    assert (w.header.epoch, w.header.max_nodes, w.header.max_procs) == (843480031, 25, 100)
    assert w.header.fields["Note"] == "a\nb"


def test_a_plain_and_a_gzipped_log_are_the_same_whatever_the_name(tmp_path: Path) -> None:
    plain = read(tmp_path, HEADER + FULL)
    packed = tmp_path / "packed.log"
    packed.write_bytes(gzip.compress((HEADER + FULL).encode()))
    assert_equal(plain, read_workload(packed))


def test_missing_values_fall_back_as_in_the_normal_form(tmp_path: Path) -> None:
    w = read(tmp_path, row(id=1, procs=4, rprocs=-1) + row(id=2, procs=4, rprocs=2, rtime=0))
    assert ints(w, "tasks") == [4, 2]
    assert ints(w, "time_limit") == ints(w, "run_time") == [10, 10]
    assert w.quality.repaired == {"no requested time, the run time taken instead": 2}
    assert texts(w, "user") == ["", ""] and ints(w, "log_start") == [-1, -1]


@pytest.mark.parametrize(
    ("rule", "run", "limit"), [("cap", 60, 60), ("extend", 100, 100), ("keep", 100, 60)]
)  # fmt: skip
def test_run_time_above_the_request(tmp_path: Path, rule: str, run: int, limit: int) -> None:
    w = read(tmp_path, row(run=100, rtime=60, wait=1), overrun=rule)
    assert (ints(w, "run_time"), ints(w, "time_limit"), ints(w, "log_end")) == ([run], [limit], [101])
    assert sum(w.quality.repaired.values()) == (rule != "keep")


def test_unusable_records_are_dropped_counted_and_named(tmp_path: Path) -> None:
    text = (
        "; MaxProcs: 10\n" + row(id=1, run=0) + row(id=2, run=-1) + row(id=3, procs=0) + row(id=4, procs=11)
        + row(id=5, submit=-1) + row(id=6, status=5, run=0, wait=9) + row(id=7, procs=10)
    )  # fmt: skip
    w = read(tmp_path, text)
    assert ints(w, "job_id") == [7]
    assert w.quality.dropped == {
        "run time zero": 1, "no run time": 1, "no processors": 1, "larger than the machine (10 processors)": 1,
        "no submit time": 1, "cancelled without having run": 1,
    }  # fmt: skip
    assert w.quality.examples["no processors"] == ["line 4: job 3"]
    assert (w.quality.records, w.quality.jobs) == (7, 1)


def test_machine_size_by_option(tmp_path: Path) -> None:
    text = "; MaxProcs: 10\n" + row(id=1, procs=11) + row(id=2)
    assert ints(read(tmp_path, text, max_procs="0"), "job_id") == [1, 2]
    assert read(tmp_path, text, max_procs="20").header.max_procs == 20


def test_machine_of_one_processor_nodes(tmp_path: Path) -> None:
    assert read(tmp_path, "; MaxNodes: 128 (64)\n" + row()).header.max_procs == 128


def test_jobs_cancelled_while_pending_can_be_kept(tmp_path: Path) -> None:
    w = read(tmp_path, row(status=5, run=-1, wait=30, submit=4, rtime=60), cancelled="keep")
    got = [ints(w, n)[0] for n in ("cancel_at", "run_time", "time_limit", "log_start", "log_end")]
    assert got == [34, -1, 60, -1, 34]
    assert texts(w, "log_state") == ["CANCELLED"] and texts(w, "outcome") == [""]


def test_end_states(tmp_path: Path) -> None:
    w = read(tmp_path, row(id=1, status=0) + row(id=2, status=1) + row(id=3, status=5) + row(id=4))
    assert texts(w, "outcome") == ["FAILED", "", "CANCELLED", ""]
    assert texts(w, "log_state") == ["FAILED", "COMPLETED", "CANCELLED", ""]
    assert ints(w, "exit_code") == [1, 0, 0, 0]


def test_unsorted_submit_times_are_sorted_then_by_job(tmp_path: Path) -> None:
    w = read(tmp_path, row(id=9, submit=5) + row(id=3, submit=5) + row(id=4, submit=1) + row(id=8, submit=6))
    assert ints(w, "job_id") == [4, 3, 9, 8]
    assert w.quality.repaired["submitted before the job on an earlier line, sorted"] == 1


def test_preceding_job_and_think_time(tmp_path: Path) -> None:
    text = row(id=1) + row(id=2, prec=1, think=60) + row(id=3, prec=2) + row(id=4, prec=99, think=5)
    w = read(tmp_path, text)
    assert ints(w, "depends_on") == [-1, 1, 2, -1]
    assert ints(w, "think_after") == [-1, 60, 0, -1]
    assert w.quality.examples["preceding job is not among the jobs, dependency left out"] == ["line 4: job 4"]
    assert ints(read(tmp_path, text, dependencies="no"), "depends_on") == [-1] * 4


def test_partial_executions_are_not_jobs(tmp_path: Path) -> None:
    w = read(tmp_path, row(id=1, status=2, run=4) + row(id=1, status=3, run=6) + row(id=1, status=1, run=10))
    assert ints(w, "run_time") == [10]
    assert w.quality.dropped == {"partial execution (status 2-4) of another record": 2}


@pytest.mark.parametrize(("rule", "run"), [("first", 5), ("last", 6)])
def test_repeated_job_numbers_by_option(tmp_path: Path, rule: str, run: int) -> None:
    w = read(tmp_path, row(id=4, run=5) + row(id=4, run=6), duplicates=rule)
    assert ints(w, "run_time") == [run] and sum(w.quality.dropped.values()) == 1


def test_renumbering_keeps_dependencies(tmp_path: Path) -> None:
    w = read(tmp_path, row(id=0, submit=9) + row(id=70, submit=3) + row(id=60, submit=5, prec=70), ids="renumber")
    assert ints(w, "job_id") == [1, 2, 3] and ints(w, "depends_on") == [-1, 1, -1]


def test_partitions_named_by_the_header_or_by_number(tmp_path: Path) -> None:
    text = "; Queue: 1 batch\n; Partition: 1  pbatch \n" + row(id=1, queue=1, part=1) + row(id=2, queue=0, part=5)
    assert texts(read(tmp_path, text), "partition") == ["", ""]
    assert texts(read(tmp_path, text, partitions="queue"), "partition") == ["batch", "queue0"]
    assert texts(read(tmp_path, text, partitions="partition"), "partition") == ["pbatch", "partition5"]


def test_memory_units(tmp_path: Path) -> None:
    text = row(rmem=1025, mem=4 * 1024 * 1024)
    assert ints(read(tmp_path, text), "mem_per_cpu") == [-1]
    assert ints(read(tmp_path, text, memory="yes"), "mem_per_cpu") == [2]
    assert ints(read(tmp_path, text, memory="used", memory_unit="bytes"), "mem_per_cpu") == [4]


def test_fractions_are_rounded_where_converters_leave_them(tmp_path: Path) -> None:
    w = read(tmp_path, row(run="10.6", cpu="3.5") + row(id=2))
    assert ints(w, "run_time") == [11, 10]
    assert w.quality.repaired["run time rounded to a whole number"] == 1
    assert "average CPU time rounded to a whole number" not in w.quality.repaired


def test_surplus_columns_by_option(tmp_path: Path) -> None:
    assert len(read(tmp_path, row().strip() + " {1,2} q_2w 1:ppn=12\n", extra="ignore")) == 1


def test_blank_lines_comments_and_crlf_do_not_shift_line_numbers(tmp_path: Path) -> None:
    w = read(tmp_path, "; MaxProcs: 10\r\n\r\n  ; aside\r\n" + row(id=1, run=0).replace("\n", "\r\n") + row(id=2))
    assert w.quality.examples["run time zero"] == ["line 4: job 1"]


numbers = st.integers(-1, 10**9)
line = st.lists(numbers, min_size=18, max_size=18)


@given(st.lists(st.one_of(line, st.just([]), st.just(["; note"])), max_size=30), st.booleans())
def test_fast_and_plain_parsing_agree(tmp_path_factory: pytest.TempPathFactory, rows: list, ending: bool) -> None:
    path = tmp_path_factory.mktemp("swf") / "log.swf"
    lines = ["  ".join(str(v) for v in r) for r in rows]
    path.write_text("\n".join(lines) + ("\n" if ending else ""))
    table = read_table(path)
    wanted = [(i, r) for i, r in enumerate(rows, 1) if len(r) == 18]
    assert table.values.tolist() == [r for _, r in wanted]
    assert table.lines.tolist() == [i for i, _ in wanted]


def test_blocks_are_joined_seamlessly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from slurmsim_workloads import files
    from slurmsim_workloads.swf import table as swf_table

    text = HEADER + "".join(row(id=i, submit=i) for i in range(1, 50))
    whole = read(tmp_path, text)
    monkeypatch.setattr(swf_table, "read_line_blocks", lambda path: files.read_line_blocks(path, 64))
    assert_equal(whole, read(tmp_path, text))


@st.composite
def swf_workloads(draw: st.DrawFn) -> Workload:
    n = draw(st.integers(1, 12))
    column = st.lists(st.integers(0, 10**6), min_size=n, max_size=n)
    ids = draw(st.lists(st.integers(1, 10**6), min_size=n, max_size=n, unique=True))
    run = [1 + v for v in draw(column)]
    ints_ = {
        "job_id": ids,
        "submit": draw(column),
        "run_time": run,
        "time_limit": [r + v for r, v in zip(run, draw(column), strict=True)],
        "tasks": [1 + v for v in draw(column)],
        "mem_per_cpu": draw(st.lists(st.sampled_from([-1, 1, 4000]), min_size=n, max_size=n)),
        "exit_code": draw(st.lists(st.sampled_from([0, 0, 1]), min_size=n, max_size=n)),
    }
    wait = draw(st.lists(st.integers(-1, 10**5), min_size=n, max_size=n))
    ints_["log_start"] = [s + w if w >= 0 else -1 for s, w in zip(ints_["submit"], wait, strict=True)]
    names = {p: draw(st.lists(st.sampled_from(["", *(f"{p}{i}" for i in range(4))]), min_size=n, max_size=n))
             for p in ("user", "group", "app")}  # fmt: skip
    texts_ = {
        "user": TextColumn.from_list(names["user"]),
        "account": TextColumn.from_list(names["group"]),
        "name": TextColumn.from_list(names["app"]),
        "partition": TextColumn.from_list(draw(st.lists(st.sampled_from(["debug", "batch"]), min_size=n, max_size=n))),
    }
    made = Workload(
        {k: np.array(v, np.int64) for k, v in ints_.items()}, texts_, WorkloadHeader(epoch=5, max_procs=10**7)
    )
    return reduce_to_swf(made.sorted())[0]


@given(swf_workloads(), st.sampled_from(["w.swf", "w.swf.gz"]))
def test_what_swf_holds_survives_writing_and_reading(
    tmp_path_factory: pytest.TempPathFactory, workload: Workload, name: str
) -> None:
    path = tmp_path_factory.mktemp("swf") / name
    assert write_workload(workload, path) == []
    again = read_workload(path, options={"memory": "yes", "partitions": "partition"})
    assert_equal(again, workload)
    assert (again.header.epoch, again.header.max_procs) == (5, 10**7)
    before = path.read_bytes()
    write_workload(workload, path)
    assert path.read_bytes() == before


def test_writing_keeps_dependencies_cancels_and_header(tmp_path: Path) -> None:
    text = HEADER + row(id=1) + row(id=2, prec=1, think=60) + row(id=3, status=5, run=-1, wait=8, rtime=60)
    w = read(tmp_path, text, cancelled="keep")
    out = tmp_path / "out.swf"
    write_workload(w, out)
    again = read_workload(out, options={"cancelled": "keep"})
    assert_equal(w, again)
    assert "; Note: a\n; Note: b\n" in out.read_text()


def test_names_that_are_no_numbers_are_numbered(tmp_path: Path) -> None:
    w = read(tmp_path, row(id=1, user=1) + row(id=2, user=2))
    w.texts["user"] = TextColumn.from_list(["zoe", "ann"])
    write_workload(w, tmp_path / "out.swf")
    assert texts(read_workload(tmp_path / "out.swf"), "user") == ["user1", "user2"]


COUNTS = {
    "lublin_256": 10_000, "KTH-SP2-1996-2": 28_481, "KTH-SP2-pyss-easy": 28_481, "SDSC-SP2-pyss-easy": 54_006,
    "CTC-SP2-pyss-easy": 77_199, "SDSC-BLUE-pyss-easy": 232_542, "CEA-curie-pyss-easy": 295_540,
    "LLNL-Atlas-2006-2.1-cln": 36_600, "ALCF-Theta-2022": 23_911, "LCG-2005-1": 187_520,
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_public_logs_have_the_normal_forms_job_counts(name: str) -> None:
    folder = os.environ.get("SLURMSIM_DATA")
    if not folder:
        pytest.skip("set SLURMSIM_DATA to the folder with the SWF logs")
    w = SwfFormat().read(Path(folder) / f"{name}.swf.gz", {})
    assert len(w) == COUNTS[name] == w.quality.jobs
    assert w.quality.records == len(w) + sum(w.quality.dropped.values())
    assert (w.ints["run_time"] <= w.ints["time_limit"]).all() and (np.diff(w.ints["submit"]) >= 0).all()
