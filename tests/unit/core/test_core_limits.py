"""What a partition or a request keeps out: refusals, reasons, whole nodes, priorities, the main scheduler's options."""

from __future__ import annotations

import pytest
from unit.core.world import HEAD, World, simple

NODES = "NodeName=n[1-4] Sockets=2 CoresPerSocket=2 RealMemory=1000\n"
NOT_AVAILABLE = "Requested node configuration is not available"
TIME = "Requested time limit is invalid (missing or exceeds some limit)"
COUNT = "Node count specification invalid"
CPUS = "More processors requested than permitted"


def conf(partitions: str, more: str = "") -> str:
    return f"{HEAD}{more}\n{NODES}{partitions}\n"


LIMITED = "PartitionName=p Nodes=n[1-2] Default=YES MinNodes=1 MaxNodes=1 MaxTime=60"


@pytest.mark.parametrize(
    ("line", "reason", "text"),
    [
        ("-N2 -t 10", "PartitionNodeLimit", COUNT),
        ("-N1-2 -t 10", "PartitionNodeLimit", COUNT),
        ("-n1 -t 61", "PartitionTimeLimit", TIME),
        ("-n9 -t 10", "PartitionConfig", CPUS),
        ("-N100 -t 10", "PartitionConfig", CPUS),  # CPUs are tested first
    ],
)
@pytest.mark.parametrize("policy", ["easy", "conservative", "builtin", "backfill"])
def test_partition_limits_wait_or_are_refused(line: str, reason: str, text: str, policy: str) -> None:
    w = World(conf(LIMITED), policy)
    w.sbatch(f"-J a {line}", 10, at=4)
    w.sbatch("-J b -n1 -t 10", 10, at=4)
    w.until(100)
    assert (w.state("a"), w.reason("a")) == ("PENDING", reason)
    assert w.state("b") == "COMPLETED"  # it blocks nobody
    for enforce in ("ALL", "ANY", "YES"):
        w = World(conf(LIMITED, f"EnforcePartLimits={enforce}"), policy)
        w.sbatch(f"-J a {line}", 10, at=4)
        w.until(100)
        assert w.refused == {"a": text}


TWO = "PartitionName=p Nodes=n[1-2] Default=YES MaxTime=60\nPartitionName=q Nodes=n[3-4] MaxTime=600"


@pytest.mark.parametrize(("enforce", "refused"), [("NO", False), ("ANY", False), ("ALL", True)])
def test_enforce_over_several_partitions(enforce: str, refused: bool) -> None:
    w = World(conf(TWO, f"EnforcePartLimits={enforce}"))
    w.sbatch("-J a -p p,q -t 100", 10)
    w.until(50)
    assert w.refused == ({"a": TIME} if refused else {})
    if not refused:
        assert w["a"].partition.name == "q"


OUTSIDE = "Requested nodes not in this partition"
SIZED = "PartitionName=p Nodes=n[1-3] Default=YES MaxTime=30 MinNodes=2 MaxNodes=2"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("-N1", COUNT), ("-N3", COUNT), ("-N1 -w n4", OUTSIDE), ("-N3 -w n4", OUTSIDE), ("-N4 -w n4", COUNT),
        ("-N2 -n13 -w n4", CPUS), ("-N2 -t 60 -w n4", OUTSIDE), ("-N2 -w n4", OUTSIDE),
    ],
)  # fmt: skip
def test_nodes_outside_the_partition_come_before_its_limits(line: str, text: str) -> None:
    """As 22.05.8, 24.11.5 and 26.05.5 answered, on a larger cluster of the same kind."""
    w = World(conf(SIZED, "EnforcePartLimits=ALL"))
    w.sbatch(f"-J a {line}" + ("" if "-t" in line else " -t 10"), 10, at=4)
    w.until(10)
    assert w.refused == {"a": text}


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("-N1 -n5", NOT_AVAILABLE),  # five CPUs on one node of four
        ("-C big", "Invalid feature specification"),
        ("-w n9", "Invalid node name specified"),
        ("-w n3", NOT_AVAILABLE),  # not of this partition
        ("-p nosuch", "Invalid partition name specified"),
        ("--gres=gpu:1", NOT_AVAILABLE),
    ],
)
def test_what_can_never_run_is_refused(line: str, text: str) -> None:
    w = World(conf("PartitionName=p Nodes=n[1-2] Default=YES"))
    w.sbatch(f"-J a {line} -t 10", 10)
    w.until(1)
    assert w.refused == {"a": text}


