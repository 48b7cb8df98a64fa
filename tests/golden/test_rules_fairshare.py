"""Usage, decay, Fair Tree and age: scenarios recorded with slurmctld 22.05.8.

Times are seconds after 08:00:00 of the recording. The priority thread's phase is not recorded; where usage shows it, it
is given as `start`. Columns are those of sshare: RawUsage (cut to whole seconds) and FairShare.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.core.world import HEAD, World

from slurmsim.config.accounting.load import load_accounting
from slurmsim.core.accounting.fairshare import FairTree
from slurmsim.core.records.messages import Hold, NodesDrain, NodesResume, Release, SetNice, SetPriority
from slurmsim.states import NODES_REQUIRED_TEXT

TREE = """add cluster oracle
add account sci Fairshare=60
add account eng Fairshare=40
add account phys parent=sci Fairshare=2
add account chem parent=sci Fairshare=1
add user alice Account=phys Fairshare=1
add user bob Account=phys Fairshare=3
add user carol Account=chem Fairshare=1
add user dave Account=eng Fairshare=1
"""
ALL = ("n1", "n2", "n3", "n4")


def world(tmp_path: Path, accounts: str, more: str, start: int, *, nodes: str = "n[1-4]") -> World:
    file = tmp_path / "sacctmgr.txt"
    file.write_text(accounts, encoding="utf-8")
    conf = (
        f"{HEAD}MinJobAge=100000\nSchedulerParameters=bf_interval=10,bf_resolution=60\n"
        f"PriorityType=priority/multifactor\nAccountingStorageType=accounting_storage/slurmdbd\nPriorityCalcPeriod=1\n"
        f"{more}\nNodeName={nodes} Sockets=1 CoresPerSocket=4 RealMemory=8000\n"
        f"PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE\n"
    )
    return World(conf, "backfill", start=start, accounting=load_accounting([file]))


def sshare(w: World) -> dict[str, tuple[int, float | None]]:
    """RawUsage of accounts; RawUsage and FairShare of users, as ``account/user``."""
    recalculation = w.controller.recalculation
    tree, shares = w.controller.state.tree, recalculation.shares
    assert tree is not None and shares is not None
    recalculation.catch_up(w.now + 1)  # nobody may have needed the last runs yet
    found: dict[str, tuple[int, float | None]] = {}
    for branch in tree.branches:
        factor = round(float(shares.factors[branch.row]), 6) if branch.is_user else None
        name = f"{branch.spec.account}/{branch.spec.user}" if branch.is_user else branch.spec.account
        found[name] = (int(branch.ledger.used_s), factor)
    return found


def test_ranks_start_order_and_decay(tmp_path: Path) -> None:
    """fairtree: with associations only, what was used after the last run of the thread is lost at a job's end."""
    more = "AccountingStorageEnforce=associations\nPriorityDecayHalfLife=00:05:00\nPriorityWeightFairshare=10000"
    w = world(tmp_path, TREE, more, start=11)
    w.until(72)
    assert set(sshare(w).values()) == {(0, 1.0), (0, None)}  # no usage: everybody ranks first
    w.sbatch("-J u1 -n4 -t 5", 90, at=77)
    w.sbatch("-J u2 -n8 -t 5", 60, at=77, user="carol")
    w.until(77)
    assert w.starts("u1 u2") == {"u1": 77, "u2": 77}
    w.until(224)
    assert sshare(w) == {
        "root": (497, None), "root/root": (0, 1.0), "eng": (0, None), "eng/dave": (0, 1.0), "sci": (497, None),
        "chem": (331, None), "chem/carol": (331, 0.2), "phys": (165, None), "phys/alice": (165, 0.4),
        "phys/bob": (0, 0.6),
    }  # fmt: skip
    w.tell(NodesDrain(ALL, "wait"), 224)
    for user in ("alice", "bob", "carol", "dave"):
        w.sbatch(f"-J {user} -N4 -n16 -t 1", 15, at=225, user=user)
    w.until(228)
    assert {user: w[user].priority for user in ("alice", "bob", "carol", "dave")} == {
        "alice": 4000, "bob": 6000, "carol": 2000, "dave": 10000,
    }  # fmt: skip
    assert w.reason("dave") == NODES_REQUIRED_TEXT  # first in line; the others what sbatch found
    assert set(w.reasons("alice bob carol").values()) == {"ReqNodeNotAvail, UnavailableNodes:n[1-4]"}
    w.tell(NodesResume(ALL), 229)
    w.until(379)
    starts = w.starts("dave bob alice carol")
    assert list(starts.values()) == sorted(starts.values()) and None not in starts.values()
    # the whole-cluster jobs left a trace only where they ran at a run of the thread


