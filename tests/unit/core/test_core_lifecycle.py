"""What happens to jobs: arrays, begin times, holds, cancels, requeues, nodes that fail, time limits."""

from __future__ import annotations

import pytest
from unit.core.world import World, simple

from slurmsim.core.records.messages import (
    Cancel,
    Hold,
    JobEnded,
    NodesDown,
    NodesDrain,
    NodesResume,
    ProcessesGone,
    Release,
    Requeue,
    SetTimeLimit,
)  # fmt: skip
from slurmsim.errors import InvariantError
from slurmsim.states import NODES_REQUIRED_TEXT

EVENT_DRIVEN = ("fcfs", "easy", "conservative")
SLURM = ("builtin", "backfill")


# -- arrays


def test_throttle() -> None:
    w = World(simple(8))
    w.sbatch("-J a -a 1-5%2 -t 10", 30)
    w.until(0)
    assert w.reasons("a_1 a_2 a_3 a_4 a_5") == {
        "a_1": "None", "a_2": "None", "a_3": "JobArrayTaskLimit", "a_4": "JobArrayTaskLimit",
        "a_5": "JobArrayTaskLimit",
    }  # fmt: skip
    w.until(200)
    assert w.starts("a_1 a_2 a_3 a_4 a_5") == {"a_1": 0, "a_2": 0, "a_3": 30, "a_4": 30, "a_5": 60}


def test_tasks_begin_in_the_order_of_their_indexes() -> None:
    """Whatever their ids are: the record of the array has the first one, and is the last to start."""
    w = World(simple(8))
    w.sbatch("-J a -a 3,1-2%1 -t 10 --begin 50", 30)
    assert w.id("a_3") < w.id("a_1")
    w.until(200)
    assert w.starts("a_1 a_2 a_3") == {"a_1": 50, "a_2": 80, "a_3": 110}


def test_a_task_that_leaves_makes_room() -> None:
    w = World(simple(8))
    w.sbatch("-J a -a 1-4%1 -t 10", 100)
    w.scancel("a_2", 5)  # waiting: takes nothing away
    w.scancel("a_1", 10)
    w.until(20)
    assert w.starts("a_1 a_3 a_4") == {"a_1": 0, "a_3": 10, "a_4": None}
    w.tell(Requeue(w.id("a_3")), 20)
    w.until(25)
    assert w.start("a_4") == 20  # a_3 waits for its begin time


def test_a_requeued_task_waits_for_its_time_while_places_are_taken_by_tasks_that_do_not_run() -> None:
    w = World(simple(2, 1), "backfill")
    w.sbatch("-J a -a 1-4%2 -t 10", 500)
    w.until(10)
    w.tell(NodesDown(("n1",)), 10)
    w.until(20)
    assert (w.state("a_2"), w.reason("a_1")) == ("RUNNING", "BeginTime")
    assert w.start("a_3") is None
    w.tell(NodesResume(("n1",)), 30)
    w.until(40)
    assert (w.state("a_3"), w.reason("a_1")) == ("RUNNING", "JobArrayTaskLimit")


def test_a_held_task_lets_the_next_one_pass() -> None:
    w = World(simple(1))
    w.sbatch("-J block -t 10", 100)
    w.sbatch("-J a -a 1-2%1 -t 10", 10)
    w.until(5)
    assert w.reason("a_2") == "JobArrayTaskLimit"
    w.tell(Hold(w.id("a_1")))
    w.until(6)
    assert w.reasons("a_1 a_2") == {"a_1": "JobHeldUser", "a_2": "None"}
    w.tell(Release(w.id("a_1")))
    w.until(500)
    assert w.starts("a_2 a_1") == {"a_2": 100, "a_1": 110}


def test_array_indices_have_an_end() -> None:
    w = World(simple(2, more="MaxArraySize=10"))
    w.sbatch("-J a -a 9-10 -t 10", 10)
    w.until(5)
    assert w.start("a_9") == 0
    assert w.refused == {"a_10": "Invalid job array specification"}


@pytest.mark.parametrize("policy", SLURM)
def test_tasks_start_in_index_order_and_share_a_priority(policy: str) -> None:
    w = World(simple(1), policy)
    w.sbatch("-J a -a 1-3 -t 10", 60, at=4)
    w.sbatch("-J b -t 10", 60, at=4)
    w.until(400)
    starts = [w.start(n) for n in ("a_1", "a_2", "a_3", "b")]
    assert starts == sorted(starts, key=lambda s: s or 0) and len(set(starts)) == 4
    assert [w[n].priority - w["a_1"].priority for n in ("a_2", "a_3", "b")] == [0, 0, -1]


