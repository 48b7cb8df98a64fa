"""The fields of associations and QOS, in the order of their documents; `conf` is the setting of sacctmgr.

Kinds are ``text``, ``flag``, ``flags`` and ``modes``. ``limit`` is a number, or without end; ``minutes`` and
``exempt`` are limits in seconds, shown as minutes and as seconds. ``factor``, ``seconds``, ``priority`` and
``shares`` are numbers. ``tres`` is a list of counts, and ``tres:cpu`` one of them. ``names`` and ``name`` are QOS.
``told`` is never set.

`line` has the label of the setting before a commit, where it is not its name.
"""

from __future__ import annotations

from slurmsim.records import FIRST, Field, Line


def _row(
    name: str, kind: str, setting: str = "", words: str = "", json: str = "", *, label: str | None = None,
    first: int = FIRST,
) -> Field:  # fmt: skip
    """Return a row with its setting in sacctmgr and that setting's names; a number stands for its own name."""
    update = f"{setting}:{words}" if words[:1].isdigit() else words
    line = None if label is None else Line(label, "")
    return Field(name, kind, "", setting, update, json, first=first, line=line)


S = _row
_JOBS, _TRES, _MINUTES = "limits.max.jobs", "limits.max.tres", "limits.max.tres.minutes"
QOS: tuple[Field, ...] = (
    S("description", "text", json="description"),
    S("flags", "flags", "Flags", "2", "flags"),
    S("id", "told", json="id"),
    S("grace_time_s", "seconds", "GraceTime", "3", "limits.grace_time"),
    S("grp_jobs_accrue", "limit", "GrpJobsAccrue", "8", "limits.max.active_jobs.accruing"),
    S("grp_jobs", "limit", "GrpJobs", "4", "limits.max.active_jobs.count"),
    S("grp_submit_jobs", "limit", "GrpSubmitJobs", "4", f"{_JOBS}.count", first=42),
    S("max_jobs_pa", "limit", "MaxJobsPerAccount", "11 MaxJobsPerAcct:11 MaxJobsPA:9",
      f"{_JOBS}.active_jobs.per.account"),
    S("max_jobs_pu", "limit", "MaxJobsPerUser", "4 MaxJobsPU:4", f"{_JOBS}.active_jobs.per.user"),
    S("max_submit_pa", "limit", "MaxSubmitJobsPerAccount", "17 MaxSubmitJobsPerAcct:17 MaxSubmitJobsPA:15",
      f"{_JOBS}.per.account"),
    S("max_submit_pu", "limit", "MaxSubmitJobsPerUser", "4 MaxSubmitJobsPU:4", f"{_JOBS}.per.user"),
    S("grp_tres", "tres", "GrpTRES", "7", f"{_TRES}.total"),
    S("grp_tres_run_mins", "tres", "GrpTRESRunMins", "8", f"{_MINUTES}.total", first=42),
    S("grp_tres_mins", "tres", "GrpTRESMins", "8", f"{_MINUTES}.per.qos"),
    S("max_tres_mins", "tres", "MaxTRESMinsPerJob", "8 MaxTRESMinsPJ:13", f"{_MINUTES}.per.job", label="MaxTRESMins"),
    S("max_tres_run_mins_pa", "tres", "MaxTRESRunMinsPerAccount", "18 MaxTRESRunMinsPerAcct:18 MaxTRESRunMinsPA:15",
      f"{_MINUTES}.per.account", label="MaxTRESRUNMinsPerAccount"),
    S("max_tres_run_mins_pu", "tres", "MaxTRESRunMinsPerUser", "8 MaxTRESRunMinsPU:8", f"{_MINUTES}.per.user",
      label="MaxTRESRUNMinsPerUser"),
    S("max_tres_pa", "tres", "MaxTRESPerAccount", "11 MaxTRESPerAcct:11 MaxTRESPA:9", f"{_TRES}.per.account"),
    S("max_tres", "tres", "MaxTRESPerJob", "7 MaxTRESPJ:9", f"{_TRES}.per.job"),
    S("max_tres_per_node", "tres", "MaxTRESPerNode", "11 MaxTRESPN:9", f"{_TRES}.per.node"),
    S("max_tres_pu", "tres", "MaxTRESPerUser", "11 MaxTRESPU:9", f"{_TRES}.per.user"),
    S("grp_wall_s", "minutes", "GrpWall", "4", "limits.max.wall_clock.per.qos"),
    S("max_wall_s", "minutes", "MaxWallDurationPerJob", "4", "limits.max.wall_clock.per.job", label="MaxWall"),
    S("max_jobs_accrue_pa", "limit", "MaxJobsAccruePerAccount", "17 MaxJobsAccruePerAcct:17 MaxJobsAccruePA:15",
      "limits.max.accruing.per.account"),
    S("max_jobs_accrue_pu", "limit", "MaxJobsAccruePerUser", "17 MaxJobsAccruePU:15", "limits.max.accruing.per.user"),
    S("limit_factor", "factor", "LimitFactor", "6", "limits.factor"),
    S("min_prio_thresh", "limit", "MinPrioThreshold", "4", "limits.min.priority_threshold", label="MinPrioThresh"),
    S("min_tres", "tres", "MinTRESPerJob", "7", "limits.min.tres.per.job"),
    S("name", "text", json="name"),
    S("preempt", "names", "Preempt", "7", "preempt.list"),
    S("preempt_mode", "modes", "PreemptMode", "8", "preempt.mode"),
    S("preempt_exempt_time_s", "exempt", "PreemptExemptTime", "8", "preempt.exempt_time"),
    S("priority", "priority", "Priority", "3", "priority"),
    S("usage_factor", "factor", "UsageFactor", "6", "usage_factor"),
    S("usage_threshold", "factor", "UsageThreshold", "6", "usage_threshold"),
    S("grp_tres_mins", "tres:cpu", "GrpCPUMins", "7", label="GrpTRESMins"),
    S("grp_tres_run_mins", "tres:cpu", "GrpCPURunMins", "7", label="GrpTRESRunMins"),
    S("grp_tres", "tres:cpu", "GrpCPUs", "7", label="GrpTRES"),
    S("grp_tres", "tres:mem", "GrpMemory", "4", label="GrpTRES"),
    S("grp_tres", "tres:node", "GrpNodes", "4", label="GrpTRES"),
    S("max_tres_mins", "tres:cpu", "MaxCPUMinsPerJob", "7", label="MaxTRESMins"),
    S("max_tres_run_mins_pu", "tres:cpu", "MaxTRESRunMinsPerUser", "MaxCPURunMinsPerUser:7 MaxCPURunMinsPU:7",
      label="MaxTRESRUNMinsPerUser"),
    S("max_tres", "tres:cpu", "MaxCPUsPerJob", "7", label="MaxTRESPerJob"),
    S("max_tres_pu", "tres:cpu", "MaxCPUsPerUser", "11 MaxCPUsPU:9", label="MaxTRESPerUser"),
    S("max_tres", "tres:node", "MaxNodesPerJob", "8", label="MaxTRESPerJob"),
    S("max_tres_pu", "tres:node", "MaxNodesPerUser", "8 MaxNodesPU:8", label="MaxTRESPerUser"),
    S("min_tres", "tres:cpu", "MinCPUsPerJob", "7", label="MinTRESPerJob"),
)  # fmt: skip
"""A limit of one TRES, such as ``GrpCPUs``, sets a part of the list of its name."""
ASSOCIATION: tuple[Field, ...] = (
    S("account", "text", json="account"),
    S("cluster", "text", json="cluster"),
    S("comment", "text", "Comment", "3", "comment", label=""),
    S("def_qos", "name", "DefaultQOS", "8", "default.qos", label="DefQOS"),
    S("grp_jobs", "limit", "GrpJobs", "4", "max.jobs.per.count"),
    S("grp_jobs_accrue", "limit", "GrpJobsAccrue", "8", "max.jobs.per.accruing"),
    S("grp_submit_jobs", "limit", "GrpSubmitJobs", "4", "max.jobs.per.submitted"),
    S("max_wall_s", "minutes", "MaxWallDurationPerJob", "4", "max.jobs.per.wall_clock", label="MaxWall"),
    S("max_jobs", "limit", "MaxJobs", "4", "max.jobs.active"),
    S("max_jobs_accrue", "limit", "MaxJobsAccrue", "8", "max.jobs.accruing", label="MaxJobsPrioAcc"),
    S("max_submit_jobs", "limit", "MaxSubmitJobs", "4", "max.jobs.total"),
    S("grp_tres", "tres", "GrpTRES", "7", "max.tres.total"),
    S("grp_tres_mins", "tres", "GrpTRESMins", "8", "max.tres.group.minutes"),
    S("grp_tres_run_mins", "tres", "GrpTRESRunMins", "8", "max.tres.group.active"),
    S("max_tres_run_mins", "tres", "MaxTRESRunMins", "8", "max.tres.minutes.total", label="MaxTRESRUNMins"),
    S("max_tres_mins", "tres", "MaxTRESMinsPerJob", "8 MaxTRESMinsPJ:13", "max.tres.minutes.per.job",
      label="MaxTRESMins"),
    S("max_tres", "tres", "MaxTRESPerJob", "7 MaxTRESPJ:9", "max.tres.per.job", label="MaxTRES"),
    S("max_tres_per_node", "tres", "MaxTRESPerNode", "11 MaxTRESPN:9", "max.tres.per.node"),
    S("grp_wall_s", "minutes", "GrpWall", "4", "max.per.account.wall_clock"),
    S("is_default", "flag", json="is_default"),
    S("lineage", "told", json="lineage"),
    S("min_prio_thresh", "limit", "MinPrioThreshold", "MinPrioThresh:4", "min.priority_threshold",
      label="MinPrioThresh"),
    S("parent", "text", "Parent", "2", "parent_account"),
    S("partition", "text", json="partition"),
    S("priority", "limit", "Priority", "2", "priority"),
    S("qos", "names", "QOS", "QosLevel:1", "qos"),
    S("shares", "shares", "Fairshare", "FairShare:1 Shares:1", "shares_raw"),
    S("user", "text", json="user"),
    S("grp_tres_mins", "tres:cpu", "GrpCPUMins", "7", label="GrpTRESMins"),
    S("grp_tres_run_mins", "tres:cpu", "GrpCPURunMins", "7", label="GrpTRESRunMins"),
    S("grp_tres", "tres:cpu", "GrpCPUs", "GrpCpus:7", label="GrpTRES"),
    S("grp_tres", "tres:mem", "GrpMemory", "4", label="GrpTRES"),
    S("grp_tres", "tres:node", "GrpNodes", "4", label="GrpTRES"),
    S("max_tres_mins", "tres:cpu", "MaxCPUMinsPerJob", "7", label="MaxTRESMins"),
    S("max_tres_run_mins", "tres:cpu", "MaxCPURunMins", "7", label="MaxTRESRUNMins"),
    S("max_tres", "tres:cpu", "MaxCPUsPerJob", "MaxCpusPerJob:7", label="MaxTRES"),
    S("max_tres", "tres:node", "MaxNodesPerJob", "4", label="MaxTRES"),
)  # fmt: skip
