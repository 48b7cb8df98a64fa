"""The table of slurm.conf scalars: one row a key, what it is, and what slurmsim does with it.

Names and types are those of Slurm 22.05 to 26.05 (slurm.conf manual, ``scontrol show config`` of 22.05.8, 24.11.5 and
26.05.5); defaults are 22.05's with the later one where it changed. To honour a key, change its row; the loader, the
``slurmsim check`` table and docs/configuration.md follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slurmsim.config.option import Option, Status, honoured

DAY = 86_400
RESET_PERIODS = ("NONE", "NOW", "DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY")
SELECT_TYPES = ("select/linear", "select/cons_tres", "select/cons_res")
CPU_PARAMETERS = ("CR_CPU", "CR_CPU_Memory", "CR_Core", "CR_Core_Memory", "CR_Socket", "CR_Socket_Memory")
SELECT_PARAMETERS = (
    *CPU_PARAMETERS, "CR_Memory", "CR_LLN", "CR_Pack_Nodes", "CR_ONE_TASK_PER_CORE", "CR_CORE_DEFAULT_DIST_BLOCK",
    "CR_ALLOCATE_FULL_SOCKET", "CR_NO_DIST_TOPO_BLOCK", "LL_SHARED_GRES", "MULTIPLE_SHARING_GRES_PJ",
    "ENFORCE_BINDING_GRES", "ONE_TASK_PER_SHARING_GRES", "OTHER_CONS_RES", "OTHER_CONS_TRES", "NONE",
)  # fmt: skip
TOPOLOGY_PARAMETERS = (
    "Dragonfly",
    "RoutePart",
    "RouteTree",
    "SwitchAsNodeRank",
    "TopoOptional",
    "TopoMaxSizeUnroll",
    "BlockAsNodeRank",
    "NoCtldInAddrAny",
    "NoInAddrAny",
)
PRIORITY_FLAGS = (
    "ACCRUE_ALWAYS", "CALCULATE_RUNNING", "DEPTH_OBLIVIOUS", "FAIR_TREE", "INCR_ONLY", "MAX_TRES", "MAX_TRES_GRES",
    "NO_FAIR_TREE", "NO_NORMAL_ALL", "NO_NORMAL_ASSOC", "NO_NORMAL_PART", "NO_NORMAL_QOS", "NO_NORMAL_TRES",
    "SMALL_RELATIVE_TO_TIME",
)  # fmt: skip

# Words inside a honoured list that are not honoured themselves: (key, word) -> (status, why).
FLAG_NOTES: Mapping[tuple[str, str], tuple[Status, str]] = {
    ("SelectTypeParameters", "CR_Pack_Nodes"): (
        Status.HARMLESS, "orders the tasks of a step over the job's nodes; allocations are the same"),
    ("SelectTypeParameters", "CR_ONE_TASK_PER_CORE"): (
        Status.NOT_MODELLED, "tasks may share a core on nodes with ThreadsPerCore above 1"),
    ("SelectTypeParameters", "CR_CORE_DEFAULT_DIST_BLOCK"): (
        Status.HARMLESS, "decides which cores of a node are taken, not which nodes"),
    ("SelectTypeParameters", "CR_ALLOCATE_FULL_SOCKET"): (Status.HARMLESS, "what CR_Socket does since 14.03"),
    ("SelectTypeParameters", "CR_NO_DIST_TOPO_BLOCK"): (Status.HARMLESS, "orders tasks, not nodes"),
    ("SelectTypeParameters", "OTHER_CONS_RES"): (Status.HARMLESS, "for Cray systems only"),
    ("SelectTypeParameters", "OTHER_CONS_TRES"): (Status.HARMLESS, "for Cray systems only"),
    ("SelectTypeParameters", "NONE"): (Status.HARMLESS, "no parameter"),
    ("TopologyParam", "Dragonfly"): (Status.NOT_MODELLED, "the switches are taken as a tree"),
    ("TopologyParam", "SwitchAsNodeRank"): (Status.NOT_MODELLED, "nodes are in order of their names"),
    ("TopologyParam", "BlockAsNodeRank"): (Status.NOT_MODELLED, "nodes are in order of their names"),
    ("TopologyParam", "RoutePart"): (Status.HARMLESS, "about messages"),
    ("TopologyParam", "RouteTree"): (Status.HARMLESS, "about messages"),
    ("TopologyParam", "TopoMaxSizeUnroll"): (Status.NOT_MODELLED, "a job of segments is planned as it is asked for"),
    ("TopologyParam", "NoCtldInAddrAny"): (Status.HARMLESS, "about messages"),
    ("TopologyParam", "NoInAddrAny"): (Status.HARMLESS, "about messages"),
    ("PriorityFlags", "FAIR_TREE"): (Status.HARMLESS, "the default"),
    ("AccountingStorageEnforce", "wckeys"): (Status.NOT_MODELLED, "jobs have no workload characterization key"),
    ("AccountingStorageEnforce", "nojobs"): (Status.HARMLESS, "about accounting records"),
    ("AccountingStorageEnforce", "nosteps"): (Status.HARMLESS, "about accounting records"),
    ("DependencyParameters", "disable_remote_singleton"): (Status.HARMLESS, "for federations only"),
    ("DependencyParameters", "max_depend_depth"): (Status.HARMLESS, "dependencies are searched to any depth"),
}  # fmt: skip


def _absent(name: str, why: str, *, off: tuple[str, ...] = (), kind: str = "text", **more: Any) -> Option:
    """Return a key that would change schedules but is not modelled; `off` are the values that need no warning."""
    return Option(name, kind, Status.NOT_MODELLED, why, None, off=("", "(null)", *off), **more)


def _harmless(why: str, names: str, *, kind: str = "text", **more: Any) -> tuple[Option, ...]:
    """Rows for keys that are parsed and without effect, for one reason."""
    kind = "count or unlimited" if kind == "count" else kind  # Slurm takes UNLIMITED for any number
    return tuple(Option(name, kind, Status.HARMLESS, why, None, **more) for name in names.split())


def _gone(release: str, names: str, instead: str = "", why: str = "obsolete") -> tuple[Option, ...]:
    """Rows for keys that the daemons refuse from `release` on (22.05: all we know of), but old files still hold."""
    return tuple(
        Option(name, "text", Status.HARMLESS, why, None, gone=release, instead=instead) for name in names.split()
    )


_NONE = ("none", "no", "0")

_ROWS: tuple[Option, ...] = (
    # identity and limits
    honoured("ClusterName", "text", "cluster"),
    honoured("MaxArraySize", "count", 1_001, "array indices go to MaxArraySize - 1", low=0, high=4_000_001,
              outside=4_000_001),
    honoured("MinJobAge", "count", 300, "seconds a finished job is known to dependencies; 0 for ever", low=0),
    honoured("EnforcePartLimits", "choice", "NO", "YES is ALL", choices=("NO", "ANY", "ALL", "YES")),
    honoured("DisableRootJobs", "flag", False, "jobs of root are refused"),
    honoured("JobRequeue", "count", 1, "0: no job is requeued", low=0, high=1, outside=1),
    honoured("DependencyParameters", "words", ()),
    honoured("RequeueExit", "exit codes", frozenset(), lenient=True),
    honoured("RequeueExitHold", "exit codes", frozenset(), lenient=True),
    honoured("MaxBatchRequeue", "count", 5, "failed launches of a job until it is held", since="23.02", low=0),
    # scheduling
    honoured("SchedulerType", "text", "sched/backfill", "the policy of that name, and its options after a colon, "
              "sched/NAME:key=value: slurmsim policies lists them"),
    honoured("SchedulerParameters", "words", (), "see the table of its sub-options"),
    honoured("SelectType", "choice", "select/linear", later=("23.11", "select/cons_tres"), choices=SELECT_TYPES),
    honoured("SelectTypeParameters", "words", (), "CR_Core_Memory when unset, but with select/linear",
              choices=SELECT_PARAMETERS),
    honoured("KillWait", "count", 30, "with run --term-time, how long ended jobs keep their nodes", low=0,
              high=65_535),
    honoured("CompleteWait", "count", 0, "with run --epilog-time or --term-time; else no node is completing",
              low=0, high=65_535),
    honoured("Epilog", "text", "", "runs in live clusters with `up --allow-code`; in replays it takes as long as run "
              "--epilog-time says, and a job's end causes a pass at once, not by the loop"),
    honoured("ScronParameters", "text", "", "in live clusters that imitate 24.11 or later: enable (scrontab), "
              "explicit_scancel"),
    honoured("PrologFlags", "words", (), "Contain and X11 as Epilog; with Alloc live clusters run Prolog on all nodes "
              "at once"),
    honoured("OverTimeLimit", "minutes", 0, low=0, high=65_535 * 60),
    honoured("ResvOverRun", "minutes", 0, "jobs of a reservation end that long after it", low=0, high=65_535 * 60),
    honoured("Licenses", "licenses", (), "name:count,…; those of slurmdbd (remote ones) are not known"),
    honoured("LicenseParameters", "words", (), "RemoteFuzzyMatch: jobs may leave out the server of a license",
             since="26.05"),
    honoured("DefMemPerCPU", "memory", None),
    honoured("DefMemPerNode", "memory", None),
    honoured("DefCpuPerGPU", "count", None, "for jobs that ask for GPUs and say nothing of -c", low=0),
    honoured("DefMemPerGPU", "memory or none", None, "for jobs that ask for GPUs"),
    honoured("MaxMemPerCPU", "memory", None),
    honoured("MaxMemPerNode", "memory", None),
    # priority
    honoured("PriorityType", "choice", "priority/basic", later=("23.11", "priority/multifactor"),
              choices=("priority/basic", "priority/multifactor")),
    honoured("PriorityWeightAge", "count", 0, low=0, high=2**32 - 1),
    honoured("PriorityWeightJobSize", "count", 0, low=0, high=2**32 - 1),
    honoured("PriorityWeightPartition", "count", 0, low=0, high=2**32 - 1),
    honoured("PriorityWeightQOS", "count", 0, "needs --accounting", low=0, high=2**32 - 1),
    honoured("PriorityWeightFairshare", "count", 0, "needs --accounting", low=0, high=2**32 - 1),
    honoured("PriorityWeightAssoc", "count", 0, "needs --accounting", low=0, high=2**32 - 1),
    honoured("PriorityWeightTRES", "weights", ()),
    honoured("PriorityDecayHalfLife", "time", 7 * DAY, "0: usage does not decay", low=0),
    honoured("PriorityUsageResetPeriod", "choice", "NONE", "midnights are UTC", choices=RESET_PERIODS),
    honoured("FairShareDampeningFactor", "count", 1, "with NO_FAIR_TREE", low=1, high=65_535, outside=1),
    honoured("AccountingStorageTRES", "words", (), "GRES counted by TRES weights, usage and limits"),
    honoured("PriorityMaxAge", "time", 7 * DAY, "0: the age factor is at its most at once", low=0),
    honoured("PriorityCalcPeriod", "time", 300, low=1),
    honoured("PriorityFavorSmall", "flag", False),
    honoured("PriorityFlags", "words", (), choices=PRIORITY_FLAGS, lenient=True),
    honoured("AccountingStorageEnforce", "words", (), "with accounting data (--accounting); ignored with a warning "
              "without", choices=("associations", "limits", "qos", "safe", "wckeys", "nojobs", "nosteps", "all", "none",
                                  "1", "2")),
    honoured("AccountingStorageType", "choice", "accounting_storage/none",
              "without slurmdbd the age factor is ignored, as in real Slurm",
              choices=("accounting_storage/none", "accounting_storage/slurmdbd")),
    # preemption
    honoured("PreemptType", "choice", "preempt/none", "under sched/backfill and sched/builtin; other policies never "
              "preempt", choices=("preempt/none", "preempt/partition_prio", "preempt/qos", "(null)"),
              off=("preempt/none", "none", "(null)", "")),
    honoured("PreemptMode", "words", ("OFF",), "no SUSPEND with select/linear or preempt/qos"),
    honoured("PreemptExemptTime", "duration", None, "-1 none"),
    honoured("PreemptParameters", "words", (), "min_exempt_priority, reorder_count, strict_order, youngest_first",
              since="23.02"),
    honoured("SchedulerTimeSlice", "count", 30, "seconds; with PreemptMode=GANG", low=5, high=65_535, outside=30),
    honoured("MessageTimeout", "count", 10, "with KillWait, how long a preempting job takes no further victims", low=1,
              high=65_535),
    # nodes
    honoured("GresTypes", "words", ()),
    honoured("ReturnToService", "count", 0, "when nodes that were lost answer again", low=0, high=2, outside=0),
    honoured("TopologyPlugin", "choice", "topology/none", "topology/tree, block and ring read topology.conf beside "
             "slurm.conf; topology.yaml comes before it (25.05 on)",
              choices=("topology/none", "topology/default", "topology/flat", "topology/tree", "topology/block",
                       "topology/ring"),
              beyond=("topology/3d_torus", "topology/hypercube", "topology/node_rank", "topology/torus3d")),
    honoured("TopologyParam", "words", (), choices=TOPOLOGY_PARAMETERS, lenient=True),
    honoured("SlurmdParameters", "words", (), "nodes have what slurm.conf says, as with config_overrides"),
    # power saving
    honoured("SuspendTime", "seconds", -1, "with SuspendProgram and ResumeProgram", lenient=True),
    honoured("SuspendProgram", "text", "", "runs with `up --allow-code`; nothing is powered down without it"),
    honoured("ResumeProgram", "text", "", "runs with `up --allow-code`; else a node boots in --boot-time seconds"),
    honoured("SuspendTimeout", "count", 30, low=0, high=65_535),
    honoured("ResumeTimeout", "count", 60, low=0, high=65_535),
    honoured("SuspendRate", "count", 60, "nodes a minute; 0 no limit", low=0, high=65_535),
    honoured("ResumeRate", "count", 300, "nodes a minute; 0 no limit", low=0, high=65_535),
    honoured("AllowSpecResourcesUsage", "flag", False, "--core-spec and --thread-spec count"),
    honoured("SuspendExcNodes", "text", "", "a hostlist; counts (n[1-9]:2) are refused"),
    honoured("SuspendExcParts", "words", ()),
    honoured("SuspendExcStates", "text", "", "nodes in these states are not powered down", since="23.02"),
    # would change schedules, not modelled
    _absent("BurstBufferType", "jobs do not wait for stage-in or stage-out", off=("burst_buffer/none", *_NONE)),
    _absent("FederationParameters", "one cluster is simulated alone"),
    _absent("JobSubmitPlugins", "replays take jobs as the log has them; `slurmsim up` runs job_submit.lua",
            off=("job_submit/none", *_NONE)),
    _absent("CliFilterPlugins", "replays take submissions as the log has them; the commands of `slurmsim up` run "
            "cli_filter.lua", off=("cli_filter/none", *_NONE)),
    _absent("MCSPlugin", "nodes are shared without regard to MCS labels", off=("mcs/none", *_NONE)),
    _absent("NodeFeaturesPlugins", "features never change; no node is rebooted for them", off=_NONE),
    _absent("PrioritySiteFactorPlugin", "the site factor counts as 0", off=("priority/site_factor/none",
                                                                          "site_factor/none", *_NONE)),
    _absent("FrontendName", "front-end systems are not modelled; without this line the nodes behind it are nodes "
            "as others", refuse=True, gone="25.05"),
    # no effect on a schedule, with the reason
    *_harmless("parameter of a plugin that decides", "PrioritySiteFactorParameters PriorityParameters MCSParameters "
               "BurstBufferParameters"),
    *_harmless("parameter of a plugin that decides", "CliFilterParameters", since="25.11"),
    *_harmless("job ids never wrap in a simulation", "MaxJobId", kind="count"),
    Option("MaxJobCount", "count", Status.HARMLESS, "sbatch waits and tries again; here it need not", 10_000, low=1),
    Option("FirstJobId", "count", Status.HARMLESS, "jobs have the ids of the workload", 1, low=1, high=67_043_328),
    *_harmless("job steps are not simulated", "MaxStepCount MaxTasksPerNode KillOnBadExit WaitTime", kind="count"),
    *_harmless("simulated sessions are never idle", "InactiveLimit", kind="count"),
    *_harmless("live clusters have room for so many nodes; in replays none are added", "MaxNodeCount", kind="count"),
    *_harmless("nodes fail when the events of a run say so", "SlurmdTimeout HealthCheckInterval", kind="count"),
    *_harmless("nodes fail when the events of a run say so", "HealthCheckNodeState HealthCheckProgram"),
    *_harmless("nodes fail when the events of a run say so", "HealthCheckTimeout", kind="count", since="26.05"),
    *_harmless("runs in live clusters with `up --allow-code`", "ResumeFailProgram RebootProgram"),
    *_harmless("runs in live clusters with `up --allow-code`; in replays launching a job takes no time",
               "Prolog TaskProlog TaskEpilog PrologSlurmctld EpilogSlurmctld"),
    *_harmless("launching and ending a job take no time",
               "PrEpParameters PrEpPlugins SrunProlog SrunEpilog ResvProlog ResvEpilog"),
    *_harmless("for live clusters that run jobs", "PrologEpilogTimeout", kind="count or unlimited"),
    *_harmless("launching and ending a job take no time", "EpilogMsgTime BatchStartTimeout "
               "UnkillableStepTimeout", kind="count or unlimited"),
    *_harmless("for live clusters that run jobs", "PrologTimeout EpilogTimeout", kind="count", since="25.05"),
    *_harmless("launching and ending a job take no time", "UnkillableStepProgram"),
    *_harmless("about accounting records", "AccountingStorageBackupHost AccountingStorageExternalHost "
               "AccountingStorageHost AccountingStorageParameters AccountingStoragePass "
               "AccountingStorageUser AccountingStoreFlags AcctGatherEnergyType AcctGatherFilesystemType "
               "AcctGatherInterconnectType AcctGatherProfileType JobAcctGatherFrequency JobAcctGatherParams "
               "JobAcctGatherType JobCompHost JobCompLoc JobCompParams JobCompPass JobCompType JobCompUser"),
    *_harmless("about accounting records", "AccountingStoragePort AcctGatherNodeFreq JobCompPort MaxDBDMsgs",
               kind="count"),
    *_harmless("about accounting records", "JobCompPassScript", since="25.11"),
    *_harmless("about accounting records", "TrackWCKey", kind="flag"),
    *_harmless("about users and security", "AuthAltParameters AuthAltTypes AuthInfo AuthType CredType "
               "SlurmUser SlurmdUser JobCredentialPrivateKey JobCredentialPublicCertificate"),
    *_harmless("live clusters hide what it says; it decides no schedule", "PrivateData"),
    *_harmless("about users and security", "TLSParameters TLSType HashPlugin", since="24.05"),
    *_harmless("about users and security", "CertmgrParameters CertmgrType", since="24.11"),
    *_harmless("about users and security", "CertgenParameters CertgenType", since="25.05"),
    *_harmless("about users and security", "UsePAM", kind="flag"),
    *_harmless("about users and security", "GroupUpdateForce GroupUpdateTime", kind="count"),
    *_harmless("about daemons and messages", "BcastExclude BcastParameters CommunicationParameters DebugFlags "
               "InteractiveStepOptions LaunchParameters LogTimeFormat MailDomain MailProg PlugStackConfig PluginDir "
               "ReconfigFlags SbcastParameters "
               "SlurmSchedLogFile SlurmctldAddr SlurmctldDebug SlurmctldLogFile SlurmctldParameters SlurmctldPidFile "
               "SlurmctldPort SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg SlurmctldSyslogDebug SlurmdDebug "
               "SlurmdLogFile SlurmdPidFile SlurmdSpoolDir SlurmdSyslogDebug SrunPortRange "
               "StateSaveLocation TmpFS X11Parameters"),
    *_harmless("about daemons and messages", "EioTimeout SlurmSchedLogLevel SlurmctldTimeout SlurmdPort "
               "TCPTimeout TreeWidth GetEnvTimeout KeepAliveTime", kind="count"),
    *_harmless("about daemons and messages", "DataParserParameters", since="24.11"),
    *_harmless("about daemons and messages", "HttpParserType UrlParserType", since="25.11"),
    *_harmless("`slurmsim up` tells metrics at SlurmctldPort, to this machine", "MetricsType", since="25.11"),
    *_harmless("who may see the metrics of `slurmsim up`", "MetricsAuthUsers MetricsParameters", since="26.05"),
    *_harmless("about daemons and messages", "SlurmctldHttpAuthParameters SlurmdHttpAuthParameters PowerAction",
               since="26.05"),
    *_harmless("about processes on the nodes", "CoreSpecPlugin CpuFreqDef CpuFreqGovernors ExtSensorsType GpuFreqDef "
               "JobContainerType LaunchType MpiDefault PowerParameters PowerPlugin ProctrackType "
               "PropagateResourceLimits PropagateResourceLimitsExcept RoutePlugin SwitchParameters SwitchType "
               "TaskPlugin TaskPluginParam AcctGatherInfinibandType"),
    *_harmless("ports that steps of live clusters have to themselves; the rest is about processes on the nodes",
               "MpiParams"),
    *_harmless("about processes on the nodes", "ExtSensorsFreq JobFileAppend PropagatePrioProcess VSizeFactor",
               kind="count"),
    *_harmless("about processes on the nodes", "NamespaceType", since="25.11"),
    *_harmless("old spelling, still read", "ControlMachine ControlAddr BackupController BackupAddr",
               instead="SlurmctldHost"),
    *_harmless("old spelling, still read", "CryptoType", instead="CredType"),
    # the daemons refuse these
    Option("FastSchedule", "count", Status.HARMLESS, "obsolete", gone="22.05", ignored=("1",), low=0),
    *_gone("22.05", "AccountingStorageLoc", "slurmdbd.conf's StorageLoc"),
    *_gone("22.05", "DefaultStorageHost DefaultStorageLoc DefaultStoragePass DefaultStoragePort DefaultStorageType "
           "DefaultStorageUser", "the AccountingStorage keys"),
    *_gone("22.05", "AccountingStoreJobComment", "AccountingStoreFlags=job_comment"),
    *_gone("22.05", "SallocDefaultCommand", "LaunchParameters=use_interactive_step"),
    *_gone("24.05", "SchedulerAuth"),
    *_gone("22.05", "CacheGroups CheckpointType ChosLoc JobCheckpointDir MemLimitEnforce MsgAggregationParams "
           "SerializerParameters SerializerPlugins SchedulerPort SchedulerRootFilter SlurmdPlugstack"),
    *_gone("23.02", "SlurmctldPlugstack"),
)  # fmt: skip

SCALARS: Mapping[str, Option] = {row.name.lower(): row for row in _ROWS}  # every slurm.conf scalar by lower-cased name


def find_scalar(key: str) -> Option | None:
    """Return the row of a slurm.conf scalar, whatever its case; None for an unknown key."""
    return SCALARS.get(key.lower())
