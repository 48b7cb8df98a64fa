"""Nodes that are COMPLETING: an epilog of 20 s, a job that ignores SIGTERM, KillWait=30, as recorded with 22.05.8.

Recordings completing and completewait (the same with CompleteWait=8). Times are seconds after the recording began, when
slurmctld had been up for some 25 s; starts cost one to three seconds there, so only differences are compared.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from golden.asked import load, replayed
from unit.core.world import World, simple

from slurmsim.core.records.messages import NodesDown
from slurmsim.errors import ConfigError
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare

EPILOG, STUBBORN = 20, 3600


def ended(w: World, name: str) -> int:
    time = w[name].end_time
    assert time is not None
    return time


@pytest.mark.parametrize("name", ["completing", "completewait"])
def test_who_waits_for_whose_epilog(name: str) -> None:
    """b1 and d1 start when a1's epilog is done, b2 when that of the last job of n1 is, b3 and d2 after KillWait too."""
    w = replayed(load(name), 16, 2, epilog=EPILOG, term=STUBBORN)  # the phase of the time-limit scans
    w.until(320)
    nodes = {job: w.nodes(job) for job in ("a1", "a2", "a4", "b1", "b2", "b3", "d1", "d2")}
    assert nodes == {"a1": "n1", "a2": "n2", "a4": "n3", "b1": "n1", "b2": "n1", "b3": "n3", "d1": "n1", "d2": "n2"}
    assert w.start("b1") == ended(w, "a1") + EPILOG
    assert ended(w, "a1") + EPILOG <= w.start("d1") <= ended(w, "a1") + EPILOG + 10  # type: ignore[operator]
    assert w.start("b2") == max(ended(w, "b1"), ended(w, "d1")) + EPILOG
    assert w.state("a4") == "TIMEOUT"
    clean = ended(w, "a4") + 30 + EPILOG
    late = 8 if name == "completewait" else 0  # another job has just ended
    assert clean <= w.start("b3") <= w.start("d2") <= clean + late  # type: ignore[operator]


@pytest.mark.parametrize("name", ["completing", "completewait"])
def test_what_the_recordings_show(name: str) -> None:
    """The same differences, plus a few seconds for the passes and the epilogs of a clock that is too fast."""
    asked = load(name)
    last = {row["NAME"]: row for row in asked.squeues[-1]}

    def between(job: str, end: str, other: str, start: str) -> float:
        times = [datetime.fromisoformat(last[which][column]) for which, column in ((job, end), (other, start))]
        return (times[1] - times[0]).total_seconds()

    assert EPILOG - 1 <= between("a1", "END_TIME", "b1", "START_TIME") <= EPILOG + 5
    assert EPILOG - 1 <= min(between(job, "END_TIME", "b2", "START_TIME") for job in ("b1", "d1")) <= EPILOG + 5
    for job in ("b3", "d2"):
        assert 30 + EPILOG <= between("a4", "END_TIME", job, "START_TIME") <= 30 + EPILOG + 8
    early = {row["NAME"]: row for row in asked.squeues[1]}
    assert (early["a1"]["STATE"], early["b1"]["REASON"], early["d1"]["REASON"]) == (
        "COMPLETING", "Resources", "Dependency",
    )  # fmt: skip
    w = replayed(asked, 16, epilog=EPILOG, term=STUBBORN)
    w.until(52)
    assert w.state("a1") == "COMPLETED"
    assert w.reasons("b1 d1") == {"b1": "Resources", "d1": "Dependency"}


def test_a_node_is_closed_as_a_whole() -> None:
    """Of two jobs on a node one has ended: no job enters beside the other until the epilog is done."""
    w = World(simple(1, 8), "backfill", epilog=30)
    w.sbatch("-J a -n2 -t 10", 10)
    w.sbatch("-J b -n2 -t 10", 300)
    w.until(20)
    w.sbatch("-J c -n2 -t 10", 10)
    w.until(100)
    assert w.start("c") == ended(w, "a") + 30
    w.until(400)
    assert w.state("c") == "COMPLETED"


