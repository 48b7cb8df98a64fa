"""Preemption: scenarios recorded with slurmctld 22.05.8 (rules-observed 1; preempt-requeue, -order, -cancel, -qos).

Times are seconds after 08:00:00 of the recording. A submission is given the second of the job's eligible time there;
real slurmctld sees to it up to a second later. Only what the recordings show is asserted.
"""

from __future__ import annotations

from dataclasses import replace

from unit.core.world import HEAD, World

from slurmsim.core.records.messages import AlterPartition, Cancel
from slurmsim.model.accounting import Accounting, Association, Qos


def world(more: str, partitions: str, *, start: int = 0, accounting: Accounting | None = None) -> World:
    conf = (
        f"{HEAD}MinJobAge=100000\nKillWait=5\nMessageTimeout=100\n{more}\n"
        f"NodeName=n[1-4] Sockets=1 CoresPerSocket=4 RealMemory=8000\n{partitions}\n"
    )
    return World(conf, "backfill", plan_all=True, every_cycle=False, start=start, accounting=accounting)


def states(w: World, names: str) -> dict[str, str]:
    return {name: w.state(name) for name in names.split()}


REQUEUE = """SchedulerParameters=bf_interval=10,bf_resolution=60
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE"""
TIERS = """PartitionName=low Nodes=ALL Default=YES PriorityTier=1 MaxTime=INFINITE
PartitionName=mid Nodes=ALL PriorityTier=5 MaxTime=INFINITE
PartitionName=hi Nodes=ALL PriorityTier=10 PreemptMode=OFF MaxTime=INFINITE"""


def test_requeue() -> None:
    """preempt-requeue, first part: the lowest tier first; --no-requeue means cancelled; back after 121 s."""
    w = world(REQUEUE, TIERS)
    w.sbatch("-p low -J v1 -N1 -n4 -t 60", 2000, at=7)
    w.sbatch("-p low -J v2 -N1 -n4 -t 30", 2000, at=12)
    w.sbatch("-p mid -J v3 -N1 -n4 -t 60", 2000, at=17)
    w.sbatch("-p low -J v4 -N1 -n4 -t 60 --no-requeue", 2000, at=22)
    w.until(27)
    assert [w.nodes(n) for n in ("v1", "v2", "v3", "v4")] == ["n1", "n2", "n3", "n4"]
    w.sbatch("-p hi -J h1 -N1 -n4 -t 10", 101, at=28)
    w.until(35)
    stopped = w.start("h1")
    assert stopped in (28, 29) and w.nodes("h1") == "n1"  # in the second its victim died
    assert (w.state("v1"), w.reason("v1"), w["v1"].begin) == ("PENDING", "BeginTime", stopped + 121)
    assert (w["v1"].restarts, w["v1"].priority) == (1, 4294901759)  # its old priority
    assert states(w, "v2 v3 v4") == dict.fromkeys(("v2", "v3", "v4"), "RUNNING")
    w.sbatch("-p hi -J h2 -N2 -n8 -t 10", 60, at=37)
    w.until(43)
    assert (w.start("h2"), w.nodes("h2")) in ((37, "n[2,4]"), (38, "n[2,4]"))
    assert (w.state("v2"), w.reason("v2"), w["v2"].restarts) == ("PENDING", "BeginTime", 1)
    assert (w.state("v4"), w.reason("v4"), w["v4"].exit_code) == ("PREEMPTED", "None", "0:15")
    assert w.state("v3") == "RUNNING"  # of the tier between: spared
    w.until(175)
    assert w.reasons("v1 v2") == {"v1": "BeginTime", "v2": "BeginTime"}  # eligible since 150 and 159
    w.until(182)
    assert w.starts("v1 v2") == {"v1": 180, "v2": 180}  # the next full pass


def test_no_victim_is_taken_while_there_is_room() -> None:
    """preempt-requeue, second part: small jobs stay where they are as long as idle nodes do."""
    w = world(REQUEUE, TIERS)
    w.sbatch("-p low -J a1 -N1 -n1 -t 60", 2000, at=196)
    w.sbatch("-p low -J a2 -N1 -n1 -t 60", 2000, at=196)
    w.sbatch("-p mid -J a3 -N1 -n1 -t 60", 2000, at=200)
    w.sbatch("-p low -J a4 -N1 -n1 -t 60", 2000, at=201)
    w.sbatch("-p hi -J h3 -N1 -n2 -t 10", 60, at=206)
    w.sbatch("-p mid -J m4 -N2 -n8 -t 10", 60, at=214)
    w.until(222)
    found = {n: w.nodes(n) for n in ("a1", "a2", "a3", "a4", "h3", "m4")}
    assert found == {"a1": "n1", "a2": "n1", "a3": "n1", "a4": "n1", "h3": "n2", "m4": "n[3-4]"}


