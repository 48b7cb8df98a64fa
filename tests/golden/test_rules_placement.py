"""Sharing, constraints, GRES, switches, spreading: scenarios recorded with slurmctld 22.05.8.

Times are seconds after 08:00:00 of the recording, when slurmctld started. Only what the recordings show is asserted;
where a job started a little later there (its commands took time), the order and the nodes are what counts.
"""

from __future__ import annotations

from unit.core.world import HEAD, World

from slurmsim.states import NODES_REQUIRED_TEXT

TEXT = "Requested node configuration is not available"
SHARING = f"""{HEAD}SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=10,bf_resolution=60
KillWait=5
DefMemPerCPU=100
NodeName=n[1-3] Sockets=1 CoresPerSocket=4 RealMemory=1600
PartitionName=force Nodes=ALL Default=YES OverSubscribe=FORCE:2 MaxTime=INFINITE
PartitionName=yes Nodes=ALL OverSubscribe=YES:2 MaxTime=INFINITE
PartitionName=excl Nodes=ALL OverSubscribe=EXCLUSIVE MaxTime=INFINITE
PartitionName=no Nodes=ALL OverSubscribe=NO MaxTime=INFINITE
PartitionName=user Nodes=ALL ExclusiveUser=YES MaxTime=INFINITE
""".replace("SelectTypeParameters=CR_Core\n", "", 1)


def clear(w: World, at: int) -> None:
    """scancel of all jobs, pending ones first."""
    for name, job in list(w.jobs.items()):
        if job.id in w.controller.state.jobs:
            w.scancel(name, at)
    w.until(at)


def test_forced_sharing() -> None:
    """oversubscribe: FORCE:2 gives each core two jobs, also to whom did not ask for it."""
    w = World(SHARING, "backfill", plan_all=True)
    w.sbatch("-p force -J f1 -N3 -n12 -t 5", at=4)
    w.sbatch("-p force -J f2 -N2 -n8 -t 5", at=4)
    w.sbatch("-p force -J f3 -N1 -n4 -t 5", at=4, user="bob")
    w.sbatch("-p force -J f4 -N1 -n2 -t 5", at=4, user="bob")
    w.sbatch("-p force -J f5 -N1 -n1 --exclusive -t 5", at=4, user="carol")
    w.until(20)
    assert [(w.nodes(n), w[n].n_cpus) for n in ("f1", "f2", "f3")] == [("n[1-3]", 12), ("n[1-2]", 8), ("n3", 4)]
    assert w.reasons("f4 f5") == {"f4": "Resources", "f5": "Priority"}
    assert (w.planned("f4")[0], w.planned("f5")[0]) == (w["f1"].end_limit, w["f1"].end_limit)
    w.scancel("f2", 21)
    w.until(40)
    assert (w.nodes("f4"), w.nodes("f5"), w.shares("f5")) == ("n1", "n2", "4")  # all cores of a row, beside f1


def test_sharing_on_request() -> None:
    """oversubscribe: YES:2 shares among jobs with -s only; a job without blocks and is blocked."""
    w = World(SHARING, "backfill", plan_all=True)
    w.sbatch("-p yes -J y1 -N3 -n12 -t 5", at=35)
    w.sbatch("-p yes -J y2 -s -N2 -n8 -t 5", at=35)
    w.until(43)
    assert (w.state("y1"), w.reason("y2"), w.planned("y2")[0]) == ("RUNNING", "Resources", w["y1"].end_limit)
    clear(w, 44)
    w.sbatch("-p yes -J y3 -s -N3 -n12 -t 5", at=65)
    w.sbatch("-p yes -J y4 -s -N1 -n4 -t 5", at=65, user="bob")
    w.sbatch("-p yes -J y5 -N1 -n1 -t 5", at=65, user="bob")
    w.sbatch("-p no -J y6 -s -N1 -n1 -t 5", at=65, user="bob")
    w.until(73)
    assert (w.nodes("y3"), w.nodes("y4")) == ("n[1-3]", "n1")
    assert w.reasons("y5 y6") == {"y5": "Resources", "y6": NODES_REQUIRED_TEXT}
    assert w.planned("y5")[0] == w["y3"].end_limit


def test_exclusive_partition() -> None:
    """oversubscribe: whole nodes, all CPUs counted, though -s is given."""
    w = World(SHARING, "backfill", plan_all=True)
    w.sbatch("-p excl -J e1 -n1 -t 5", at=94)
    w.sbatch("-p excl -J e2 -s -n1 -t 5", at=94, user="bob")
    w.sbatch("-p no -J e3 -n2 -t 5", at=94, user="carol")
    w.sbatch("-p no -J e4 -n3 -t 5", at=94, user="carol")
    w.until(102)
    assert [(w.nodes(n), w[n].n_cpus) for n in ("e1", "e2", "e3")] == [("n1", 4), ("n2", 4), ("n3", 2)]
    assert w.reason("e4") == "Resources"


