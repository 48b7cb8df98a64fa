"""Tasks that are dealt to the nodes of a job, and the CPUs they need there (_get_task_count, dist_tasks.c)."""

from __future__ import annotations

from collections.abc import Iterable

from slurmsim.core.records.release_rules import ReleaseRules
from slurmsim.model.request import ResourceRequest


def per_node(asked: ResourceRequest, rules: ReleaseRules) -> bool:
    """Return True if each node gets --ntasks-per-node tasks, however many the job has."""
    return bool(asked.tasks_per_node and not (rules.deals_tasks and asked.n_tasks))


def share_cpus(asked: ResourceRequest, rules: ReleaseRules) -> bool:
    """Return True if the tasks of a node share the CPUs of one (--overcommit), as none has TRES of its own."""
    own = any(g.scope == "task" for g in asked.gres) or (rules.deals_overcommitted and asked.cpus_given)
    return asked.overcommit and not own


def uncertain(asked: ResourceRequest, rules: ReleaseRules, alone: bool) -> int:
    """Return how many tasks, of the job or `per_node`, may find too few CPUs though the job has all it asked for.

    Those of --overcommit, and more on a node than the job has. A job `alone` on its nodes has CPUs for all.
    """
    if alone or not rules.tasks_need_cpus or share_cpus(asked, rules):
        return 0
    tasks = asked.tasks_per_node if per_node(asked, rules) else asked.n_tasks
    return tasks if tasks > asked.tasks_apart else 0


def too_many(tasks: int, cpus: Iterable[int], each: int, asked: ResourceRequest, rules: ReleaseRules) -> bool:
    """Return True if nodes giving so many `cpus` do not take `tasks` of `each` CPUs; every node takes one."""
    room = [max(1, given // each) for given in cpus]
    return tasks > (min(room) if per_node(asked, rules) else sum(room))
