"""Rules that meet: each of these situations once went wrong, found by facts told at random (tests/properties)."""

from __future__ import annotations

import pytest
from world import HEAD, World, simple

from slurmsim.core.records.messages import (
    CreateReservation,
    DeleteReservation,
    NodesDown,
    NodesDrain,
    NodesReboot,
    NodesResume,
    Release,
    Requeue,
    RequeueHold,
    ResizeJob,
    Resume,
    SetPartitionState,
    SetTimeLimit,
    Suspend,
)
from slurmsim.model.accounting import Accounting, Association, Limits, Qos
from slurmsim.model.reservation import ReservationSpec

POWER = "SuspendProgram=/bin/off\nResumeProgram=/bin/on\nSuspendTime=20\nSuspendTimeout=5\nResumeTimeout=60\n"


def test_a_job_that_must_not_be_requeued_is_not() -> None:
    w = World(simple(), "backfill")
    w.sbatch("-J stays -N1 -t 10 --no-requeue", None, at=0)
    w.sbatch("-J goes -N1 -t 10", None, at=0)
    for job in (1, 2):
        w.tell(Requeue(job), 20)
        w.tell(RequeueHold(job), 30)
    w.until(40)
    assert [(w.state(name), w[name].restarts) for name in ("stays", "goes")] == [("RUNNING", 0), ("PENDING", 1)]


def test_a_suspended_job_can_be_requeued_held() -> None:
    w = World(simple(), "backfill")
    w.sbatch("-J a -N1 -t 10", None, at=0)
    w.tell(Suspend(1), 20)
    w.tell(RequeueHold(1), 30)
    w.until(40)
    assert (w.state("a"), w.reason("a")) == ("PENDING", "job requeued in held state")


@pytest.mark.parametrize(("seconds", "end"), [(300, 400), (50, 150), (900, 900)])
def test_a_limit_changed_after_a_suspension_keeps_the_seconds_it_lasted(seconds: int, end: int) -> None:
    w = World(simple())
    w.sbatch("-J a -N1 -t 10", 800)
    w.tell(Suspend(1), 20)
    w.tell(Resume(1), 120)
    w.tell(SetTimeLimit(1, seconds), 130)
    w.until(1000)
    assert (w.state("a"), w["a"].end_time) == ("COMPLETED" if seconds == 900 else "TIMEOUT", end)


def test_the_epilog_of_a_task_that_was_requeued_is_not_its_end() -> None:
    w = World(simple(more="RequeueExitHold=8\n"), "backfill", epilog=60)
    w.sbatch("-J a -N1 -t 10 -a 0-1%1", 100, state="FAILED:8")
    w.tell(Release(1), 120)
    w.until(170)  # the epilog of its first run is over
    assert w.reasons("a_0 a_1") == {"a_0": "JobArrayTaskLimit", "a_1": "None"}
    w.until(400)
    assert (w["a_0"].restarts, w["a_1"].restarts) == (2, 1)


def test_who_waits_for_a_job_preempted_by_cancel_goes_on_after_its_epilog() -> None:
    conf = (
        f"{HEAD}PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\nNodeName=n1 CPUs=1\n"
        "PartitionName=low Nodes=ALL Default=YES PriorityTier=1\nPartitionName=high Nodes=ALL PriorityTier=9\n"
    )
    w = World(conf, "backfill", epilog=30)
    victim = w.sbatch("-J victim -t 10", 300)
    w.sbatch(f"-J after -t 10 -d afterany:{victim}", 10)
    w.sbatch("-J first -p high -t 10", 10, at=20)
    w.until(400)
    assert (w.state("victim"), w.state("after")) == ("PREEMPTED", "COMPLETED")


TWO = "PartitionName=short Nodes=ALL MaxTime=20\nPartitionName=long Nodes=ALL MaxTime=60\n"


@pytest.mark.parametrize("policy", ["backfill", "fcfs"])
def test_a_job_without_limit_gets_that_of_the_partition_before_its_deadline(policy: str) -> None:
    w = World(simple(1) + TWO, policy)
    w.sbatch("-J a -p main,short --deadline 3000", None)
    w.tell(SetPartitionState("main", "DOWN"), 0)
    w.until(100)
    assert (w["a"].partition.name, w["a"].time_limit_s) == ("short", 1200)


