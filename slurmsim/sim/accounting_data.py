"""Accounting data as one run uses them: read, made to go with the cluster and the log, and told to the manifest."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

from slurmsim.config.accounting.build import build
from slurmsim.config.accounting.draft import Draft
from slurmsim.config.accounting.load import check_partitions, read_draft
from slurmsim.config.findings import Finding, Report
from slurmsim.core.records.enforcement import Enforcement
from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.model.accounting import Accounting
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.partition import PartitionSpec
from slurmsim.sim.unknown_accounts import CHOICES, fitting, settle_unknown
from slurmsim.workload import Workload


@dataclass(frozen=True, slots=True)
class AccountingData:
    """Accounting data as a run begins with them."""

    accounting: Accounting | None  # as they go with cluster and log; None when there are none
    draft: Draft | None  # as they were read, for commands that change them during the run
    fitted: Callable[[Accounting], Accounting]  # makes what such a change leaves go with the log likewise


def read_accounting(
    files: Sequence[str], cluster: ClusterSpec, name: str, workload: Workload, unknown: str, findings: list[Finding]
) -> AccountingData:
    """Return the data of `files` as they go with cluster and log.

    `name` is the cluster's where it matters, `unknown` a word of ``--unknown-accounts``; warnings join `findings`.
    Raises ConfigError and WorkloadError.
    """
    if unknown not in CHOICES:
        raise ConfigError(f"{unknown!r}", field="--unknown-accounts", expected=", ".join(CHOICES))
    if not files:
        return AccountingData(None, None, lambda other: other)
    report = Report()
    draft = read_draft(files, cluster=name, report=report)
    accounting = build(deepcopy(draft), ", ".join(files))
    check_partitions(accounting, cluster, report)
    findings += report.findings
    settled = settle_unknown(workload, accounting, enforcement(cluster), unknown)
    return AccountingData(settled, draft, fitting(workload, accounting, unknown))


def enforcement(cluster: ClusterSpec) -> Enforcement:
    """AccountingStorageEnforce of the cluster."""
    return Enforcement.parse(cluster.option("AccountingStorageEnforce") or ())


def takes_facts(p: PartitionSpec, accounting: Accounting | None, enforce: Enforcement) -> dict[str, list[str]]:
    """Return the accounts and QOS that a partition takes, as the manifest has them: no others run there.

    Without an association no account is denied, and an unknown QOS is none.
    """
    if accounting is None:
        return {}
    qos = {q.name for q in accounting.qos}
    lists: dict[str, Sequence[str]] = {
        "allow_accounts": p.allow_accounts,
        "deny_accounts": p.deny_accounts if enforce.associations and not p.allow_accounts else (),
        "allow_qos": p.allow_qos,
        "deny_qos": [name for name in p.deny_qos if name.lower() in qos] if not p.allow_qos else (),
    }
    return {key: [name.lower() for name in names] for key, names in lists.items() if names}


def accounting_facts(accounting: Accounting | None, enforce: Enforcement) -> dict[str, Any]:
    """Return what limits and QOS change for jobs that run, as the manifest has it (docs/validation.md)."""
    found: dict[str, Any] = {}
    if accounting is None:
        return found
    if enforce.limits and not enforce.safe:
        found["used_up_ends"] = True
    if lifting := [qos.name for qos in accounting.qos if "PartitionTimeLimit" in qos.flags]:
        found["over_max_time"] = lifting
    return found