def test_nodes_of_one_user() -> None:
    """oversubscribe: ExclusiveUser and --exclusive=user; a job of another user waits with Resources."""
    w = World(SHARING, "backfill", plan_all=True)
    w.sbatch("-p user -J u1 -n1 -t 5", at=124, user="alice")
    w.sbatch("-p user -J u2 -n1 -t 5", at=124, user="bob")
    w.sbatch("-p user -J u3 -n3 -t 5", at=124, user="alice")
    w.sbatch("-p no -J u4 -n1 --exclusive=user -t 5", at=124, user="bob")
    w.sbatch("-p no -J u5 -n1 -t 5", at=124, user="alice")
    w.sbatch("-p no -J u6 -n1 --exclusive=user -t 5", at=124, user="carol")
    w.until(134)
    assert {n: w.nodes(n) for n in ("u1", "u2", "u3", "u4", "u5")} == {
        "u1": "n1", "u2": "n2", "u3": "n1", "u4": "n2", "u5": "n3",
    }  # fmt: skip
    assert (w.reason("u6"), w.planned("u6")[0]) == ("Resources", None)
    w.scancel("u5", 140)
    w.until(150)
    assert w.nodes("u6") == "n3"


PLACEMENT = f"""{HEAD}SchedulerParameters=bf_interval=10
KillWait=5
NodeName=n[1-3] Sockets=1 CoresPerSocket=4 RealMemory=4000 Feature=a,slow
NodeName=n[4-6] Sockets=1 CoresPerSocket=4 RealMemory=4000 Feature=b,fast Weight=5
NodeName=n[7-8] Sockets=1 CoresPerSocket=4 RealMemory=4000 Feature=a,fast
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
PartitionName=lln Nodes=ALL LLN=YES MaxTime=INFINITE
"""


def test_best_fit() -> None:
    """placement, first group."""
    w = World(PLACEMENT, "backfill")
    w.sbatch("-J w -n1 -t 5", 20, at=7)
    w.sbatch("-J x -n6 -t 5", 20, at=7)
    w.sbatch("-J y -N2 -n2 -x n[1-2] -t 5", 20, at=7)
    w.sbatch("-J z -w n5 -N2 -n2 -t 5", 20, at=7)
    w.until(10)
    assert {n: w.nodes(n) for n in "wxyz"} == {"w": "n7", "x": "n[7-8]", "y": "n[3,8]", "z": "n[5-6]"}


def test_constraints() -> None:
    """placement: features, counts, one kind for all nodes."""
    w = World(PLACEMENT, "backfill", plan_all=True)
    w.sbatch("-J f1 -C fast -N1 -n1 -t 5", 20, at=44)
    w.sbatch("-J f2 -C a&fast -N1 -n1 -t 5", 20, at=44)
    w.sbatch("-C b|slow -J f3 -N3 -n12 -t 5", 20, at=44)
    w.sbatch("-C [a*1&b*2] -J f4 -N3 --exclusive -t 5", 20, at=44)
    w.sbatch("-C [slow|b] -J f5 -N2 --exclusive -t 5", 20, at=44, user="bob")
    w.sbatch("-C nosuch -J f6 -n1 -t 5", 20, at=44, user="bob")
    w.until(55)
    assert {n: w.nodes(n) for n in ("f1", "f2", "f3", "f4")} == {
        "f1": "n7", "f2": "n7", "f3": "n[1-3]", "f4": "n[4-5,8]",
    }  # fmt: skip
    assert (w.reason("f5"), w.planned("f5")[0]) == ("Resources", w["f3"].end_limit)
    assert w.refused == {"f6": "Invalid feature specification"}
    w.until(100)
    assert w.nodes("f5") == "n[1-2]"  # three slow nodes were free before


def test_contiguous_spread_least_loaded() -> None:
    """placement: --contiguous waits for three in a row; --spread-job; LLN; --use-min-nodes."""
    w = World(PLACEMENT, "backfill", plan_all=True)
    w.sbatch("-J h -w n3 -n1 -t 5", 200, at=134, user="carol")
    w.sbatch("-J i -w n6 --exclusive -t 5", 200, at=134, user="carol")
    w.sbatch("--contiguous -J j -N3 --exclusive -t 5", 30, at=141, user="dave")
    w.sbatch("-J k -N3 --exclusive -t 5", 30, at=141, user="dave")
    w.until(144)
    assert (w.reason("j"), w.planned("j")[0]) == ("Resources", w["h"].end_limit)
    w.until(160)
    assert (w.nodes("k"), w.state("j")) == ("n[4,7-8]", "PENDING")
    w.scancel("j", 187)
    w.sbatch("--spread-job -J l -n4 -t 5", 30, at=190, user="dave")
    w.sbatch("-p lln -J m -n1 -t 5", 60, at=190, user="bob")
    w.sbatch("-p lln -J n -n2 -t 5", 60, at=190, user="bob")
    w.sbatch("-p lln -J o -n1 -t 5", 60, at=190, user="bob")
    w.sbatch("--use-min-nodes -N1-4 -n4 -J p -t 5", 60, at=190)
    w.sbatch("-N1-4 -n4 -J p2 -t 5", 60, at=190)
    w.until(200)
    assert {n: w.nodes(n) for n in ("l", "m", "n", "o", "p", "p2")} == {
        "l": "n[1-3,7]", "m": "n8", "n": "n1", "o": "n2", "p": "n[1-3]", "p2": "n[3-4,7-8]",
    }  # fmt: skip


