"""What the priority plugin tells: the factors of pending jobs (sprio), shares and usage of associations (sshare).

Mirrors priority_p_get_priority_factors_list (priority_multifactor.c) and assoc_mgr_get_shares (assoc_mgr.c), 22.05.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from slurmsim import sluid
from slurmsim.core.accounting.fairshare import Classic, FairTree
from slurmsim.core.queue.priority import Multifactor
from slurmsim.model.accounting import PARENT_SHARES
from slurmsim.slurmctld.base.private_data import association_filter, hides, job_filter
from slurmsim.slurmctld.database.account_tree import TRES_ORDER, hierarchical
from slurmsim.slurmctld.fields.job_fields import billed, eligible_behind
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.records.associations import AssociationTree, Branch
    from slurmsim.core.records.job import Job
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

Answer = dict[str, Any]
CHANGES: frozenset[str] = frozenset()
_WEIGHTS = {"age": "w_age", "assoc": "w_assoc", "fairshare": "w_fairshare", "size": "w_size",
            "partition": "w_partition", "qos": "w_qos"}  # fmt: skip


def calls(cluster: LiveCluster) -> dict[str, Callable[[dict[str, Any], Person], Answer]]:
    """Return the requests about priorities and shares."""
    return {
        "priority_factors": lambda arguments, person: factors(cluster, person),
        "shares": lambda arguments, person: shares(cluster, arguments, person),
    }


# -- sprio --------------------------------------------------------------------------------------------------------


def factors(cluster: LiveCluster, person: Person) -> Answer:
    """Return the factors of every pending job that may start by now, one row a partition it asks for."""
    controller, option = cluster.controller, cluster.spec.option
    plugin = controller.priority
    kind = str(option("PriorityType"))
    answer: Answer = {"now": cluster.now, "type": kind, "jobs": []}
    if not isinstance(plugin, Multifactor):
        return answer
    answer["weights"] = {name: int(option(_CONFIGURED[name]) or 0) for name in _WEIGHTS}
    answer["tres_weights"] = cluster.spec.options.get("PriorityWeightTRES") or None
    sees = job_filter(cluster, person)
    calculated = controller.recalculation.last_run(cluster.now)  # shown as of then
    for row in cluster.job_table.rows():
        live = row.job
        core = live.core
        running = plugin.running_too and core.state == JobState.RUNNING
        if not running and core.state != JobState.PENDING:
            continue
        began = core.begin if core.reason in _LOOKED_AT_NO_FURTHER else None
        since = core.submit_time if plugin.accrue_always else core.eligible_time or eligible_behind(row) or began
        if not since or since > cluster.now or core.priority == 0:
            continue
        if sees is not None and not sees(live.person.uid, core.account):
            continue
        known = max(calculated, min(since, cluster.now))
        for at, partition in enumerate(core.partitions):
            found = _of_job(plugin, core, at, known, controller.found_cpus.counted(core))
            found |= {
                "job_id": live.id, "array_job_id": live.array.id if live.array is not None else live.id,
                "user_id": live.person.uid, "user": live.person.name, "partition_name": partition.name,
                "account": core.account or None, "qos_name": core.qos or None,
                "sluid": sluid.text(cluster.storage.first(live).db_index),
            }  # fmt: skip
            answer["jobs"].append(found)
    return answer


_CONFIGURED = {"age": "PriorityWeightAge", "assoc": "PriorityWeightAssoc", "fairshare": "PriorityWeightFairshare",
               "size": "PriorityWeightJobSize", "partition": "PriorityWeightPartition",
               "qos": "PriorityWeightQOS"}  # fmt: skip
_LOOKED_AT_NO_FURTHER = (Reason.RESERVATION, Reason.DEPENDENCY_NEVER)
"""Reasons of jobs that keep their begin time in slurmctld after it has come (job_independent)."""


def _of_job(plugin: Multifactor, core: Job, at: int, now: int, tried: int) -> Answer:
    """Return the weighted factors; of a job with a priority of its own only that."""
    if core.sub.priority is not None:
        return {"direct": int(core.sub.priority), "nice": 0, "site": 0, "tres": {}} | dict.fromkeys(_WEIGHTS, 0.0)
    assoc, size, part, qos, *_ = plugin.weighted(core, at, tried)
    return {
        "direct": 0, "age": plugin.w_age * plugin.age_factor(core, now), "assoc": assoc,
        "fairshare": plugin.w_fairshare * plugin.fairshare_factor(core) if plugin.w_fairshare else 0.0,
        "size": size, "partition": part, "qos": qos, "nice": core.sub.nice,
        "site": core.sub.site_factor, "tres": plugin.tres_terms(core, at),
    }  # fmt: skip


# -- sshare -------------------------------------------------------------------------------------------------------


def shares(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> Answer:
    """Shares and usage of the associations of some users and accounts, in the order of the tree."""
    controller = cluster.controller
    tree = controller.state.tree
    answer: Answer = {"now": cluster.now, "cluster": cluster.spec.name, "rows": [], "tres": list(TRES_ORDER)}
    flags = {flag.upper() for flag in cluster.spec.option("PriorityFlags")}
    answer["fair_tree"] = "NO_FAIR_TREE" not in flags
    answer["damping"] = int(cluster.spec.option("FairShareDampeningFactor") or 1)
    if tree is None:
        return answer
    users, accounts = (folded(arguments.get(key)) for key in ("users", "accounts"))
    sees = association_filter(cluster, person) if hides(cluster, "usage", person) else None
    owed = _owed(cluster, tree)
    names = [*TRES_ORDER, *(n for n in controller.state.billing.names if n not in TRES_ORDER)]
    answer["tres"] = names
    for branch in hierarchical(tree):
        spec = branch.spec
        if users is not None and spec.user and spec.user.lower() not in users:
            continue
        if accounts is not None and spec.account.lower() not in accounts:
            continue
        if sees is not None and not sees(spec.account, spec.user):
            continue
        answer["rows"].append(_share(cluster, branch, owed, names))
    return answer


def folded(names: Any) -> set[str] | None:
    return {str(name).lower() for name in names} if names else None


def _share(cluster: LiveCluster, branch: Branch, owed: Mapping[int, Mapping[str, int]], names: list[str]) -> Answer:
    spec, row, root = branch.spec, branch.row, branch.parent is None
    found: Answer = {
        "id": cluster.database.id_of(spec), "account": spec.account, "user": spec.user or None,
        "parent": spec.account if spec.user else spec.parent or None, "partition": spec.partition or None,
        "shares": None if root else "parent" if spec.shares == PARENT_SHARES else spec.shares,
        "usage": int(branch.ledger.used_s), "norm_shares": 0.0, "norm_usage": None, "effective": 1.0, "factor": 0.0,
        "level_fs": None, "group_minutes": {n: spec.limits.grp_tres_mins.get(n) for n in names},
        "run_seconds": {n: owed.get(row, {}).get(n, 0) for n in names},
        "used_seconds": {n: branch.ledger.used_tres_s.get(n, 0.0) for n in names},
    }  # fmt: skip
    found |= share_of(cluster, branch)
    if spec.shares == PARENT_SHARES:
        found["level_fs"] = None
    return found


def share_of(cluster: LiveCluster, branch: Branch) -> dict[str, float | None]:
    """Normalised share and usage and the fair-share factor of a branch; empty for the root and without the plugin."""
    plugin = cluster.controller.priority
    kept = plugin.shares if isinstance(plugin, Multifactor) else None
    if kept is None or branch.parent is None:
        return {}
    if isinstance(kept, FairTree):
        found = kept.shown(branch.row)
        return found if branch.spec.user else found | {"factor": 0.0}  # accounts have none
    book = cluster.controller.accounting.book
    assert book is not None
    return kept.shown(branch.row, book.used) if isinstance(kept, Classic) else {}


def _owed(cluster: LiveCluster, tree: AssociationTree) -> dict[int, dict[str, int]]:
    """TRES-seconds running jobs may still use, by row, as of the last run of the priority thread."""
    controller = cluster.controller
    owed: dict[int, dict[str, int]] = {}
    if controller.accounting.limits is None or controller.accounting.book is None:
        return owed
    last = controller.accounting.book.last
    for live in cluster.jobs.values():
        core = live.core
        if core.branch is None or core.alloc is None or core.end_time is not None or core.start_time is None:
            continue
        left = core.time_limit_s - max(0, last - core.start_time)
        _, counts = controller.state.billing.amounts(core)
        counts["billing"] = int(billed(live, cluster))
        for branch in core.branch.path:
            mine = owed.setdefault(branch.row, {})
            for name, count in counts.items():
                mine[name] = mine.get(name, 0) + count * max(left, 0)
    return owed
