"""Node events, resizes and requeues: scenarios recorded with slurmctld 22.05.8.

Times are seconds after 08:00:00 of the recording, when slurmctld started. Only what the recordings show is asserted.
"""

from __future__ import annotations

from unit.core.world import HEAD, World

from slurmsim.core.records.messages import (
    LaunchFailed,
    NodesDown,
    NodesDrain,
    NodesFail,
    NodesReboot,
    NodesRegister,
    NodesResume,
    NodesUndrain,
    Release,
    Requeue,
    RequeueHold,
    ResizeJob,
)  # fmt: skip
from slurmsim.states import NODES_REQUIRED_TEXT


def conf(nodes: int, more: str = "") -> str:
    return (
        f"{HEAD}MinJobAge=100000\nKillWait=5\nSchedulerParameters=bf_interval=10,bf_resolution=60\n{more}\n"
        f"NodeName=n[1-{nodes}] Sockets=1 CoresPerSocket=4 RealMemory=8000\n"
        "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE\n"
    )


def events(w: World, kind: str) -> list[tuple[int, str, str, str]]:
    """(time, state, reason, nodes) of the events of a kind."""
    return [(e[0], e[3], e[4], e[6]) for e in w.controller.state.events if e[1] == kind]


def test_down_drained_failing_and_back() -> None:
    """node-events, first half."""
    w = World(conf(4), "backfill")
    w.sbatch("-J r1 -w n1 -n2 -t 10", 500, at=6)
    w.sbatch("-J r2 -w n1 -n2 --no-requeue -t 10", 500, at=6, user="bob")
    w.sbatch("-J r3 -N2 -w n[2-3] --exclusive -t 10", 500, at=6, user="carol")
    w.sbatch("-J r4 -w n4 -n4 -t 10", 40, at=6, user="dave")
    w.tell(NodesDown(("n1",), "pulled"), 12)
    w.until(15)
    assert (w.state("r1"), w.reason("r1"), w["r1"].begin) == ("PENDING", "BeginTime", 133)
    assert (w.state("r2"), w.reason("r2")) == ("NODE_FAIL", "NodeDown")
    w.tell(NodesDrain(("n4",), "fan"), 16)
    w.sbatch("-J w1 -w n4 -n1 -t 5", 30, at=16, user="dave")
    w.sbatch("-J w2 -n1 -t 5", 30, at=16, user="dave")
    w.until(22)
    assert w.reasons("w1 w2") == {"w1": "ReqNodeNotAvail, UnavailableNodes:n4", "w2": "Resources"}
    w.tell(NodesFail(("n3",), "disk"), 23)
    w.until(50)
    assert (w.state("r3"), w.state("r4")) == ("RUNNING", "COMPLETED")
    w.tell(NodesDown(("n2",), "two"), 53)
    w.until(58)
    assert (w.state("r3"), w.reason("r3")) == ("PENDING", "BeginTime")  # lost on both nodes
    assert w.reasons("w1 w2") == {"w1": "ReqNodeNotAvail, UnavailableNodes:n4", "w2": NODES_REQUIRED_TEXT}
    w.tell(NodesUndrain(("n4",)), 59)
    w.tell(NodesResume(("n1",)), 59)
    w.until(64)
    assert (w.start("w1"), w.nodes("w1"), w.nodes("w2")) == (w.start("w2"), "n4", "n4")
    assert 59 <= (w.start("w1") or 0) <= 63
    w.tell(NodesUndrain(("n3",)), 65)  # a failing node is not drained
    w.until(66)
    assert not w.controller.state.table.up >> 2 & 1
    w.tell(NodesResume(("n2", "n3")), 67)
    w.until(240)
    assert w.starts("r1 r3") == {"r1": 180, "r3": 180}  # the full pass after their begin times
    assert [e[1:] for e in events(w, "NODE")] == [
        ("DOWN", "pulled", "n1"), ("DRAIN", "fan", "n4"), ("FAILING", "disk", "n3"), ("DOWN", "two", "n2"),
        ("IDLE", "", "n4"), ("IDLE", "", "n1"), ("FAILING", "", "n3"), ("IDLE", "", "n[2-3]"),
    ]  # fmt: skip


