"""Billing, decay, resets, the classic formula, the factors of priority/multifactor, who accrues age."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from unit.core.world import HEAD, World, simple

from slurmsim.core.accounting.fairshare import Classic, FairTree, ShareTree
from slurmsim.core.accounting.usage_decay import decay_factor, next_reset
from slurmsim.core.queue.priority import Multifactor
from slurmsim.core.records.associations import AssociationTree
from slurmsim.core.records.messages import AlterPartition, Hold, Release
from slurmsim.model.accounting import PARENT_SHARES, Accounting, Association, Limits, Qos

MULTI = "PriorityType=priority/multifactor\nAccountingStorageType=accounting_storage/slurmdbd\nPriorityCalcPeriod=1\n"
PEOPLE = (
    Association("root"), Association("aa", parent="root", shares=3), Association("bb", parent="root"),
    Association("aa", "alice", is_default=True), Association("aa", "bob", shares=2, is_default=True),
    Association("bb", "carol", is_default=True),
)  # fmt: skip
QOS = (Qos("normal"), Qos("high", priority=100), Qos("low", priority=5))


def multi(more: str, people: tuple[Association, ...] = PEOPLE, qos: tuple[Qos, ...] = QOS, *, conf: str = "") -> World:
    return World(conf or simple(4, 4, MULTI + more), "backfill", accounting=Accounting(people, qos))


def used(w: World) -> dict[str, float]:
    tree = w.controller.state.tree
    assert tree is not None
    return {b.spec.user or b.spec.account: b.ledger.used_s for b in tree.branches}


# -- usage ------------------------------------------------------------------------------------------------------------


def test_decay_halves_in_about_a_half_life() -> None:
    assert decay_factor(3600) ** 3600 == pytest.approx(0.5, abs=1e-3)
    assert decay_factor(0) == 1.0


@pytest.mark.parametrize(
    ("period", "next_one"),
    [("DAILY", "2024-02-29"), ("WEEKLY", "2024-03-03"), ("MONTHLY", "2024-03-01"), ("QUARTERLY", "2024-04-01"),
     ("YEARLY", "2025-01-01")],
)  # fmt: skip
def test_usage_is_reset_at_midnights(period: str, next_one: str) -> None:
    last = int(datetime(2024, 2, 28, 13, 5, 7, tzinfo=UTC).timestamp())  # a Wednesday
    expected = int(datetime.fromisoformat(next_one).replace(tzinfo=UTC).timestamp())
    assert next_reset(period, last) == expected


def test_last_quarter_and_sunday() -> None:
    december = int(datetime(2023, 12, 31, tzinfo=UTC).timestamp())  # a Sunday
    assert next_reset("QUARTERLY", december) == december + 86400
    assert next_reset("WEEKLY", december) == december + 7 * 86400
    assert next_reset("NONE", december) is None and next_reset("NOW", december) is None


def test_a_reset_forgets_what_was_used() -> None:
    more = "PriorityWeightFairshare=100\nPriorityDecayHalfLife=0\nPriorityUsageResetPeriod=DAILY"
    w = multi(more)
    w.sbatch("-n4 -t 2000", 90_000, at=86_400 - 1200)
    w.until(86_400 - 1)
    w.controller.recalculation.catch_up(86_400)
    assert used(w)["alice"] == 1140 * 4  # without decay, up to the last run of the thread
    w.until(86_400 + 61)
    w.controller.recalculation.catch_up(86_400 + 61)
    assert used(w)["alice"] == 120 * 4


def test_what_is_billed() -> None:
    """TRESBillingWeights of the partition, MAX_TRES, UsageFactor; CPUs without weights."""
    gpus = f"{HEAD}GresTypes=gpu\nAccountingStorageTRES=gres/gpu\n{MULTI}PriorityDecayHalfLife=0\n"
    gpus += "PriorityWeightFairshare=1\nNodeName=n[1-2] CPUs=8 CoresPerSocket=8 RealMemory=64000 Gres=gpu:4\n"
    gpus += "PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED\n"
    weights = 'TRESBillingWeights="CPU=1.0,Mem=0.5G,GRES/gpu=3.0"'
    qos = (Qos("normal"), Qos("cheap", usage_factor=0.5))
    for extra, flags, bill in (("", "FAIR_TREE", 2.0), (weights, "FAIR_TREE", 2.0 + 0.5 * 8 + 3.0 * 2),
                               (weights, "MAX_TRES", 6.0), (weights, "MAX_TRES_GRES", 4.0 + 6.0)):  # fmt: skip
        conf = gpus.replace("MaxTime=UNLIMITED", f"MaxTime=UNLIMITED {extra}").replace(
            "SelectTypeParameters=CR_Core", f"SelectTypeParameters=CR_Core_Memory\nPriorityFlags={flags}"
        )
        for name, factor in (("normal", 1.0), ("cheap", 0.5)):
            w = multi("", qos=qos, conf=conf)
            w.sbatch(f"-n2 --mem 8192 --gres gpu:2 -t 60 --qos {name}", 600, at=0)
            w.until(3)
            assert w.start("1") == 3
            w.controller.recalculation.catch_up(121)
            assert used(w)["alice"] == bill * factor * 117, (extra, flags, name)
            assert used(w)["root"] == used(w)["aa"] == used(w)["alice"]


def test_tres_are_counted_only_with_limits() -> None:
    for enforce, expected in (("associations", {}), ("limits", {"cpu": 228, "mem": 0, "node": 57, "billing": 228})):
        w = multi(f"PriorityWeightFairshare=1\nPriorityDecayHalfLife=0\nAccountingStorageEnforce={enforce}")
        w.sbatch("-n4 -t 60", 600, at=0)
        w.until(3)
        w.controller.recalculation.catch_up(61)
        tree = w.controller.state.tree
        assert tree is not None
        assert tree.root.ledger.used_tres_s == expected
        assert tree.root.ledger.used_wall_s == 57


def test_the_periods_seconds_can_be_listened_to() -> None:
    w = multi("PriorityWeightAge=1")
    seen: list[tuple[int, int]] = []
    w.controller.recalculation.on_period.append(lambda since, now: seen.append((since, now)))
    w.sbatch("-N4 -n16 -t 60", 150, at=30)
    w.until(200)
    w.controller.recalculation.catch_up(200)
    assert seen[-3:] == [(0, 60), (60, 120), (120, 180)]


# -- shares -----------------------------------------------------------------------------------------------------------


def test_classic_factor() -> None:
    """Worked by hand: effective usage mixes the own and the account's."""
    tree = AssociationTree(Accounting(PEOPLE))
    amounts = np.array([100.0, 60.0, 40.0, 60.0, 0.0, 40.0])
    classic = Classic(ShareTree(tree))
    classic.settle(amounts)
    # alice: S = 3/4 · 1/3, U = 0.6, so U_E = 0.6 + (0.6 - 0.6)/3; bob: S = 3/4 · 2/3, U_E = 0 + 0.6 · 2/3
    assert classic.factor(3, amounts) == pytest.approx(2 ** -(0.6 / 0.25))
    assert classic.factor(4, amounts) == pytest.approx(2 ** -(0.4 / 0.5))
    assert classic.factor(5, amounts) == pytest.approx(2 ** -(0.4 / 0.25))
    damped = Classic(ShareTree(tree), damping=4)
    damped.settle(amounts)
    assert damped.factor(5, amounts) == pytest.approx(2 ** -(0.4 / 0.25 / 4))


