"""Who may submit where: associations, default accounts and QOS, and the partitions' lists of those.

Asked once for all submissions of a user to the same account, partitions and QOS (job_mgr.c _job_create, assoc_mgr.c,
22.05). What is found stays on the job: `branch` and `qos_spec` for limits, priorities and preemption, `bars` for the
schedulers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from slurmsim.core.accounting.relative_limits import OF_A_PARTITION
from slurmsim.core.records.associations import AssociationTree, Branch
from slurmsim.core.records.barred_partitions import Bar, Bars
from slurmsim.core.records.enforcement import Enforcement
from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError, SubmitError
from slurmsim.model.accounting import Qos
from slurmsim.states import Reason

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.partition import Partition
    from slurmsim.core.records.release_rules import ReleaseRules
    from slurmsim.model.submission import Submission

INVALID_ACCOUNT: Final = "Invalid account or account/partition combination specified"
INVALID_QOS: Final = "Invalid qos specification"
PARTITION_ASSOCIATION: Final = "Multiple partition job request not supported when a partition is set in the association"


@dataclass(slots=True)
class Standing:
    """What was found for a submission: its association (None where none is required), account, QOS and bars."""

    branch: Branch | None
    account: str
    qos: Qos | None
    bars: Bars | None


class Accounts:
    """Resolves account and QOS of submissions.

    Parameters
    ----------
    partitions
        Those of the cluster; each is given its QOS. Raises ConfigError for a QOS that does not exist.
    """

    def __init__(self, tree: AssociationTree, enforce: Enforcement, partitions: Iterable[Partition]) -> None:
        self.tree, self.enforce = tree, enforce
        self._found: dict[tuple[str, str, tuple[Partition, ...], str], Standing] = {}
        self._by_partition = any(branch.spec.partition for branch in tree.branches)
        for p in partitions:
            if p.spec.qos:
                if p.spec.qos.lower() not in tree.qos:
                    raise ConfigError(f"the accounting data have no QOS {p.spec.qos!r}",
                                      field=f"PartitionName={p.name} QOS", expected="a QOS they define")  # fmt: skip
                p.qos = tree.qos[p.spec.qos.lower()]

    def admit(self, job: Job, rules: ReleaseRules) -> None:
        """Find association, account and QOS of a new job and note them on it. Raises SubmitError with Slurm's text."""
        found = self.standing(job.sub, job.partitions, rules)
        job.branch, job.account, job.qos_spec, job.bars = found.branch, found.account, found.qos, found.bars
        if found.qos is not None:
            job.qos = found.qos.name

    def standing(self, sub: Submission, partitions: tuple[Partition, ...], rules: ReleaseRules) -> Standing:
        """Association, account and QOS of a submission to `partitions`. Raises SubmitError with Slurm's text."""
        key = (sub.user, sub.account, partitions, sub.qos)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._find(sub, partitions, rules)
        return found

    def _find(self, sub: Submission, partitions: tuple[Partition, ...], rules: ReleaseRules) -> Standing:
        branch, account = self._association(sub.user, sub.account.lower(), partitions)
        qos = self._qos(branch, sub.qos.lower())
        return Standing(branch, account, qos, self._bars(partitions, branch, qos, rules))

    def forget(self) -> None:
        """Partitions have changed: what was found for submissions no longer holds."""
        self._found.clear()

    def bars_of(self, job: Job, rules: ReleaseRules) -> Bars | None:
        """Return the partitions of an admitted job that do not take its account or QOS, as they are now."""
        return self._bars(job.partitions, job.branch, job.qos_spec, rules)

    def _bars(
        self, partitions: Iterable[Partition], branch: Branch | None, qos: Qos | None, rules: ReleaseRules
    ) -> Bars | None:
        """Return those of `partitions` that do not take a job, None when all do."""
        barred = _barred_association if rules.lists_associations else _barred_account
        if rules.lists_associations and not self.enforce.associations:
            branch = None
        found = {}
        for p in partitions:
            if (bar := _bar(p, barred(p, branch), qos)) is not None:
                found[p.index] = bar
        return found or None

    def _association(self, user: str, asked: str, partitions: tuple[Partition, ...]) -> tuple[Branch | None, str]:
        tree, first = self.tree, partitions[0].name
        account = asked or tree.default_account(user)
        branch = tree.find(user, account, first)
        if branch is None and self.enforce.associations:
            raise SubmitError(INVALID_ACCOUNT)
        if branch is None and asked:  # better the default account than an unknown one
            default = tree.default_account(user)
            branch = tree.find(user, default, first)
            account = default if branch is not None else account
        others = partitions[1:] if self._by_partition and branch is not None else ()
        if any(tree.find(user, account, p.name) is not branch for p in others):
            raise SubmitError(PARTITION_ASSOCIATION)
        return branch, account

    def _qos(self, branch: Branch | None, asked: str) -> Qos | None:
        """Return the QOS asked for, else the default of the association, its only one, the root's, ``normal``."""
        tree = self.tree
        allowed = None if branch is None else branch.qos_names()
        name = asked or _default_qos(branch, allowed) or tree.root.spec.default_qos or "normal"
        qos = tree.qos.get(name)
        if self.enforce.qos and (qos is None or (allowed is not None and qos.name not in allowed)):
            raise SubmitError(INVALID_QOS)
        if qos is not None and OF_A_PARTITION in qos.flags:
            raise SubmitError(INVALID_QOS)
        return qos


