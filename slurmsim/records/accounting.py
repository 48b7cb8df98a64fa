"""The fields of associations and QOS, in the order of their documents; `conf` is the setting of sacctmgr.

Kinds are ``limit`` (without end where there is none), ``minutes`` (of an attribute in seconds), ``tres`` (a list of
counts), ``factor``, ``seconds``, ``exempt`` (seconds, as a limit), ``priority``, ``shares``, ``text``, ``flag``,
``names`` and ``name`` (of QOS), ``flags`` and ``modes``; ``told`` is never set.
"""

from __future__ import annotations

from slurmsim.records import Field as F

_JOBS, _TRES, _MINUTES = "limits.max.jobs", "limits.max.tres", "limits.max.tres.minutes"
QOS: tuple[F, ...] = (
    F("description", "text", json="description"),
    F("flags", "flags", conf="Flags", json="flags"),
    F("id", "told", json="id"),
    F("grace_time_s", "seconds", conf="GraceTime", json="limits.grace_time"),
    F("grp_jobs_accrue", "limit", conf="GrpJobsAccrue", json="limits.max.active_jobs.accruing"),
    F("grp_jobs", "limit", conf="GrpJobs", json="limits.max.active_jobs.count"),
    F("grp_submit_jobs", "limit", conf="GrpSubmitJobs", json=f"{_JOBS}.count", first=42),
    F("max_jobs_pa", "limit", conf="MaxJobsPerAccount", json=f"{_JOBS}.active_jobs.per.account"),
    F("max_jobs_pu", "limit", conf="MaxJobsPerUser", json=f"{_JOBS}.active_jobs.per.user"),
    F("max_submit_pa", "limit", conf="MaxSubmitJobsPerAccount", json=f"{_JOBS}.per.account"),
    F("max_submit_pu", "limit", conf="MaxSubmitJobsPerUser", json=f"{_JOBS}.per.user"),
    F("grp_tres", "tres", conf="GrpTRES", json=f"{_TRES}.total"),
    F("grp_tres_run_mins", "tres", conf="GrpTRESRunMins", json=f"{_MINUTES}.total", first=42),
    F("grp_tres_mins", "tres", conf="GrpTRESMins", json=f"{_MINUTES}.per.qos"),
    F("max_tres_mins", "tres", conf="MaxTRESMinsPerJob", json=f"{_MINUTES}.per.job"),
    F("max_tres_run_mins_pa", "tres", conf="MaxTRESRunMinsPerAccount", json=f"{_MINUTES}.per.account"),
    F("max_tres_run_mins_pu", "tres", conf="MaxTRESRunMinsPerUser", json=f"{_MINUTES}.per.user"),
    F("max_tres_pa", "tres", conf="MaxTRESPerAccount", json=f"{_TRES}.per.account"),
    F("max_tres", "tres", conf="MaxTRESPerJob", json=f"{_TRES}.per.job"),
    F("max_tres_per_node", "tres", conf="MaxTRESPerNode", json=f"{_TRES}.per.node"),
    F("max_tres_pu", "tres", conf="MaxTRESPerUser", json=f"{_TRES}.per.user"),
    F("grp_wall_s", "minutes", conf="GrpWall", json="limits.max.wall_clock.per.qos"),
    F("max_wall_s", "minutes", conf="MaxWallDurationPerJob", json="limits.max.wall_clock.per.job"),
    F("max_jobs_accrue_pa", "limit", conf="MaxJobsAccruePerAccount", json="limits.max.accruing.per.account"),
    F("max_jobs_accrue_pu", "limit", conf="MaxJobsAccruePerUser", json="limits.max.accruing.per.user"),
    F("limit_factor", "factor", conf="LimitFactor", json="limits.factor"),
    F("min_prio_thresh", "limit", conf="MinPrioThreshold", json="limits.min.priority_threshold"),
    F("min_tres", "tres", conf="MinTRESPerJob", json="limits.min.tres.per.job"),
    F("name", "text", json="name"),
    F("preempt", "names", conf="Preempt", json="preempt.list"),
    F("preempt_mode", "modes", conf="PreemptMode", json="preempt.mode"),
    F("preempt_exempt_time_s", "exempt", conf="PreemptExemptTime", json="preempt.exempt_time"),
    F("priority", "priority", conf="Priority", json="priority"),
    F("usage_factor", "factor", conf="UsageFactor", json="usage_factor"),
    F("usage_threshold", "factor", conf="UsageThreshold", json="usage_threshold"),
)

ASSOCIATION: tuple[F, ...] = (
    F("account", "text", json="account"),
    F("cluster", "text", json="cluster"),
    F("comment", "text", conf="Comment", json="comment"),
    F("def_qos", "name", conf="DefaultQOS", json="default.qos"),
    F("grp_jobs", "limit", conf="GrpJobs", json="max.jobs.per.count"),
    F("grp_jobs_accrue", "limit", conf="GrpJobsAccrue", json="max.jobs.per.accruing"),
    F("grp_submit_jobs", "limit", conf="GrpSubmitJobs", json="max.jobs.per.submitted"),
    F("max_wall_s", "minutes", conf="MaxWallDurationPerJob", json="max.jobs.per.wall_clock"),
    F("max_jobs", "limit", conf="MaxJobs", json="max.jobs.active"),
    F("max_jobs_accrue", "limit", conf="MaxJobsAccrue", json="max.jobs.accruing"),
    F("max_submit_jobs", "limit", conf="MaxSubmitJobs", json="max.jobs.total"),
    F("grp_tres", "tres", conf="GrpTRES", json="max.tres.total"),
    F("grp_tres_mins", "tres", conf="GrpTRESMins", json="max.tres.group.minutes"),
    F("grp_tres_run_mins", "tres", conf="GrpTRESRunMins", json="max.tres.group.active"),
    F("max_tres_run_mins", "tres", conf="MaxTRESRunMins", json="max.tres.minutes.total"),
    F("max_tres_mins", "tres", conf="MaxTRESMinsPerJob", json="max.tres.minutes.per.job"),
    F("max_tres", "tres", conf="MaxTRESPerJob", json="max.tres.per.job"),
    F("max_tres_per_node", "tres", conf="MaxTRESPerNode", json="max.tres.per.node"),
    F("grp_wall_s", "minutes", conf="GrpWall", json="max.per.account.wall_clock"),
    F("is_default", "flag", json="is_default"),
    F("lineage", "told", json="lineage"),
    F("min_prio_thresh", "limit", conf="MinPrioThreshold", json="min.priority_threshold"),
    F("parent", "text", conf="Parent", json="parent_account"),
    F("partition", "text", json="partition"),
    F("priority", "limit", conf="Priority", json="priority"),
    F("qos", "names", conf="QOS", json="qos"),
    F("shares", "shares", conf="Fairshare", json="shares_raw"),
    F("user", "text", json="user"),
)