# -- begin times, holds


def test_begin_time_under_an_event_driven_policy() -> None:
    w = World(simple(2))
    w.sbatch("-J a -t 10 --begin 50", 10)
    w.until(49)
    assert (w.reason("a"), w["a"].eligible_time) == ("BeginTime", None)
    w.until(50)
    assert (w.start("a"), w["a"].eligible_time) == (50, 50)


@pytest.mark.parametrize("policy", SLURM)
def test_begin_time_under_slurm_is_seen_by_the_full_pass(policy: str) -> None:
    w = World(simple(2), policy)
    w.sbatch("-J a -t 10 --begin 70", 10)
    w.until(119)
    assert w.state("a") == "PENDING"
    w.until(120)
    assert (w.start("a"), w["a"].scheduler) == (120, "Main")


def test_backfill_looks_after_the_main_pass_that_saw_the_begin_time_pass() -> None:
    w = World(simple(2), "backfill")
    w.sbatch("-J a -N1 -t 60", 3000, at=4)
    w.sbatch("-J head -N2 -t 10", 10, at=8)
    w.sbatch("-J small -N1 -t 10 --begin 70", 10, at=8)
    w.until(1000)
    assert w["small"].scheduler == "Backfill"
    assert w.start("small") in range(120, 151)


def test_a_begin_time_in_the_past_is_none() -> None:
    w = World(simple(2))
    w.sbatch("-J a -t 10 --begin 5", 10, at=20)
    w.until(30)
    assert (w.start("a"), w["a"].eligible_time) == (20, 20)


@pytest.mark.parametrize(("admin", "reason"), [(False, "JobHeldUser"), (True, "JobHeldAdmin")])
def test_hold_and_release(admin: bool, reason: str) -> None:
    w = World(simple(1))
    w.sbatch("-J run -t 10", 100)
    w.sbatch("-J a -t 10", 10)
    w.sbatch("-J b -t 10", 10)
    w.until(1)
    w.tell(Hold(w.id("a"), admin), 10)
    w.until(20)
    assert (w.reason("a"), w["a"].priority) == (reason, 0)
    w.until(150)
    assert w.starts("a b") == {"a": None, "b": 100}
    w.tell(Release(w.id("a")), 150)
    w.until(200)
    assert (w.start("a"), w["a"].priority < w["b"].priority) == (150, True)  # a new, lowest priority


def test_submitted_held() -> None:
    w = World(simple(1))
    w.sbatch("-J a -H -t 10", 10)
    w.until(100)
    assert (w.reason("a"), w["a"].priority, w["a"].eligible_time) == ("JobHeldUser", 0, None)
    w.tell(Release(w.id("a")), 100)
    w.until(200)
    assert (w.start("a"), w["a"].eligible_time) == (100, 100)


def test_hold_of_a_running_job_or_of_none_is_nothing() -> None:
    w = World(simple(1))
    w.sbatch("-J a -t 10", 10)
    w.until(1)
    w.tell(Hold(w.id("a")))
    w.tell(Hold(77))
    w.tell(Release(w.id("a")))
    w.until(50)
    assert not {"HOLD", "RELEASE"} & {event[1] for event in w.controller.state.events}
    assert (w.state("a"), w["a"].end_time) == ("COMPLETED", 10)


# -- cancel, requeue


@pytest.mark.parametrize("policy", [*EVENT_DRIVEN, *SLURM])
def test_cancel(policy: str) -> None:
    w = World(simple(1), policy)
    w.sbatch("-J run -t 10", 400, at=4)
    w.sbatch("-J gone -t 10", 10, at=4)
    w.sbatch("-J next -t 10", 10, at=4)
    w.scancel("gone", 50)
    w.scancel("run", 100)
    w.until(300)
    assert (w.state("gone"), w.start("gone"), w["gone"].end_time) == ("CANCELLED", None, 50)
    assert (w.state("run"), w["run"].end_time) == ("CANCELLED", 100)
    assert w.start("next") == 100
    w.tell(Cancel(w.id("run")))  # again: nothing
    w.until(310)
    assert w["run"].end_time == 100


