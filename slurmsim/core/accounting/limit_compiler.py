"""Limits into rules, in the order slurmctld asks: partition QOS, job QOS, association, the accounts above it.

Which of several limits counts depends only on who has set it: one set in the first QOS hides the same one in the second
and in the associations, TRES by TRES. So hiding is worked out once, and what is left is a plain list of rules for each
occasion. Mirrors src/slurmctld/acct_policy.c (22.05): _acct_policy_validate (`submit`), _job_runnable_pre_select
(`before`), _job_runnable_post_select (`after`), acct_policy_job_time_out (`over`), acct_policy_get_max_nodes.
"""

from __future__ import annotations

from collections.abc import Callable

from slurmsim.core.accounting.job_limits import Hidden, JobLimits, QosUsed, flags_of, inherited, inherited_tres
from slurmsim.core.accounting.limit_reasons import tres_reason
from slurmsim.core.accounting.limit_rules import Rules, Used
from slurmsim.core.accounting.usage_counters import UsageCounters
from slurmsim.core.records.associations import Branch
from slurmsim.model.accounting import Qos, Tres

Path = list[tuple[Branch, Used]]  # an association and the accounts above it, with what counts for each


class LimitCompiler:
    """Makes claims."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def claim(self, path: Path, qos: list[QosUsed], job_qos: Qos | None) -> JobLimits:
        """Rules for jobs of the association first in `path`, held to `qos` in that order.

        `job_qos` is the job's own: its UsageFactor counts even where the partition's QOS comes first.
        """
        counters = [in_use for q in qos for in_use in (q.all.in_use, q.user, q.account)]
        counters += [used.in_use for _, used in path]
        deny = not qos or any("denyonlimit" in flags_of(q.qos) for q in qos)
        claim = JobLimits(tuple(counters), deny=deny)
        if job_qos is not None and job_qos.usage_factor >= 0:
            claim.factor = job_qos.usage_factor
            claim.factor_safe = claim.factor if "usagefactorsafe" in flags_of(job_qos) else 1.0
        stretch = _limit_factor(qos)
        hidden = Hidden()
        self._submit_qos(claim, hidden, qos)
        self._submit_path(claim, hidden, path, stretch)
        self._before(claim, path, qos)
        self._after(claim, path, qos, stretch)
        if not self.rules.safe:
            self._over(claim, path, qos)
        branches = _branches(path)
        claim.max_nodes = _max_nodes(branches, qos, stretch)
        claim.preferred = _preferred(path, qos)
        thresholds = [q.qos.limits.min_prio_thresh for q in qos] + [inherited(branches, "min_prio_thresh")]
        claim.min_prio = next((t for t in thresholds if t), 0)
        return claim

    # -- at submission --------------------------------------------------------------------------------------------

    def _submit_qos(self, claim: JobLimits, hidden: Hidden, qos: list[QosUsed]) -> None:
        rules, out, deny = self.rules, claim.submit, claim.deny
        for q in qos:
            limits = q.qos.limits
            if deny:
                out += rules.most("MaxPerAccount", hidden.take_tres("max_tres_pa", q.qos.max_tres_pa))
                self._group_or_user(claim, hidden, q.qos)
            submits = hidden.take("grp_submit", limits.grp_submit_jobs)
            if submits is not None:
                out.append(rules.submits(q.all.in_use, submits, "QOSGrpSubmitJobsLimit"))
            if deny:
                for name, kind, asked in (
                    ("max_tres_mins", "QOSMaxMinutesPerJob", limits.max_tres_mins),
                    ("grp_tres_mins", "QOSGrpMinutes", limits.grp_tres_mins),
                    ("grp_tres_run_mins", "QOSGrpRunMinutes", limits.grp_tres_run_mins),
                ):
                    out += rules.minutes(kind, hidden.take_tres(name, asked))
            for name, wall_s, reason in (
                ("max_wall", limits.max_wall_s, "QOSMaxWallDurationPerJobLimit"),
                ("grp_wall", limits.grp_wall_s, "QOSGrpWallLimit"),
            ):
                self._wall_at_submit(claim, hidden.take(name, wall_s), reason)
            if deny:
                out += rules.most("QOSMaxPerJob", hidden.take_tres("max_tres", limits.max_tres))
                out += rules.per_node("QOSMaxPerNode", hidden.take_tres("max_pn", limits.max_tres_per_node))
            for name, most, counter, reason in (
                ("submit_pa", q.qos.max_submit_pa, q.account, "MaxSubmitJobsPerAccount"),
                ("submit_pu", q.qos.max_submit_pu, q.user, "QOSMaxSubmitJobPerUserLimit"),
            ):
                submits = hidden.take(name, most)
                if submits is not None:
                    out.append(rules.submits(counter, submits, reason))
            if deny:
                out += rules.least(hidden.take_tres("min_tres", q.qos.min_tres))

    def _submit_path(self, claim: JobLimits, hidden: Hidden, path: Path, stretch: Callable[[Tres], Tres]) -> None:
        rules, out, deny, branches = self.rules, claim.submit, claim.deny, _branches(path)
        for level, (branch, used) in enumerate(path):
            limits = branch.spec.limits
            if deny:
                out += rules.most("AssocGrp", hidden.left("grp_tres", stretch(limits.grp_tres)))
            if limits.grp_submit_jobs is not None and not hidden.hides("grp_submit"):
                out.append(rules.submits(used.in_use, limits.grp_submit_jobs, "AssocGrpSubmitJobsLimit"))
            if deny:
                out += rules.minutes("AssocGrpMinutes", hidden.left("grp_tres_mins", limits.grp_tres_mins))
                run_mins = hidden.left("grp_tres_run_mins", limits.grp_tres_run_mins)
                out += rules.minutes("AssocGrpRunMinutes", run_mins)
            if not hidden.hides("grp_wall"):
                self._wall_at_submit(claim, limits.grp_wall_s, "AssocGrpWallLimit")
            if level:
                continue
            if deny:
                most = stretch(inherited_tres(branches, "max_tres"))
                out += rules.most("AssocMaxPerJob", hidden.left("max_tres", most))
                per_node = inherited_tres(branches, "max_tres_per_node")
                out += rules.per_node("AssocMaxPerNode", hidden.left("max_pn", per_node))
            submits = inherited(branches, "max_submit_jobs")
            if submits is not None and not (hidden.hides("submit_pa") or hidden.hides("submit_pu")):
                out.append(rules.submits(used.in_use, submits, "AssocMaxSubmitJobLimit"))
            if deny:
                mins = hidden.left("max_tres_mins", inherited_tres(branches, "max_tres_mins"))
                out += rules.minutes("AssocMaxMinutesPerJob", mins)
            if not hidden.hides("max_wall"):
                self._wall_at_submit(claim, inherited(branches, "max_wall_s"), "AssocMaxWallDurationPerJobLimit")

    def _wall_at_submit(self, claim: JobLimits, wall_s: int | None, reason: str) -> None:
        """Make a wall limit the time limit of jobs without one; it may refuse jobs with a longer one."""
        if wall_s is None:
            return
        claim.walls_min.append(wall_s // 60)
        if claim.deny:
            claim.submit.append(self.rules.longer(wall_s // 60, reason))

    def _group_or_user(self, claim: JobLimits, hidden: Hidden, qos: Qos) -> None:
        """GrpTRES and MaxTRESPerUser of a QOS at submission: either of them hides both in what comes later."""
        rules, group, user = self.rules, qos.limits.grp_tres, qos.max_tres_pu
        for tres in rules.tracked.names:
            if ("grp_tres", tres) in hidden.seen or ("max_tres_pu", tres) in hidden.seen:
                continue
            if tres in user:
                claim.submit += rules.most("QOSMaxPerUser", hidden.take_tres("max_tres_pu", {tres: user[tres]}))
            if tres in group:
                claim.submit += rules.most("QOSGrp", hidden.take_tres("grp_tres", {tres: group[tres]}))

    # -- before nodes are chosen ----------------------------------------------------------------------------------

    def _before(self, claim: JobLimits, path: Path, qos: list[QosUsed]) -> None:
        hidden, rules, add, branches = Hidden(), self.rules, claim.before.append, _branches(path)
        for q in qos:
            limits = q.qos.limits
            jobs = hidden.take("grp_jobs", limits.grp_jobs)
            if jobs is not None:
                add(rules.running(q.all.in_use, jobs, "QOSGrpJobsLimit"))
            wall = hidden.take("grp_wall", limits.grp_wall_s)
            if wall is not None:
                add(rules.wall(q.all.ledger, wall // 60, "QOSGrpWallLimit"))
            for name, most, counter, reason in (
                ("jobs_pa", q.qos.max_jobs_pa, q.account, "MaxJobsPerAccount"),
                ("jobs_pu", q.qos.max_jobs_pu, q.user, "QOSMaxJobsPerUserLimit"),
            ):
                jobs = hidden.take(name, most)
                if jobs is not None:
                    add(rules.running(counter, jobs, reason))
            wall = hidden.take("max_wall", limits.max_wall_s)
            if wall is not None:
                add(rules.longer(wall // 60, "QOSMaxWallDurationPerJobLimit"))
        for level, (branch, used) in enumerate(path):
            limits = branch.spec.limits
            if limits.grp_jobs is not None and not hidden.hides("grp_jobs"):
                add(rules.running(used.in_use, limits.grp_jobs, "AssocGrpJobsLimit"))
            if limits.grp_wall_s is not None and not hidden.hides("grp_wall"):
                add(rules.wall(used.ledger, limits.grp_wall_s // 60, "AssocGrpWallLimit"))
            # MaxJobs and MaxWall are inherited by the association, so its accounts are not asked for their own
            if level:
                continue
            jobs = inherited(branches, "max_jobs")
            if jobs is not None and not (hidden.hides("jobs_pa") or hidden.hides("jobs_pu")):
                add(rules.running(used.in_use, jobs, "AssocMaxJobsLimit"))
            wall = inherited(branches, "max_wall_s")
            if wall is not None and not hidden.hides("max_wall"):
                add(rules.longer(wall // 60, "AssocMaxWallDurationPerJobLimit"))

    # -- after nodes are chosen -----------------------------------------------------------------------------------

    def _after(self, claim: JobLimits, path: Path, qos: list[QosUsed], stretch: Callable[[Tres], Tres]) -> None:
        hidden, rules, out, free = Hidden(), self.rules, claim.after, claim.factor == 0
        branches = _branches(path)
        for q in qos:
            limits, take, mine = q.qos.limits, hidden.take_tres, len(out)
            in_use = q.all.in_use
            out += rules.spent("QOSGrpMinutes", take("grp_tres_mins", limits.grp_tres_mins), q.all, free=free)
            out += rules.together("QOSGrp", take("grp_tres", limits.grp_tres), in_use)
            run_mins = take("grp_tres_run_mins", limits.grp_tres_run_mins)
            out += rules.owed("QOSGrpRunMinutes", run_mins, in_use, free=free)
            out += rules.minutes("QOSMaxMinutesPerJob", take("max_tres_mins", limits.max_tres_mins))
            out += rules.most("QOSMaxPerJob", take("max_tres", limits.max_tres))
            out += rules.per_node("QOSMaxPerNode", take("max_pn", limits.max_tres_per_node))
            out += rules.least(take("min_tres", q.qos.min_tres))
            out += rules.together("MaxPerAccount", take("max_tres_pa", q.qos.max_tres_pa), q.account)
            out += rules.together("QOSMaxPerUser", take("max_tres_pu", q.qos.max_tres_pu), q.user)
            run_mins = take("run_pa", q.qos.max_tres_run_mins_pa)
            out += rules.owed("MaxRunMinsPerAccount", run_mins, q.account, free=free)
            run_mins = take("run_pu", q.qos.max_tres_run_mins_pu)
            out += rules.owed("MaxRunMinsPerUser", run_mins, q.user, free=free)
            for rule in out[mine:]:
                rule.qos = q.qos.name
        for level, (branch, used) in enumerate(path):
            limits, left = branch.spec.limits, hidden.left
            out += rules.spent("AssocGrpMinutes", left("grp_tres_mins", limits.grp_tres_mins), used, free=free)
            out += rules.together("AssocGrp", left("grp_tres", stretch(limits.grp_tres)), used.in_use)
            run_mins = left("grp_tres_run_mins", limits.grp_tres_run_mins)
            out += rules.owed("AssocGrpRunMinutes", run_mins, used.in_use, free=free)
            if level:
                continue
            mins = left("max_tres_mins", inherited_tres(branches, "max_tres_mins"))
            out += rules.minutes("AssocMaxMinutesPerJob", mins)
            out += rules.most("AssocMaxPerJob", left("max_tres", stretch(inherited_tres(branches, "max_tres"))))
            per_node = left("max_pn", inherited_tres(branches, "max_tres_per_node"))
            out += rules.per_node("AssocMaxPerNode", per_node)

    # -- while it runs --------------------------------------------------------------------------------------------

    def _over(self, claim: JobLimits, path: Path, qos: list[QosUsed]) -> None:
        """Limits a running job is ended for; the demand then has the minutes it has run."""
        hidden, rules, out, branches = Hidden(), self.rules, claim.over, _branches(path)
        for q in qos:
            limits = q.qos.limits
            spent = hidden.take_tres("grp_tres_mins", limits.grp_tres_mins)
            out += rules.used_up("QOSGrpMinutes", spent, q.all.ledger)
            wall = hidden.take("grp_wall", limits.grp_wall_s)
            if wall is not None:
                out.append(rules.walled(q.all.ledger, wall // 60, "QOSGrpWallLimit"))
            self._outrun(claim, "QOSMaxMinutesPerJob", hidden.take_tres("max_tres_mins", limits.max_tres_mins))
        for level, (branch, used) in enumerate(path):
            if level and level == len(path) - 1:
                break  # not for the root
            limits = branch.spec.limits
            spent = hidden.left("grp_tres_mins", limits.grp_tres_mins)
            out += rules.used_up("AssocGrpMinutes", spent, used.ledger)
            if limits.grp_wall_s is not None and not hidden.hides("grp_wall"):
                out.append(rules.walled(used.ledger, limits.grp_wall_s // 60, "AssocGrpWallLimit"))
            mins = hidden.left("max_tres_mins", inherited_tres(branches[level:], "max_tres_mins"))
            mins.pop("node", None)  # as slurmctld leaves it out
            self._outrun(claim, "AssocMaxMinutesPerJob", mins)

    def _outrun(self, claim: JobLimits, kind: str, limits: dict[str, int]) -> None:
        claim.over += self.rules.outrun(kind, limits)
        claim.outruns += [(i, most) for i, _, most in self.rules.ordered(limits)]


def _branches(path: Path) -> tuple[Branch, ...]:
    return tuple([branch for branch, _ in path])


def _limit_factor(qos: list[QosUsed]) -> Callable[[Tres], Tres]:
    """LimitFactor of the first QOS that has one stretches GrpTRES and MaxTRES of associations."""
    factor = next((q.qos.limit_factor for q in qos if q.qos.limit_factor is not None), None)
    if factor is None or factor <= 0:
        return lambda limits: limits
    return lambda limits: {tres: int(value * factor) for tres, value in limits.items()}


def _preferred(path: Path, qos: list[QosUsed]) -> list[UsageCounters]:
    """Return the counters of the nodes that count only once under a node limit.

    For group, user and account they are those of the first QOS that limits them (_find_grp_node_bitmap). Of the
    associations they are those of the first group, unless a QOS has one.
    """
    found: dict[str, UsageCounters] = {}
    for q in qos:
        for kind, limits, in_use in (
            ("group", q.qos.limits.grp_tres, q.all.in_use), ("user", q.qos.max_tres_pu, q.user),
            ("account", q.qos.max_tres_pa, q.account),
        ):  # fmt: skip
            if "node" in limits:
                found.setdefault(kind, in_use)
    for branch, used in path:
        if "node" in branch.spec.limits.grp_tres:
            found.setdefault("group", used.in_use)
    return list(found.values())


def _max_nodes(
    branches: tuple[Branch, ...], qos: list[QosUsed], stretch: Callable[[Tres], Tres]
) -> tuple[int, str] | None:
    """Return the least of the node limits, and its reason; nodes the group already uses are no help here."""
    hidden = Hidden()
    own: dict[str, int] = {}
    for q in qos:
        for kind, limits in (
            ("MaxPerAccount", q.qos.max_tres_pa), ("QOSMaxPerJob", q.qos.limits.max_tres),
            ("QOSMaxPerUser", q.qos.max_tres_pu), ("QOSGrp", q.qos.limits.grp_tres),
        ):  # fmt: skip
            value = hidden.take(kind, limits.get("node"))
            if value is not None:
                own[kind] = value
    best: tuple[int, str] | None = None
    for kind in ("MaxPerAccount", "QOSMaxPerJob", "QOSMaxPerUser", "QOSGrp"):
        if kind in own and (best is None or own[kind] < best[0]):
            best = (own[kind], tres_reason(kind, "node"))
    for level, branch in enumerate(branches):
        group = None if "QOSGrp" in own else stretch(branch.spec.limits.grp_tres).get("node")
        lower = group is not None and (best is None or group < best[0])
        if group is not None and lower:
            best = (group, tres_reason("AssocGrp", "node"))
        if not level and not own.keys() - {"QOSGrp"}:
            most = stretch(inherited_tres(branches, "max_tres")).get("node")
            if most is not None and (best is None or most < best[0]):
                best = (most, tres_reason("AssocMaxPerJob", "node"))
        if lower:
            break  # slurmctld looks at the first such group only
    return best
