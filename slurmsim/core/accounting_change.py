"""Other associations and QOS while the cluster runs: what counts in them is counted anew, what was used is kept.

slurmctld's assoc_mgr edits its records in place (assoc_mgr_update); here a new tree takes the old one's place, and
everything that refers to branches is led over to those of the same account, user and partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slurmsim.core.accounts import Accounts
from slurmsim.core.associations import AssociationTree, Branch
from slurmsim.core.fairshare import FairTree
from slurmsim.core.limits import Limits
from slurmsim.core.priority import Multifactor
from slurmsim.errors import ConfigError
from slurmsim.model.accounting import Accounting

if TYPE_CHECKING:
    from slurmsim.core.controller import Controller
    from slurmsim.core.job import Job

Key = tuple[str, str, str]


def replace_accounting(c: Controller, accounting: Accounting) -> None:
    """Obey `accounting` from now on.

    Raises
    ------
    ConfigError
        A partition's QOS would be gone; nothing has changed then.
    """
    if c.tree is None:
        return
    old, new = c.tree, AssociationTree(accounting)
    for p in c.partitions:
        if p.spec.qos and p.spec.qos.lower() not in new.qos:
            raise ConfigError(
                f"partition {p.name} has the QOS {p.spec.qos!r}", field="QOS", expected="a QOS that stays"
            )
    c.tree = new
    c.accounts = Accounts(new, c.enforce, c.partitions)
    places = {_key(branch): branch for branch in new.branches}
    for job in c.jobs.values():
        if job.branch is not None:
            job.branch = places.get(_key(job.branch))
        if job.qos_spec is not None:
            job.qos_spec = new.qos.get(job.qos_spec.name)
    moved = [(branch.row, places[_key(branch)].row) for branch in old.branches if _key(branch) in places]
    _replace_usage(c, old, moved)
    _replace_limits(c)
    for records in c.queue.jobs.values():
        for record in records:
            record.standing = None
    c.edited()


def _key(branch: Branch) -> Key:
    return branch.spec.account, branch.spec.user, branch.spec.partition


def _replace_usage(c: Controller, old: AssociationTree, moved: list[tuple[int, int]]) -> None:
    """Usage, fair shares, the columns of the queue, and who accrues age."""
    r, plugin = c.recalculation, c.priority
    book, shares = r.book, r.shares
    if book is None or not isinstance(plugin, Multifactor):
        return
    accrual = r.accrual
    r.open(plugin)
    assert r.book is not None and r.columns is not None and c.tree is not None
    r.book.take_over(book, c.jobs, moved)
    c.book = r.book
    if isinstance(shares, FairTree) and isinstance(r.shares, FairTree):
        seen = np.zeros(len(c.tree.branches))
        for before, after in moved:
            seen[after] = shares.seen[before]
        r.shares.update(seen)
        for before, after in moved:  # until fair shares are worked out again
            r.shares.factors[after], r.shares.level_fs[after] = shares.factors[before], shares.level_fs[before]
    for records in c.queue.jobs.values():
        for record in records:
            r.columns.added(record, record.job.partitions.index(record.partition))
    if accrual is not None and r.accrual is not None:
        r.accrual.take_over(accrual, c.jobs)
    c.accrual = r.accrual


def _replace_limits(c: Controller) -> None:
    """Limits, with everything that counts against them."""
    before = c.limits
    if before is None:
        return
    c.recalculation.on_period.remove(before.period)
    after = c.limits = Limits(c)
    after.counters.remember(before.counters)
    after.announced_to(before)
    running: list[Job] = []
    for job in c.jobs.values():
        if job.end_time is None:
            after.submitted(job)
        if job.id in before.counters.held:
            running.append(job)
    for job in running:
        if job.branch is not None:
            after.began(job)
    after.waiting.update(before.waiting)
    after.narrowed.update(before.narrowed)
