"""A counted run of EASY or backfill has the trace the core makes, cell by cell, with the kernel in either form."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.kernel_forms import FORMS, NEEDS_EXTENSIONS, kernel

import slurmsim
from slurmsim.config.load import make_cluster, parse_cluster
from slurmsim.model.cluster import ClusterSpec
from slurmsim.policy import Policy
from slurmsim.replaying import counting, replay
from slurmsim.replaying.jobs import FRAME
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.sim import counted
from slurmsim.sim.recorder import Recorder
from slurmsim.sim.simulation import Simulation
from slurmsim.trace.columns import NULL, int_values, text_codes
from slurmsim.trace.schema import TABLES
from slurmsim.workload import TextColumn, Workload
from slurmsim_policies.easy import Easy
from slurmsim_policies.fcfs import Fcfs
from slurmsim_policies.slurm_backfill import SlurmBackfill
from slurmsim_policies.spf import Spf

Jobs = list[tuple[int, int, int, int, int, str]]
JOB = st.tuples(
    st.integers(0, 3), st.integers(1, 5), st.integers(1, 12), st.integers(1, 12), st.sampled_from([0, 0, 1, 7]),
    st.sampled_from(["", "", "CANCELLED", "FAILED", "COMPLETED"]),
)  # fmt: skip
"""Seconds after the job before, nodes, limit, run time, exit code, outcome."""
LOGS = st.lists(JOB, min_size=1, max_size=40)
LATER = st.tuples(
    st.sampled_from([0, 0, 1, 2, 20, 61, 300]), st.integers(1, 5), st.sampled_from([1, 40, 60, 180, 600, 3600]),
    st.sampled_from([1, 29, 60, 170, 600, 3600]), st.sampled_from([0, 0, 1]),
    st.sampled_from(["", "", "CANCELLED", "FAILED"]),
)  # fmt: skip
"""As `JOB`, with times at which passes and cycles of Slurm are apart."""
LATER_LOGS = st.lists(LATER, min_size=1, max_size=40)
PARAMETERS = st.lists(
    st.sampled_from([
        "default_queue_depth=2", "bf_interval=7", "bf_interval=90", "bf_resolution=1", "bf_window=5",
        "bf_max_job_test=3", "sched_interval=45", "batch_sched_delay=10", "bf_node_space_size=4", "bf_window_linear=60",
    ]),
    max_size=3, unique_by=lambda one: one.partition("=")[0],
)  # fmt: skip
CLASSIC: list[Callable[[], Policy]] = [Easy, partial(Easy, {"order": "shortest"}), Fcfs, Spf]
Rows = tuple[dict[str, list[Any]], tuple[int, int, int, bool]]
"""Rows of the trace; passes of the main scheduler and of the policy, backfilled jobs, and whether it was stopped."""
UNTIL = st.none() | st.integers(0, 60)
UNTIL_LATER = st.none() | st.integers(0, 5000)


def log_of(jobs: Jobs, ids: list[int]) -> Workload:
    gap, need, limit, run, code, outcome = zip(*jobs, strict=True)
    ints = {
        "job_id": ids, "submit": np.cumsum(gap), "tasks": need, "time_limit": limit,
        "run_time": np.minimum(run, limit), "exit_code": code,
    }  # fmt: skip
    users = [f"user{k % 3}" for k in range(len(jobs))]
    return Workload(
        {name: np.array(column, np.int64) for name, column in ints.items()},
        {name: _coded(values) for name, values in (("outcome", outcome), ("user", users))},
    )


def _coded(values: Any) -> TextColumn:
    known = sorted(set(values))
    return TextColumn(np.array([known.index(value) for value in values], np.int32), known)


def by_the_core(workload: Workload, cluster: ClusterSpec, policy: Policy, until: int | None) -> Rows:
    rows: dict[str, list[Any]] = {"jobs": [], "events": [], "usage": []}
    recorder = Recorder(rows["jobs"].append, rows["events"].extend, rows["usage"].extend, lambda _: None)
    simulation = Simulation(cluster, workload, policy, listener=recorder, until=until)
    recorder.attach(simulation.controller)
    simulation.run()
    recorder.unfinished()
    found = {
        name: [tuple(str(c) if isinstance(c, str) else c for c in row) for row in table] for name, table in rows.items()
    }
    return found, _figures(simulation)


def by_counting(workload: Workload, cluster: ClusterSpec, policy: Policy, until: int | None, rows: int) -> Rows:
    """The same of a counted run, its tables made `rows` rows at a time."""
    simulation = Simulation(cluster, workload, policy, until=until)
    run = counted.CountedRun(simulation)
    run.run()
    found: dict[str, list[Any]] = {"jobs": [], "events": [], "usage": []}
    for name, arrays in run.tables(rows):
        cells = [_cells(array, column.kind) for array, column in zip(arrays, TABLES[name].values(), strict=True)]
        found[name] += zip(*cells, strict=True)
    assert simulation.n_done == sum(row[list(TABLES["jobs"]).index("end")] is not None for row in found["jobs"])
    assert until is not None or simulation.n_done == simulation.n_jobs == len(workload)
    return found, _figures(simulation)


def _figures(simulation: Simulation) -> tuple[int, int, int, bool]:
    controller = simulation.controller
    return controller.main.passes, controller.host.passes, controller.life_cycle.backfilled, simulation.stopped


def _cells(array: Any, kind: str) -> list[Any]:
    if kind == "text":
        codes, values = text_codes(array)
        assert len(set(values)) == len(values) and sorted(set(codes.tolist())) == list(range(len(values)))
        return [values[code] for code in codes]
    return [None if value == NULL else value for value in int_values(array).tolist()]


@FORMS
@given(LOGS, st.integers(5, 8), st.sampled_from(CLASSIC), UNTIL, st.randoms(use_true_random=False), st.integers(1, 200))
def test_the_trace_is_that_of_the_core(
    form: str, jobs: Jobs, n_nodes: int, policy: Callable[[], Policy], until: int | None, random: Any, rows: int
) -> None:
    compare(form, numbered(jobs, random), make_cluster(n_nodes, 1), policy, until, rows)


@FORMS
@given(LOGS, st.integers(2, 4), st.integers(2, 5), UNTIL, st.randoms(use_true_random=False), st.integers(1, 200))
def test_the_trace_on_shared_nodes_is_that_of_the_core(
    form: str, jobs: Jobs, n_nodes: int, n_cpus: int, until: int | None, random: Any, rows: int
) -> None:
    workload = numbered(jobs, random)
    workload.ints["tasks"] = np.minimum(workload.ints["tasks"] * random.choice([1, 2]), n_nodes * n_cpus)
    compare(form, workload, make_cluster(n_nodes, n_cpus), Easy, until, rows)


@FORMS
@given(LATER_LOGS, st.integers(5, 8), PARAMETERS, UNTIL_LATER, st.randoms(use_true_random=False), st.integers(1, 200))
def test_the_trace_of_backfill_is_that_of_the_core(
    form: str, jobs: Jobs, n_nodes: int, parameters: list[str], until: int | None, random: Any, rows: int
) -> None:
    cluster = make_cluster(n_nodes, 1, overrides=[("SchedulerParameters", ",".join(parameters))])
    compare(form, numbered(jobs, random), cluster, SlurmBackfill, until, rows)


@FORMS
@given(
    LATER_LOGS, st.integers(5, 8), PARAMETERS, st.sampled_from([0, 100, 9999]), st.sampled_from([0, 1000]),
    st.sampled_from([600, 5000]), st.booleans(), UNTIL_LATER, st.randoms(use_true_random=False), st.integers(1, 200),
)  # fmt: skip
def test_the_trace_of_whole_nodes_in_order_of_priority_is_that_of_the_core(
    form: str, jobs: Jobs, n_nodes: int, parameters: list[str], w_age: int, w_size: int, max_age: int, database: bool,
    until: int | None, random: Any, rows: int,
) -> None:  # fmt: skip
    workload = numbered(jobs, random)
    workload.ints["nodes"], workload.ints["exclusive"] = workload.ints["tasks"], np.ones(len(jobs), np.int64)
    kind = "slurmdbd" if database else "none"
    text = CONF.format(n_nodes=n_nodes, w_age=w_age, w_size=w_size, max_age=max_age, kind=kind)
    cluster, _ = parse_cluster(f"{text}SchedulerParameters={','.join(['bf_continue', *parameters])}\n")
    compare(form, workload, cluster, SlurmBackfill, until, rows)


CONF = """
ClusterName=c
SlurmctldHost=h
SelectType=select/linear
AccountingStorageType=accounting_storage/{kind}
PriorityType=priority/multifactor
PriorityCalcPeriod=2
PriorityMaxAge={max_age}
PriorityWeightAge={w_age}
PriorityWeightJobSize={w_size}
NodeName=n[1-{n_nodes}] CPUs=4
PartitionName=p Nodes=ALL MaxTime=1-0 Default=YES
"""


def numbered(jobs: Jobs, random: Any) -> Workload:
    """A log of `jobs`, with ids of which those of one second are in order."""
    workload = log_of(jobs, random.sample(range(1, 100), len(jobs)))
    submit, job_id = workload.ints["submit"], workload.ints["job_id"]
    workload.ints["job_id"] = job_id[np.lexsort((job_id, submit))]
    return workload


def compare(
    form: str, workload: Workload, cluster: ClusterSpec, policy: Callable[[], Policy], until: int | None, rows: int
) -> None:
    linear = cluster.option("SelectType") == "select/linear"
    units = len(cluster.nodes) if linear else sum(node.cpus for node in cluster.nodes)
    assert counted.can_be_counted(workload, units, linear=linear)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counted, "load", lambda name: kernel(name, form))
        assert by_counting(workload, cluster, policy(), until, rows) == by_the_core(workload, cluster, policy(), until)


def test_simpy_has_an_event_for_each_instant_and_no_other() -> None:
    workload = log_of([(2, 1, 5, 5, 0, ""), (1, 5, 5, 4, 0, ""), (3, 1, 9, 1, 0, "")], [1, 2, 3])
    simulation = Simulation(make_cluster(5, 1), workload, Easy())
    run = counted.CountedRun(simulation)
    times: list[int] = []
    turn = run._turn
    run._calls[:] = [lambda timer: (times.append(int(simulation.env.now)), turn(timer))]
    run.run()
    # three arrivals; ends at 7, 11 and 12: the second job waits for the first, the third for the second
    assert times == [2, 3, 6, 7, 11, 12]


LOG = "; MaxProcs: 6\n" + "".join(
    f"{k} {k * 3 % 50 + k} -1 {k * 7 % 40 + 1} {k % 5 + 1} -1 -1 {k % 5 + 1} {k * 11 % 60 + 41} -1 1 1 1 1 1 1 -1 -1\n"
    for k in range(1, 300)
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    return path


@pytest.mark.parametrize(
    "policy", ["easy", "easy:order=shortest", "fcfs", "spf", pytest.param("backfill", marks=NEEDS_EXTENSIONS)]
)
@pytest.mark.parametrize("cpus", [1, 2])
@pytest.mark.parametrize("until", [None, "400"])
def test_files_and_summary_are_the_same(
    until: str | None, cpus: int, policy: str, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    usual = counting.is_counted
    monkeypatch.setattr(replay, "is_counted", lambda prepared: asked.append(usual(prepared)) or asked[-1])
    given = {"policy": policy, "cpus_per_node": cpus, "until": until, "report": False}
    slurmsim.run(log, out=tmp_path / "a", **given)
    monkeypatch.setattr(replay, "is_counted", lambda _: False)
    slurmsim.run(log, out=tmp_path / "b", **given)
    assert asked == [policy != "backfill" or cpus == 1]
    for name in ("jobs", "events", "usage", "requeued", "inputs"):
        assert (tmp_path / f"a/{name}.parquet").read_bytes() == (tmp_path / f"b/{name}.parquet").read_bytes(), name
    a, b = (json.loads((tmp_path / folder / "summary.json").read_text()) for folder in "ab")
    for varies in ("wall_s", "jobs_per_s", "peak_rss_bytes"):
        del a[varies], b[varies]
    assert a == b


def test_an_interrupted_run_has_the_trace_up_to_there(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = counted.CountedRun._turn

    reached = []

    def interrupted(self: counted.CountedRun, timer: object) -> None:
        turn(self, timer)
        if self._turns == 100:
            reached.append(self._simulation.timers.now)
            raise KeyboardInterrupt

    monkeypatch.setattr(counted.CountedRun, "_turn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        slurmsim.run(log, out=tmp_path / "a", policy="easy", report=False)
    trace = slurmsim.read_trace(tmp_path / "a")
    assert trace.partial and trace.summary["stopped"] and trace.jobs.num_rows > 20
    assert {"RUNNING", "PENDING"} <= set(trace.text("jobs", "state")[1])
    monkeypatch.setattr(replay, "is_counted", lambda _: False)
    slurmsim.run(log, out=tmp_path / "b", policy="easy", until=str(reached[0] + 1), report=False)
    for name in ("jobs", "events", "usage"):
        assert (tmp_path / f"a/{name}.parquet").read_bytes() == (tmp_path / f"b/{name}.parquet").read_bytes(), name


@pytest.mark.parametrize(
    "options",
    [
        {"policy": "easy:predictor=last_two"}, {"policy": "spf:predictor=last_two"}, {"policy": "easy:ties=event"},
        {"policy": "backfill:every_cycle=1"}, {"policy": "builtin"},
        {"set": {"SchedulerParameters": "bf_interval=30"}}, {"release": "25.05"},
        {"mtbf": 1000, "mttr": 100}, {"policy": "conservative"},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_more_than_counting_goes_by_way_of_the_core(log: Path, options: dict[str, Any]) -> None:
    given = {"policy": "easy", "nodes": 6, **options}
    assert counting.is_counted(prepare(RunOptions.of(log, "x", policy="easy", nodes=6)))
    assert not counting.is_counted(prepare(RunOptions.of(log, "x", **given)))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("begin", 5), ("nodes", 1), ("cancel_at", 3), ("run_time", 0), ("run_time", 99), ("time_limit", -1),
        ("tasks", 9), ("priority", 3), ("hold", 1), ("mem_per_cpu", 1), ("depends_on", 1), ("requeue", 0),
    ],
)  # fmt: skip
def test_a_job_that_asks_for_more_is_not_counted(column: str, value: int) -> None:
    workload = log_of([(1, 1, 5, 5, 0, ""), (1, 1, 5, 5, 0, "")], [1, 2])
    assert counted.can_be_counted(workload, 5)
    workload.ints[column] = np.array([workload.ints[column][0], value], np.int64)
    assert not counted.can_be_counted(workload, 5)


def test_numbers_out_of_order_are_not_counted() -> None:
    together = [(1, 1, 5, 5, 0, ""), (0, 1, 5, 5, 0, "")]
    assert counted.can_be_counted(log_of(together, [1, 2]), 5)
    assert not counted.can_be_counted(log_of(together, [2, 1]), 5)


def test_twice_the_same_number_is_not_counted() -> None:
    assert not counted.can_be_counted(log_of([(1, 1, 5, 5, 0, ""), (1, 1, 5, 5, 0, "")], [2, 2]), 5)


LARGE = CONF.format(n_nodes=6, w_age=10, w_size=10, max_age=100, kind="slurmdbd")


@NEEDS_EXTENSIONS
@pytest.mark.parametrize(
    ("line", "counted_too"),
    [
        ("", True), ("PriorityWeightQOS=5", False), ("SchedulerParameters=bf_interval=60", False),
        ("PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE", False), ("OverTimeLimit=5", False),
        ("PartitionName=q Nodes=ALL", False), ("NodeName=m1 CPUs=8", False), ("PrologFlags=Contain", False),
        ("PriorityFlags=INCR_ONLY", False),
    ],
)  # fmt: skip
def test_what_a_conf_may_say(line: str, counted_too: bool, tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(LARGE + line + "\n")
    jobs = {"job_id": [1, 2], "submit": [0, 1], "run_time": [5, 5], "time_limit": [60, 60], "nodes": [2, 6]}
    frame = pd.DataFrame(jobs | {"tasks": [2, 6], "exclusive": [1, 1]})
    assert counting.is_counted(prepare(RunOptions.of(FRAME, "x", conf=conf), frame)) == counted_too
    for column, value in (("time_limit", 2 * 86400), ("tasks", 5), ("exclusive", 0)):
        other = frame.assign(**{column: [frame[column][0], value]})
        assert not counting.is_counted(prepare(RunOptions.of(FRAME, "x", conf=conf, impossible_jobs="drop"), other))
