"""What a slurm.conf says of accounts and QOS, when there are no accounting data to go with it."""

from collections.abc import Sequence

from slurmsim.config.findings import Report
from slurmsim.errors import ConfigError

_ENFORCE = "AccountingStorageEnforce"
_PARTITION = {
    "AllowAccounts": "jobs of all accounts are accepted",
    "DenyAccounts": "jobs of all accounts are accepted",
    "AllowQos": "jobs of any QOS are accepted",
    "DenyQos": "jobs of any QOS are accepted",
}
_FACTORS = {
    "PriorityWeightQOS": "the QOS factor counts as 0",
    "PriorityWeightFairshare": "the fair-share factor counts as 0",
    "PriorityWeightAssoc": "the association factor counts as 0",
}
_OFF = ("", "none", "no", "0", "all", "(null)")
_WITHOUT = "has no effect without --accounting"


def warn_missing(report: Report, overrides: Sequence[tuple[str, str]] = ()) -> None:
    """Add a warning for each setting that has no effect without accounting data.

    Raises ConfigError for one that was asked for with ``--set``.
    """
    for key, value in overrides:
        if key.lower() == _ENFORCE.lower() and value.strip().lower() not in _OFF[:-2]:
            raise ConfigError(f"{value} {_WITHOUT}", field=f"--set {_ENFORCE}", expected="--accounting FILE")
    types = [seen.value.lower() for seen in report.seen if seen.key == "AccountingStorageType"]
    enforcing = bool(types) and types[-1].endswith("slurmdbd")  # Slurm enforces nothing without it either
    plugins = [seen.value.lower() for seen in report.seen if seen.key == "PriorityType"]
    weighing = bool(plugins) and plugins[-1].endswith("multifactor")
    for seen in report.seen:
        value = seen.value.strip()
        if seen.key == _ENFORCE and enforcing and value.lower() not in _OFF[:-2]:
            what = "any user, account and QOS is accepted"
        elif seen.key in _FACTORS and weighing and value.lower() not in _OFF:
            what = _FACTORS[seen.key]
        elif seen.group == "PartitionName" and seen.key in _PARTITION and value.lower() not in _OFF:
            what = _PARTITION[seen.key]
        else:
            continue
        if (seen.place.file or "").startswith("--set"):
            raise ConfigError(f"{seen.key}={value} {_WITHOUT}", field=seen.place.file, expected="--accounting FILE")
        report.warning(seen.place, seen.key, seen.value, f"{_WITHOUT}: {what}")
