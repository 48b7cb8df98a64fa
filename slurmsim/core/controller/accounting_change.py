"""Other associations and QOS while the cluster runs: what counts in them is counted anew, what was used is kept.

slurmctld's assoc_mgr edits its records in place (assoc_mgr_update); here a new tree takes the old one's place, and
everything that refers to branches is led over to those of the same account, user and partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slurmsim.core.accounting.accounts import Accounts
from slurmsim.core.accounting.fairshare import FairTree
from slurmsim.core.accounting.limits import Limits
from slurmsim.core.accounting.relative_limits import count_relative
from slurmsim.core.queue.priority import Multifactor
from slurmsim.core.records.associations import AssociationTree, Branch
from slurmsim.errors import ConfigError
from slurmsim.model.accounting import Accounting

if TYPE_CHECKING:
    from slurmsim.core.accounting.controller_accounting import AccountingParts
    from slurmsim.core.queue.recalculation import Recalculation
    from slurmsim.core.records.job import Job
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import QueueWay, RunWay

Key = tuple[str, str, str]


def replace_accounting(
    accounting: Accounting, state: ControllerState, parts: AccountingParts, recalculation: Recalculation,
    ways: tuple[QueueWay, RunWay], *, counts_anew: bool = False,
) -> None:  # fmt: skip
    """Obey `accounting` from now on. With `counts_anew` all relative limits are counted, also of a QOS new to the flag.

    Raises
    ------
    ConfigError
        A partition's QOS would be gone; nothing has changed then.
    """
    if state.tree is None:
        return
    old, new = state.tree, AssociationTree(accounting)
    for p in state.partitions:
        if p.spec.qos and p.spec.qos.lower() not in new.qos:
            raise ConfigError(
                f"partition {p.name} has the QOS {p.spec.qos!r}", field="QOS", expected="a QOS that stays"
            )
    count_relative(new, state, None if counts_anew else old)
    state.tree = new
    parts.accounts = Accounts(new, state.enforce, state.partitions)
    places = {_key(branch): branch for branch in new.branches}
    for job in state.jobs.values():
        if job.branch is not None:
            job.branch = places.get(_key(job.branch))
        if job.qos_spec is not None:
            job.qos_spec = new.qos.get(job.qos_spec.name)
    moved = [(branch.row, places[_key(branch)].row) for branch in old.branches if _key(branch) in places]
    _replace_usage(state, parts, recalculation, old, moved)
    _replace_limits(state, parts, recalculation, ways)
    for records in state.queue.jobs.values():
        for record in records:
            record.standing = None
    ways[0].edited()


def _key(branch: Branch) -> Key:
    return branch.spec.account, branch.spec.user, branch.spec.partition


def _replace_usage(
    state: ControllerState, parts: AccountingParts, r: Recalculation, old: AssociationTree, moved: list[tuple[int, int]]
) -> None:
    """Usage, fair shares, the columns of the queue, and who accrues age."""
    plugin = r.plugin
    book, accrual, shares = parts.book, parts.accrual, r.shares
    if book is None or not isinstance(plugin, Multifactor):
        return
    r.open(plugin)
    assert parts.book is not None and r.columns is not None and state.tree is not None
    parts.book.take_over(book, state.jobs, moved)
    if isinstance(shares, FairTree) and isinstance(r.shares, FairTree):
        seen = np.zeros(len(state.tree.branches))
        for before, after in moved:
            seen[after] = shares.seen[before]
        r.shares.update(np.nan_to_num(seen))
        r.shares.forget(sorted(set(range(len(seen))) - {after for _, after in moved}))
        r.shares.seen[np.isnan(seen)] = np.nan
        for before, after in moved:  # until fair shares are worked out again
            r.shares.factors[after], r.shares.level_fs[after] = shares.factors[before], shares.level_fs[before]
    for records in state.queue.jobs.values():
        for record in records:
            r.columns.added(record, record.job.partitions.index(record.partition))
    if accrual is not None and parts.accrual is not None:
        parts.accrual.take_over(accrual, state.jobs)


def _replace_limits(
    state: ControllerState, parts: AccountingParts, recalculation: Recalculation, ways: tuple[QueueWay, RunWay]
) -> None:
    """Limits, with everything that counts against them."""
    before = parts.limits
    if before is None:
        return
    recalculation.on_period.remove(before.period)
    after = parts.limits = Limits(state, *ways)
    recalculation.on_period.append(after.period)
    after.counters.remember(before.counters)
    after.announced_to(before)
    running: list[Job] = []
    for job in state.jobs.values():
        if job.end_time is None:
            after.submitted(job)
        if job.id in before.counters.held:
            running.append(job)
    for job in running:
        if job.branch is not None:
            after.started(job, state.now)
    after.waiting.update(before.waiting)
    after.narrowed.update(before.narrowed)
