"""The SimPy network: arrivals, ends, cancels, followers, node events, stopping early."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slurmsim.config.load import make_cluster
from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import Maintain, NodesDown, NodesDrain, NodesResume
from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.policy import load_policy
from slurmsim.replaying.until import parse_until
from slurmsim.sim.listener import Listener
from slurmsim.sim.node_events import drawn_failures, read_node_events
from slurmsim.sim.simulation import Simulation, Timed
from slurmsim.workload import TextColumn, Workload


def log(rows: list[dict[str, Any]]) -> Workload:
    """A workload of whole-node jobs: submit, run_time, time_limit and whatever else a row names."""
    names = {name for row in rows for name in row} | {"submit", "run_time", "time_limit", "tasks"}
    texts = {"dependency", "outcome"}
    default = {"submit": 0, "run_time": 100, "time_limit": 1000, "tasks": 1, "exit_code": 0}
    ints = {name: np.array([row.get(name, default.get(name, -1)) for row in rows], np.int64) for name in names - texts}
    ints["job_id"] = np.arange(1, len(rows) + 1)
    coded = {name: TextColumn.from_list([str(row.get(name, "")) for row in rows]) for name in names & texts}
    return Workload(ints, coded)


def play(rows: list[dict[str, Any]], nodes: int = 2, policy: str = "easy", **options: Any) -> dict[int, Job]:
    """Simulate and return the finished jobs by id."""
    jobs: dict[int, Job] = {}

    class Ended(Listener):
        def finished(self, job: Job) -> None:
            jobs[job.id] = job

    simulation = Simulation(make_cluster(nodes, 1), log(rows), load_policy(policy)(), listener=Ended(), **options)
    simulation.run()
    simulation.controller.check()
    return jobs


def spans(jobs: dict[int, Job]) -> dict[int, tuple[int | None, int | None]]:
    return {job_id: (job.start_time, job.end_time) for job_id, job in sorted(jobs.items())}


def test_jobs_run_their_own_time() -> None:
    jobs = play([{"submit": 5, "run_time": 70}, {"submit": 7, "tasks": 2, "run_time": 30}, {"submit": 7}])
    # job 3 would run past the shadow time by its limit: 7 + 1000 > 5 + 1000
    assert spans(jobs) == {1: (5, 75), 2: (75, 105), 3: (105, 205)}


def test_a_zero_run_time_ends_in_its_second() -> None:
    assert spans(play([{"submit": 3, "run_time": 0}])) == {1: (3, 3)}


def test_a_job_over_its_limit_is_ended() -> None:
    job = play([{"run_time": 5000, "time_limit": 600}])[1]
    assert (job.state, job.end_time) == ("TIMEOUT", 600)


def test_cancelled_while_pending_and_while_running() -> None:
    jobs = play([{"run_time": 500}, {"run_time": 500, "cancel_at": 90}, {"submit": 1, "tasks": 2, "cancel_at": 60}])
    assert {i: (j.state, j.start_time, j.end_time) for i, j in jobs.items()} == {
        1: ("COMPLETED", 0, 500),
        2: ("CANCELLED", 0, 90),
        3: ("CANCELLED", None, 60),
    }


def test_outcome_and_exit_code() -> None:
    jobs = play([{"exit_code": 3}, {"outcome": "OUT_OF_MEMORY"}, {"outcome": "FAILED", "exit_code": 1}])
    assert [(jobs[i].state, jobs[i].exit_code) for i in (1, 2, 3)] == [
        ("FAILED", "3:0"), ("OUT_OF_MEMORY", "0:0"), ("FAILED", "1:0"),
    ]  # fmt: skip


def test_a_follower_is_submitted_its_think_time_after_the_end() -> None:
    """Job 2's own submit time is not used; job 3 follows job 2; job 4 follows nobody known."""
    rows = [
        {"run_time": 50},
        {"submit": 10, "depends_on": 1, "think_after": 25},
        {"submit": 11, "depends_on": 2, "think_after": 0},
        {"submit": 12, "depends_on": 99, "think_after": 7},
    ]
    jobs = play(rows)
    assert [jobs[i].submit_time for i in (1, 2, 3, 4)] == [0, 75, 175, 12]


def test_a_follower_whose_leader_ended_before_the_log_reaches_it() -> None:
    jobs = play([{"run_time": 5}, {"submit": 100, "depends_on": 1, "think_after": 200}])
    assert jobs[2].submit_time == 205