def test_no_default_partition() -> None:
    w = World(conf("PartitionName=p Nodes=ALL"))
    w.sbatch("-J a -t 10", 10)
    w.until(1)
    assert w.refused == {"a": "No partition specified or system default partition"}


@pytest.mark.parametrize("state", ["DOWN", "INACTIVE", "DRAIN"])
def test_a_partition_that_starts_in_another_state(state: str) -> None:
    w = World(conf(f"PartitionName=p Nodes=ALL Default=YES State={state}"), "builtin")
    w.sbatch("-J a -t 10", 10, at=4)
    w.until(100)
    if state == "DOWN":
        assert w.reason("a") == "PartitionDown"
    else:
        assert w.refused == {"a": "Required partition not available (inactive or drain)"}


def test_sizes_and_times_count_where_jobs_may_start() -> None:
    """_part_access_check asks for them only if the partition schedules (PARTITION_SCHED)."""
    from slurmsim.core.records.messages import SetPartitionState

    w = World(conf("PartitionName=p Nodes=ALL Default=YES MaxNodes=1 MaxTime=60"), "backfill")
    w.sbatch("-J wide -N2 -t 10", 10, at=4)
    w.sbatch("-J long -N1 -t 100", 10, at=4)
    w.until(20)
    assert (w.reason("wide"), w.reason("long")) == ("PartitionNodeLimit", "PartitionTimeLimit")
    w.tell(SetPartitionState("p", "DOWN"), 21)
    w.until(100)
    assert (w.reason("wide"), w.reason("long")) == ("PartitionDown", "PartitionDown")


def test_inactive_keeps_those_who_wait() -> None:
    from slurmsim.core.records.messages import SetPartitionState

    w = World(simple(1), "builtin")
    w.sbatch("-J run -t 10", 100, at=4)
    w.sbatch("-J a -t 10", 10, at=4)
    w.tell(SetPartitionState("main", "INACTIVE"), 50)
    w.until(200)
    assert (w.state("run"), w.reason("a")) == ("COMPLETED", "PartitionInactive")


# -- shares of nodes


def test_exclusive_jobs_and_partitions_take_whole_nodes() -> None:
    w = World(conf("PartitionName=p Nodes=ALL Default=YES\nPartitionName=x Nodes=ALL OverSubscribe=EXCLUSIVE"))
    w.sbatch("-J a -n1 -t 10", 100)
    w.sbatch("-J b -n1 --exclusive -t 10", 100)
    w.sbatch("-J c -p x -n1 -t 10", 100)
    w.sbatch("-J d -p x -n1 -s -t 10", 100)
    w.sbatch("-J e -n3 -t 10", 100)
    w.sbatch("-J f -n1 --exclusive -t 10", 100)
    w.until(10)
    assert {n: (w.nodes(n), w[n].n_cpus) for n in "abcde"} == {
        "a": ("n1", 1), "b": ("n2", 4), "c": ("n3", 4), "d": ("n4", 4), "e": ("n1", 3),
    }  # fmt: skip
    assert w.state("f") == "PENDING"


def test_linear_hands_out_whole_nodes() -> None:
    text = conf("PartitionName=p Nodes=ALL Default=YES")
    linear = (
        "\n".join(line for line in text.splitlines() if not line.startswith("Select")) + "\nSelectType=select/linear\n"
    )
    w = World(linear)
    w.sbatch("-J a -n1 -t 10", 100)
    w.sbatch("-J b -n5 -t 10", 100)
    w.until(1)
    assert (w.nodes("a"), w["a"].n_cpus, w.nodes("b"), w["b"].n_cpus) == ("n1", 4, "n[2-3]", 8)


@pytest.mark.parametrize(("unit", "got"), [("CR_CPU", 1), ("CR_Core", 2), ("CR_Socket", 4)])
def test_the_smallest_share(unit: str, got: int) -> None:
    nodes = "NodeName=n1 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2"
    w = World(f"ClusterName=c\nSelectType=select/cons_tres\nSelectTypeParameters={unit}\n{nodes}\n"
              "PartitionName=p Nodes=ALL Default=YES\n")  # fmt: skip
    w.sbatch("-J a -n1 -t 10", 100)
    w.until(1)
    assert w["a"].n_cpus == got


MEMORY = "SelectTypeParameters=CR_Core_Memory"