def test_news_of_an_instance_that_is_gone_is_ignored() -> None:
    w = World(simple(1))
    w.sbatch("-J a -t 10", 100)
    w.until(10)
    w.tell(Requeue(w.id("a")), 20)
    w.until(300)  # the first instance's end at 100 comes while the job waits
    assert (w.start("a"), w["a"].restarts, w["a"].end_time) == (141, 1, 241)
    w.tell(JobEnded(99, "COMPLETED", "0:0", 0))
    w.until(310)


def test_requeue_waits_121_seconds() -> None:
    w = World(simple(2))
    w.sbatch("-J a -t 10", 100)
    w.until(10)
    w.tell(Requeue(w.id("a")))
    w.until(20)
    job = w["a"]
    assert (job.state, job.reason, job.begin, job.restarts) == ("PENDING", "BeginTime", 131, 1)
    assert (job.submit_time, job.start_time, job.alloc) == (10, None, None)
    w.until(500)
    assert (job.start_time, job.end_time, job.state) == (131, 231, "COMPLETED")


# -- nodes


def test_a_node_that_fails_takes_its_jobs() -> None:
    w = World(simple(4))
    w.sbatch("-J a -N2 -t 10", 300)
    w.sbatch("-J b -N2 --no-requeue -t 10", 300)
    w.tell(NodesDown(("n1", "n3")), 50)
    w.until(60)
    assert (w.state("a"), w.reason("a"), w["a"].restarts) == ("PENDING", "BeginTime", 1)
    assert (w.state("b"), w.reason("b"), w["b"].end_time) == ("NODE_FAIL", "NodeDown", 50)
    w.tell(NodesResume(("n1",)), 100)
    w.until(1000)
    assert (w.start("a"), w.nodes("a")) == (171, "n[1-2]")


def test_job_requeue_0() -> None:
    w = World(simple(2, more="JobRequeue=0"))
    w.sbatch("-J a -t 10", 300)
    w.tell(NodesDown(("n1",)), 50)
    w.until(60)
    assert (w.state("a"), w.reason("a")) == ("NODE_FAIL", "NodeDown")


@pytest.mark.parametrize("policy", [*EVENT_DRIVEN, *SLURM])
def test_a_drained_node_finishes_its_job_and_takes_no_other(policy: str) -> None:
    w = World(simple(2), policy)
    w.sbatch("-J a -t 10", 100, at=4)
    w.until(5)
    w.tell(NodesDrain((w.nodes("a"),)), 10)
    w.sbatch("-J b -N2 -t 10", 10, at=20)
    w.until(300)
    assert (w.state("a"), w["a"].end_time) == ("COMPLETED", 104)
    assert w.start("b") is None
    w.tell(NodesResume((w.nodes("a"),)), 301)
    w.until(310)
    assert w.start("b") in range(301, 306)


def test_reasons_while_nodes_are_away() -> None:
    w = World(simple(4, 4), "backfill")
    w.tell(NodesDown(("n2",)), 1)
    w.tell(NodesDrain(("n4",)), 1)
    w.sbatch("-J wants -w n4 -n1 -t 5", 10, at=4)
    w.sbatch("-J big -N3 -t 5", 100, at=4)
    w.sbatch("-J small -n1 -t 5", 10, at=4)
    w.until(8)
    assert w.reasons("wants big") == {
        "wants": "ReqNodeNotAvail, UnavailableNodes:n4",  # blocks nobody
        "big": NODES_REQUIRED_TEXT,  # more than are up: blocks its partition in the main scheduler …
    }
    w.until(100)
    assert w["small"].scheduler == "Backfill"  # … but not in backfill
    w.tell(NodesResume(("n2", "n4")), 100)
    w.until(110)
    assert (w.nodes("wants"), w.state("big")) == ("n4", "RUNNING")


# -- time limits


@pytest.mark.parametrize("policy", EVENT_DRIVEN)
def test_limits_are_exact_in_the_literature(policy: str) -> None:
    w = World(simple(1), policy)
    w.sbatch("-J a -t 90s", 1000)
    w.sbatch("-J b -t 1", 60)  # ends by itself at its limit
    w.until(200)
    assert (w.state("a"), w.reason("a"), w["a"].end_time) == ("TIMEOUT", "TimeLimit", 90)
    assert (w.start("b"), w.state("b"), w["b"].end_time) == (90, "COMPLETED", 150)


