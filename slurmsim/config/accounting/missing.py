"""What a slurm.conf says of accounts and QOS, when there are no accounting data to go with it."""

from __future__ import annotations

from slurmsim.config.findings import Report

# keys of slurm.conf ("" ) and of its partitions, and what becomes of them
_NEEDS = {
    ("", "AccountingStorageEnforce"): "any user, account and QOS is accepted",
    ("PartitionName", "AllowAccounts"): "jobs of all accounts are accepted",
    ("PartitionName", "DenyAccounts"): "jobs of all accounts are accepted",
    ("PartitionName", "AllowQos"): "jobs of any QOS are accepted",
    ("PartitionName", "DenyQos"): "jobs of any QOS are accepted",
}
_OFF = ("", "none", "no", "0", "all", "(null)")


def warn_missing(report: Report) -> None:
    """Add a warning for each setting that has no effect without accounting data."""
    without_database = any(
        seen.key == "AccountingStorageType" and not seen.value.lower().endswith("slurmdbd") for seen in report.seen
    ) or not any(seen.key == "AccountingStorageType" for seen in report.seen)
    for seen in report.seen:
        what = _NEEDS.get((seen.group, seen.key))
        if what is None or seen.value.strip().lower() in _OFF:
            continue
        if seen.key == "AccountingStorageEnforce" and without_database:
            continue  # enforces nothing in Slurm either
        report.warning(seen.place, seen.key, seen.value, f"has no effect without --accounting: {what}")