def test_memory() -> None:
    text = conf("PartitionName=p Nodes=ALL Default=YES").replace("SelectTypeParameters=CR_Core\n", f"{MEMORY}\n")
    w = World(text)
    w.sbatch("-J a -n1 --mem 600 -t 10", 100)
    w.sbatch("-J b -n1 --mem 600 -t 10", 100)  # not beside a
    w.sbatch("-J c -n1 --mem 400 -t 10", 100)
    w.sbatch("-J d -n2 --mem-per-cpu 500 -t 10", 100)
    w.sbatch("-J e -n1 -t 10", 100)  # nothing asked: all of a node
    w.sbatch("-J f -n1 --mem 1001 -t 10", 100)
    w.until(10)
    assert {n: w.nodes(n) for n in "abcde"} == {"a": "n1", "b": "n2", "c": "n1", "d": "n3", "e": "n4"}
    assert w.refused == {"f": NOT_AVAILABLE}
    assert w.controller.state.cluster.mem_per_node(w["d"].alloc) == "1000"  # type: ignore[arg-type]


def test_specialised_cores_are_kept() -> None:
    w = World(
        conf("PartitionName=p Nodes=ALL Default=YES").replace("RealMemory=1000", "RealMemory=1000 CoreSpecCount=1")
    )
    w.sbatch("-J a -n3 -t 10", 100)
    w.sbatch("-J b -N1 -n4 -t 10", 100)
    w.sbatch("-J c -n1 --exclusive -t 10", 100)
    w.until(1)
    assert (w.nodes("a"), w.refused, w["c"].n_cpus) == ("n1", {"b": NOT_AVAILABLE}, 3)


def test_cpus_of_a_partition_on_a_node() -> None:
    """MaxCPUsPerNode counts this partition's jobs only."""
    w = World(conf("PartitionName=p Nodes=n1 Default=YES MaxCPUsPerNode=2\nPartitionName=q Nodes=n1"))
    w.sbatch("-J other -p q -n2 -t 10", 100)
    w.sbatch("-J a -n1 -t 10", 100)
    w.sbatch("-J b -n1 -t 10", 50)
    w.sbatch("-J c -n1 -t 10", 100, at=1)
    w.sbatch("-J d -n1 --exclusive -t 10", 100, at=2)
    w.until(10)
    assert [w.state(n) for n in ("other", "a", "b", "c")] == ["RUNNING", "RUNNING", "RUNNING", "PENDING"]
    assert w.refused == {"d": NOT_AVAILABLE}  # a whole node has four
    w.until(120)
    assert w.start("c") == 50


def test_as_many_nodes_as_there_are_of_a_range() -> None:
    w = World(conf("PartitionName=p Nodes=ALL Default=YES"))
    w.sbatch("-J a -N1 --exclusive -t 10", 100)
    w.sbatch("-J b -N2-4 --exclusive -t 10", 50)
    w.sbatch("-J c -N2-3 --exclusive -t 10", 50)
    w.until(200)
    assert {n: (w.start(n), w.nodes(n)) for n in "abc"} == {
        "a": (0, "n1"), "b": (0, "n[2-4]"), "c": (50, "n[2-4]"),
    }  # fmt: skip


# -- priorities


def test_basic_priorities() -> None:
    w = World(simple(1), "builtin")
    for line in ("-J a", "-J b --nice 100", "-J c", "-J d --priority 7"):
        w.sbatch(f"{line} -t 10", 100, at=4)
    w.until(5)
    assert [w[n].priority for n in "abcd"] == [4294901759, 4294901658, 4294901757, 7]


FACTORS = """PriorityType=priority/multifactor
PriorityWeightJobSize=1000
PriorityWeightPartition=200
PriorityWeightAge=1000
PriorityMaxAge=0-01:00:00
PriorityCalcPeriod=5
"""
PARTS = "PartitionName=p Nodes=ALL Default=YES PriorityJobFactor=10\nPartitionName=q Nodes=ALL PriorityJobFactor=40"