GRES = f"""{HEAD}SchedulerParameters=bf_interval=10,bf_resolution=60
KillWait=5
GresTypes=gpu
NodeName=n[1-2] Sockets=1 CoresPerSocket=8 RealMemory=8000 Gres=gpu:a:2
NodeName=n[3-4] Sockets=1 CoresPerSocket=8 RealMemory=8000 Gres=gpu:b:4
NodeName=n5 Sockets=1 CoresPerSocket=8 RealMemory=8000
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
"""


def test_gres() -> None:
    """gres: GPUs per node, job and task; what can never be is refused."""
    w = World(GRES, "backfill", plan_all=True)
    w.sbatch("--gres=gpu:1 -J g1 -n1 -t 5", 61, at=8)
    w.sbatch("--gres=gpu:a:2 -J g2 -n1 -t 10", 201, at=8)
    w.sbatch("--gres=gpu:b:3 -J g3 -n1 -t 10", 101, at=8)
    w.sbatch("--gpus=4 -J g4 -t 10", 101, at=8)
    w.sbatch("--gpus-per-node=1 -N2 -J g5 -t 10", 101, at=8)
    w.sbatch("-n2 -J c1 -t 10", 101, at=8)
    w.until(16)
    gres = {
        n: (w.nodes(n), w.controller.state.cluster.gres_per_node(w[n].alloc))
        for n in ("g1", "g2", "g3", "g4", "g5", "c1")
    }
    assert gres == {
        "g1": ("n1", "gpu:a:1"), "g2": ("n2", "gpu:a:2"), "g3": ("n3", "gpu:b:3"), "g4": ("n4", "gpu:b:4"),
        "g5": ("n[1,3]", "gpu:a:1,0,gpu:b:0,1"), "c1": ("n1", ""),
    }  # fmt: skip
    w.sbatch("--gres=gpu:a:1 -J w1 -n1 -t 5", 30, at=17)
    w.sbatch("--gres=gpu:2 -J w2 -n1 -t 5", 30, at=17)
    w.sbatch("--gpus=6 -J w3 -t 5", 30, at=17)
    w.sbatch("--gpus-per-task=1 -n3 -J w4 -t 5", 30, at=17)
    w.sbatch("--gres=gpu:a:3 -J x1 -t 5", 30, at=17)
    w.sbatch("--gres=gpu:zz:1 -J x2 -t 5", 30, at=17)
    w.sbatch("--gpus=99 -J x3 -t 5", 30, at=17)
    w.sbatch("-N3 --gres=gpu:a:1 -J x4 -t 5", 30, at=17)
    w.sbatch("-J c2 -n20 -t 5", 30, at=18)
    w.until(33)
    assert w.refused == dict.fromkeys(("x1", "x2", "x3", "x4"), TEXT)
    assert w.reasons("w1 w2 w3 w4") == {"w1": "Resources", "w2": "Priority", "w3": "Priority", "w4": "Priority"}
    assert (w.nodes("c2"), w["c2"].scheduler) == ("n[2-4]", "Backfill")
    w.until(123)
    # the GPUs of g3, g4 and g5 came back in one second
    assert (w.nodes("w2"), w.nodes("w3"), w["w3"].n_cpus, w.state("w4")) == ("n1", "n[3-4]", 2, "PENDING")
    assert w.reason("w4") == "Resources"
    w.until(200)
    assert w.start("w4") == w["w3"].end_time


TOPOLOGY = f"""{HEAD}SchedulerParameters=bf_interval=10
KillWait=5
TopologyPlugin=topology/tree
NodeName=n[1-6] Sockets=1 CoresPerSocket=4 RealMemory=8000
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
"""
SWITCHES = "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-6]\nSwitchName=top Switches=s[1-2]\n"


def test_switches() -> None:
    """topology: the tightest leaf first; --switches=1@00:01:00 waits a minute, then takes two at the next pass."""
    w = World(TOPOLOGY, "backfill", topology=SWITCHES, start=21)  # full passes 21 s after the minute, as recorded
    w.sbatch("-J a -N1 --exclusive -t 5", 101, at=67)
    w.sbatch("-J b -N2 --exclusive -t 5", 101, at=67)
    w.until(72)
    assert (w.nodes("a"), w.nodes("b")) == ("n1", "n[3-4]")
    w.sbatch("-J c -N3 --exclusive --switches=1@60 -t 5", 60, at=72)
    w.sbatch("-J d -N1 -n1 -t 1", 20, at=78)
    w.until(132)
    assert (w.state("c"), w.reason("c"), w.state("d")) == ("PENDING", "Resources", "COMPLETED")
    w.until(150)
    assert (w.nodes("c"), w.start("c")) == ("n[2,5-6]", 141)
