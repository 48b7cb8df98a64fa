"""The fields of sacctmgr's ``format=``: how they may be called, their headings and widths.

Mirrors _get_print_field of sacctmgr's common.c (22.05; later rows from 24.11 and 26.05). Rows are tried in order; a
name is ``Whole:N``, which may be shortened to N characters.
"""

from slurmsim.commands.text.dashed_table import DATE, NUMBER, TEXT
from slurmsim.fast_imports import NamedTuple, remembered
from slurmsim.releases import has

DOUBLE = "double"


class F(NamedTuple):
    """One field; `key` says what it shows."""

    names: str
    key: str
    heading: str
    width: int
    kind: str
    since: str = ""
    until: str = ""


FIELDS: tuple[F, ...] = (
    F("Account:3 Acct:4", "account", "Account", 10, TEXT),
    F("ActionRaw:7", "actionraw", "ActionRaw", 10, NUMBER),
    F("Action:4", "action", "Action", 20, TEXT),
    F("Actor:4", "actor", "Actor", 10, TEXT),
    F("AdminLevel:2", "admin", "Admin", 9, TEXT),
    F("Allowed:2", "allowed", "% Allowed", 10, NUMBER, until="23.02"),
    F("Allowed:2", "allowed", "Allowed", 8, NUMBER, since="23.02"),
    F("Associations:2", "assoc_name", "Assocs", 10, TEXT),
    F("TRES:2", "tres", "TRES", 20, TEXT),
    F("Classification:3", "class", "Class", 9, TEXT),
    F("ClusterNodes:8", "cluster_nodes", "Cluster Nodes", 20, TEXT),
    F("Clusters:2", "cluster", "Cluster", 10, TEXT),
    F("Coordinators:2", "coords", "Coord Accounts", 20, TEXT, until="23.02"),
    F("Coordinators:3", "coords", "Coord Accounts", 20, TEXT, since="23.02"),
    F("Comment:3", "comment", "Comment", 20, TEXT, since="23.02"),
    F("ControlHost:8", "chost", "ControlHost", 15, TEXT),
    F("ControlPort:8", "cport", "ControlPort", 12, NUMBER),
    F("Count:3", "count", "Count", 6, NUMBER),
    F("CountAllowed:6", "callowed", "# Allowed", 10, NUMBER),
    F("CountUsed:6", "callowed", "# Used", 10, NUMBER),
    F("CPUCount:2", "cpus", "CPU Cnt", 7, TEXT),
    F("DefaultAccount:8", "dacct", "Def Acct", 10, TEXT),
    F("DefaultQOS:8", "def_qos", "Def QOS", 9, TEXT),
    F("DefaultWCKey:8", "dwckey", "Def WCKey", 10, TEXT),
    F("Description:3", "description", "Descr", 20, TEXT),
    F("Duration:2", "duration", "Duration", 13, NUMBER),
    F("EventRaw:6", "eventraw", "EventRaw", 8, NUMBER),
    F("Event:2", "event", "Event", 7, TEXT),
    F("Extra:2", "extra", "Extra", 20, TEXT, since="23.11"),
    F("Features:3", "features", "Features", 20, TEXT),
    F("Federation:3", "federation", "Federation", 10, TEXT),
    F("FedState:4", "fedstate", "FedState", 12, TEXT),
    F("FedStateRaw:9", "fedstateraw", "FedStateRaw", 11, NUMBER),
    F("Flags:2", "flags", "Flags", 20, TEXT),
    F("GraceTime:3", "grace_time_s", "GraceTime", 10, NUMBER),
    F("GrpCPUs:6", "grp_tres:cpu", "GrpCPUs", 8, NUMBER),
    F("GrpCPUMins:7", "grp_tres_mins:cpu", "GrpCPUMins", 11, NUMBER),
    F("GrpCPURunMins:7", "grp_tres_run_mins:cpu", "GrpCPURunMins", 13, NUMBER),
    F("GrpTRES:7", "grp_tres", "GrpTRES", 13, TEXT),
    F("GrpTRESMins:7", "grp_tres_mins", "GrpTRESMins", 13, TEXT),
    F("GrpTRESRunMins:7", "grp_tres_run_mins", "GrpTRESRunMins", 13, TEXT),
    F("GrpJobs:4", "grp_jobs", "GrpJobs", 7, NUMBER),
    F("GrpJobsAccrue:8", "grp_jobs_accrue", "GrpJobsAccrue", 13, NUMBER),
    F("GrpMemory:4", "grp_tres:mem", "GrpMem", 7, NUMBER),
    F("GrpNodes:4", "grp_tres:node", "GrpNodes", 8, NUMBER),
    F("GrpSubmitJobs:4", "grp_submit_jobs", "GrpSubmit", 9, NUMBER),
    F("GrpWall:4", "grp_wall_s", "GrpWall", 11, NUMBER),
    F("ID:2", "id", "ID", 6, NUMBER),
    F("Info:2", "info", "Info", 20, TEXT, until="23.11"),
    F("LFT:1", "lft", "LFT", 6, NUMBER, until="23.11"),
    F("Info:3", "info", "Info", 20, TEXT, since="23.11"),
    F("InstanceId:9", "instance_id", "InstanceId", 20, TEXT, since="23.11"),
    F("InstanceType:9", "instance_type", "InstanceType", 20, TEXT, since="23.11"),
    F("Lineage:1", "lineage", "Lineage", -20, TEXT, since="23.11"),
    F("servertype:10", "servertype", "ServerType", 10, TEXT),
    F("MaxCPUMinsPerJob:7", "max_tres_mins:cpu", "MaxCPUMins", 11, NUMBER),
    F("MaxCPURunMinsPerUser:7 MaxCPURunMinsPU:7", "max_tres_run_mins_pu:cpu", "MaxCPURunMinsPU", 15, NUMBER),
    F("MaxCPUsPerJob:7", "max_tres:cpu", "MaxCPUs", 8, NUMBER),
    F("MaxCPUsPerUser:11 MaxCPUsPU:9", "max_tres_pu:cpu", "MaxCPUsPU", 9, NUMBER),
    F("MaxTRES:7 MaxTRESPerJob:11", "max_tres", "MaxTRES", 13, TEXT, until="24.05"),
    F("MaxTRESPerNode:11", "max_tres_per_node", "MaxTRESPerNode", 14, TEXT, until="24.05"),
    F("MaxTRESMinsPerJob:8", "max_tres_mins", "MaxTRESMins", 13, TEXT, until="24.05"),
    F("MaxTRESRunMinsPerAccount:18 MaxTRESRunMinsPerAcct:18 MaxTRESRunMinsPA:15", "max_tres_run_mins_pa",
      "MaxTRESRunMinsPA", 15, TEXT, until="24.05"),
    F("MaxTRESRunMinsPerUser:8 MaxTRESRunMinsPU:8", "max_tres_run_mins_pu", "MaxTRESRunMinsPU", 15, TEXT,
      until="24.05"),
    F("MaxTRES:7 MaxTRESPJ:9 MaxTRESPerJob:11", "max_tres", "MaxTRES", 13, TEXT, since="24.05"),
    F("MaxTRESPerNode:11 MaxTRESPN:9", "max_tres_per_node", "MaxTRESPerNode", 14, TEXT, since="24.05"),
    F("MaxTRESMinsPerJob:8 MaxTRESMinsPJ:13", "max_tres_mins", "MaxTRESMins", 13, TEXT, since="24.05"),
    F("MaxTRESRunMinsPerAccount:18 MaxTRESRunMinsPerAcct:18 MaxTRESRunMinsPA:15", "max_tres_run_mins_pa",
      "MaxTRESRunMinsPA", 16, TEXT, since="24.05"),
    F("MaxTRESRunMinsPerUser:8 MaxTRESRunMinsPU:8", "max_tres_run_mins_pu", "MaxTRESRunMinsPU", 16, TEXT,
      since="24.05"),
    F("MaxTRESPerAccount:11 MaxTRESPerAcct:11 MaxTRESPA:9", "max_tres_pa", "MaxTRESPA", 13, TEXT),
    F("MaxTRESPerUser:11 MaxTRESPU:9", "max_tres_pu", "MaxTRESPU", 13, TEXT),
    F("MaxJobs:4", "max_jobs", "MaxJobs", 7, NUMBER),
    F("MaxJobsAccrue:4", "max_jobs_accrue", "MaxJobsAccrue", 13, NUMBER),
    F("MaxJobsAccruePerAccount:17 MaxJobsAccruePerAcct:17 MaxJobsAccruePA:15", "max_jobs_accrue_pa",
      "MaxJobsAccruePA", 15, NUMBER),
    F("MaxJobsAccruePerUser:17 MaxJobsAccruePU:15", "max_jobs_accrue_pu", "MaxJobsAccruePU", 15, NUMBER),
    F("MaxJobsPerAccount:11 MaxJobsPerAcct:11 MaxJobsPA:9", "max_jobs_pa", "MaxJobsPA", 9, NUMBER),
    F("MaxJobsPerUser:11 MaxJobsPU:9", "max_jobs", "MaxJobsPU", 9, NUMBER),
    F("MaxNodesPerJob:4", "max_tres:node", "MaxNodes", 8, NUMBER),
    F("MaxNodesPerUser:12 MaxNodesPU:10", "max_tres_pu:node", "MaxNodesPU", 10, NUMBER),
    F("MinPrioThreshold:4", "min_prio_thresh", "MinPrioThres", 12, NUMBER),
    F("MaxSubmitJobs:4", "max_submit_jobs", "MaxSubmit", 9, NUMBER),
    F("MaxSubmitJobsPerAccount:17 MaxSubmitJobsPerAcct:17 MaxSubmitJobsPA:15 MaxSubmitPA:11", "max_submit_pa",
      "MaxSubmitPA", 11, NUMBER),
    F("MaxSubmitJobsPerUser:10 MaxSubmitJobsPU:10 MaxSubmitPU:6", "max_submit_jobs", "MaxSubmitPU", 11, NUMBER),
    F("MaxWallDurationPerJob:4", "max_wall_s", "MaxWall", 11, NUMBER),
    F("MinCPUsPerJob:7", "min_tres:cpu", "MinCPUs", 8, NUMBER),
    F("MinTRESPerJob:7", "min_tres", "MinTRES", 13, TEXT),
    F("Name:2", "name", "Name", 10, TEXT),
    F("NodeCount:5", "nodecnt", "NodeCount", 9, NUMBER),
    F("NodeInx:5", "nodeinx", "NodeInx", 9, TEXT),
    F("NodeNames:5", "nodename", "NodeName", -15, TEXT),
    F("Organization:1", "org", "Org", 20, TEXT),
    F("ParentID:7", "pid", "ParentID", 8, NUMBER),
    F("ParentName:7", "parent", "ParentName", 10, TEXT),
    F("Partition:4", "partition", "Partition", 10, TEXT),
    F("PluginIDSelect:2", "select", "PluginIDSelect", 14, NUMBER, until="23.11"),
    F("PreemptMode:8", "preempt_mode", "PreemptMode", 11, TEXT),
    F("Preempt:7", "preempt", "Preempt", 10, TEXT),
    F("PreemptExemptTime:8", "preempt_exempt_time_s", "PreemptExemptTime", 19, NUMBER),
    F("Priority:3", "priority", "Priority", 10, NUMBER),
    F("Problem:1", "problem", "Problem", 40, TEXT),
    F("QOSLevel:3", "qos", "QOS", 20, TEXT),
    F("QOSRAWLevel:4", "qos_raw", "QOS_RAW", 10, TEXT),
    F("Reason:1", "reason", "Reason", 30, TEXT),
    F("RGT:1", "rgt", "RGT", 6, NUMBER, until="25.05"),
    F("RPC:1", "rpc_version", "RPC", 5, NUMBER),
    F("Server:3", "server", "Server", 10, TEXT),
    F("Share:1 FairShare:2", "shares", "Share", 9, NUMBER),
    F("StateRaw:6", "stateraw", "StateRaw", 8, NUMBER),
    F("State:1", "state", "State", 6, TEXT),
    F("TimeStamp:2", "ts", "Time", 19, DATE),
    F("TimeEligible:6 Eligible:2", "timeeligible", "TimeEligible", 19, DATE),
    F("TimeEnd:6 End:2", "timeend", "TimeEnd", 19, DATE),
    F("TimeStart:7 Start:3", "timestart", "TimeStart", 19, DATE),
    F("TimeSubmit:6 Submit:2", "timesubmit", "TimeSubmit", 19, DATE),
    F("TRES:2", "tres", "TRES", 20, TEXT),
    F("Type:2", "type", "Type", 8, TEXT),
    F("UnusedWall:2", "unused", "UnusedWall", 10, DOUBLE),
    F("UsageFactor:6", "usage_factor", "UsageFactor", 11, DOUBLE),
    F("UsageThreshold:6", "usage_threshold", "UsageThres", 10, DOUBLE),
    F("LimitFactor:6", "limit_factor", "LimitFactor", 11, DOUBLE),
    F("Allocated:7", "allocated", "% Allocated", 11, NUMBER, until="23.02"),
    F("Allocated:7", "allocated", "Allocated", 9, NUMBER, since="23.02"),
    F("LastConsumed:8", "last_consumed", "LastConsumed", 12, NUMBER, since="23.02"),
    F("User:1", "user", "User", 10, TEXT),
    F("WCKey:5", "wckey", "WCKey", 10, TEXT),
    F("WCKeys:2", "wckeys", "WCKeys", 20, TEXT),
    F("Where:2", "where", "Where", 20, TEXT),)  # fmt: skip


@remembered  # each line of a file that is loaded has the same words
def matches(word: str, names: str) -> bool:
    """Return True if `word` is one of `names`, or a beginning of one that is long enough (xstrncasecmp with MAX).

    >>> matches("acc", "Account:3 Acct:4"), matches("ac", "Account:3"), matches("accounts", "Account:3")
    (True, False, False)
    """
    lower = word.lower()
    for item in names.split(" "):
        name, _, least = item.partition(":")
        count = max(len(word), int(least or 1))
        if name.lower()[:count] == lower[:count]:
            return True
    return False


def find(word: str, release: str) -> F | None:
    """Return the field called `word`."""
    for row in FIELDS:
        if has(release, row.since, row.until) and matches(word, row.names):
            return row
    return None