def test_youngest_first_and_partitions_that_make_way_for_nobody() -> None:
    """preempt-order."""
    w = world(
        """SchedulerParameters=bf_interval=10,preempt_youngest_first
PreemptType=preempt/partition_prio
PreemptMode=CANCEL""",
        """PartitionName=low Nodes=ALL Default=YES PriorityTier=1 MaxTime=INFINITE
PartitionName=mid Nodes=ALL PriorityTier=5 PreemptMode=OFF MaxTime=INFINITE
PartitionName=hi Nodes=ALL PriorityTier=10 MaxTime=INFINITE""",
    )
    w.sbatch("-p low -J v1 -N2 --exclusive -t 60", 2000, at=6)
    w.sbatch("-p low -J v2 -N1 -n4 -t 60", 2000, at=11)
    w.sbatch("-p mid -J v3 -N1 -n4 -t 60", 2000, at=16)
    w.until(20)
    assert [w.nodes(n) for n in ("v1", "v2", "v3")] == ["n[1-2]", "n3", "n4"]
    w.sbatch("-p hi -J h1 -N1 -n4 -t 10", 200, at=22)
    w.until(28)
    assert (w.nodes("h1"), w.state("v2"), w.state("v1")) == ("n3", "PREEMPTED", "RUNNING")
    w.sbatch("-p hi -J h2 -N2 --exclusive -t 10", 200, at=31)
    w.until(36)
    assert (w.nodes("h2"), w.state("v1"), w.state("v3")) == ("n[1-2]", "PREEMPTED", "RUNNING")
    w.sbatch("-p hi -J h3 -N1 -n2 -t 10", 200, at=39)
    w.sbatch("-p hi -J h4 -N3 --exclusive -t 10", 50, at=51)
    w.until(63)
    assert w.reasons("h3 h4") == {"h3": "Resources", "h4": "Priority"}  # v3's partition has PreemptMode=OFF
    start = w.start("h2")
    assert start is not None
    assert w.planned("h3")[0] == start + 600 and w.planned("h4")[0] == 1200


def test_the_mode_that_a_partition_has_now_counts() -> None:
    """22.05.8: after ``scontrol update PartitionName=low PreemptMode=off`` H waits, after ``=cancel`` it starts."""
    w = world(REQUEUE, TIERS)
    w.sbatch("-J L -p low --exclusive -w n1 -t 20", 600, at=1)
    w.until(3)
    low = w.controller.state.cluster.by_name["low"].spec
    w.tell(AlterPartition(replace(low, preempt_mode="OFF")))
    w.sbatch("-J H -p mid --exclusive -w n1 -t 20", 600, at=5)
    w.until(17)
    assert states(w, "L H") == {"L": "RUNNING", "H": "PENDING"}
    w.tell(AlterPartition(replace(low, preempt_mode="CANCEL")))
    w.until(32)
    assert states(w, "L H") == {"L": "PREEMPTED", "H": "RUNNING"}


def test_exempt_and_grace_time() -> None:
    """preempt-cancel: PreemptExemptTime 60 s, GraceTime 30 s of the victims' partition."""
    w = world(
        """SchedulerParameters=bf_interval=10,bf_resolution=60
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
PreemptExemptTime=00:01:00""",
        """PartitionName=low Nodes=ALL Default=YES PriorityTier=1 GraceTime=30 MaxTime=INFINITE
PartitionName=hi Nodes=ALL PriorityTier=10 PreemptMode=OFF MaxTime=INFINITE""",
    )
    w.sbatch("-p low -J stay -N1 --exclusive -t 60", 2000, at=7)
    w.sbatch("-p low -J go -N3 --exclusive -t 60", 2000, at=12)
    w.sbatch("-p hi -J h1 -N1 -n4 -t 5", 40, at=17)
    for look in (27, 57):
        w.until(look)
        assert states(w, "stay go h1") == {"stay": "RUNNING", "go": "RUNNING", "h1": "PENDING"}
        assert w.reason("h1") == "Resources"
        assert w.planned("h1")[0] == w["go"].end_limit  # the victims' normal end
    w.sbatch("-p hi -J h2 -N3 --exclusive -t 5", 40, at=108)
    w.until(119)  # both were exempt until 68 and 73
    assert states(w, "stay go h1 h2") == {"stay": "RUNNING", "go": "RUNNING", "h1": "PENDING", "h2": "PENDING"}
    assert w.reasons("h1 h2") == {"h1": "Resources", "h2": "Priority"}
    for name in ("stay", "go"):
        assert w[name].preempt_time in range(108, 119)
        assert w[name].end_limit == w[name].preempt_time + 30
    w.until(165)
    assert states(w, "stay go") == {"stay": "PREEMPTED", "go": "PREEMPTED"}
    assert (w["stay"].end_time, w["go"].end_time) == (150, 150)  # the time-limit scan after the end of the grace
    assert w.starts("h1 h2") == {"h1": 150, "h2": 150}


