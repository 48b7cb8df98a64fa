"""``scontrol write config [FILE]``: what the controller runs with, as a slurm.conf that could be read again.

Each value stands in the group real Slurm keeps it in; what no group names is under OTHER. A value that is not set is
a comment. Nodes that are alike share a line, the group that came last first.
"""

from __future__ import annotations

import os

from slurmsim import hostlist
from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.scontrol.config_text import config_rows
from slurmsim.commands.text.clock_text import Dates, long_clock
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from slurmsim.commands.scontrol.session import Session

    Row = dict[str, Any]

DEFAULT_FILE = "/etc/slurm/slurm.conf"
_GROUPS = (
    ("CONTROL", "ClusterName SlurmUser SlurmdUser SlurmctldHost SlurmctldPort SlurmdPort"),
    ("LOGGING & OTHER PATHS", "StateSaveLocation SlurmdSpoolDir SlurmctldLogFile SlurmdLogFile SlurmctldPidFile "
                              "SlurmdPidFile SlurmSchedLogFile"),
    ("ACCOUNTING", "AccountingStorageBackupHost AccountingStorageEnforce AccountingStorageHost AccountingStoragePort "
                   "AccountingStorageType AccountingStorageUser AccountingStoreFlags AcctGatherEnergyType "
                   "AcctGatherFilesystemType AcctGatherInterconnectType AcctGatherNodeFreq AcctGatherProfileType "
                   "ExtSensorsType ExtSensorsFreq JobAcctGatherFrequency JobAcctGatherType"),
    ("SCHEDULING & ALLOCATION", "PreemptMode PreemptParameters PreemptType PreemptExemptTime PriorityType "
                                "SchedulerParameters SchedulerTimeSlice SchedulerType SelectType SelectTypeParameters "
                                "SlurmSchedLogLevel"),
    ("TOPOLOGY", "TopologyPlugin"),
    ("TIMERS", "BatchStartTimeout CompleteWait EpilogMsgTime GetEnvTimeout InactiveLimit KillWait MinJobAge "
               "SlurmctldTimeout SlurmdTimeout WaitTime"),
    ("POWER", "ResumeProgram ResumeRate ResumeTimeout SuspendExcNodes SuspendExcParts SuspendExcStates "
              "SuspendProgram SuspendRate SuspendTime SuspendTimeout"),
    ("DEBUG", "DebugFlags SlurmctldDebug SlurmdDebug"),
    ("EPILOG & PROLOG", "Epilog Prolog SrunEpilog SrunProlog TaskEpilog TaskProlog"),
    ("PROCESS TRACKING", "ProctrackType"),
    ("RESOURCE CONFINEMENT", "TaskPlugin TaskPluginParam"),
)  # fmt: skip
_OTHER = "OTHER"
_PLACES = {name: title for title, names in _GROUPS for name in names.split()}
_LEFT_OUT = frozenset(("BOOT_TIME", "HASH_VAL", "MULTIPLE_SLURMD", "NEXT_JOB_ID", "SLURM_CONF", "SLURM_VERSION"))
_PROGRAMS = (
    "Epilog EpilogSlurmctld HealthCheckProgram MailProg Prolog PrologSlurmctld RebootProgram ResumeProgram ResvEpilog "
    "ResvProlog SrunEpilog SrunProlog SuspendProgram TaskEpilog TaskProlog UnkillableStepProgram"
)
_WHOLE = frozenset(_PROGRAMS.split())
_NOTHING = ("", "(null)", "(null type)", "n/a")
_NO_VALUE = {"DefMemPerNode": "UNLIMITED", "SlurmctldSyslogDebug": "unknown", "SlurmdSyslogDebug": "unknown",
             "CpuFreqDef": "unknown"}  # fmt: skip
_WIDE, _HEAD = 48, 56
_NODE = (("node_hostname", "NodeHostName"), ("node_addr", "NodeAddr"), ("sockets", "Sockets"),
         ("cores", "CoresPerSocket"), ("threads", "ThreadsPerCore"), ("gres", "Gres"), ("real_memory", "RealMemory"),
         ("tmp_disk", "TmpDisk"), ("weight", "Weight"), ("features", "Feature"), ("port", "Port"))  # fmt: skip
