"""slurmdbd.conf beside slurm.conf: what the database hides, keeps, refuses and takes for granted.

Keys about connections, logs and the SQL server are read and have no effect; passwords are not kept at all. Mirrors
read_slurmdbd_conf (22.05 to 26.05). Without such a file the database acts by slurm.conf and by the defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from slurmsim.config.findings import Place, Report
from slurmsim.config.option import Option, Status, honoured
from slurmsim.config.slurm_conf import ConfLine
from slurmsim.duration import FORMATS, DurationError, parse_duration
from slurmsim.errors import nearest
from slurmsim.purge_age import ARCHIVE, MONTHS, parse_purge

FILE = "slurmdbd.conf"
SECRET = ("StoragePass",)  # values that are never kept
_PURGED = {"Events": "Event", "Jobs": "Job", "Resvs": "Resv", "Steps": "Step", "Suspend": "Suspend", "TXN": "TXN",
           "Usage": "Usage"}  # fmt: skip
"""Kinds of rows as ``Archive...`` names them, and as ``Purge...After`` does."""
_KEPT = "scripts and environments of jobs are kept as long as the jobs"


def _unused(kind: str, since: str, names: str) -> list[Option]:
    return [
        Option(name, kind, Status.HARMLESS, "about connections, logs and the SQL server", since=since)
        for name in names.split()
    ]


def _refused(names: str, why: str, since: str = "") -> list[Option]:
    return [Option(name, "flag", Status.NOT_MODELLED, why, False, since=since) for name in names.split()]


_ROWS = (
    honoured("AllResourcesAbsolute", "flag", False, since="23.02"),
    honoured("ArchiveDir", "text", "/tmp"),
    *(honoured(f"Archive{name}", "flag", False, "for `sacctmgr archive dump`; rows that go by themselves leave no file")
      for name in _PURGED),
    honoured("DefaultQOS"), honoured("DbdHost"), honoured("DbdPort", "count"),
    honoured("DisableArchiveCommands", "flag", False, since="25.11"),
    honoured("DisableCoordDBD", "flag", False, since="24.05"),
    honoured("DisableRollups", "flag", False, since="26.05"),
    honoured("MaxQueryTimeRange"), honoured("Parameters"), honoured("PrivateData"),
    *(honoured(f"Purge{name}After") for name in _PURGED.values()),
    *(honoured(f"Purge{name}Months", "count") for name in ("Event", "Job", "Step", "Suspend", "TXN", "Usage")),
    honoured("JobPurge", "count"), honoured("StepPurge", "count"),
    honoured("TrackWCKey", "flag", False),
    *_refused("AllowNoDefAcct", "a user's first account is the default one"),
    *_refused("TrackSlurmctldDown", "a slurmctld that is down makes no rows"),
    *_refused("ArchiveJobEnv ArchiveJobScript", _KEPT, "26.05"),
    *(Option(name, "text", Status.NOT_MODELLED, _KEPT, since="26.05") for name in
      ("PurgeJobEnvAfter", "PurgeJobScriptAfter")),
    Option("ArchiveScript", "text", Status.NOT_MODELLED, "no script runs in the database"),
    *_unused("text", "", "AuthAltParameters AuthAltTypes AuthInfo AuthType CommunicationParameters DbdAddr "
             "DbdBackupHost DebugFlags DebugLevel DebugLevelSyslog LogFile LogTimeFormat PidFile PluginDir SlurmUser "
             "SerializerParameters SerializerPlugins StorageBackupHost StorageHost StorageLoc StorageParameters "
             "StoragePass StorageType StorageUser"),
    *_unused("text", "24.05", "HashPlugin TLSParameters TLSType"),
    *_unused("text", "25.11", "StoragePassScript"),
    *_unused("count", "", "CommitDelay MessageTimeout StoragePort TCPTimeout"),
    *_unused("count", "25.11", "MaxPurgeLimit"),
)  # fmt: skip
DATABASE_KEYS: Mapping[str, Option] = {row.name.lower(): row for row in _ROWS}


def read_slurmdbd(lines: Iterable[ConfLine], report: Report) -> dict[str, Any]:
    """Return the values that are set, and the defaults of those that count; ages of rows as `slurmsim.purge_age`."""
    found = {row.name: row.default for row in _ROWS if row.status is Status.HONOURED and row.known_in(report.release)}
    for line in lines:
        for pair in line.pairs:
            option = DATABASE_KEYS.get(pair.key.lower())
            if option is None or not option.known_in(report.release):
                report.fatal_in_strict(line.place, pair.key, pair.value, "slurmdbd does not know this key"
                                       + nearest(pair.key, [row.name for row in _ROWS]))  # fmt: skip
            elif option.name not in SECRET:
                _take(found, option, pair.value, line.place, report)
    return _with_ages(found)


def _take(found: dict[str, Any], option: Option, text: str, place: Place, report: Report) -> None:
    try:
        value = _typed(option, text)
    except DurationError as error:
        report.error(place, option.name, text, error.message, FORMATS)
        return
    except ValueError as error:
        message, *expected = error.args
        report.error(place, option.name, text, message, *expected)
        return
    if option.status is Status.NOT_MODELLED and value:
        report.warning(place, option.name, text, f"not modelled: {option.why}")
    found[option.name] = value


def _typed(option: Option, text: str) -> Any:
    if option.name.endswith("After"):
        return parse_purge(text)
    if option.name == "MaxQueryTimeRange":
        return parse_duration(text)
    return option.parse(text)


def _with_ages(found: dict[str, Any]) -> dict[str, Any]:
    """Fold older spellings into ``Purge...After``, and mark what is archived before it goes."""
    for old, kind in (("JobPurge", "Job"), ("StepPurge", "Step")):
        found[f"Purge{kind}Months"] = found.pop(old) or found[f"Purge{kind}Months"]
    for kind, name in _PURGED.items():
        after = f"Purge{name}After"
        months = found.pop(f"Purge{name}Months", None)
        if after in found and months:
            found[after] = months | MONTHS
        if found.get(after) and found.get(f"Archive{kind}"):
            found[after] |= ARCHIVE
    return found
