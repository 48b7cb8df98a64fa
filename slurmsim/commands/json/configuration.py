"""``scontrol show config`` and ``sacctmgr show config`` as documents: their keys, and how each is made of the text.

Slurm 26.05 is the first that has them. Keys are in its order. A row is a kind and its keys; ``kind:NAME`` is made of
the option NAME of the text, other kinds of the option of their own name.
"""

from __future__ import annotations

import re

from slurmsim.commands.json.versions import number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    Record = dict[str, Any]
    Make = Callable[[str], Any]

FIRST = 45
"""The first data_parser version that has them."""
SLURM = """\
list AccountingStorageTRES
text AccountingStorageBackupHost
list AccountingStorageEnforce
text AccountingStorageExternalHost AccountingStorageHost
list AccountingStorageParameters
int AccountingStoragePort
text AccountingStorageType
list AcctGatherEnergyType
text AcctGatherProfileType AcctGatherInterconnectType AcctGatherFilesystemType
int AcctGatherNodeFreq
empty ConfFlags
list AuthAltTypes
text AuthInfo AuthAltParameters AuthType
int BatchStartTimeout
text BurstBufferType
list BcastExclude BcastParameters CertgenParameters
text CertgenType CertmgrParameters CertmgrType
list CliFilterParameters CliFilterPlugins
text ClusterName
list CommunicationParameters
int CompleteWait
families CommunicationParametersFlags
list AccountingStoreFlags
daemon_flags SlurmdParametersFlags
controllers controllers
text CpuFreqDef
empty CpuFreqGovernors
text CredType DataParserParameters
list DebugFlags
number DefMemPerCPU
list DependencyParameters
int EioTimeout
list EnforcePartLimits
list:Epilog[0] Epilog
int EpilogMsgTime
list:EpilogSlurmctld[0] EpilogSlurmctld
unset EpilogTimeout
list FederationParameters
int FirstJobId FairShareDampeningFactor
zero GetNameInfoCacheTimeout
list GresTypes
int GroupUpdateTime
flag GroupUpdateForce
text GpuFreqDef HashPlugin
int HealthCheckInterval
states HealthCheckNodeState
text HealthCheckProgram
int HealthCheckTimeout
text HttpParserType
zero HostUnreachRetryCount
int InactiveLimit
text InteractiveStepOptions
list JobAcctGatherFrequency
text JobAcctGatherType
list JobAcctGatherParams
no JobAcctOomKill
text JobCompHost JobCompLoc JobCompParams
int JobCompPort
text JobCompType JobCompUser
list JobDefaults
flag JobFileAppend JobRequeue
list JobSubmitPlugins
zero KeepaliveInterval KeepaliveProbes KeepaliveTime
flag KillOnBadExit
int KillWait
list LaunchParameters Licenses LicenseParameters
text LogTimeFormat MailDomain MailProg
int MaxArraySize MaxBatchRequeue MaxDBDMsgs MaxJobCount MaxJobId
limit MaxMemPerCPU
int MaxNodeCount MaxStepCount MaxTasksPerNode
text MCSPlugin
list MCSParameters MetricsAuthUsers MetricsParameters
text MetricsType
int MinJobAge
text MpiDefault
list MpiParams
int MessageTimeout
text NamespaceType
list NodeFeaturesPlugins
overtime OverTimeLimit
text PluginDir PlugStackConfig
number PreemptExemptTime
preempt PreemptMode
list PreemptParameters
text PreemptType PrEpParameters
list PrEpPlugins
text PriorityDecayHalfLife PriorityCalcPeriod
flag PriorityFavorSmall
priority_flags PriorityFlags
text PriorityMaxAge PriorityParameters PriorityUsageResetPeriod PriorityType
int PriorityWeightAge PriorityWeightAssoc
int:PriorityWeightFairShare PriorityWeightFairshare
int PriorityWeightJobSize PriorityWeightPartition PriorityWeightQOS
text PriorityWeightTRES
list PrivateData
text ProctrackType
list:Prolog[0] Prolog
list:PrologSlurmctld[0] PrologSlurmctld
unset PrologTimeout
nice PropagatePrioProcess
list PrologFlags PropagateResourceLimits PropagateResourceLimitsExcept
text RebootProgram
list ReconfigFlags RequeueExit RequeueExitHold
text ResumeFailProgram ResumeProgram
int ResumeRate ResumeTimeout
text ResvEpilog
int ResvOverRun
text ResvProlog
returns ReturnToService
text SlurmSchedLogFile
int SlurmSchedLogLevel
list SchedulerParameters
int SchedulerTimeSlice
text SchedulerType
list ScronParameters
text SelectType
list SelectTypeParameters
text PrioritySiteFactorPlugin PrioritySiteFactorParameters
uid:SlurmUser SlurmUserId
user SlurmUser
uid:SlurmdUser SlurmdUserId
user SlurmdUser
text SlurmctldAddr SlurmctldDebug
list:SlurmctldHttpAuthParameters SlurmctldHttpAuthParams
text SlurmctldLogFile SlurmctldPidFile
int SlurmctldPort
one SlurmctldPortCount
text SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg SlurmctldSyslogDebug
int SlurmctldTimeout
list SlurmctldParameters
text SlurmdDebug
list:SlurmdHttpAuthParameters SlurmdHttpAuthParams
text SlurmdLogFile
list SlurmdParameters
text SlurmdPidFile
int SlurmdPort
text SlurmdSpoolDir SlurmdSyslogDebug
int SlurmdTimeout
text SrunEpilog
range SrunPortRange
text SrunProlog StateSaveLocation
list SuspendExcNodes SuspendExcParts SuspendExcStates
text SuspendProgram
int SuspendRate
number SuspendTime
int SuspendTimeout
text SwitchType
list SwitchParameters
text TaskEpilog
list TaskPlugin TaskPluginParam
text TaskProlog
list TLSParameters
text TLSType
int TCPTimeout
text TmpFS
list TopologyParam
text TopologyPlugin
int TreeWidth
text UnkillableStepProgram
int UnkillableStepTimeout
text UrlParserType
int VSizeFactor WaitTime
list X11Parameters
"""
DATABASE = """\
text ArchiveDir ArchiveScript
int CommitDelay
text DbdAddr DbdBackupHost DbdHost
int DbdPort
text DebugLevel DefaultQOS
empty Flags
text LogFile
int MaxPurgeLimit
text MaxQueryTimeRange
list Parameters
empty PersistConnFlags
text PidFile
purge PurgeEventAfter PurgeJobAfter PurgeResvAfter PurgeStepAfter PurgeSuspendAfter PurgeTXNAfter PurgeUsageAfter
purge PurgeJobScriptAfter PurgeJobEnvAfter
text StorageLoc StoragePassScript StorageUser
text DebugLevelSyslog
flag TrackWCKey TrackSlurmctldDown
"""
_NOTHING = frozenset({"", "(null)", "none", "NONE", "N/A", "(null type)"})
_FLAGS_OF_SLURMD = ("config_overrides", "l3cache_as_socket", "numa_node_as_socket", "shutdown_on_reboot")
_RETURNS = {"0": "none", "1": "non_responsive_only", "2": "all"}
_NICE = {"0": "off", "1": "on", "2": "nicer"}
_LONGEST_MIN = 65535
"""What OverTimeLimit without end is in a document, minutes."""