@pytest.mark.parametrize("policy", ["backfill", "builtin"])
def test_a_job_without_limit_is_as_long_as_the_partition_it_starts_in_lets_it(policy: str) -> None:
    w = World(simple(1) + TWO, policy)
    w.tell(CreateReservation(ReservationSpec("r", 1800, 3600, nodes=("n1",), users=("bob",))), 0)
    w.tell(SetPartitionState("short", "DOWN"), 0)
    w.sbatch("-J a -N1 -p short,long", 10, at=1)
    w.until(1700)
    assert w.state("a") == "PENDING"  # an hour would not end before the reservation begins
    w.until(9000)
    assert (w.state("a"), w["a"].time_limit_s) == ("COMPLETED", 3600)


def test_a_deleted_reservation_whose_nodes_were_lost_wants_nothing_more() -> None:
    w = World(simple(), "backfill")
    w.tell(CreateReservation(ReservationSpec("r", 0, 600, node_counts=(1,), users=("bob",))), 0)
    w.tell(NodesDown(("n1", "n2", "n3", "n4")), 1)
    w.tell(DeleteReservation("r"), 2)
    w.until(100)
    assert w.controller.wake_at() is None


def test_nobody_waits_for_switches_for_no_time() -> None:
    topology = "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4]\nSwitchName=t Switches=s[1-2]"
    w = World(simple(more="TopologyPlugin=topology/tree"), "easy", topology=topology)
    w.sbatch("-J a -N3 -t 10 --switches=1@0", 10, at=0)
    w.until(0)
    assert w.start("a") == 0 and not w.controller.state.timers.heap


def test_a_job_tired_of_waiting_for_switches_is_still_kept_to_its_limit_of_nodes() -> None:
    topology = "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4]\nSwitchName=t Switches=s[1-2]"
    more = (
        "TopologyPlugin=topology/tree\nAccountingStorageType=accounting_storage/slurmdbd\n"
        "AccountingStorageEnforce=associations,limits,qos"
    )
    users = (Association("root"), Association("a", parent="root"), Association("a", "alice", is_default=True))
    two = Qos("normal", limits=Limits(max_tres={"node": 2}))
    w = World(simple(more=more), "easy", topology=topology, accounting=Accounting(users, (two,)))
    w.tell(NodesDrain(("n2", "n4")), 0)
    w.sbatch("-J a -N2-3 -t 10 --switches=1@20", 10, at=0)
    w.tell(NodesResume(("n2", "n4")), 20)
    w.until(100)
    assert (w.state("a"), w.start("a"), w["a"].n_nodes) == ("COMPLETED", 20, 2)


@pytest.mark.parametrize("asap", [False, True])
def test_a_reboot_ends_a_drain_only_with_asap(asap: bool) -> None:
    w = World(simple(nodes=1), "backfill")
    w.tell(NodesDrain(("n1",), "sick"), 0)
    w.tell(NodesReboot(("n1",), asap), 1)
    w.sbatch("-J a -N1 -t 10", 10, at=2)
    w.until(200)
    assert w.state("a") == ("COMPLETED" if asap else "PENDING")


@pytest.mark.parametrize(("release", "alone"), [("22.05", 30), ("24.11", 22)])
def test_nodes_are_powered_down_the_second_after_any_node_changed(release: str, alone: int) -> None:
    """A scan that finds nothing new comes every 10 seconds, every 11 since 24.11: at 22, the second over 20."""
    w = World(simple(nodes=2, more=POWER), "backfill", release=release)
    w.until(alone - 1)
    assert not w.controller.state.power.going
    w.until(alone)
    assert w.controller.state.power.going == 0b11
    w = World(simple(nodes=2, more=POWER), "backfill", release=release)
    w.tell(NodesDrain(("n2",)), 20)
    w.until(20)
    assert not w.controller.state.power.going
    w.until(21)
    assert w.controller.state.power.going & 0b01


