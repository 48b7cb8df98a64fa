"""Who counts against which limits: the counters of associations and QOS, kept as jobs come, start and go.

A running job counts in every association up to the root, in its QOS and its partition's, and within those under its
user and its account; a submitted one likewise, with the QOS of all its partitions. Mirrors _adjust_limit_usage and
acct_policy_set_qos_order (acct_policy.c, 22.05).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import fields
from math import isclose
from typing import TYPE_CHECKING

from slurmsim.bitmap import Bitmap
from slurmsim.core.accounting.job_limits import JobLimits, QosUsed, every_tres, flags_of
from slurmsim.core.accounting.limit_columns import LimitColumns
from slurmsim.core.accounting.limit_compiler import LimitCompiler
from slurmsim.core.accounting.limit_rules import Rules, Used
from slurmsim.core.accounting.usage_counters import TrackedTres, UsageCounters
from slurmsim.core.records.job import Job
from slurmsim.errors import InvariantError

if TYPE_CHECKING:
    from slurmsim.core.records.associations import AssociationTree, Branch, Ledger
    from slurmsim.core.records.billing import Billing
    from slurmsim.core.records.partition import Partition
    from slurmsim.model.accounting import Limits as LimitSet
    from slurmsim.model.accounting import Qos

ClaimKey = tuple["Branch", str, str]  # an association, a job's QOS and its partition's ("" for none)


class Held:
    """What a running job counts with, to be given back exactly."""

    __slots__ = ("claim", "mask", "owed_s", "tres")

    def __init__(self, claim: JobLimits, tres: list[int], mask: Bitmap) -> None:
        self.claim, self.tres, self.mask = claim, tres, mask
        self.owed_s: list[float] = [0.0] * len(tres)


class LimitCounters:
    """All counters.

    Parameters
    ----------
    safe
        AccountingStorageEnforce=safe.
    """

    def __init__(self, tree: AssociationTree, billing: Billing, *, safe: bool) -> None:
        self.tree, self.billing = tree, billing
        self.tracked = TrackedTres(limited_tres(tree))
        self._compiler = LimitCompiler(Rules(self.tracked, safe=safe))
        self.version = 0  # changes with every start and end
        self.columns = LimitColumns()  # what counts, as integers, for tests of many jobs
        self._branches: dict[Branch, Used] = {}
        self._qos: dict[str, Used] = {}
        self._within: dict[tuple[str, str, str], UsageCounters] = {}  # (QOS, "user" or "account", name)
        self._met: dict[tuple[str, str, str], None] = {}  # the same of those that have had jobs, in order
        self._claims: dict[ClaimKey, JobLimits] = {}
        self.held: dict[int, Held] = {}
        self._submitted: dict[int, tuple[UsageCounters, ...]] = {}
        limits = list(all_limits(tree))
        run = any(q.max_tres_run_mins_pa or q.max_tres_run_mins_pu for q in tree.qos.values())
        # whether any limit asks what running jobs may still use
        self.owes = run or any(x.grp_tres_run_mins or (safe and x.grp_tres_mins) for _, x in limits)
        # ledgers of the associations and QOS that have limits on past usage
        self.spendable = [ledger for ledger, x in limits if x.grp_tres_mins or x.grp_wall_s is not None]

    # -- who counts where -----------------------------------------------------------------------------------------

    def _used_by(self, branch: Branch) -> Used:
        used = self._branches.get(branch)
        if used is None:
            used = self._branches[branch] = Used(UsageCounters(self.tracked), branch.ledger)
        return used

    def _used_by_qos(self, qos: Qos, branch: Branch) -> QosUsed:
        return QosUsed(
            qos, self.used_of_qos(qos), self.part(qos, "user", branch.spec.user),
            self.part(qos, "account", branch.spec.account),
        )  # fmt: skip

    def used_of_qos(self, qos: Qos) -> Used:
        """Return what counts for a QOS as a whole."""
        used = self._qos.get(qos.name)
        if used is None:
            used = self._qos[qos.name] = self._all_of_qos(qos)
        return used

    def part(self, qos: Qos, kind: str, name: str) -> UsageCounters:
        """Return what counts for a user or an account (`kind`) within a QOS."""
        key = (qos.name, kind, name)
        found = self._within.get(key)
        if found is None:
            found = self._within[key] = self._new_part(qos, kind, name)
        return found

    def _all_of_qos(self, qos: Qos) -> Used:
        return Used(UsageCounters(self.tracked), self.tree.qos_ledgers[qos.name])

    def _new_part(self, qos: Qos, kind: str, name: str) -> UsageCounters:
        return UsageCounters(self.tracked)

    def owner_of(self, in_use: UsageCounters) -> str:
        """Return the owner of these counters in words, such as ``account bio`` or ``user alice of account bio``."""
        for branch, used in self._branches.items():
            if used.in_use is in_use:
                user = f"user {branch.spec.user} of " if branch.spec.user else ""
                return f"{user}account {branch.spec.account}"
        for name, used in self._qos.items():
            if used.in_use is in_use:
                return f"QOS {name}"
        within = (f"{kind} {name} in QOS {qos}" for (qos, kind, name), one in self._within.items() if one is in_use)
        return next(within, "")

    def met(self, qos: str, kind: str) -> list[str]:
        """Users (`kind` "user") or accounts ("account") that have had jobs in a QOS, in order of their first."""
        return [name for of, what, name in self._met if of == qos and what == kind]

    def remember(self, before: LimitCounters) -> None:
        """Remember the users and accounts that had jobs before the limits were changed."""
        self._met = {key: None for key in before._met if key[0] in self.tree.qos} | self._met

    def claim(self, job: Job, partition: Partition) -> JobLimits | None:
        """Return the limits of `job` in `partition`; None for a job without association, which nothing limits."""
        return None if job.branch is None else self.claim_of(job.branch, job.qos_spec, partition.qos)

    def claim_of(self, branch: Branch, first: Qos | None, second: Qos | None) -> JobLimits:
        """Return the limits of an association under a job's QOS, `first`, and its partition's."""
        key = (branch, first.name if first is not None else "", second.name if second is not None else "")
        claim = self._claims.get(key)
        if claim is None:
            claim = self._claims[key] = self._compile(branch, first, second)
        return claim

    def _compile(self, branch: Branch, first: Qos | None, second: Qos | None) -> JobLimits:
        used = [self._used_by_qos(qos, branch) for qos in qos_order(first, second)]
        return self._compiler.claim([(b, self._used_by(b)) for b in branch.path], used, first)

    def renew_claims(self) -> None:
        """Make all rules anew, for these counters: functions hold theirs, so a copy shares the original's."""
        qos = self.tree.qos
        self.columns = LimitColumns()
        for (branch, first, second), claim in self._claims.items():
            fresh = self._compile(branch, qos.get(first), qos.get(second))
            for one in fields(JobLimits):
                setattr(claim, one.name, getattr(fresh, one.name))

    def claim_keys(self) -> dict[int, ClaimKey]:
        """Return what `claim_of` made each claim of, by the claim's identity; snapshots need it."""
        return {id(claim): key for key, claim in self._claims.items()}

    def claim_by(self, key: ClaimKey) -> JobLimits:
        branch, first, second = key
        return self.claim_of(branch, self.tree.qos.get(first), self.tree.qos.get(second))

    def vector(self, counts: dict[str, int], partition: Partition) -> list[int]:
        """TRES by name as amounts in the order of the tracked ones, with what `partition` bills for them."""
        if self.tracked.billing >= 0:
            counts["billing"] = int(self.billing.bill(counts, partition.spec.tres_billing_weights))
        return [counts.get(name, 0) for name in self.tracked.names]

    # -- submissions ----------------------------------------------------------------------------------------------

    def submitted(self, job: Job) -> None:
        """Take note that `job` is in the job table."""
        if job.branch is not None:
            self._count_submitted(job, job.partitions)

    def _count_submitted(self, job: Job, partitions: Iterable[Partition]) -> None:
        """Count `job` as submitted to `partitions` and nowhere else."""
        branch = job.branch
        assert branch is not None
        names: dict[str, Qos] = {}
        for qos in (job.qos_spec, *(p.qos for p in partitions)):
            if qos is not None:
                names[qos.name] = qos
        found: list[UsageCounters] = []
        for qos in names.values():
            used = self._used_by_qos(qos, branch)
            found += [used.all.in_use, used.user, used.account]
            self._met[qos.name, "account", branch.spec.account] = None
            self._met[qos.name, "user", branch.spec.user] = None
        found += [self._used_by(b).in_use for b in branch.path]
        self.gone(job)
        for in_use in found:
            in_use.submitted += 1
        self._submitted[job.id] = tuple(found)

    def gone(self, job: Job) -> None:
        """Take note that `job` has reached a final state."""
        for in_use in self._submitted.pop(job.id, ()):
            in_use.submitted -= 1

    # -- running jobs ---------------------------------------------------------------------------------------------

    def began(self, job: Job, now: int) -> Held | None:
        """`job` has its allocation; in the QOS of the partitions it did not start in it counts no more."""
        claim = self.claim(job, job.partition)
        if claim is None:
            return None
        assert job.alloc is not None
        if len(job.partitions) > 1:
            self._count_submitted(job, (job.partition,))
        tres = self.vector(self.billing.allocated(job.alloc), job.partition)
        held = self.held[job.id] = Held(claim, tres, job.alloc.mask)
        for in_use in claim.counters:
            in_use.begin(tres, held.mask)
        self.columns.touch(claim.counters)
        self.owe(job, now)
        self.version += 1
        return held

    def released(self, job: Job) -> Held | None:
        """`job` has given its allocation back; it is submitted to all its partitions again until it is gone."""
        held = self.held.pop(job.id, None)
        if held is None:
            return None
        for in_use in held.claim.counters:
            in_use.end(held.tres, held.mask)
            in_use.owe(held.owed_s, -1)
        self.columns.touch(held.claim.counters)
        if len(job.partitions) > 1:
            self._count_submitted(job, job.partitions)
        self.version += 1
        return held

    def owe(self, job: Job, now: int) -> None:
        """Count what running `job` may still use from `now` to its limit, times its UsageFactor."""
        held = self.held.get(job.id)
        if held is None or not self.owes:
            return
        assert job.end_limit is not None
        seconds = max(job.end_limit - now, 0) * held.claim.factor
        owed = [seconds * amount for amount in held.tres]
        for in_use in held.claim.counters:
            in_use.owe(held.owed_s, -1)
            in_use.owe(owed, +1)
        held.owed_s = owed
        self.columns.touch(held.claim.counters)
        self.version += 1

    # -- checks ---------------------------------------------------------------------------------------------------

    def check(self, running: Iterable[Job]) -> None:
        """Recount everything; raises InvariantError on a difference."""
        known = [u.in_use for u in (*self._branches.values(), *self._qos.values())] + list(self._within.values())
        nothing = UsageCounters(self.tracked)
        counted: dict[int, UsageCounters] = defaultdict(lambda: UsageCounters(self.tracked))
        for counters in self._submitted.values():
            for in_use in counters:
                counted[id(in_use)].submitted += 1
        for held in self.held.values():
            for in_use in held.claim.counters:
                again = counted[id(in_use)]
                again.begin(held.tres, held.mask)
                again.owe(held.owed_s, +1)
        for in_use in known:
            again = counted.pop(id(in_use), nothing)
            same = in_use.owed_s == again.owed_s or all(
                isclose(one, other, rel_tol=1e-9, abs_tol=1.0)
                for one, other in zip(in_use.owed_s, again.owed_s, strict=True)
            )
            if in_use.counts() != again.counts() or not same:
                raise InvariantError("what limits count differs from a recount")
        if counted:
            raise InvariantError("a job is counted where no limit looks")
        if set(self.held) != {job.id for job in running if job.branch is not None}:
            raise InvariantError("limits count other jobs than those that run")


def qos_order(job_qos: Qos | None, part_qos: Qos | None) -> list[Qos]:
    """Return the partition's QOS first, unless the job's has OverPartQOS; one of them if they are the same."""
    if job_qos is None or part_qos is None:
        return [qos for qos in (job_qos, part_qos) if qos is not None]
    if job_qos.name == part_qos.name:
        return [job_qos]
    if "overpartqos" in flags_of(job_qos):
        return [job_qos, part_qos]
    return [part_qos, job_qos]


def all_limits(tree: AssociationTree) -> Iterator[tuple[Ledger, LimitSet]]:
    """Yield every association's and QOS's limits, with what it has used."""
    yield from ((branch.ledger, branch.spec.limits) for branch in tree.branches)
    yield from ((tree.qos_ledgers[name], qos.limits) for name, qos in tree.qos.items())


def limited_tres(tree: AssociationTree) -> Iterator[str]:
    """TRES with a limit somewhere."""
    for _, limits in all_limits(tree):
        yield from every_tres(limits)
    for qos in tree.qos.values():
        for tres in (
            qos.max_tres_pu, qos.max_tres_pa, qos.max_tres_run_mins_pu, qos.max_tres_run_mins_pa, qos.min_tres,
        ):  # fmt: skip
            yield from tres