def slurm_conf(values: Mapping[str, str], hosts: Iterable[str]) -> Record:
    """Return the document of slurm.conf.

    Parameters
    ----------
    values
        Every option as the text has it, also those that the text leaves out.
    hosts
        The values of SlurmctldHost[N], in their order.
    """
    found = _made(SLURM, values)
    flags = found["SlurmdParameters"]
    words = [word.lower() for word in found["CommunicationParameters"]]
    found["SlurmdParametersFlags"] = [word for word in flags if word.lower() in _FLAGS_OF_SLURMD]
    found["CommunicationParametersFlags"] = [
        *([] if "disableipv4" in words else ["IPv4"]), *(["IPv6"] if "enableipv6" in words else [])
    ]  # fmt: skip
    found["controllers"] = [
        {"address": value.partition("(")[2].rstrip(")"), "machine": value.partition("(")[0]} for value in hosts
    ]
    found["MaxMemPerCPU"] = number(_integer(values.get("MaxMemPerCPU") or values.get("MaxMemPerNode", "")))
    if found["PropagateResourceLimits"] == []:
        found["PropagateResourceLimits"] = ["NONE"]
    return found


def database_conf(values: Mapping[str, str]) -> Record:
    """Return the document of slurmdbd.conf; `values` are its options as the text has them."""
    return _made(DATABASE, values)


