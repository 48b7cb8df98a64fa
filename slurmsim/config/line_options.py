"""The tables of keys on object lines: NodeName, PartitionName, DownNodes, NodeSet, SlurmctldHost and gres.conf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slurmsim.config.option import Option, Status, honoured

_OFF = ("no", "0", "false", "down")  # spellings of a flag that is not set
_FREE = "nodes are not real machines"


def _harmless(name: str, why: str, kind: str = "text", **more: Any) -> Option:
    return Option(name, kind, Status.HARMLESS, why, **more)


def _absent(name: str, why: str, kind: str = "text", off: tuple[str, ...] = (), **more: Any) -> Option:
    return Option(name, kind, Status.NOT_MODELLED, why, off=("", "(null)", "none", *off), **more)


def _table(*rows: Option) -> Mapping[str, Option]:
    return {row.name.lower(): row for row in rows}


NODE_KEYS = _table(
    honoured("NodeName"),
    honoured("CPUs", "count", None, "sockets * cores * threads when unset", low=0, high=65_535),
    honoured("Boards", "count", 1, low=0, high=65_535),
    honoured("Sockets", "count", None, "from CPUs when unset", low=0, high=65_535),
    honoured("SocketsPerBoard", "count", None, low=0, high=65_535),
    honoured("CoresPerSocket", "count", 1, low=0, high=65_535),
    honoured("ThreadsPerCore", "count", 1, low=0, high=65_535),
    honoured("RealMemory", "memory", 1),
    _harmless("TmpDisk", "no job asks for temporary disk", "count", default=0, low=0),
    honoured("Weight", "count", 1, low=0, high=2**32 - 1),
    honoured("Features", "words", ()),
    honoured("Feature", "words", (), "counts before Features"),
    honoured("Gres", "text", ""),
    honoured("SuspendTime", "seconds", None, "its partitions', or the cluster's, when unset; -1 never", lenient=True,
             since="26.05"),
    honoured("State", "text", "UNKNOWN", "DOWN, DRAIN and FAIL nodes take no jobs; FUTURE ones are left out; CLOUD "
              "ones begin powered down"),
    honoured("Reason", "text", ""),
    honoured("CoreSpecCount", "count", 0, low=0),
    honoured("CPUSpecList", "text", "", "whole cores"),
    honoured("MemSpecLimit", "memory", 0),
    _harmless("NodeHostname", _FREE),
    _harmless("NodeAddr", _FREE),
    _harmless("BcastAddr", _FREE),
    _harmless("Port", _FREE, "ports"),
    _harmless("CpuBind", "processes are not bound"),
    _harmless("GresConf", _FREE, since="25.11"),
    _harmless("Parameters", _FREE, since="25.11"),
    _harmless("TRESWeights", "obsolete and never used for scheduling", "weights"),
    honoured("Procs", "count", None, "counts where neither the line nor DEFAULT gives CPUs", low=0, high=65_535),
    _absent("RestrictedCoresPerGPU", "cores are not kept for GPU jobs", "count", off=("0",), since="24.05", low=0,
            high=65_535),
    _absent("Topology", "nodes are chosen without regard to switches or blocks", since="25.05"),
)  # fmt: skip

PARTITION_KEYS = _table(
    honoured("PartitionName"),
    honoured("Nodes", "text", "", "a hostlist, NodeSet names or ALL"),
    honoured("Default", "flag", False),
    honoured("MaxTime", "time", None, "UNLIMITED when unset"),
    honoured("DefaultTime", "time", None, "MaxTime when unset"),
    honoured("MinNodes", "count", 0, low=0),
    honoured("MaxNodes", "count or unlimited", None, low=0),
    honoured("MaxCPUsPerNode", "count or unlimited", None, low=0),
    honoured("MaxCPUsPerSocket", "count or unlimited", None, "counts for all sockets of a node together", low=0,
             since="23.02"),
    honoured("DefMemPerCPU", "memory", None),
    honoured("DefMemPerNode", "memory", None),
    honoured("DefCpuPerGPU", "count", None, "the cluster's when unset", low=0),
    honoured("DefMemPerGPU", "memory or none", None, "the cluster's when unset"),
    honoured("MaxMemPerCPU", "memory limit", None, "the cluster's when unset"),
    honoured("MaxMemPerNode", "memory limit", None, "the cluster's when unset"),
    honoured("OverSubscribe", "text", "NO", "NO, EXCLUSIVE, YES[:n] or FORCE[:n]"),
    honoured("PriorityTier", "count", 1, low=0, high=65_535),
    honoured("PriorityJobFactor", "count", 1, low=0, high=65_535),
    honoured("Priority", "count", None, "counts before PriorityTier and PriorityJobFactor, also by DEFAULT", low=0,
              high=65_535),
    honoured("State", "beginning", "UP", "more letters are ignored", choices=("UP", "DOWN", "DRAIN", "INACTIVE")),
    honoured("OverTimeLimit", "text", None, "minutes; the cluster's when unset"),
    honoured("PreemptMode", "text", None, "the cluster's when unset"),
    honoured("GraceTime", "count", 0, "seconds", low=0),
    honoured("LLN", "flag", False),
    honoured("RootOnly", "flag", False),
    honoured("ReqResv", "flag", False),
    honoured("DisableRootJobs", "flag", None, "the cluster's when unset"),
    honoured("Shared", "text", None, "counts where neither the line nor DEFAULT gives OverSubscribe"),
    _harmless("AllocNodes", "jobs are submitted from anywhere"),
    _harmless("CpuBind", "processes are not bound"),
    _harmless("Hidden", "about displays", "flag"),
    honoured("TRESBillingWeights", "text", "", "what usage, fair share and billing limits count; else CPUs"),
    honoured("AllowAccounts", "text", "", "with accounting data (--accounting); ignored with a warning without"),
    honoured("DenyAccounts", "text", "", "with accounting data (--accounting); ignored with a warning without"),
    honoured("AllowGroups", "text", "", "with group data (--groups); ignored with a warning without"),
    honoured("AllowQos", "text", "", "with accounting data (--accounting); ignored with a warning without"),
    honoured("DenyQos", "text", "", "with accounting data (--accounting); ignored with a warning without"),
    honoured("QOS", "text", "", "with accounting data (--accounting); ignored with a warning without"),
    _absent("Alternate", "jobs wait in their own partition"),
    honoured("ExclusiveUser", "flag", False),
    honoured("ExclusiveTopo", "flag", False, "jobs have blocks or rings to themselves", since="24.05"),
    honoured("Exclusive", "text", "", "NO, NODE, USER or TOPO", since="26.05"),
    _absent("SelectTypeParameters", "the cluster's SelectTypeParameters are used", "beginning",
            choices=("CR_CORE", "CR_SOCKET")),
    honoured("PowerDownOnIdle", "flag", False, "nodes are powered down when its jobs have left them", since="23.02"),
    honoured("SuspendTime", "seconds", None, "the cluster's when unset; -1 never", lenient=True),
    honoured("ResumeTimeout", "seconds", None, "the cluster's when unset"),
    honoured("SuspendTimeout", "seconds", None, "the cluster's when unset"),
    honoured("Topology", "text", "", "a topology of topology.yaml; the cluster's default when unset", since="25.05"),
)  # fmt: skip
NOT_FROM_DEFAULT = (
    "disablerootjobs", "exclusiveuser", "exclusivetopo", "powerdownonidle", "selecttypeparameters", "suspendtime",
)  # fmt: skip
"""Keys of a PartitionName=DEFAULT line that Slurm reads and hands on to no partition (22.05 to 26.05)."""

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "cpus": ("cpus", "procs"),
    "features": ("feature", "features"),
    "oversubscribe": ("oversubscribe", "shared"),
    "prioritytier": ("priority", "prioritytier"),
    "priorityjobfactor": ("priority", "priorityjobfactor"),
}
"""Keys that mean one thing: the first that the line or its DEFAULT gives counts (_parse_nodename and
_parse_partitionname of Slurm's read_config, 22.05 to 26.05). A line's Features count before the Feature of DEFAULT."""

DOWN_KEYS = _table(honoured("DownNodes"), honoured("State", "text", "DOWN"), honoured("Reason", "text", ""))
NODESET_KEYS = _table(honoured("NodeSet"), honoured("Feature"), honoured("Nodes"))
HOST_KEYS = _table(_harmless("SlurmctldHost", "the controller is simulated"))
GRES_KEYS = _table(
    honoured("NodeName", "text", "", "all nodes when unset"),
    honoured("Name"),
    honoured("Type", "text", ""),
    honoured("Count", "text", "", "from File when unset, else 1"),
    honoured("File", "text", "", "how many files it names, and that devices have numbers"),
    honoured("AutoDetect", "text", "", "which variables have the numbers of GPUs; explicit"),
    honoured("Cores", "text", "", "which sockets the devices are beside"),
    honoured("CPUs", "text", "", "the older name of Cores"),
    _harmless("Links", "how devices are linked decides nothing"),
    honoured("Flags", "text", "", "which variables have the numbers of GPUs"),
    honoured("MultipleFiles", "text", "", "that devices have numbers"),
    _harmless("Ignore", "old spelling"),
)  # fmt: skip
SWITCH_KEYS = _table(
    honoured("SwitchName"),
    honoured("Nodes", "text", "", "a hostlist; names that are no nodes are left out, ALL too"),
    honoured("Switches", "text", "", "a hostlist of switches"),
    _harmless("LinkSpeed", "never used by Slurm either"),
)

BLOCK_KEYS = _table(
    honoured("BlockName"),
    honoured("Nodes", "text", "", "a hostlist; names that are no nodes are left out"),
)

RING_KEYS = _table(
    honoured("RingName"),
    honoured("Nodes", "text", "", "a hostlist in the order of the ring; names that are no nodes are left out"),
)

LINE_TABLES: Mapping[str, Mapping[str, Option]] = {
    "nodename": NODE_KEYS,
    "partitionname": PARTITION_KEYS,
    "downnodes": DOWN_KEYS,
    "nodeset": NODESET_KEYS,
    "slurmctldhost": HOST_KEYS,
}
"""Tables of the line types of slurm.conf by the lower-cased key that opens the line."""