def refusal(job: Job, reasons: Sequence[str | None]) -> str | None:
    """Return the error of EnforcePartLimits if the first broken limit, by partition, is a bar; else None."""
    first = next((at for at, reason in enumerate(reasons) if reason is not None), None)
    if first is None or reasons[first] != Reason.PARTITION_CONFIG or job.bars is None:
        return None
    partition, request = job.partitions[first], job.requests[first]
    too_many = request.asked_cpus > partition.total_cpus  # which has the same reason and is found before
    bar = job.bars.get(partition.index)
    return bar.refusal if bar is not None and not too_many else None


def _default_qos(branch: Branch | None, allowed: tuple[str, ...] | None) -> str:
    """Return the association's default, unless it may not use it; the only one it may use; or ""."""
    if branch is None:
        return ""
    name = branch.default_qos()
    if name and (allowed is None or name in allowed):
        return name
    return allowed[0] if allowed is not None and len(allowed) == 1 else ""


def bars_without_accounts(partitions: Iterable[Partition]) -> Bars | None:
    """Return the same without a database: lists of QOS then name none that exists, and so keep no job out."""
    barred = {p.index: _barred("account", p.name, "", p.spec.allow_accounts, ()) for p in partitions}
    return {index: Bar(text, INVALID_ACCOUNT, False) for index, text in barred.items() if text} or None


def _bar(partition: Partition, by_account: str, qos: Qos | None) -> Bar | None:
    """Why `partition` does not take jobs of an account, for this reason or "", and QOS, or None (partition_mgr.c).

    The waiting job shows what is wrong with its QOS first, the refused one what is wrong with its account.
    """
    spec = partition.spec
    by_qos = _barred("QOS", partition.name, qos.name if qos is not None else "", spec.allow_qos, spec.deny_qos)
    if not by_account and not by_qos:
        return None
    return Bar(by_qos or by_account, INVALID_ACCOUNT if by_account else INVALID_QOS, bool(by_qos))


def _barred_account(partition: Partition, branch: Branch | None) -> str:
    """Return why `partition` does not take an account, by its name; "" if it does."""
    spec, account = partition.spec, branch.spec.account if branch is not None else ""
    return _barred("account", partition.name, account, spec.allow_accounts, spec.deny_accounts)


def _barred_association(partition: Partition, branch: Branch | None) -> str:
    """Return the same by the association, which counts with the accounts above it; None is not tested."""
    spec = partition.spec
    listed = {name.lower() for name in spec.allow_accounts or spec.deny_accounts}
    if branch is None or not listed:
        return ""
    named = any(each.spec.account.lower() in listed for each in branch.path)
    return Reason.PARTITION_CONFIG if named != bool(spec.allow_accounts) else ""


def _barred(what: str, partition: str, name: str, allowed: tuple[str, ...], denied: tuple[str, ...]) -> str:
    if allowed:
        if not name:
            return f"Job's {what} not known, so it can't use this partition ({partition} allows {','.join(allowed)})"
        if name not in map(str.lower, allowed):
            return (
                f"Job's {what} not permitted to use this partition ({partition} allows {','.join(allowed)} not {name})"
            )
    elif name and name in map(str.lower, denied):
        return (
            f"Job's {what} not permitted to use this partition ({partition} denies {','.join(denied)} including {name})"
        )
    return ""