def kinds(rows: str) -> Iterator[tuple[str, str, str]]:
    """Yield key, kind and the option of the text it is made of, for each key of `SLURM` or `DATABASE`."""
    for row in rows.splitlines():
        kind, *keys = row.split()
        kind, _, source = kind.partition(":")
        for key in keys:
            yield key, kind, source or key


def _made(rows: str, values: Mapping[str, str]) -> Record:
    return {key: _KINDS[kind](values.get(source, "")) for key, kind, source in kinds(rows)}


def _text(value: str) -> str:
    return "" if value in ("(null)", "N/A") else value


def _list(value: str) -> list[str]:
    return [] if value in _NOTHING else value.split(",")


def _integer(value: str) -> int:
    """Return the number that a value begins with, 0 where there is none that fits into 64 bits."""
    digits = value.split(" ")[0]
    return int(digits) if re.fullmatch(r"-?[0-9]{1,19}", digits) else 0


def _number(value: str) -> Record:
    """Return a number, or a time as seconds, that may be unset or without end."""
    if value.upper() == "INFINITE":
        return {"set": False, "infinite": True, "number": 0}
    days, _, clock = value.rpartition("-")
    parts = clock.split(":")
    if len(parts) == 3 and all(re.fullmatch("[0-9]{1,9}", part) for part in parts):
        hours, minutes, seconds = map(int, parts)
        return number(86_400 * _integer(days) + 3600 * hours + 60 * minutes + seconds)
    return number(_integer(value)) if re.match("[0-9]", value) else {"set": False, "infinite": False, "number": 0}


def _overtime(value: str) -> int:
    return _LONGEST_MIN if value == "UNLIMITED" else _integer(value)


def _range(value: str) -> Record:
    low, _, high = value.partition("-")
    least, most = _integer(low), _integer(high)
    return {"minimum": least, "maximum": most, "set": bool(least or most)}


def _preempt(value: str) -> list[str]:
    """Return the modes; GANG comes last, and none is DISABLED."""
    words = value.split(",")
    return ["DISABLED"] if words == ["OFF"] else sorted(words, key=lambda word: word == "GANG")


def _priority_flags(value: str) -> list[str]:
    """Return the flags; the tree is one unless it is switched off."""
    words = _list(value)
    return [*(word for word in words if word != "NO_FAIR_TREE"), *([] if "NO_FAIR_TREE" in words else ["FAIR_TREE"])]


def _states(value: str) -> list[str]:
    """Return the states, CYCLE as the last."""
    return sorted(value.split(","), key=lambda word: word == "CYCLE")


def _purge(value: str) -> Record:
    """Return an age as slurmdbd.conf has it: 12months, 30days, 48hours."""
    amount, unit = re.match(r"([0-9]{0,9})([a-z]*)", value).groups()  # type: ignore[union-attr]
    ages = {one: int(amount or 0) if unit in (one, one[:-1]) else 0 for one in ("hours", "days", "months")}
    return {"set": any(ages.values()), **ages, "archive": False}


_KINDS: dict[str, Make] = {
    "text": _text, "list": _list, "int": _integer, "number": _number, "range": _range, "purge": _purge,
    "overtime": _overtime, "preempt": _preempt, "priority_flags": _priority_flags, "states": _states,
    "flag": lambda value: value.lower() in ("1", "yes"),
    "user": lambda value: value.partition("(")[0],
    "uid": lambda value: _integer(value.partition("(")[2].rstrip(")")),
    "returns": lambda value: _RETURNS.get(value, "none"),
    "nice": lambda value: _NICE.get(value, "off"),
    "empty": lambda _: [], "no": lambda _: False, "zero": lambda _: 0, "one": lambda _: 1,
    "unset": lambda _: {"set": False, "infinite": False, "number": 0},
    **dict.fromkeys(("families", "daemon_flags", "controllers", "limit"), lambda _: None),  # from several options
}  # fmt: skip