def test_usage_halves_in_a_half_life(tmp_path: Path) -> None:
    """fairtree, last 300 s: 400 -> 199, and with it every branch, while ranks and ratios stay."""
    more = "AccountingStorageEnforce=associations\nPriorityDecayHalfLife=00:05:00\nPriorityWeightFairshare=10000"
    w = world(tmp_path, TREE, more, start=11)
    w.sbatch("-J u1 -n4 -t 5", 200, at=74)
    w.sbatch("-J u2 -n8 -t 5", 200, at=74, user="carol")
    w.until(379)
    before = sshare(w)
    w.until(679)
    after = sshare(w)
    assert {name: factor for name, (_, factor) in after.items()} == {name: f for name, (_, f) in before.items()}
    for name, (used, _) in before.items():
        assert after[name][0] == pytest.approx(used * (1 - 0.693 / 300) ** 300, abs=1)


def test_with_limits_usage_is_added_at_the_end(tmp_path: Path) -> None:
    """fairtree-limits: 8 CPUs for 20 s are 152 at once; the fair shares wait for the thread."""
    accounts = """add cluster oracle
add account sci Fairshare=60
add account eng Fairshare=40
add user alice Account=sci Fairshare=1
add user bob Account=sci Fairshare=3
add user carol Account=eng Fairshare=1
add user dave Account=eng Fairshare=1
"""
    more = "AccountingStorageEnforce=associations,limits\nPriorityDecayHalfLife=00:05:00\nPriorityWeightFairshare=10000"
    w = world(tmp_path, accounts, more, start=63)
    w.sbatch("-J u1 -n4 -t 5", 91, at=69)
    w.sbatch("-J u2 -n8 -t 5", 20, at=69, user="carol")
    w.until(92)
    assert w.starts("u1 u2") == {"u1": 69, "u2": 69}
    assert sshare(w) == {
        "root": (152, None), "root/root": (0, 1.0), "eng": (152, None), "eng/carol": (152, 1.0), "eng/dave": (0, 1.0),
        "sci": (0, None), "sci/alice": (0, 1.0), "sci/bob": (0, 1.0),
    }  # fmt: skip
    w.until(167)
    assert {name: factor for name, (_, factor) in sshare(w).items() if factor is not None} == {
        "root/root": 1.0, "eng/carol": 0.2, "eng/dave": 0.4, "sci/alice": 0.6, "sci/bob": 0.8,
    }  # fmt: skip
    assert {name: sshare(w)[name][0] for name in ("root", "eng", "sci")} == {"root": 459, "eng": 132, "sci": 326}
    w.sbatch("-J u3 -N4 -n16 -t 1", 15, at=169, user="dave")
    w.until(188)
    found = sshare(w)
    assert {name: factor for name, (_, factor) in found.items() if factor is not None} == {
        "root/root": 1.0, "eng/dave": 0.2, "eng/carol": 0.4, "sci/alice": 0.6, "sci/bob": 0.8,
    }  # fmt: skip
    assert {name: used for name, (used, _) in found.items() if used} == {
        "root": 632, "eng": 348, "eng/carol": 115, "eng/dave": 232, "sci": 284, "sci/alice": 284,
    }  # fmt: skip
    w.until(248)
    assert {name: used for name, (used, _) in sshare(w).items() if used} == {
        "root": 550, "eng": 303, "eng/carol": 100, "eng/dave": 202, "sci": 247, "sci/alice": 247,
    }  # fmt: skip


def test_ties(tmp_path: Path) -> None:
    """fairtree-ties: the later created of two equal accounts first; the other's best user shares the last rank."""
    accounts = """add cluster oracle
add account aa Fairshare=10
add account bb Fairshare=10
add account cc Fairshare=10
add user alice Account=aa Fairshare=1
add user bob Account=aa Fairshare=1
add user carol Account=bb Fairshare=1
add user dave Account=bb Fairshare=1
add user bob Account=cc Fairshare=1
"""
    more = "AccountingStorageEnforce=associations,limits\nPriorityDecayHalfLife=1-0\nPriorityWeightFairshare=10000"
    w = world(tmp_path, accounts, more, start=16)
    w.tell(NodesDrain(ALL, "wait"), 80)
    w.sbatch("-J t1 -n4 -t 10", 1000, at=80)
    w.sbatch("-J t2 -n4 -t 10", 1000, at=80, user="carol")
    w.tell(NodesResume(ALL), 85)
    w.until(159)
    assert w.starts("t1 t2") == {"t1": 85, "t2": 85}
    assert sshare(w) == {
        "root": (407, None), "root/root": (0, 1.0), "aa": (203, None), "bb": (203, None), "cc": (0, None),
        "aa/alice": (203, 0.166667), "aa/bob": (0, 0.5), "bb/carol": (203, 0.5), "bb/dave": (0, 0.666667),
        "cc/bob": (0, 1.0),
    }  # fmt: skip
    w.sbatch("-A bb -J t3 -n2 -t 10", 1000, at=160, user="dave")
    w.until(239)
    assert {name: factor for name, (_, factor) in sshare(w).items() if factor is not None} == {
        "root/root": 1.0, "aa/alice": 0.5, "aa/bob": 0.666667, "bb/carol": 0.166667, "bb/dave": 0.333333,
        "cc/bob": 1.0,
    }  # fmt: skip
    shares = w.controller.recalculation.shares
    assert isinstance(shares, FairTree) and w.controller.state.tree is not None
    level = {b.spec.account: shares.level_fs[b.row] for b in w.controller.state.tree.branches if not b.is_user}
    assert level["aa"] == pytest.approx(0.697492, abs=2e-3) and level["bb"] == pytest.approx(0.600135, abs=2e-3)


