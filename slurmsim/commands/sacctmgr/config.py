"""``sacctmgr show config``: of slurm.conf what concerns the database, and slurmdbd.conf.

Where there is no such file its part shows the defaults, with the port from slurm.conf.
"""

from __future__ import annotations

import time

from slurmsim import releases
from slurmsim.duration import format_duration
from slurmsim.purge_age import text_of
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.sacctmgr.words import Session


_PLUGINS = "/usr/lib/x86_64-linux-gnu/slurm-wlm"
_NULL = "(null)"
# Name, value; "?" is no, as the release writes it; ">=24.11 " or "<26.05 " before a name: only there
_DBD = """\
AllowNoDefAcct ?
ArchiveDir /tmp
ArchiveEvents ?
ArchiveJobs ?
>=26.05 ArchiveJobScript ?
>=26.05 ArchiveJobEnv ?
ArchiveResvs ?
ArchiveScript (null)
ArchiveSteps ?
ArchiveSuspend ?
ArchiveTXN ?
ArchiveUsage ?
AuthAltTypes (null)
AuthAltParameters (null)
AuthInfo (null)
AuthType auth/munge
BOOT_TIME {boot}
CommitDelay {delay}
CommunicationParameters (null)
DbdAddr {host}
DbdBackupHost (null)
DbdHost {host}
DbdPort {port}
DebugFlags (null)
DebugLevel info
DebugLevelSyslog (null)
DefaultQOS (null)
>=24.11 DisableCoordDBD ?
>=26.05 DisableArchiveCommands ?
>=26.05 DisableRollups ?
>=24.11 HashPlugin hash/k12
LogFile /var/log/slurmdbd.log
>=26.05 MaxPurgeLimit 50000
MaxQueryTimeRange UNLIMITED
MessageTimeout 10 secs
Parameters (null)
PidFile /run/slurmdbd.pid
PluginDir {plugins}
PrivateData none
PurgeEventAfter NONE
PurgeJobAfter NONE
PurgeResvAfter NONE
PurgeStepAfter NONE
PurgeSuspendAfter NONE
PurgeTXNAfter NONE
PurgeUsageAfter NONE
>=26.05 PurgeJobScriptAfter NONE
>=26.05 PurgeJobEnvAfter NONE
SLURMDBD_CONF /etc/slurm/slurmdbd.conf
SLURMDBD_VERSION {version}
SlurmUser root(0)
StorageBackupHost (null)
StorageHost localhost
<26.05 StorageLoc slurm_acct_db
>=26.05 StorageLoc
StorageParameters (null)
>=26.05 StoragePassScript
<26.05 StoragePort 3306
>=26.05 StoragePort {port}
<26.05 StorageType accounting_storage/mysql
>=26.05 StorageType accounting_storage/slurmdbd
<26.05 StorageUser root
>=26.05 StorageUser
TCPTimeout 2 secs
>=24.11 TLSParameters (null)
>=24.11 TLSType tls/none
TrackWCKey ?
TrackSlurmctldDown ?
"""
_NAMES = ("AccountingStorageHost", "AccountingStoragePort", "AccountingStorageType", "AuthType", "PrivateData")


def text(session: Session) -> str:
    """Return both parts as text."""
    release = session.release
    values = _values(session)
    now = _date(session.now)
    rows = [
        ("AccountingStorageBackupHost ", _NULL), ("AccountingStorageHost", _host(values)),
        ("AccountingStorageParameters", _NULL),
        ("AccountingStoragePass", _NULL), ("AccountingStoragePort", _port(values)),
        ("AccountingStorageType", str(values.get("AccountingStorageType"))), ("AccountingStorageUser", "N/A"),
        ("AuthType", str(values.get("AuthType") or "auth/munge")), ("MessageTimeout", "10 sec"), ("PluginDir",
        _PLUGINS),
        ("PrivateData", _private(values)), ("SlurmUserId", "root(0)"),
        ("SLURM_CONF", "/etc/slurm/slurm.conf"), ("SLURM_VERSION", releases.VERSIONS[release]),
        ("TCPTimeout", "2 sec"), ("TrackWCKey", "No"),
    ]  # fmt: skip
    if since(release, "no_storage_user"):
        rows = [row for row in rows if row[0] != "AccountingStorageUser"]
    first = "".join(f"{name:<22} = {value}\n" for name, value in rows)
    second = "".join(f"{name:<22} = {value}\n" for name, value in database_rows(session, values))
    return f"Configuration data as of {now}\n{first}\nSlurmDBD configuration:\n{second}"


def database_rows(session: Session, values: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    """Return name and value of each option of slurmdbd.conf; `values` are those of slurm.conf, if they are at hand."""
    release = session.release
    values = _values(session) if values is None else values
    no = _no(release)
    known = {
        "host": _host(values), "port": _port(values), "plugins": _PLUGINS, "version": releases.VERSIONS[release],
        "delay": "0" if since(release, "commit_delay_in_seconds") else no, "boot": _date(session.now),
    }  # fmt: skip
    conf = {name: value for name, value in database_conf(session).items() if value is not None}
    if since(release, "private_data_of_the_client"):
        conf.pop("PrivateData", None)
    found = []
    for row in _DBD.splitlines():
        if row[0] in "<>":
            bound, row = row.split(" ", 1)
            if release < bound[2:] if bound[0] == ">" else release >= bound[1:]:
                continue
        name, _, value = row.partition(" ")
        shown = no if value == "?" else value.format(**known)
        found.append((name, _told(session, name, conf[name]) if name in conf else shown))
    return found


def database_conf(session: Session) -> dict[str, Any]:
    """Return what slurmdbd.conf says, by key; empty without one."""
    found = session.io.client.call("config", names=["slurmdbd.conf"])["values"]["slurmdbd.conf"]
    return found if isinstance(found, dict) else {}


def _told(session: Session, name: str, value: Any) -> str:
    """Return a value of slurmdbd.conf as it is shown."""
    if name.startswith("Purge"):
        return text_of(value)
    if name == "MaxQueryTimeRange":
        return str(format_duration(value))
    if isinstance(value, bool):
        no = _no(session.release)
        return ("yes" if no == "no" else "Yes") if value else no
    return str(value)


def _values(session: Session) -> dict[str, Any]:
    found: dict[str, Any] = session.io.client.call("config", names=list(_NAMES))["values"]
    return found


def _host(values: dict[str, Any]) -> str:
    return str(values.get("AccountingStorageHost") or "localhost")


def _port(values: dict[str, Any]) -> str:
    return str(values.get("AccountingStoragePort") or 6819)


def _private(values: dict[str, Any]) -> str:
    private = values.get("PrivateData") or "none"
    return private if isinstance(private, str) else ",".join(private)


def _no(release: str) -> str:
    return "no" if since(release, "booleans_in_lower_case") else "No"


def _date(now: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(now))