def test_classic_keeps_a_user_until_the_next_period() -> None:
    tree = AssociationTree(Accounting(PEOPLE))
    classic = Classic(ShareTree(tree))
    zero = np.zeros(6)
    classic.settle(zero)
    assert classic.factor(5, zero) == 1.0
    amounts = np.array([40.0, 0.0, 40.0, 0.0, 0.0, 40.0])
    assert classic.factor(5, amounts) == 1.0
    classic.settle(amounts)
    assert classic.factor(5, amounts) == pytest.approx(2 ** -(1 / 0.25))


def test_depth_oblivious_gives_the_parent_and_the_own_ratio() -> None:
    tree = AssociationTree(Accounting(PEOPLE))
    amounts = np.array([100.0, 75.0, 25.0, 75.0, 0.0, 25.0])
    classic = Classic(ShareTree(tree), depth_oblivious=True)
    classic.settle(amounts)
    # aa used just its share (ratio 1, so k = 1); alice three times hers: R = 1 · 3
    assert classic.factor(4, amounts) == 1.0  # no usage of his own
    assert classic.factor(3, amounts) == pytest.approx(2 ** -(3 * 0.25 / 0.25), rel=1e-6)


def test_parent_shares() -> None:
    """A user with Fairshare=parent ranks highest in the account; in the classic formula it has the account's factor."""
    people = (Association("root"), Association("aa", parent="root"), Association("aa", "alice", shares=PARENT_SHARES),
              Association("aa", "bob"), Association("bb", parent="root"), Association("bb", "carol"))  # fmt: skip
    tree = AssociationTree(Accounting(people))
    amounts = np.array([100.0, 90.0, 60.0, 30.0, 10.0, 10.0])
    fair_tree = FairTree(ShareTree(tree))
    fair_tree.update(amounts)
    assert [round(float(fair_tree.factors[row]), 4) for row in (5, 2, 3)] == [1.0, 0.6667, 0.3333]
    classic = Classic(ShareTree(tree))
    classic.settle(amounts)
    assert classic.factor(2, amounts) == pytest.approx(2 ** -(0.9 / 0.5))


