"""Limits of a heterogeneous job as a whole, tested as its components are submitted.

Each component has to be allowed to start beside those submitted before it, with nothing else running: what is in use
now does not count, but in the QOS of its partition. Mirrors _het_job_val_add and
_het_job_component_acct_policy_runnable (proc_req.c, 26.05).
"""

from __future__ import annotations

from copy import deepcopy
from itertools import chain
from typing import TYPE_CHECKING

from slurmsim.core.accounting.limit_counters import LimitCounters
from slurmsim.core.accounting.limit_rules import Used
from slurmsim.core.accounting.usage_counters import UsageCounters
from slurmsim.core.records.associations import Ledger

if TYPE_CHECKING:
    from slurmsim.core.accounting.limits import Limits
    from slurmsim.core.records.associations import Branch
    from slurmsim.core.records.job import Job
    from slurmsim.model.accounting import Qos


class _Alone(LimitCounters):
    """Counters of no jobs. Those of a QOS that no component names begin with what is in use there."""

    def __init__(self, present: LimitCounters, *, safe: bool) -> None:
        super().__init__(present.tree, present.billing, safe=safe)
        self.present = present
        self.named: set[str] = set()

    def _used_by(self, branch: Branch) -> Used:
        used = self._branches.get(branch)
        if used is None:
            used = self._branches[branch] = Used(UsageCounters(self.tracked), Ledger())
        return used

    def _all_of_qos(self, qos: Qos) -> Used:
        if qos.name in self.named:
            return Used(UsageCounters(self.tracked), Ledger())
        present = self.present.used_of_qos(qos)
        return Used(deepcopy(present.in_use), present.ledger)

    def _new_part(self, qos: Qos, kind: str, name: str) -> UsageCounters:
        if qos.name in self.named:
            return UsageCounters(self.tracked)
        return deepcopy(self.present.part(qos, kind, name))


class HetLimits:
    """The components of one job, one after the other."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._alone = limits, _Alone(limits.counters, safe=limits.state.enforce.safe)

    def add(self, job: Job) -> str | None:
        """Return the limit that the next component breaks, or None and count it."""
        if job.branch is None:
            return None
        if job.qos_spec is not None:
            self._alone.named.add(job.qos_spec.name)
        claim = self._alone.claim(job, job.partition)
        assert claim is not None
        demand = self._limits.demand(job, job.partition, job.request)
        if claim.max_nodes is not None and job.request.min_nodes > claim.max_nodes[0]:
            return claim.max_nodes[1]
        broken = next((rule for rule in chain(claim.before, claim.after) if rule.broken(demand)), None)
        if broken is not None:
            return broken.reason
        for in_use in claim.counters:
            in_use.begin(demand.tres, 0)
        return None