def test_age_hold_dependency_and_fixed_priorities(tmp_path: Path) -> None:
    """priority-age: age, size, TRES and nice; a hold does not stop the clock of a job that was eligible before."""
    more = """SelectTypeParameters=CR_Core_Memory
AccountingStorageEnforce=associations
PriorityMaxAge=00:10:00
PriorityWeightAge=1000
PriorityWeightJobSize=400
PriorityWeightTRES=cpu=2000,mem=500
DefMemPerCPU=100"""
    file = tmp_path / "sacctmgr.txt"
    file.write_text("add cluster oracle\nadd account acc\nadd user alice,bob,carol,dave Account=acc\n", "utf-8")
    conf = (
        f"{HEAD.replace('CR_Core', 'CR_Core_Memory')}MinJobAge=100000\nSchedulerParameters=bf_interval=10\n"
        f"PriorityType=priority/multifactor\nAccountingStorageType=accounting_storage/slurmdbd\nPriorityCalcPeriod=1\n"
        f"{more.partition(chr(10))[2]}\nNodeName=n[1-2] Sockets=1 CoresPerSocket=4 RealMemory=4000\n"
        f"PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE\n"
    )
    w = World(conf, "backfill", start=37, accounting=load_accounting([file]))
    w.sbatch("-J run -N2 --exclusive -t 10", 401, at=40)
    w.until(45)
    w.sbatch("-J p1 -n1 -t 5", 20, at=46)
    w.sbatch("-J p2 -n4 -t 5", 20, at=46, user="bob")
    w.sbatch("-J p3 -n2 --mem=3000 -t 5", 20, at=46, user="bob")
    w.sbatch("-J p4 -n2 --nice=100 -t 5", 20, at=46, user="carol")
    w.sbatch("-J p5 -n2 -t 5", 20, at=46, user="carol")
    w.sbatch("-J p6 -n2 -H -t 5", 20, at=46, user="dave")
    w.sbatch("-J p7 -n2 -d afterok:1 -t 5", 20, at=46, user="dave")
    w.until(52)
    names = ("p1", "p2", "p3", "p4", "p5", "p6", "p7")
    assert [w[name].priority for name in names] == [381, 1225, 837, 562, 662, 0, 662]
    assert w.reasons("p2 p3 p6 p7") == {
        "p2": "Resources", "p3": "Priority", "p6": "JobHeldUser", "p7": "Dependency",
    }  # fmt: skip
    w.until(112)
    assert [w[name].priority for name in names] == [466, 1310, 922, 647, 747, 0, 662]
    w.tell(Hold(w.id("p1")), 113)
    w.tell(SetNice(w.id("p4"), 0), 113)  # scontrol top exchanges the nice values of carol's jobs
    w.tell(SetNice(w.id("p5"), 100), 113)
    w.tell(Release(w.id("p1")), 175)
    w.tell(Release(w.id("p6")), 175)
    w.tell(SetPriority(w.id("p5"), 5), 175)
    w.tell(SetNice(w.id("p3"), 50), 175)
    w.until(245)
    # p1 has the age of a job that was never held, p6 that of one submitted at its release; p5 keeps its priority
    assert [w[name].priority for name in names] == [666, 1510, 1072, 947, 5, 732, 662]
    w.until(500)
    run = w["run"].end_time
    assert run is not None
    assert w.starts("p2 p3 p4 p1 p5 p6 p7") == {
        "p2": run, "p3": run, "p4": run, "p1": run + 20, "p5": run + 20, "p6": run + 20, "p7": run + 20,
    }  # fmt: skip
    assert [w[name].priority for name in names] == [1066, 1810, 1372, 1247, 5, 1132, 689]
    assert w["p7"].eligible_time == w["run"].end_time == 441
