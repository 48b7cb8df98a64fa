"""Which cycles the kernel plans, and which it walks: the cases of decision 0020, a line each."""

from __future__ import annotations

import pytest
from unit.core.world import World, simple

from slurmsim.model.accounting import Accounting, Association, Limits, Qos

PEOPLE = (Association("root"), Association("a", parent="root"), Association("a", user="alice", is_default=True))
LIMITED = Accounting(PEOPLE, (Qos("normal", limits=Limits(grp_jobs=1)),))
WHOLE = simple(2, 2).replace("cons_tres\nSelectTypeParameters=CR_Core", "linear")
ENFORCED = "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageEnforce=limits,qos\n"
TIERS = "PreemptType=preempt/partition_prio\nPreemptMode="
ALL, PLANS, NOTHING = ("plans", "walks"), ("plans",), ()


@pytest.mark.parametrize(
    ("conf", "line", "does"),
    [
        pytest.param(WHOLE, "-N2", ALL, id="whole nodes"),
        pytest.param(simple(2, 2), "-n1", ALL, id="shares"),
        pytest.param(simple(2, 2), "-N2 --exclusive", ALL, id="whole nodes where jobs may share"),
        pytest.param(WHOLE + ENFORCED, "-N2", ALL, id="limits on whole nodes"),
        pytest.param(simple(2, 2) + ENFORCED, "-N2 --exclusive", ALL, id="limits where all ask for whole nodes"),
        pytest.param(simple(2, 2) + ENFORCED, "-n1", PLANS, id="limits on shares"),
        pytest.param(f"{WHOLE}{ENFORCED}SchedulerParameters=assoc_limit_stop\n", "-N2", PLANS, id="limits that stop"),
        pytest.param(f"{WHOLE}SchedulerParameters=bf_max_job_user=5\n", "-N2", PLANS, id="counted tests"),
        pytest.param(f"{WHOLE}SchedulerParameters=bf_min_age_reserve=60\n", "-N2", PLANS, id="tests for now only"),
        pytest.param(f"{WHOLE}{TIERS}REQUEUE\n", "-N2", PLANS, id="preemption"),
        pytest.param(f"{simple(2, 2)}{TIERS}SUSPEND,GANG\n", "-n1", NOTHING, id="suspension"),
        pytest.param(simple(2, 2, partition="OverSubscribe=FORCE:2"), "-n1", NOTHING, id="shared cores"),
        pytest.param(simple(2, 2, partition="ExclusiveUser=YES"), "-n1", NOTHING, id="nodes for one user alone"),
    ],
)
def test_what_the_kernel_does(conf: str, line: str, does: tuple[str, ...]) -> None:
    assert part_of(conf, line) == does


def test_the_future_test_of_newer_releases_is_not_the_kernels() -> None:
    assert part_of(WHOLE, "-N2", release="24.11") == NOTHING


def test_the_option_takes_all_from_the_kernel() -> None:
    assert part_of(WHOLE, "-N2", policy="backfill:atoms=0") == NOTHING


def part_of(conf: str, line: str, *, policy: str = "backfill:atoms=1", release: str = "22.05") -> tuple[str, ...]:
    """What the kernel does of a cycle over a queue of such jobs."""
    world = World(conf, policy, accounting=LIMITED if ENFORCED in conf else None, release=release)
    for name in "ab":
        world.sbatch(f"-J {name} -t 10 {line}", 600, at=1)
    world.until(2)
    host = world.controller.host
    part = host.policy._kernel_part(host.view, [host.view.records()], False)
    return tuple(name for name in ("plans", "walks") if getattr(part, name))