_PARTITION = (
    "name allow_alloc_nodes allow_accounts allow_groups allow_qos alternate default def_mem_per_cpu "
    "def_mem_per_node deny_accounts deny_qos default_time disable_root_jobs over_subscribe exclusive_user "
    "grace_time hidden lln max_cpus_per_node max_cpus_per_socket max_mem_per_cpu max_mem_per_node max_nodes "
    "max_time min_nodes nodes preempt_mode priority_job_factor priority_tier qos req_resv root_only "
    "select_parameters max_share state_up billing_weights resume_timeout suspend_timeout suspend_time "
    "topology exclusive_topo"
)


def write_config(session: Session, name: str | None) -> None:
    """Write the file, its name followed by the time, and say where; that it cannot be written changes no exit code."""
    try:
        answer = session.io.client.call("show_config")
    except FAILED_CALLS as error:
        session.complain("slurm_load_ctl_conf error", text_of(error), loud=session.quiet != 1)
        return
    try:
        nodes = session.load("nodes", ["name", *(field for field, _ in _NODE), "default_port"], show_all=True)
    except FAILED_CALLS as error:
        session.complain("slurm_load_node error", text_of(error))
        return
    try:
        partitions = session.load("partitions", _PARTITION.split(), show_all=True)
    except FAILED_CALLS as error:
        session.complain("slurm_load_partitions error", text_of(error))
        return
    environ = session.io.environ
    date = Dates(environ, answer["now"])(answer["now"])
    told = name or environ.get("SLURM_CONF_OUT") or environ.get("SLURM_CONF") or DEFAULT_FILE
    path = f"{told}.{date}"
    text = _text(date, config_rows(answer, session.release, Dates(environ, answer["now"])), nodes, partitions, session)
    try:
        with open(os.path.join(session.io.cwd, path), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
    except OSError as error:
        session.io.error(f"Could not create file {path}: {error.strerror}")
        return
    session.io.out(f"Slurm config saved to {path}\n")


def _text(
    date: str, rows: Sequence[tuple[str, str]], nodes: Sequence[Row], partitions: Sequence[Row], session: Session
) -> str:
    grouped: dict[str, list[str]] = {title: [] for title in (*(title for title, _ in _GROUPS), _OTHER)}
    for name, value in rows:
        if name not in _LEFT_OUT:
            grouped[_PLACES.get(name.partition("[")[0], _OTHER)].append(_line(name, value))
    head = [_HEAD * "#", f"#  Configuration file for Slurm - {date}  #", _HEAD * "#", "#", "#"]
    body = [line for title, lines in grouped.items() for line in (*_title(title), *lines)]
    ends = [*_title("NODES"), *_node_lines(nodes), *_title("PARTITIONS")]
    return "\n".join([*head, *body, *ends, *(_partition_line(row, session) for row in partitions)]) + "\n"


def _title(title: str) -> list[str]:
    left = (_WIDE - len(title)) // 2 - 1
    right = left + (_WIDE - len(title)) % 2
    return ["#", _WIDE * "#", f"#{left * ' '}{title}{right * ' '}#", _WIDE * "#"]


def _line(name: str, value: str) -> str:
    """Return a name and its value without its unit; a comment where there is none.

    >>> _line("KillWait", "30 sec"), _line("Licenses", "(null)"), _line("SlurmctldHost[0]", "head(127.0.0.1)")
    ('KillWait=30', '#Licenses=', 'SlurmctldHost=head')
    >>> _line("MailProg", "/bin/mail -s"), _line("CpuFreqDef", "Unknown")
    ('MailProg="/bin/mail -s"', '#CpuFreqDef=')
    """
    short = name.partition("[")[0]
    low = value.lower()
    if low in _NOTHING or low == _NO_VALUE.get(short, "").lower():
        return f"#{name}="
    if short not in _WHOLE:
        value = value.split(" ")[0].split("(")[0] or value
    return f'{short}="{value}"' if " " in value else f"{short}={value}"


def _node_lines(nodes: Sequence[Row]) -> list[str]:
    alike: dict[str, list[str]] = {}
    for node in nodes:
        told = "".join(f" {word}={node[field]}" for field, word in _NODE if _is_told(node, field))
        alike.setdefault(told, []).append(node["name"])
    return [f"NodeName={hostlist.compress(names)}{told}" for told, names in reversed(alike.items())]


def _is_told(node: Row, field: str) -> bool:
    value = node[field]
    if field in ("node_hostname", "node_addr"):
        return bool(value) and value != node["name"]
    if field == "port":
        return bool(value) and value != node["default_port"]
    return bool(value) and not (field in ("real_memory", "weight") and value == 1)


def _partition_line(row: Row, session: Session) -> str:
    later = since(session.release, "exclusive_of_partitions")
    words: list[tuple[str, object]] = [("PartitionName", row["name"])]
    for word, field in (("AllocNodes", "allow_alloc_nodes"), ("AllowAccounts", "allow_accounts"),
                        ("AllowGroups", "allow_groups"), ("AllowQos", "allow_qos")):  # fmt: skip
        words.append((word, None if str(row[field] or "ALL").upper() == "ALL" else row[field]))
    words += [("Alternate", row["alternate"]), ("Default", _yes(row["default"])), *_memory(row, "def", "Def")]
    words.append(("DenyAccounts", None if row["allow_accounts"] else row["deny_accounts"]))
    words.append(("DenyQos", None if row["allow_qos"] else row["deny_qos"]))
    words += [("DefaultTime", _minutes(row["default_time"])), ("DisableRootJobs", _yes(row["disable_root_jobs"]))]
    whole = row["over_subscribe"] == "EXCLUSIVE"
    if later:
        topo = row["exclusive_topo"]
        words.append(("Exclusive", "TOPO" if topo else "NODE" if whole else "USER" if row["exclusive_user"] else "NO"))
    else:
        words.append(("ExclusiveUser", _yes(row["exclusive_user"])))
    words += [("GraceTime", row["grace_time"] or None), ("Hidden", _yes(row["hidden"])), ("LLN", _yes(row["lln"])),
              ("MaxCPUsPerNode", row["max_cpus_per_node"]), ("MaxCPUsPerSocket", row["max_cpus_per_socket"]),
              *_memory(row, "max", "Max"),
              ("MaxNodes", row["max_nodes"]), ("MaxTime", _minutes(-1 if row["max_time"] is None else row["max_time"])),
              ("MinNodes", None if row["min_nodes"] == 1 else row["min_nodes"]), ("Nodes", row["nodes"]),
              ("PriorityJobFactor", _but_one(row["priority_job_factor"])),
              ("PriorityTier", _but_one(row["priority_tier"])), ("QOS", row["qos"]), ("ReqResv", _yes(row["req_resv"])),
              ("RootOnly", _yes(row["root_only"])), ("SelectTypeParameters", (row["select_parameters"] or "").upper()),
              ("OverSubscribe", _shared(row, whole, later)), ("State", row["state_up"]),
              ("TRESBillingWeights", row["billing_weights"])]  # fmt: skip
    for word, field in (("ResumeTimeout", "resume_timeout"), ("SuspendTimeout", "suspend_timeout"),
                        ("SuspendTime", "suspend_time")):  # fmt: skip
        words.append((word, "INFINITE" if (row[field] or 0) < 0 else row[field]))
    words.append(("Topology", row["topology"]))
    return " ".join(f"{word}={value}" for word, value in words if value is not None and value != "")


def _yes(value: object) -> str | None:
    return "YES" if value else None


def _but_one(value: int) -> int | None:
    return None if value == 1 else value


def _minutes(value: int | None) -> str | None:
    return "UNLIMITED" if value is None else None if value == -1 else long_clock(value * 60)


def _memory(row: Row, field: str, word: str) -> list[tuple[str, object]]:
    return [(f"{word}MemPerCPU", row[f"{field}_mem_per_cpu"] or None),
            (f"{word}MemPerNode", row[f"{field}_mem_per_node"] or None)]  # fmt: skip


def _shared(row: Row, whole: bool, later: bool) -> str | None:
    if whole:
        return "NO" if later else "EXCLUSIVE"
    word, share = row["over_subscribe"], row["max_share"]
    return f"{word}:{share}" if word == "FORCE" or (word == "YES" and share > 1) else None