# -- factors ----------------------------------------------------------------------------------------------------------


def test_factors_as_sprio_showed_them() -> None:
    """accounting: fair share 10000 + size 352 + partition 50 - nice 100 (bob); size 562 + QOS 100 (carol)."""
    conf = f"""{HEAD}{MULTI}PriorityWeightAge=1000
PriorityWeightFairshare=10000
PriorityWeightJobSize=1000
PriorityWeightPartition=1000
PriorityWeightQOS=2000
NodeName=n[01-16] Sockets=2 CoresPerSocket=4
PartitionName=batch Nodes=n[01-14] Default=YES MaxTime=1-0
PartitionName=debug Nodes=n[01-04] PriorityJobFactor=20
PartitionName=scav Nodes=ALL
"""
    w = multi("", conf=conf)
    w.sbatch("-J wide -N10 -n10 -t 5 --nice=100 -H", 60, at=0, user="bob")
    w.sbatch("-J all -p scav -N16 -n16 -t 5 --qos low", 60, at=0, user="carol")
    w.tell(Release(w.id("wide")), 1)
    w.until(1)
    assert (w["wide"].priority, w["all"].priority) == (10301, 10712)


def test_raw_factors() -> None:
    people = (*PEOPLE[:3], Association("aa", "alice", priority=7, is_default=True),
              Association("bb", "bob", is_default=True), *PEOPLE[5:])  # fmt: skip
    more = "PriorityWeightQOS=10\nPriorityWeightAssoc=100\nPriorityWeightPartition=1\nPriorityWeightTRES=cpu=50\n"
    expected = {
        "FAIR_TREE": 10 + 100 + 1 + 25,
        "NO_NORMAL_ALL": 1000 + 700 + 9 + 400,
        "NO_NORMAL_QOS": 1000 + 100 + 1 + 25,
    }
    for flags, value in expected.items():
        conf = simple(4, 4, f"{MULTI}{more}PriorityFlags={flags}", "PriorityJobFactor=9")
        w = multi("", people, conf=conf)
        w.sbatch("-n8 -t 5 --qos high", 60, at=0)
        w.until(0)
        assert w["1"].priority == value, flags


def test_priorities_never_fall_with_incr_only() -> None:
    """carol's fair share drops from rank 3 to 1 while her job waits."""
    for flags, after in (("FAIR_TREE", 333), ("INCR_ONLY", 1000)):
        w = multi(f"PriorityWeightFairshare=1000\nPriorityFlags={flags}\nPriorityDecayHalfLife=1-0")
        w.sbatch("-N4 --exclusive -t 60", 3000, at=0, user="carol")
        w.sbatch("-J second -n1 -t 5", 60, at=10, user="carol")
        w.until(20)
        assert w["second"].priority == 1000
        w.until(130)
        assert w["second"].priority == after


def test_running_jobs_are_recalculated_on_demand() -> None:
    for flags, expected in (("FAIR_TREE", 1), ("CALCULATE_RUNNING", 500)):
        w = multi(f"PriorityWeightAge=1000\nPriorityMaxAge=10\nPriorityFlags={flags}")
        w.sbatch("-J run -N4 --exclusive -t 60", 3000, at=0)
        w.sbatch("-J wait -n1 -t 5", 60, at=10)
        w.until(300)
        assert w["run"].priority == expected


def test_age_counts_from_submission_with_accrue_always() -> None:
    for flags, expected in (("FAIR_TREE", [200, 1]), ("ACCRUE_ALWAYS", [200, 200])):
        w = multi(f"PriorityWeightAge=1000\nPriorityMaxAge=10\nPriorityFlags={flags}")
        w.sbatch("-J run -N4 --exclusive -t 60", 3000, at=0)
        w.sbatch("-J plain -n1 -t 5", 60, at=0)
        w.sbatch("-J late -n1 -t 5 --begin 119", 60, at=0)
        w.until(121)
        assert [w[name].priority for name in ("plain", "late")] == expected


def test_a_hold_ends_age_where_limits_are_enforced() -> None:
    for enforce, expected in (("associations", 300), ("limits", 100)):
        w = multi(f"PriorityWeightAge=1000\nPriorityMaxAge=10\nAccountingStorageEnforce={enforce}")
        w.sbatch("-J run -N4 --exclusive -t 60", 3000, at=0)
        w.sbatch("-J wait -n1 -t 5", 60, at=0)
        w.tell(Hold(w.id("wait")), 60)
        w.tell(Release(w.id("wait")), 120)
        w.until(181)
        assert w["wait"].priority == expected