def test_exempt_until_the_next_full_pass() -> None:
    """preempt-cancel: the lapse of the exempt time causes no pass of its own."""
    w = world(
        """SchedulerParameters=bf_interval=10,bf_resolution=60
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
PreemptExemptTime=00:01:00""",
        """PartitionName=low Nodes=ALL Default=YES PriorityTier=1 MaxTime=INFINITE
PartitionName=hi Nodes=ALL PriorityTier=10 PreemptMode=OFF MaxTime=INFINITE""",
    )
    w.sbatch("-p low -J v1 -N4 --exclusive -t 60", 2000, at=7)
    w.sbatch("-p hi -J h1 -N1 -n4 -t 5", 40, at=17)
    w.until(300)
    assert w["v1"].end_time == w.start("h1") and w.start("h1") in range(68, 121)


QOS = Accounting(
    (
        Association("root"),
        Association("acc", parent="root"),
        *(Association("acc", user, qos=("scav", "std", "prem", "normal"), default_qos="normal", is_default=True)
          for user in ("alice", "bob", "carol", "dave")),
    ),
    (
        Qos("normal"),
        Qos("scav", priority=0, preempt_mode="CANCEL"),
        Qos("std", priority=10, preempt=("scav",), preempt_exempt_time_s=60),
        Qos("prem", priority=100, preempt=("scav", "std")),
    ),
)  # fmt: skip


def test_by_qos() -> None:
    """preempt-qos; its slurmctld started 64 s late, so its full passes come at 24 s after the minute."""
    w = world(
        """SchedulerParameters=bf_interval=10,bf_resolution=60
PreemptType=preempt/qos
PreemptMode=REQUEUE
AccountingStorageType=accounting_storage/slurmdbd
PriorityType=priority/multifactor
AccountingStorageEnforce=associations,limits,qos""",
        "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE",
        start=24,
        accounting=QOS,
    )
    prio = {"normal": 1, "scav": 1, "std": 100, "prem": 1000}  # PriorityWeightQOS=1000 there

    def submit(name: str, user: str, qos: str, shape: str, run: int, at: int) -> None:
        w.sbatch(f"-q {qos} -J {name} {shape} --priority {prio[qos]}", run, at=at, user=user)

    submit("n1", "alice", "normal", "-N1 -n4 -t 60", 2000, 66)
    submit("s1", "alice", "std", "-N1 -n4 -t 60", 2000, 70)
    submit("s2", "bob", "scav", "-N1 -n4 -t 60", 2000, 74)
    submit("s3", "bob", "std", "-N1 -n4 -t 60", 2000, 78)
    w.until(82)
    assert [w.nodes(n) for n in ("n1", "s1", "s2", "s3")] == ["n1", "n2", "n3", "n4"]
    submit("p1", "carol", "std", "-N1 -n4 -t 30", 500, 83)
    w.until(88)
    assert w.start("p1") in (83, 84) and w.nodes("p1") == "n3"
    assert (w.state("s2"), w["s2"].exit_code) == ("PREEMPTED", "0:15")  # PreemptMode of its QOS: cancel
    submit("p2", "carol", "std", "-N1 -n4 -t 30", 50, 91)
    w.until(97)
    assert w.reason("p2") == "Resources"  # std preempts scav only; `normal` is on nobody's list
    submit("p3", "dave", "prem", "-N2 -n8 -t 30", 60, 99)  # its end was in the second of a full pass
    w.until(108)
    assert w.reasons("p2 p3") == {"p2": "Priority", "p3": "Resources"}  # PreemptExemptTime of std: 60 s
    assert w.planned("p3")[0] == w["s3"].end_limit
    w.until(150)
    assert w.start("p3") in (143, 144) and w.nodes("p3") == "n[2,4]"  # the full pass after both had 60 s
    assert states(w, "s1 s3") == {"s1": "PENDING", "s3": "PENDING"}
    assert w.reasons("s1 s3 p2") == {"s1": "BeginTime", "s3": "BeginTime", "p2": "Resources"}
    assert states(w, "n1 p1") == {"n1": "RUNNING", "p1": "RUNNING"}  # unlisted; too young
    w.until(330)
    assert w.start("p2") == w["p3"].end_time == 204 and w.nodes("p2") == "n2"
    assert (w.nodes("s1"), w.nodes("s3")) == ("n2", "n4")
    assert w.starts("s1 s3") == {"s1": 324, "s3": 324}  # the full pass after 144 + 121


def test_a_job_that_leaves_in_its_grace_time() -> None:
    """A victim that is cancelled meanwhile is no concern of the scan."""
    w = world(
        REQUEUE.replace("REQUEUE", "CANCEL"),
        """PartitionName=low Nodes=ALL Default=YES PriorityTier=1 GraceTime=60 MaxTime=INFINITE
PartitionName=hi Nodes=ALL PriorityTier=10 MaxTime=INFINITE""",
    )
    w.sbatch("-p low -J v1 -N4 --exclusive -t 60", 2000, at=7)
    w.sbatch("-p hi -J h1 -N4 --exclusive -t 10", 200, at=17)
    w.until(30)
    assert (w.state("v1"), w.reason("h1")) == ("RUNNING", "Resources")
    w.tell(Cancel(w.id("v1")), 31)
    w.until(120)
    assert (w.state("v1"), w.start("h1")) == ("CANCELLED", 31)