def test_a_node_that_is_resumed_while_it_goes_down_is_down() -> None:
    w = World(simple(nodes=2, more=POWER.replace("SuspendTimeout=5", "SuspendTimeout=50")), "backfill")
    w.until(30)
    assert w.controller.state.power.going == 0b11
    w.tell(NodesDown(("n1",)), 31)
    w.tell(NodesResume(("n1",)), 33)
    w.until(33)
    assert (w.controller.state.power.going, w.controller.state.power.off) == (0b10, 0b01)


def test_jobs_of_a_lost_node_are_requeued_in_the_order_they_came() -> None:
    """By their time limits they would come the other way round."""
    w = World(simple(nodes=1, cpus=2), "backfill", release="24.11")
    w.sbatch("-J long -n1 -t 20", 100, at=0)
    w.sbatch("-J short -n1 -t 10", 100, at=0)
    w.tell(NodesDown(("n1",)), 10)
    w.until(10)
    assert [w.state(name) for name in ("long", "short")] == ["PENDING", "PENDING"]
    assert w["long"].priority > w["short"].priority


def test_a_job_suspended_while_its_nodes_boot_begins_with_its_resume() -> None:
    w = World(simple(nodes=1, more=POWER), "backfill")
    w.until(100)
    w.sbatch("-J a -N1 -t 10", 50, at=100)
    w.tell(Suspend(1), 110)
    w.until(250)
    began = w.start("a")
    assert began is not None and began < 110 and w.state("a") == "SUSPENDED"
    w.tell(Resume(1), 300)
    w.until(1000)
    assert (w.state("a"), w.start("a"), w["a"].end_time) == ("COMPLETED", 300, 350)


def test_a_job_that_shrinks_waits_for_none_of_the_nodes_it_gives_back() -> None:
    w = World(simple(nodes=2, more=POWER + "SuspendExcNodes=n1"), "backfill", boot=50)
    w.until(100)
    w.sbatch("-J a -N2 -t 10", 300, at=100)
    w.tell(ResizeJob(1, 1), 110)
    w.until(115)
    assert (w.nodes("a"), w.start("a")) == ("n1", 110)
    w.until(600)
    assert (w.state("a"), w["a"].end_time) == ("COMPLETED", 410)


def test_nodes_given_back_are_rebooted() -> None:
    w = World(simple(nodes=2), "backfill", boot=10)
    w.sbatch("-J a -N2 -t 10", 300, at=0)
    w.tell(NodesReboot(("n2",)), 10)
    w.tell(ResizeJob(1, 1), 20)
    w.until(20)
    assert w.controller.node_states.booting == 0b10


def test_a_job_shrinks_beside_a_suspended_one() -> None:
    conf = HEAD.replace("CR_Core", "CR_Core_Memory") + "NodeName=n[1-2] CPUs=2 CoresPerSocket=2 RealMemory=2000\n"
    w = World(conf + "PartitionName=p Nodes=ALL Default=YES\n", "backfill")  # recounts everything at every instant
    w.sbatch("-J stopped -N1 -n2 -w n2 --mem 500 -t 60", None, at=0)
    w.tell(Suspend(1), 10)
    w.sbatch("-J wide -N2 -n4 --mem 500 -t 60", None, at=11)
    w.tell(ResizeJob(2, 1), 70)
    w.until(80)
    assert (w.nodes("wide"), w.controller.state.usage.whole.nodes) == ("n1", 1)


def test_a_deadline_leaves_a_job_the_time_it_needs() -> None:
    w = World(simple(nodes=1), "easy")
    w.sbatch("-J a -N1 -t 30s --deadline 45", 20, at=0)
    w.until(100)
    assert (w.state("a"), w["a"].time_limit_s) == ("COMPLETED", 30)


def test_nodes_that_did_not_boot_do_not_return_to_service() -> None:
    w = World(simple(nodes=1, more=POWER + "ReturnToService=2"), "backfill", boot=10_000)
    w.until(100)
    w.sbatch("-J a -N1 -t 10", 10, at=100)
    w.until(300)
    assert w.controller.node_states.down == 1