def test_only_so_many_accrue_age() -> None:
    """MaxJobsAccrue=1 of the account: the second begins when the first has started."""
    people = (Association("root"), Association("aa", parent="root", limits=Limits(max_jobs_accrue=1)),
              Association("aa", "alice", is_default=True))  # fmt: skip
    w = multi("PriorityWeightAge=1000\nPriorityMaxAge=10\nAccountingStorageEnforce=limits", people)
    w.sbatch("-J run -N4 --exclusive -t 60", 100, at=0)
    w.sbatch("-J first -N4 --exclusive -t 60", 300, at=10)
    w.sbatch("-J second -N4 --exclusive -t 60", 300, at=10)
    w.until(90)
    assert (w["first"].accrue_time, w["second"].accrue_time) == (10, None)
    assert (w["first"].priority, w["second"].priority) == (83, 1)
    w.until(181)
    began = w["second"].accrue_time
    assert w.start("first") == 103 and began is not None and 103 <= began <= 121
    assert w["second"].priority == 1000 * (180 - began) // 600


def test_the_first_accrue_limit_hides_the_others() -> None:
    """A QOS without a limit for all but with one for each user: the association's is not looked at."""
    people = (Association("root"), Association("aa", parent="root", limits=Limits(max_jobs_accrue=1)),
              Association("aa", "alice", is_default=True))  # fmt: skip
    qos = (Qos("normal"), Qos("high", max_jobs_accrue_pu=2))
    w = multi("PriorityWeightAge=1000\nPriorityMaxAge=10\nAccountingStorageEnforce=limits", people, qos)
    w.sbatch("-J run -N4 --exclusive -t 60", 3000, at=0)
    for name in ("a", "b", "c"):
        w.sbatch(f"-J {name} -n1 -t 60 --qos high", 300, at=10)
    w.until(30)
    assert [w[name].accrue_time for name in ("a", "b", "c")] == [10, 10, None]


def test_without_a_database_age_and_fair_share_do_not_count() -> None:
    conf = simple(4, 4, "PriorityType=priority/multifactor\nPriorityWeightFairshare=1000\nPriorityWeightAge=1000\n")
    w = World(conf, "backfill", accounting=Accounting(PEOPLE, QOS))
    plugin = w.controller.priority
    assert isinstance(plugin, Multifactor)
    assert (plugin.w_fairshare, plugin.w_age, plugin.period_s) == (0, 0, None)
    w.sbatch("-n1 -t 5", 60, at=0)
    w.until(0)
    assert w["1"].priority == 1


def test_a_partition_that_changes_leaves_fair_share_and_qos_in_the_priorities() -> None:
    w = multi("PriorityWeightFairshare=1000\nPriorityWeightQOS=500\nPriorityWeightPartition=10\n")
    w.sbatch("-J run -N4 --exclusive -t 60 --qos high", 3000, at=0)
    w.sbatch("-J before -n1 -t 5 --qos high", 60, at=10)
    w.until(20)
    w.tell(AlterPartition(replace(w.controller.state.partitions[0].spec, max_time_s=7200)))
    w.sbatch("-J after -n1 -t 5 --qos high", 60, at=21)
    w.until(30)
    assert w["after"].priority == w["before"].priority > 1000


def test_without_a_database_a_partition_that_changes_leaves_priorities_as_they_were_at_submission() -> None:
    w = World(simple(4, 8, "PriorityType=priority/multifactor\nPriorityWeightJobSize=2000\n"), "backfill")
    w.sbatch("-J run -n1 -t 60", 3000, at=0)
    w.sbatch("-J all -N4 --exclusive -t 60", 60, at=10)
    w.until(100)
    asked = w["all"].priority
    w.tell(AlterPartition(replace(w.controller.state.partitions[0].spec, max_time_s=7200)))
    w.until(110)
    assert w["all"].tried_cpus == 32 and w["all"].priority == asked == 1125


def test_the_full_pass_of_a_minute_sees_the_new_priorities() -> None:
    """An unseen session, three times: 22.05's full pass comes after the thread's run and before a cycle knows of it."""
    conf = simple(4, 4, MULTI + "PriorityWeightFairshare=1000\nSchedulerParameters=bf_interval=5\n")
    w = World(conf, "backfill", accounting=Accounting(PEOPLE, QOS), plan_all=True)
    w.controller.state.triggers.ticks = True
    w.sbatch("-J runs -N 2 -n 8 -t 60", 900, at=5)
    w.sbatch("-J first -N 4 -n 16 -t 60", 900, at=15)
    w.sbatch("-J later -n 1 -t 120", 900, at=25, user="carol")
    w.until(59)
    assert w.start("later") is None
    w.until(60)
    assert (w.start("later"), w["later"].scheduler) == (60, "Main")