def test_no_kill_and_reboot() -> None:
    """node-events, second half: --no-kill goes on with fewer nodes; a reboot as soon as possible."""
    w = World(conf(4), "backfill")
    w.sbatch("-J k1 -N3 --exclusive --no-kill -t 10", 100, at=257)
    w.tell(NodesDown(("n2",), "x"), 263)
    w.until(265)
    assert (w.state("k1"), w.nodes("k1"), w["k1"].n_nodes, w["k1"].n_cpus) == ("RUNNING", "n[1,3]", 2, 8)
    assert (w.start("k1"), w["k1"].restarts) == (257, 0) or w.start("k1") == 260
    w.tell(NodesResume(("n2",)), 270)
    w.tell(NodesReboot(("n4",), asap=True, reason="kernel"), 270)
    w.tell(NodesReboot(("n1",), asap=True), 270)  # busy: it takes nothing new until its job is gone
    w.sbatch("-J x -N1 -n1 -t 5", 5, at=271)
    w.until(280)
    assert w.nodes("x") == "n2"
    assert [e[1:] for e in events(w, "NODE")][-2:] == [
        ("DRAIN+REBOOT", "reboot issued", "n4"), ("DRAIN", "reboot requested", "n1"),
    ]  # fmt: skip
    w.until(305)
    assert events(w, "NODE")[-1] == (300, "IDLE", "", "n4")  # the boot took 30 s
    w.until(450)
    end = w["k1"].end_time
    assert end is not None
    assert events(w, "NODE")[-2:] == [(end, "DRAIN+REBOOT", "reboot issued", "n1"), (end + 30, "IDLE", "", "n1")]


def test_return_to_service() -> None:
    """node-return: with 2 a node set DOWN is back at once, with 1 only one that was lost."""
    for mode, back in ((0, (False, False)), (1, (False, True)), (2, (True, True))):
        w = World(conf(3, f"ReturnToService={mode}"), "backfill")
        w.sbatch("-J r1 -w n1 -n2 -t 10", 500, at=4)
        w.tell(NodesDown(("n1",), "test"), 10)
        w.tell(NodesDown(("n2",), "Not responding"), 10)
        w.until(12)
        assert (w.state("r1"), w.reason("r1")) == ("PENDING", "BeginTime")
        w.tell(NodesRegister(("n1", "n2")), 20)
        w.until(300)
        up = w.controller.state.table.up
        assert (bool(up & 1), bool(up & 2)) == back, mode
        assert (w.state("r1"), w.reason("r1")) == (
            ("RUNNING", "None") if back[0] else ("PENDING", "ReqNodeNotAvail, UnavailableNodes:n1")
        )


def test_shrink() -> None:
    """suspend-resize: numnodes=1 keeps the first node; the others go to the next job in the same second."""
    w = World(conf(4), "backfill")
    w.sbatch("-J s1 -N1 -n4 -w n1 -t 5", 100, at=4)
    w.sbatch("-J z1 -N3 --exclusive -t 10", 300, at=4, user="bob")
    w.sbatch("-J w2 -N1 -n4 -t 5", 30, at=10, user="carol")
    w.until(40)
    assert (w.nodes("z1"), w.reason("w2")) == ("n[2-4]", "Resources")
    w.tell(ResizeJob(w.id("z1"), 1), 45)
    w.tell(ResizeJob(w.id("z1"), 3), 46)  # more: refused, nothing changes
    w.until(50)
    assert (w.nodes("z1"), w["z1"].n_nodes, w["z1"].n_cpus, w.start("z1")) == ("n2", 1, 4, 4)
    assert w["z1"].end_limit == 4 + 600
    assert (w.start("w2"), w.nodes("w2")) == (45, "n3")
    assert events(w, "RESIZE") == [(45, "RUNNING", "None", "n2")]
    w.until(400)
    assert (w.state("z1"), w["z1"].end_time) == ("COMPLETED", 304)


