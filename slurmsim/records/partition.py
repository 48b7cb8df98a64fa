"""The fields of a partition, in the order of its JSON document.

Kinds:

- ``text``, ``flag``; ``names`` (a comma list; the attribute is a tuple),
- ``count`` (32 bits), ``small count`` (16 bits), ``node count``; ``limit``, ``node limit`` (a number, or without end),
- ``minutes`` (without end, perhaps), ``minutes over`` (of a limit); the attribute is in seconds,
- ``seconds``, ``memory`` (MiB),
- ``told`` is worked out by the daemon and never set; ``node list``, ``priority``, ``share``, ``state`` and ``modes``
  are kinds of one field each.
"""

from __future__ import annotations

from slurmsim.records import Field as F

PARTITION: tuple[F, ...] = (
    F("allow_alloc_nodes", "text", conf="AllocNodes", update="AllocNodes:6", json="nodes.allowed_allocation"),
    F("nodes", "node list", "nodes", update="Nodes:1", json="nodes.configured"),
    F("node_sets", "told", "node_sets"),
    F("total_nodes", "told", json="nodes.total"),
    F("allow_accounts", "names", "allow_accounts", "AllowAccounts", "AllowAccounts:6", "accounts.allowed"),
    F("deny_accounts", "names", "deny_accounts", "DenyAccounts", "DenyAccounts:5", "accounts.deny"),
    F("allow_groups", "names", "allow_groups", "AllowGroups", "AllowGroups:6", "groups.allowed"),
    F("allow_qos", "names", "allow_qos", "AllowQos", "AllowQos:6", "qos.allowed"),
    F("deny_qos", "names", "deny_qos", "DenyQos", "DenyQos:5", "qos.deny"),
    F("qos", "text", "qos", "QOS", "QoS:3", "qos.assigned"),
    F("alternate", "text", conf="Alternate", update="Alternate:3", json="alternate"),
    F("billing_weights", "text", conf="TRESBillingWeights", update="TresBillingWeights:1", json="tres.billing_weights"),
    F("tres_fmt_str", "text", json="tres.configured"),
    F("total_cpus", "told"),
    F("def_mem_per_cpu", "memory", "def_mem_per_cpu_mib", "DefMemPerCPU", "DefMemPerCPU:10",
      "defaults.partition_memory_per_cpu"),
    F("def_mem_per_node", "memory", "def_mem_per_node_mib", "DefMemPerNode", "DefMemPerNode:10",
      "defaults.partition_memory_per_node"),
    F("default_time", "minutes", "default_time_s", "DefaultTime", "DefaultTime:8", "defaults.time"),
    F("job_defaults", "text", update="JobDefaults:4", json="defaults.job"),
    F("default", "flag", "default", "Default", "Default:7"),
    F("hidden", "flag", conf="Hidden", update="Hidden:1"),
    F("disable_root_jobs", "flag", "disable_root_jobs", "DisableRootJobs", "DisableRootJobs:1"),
    F("root_only", "flag", "root_only", "RootOnly", "RootOnly:3"),
    F("req_resv", "flag", "req_resv", "ReqResv", "ReqResv:3"),
    F("lln", "flag", "lln", "LLN", "LLN:1"),
    F("exclusive_user", "flag", "exclusive_user", "ExclusiveUser", "ExclusiveUser:1"),
    F("grace_time", "count", "grace_time_s", "GraceTime", "GraceTime:5", "grace_time"),
    F("max_cpus_per_node", "limit", "max_cpus_per_node", "MaxCPUsPerNode", "MaxCPUsPerNode:4",
      "maximums.cpus_per_node"),
    F("max_cpus_per_socket", "limit", "max_cpus_per_socket", "MaxCPUsPerSocket", "MaxCPUsPerSocket:11",
      "maximums.cpus_per_socket", since="23.02"),
    F("max_mem_per_cpu", "memory", "max_mem_per_cpu_mib", "MaxMemPerCPU", "MaxMemPerCPU:10",
      "maximums.partition_memory_per_cpu"),
    F("max_mem_per_node", "memory", "max_mem_per_node_mib", "MaxMemPerNode", "MaxMemPerNode:10",
      "maximums.partition_memory_per_node"),
    F("max_nodes", "node limit", "max_nodes", "MaxNodes", "MaxNodes:4", "maximums.nodes"),
    F("over_subscribe", "share", "oversubscribe", "OverSubscribe", "OverSubscribe:5 Shared:2"),
    F("max_share", "told", "oversubscribe_max"),
    F("max_time", "minutes", "max_time_s", "MaxTime", "MaxTime:4", "maximums.time"),
    F("over_time_limit", "minutes over", "over_time_limit_s", "OverTimeLimit", "OverTimeLimit:5",
      "maximums.over_time_limit"),
    F("min_nodes", "node count", "min_nodes", "MinNodes", "MinNodes:2", "minimums.nodes"),
    F("name", "text", "name", update="PartitionName:2", json="name"),
    F("preempt_mode", "modes", "preempt_mode", "PreemptMode", "PreemptMode:3"),
    F("preempt_mode_given", "told", shown=False),
    F("priority", "priority", update="Priority:3", shown=False),
    F("priority_job_factor", "small count", "priority_job_factor", "PriorityJobFactor", "PriorityJobFactor:3",
      "priority.job_factor"),
    F("priority_tier", "small count", "priority_tier", "PriorityTier", "PriorityTier:3", "priority.tier"),
    F("resume_timeout", "seconds", "resume_timeout_s", "ResumeTimeout", json="timeouts.resume"),
    F("suspend_timeout", "seconds", "suspend_timeout_s", "SuspendTimeout", json="timeouts.suspend"),
    F("suspend_time", "seconds", "suspend_time_s", "SuspendTime", json="suspend_time"),
    F("topology", "text", "topology", "Topology", "Topology:4", "topology", since="25.05", first=43),
    F("state_up", "state", "state", "State", "State:2"),
    F("cpu_bind", "text", conf="CpuBind", update="CpuBind:7"),
    F("select_parameters", "text", conf="SelectTypeParameters"),
    F("power_save", "told"),
    F("node_names", "told", shown=False),
    F("cluster", "told", shown=False),
)  # fmt: skip
"""All of them. Of keywords that begin alike the first counts: ``pri`` is Priority."""