def test_factors_without_slurmdbd() -> None:
    """Size (nodes/16 + CPUs/128)/2 of 16 nodes of 8, partition 10/40; age is ignored, nothing is recalculated."""
    text = f"{HEAD}{FACTORS}NodeName=n[1-16] CPUs=8 CoresPerSocket=8\n{PARTS}\n"
    w = World(text, "builtin")
    w.sbatch("-J block -N16 --exclusive -t 100", 6000, at=4)
    lines = {"a": "-n1", "b": "-N2", "c": "-N10", "d": "-N16 --exclusive", "e": "-p q -n1", "f": "-n1 --nice 20",
             "g": "-n1 --nice 900"}  # fmt: skip
    for name, line in lines.items():
        w.sbatch(f"-J {name} {line} -t 10", 10, at=8)
    w.until(4000)
    assert {n: w[n].priority for n in lines} == {
        "a": 85, "b": 120, "c": 401, "d": 612, "e": 235, "f": 65, "g": 1,
    }  # fmt: skip


def test_age_with_slurmdbd() -> None:
    """weight × age / PriorityMaxAge, refreshed every PriorityCalcPeriod; it stops at the weight."""
    text = conf(PARTS, FACTORS + "AccountingStorageType=accounting_storage/slurmdbd\nPriorityFlags=NO_NORMAL_PART\n")
    w = World(text, "builtin")
    w.sbatch("-J block -N4 --exclusive -t 1000", at=0)
    w.sbatch("-J a -n1 -t 10", 10, at=0)
    w.sbatch("-J late -n1 -t 10 --begin 1800", 10, at=0)
    base = 2000 + 156  # partition 10 × 200; size (1/4 + 1/16)/2
    w.until(299)
    assert w["a"].priority == base
    w.until(1800)
    assert w["a"].priority == base + 500
    w.until(2100)
    assert w["late"].priority == base + 83  # eligible for 300 s
    w.until(9000)
    assert (w["a"].priority, w["late"].priority) == (base + 1000, base + 1000)


def test_age_lets_an_old_small_job_pass() -> None:
    text = conf(PARTS, FACTORS + "AccountingStorageType=accounting_storage/slurmdbd\n")
    w = World(text, "builtin")
    w.sbatch("-J block -N4 --exclusive -t 100", 3000, at=0)
    w.sbatch("-J old -n1 -t 10", 10, at=10)
    w.sbatch("-J big -N4 --exclusive -t 10", 10, at=2990)
    w.until(4000)
    assert w.starts("block old big") == {"block": 3, "old": 3003, "big": 3013}


# -- the main scheduler's options


def test_jobs_a_partition_may_have_looked_at() -> None:
    """partition_job_depth=2: the third of p is not looked at, q's jobs are."""
    parts = "PartitionName=p Nodes=n[1-2] Default=YES\nPartitionName=q Nodes=n[3-4]"
    w = World(conf(parts, "SchedulerParameters=partition_job_depth=2"), "builtin")
    for name in ("a", "b", "c"):
        w.sbatch(f"-J {name} -n1 -t 10", 1000, at=4)
    w.sbatch("-J x -p q -n1 -t 10", 1000, at=4)
    w.until(5)
    assert w.starts("a b c x") == {"a": 4, "b": 4, "c": None, "x": 4}
    assert w.reason("c") == "Priority"
    w.until(61)
    assert w.start("c") == 60  # the next full pass


def test_starts_a_pass() -> None:
    w = World(conf("PartitionName=p Nodes=ALL Default=YES", "SchedulerParameters=sched_max_job_start=2"), "builtin")
    w.sbatch("-J a -a 1-3 -n1 -t 10", 1000, at=4)
    w.until(61)
    assert w.starts("a_1 a_2 a_3") == {"a_1": 4, "a_2": 4, "a_3": 60}


def test_passes_keep_their_distance() -> None:
    """sched_min_interval=20 s; the end at 30 asks at once, the pass comes 20 s after that of 4 and 24 after."""
    params = "SchedulerParameters=sched_min_interval=20000000"
    w = World(simple(1, more=params), "builtin")
    w.sbatch("-J a -t 10", 10, at=4)
    w.sbatch("-J b -t 10", 10, at=4)
    w.sbatch("-J c -t 10", 10, at=4)
    w.until(100)
    assert w.starts("a b c") == {"a": 4, "b": 24, "c": 44}


@pytest.mark.parametrize(
    ("more", "at_once"),
    [
        ("", False),
        ("\nEpilog=/etc/slurm/epilog.sh", True),
        ("\nEpilog=(null)", False),
        ("\nPrologFlags=contain", True),
        ("\nPrologFlags=NoHold,X11", True),
        ("\nPrologFlags=Alloc", False),
        (",defer\nEpilog=/etc/slurm/epilog.sh", False),
    ],
)
def test_the_pass_at_a_jobs_end(more: str, at_once: bool) -> None:
    """Without something to clean up, or with `defer`, the loop does it, batch_sched_delay after its previous pass."""
    w = World(simple(1, more="SchedulerParameters=batch_sched_delay=20" + more), "builtin")
    w.sbatch("-J a -t 10", 15, at=30)
    w.sbatch("-J b -t 10", 10, at=30)
    w.until(100)
    assert w.starts("a b") == {"a": 30, "b": 45 if at_once else 50}