def test_requeue_forms() -> None:
    """suspend-resize: requeue, requeuehold, SpecialExit, RequeueExit and RequeueExitHold."""
    w = World(conf(4, "RequeueExit=11\nRequeueExitHold=12"), "backfill", start=1)
    w.sbatch("-J q1 -n1 -t 5", 300, at=153, user="bob")
    w.sbatch("-J x11 -n1 -t 5", 5, at=154, state="FAILED:11", user="bob")
    w.sbatch("-J x12 -n1 -t 5", 5, at=154, state="FAILED:12", user="bob")
    w.sbatch("-J q2 -n1 -t 5", 300, at=154, user="dave")
    w.sbatch("-J q3 -n1 -t 5", 300, at=154, user="dave")
    w.sbatch("-J after -d afternotok:3 -n1 -t 5", 1, at=154)
    w.tell(Requeue(w.id("q1")), 162)
    w.tell(RequeueHold(w.id("q2")), 162)
    w.tell(RequeueHold(w.id("q3"), special=True), 163)
    w.until(175)
    assert {n: (w[n].priority > 0, w.reason(n), w[n].exit_code) for n in ("q1", "x11", "x12", "q2", "q3")} == {
        "q1": (True, "BeginTime", "0:0"), "x11": (True, "BeginTime", "11:0"), "x12": (False, "JobHeldUser", "12:0"),
        "q2": (False, "job requeued in held state", "0:0"), "q3": (False, "job requeued in held state", "0:0"),
    }  # fmt: skip
    assert [e[1:3] for e in events(w, "HOLD")] == [
        ("SPECIAL_EXIT", "JobHeldUser"), ("PENDING", "job requeued in held state"),
        ("SPECIAL_EXIT", "job requeued in held state"),
    ]  # fmt: skip
    assert w["after"].start_time is not None  # a special exit counts as not ok
    for name in ("q2", "q3", "x12"):
        w.tell(Release(w.id(name)), 176)
    w.until(200)
    assert set(w.reasons("q1 x11 x12 q2 q3").values()) == {"BeginTime"}
    w.until(310)
    assert {w.start(n) for n in ("q1", "q2", "q3")} == {301}  # the full pass after the begin times
    assert (w["x11"].restarts, w.reason("x11"), w["x12"].restarts, w.reason("x12")) == (
        2, "BeginTime", 2, "JobHeldUser",
    )  # fmt: skip


def test_too_many_failed_launches() -> None:
    """scheduling.md, section 14: after five requeues for launch problems the job is held."""
    w = World(conf(2), "backfill")
    w.sbatch("-J a -n1 -t 5", 50, at=5)
    for restarts in range(5):
        w.until(20 + restarts * 180)
        assert w.state("a") == "RUNNING"
        w.tell(LaunchFailed(w.id("a"), restarts))
    w.until(2000)
    assert (w.state("a"), w.reason("a"), w["a"].priority) == ("PENDING", "JobHoldMaxRequeue", 0)
    w.tell(Release(w.id("a")))
    w.until(2200)
    assert w.state("a") == "COMPLETED"


def test_kill_on_invalid_dependency() -> None:
    """arrays-deps: with --kill-on-invalid-dep=yes CANCELLED at once, else it waits for ever; =no beats the cluster."""
    for more, fates in (
        ("", ("CANCELLED", "PENDING", "PENDING")),
        ("DependencyParameters=kill_invalid_depend", ("CANCELLED", "CANCELLED", "PENDING")),
    ):
        w = World(conf(2, more), "backfill")
        w.sbatch("-J a -n1 -t 5", 10, at=5, state="FAILED")
        w.sbatch("-J yes -d afterok:1 --kill-on-invalid-dep=yes -n1 -t 5", 10, at=6)
        w.sbatch("-J unsaid -d afterok:1 -n1 -t 5", 10, at=6)
        w.sbatch("-J no -d afterok:1 --kill-on-invalid-dep=no -n1 -t 5", 10, at=6)
        w.until(100)
        assert tuple(w.state(n) for n in ("yes", "unsaid", "no")) == fates
        assert w.reason("no") == "DependencyNeverSatisfied"
