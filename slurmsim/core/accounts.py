"""Who may submit where: associations, default accounts and QOS, and the partitions' lists of those.

Asked once a submission (job_mgr.c _job_create, assoc_mgr.c, 22.05); what it finds stays on the job as `branch` and
`qos_spec` for limits, priorities and preemption.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurmsim.core.associations import AssociationTree, Branch
from slurmsim.errors import ConfigError, SubmitError
from slurmsim.model.accounting import Qos

if TYPE_CHECKING:
    from slurmsim.core.job import Job
    from slurmsim.core.partitions import Partition
    from slurmsim.model.submission import Submission

INVALID_ACCOUNT = "Invalid account or account/partition combination specified"
INVALID_QOS = "Invalid qos specification"


@dataclass(frozen=True, slots=True)
class Enforcement:
    """AccountingStorageEnforce: what is enforced. `limits`, `qos`, `safe` and `wckeys` imply `associations`."""

    associations: bool = False
    limits: bool = False
    qos: bool = False
    safe: bool = False
    wckeys: bool = False
    nosteps: bool = False
    nojobs: bool = False

    @classmethod
    def parse(cls, words: Iterable[str]) -> Enforcement:
        """From the words of slurm.conf, which the reader of slurm.conf has checked; ``all`` but nosteps and nojobs."""
        given = {{"1": "associations", "2": "limits"}.get(word, word) for word in map(str.lower, words)}
        everything = "all" in given
        safe = everything or "safe" in given
        limits = safe or "limits" in given
        qos, wckeys = everything or "qos" in given, everything or "wckeys" in given
        nojobs = "nojobs" in given
        return cls(
            associations=limits or qos or wckeys or "associations" in given, limits=limits, qos=qos, safe=safe,
            wckeys=wckeys, nosteps=nojobs or "nosteps" in given, nojobs=nojobs,
        )  # fmt: skip


class Accounts:
    """Resolves account and QOS of submissions.

    Parameters
    ----------
    tree
        Associations and QOS.
    enforce
        What is enforced.
    partitions
        Those of the cluster; each is given its QOS. Raises ConfigError for a QOS that does not exist.
    """

    def __init__(self, tree: AssociationTree, enforce: Enforcement, partitions: Iterable[Partition]) -> None:
        self.tree, self.enforce = tree, enforce
        self._found: dict[tuple[str, str, str, str], tuple[Branch | None, str, Qos | None]] = {}
        for p in partitions:
            if p.spec.qos:
                if p.spec.qos not in tree.qos:
                    raise ConfigError(f"the accounting data have no QOS {p.spec.qos!r}",
                                      field=f"PartitionName={p.name} QOS", expected="a QOS they define")  # fmt: skip
                p.qos = tree.qos[p.spec.qos]

    def resolve(self, sub: Submission, partitions: tuple[Partition, ...]) -> tuple[Branch | None, str, Qos | None]:
        """Association, account and QOS of a submission. Raises SubmitError with Slurm's text.

        The association is None where none exists and none is required.
        """
        key = (sub.user, sub.account, partitions[0].name, sub.qos)
        found = self._found.get(key)
        if found is None:
            branch, account = self._association(sub.user, sub.account, partitions[0].name)
            found = self._found[key] = (branch, account, self._qos(branch, sub.qos))
        return found

    def admit(self, job: Job) -> None:
        """Note on `job` what was found for it."""
        job.branch, job.account, job.qos_spec = self.resolve(job.sub, job.partitions)
        if job.qos_spec is not None:
            job.qos = job.qos_spec.name

    def _association(self, user: str, account: str, partition: str) -> tuple[Branch | None, str]:
        tree = self.tree
        wanted = account or tree.default_account(user)
        branch = tree.find(user, wanted, partition)
        if branch is None and self.enforce.associations:
            raise SubmitError(INVALID_ACCOUNT)
        if branch is None and account:  # better the default account than one nobody knows
            default = tree.default_account(user)
            branch = tree.find(user, default, partition)
            if branch is not None:
                wanted = default
        return branch, wanted

    def _qos(self, branch: Branch | None, asked: str) -> Qos | None:
        """The QOS asked for, else the default of the association, its only one, the root's, ``normal``."""
        tree = self.tree
        allowed = None if branch is None else branch.qos_names()
        name = asked
        if not name and branch is not None:
            name = branch.default_qos()
            if not name and allowed is not None and len(allowed) == 1:
                name = allowed[0]
        name = name or tree.root.spec.default_qos or "normal"
        qos = tree.qos.get(name.lower())
        if qos is None and self.enforce.qos:
            raise SubmitError(INVALID_QOS)
        if qos is not None and self.enforce.qos and allowed is not None and qos.name not in allowed:
            raise SubmitError(INVALID_QOS)
        return qos