def test_the_pass_at_the_end_of_a_killed_job() -> None:
    """Its steps have to end first, and their end is reported: a pass at once, also without an epilog."""
    w = World(simple(1, more="SchedulerParameters=batch_sched_delay=20"), "builtin")
    w.sbatch("-J a -t 10", 100, at=30)
    w.sbatch("-J b -t 10", 10, at=30)
    w.scancel("a", at=40)
    w.until(100)
    assert w.starts("a b") == {"a": 30, "b": 40}


def test_a_backfill_counter_of_associations() -> None:
    """bf_max_job_assoc=1 takes the place of bf_max_job_user; the counter is of user and account."""
    params = "SchedulerParameters=bf_max_job_assoc=1,bf_max_job_user=9"
    w = World(simple(3, more=params), "backfill", plan_all=True)
    w.sbatch("-J block -N2 -t 100", at=4)
    w.sbatch("-J head -N3 -t 10", 10, at=8, user="bob")
    w.sbatch("-J a1 -N3 -t 10", 10, at=8)
    w.sbatch("-J a2 -N1 -t 10", 10, at=8)
    w.sbatch("-J c1 -N1 -t 10", 10, at=8, user="carol")
    w.until(100)
    assert (w.planned("head")[0], w.planned("a1")[0], w.state("a2")) == (6004, 6600, "PENDING")
    assert w["c1"].scheduler == "Backfill"


@pytest.mark.parametrize(("linear", "starts"), [(0, 484), (60, 424)])
def test_a_linear_window(linear: int, starts: int) -> None:
    """The future test takes ends away in batches; three of five nodes are wanted, free at 424.

    Ends at 244, 364, 424, 484. The first end rounds up to 270; batches reach 30, then 120, then 240 s beyond it, so
    424 and 484 are one batch and its last end is reported. With bf_window_linear=60: 30, 150, 210 s.
    """
    w = World(simple(5, more=f"SchedulerParameters=bf_window_linear={linear}"), "backfill", plan_all=True)
    for name, limit in (("a", 4), ("b", 6), ("c", 7), ("d", 8), ("e", 100)):
        w.sbatch(f"-J {name} -N1 -t {limit}", at=4)
    w.sbatch("-J wide -N3 -t 5", 10, at=8)
    w.until(35)
    assert w.planned("wide")[0] == starts


@pytest.mark.parametrize(("nodes", "starts"), [(1, 140), (2, 140), (3, 155), (4, 190), (5, 400)])
def test_batches_of_ends(nodes: int, starts: int) -> None:
    """Ends at 100, 140, 155, 190, 400: the first rounds up to 120, so the batches end at 150, 180, 240, 600."""
    w = World(simple(5, more="SchedulerParameters=bf_interval=1"), "backfill", plan_all=True)
    for at, limit in ((10, 3), (20, 2), (35, 2), (40, 1), (40, 6)):
        w.sbatch(f"-J j{at}-{limit} -N1 -t {limit}", at=at)
    w.sbatch(f"-J wide -N{nodes} -t 5", 10, at=44)
    w.until(50)
    assert sorted(end for end, *_ in w.controller.state.running) == [100, 140, 155, 190, 400]
    assert w.planned("wide")[0] == starts


def test_a_quick_pass_examines_one_more_than_its_depth() -> None:
    parts = "PartitionName=p Nodes=n1 Default=YES\nPartitionName=q Nodes=n[2-4]"
    w = World(conf(parts, "SchedulerParameters=default_queue_depth=2"), "builtin")
    w.sbatch("-J run -N1 --exclusive -t 10", 1000, at=4)
    for name in ("a", "b"):
        w.sbatch(f"-J {name} -n1 -t 10", 10, at=8)
    for name in ("third", "fourth"):
        w.sbatch(f"-J {name} -p q -n1 -t 10", 10, at=8)
    w.until(100)
    assert w.starts("third fourth") == {"third": 8, "fourth": 18}  # its end brings the next pass