def test_a_circle_of_preceding_jobs_is_refused() -> None:
    rows = [{"depends_on": 2, "think_after": 0}, {"depends_on": 1, "think_after": 0}]
    with pytest.raises(WorkloadError, match="waits for itself"):
        play(rows)


def test_until_leaves_the_rest_running_and_pending() -> None:
    simulation = Simulation(
        make_cluster(1, 1), log([{"run_time": 50}, {"run_time": 900}, {}]), load_policy("easy")(), until=100
    )
    simulation.run()
    states = {job.id: job.state for job in simulation.controller.state.jobs.values()}
    assert states == {2: "RUNNING", 3: "PENDING"}
    assert simulation.n_done == 1


def test_a_node_that_fails_takes_its_job_along_and_it_starts_again() -> None:
    timed = [Timed(30, NodesDown(("n1",))), Timed(400, NodesResume(("n1",)))]
    job = play([{}], nodes=1, timed=timed)[1]
    assert (job.restarts, job.start_time, job.end_time) == (1, 400, 500)


def test_failures_are_drawn_from_the_seed() -> None:
    rows = [{"submit": 40 * i, "run_time": 900} for i in range(60)]

    def run(seed: int) -> tuple[dict[int, tuple[int | None, int | None]], int]:
        failures = drawn_failures(make_cluster(4, 1), log(rows), 5000, 600, seed)
        jobs = play(rows, 4, endless=failures)
        return spans(jobs), sum(job.restarts for job in jobs.values())

    first, restarts = run(1)
    assert (first, restarts) == run(1)
    assert restarts > 0
    assert run(2)[0] != first


@pytest.mark.parametrize(("mtbf", "mttr"), [(None, 5), (5, None), (0, 5), (5, -1)])
def test_failures_need_both_means(mtbf: int | None, mttr: int | None) -> None:
    with pytest.raises(ConfigError, match=r"--mt(bf|tr)"):
        drawn_failures(make_cluster(1, 1), log([{}]), mtbf, mttr, 0)


CLUSTER = make_cluster(4, 1)


def test_node_events_are_read_in_order_of_time(tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    file.write_text(
        "time,action,nodes,until,reason\n200,resume,n[1-2],,\n100,down,n[1-2],,burnt\n150,drain,n3,,\n"
        "500,maintenance,n4,+0-00:10:00,\n"
    )
    assert read_node_events(file, CLUSTER, log([{}])) == [
        Timed(0, Maintain(("n4",), 500, 600, "")),
        Timed(100, NodesDown(("n1", "n2"), "burnt")),
        Timed(150, NodesDrain(("n3",), "")),
        Timed(200, NodesResume(("n1", "n2"))),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("when,what\n", "events.csv:1: columns are when, what (expected time,action,nodes[,until][,reason][,command])"),
        ("time,action,nodes\nsoon,down,n1\n", "events.csv:2: time: 'soon' is no time"),
        ("time,action,nodes\n5,down,n9\n", "events.csv:2: nodes: unknown node 'n9' (expected nodes of the cluster)"),
        ("time,action,nodes\n5,down,\n", "events.csv:2: nodes: "),
        ("time,action,nodes\n5,explode,n1\n", "events.csv:2: action: 'explode'"),
        ("time,action,nodes,until\n5,maintenance,n1,3\n", "events.csv:2: until: 3 is not after 5"),
    ],
)
def test_bad_node_events_name_line_and_field(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    file.write_text(text)
    with pytest.raises(ConfigError) as error:
        read_node_events(file, CLUSTER, log([{}]))
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("text", "at"), [("500", 500), ("+1-00:00:00", 86_400), ("1970-01-01T00:01:00", 60), ("1970-01-02", 86_400)]
)
def test_until_in_the_ways_people_say_it(text: str, at: int) -> None:
    assert parse_until(text, log([{}])) == at


@pytest.mark.parametrize("text", ["teatime", "-5", "+x", ""])
def test_until_that_is_no_time(text: str) -> None:
    with pytest.raises(ConfigError, match="--until"):
        parse_until(text, log([{}]))


def test_drawn_failures_end_with_a_job_that_can_never_start() -> None:
    """Job 2 depends on a success that never comes."""
    rows = [{"exit_code": 1}, {"dependency": "afterok:1"}]
    assert sorted(play(rows, endless=drawn_failures(make_cluster(2, 1), log(rows), 100_000, 600, 1))) == [1]
