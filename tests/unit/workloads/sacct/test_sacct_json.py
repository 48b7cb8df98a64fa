"""``sacct --json``: the same rows as ``sacct -P`` gives, in the shapes of all releases.

`recorded/` has what sacct of 22.05.8, 24.11.5 and 26.05.5 printed for the same jobs both ways (``-a -X -D``), the
paths of files taken out. *requeues*: a constraint with ``|``, names over two lines, jobs requeued, resized, lost with
a node, cancelled, of an array, heterogeneous. *ends*: jobs ended by a signal and by exit 7, with a license, in a
reservation, without a limit, with control characters in the name.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from workload_helpers import ints, texts

from slurmsim.errors import WorkloadError
from slurmsim.workload import INT_COLUMNS, TEXT_COLUMNS, Workload
from slurmsim_workloads import read_workload

RECORDED = Path(__file__).parent / "recorded"
# What the one form says and the other does not. JSON of 22.05: exit codes are 0, no limit is null, and the name of a
# reservation is a number.
MORE = {"licenses"}
MORE_22 = {"exit_code", "time_limit", "reservation"}


@pytest.mark.parametrize("scene", ["requeues", "ends"])
@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_both_forms_give_the_same_rows(release: str, scene: str) -> None:
    options = {"submit_line": "no"} if release == "22.05" else {}
    lines = read_workload(RECORDED / f"sacct-{release}-{scene}.txt", options=options)
    tree = read_workload(RECORDED / f"sacct-{release}-{scene}.json", options=options)
    different = MORE | (MORE_22 if release == "22.05" else set())
    for name in INT_COLUMNS.keys() - different:
        assert ints(lines, name) == ints(tree, name), name
    for name in TEXT_COLUMNS.keys() - different:
        assert texts(lines, name) == texts(tree, name), name
    assert lines.quality.dropped == tree.quality.dropped
    assert len(lines) == (13 if scene == "requeues" else 9)


def job(**fields: Any) -> dict[str, Any]:
    """A job as 24.11 prints it, what is not read left out."""
    return {
        "job_id": 41, "name": "a", "user": "ann", "account": "acc", "partition": "batch", "qos": "normal",
        "state": {"current": ["COMPLETED"], "reason": "None"}, "nodes": "n1", "constraints": "intel|amd",
        "time": {"submission": 1000, "eligible": 1000, "start": 1010, "end": 1070, "elapsed": 60,
                 "limit": {"set": True, "infinite": False, "number": 120}},
        "required": {"CPUs": 2, "memory_per_node": {"set": True, "infinite": False, "number": 8000}},
        "array": {"job_id": 0, "task_id": {"set": False, "infinite": False, "number": 0}, "task": ""},
        "allocation_nodes": 1,
    } | fields  # fmt: skip


def read(tmp_path: Path, *jobs: Any, **options: str) -> Workload:
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"meta": {"slurm": {"release": "24.11.5"}}, "jobs": jobs, "errors": []}))
    return read_workload(path, options=options)


def test_a_job_of_which_only_the_needed_is_there(tmp_path: Path) -> None:
    w = read(tmp_path, job())
    assert (ints(w, "run_time"), ints(w, "time_limit"), ints(w, "mem_per_node")) == ([60], [7200], [8000])
    assert (ints(w, "tasks"), texts(w, "constraint"), texts(w, "user")) == ([2], ["intel|amd"], ["ann"])


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [
        (120, 7200), (None, -1), (0xFFFFFFFF, -2), (0xFFFFFFFE, -1), ("120", 7200), (120.0, 7200),
        ({"set": True, "infinite": False, "number": 120}, 7200),
        ({"set": False, "infinite": True, "number": 0}, -2),
        ({"set": False, "infinite": False, "number": 0}, -1),
    ],
)  # fmt: skip
def test_numbers_of_every_release(tmp_path: Path, limit: Any, seconds: int) -> None:
    times = job()["time"] | {"limit": limit}
    assert ints(read(tmp_path, job(time=times)), "time_limit") == [seconds]


@pytest.mark.parametrize("number", [0xFFFE, 0xFFFF])
def test_numbers_that_mean_nothing_only_in_16_bits(tmp_path: Path, number: int) -> None:
    """A job may have such an id, run so many seconds, and have so many MiB; Slurm keeps all of these in 32 or more."""
    times = job()["time"] | {"end": 1010 + number, "elapsed": number, "limit": 1440}
    memory = {"memory_per_node": {"set": True, "infinite": False, "number": number}}
    w = read(tmp_path, job(job_id=number, time=times, required={"CPUs": 2} | memory))
    assert (ints(w, "job_id"), ints(w, "run_time"), ints(w, "mem_per_node")) == ([number], [number], [number])


@pytest.mark.parametrize(
    ("current", "state"),
    [
        ("COMPLETED", "COMPLETED"), (["COMPLETED"], "COMPLETED"), (["PENDING", "REQUEUED"], "REQUEUED"),
        (["PENDING", "RESIZING"], "RESIZING"), (["CANCELLED", "COMPLETING"], "CANCELLED"),
        (["COMPLETED", "LAUNCH_FAILED"], "COMPLETED"),
    ],
)  # fmt: skip
def test_states_of_every_release(tmp_path: Path, current: Any, state: str) -> None:
    w = read(tmp_path, job(state={"current": current}))
    assert (texts(w, "log_state"), ints(w, "run_time")) == ([state], [60])


@pytest.mark.parametrize("key", ["id", "signal_id"])
def test_signals_of_every_release(tmp_path: Path, key: str) -> None:
    code = {"status": ["SIGNALED"], "return_code": None, "signal": {key: 9, "name": "KILL"}}
    w = read(tmp_path, job(state={"current": "FAILED"}, exit_code=code))
    assert (ints(w, "exit_code"), ints(w, "exit_signal")) == ([0], [9])


@pytest.mark.parametrize("tasks", ["1-3,7", "1-3,7%2", "0x8E", "0x8E%2"])
def test_pending_arrays(tmp_path: Path, tasks: str) -> None:
    array = {"job_id": 41, "task": tasks, "task_id": None, "limits": {"max": {"running": {"tasks": 2}}}}
    times = {"submission": 1000, "eligible": 1000, "start": 0, "end": 0, "elapsed": 0, "limit": 10}
    w = read(tmp_path, job(array=array, time=times, nodes="None assigned", state={"current": ["PENDING"]}))
    assert sorted(ints(w, "array_task_id")) == [1, 2, 3, 7] and ints(w, "array_limit") == [2] * 4


def test_het_components_are_dropped_by_name(tmp_path: Path) -> None:
    w = read(tmp_path, job(), job(job_id=42, het={"job_id": 42, "job_offset": {"set": True, "number": 0}}))
    assert ints(w, "job_id") == [41]
    assert w.quality.dropped == {"component of a heterogeneous job, not modelled": 1}


def test_tres_with_gres_and_counts_that_are_not_set(tmp_path: Path) -> None:
    asked = [("cpu", "", 4), ("mem", None, 8000), ("node", "", 2), ("gres", "gpu", 4), ("energy", "", -2),
             ("billing", "", None), ("gres", "gpu:a100", 4)]  # fmt: skip
    tres = {"requested": [{"type": t, "name": n, "id": 1, "count": c} for t, n, c in asked]}
    w = read(tmp_path, job(tres=tres | {"allocated": tres["requested"]}))
    assert (ints(w, "tasks"), ints(w, "mem_per_node"), texts(w, "gres")) == ([4], [4000], ["gpu:a100:2"])


BROKEN = [
    ([job(job_id=[1])], ":1: job_id: '[1]' is not a count (expected a number, or set, infinite and number)"),
    ([job(job_id=10**30)], f":1: job_id: {10**30} is no count of Slurm (expected fewer than 19 digits)"),
    ([7], ":1: jobs: '7' is not a job (expected an object)"),
    ([job(state={"current": []})], ":1: state.current: '[]' is not a state (expected a text or a list of texts)"),
    ([job(state=None)], ":1: state.current: 'None' is not a state (expected a text or a list of texts)"),
    ([job(tres={"requested": 5})],
     ":1: tres.requested: '5' is not a list (expected objects with type, name and count)"),
    ([job(array={"job_id": 4, "task": "0xQ"})],
     ":1: array.task: '0xQ' is not a list of tasks (expected 1-5,9 or a bitmap such as 0x3E)"),
    ([{"job_id": 1, "submit_time": 5}],
     ":1: time: this is a job of squeue or scontrol (expected the output of sacct --json)"),
    ([], ": no job is left of 0 records ()"),
]  # fmt: skip


@pytest.mark.parametrize(("jobs", "message"), BROKEN, ids=range(len(BROKEN)))
def test_broken_jobs(tmp_path: Path, jobs: list[Any], message: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        read(tmp_path, *jobs)
    assert str(caught.value) == f"{tmp_path}/jobs.json{message}"


def test_broken_jobs_are_left_out_by_option(tmp_path: Path) -> None:
    w = read(tmp_path, job(), job(job_id=[1]), job(job_id=43, state={"current": ["DONE"]}), 7, bad_lines="drop")
    assert ints(w, "job_id") == [41] and w.quality.records == 4
    assert sum(w.quality.dropped.values()) == 3


NO_JSON = [
    ('{"jobs": [{"job_id": 1', ":1: Expecting ',' delimiter (expected the output of sacct --json)"),
    ('{"jobs": [\n]', ":2: the end of the file where ',' should be (expected the output of sacct --json)"),
    ('{"jobs": [}', ":1: Expecting value (expected the output of sacct --json)"),
    ('{"jobs" 5}', ":1: '5' where ':' should be (expected the output of sacct --json)"),
    ('{"meta": {}}', ":1: has no list 'jobs' (expected the output of sacct --json)"),
    ('{"jobs": {}}', ":1: has no list 'jobs' (expected the output of sacct --json)"),
    ('{"jobs": [\n\n' + "[" * 100_000, ":3: nests too deeply (expected the output of sacct --json)"),
    ('{"jobs": [' + "9" * 5000 + "]}", ":1: a number has too many digits (expected the output of sacct --json)"),
]


@pytest.mark.parametrize(("text", "message"), NO_JSON, ids=range(len(NO_JSON)))
def test_what_is_no_json(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "jobs.json"
    path.write_text(text)
    with pytest.raises(WorkloadError) as caught:
        read_workload(path, "sacct")
    assert str(caught.value) == f"{path}{message}"


def test_jobs_across_blocks_gzipped_with_their_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slurmsim_workloads.sacct.json_stream._BLOCK", 7)
    path = tmp_path / "jobs.json.gz"
    many = [job(job_id=i, name="é" * i) for i in range(1, 20)] + [job(job_id=20, state={"current": "DONE"})]
    path.write_bytes(gzip.compress(json.dumps({"jobs": many}, indent=1, ensure_ascii=False).encode()))
    with pytest.raises(WorkloadError, match=r"jobs\.json\.gz:\d{3}: State: 'DONE' is not understood"):
        read_workload(path)
    w = read_workload(path, options={"bad_lines": "drop"})
    assert texts(w, "name") == ["é" * i for i in range(1, 20)]


def test_memory_holds_one_job_not_the_file(tmp_path: Path) -> None:
    """Steps are most of a dump, and none of them is kept."""
    import tracemalloc

    steps = [{"step": {"id": i, "name": "x" * 100}} for i in range(500)]
    path = tmp_path / "jobs.json"
    with path.open("w") as file:
        file.write('{"jobs": [')
        for i in range(1, 201):
            file.write("," * (i > 1) + json.dumps(job(job_id=i, steps=steps)))
        file.write("]}")
    size = path.stat().st_size
    tracemalloc.start()
    try:
        assert len(read_workload(path)) == 200
        assert tracemalloc.get_traced_memory()[1] < size * 0.8
    finally:
        tracemalloc.stop()