def test_backfill_plans_for_the_next_instant_and_starts_others_elsewhere() -> None:
    w = World(simple(2, 8, "SchedulerParameters=bf_interval=1"), "backfill", plan_all=True, epilog=60)
    w.sbatch("-J a -w n1 -n8 -t 10", 10)
    w.sbatch("-J b -w n2 -n8 -t 10", 30)
    w.sbatch("-J big -N2 --exclusive -t 10", 10, at=1)
    w.until(45)
    assert w.reason("big") == "Resources"
    planned, nodes = w.planned("big")
    assert nodes == "n[1-2]"
    assert planned is not None
    w.until(200)
    assert w.start("big") == ended(w, "b") + 60


def test_processes_of_jobs_that_end_by_themselves_are_gone() -> None:
    for state, seconds in (("COMPLETED", 0), ("FAILED", 0), ("NODE_FAIL", 0), ("CANCELLED", 15), ("TIMEOUT", 15)):
        w = World(simple(1, 1), "backfill", term=15)
        w.sbatch("-J a -t 1", None if state not in ("COMPLETED", "FAILED") else 20, state=state)
        w.sbatch("-J next -t 10", 10)
        w.until(10)
        if state == "CANCELLED":
            w.scancel("a")
        elif state == "NODE_FAIL":
            w.tell(NodesDown(("n1",)))
        w.until(300)
        if state != "NODE_FAIL":
            assert w.state("a") == state
            assert 0 <= w.start("next") - ended(w, "a") - seconds <= 3, state  # type: ignore[operator]


def test_completewait_stops_everything() -> None:
    """Nobody starts anywhere for CompleteWait after an end, though n2 is free; after that the others do."""
    for wait in (0, 20):
        w = World(simple(2, 1, f"CompleteWait={wait}"), "backfill", epilog=60)
        w.sbatch("-J a -w n1 -t 10", 10)
        w.until(5)
        first = w.start("a")
        assert first is not None
        w.sbatch("-J b -w n2 -t 10", 10, at=first + 10)
        w.until(200)
        begun = w.start("b")
        assert begun is not None
        assert (begun >= ended(w, "a") + wait) if wait else begun <= ended(w, "a") + 5


def test_nothing_changes_by_default() -> None:
    w = World(simple(1, 1), "backfill")
    w.sbatch("-J a -t 10", 100, at=0)
    w.until(5)
    (job,) = w.controller.state.jobs.values()
    assert w.controller.completing.seconds(job, "CANCELLED") == 0


def test_a_preemptor_waits_for_its_victims_processes() -> None:
    conf = (
        "ClusterName=t\nSlurmctldHost=localhost\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
        "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nNodeName=n1 CPUs=1\n"
        "PartitionName=low Nodes=ALL Default=YES PriorityTier=1\nPartitionName=high Nodes=ALL PriorityTier=9\n"
    )
    w = World(conf, "backfill", epilog=5, term=10)
    w.sbatch("-J victim -t 10", 300)
    w.until(20)
    w.sbatch("-J first -p high -t 10", 10)
    w.until(100)
    assert w["victim"].restarts == 1
    told = w.start("first")
    assert told is not None
    assert 35 <= told <= 40
    w.until(600)
    assert [w.state(name) for name in ("victim", "first")] == ["COMPLETED", "COMPLETED"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"epilog_time": -1}, "--epilog-time: -1 is negative"),
        ({"term_time": -5}, "--term-time: -5 is negative"),
        ({"epilog_time": 5, "policy": "easy"}, "--epilog-time: policy easy knows no COMPLETING nodes"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, more: dict[str, Any], message: str) -> None:
    (tmp_path / "log.swf").write_text("1 0 -1 60 1 -1 -1 1 60 -1 1 1 1 -1 1 1 -1 -1\n")
    with pytest.raises(ConfigError, match=message):
        prepare(RunOptions(str(tmp_path / "log.swf"), str(tmp_path / "out"), nodes=1, **more))