def test_all_cpus_of_a_shared_node_need_memory() -> None:
    conf = HEAD.replace("CR_Core", "CR_Core_Memory") + "NodeName=n1 CPUs=2 CoresPerSocket=2 RealMemory=2000\n"
    w = World(conf + "PartitionName=p Nodes=n1 OverSubscribe=FORCE:2 Default=YES\n", "backfill")
    w.sbatch("-J never -n1 --exclusive --mem-per-cpu 1500", 10, at=0)
    w.sbatch("-J fits -n1 --exclusive --mem-per-cpu 900", 50, at=0)
    w.sbatch("-J later -n1 --exclusive --mem-per-cpu 600 -t 5", 50, at=1)
    w.until(200)
    assert w.refused["never"] == "Requested node configuration is not available"
    assert w.state("fits") == w.state("later") == "COMPLETED" and (w.start("later") or 0) >= 50


def test_a_minimum_time_opens_no_closed_partition() -> None:
    w = World(simple(nodes=1).replace("MaxTime=UNLIMITED", "MaxTime=20"), "backfill")
    w.tell(SetPartitionState("main", "DOWN"), 0)
    w.sbatch("-J a -N1 -t 60 --time-min 1", 10, at=1)
    w.until(100)
    reason = w.controller.partition_limits.limit_reason(w["a"], w["a"].partition, w["a"].request, shortened=True)
    assert (w.state("a"), reason) == ("PENDING", "PartitionDown")
    w.tell(SetPartitionState("main", "UP"))
    w.until(200)
    assert w.state("a") == "COMPLETED"


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "backfill"])
def test_a_limit_of_one_partition_leaves_the_job_to_the_others(policy: str) -> None:
    conf = (
        f"{HEAD}AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageEnforce=associations,limits,qos\n"
        "NodeName=n[1-2] CPUs=4 CoresPerSocket=4\n"
        "PartitionName=whole Nodes=n2 OverSubscribe=EXCLUSIVE PriorityTier=3 QOS=small\n"
        "PartitionName=main Nodes=n1 Default=YES\n"
    )
    users = (Association("root"), Association("a", parent="root"), Association("a", "alice", is_default=True))
    small = Qos("small", limits=Limits(max_tres={"cpu": 2}))
    w = World(conf, policy, accounting=Accounting(users, (Qos("normal"), small)))
    w.sbatch("-J a -n1 -t 10 -p whole,main", 10, at=0)
    w.until(100)
    assert (w.state("a"), w["a"].partition.name) == ("COMPLETED", "main")


@pytest.mark.parametrize("policy", ["builtin", "backfill"])
@pytest.mark.parametrize("priority", ["", "PriorityType=priority/multifactor\nPriorityWeightJobSize=1"])
def test_who_may_start_because_of_a_pass_is_looked_at_in_the_next(policy: str, priority: str) -> None:
    w = World(simple(nodes=3, more=priority), policy, every_cycle=False)
    w.sbatch("-J late -N1 -t 10 -H --deadline 700", 60, at=0)
    w.sbatch("-J follows -N1 -t 10 -d afterany:1", 60, at=0)
    w.tell(Release(1), 1000)
    w.sbatch("-J long -N1 -t 100", None, at=2000)
    w.sbatch("-J beside -N1 -t 10 -d after:3", 60, at=2000)
    w.until(3000)
    assert [w.state(name) for name in ("late", "follows", "beside")] == ["DEADLINE", "COMPLETED", "COMPLETED"]
    assert w.start("follows") in range(1000, 1065) and w.start("beside") in range(2000, 2065)


def test_a_job_resumed_where_others_share_its_cores_now_goes_on_beside_them() -> None:
    w = World(simple(1, 1, partition="OverSubscribe=FORCE:2"))
    for name in ("stopped", "one", "two", "late"):
        w.sbatch(f"-J {name} -n1 -t 100", 600)
    w.tell(Suspend(w.id("stopped")), 10)
    w.until(20)
    assert w.starts("stopped one two late") == {"stopped": 0, "one": 0, "two": 10, "late": None}
    w.tell(Resume(w.id("stopped")), 30)
    w.until(700)
    assert w["stopped"].end_time == 620  # 20 s in suspension
    assert w.start("late") == 600  # with the first of the two that are in a row
    w.until(2000)
    assert [w.state(name) for name in ("stopped", "one", "two", "late")] == ["COMPLETED"] * 4
