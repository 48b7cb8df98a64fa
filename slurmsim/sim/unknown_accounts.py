"""Users, accounts and QOS a log names and the accounting data do not know: people leave, and logs are anonymized."""

from collections.abc import Callable, Iterator

import numpy as np

from slurmsim.core.records.associations import AssociationTree
from slurmsim.core.records.enforcement import Enforcement
from slurmsim.data_classes import dataclass, replace
from slurmsim.errors import WorkloadError
from slurmsim.model.accounting import Accounting, Association, Qos
from slurmsim.workload import Workload

CHOICES = ("stop", "refuse", "add")
UNASSIGNED = "unassigned"  # account of users with jobs that name none


@dataclass(frozen=True, slots=True)
class Unknown:
    """Jobs of one user, account and QOS: `account` or `qos` is what is not known, "" when it is."""

    user: str
    account: str
    qos: str
    n_jobs: int
    example: str


def settle_unknown(workload: Workload, accounting: Accounting, enforce: Enforcement, choice: str) -> Accounting:
    """Accounting data that go with the log.

    Parameters
    ----------
    workload
        The log; what is done is counted in its quality report.
    choice
        ``stop``: an error where Slurm would refuse jobs. ``refuse``: let it refuse them. ``add``: give each such user
        an association with one share, in an account of the log's name below root if need be, and let everybody use a
        plain QOS of each unknown name.

    Raises
    ------
    WorkloadError
        With ``stop``, naming the first such job and how many there are.

    Notes
    -----
    Where nothing is enforced such jobs run without association or QOS, as in Slurm: no limit and no fair share.
    """
    found = list(_unknown(workload, AssociationTree(accounting)))
    accounts = [u for u in found if u.account]
    qos = [u for u in found if u.qos]
    if choice == "add":
        for what, group in (("account", accounts), ("QOS", qos)):
            for u in group:
                workload.quality.repair(f"{what} unknown to the accounting data: added", u.n_jobs, u.example)
        return _with_qos(_with_users(accounting, accounts), list(dict.fromkeys(u.qos for u in qos)))
    for what, group, refused in (("account", accounts, enforce.associations), ("QOS", qos, enforce.qos)):
        if not group:
            continue
        n_jobs = sum(u.n_jobs for u in group)
        first = group[0]
        if not refused:
            without = "without association" if what == "account" else "without QOS"
            for u in group:
                workload.quality.repair(f"{what} unknown to the accounting data: {without}", u.n_jobs, u.example)
        elif choice == "stop":
            unknown = f"user {first.user!r} in account {first.account!r}" if what == "account" else f"QOS {first.qos!r}"
            raise WorkloadError(
                f"{first.example}: {unknown} is unknown to the accounting data, as with {n_jobs} of {len(workload)}"
                " jobs, which Slurm would refuse",
                file=workload.header.source or None, field="account" if what == "account" else "qos",
                expected="--unknown-accounts add or refuse",
            )  # fmt: skip
    return accounting


def fitting(workload: Workload, accounting: Accounting, choice: str) -> Callable[[Accounting], Accounting]:
    """Return what makes other accounting data of the same run go with the log as `settle_unknown` made `accounting`."""
    if choice != "add":
        return lambda other: other
    found = list(_unknown(workload, AssociationTree(accounting)))
    users, qos = [u for u in found if u.account], list(dict.fromkeys(u.qos for u in found if u.qos))

    def fit(other: Accounting) -> Accounting:
        known = {q.name for q in other.qos}
        return _with_qos(_with_users(other, users), [name for name in qos if name not in known])

    return fit


def _unknown(workload: Workload, tree: AssociationTree) -> Iterator[Unknown]:
    """Yield what the tree does not know, by distinct user, account and QOS in order of the log."""
    users, accounts, qualities = (workload.texts[name] for name in ("user", "account", "qos"))
    n_accounts, n_qos = len(accounts.values), len(qualities.values)
    code = (users.codes.astype(np.int64) * n_accounts + accounts.codes) * n_qos + qualities.codes
    _, first, counts = np.unique(code, return_index=True, return_counts=True)
    members = {(b.spec.user, b.spec.account) for b in tree.users()}
    for at in np.argsort(first).tolist():
        row = int(first[at])
        user, account, qos = users[row], accounts[row], qualities[row]
        named = account.lower() or tree.default_account(user) or UNASSIGNED
        strange = named if (user, named) not in members else ""
        strange_qos = qos.lower() if qos and qos.lower() not in tree.qos else ""
        if strange or strange_qos:
            example = f"job {int(workload.ints['job_id'][row])}"
            yield Unknown(user, strange, strange_qos, int(counts[at]), example)


def _with_users(accounting: Accounting, unknown: list[Unknown]) -> Accounting:
    known = {(a.account, a.user) for a in accounting.associations}
    added: list[Association] = []
    for u in unknown:
        for spec in (Association(u.account, parent="root"), Association(u.account, u.user)):
            if (spec.account, spec.user) not in known:
                known.add((spec.account, spec.user))
                added.append(spec)
    return replace(accounting, associations=(*accounting.associations, *added)) if added else accounting


def _with_qos(accounting: Accounting, names: list[str]) -> Accounting:
    if not names:
        return accounting
    more = tuple(names)
    associations = tuple([a if a.qos is None else replace(a, qos=(*a.qos, *more)) for a in accounting.associations])
    return replace(accounting, associations=associations, qos=(*accounting.qos, *map(Qos, more)))
