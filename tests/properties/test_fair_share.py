"""Fair Tree, usage and priorities against naive recounts that walk jobs and branches one by one, as slurmctld does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.core.world import World, simple

from slurmsim.core.accounting import fairshare
from slurmsim.core.accounting.fairshare import Classic, FairTree, ShareTree
from slurmsim.core.queue.priority import Multifactor
from slurmsim.core.records.associations import AssociationTree, Branch
from slurmsim.kernel import load, priorities
from slurmsim.model.accounting import PARENT_SHARES, Accounting, Association, Qos

SHARES = st.sampled_from([PARENT_SHARES, 0, 1, 1, 2, 3])


@st.composite
def trees(draw: st.DrawFn) -> tuple[AssociationTree, list[float]]:
    """Random accounts and users, and usage that adds up from the users to the root; few values, so that ties occur."""
    specs = [Association("root", shares=1)]
    accounts = ["root"]
    for number in range(draw(st.integers(0, 6))):
        specs.append(Association(f"a{number}", parent=draw(st.sampled_from(accounts)), shares=draw(SHARES)))
        accounts.append(f"a{number}")
    for number in range(draw(st.integers(1, 10))):
        specs.append(Association(draw(st.sampled_from(accounts)), f"u{number}", shares=draw(SHARES)))
    tree = AssociationTree(Accounting(tuple(specs)))
    used = [0.0] * len(tree.branches)
    for branch in tree.users():
        amount = draw(st.sampled_from([0, 0, 10, 10, 20, 40]))
        for step in branch.path:
            used[step.row] += amount
    return tree, used


def naive_fair_tree(tree: AssociationTree, used: list[float]) -> dict[int, float]:
    """The recursive walk of fair_tree.c."""
    children: dict[int, list[Branch]] = {branch.row: [] for branch in tree.branches}
    above: dict[int, Branch] = {}

    def hang(branch: Branch) -> None:
        for child in reversed(branch.children):
            step = branch
            while step.parent is not None and step.spec.shares == PARENT_SHARES:
                step = step.parent
            above[child.row] = step
            children[step.row].append(child)
            hang(child)

    hang(tree.root)
    count = sum(1 for _ in tree.users())
    state = {"rank": count, "free": count}
    factors: dict[int, float] = {}

    def level(branch: Branch) -> float:
        if branch.spec.shares == PARENT_SHARES:
            return math.inf if branch.is_user else 2.0**32 - 2
        siblings = sum(max(b.spec.shares, 0) for b in children[above[branch.row].row])
        part = branch.spec.shares / siblings if siblings else 0.0
        parents = used[above[branch.row].row]
        effective = used[branch.row] / parents if parents else 0.0
        if part == 0:
            return 0.0
        return part / effective if effective else math.inf

    def walk(branches: list[Branch], tied_above: bool) -> None:
        ordered = sorted(branches, key=lambda b: (-level(b), not b.is_user))
        before: float | None = None
        for number, branch in enumerate(ordered):
            tied = tied_above if number == 0 else before == level(branch)
            if branch.is_user:
                if not tied:
                    state["rank"] = state["free"]
                factors[branch.row] = state["rank"] / count
                state["free"] -= 1
            else:
                walk(children[branch.row], tied)
            before = level(branch)

    walk(children[tree.root.row], False)
    return factors


@pytest.mark.parametrize("kernel", [priorities, load("priorities")], ids=["python", "extension"])
@given(drawn=trees())
def test_ranks_are_those_of_the_walk(kernel: Any, drawn: tuple[AssociationTree, list[float]]) -> None:
    tree, used = drawn
    fair_tree = FairTree(ShareTree(tree))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fairshare, "kernel", kernel)
        fair_tree.update(np.array(used))
    expected = naive_fair_tree(tree, used)
    assert {row: fair_tree.factors[row] for row in expected} == expected


@given(trees(), st.booleans())
def test_classic_factors_are_between_0_and_1(drawn: tuple[AssociationTree, list[float]], oblivious: bool) -> None:
    tree, used = drawn
    classic = Classic(ShareTree(tree), depth_oblivious=oblivious)
    array = np.array(used)
    classic.settle(array)
    for branch in tree.users():
        assert 0.0 <= classic.factor(branch.row, array) <= 1.0


@dataclass
class Done:
    """One job as the naive recount sees it."""

    user: str
    qos: Qos
    cpus: int
    start: int
    end: int


JOBS = st.lists(
    st.tuples(st.sampled_from(["alice", "bob"]), st.sampled_from(["normal", "twice", "stays"]), st.integers(1, 4),
              st.integers(0, 900), st.integers(1, 700)),
    min_size=1, max_size=12,
)  # fmt: skip
QOS = (Qos("normal"), Qos("twice", usage_factor=2.0), Qos("stays", flags=frozenset({"NoDecay"})))
PEOPLE = (
    Association("root"), Association("aa", parent="root"), Association("bb", parent="root"),
    Association("aa", "alice", is_default=True), Association("bb", "bob", is_default=True),
)  # fmt: skip


@settings(deadline=None)
@given(JOBS, st.booleans(), st.sampled_from([0, 5, 60]))
def test_usage_equals_a_recount(jobs: list[tuple[str, str, int, int, int]], limits: bool, half_life_min: int) -> None:
    """Period by period and job by job, as slurmctld adds usage up, whatever was skipped or made up for later."""
    enforce = "limits" if limits else "associations"
    more = (
        "PriorityType=priority/multifactor\nAccountingStorageType=accounting_storage/slurmdbd\nPriorityCalcPeriod=2\n"
        f"PriorityWeightFairshare=1000\nAccountingStorageEnforce={enforce}\nPriorityDecayHalfLife={half_life_min}"
    )
    w = World(simple(20, 4, more), "easy", accounting=Accounting(PEOPLE, QOS))
    for number, (user, qos, cpus, at, run) in enumerate(jobs):
        w.sbatch(f"-J j{number} -n{cpus} -t 100 --qos {qos}", run, at=at, user=user)
    w.until(1700)
    w.controller.recalculation.catch_up(1701)
    tree = w.controller.state.tree
    assert tree is not None
    by_name = {qos.name: qos for qos in QOS}
    done = [
        Done(user, by_name[qos], cpus, w[f"j{n}"].start_time or 0, w[f"j{n}"].end_time or 10**9)
        for n, (user, qos, cpus, _, _) in enumerate(jobs)
    ]
    decay = 1 - 0.693 / (half_life_min * 60) if half_life_min else 1.0
    used = dict.fromkeys(["root", "aa", "bb", "normal", "twice", "stays"], 0.0)

    def add(job: Done, since: int, until: int) -> None:
        seconds = until - max(since, job.start)
        if seconds <= 0:
            return
        amount = seconds * job.cpus * job.qos.usage_factor
        for name in ("root", "aa" if job.user == "alice" else "bb"):
            used[name] += amount * decay**seconds
        used[job.qos.name] += amount if job.qos.name == "stays" else amount * decay**seconds

    for last in range(0, 1681, 120):
        now = last + 120
        for job in done:
            if limits and last < job.end <= now:
                add(job, last, job.end)
        if now > 1700:
            break
        for name in used.keys() - {"stays"}:
            used[name] *= decay**120
        for job in done:
            if job.start < now < job.end:
                add(job, last, now)
    found = {b.spec.account: b.ledger.used_s for b in tree.branches if not b.is_user}
    found |= {name: ledger.used_s for name, ledger in tree.qos_ledgers.items()}
    assert found == pytest.approx(used, abs=1e-6, rel=1e-9)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["alice", "bob", "eve"]), st.integers(1, 4), st.integers(1, 600),
                  st.sampled_from(["pa", "pb", "pa,pb"]), st.integers(-50, 5000), st.sampled_from([None, 77])),
        min_size=1, max_size=80,
    ),
    st.integers(0, 3000),
)  # fmt: skip
def test_priorities_of_the_columns_are_those_of_the_formula(
    jobs: list[tuple[str, int, int, str, int, int | None]], later: int
) -> None:
    more = (
        "PriorityType=priority/multifactor\nAccountingStorageType=accounting_storage/slurmdbd\nPriorityCalcPeriod=1\n"
        "PriorityWeightFairshare=1000\nPriorityWeightAge=777\nPriorityMaxAge=20\nPriorityWeightJobSize=333\n"
        "PriorityWeightPartition=10\nPriorityWeightTRES=cpu=100,mem=3\nPriorityWeightAssoc=9"
    )
    conf = simple(2, 4, more).replace("PartitionName=main", "PartitionName=pa PriorityJobFactor=3")
    conf += "PartitionName=pb Nodes=n1 PriorityJobFactor=5 MaxTime=UNLIMITED\n"
    w = World(conf, "backfill", accounting=Accounting(PEOPLE, QOS))
    w.sbatch("-J big -N2 --exclusive -t 600", None, at=0)
    for user, cpus, limit, parts, nice, fixed in jobs:
        w.sbatch(f"-n{cpus} -t {limit} -p {parts} --nice={nice}" + (f" --priority {fixed}" if fixed else ""),
                 None, at=5, user=user)  # fmt: skip
    w.until(5 + later)
    c = w.controller
    plugin = c.priority
    assert isinstance(plugin, Multifactor)
    at = c.recalculation.next_at - 60  # the last run
    for records in c.state.queue.jobs.values():
        job = records[0].job
        expected = plugin.recalculate(job, max(at, job.submit_time))
        assert tuple(r.priority for r in records) == expected
        assert job.priority == min(expected)