@pytest.mark.parametrize("policy", SLURM)
def test_limits_are_whole_minutes_found_by_the_scan(policy: str) -> None:
    w = World(simple(2), policy, start=7)
    w.sbatch("-J a -t 90s", 1000, at=17)
    w.sbatch("-J fine -t 1", 70, at=17)  # over its limit at 77, gone before the scan of 97
    w.until(300)
    assert w["a"].time_limit_s == 120
    assert (w.state("a"), w["a"].end_time) == ("TIMEOUT", 157)  # 17 + 120 = 137; scans at 127, 157, …
    assert (w.state("fine"), w["fine"].end_time) == ("COMPLETED", 87)


def test_over_time_limit() -> None:
    parts = "PartitionName=strict Nodes=ALL OverTimeLimit=0\nPartitionName=loose Nodes=ALL OverTimeLimit=UNLIMITED"
    w = World(simple(4, more="OverTimeLimit=2") + parts, "backfill")
    w.sbatch("-J a -t 1", 10_000, at=4)
    w.sbatch("-J b -p strict -t 1", 10_000, at=4)
    w.sbatch("-J c -p loose -t 1", 10_000, at=4)
    w.until(9000)
    assert {n: (w.state(n), w[n].end_time) for n in ("a", "b", "c")} == {
        "a": ("TIMEOUT", 210), "b": ("TIMEOUT", 90), "c": ("RUNNING", None),
    }  # fmt: skip


def test_default_and_maximum_limits() -> None:
    parts = "PartitionName=short Nodes=ALL MaxTime=60 DefaultTime=5\nPartitionName=long Nodes=ALL MaxTime=100"
    w = World(simple(4) + parts)
    for partition in ("main", "short", "long"):
        w.sbatch(f"-J {partition} -p {partition}", 10)
    w.until(1)
    assert {n: w[n].time_limit_s for n in ("main", "short", "long")} == {
        "main": 365 * 86400, "short": 300, "long": 6000,
    }  # fmt: skip


def test_a_limit_changed_while_running() -> None:
    w = World(simple(2))
    w.sbatch("-J up -t 10", 1000)
    w.sbatch("-J down -t 10", 1000)
    w.tell(SetTimeLimit(w.id("up"), 2000), 100)
    w.tell(SetTimeLimit(w.id("down"), 50), 100)  # below what it has run: at once
    w.until(1500)
    assert (w.state("up"), w["up"].end_time) == ("COMPLETED", 1000)
    assert (w.state("down"), w["down"].end_time) == ("TIMEOUT", 100)


def test_time_does_not_run_backwards() -> None:
    w = World(simple(1))
    w.controller.step(10, [])
    with pytest.raises(InvariantError, match="backwards"):
        w.controller.step(9, [])


def test_the_last_clean_node_of_a_job_causes_a_pass_at_once() -> None:
    """Nodes where it has nothing to end are clean sooner, and ask for no pass (job_epilog_complete)."""
    w = World(simple(5), "backfill", term=20)
    w.controller.state.triggers.ticks = True  # the loop goes round in the next second
    w.sbatch("-J a -N4 -t 100")
    w.sbatch("-J b -N2 -t 100", 50, at=2)
    w.until(20)
    w.scancel("a")
    w.until(20)
    a = w.id("a")
    w.tell(ProcessesGone(a, 0, 0b1110))
    w.until(20)
    assert w.start("b") is None
    w.tell(ProcessesGone(a, 0))
    w.until(20)
    assert (w.start("b"), w.nodes("b")) == (20, "n[1-2]")


def test_nodes_that_are_clean_before_the_last_one_do_not_put_off_the_next_pass() -> None:
    """A pass they asked the loop for would come three seconds after the one before, and the next three later."""
    w = World(simple(5), "backfill", term=20)
    w.controller.state.triggers.ticks = True
    w.sbatch("-J a -N4 -t 100")
    w.until(20)
    w.scancel("a")
    w.until(20)
    loop = w.controller.state.triggers.last_loop_pass
    w.tell(ProcessesGone(w.id("a"), 0, 0b1110))
    w.until(30)
    assert w.controller.state.triggers.last_loop_pass == loop and not w.controller.state.triggers.requested
    w.sbatch("-J b -N1 -t 100", 50, at=30)
    w.until(32)
    assert w.start("b") == 31
