"""Jobs counted by state, user, account and partition in one walk: what exporters of metrics ask for all the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slurmsim.slurmctld.base.private_data import refuse
from slurmsim.states import JobState, Reason, is_held

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

Arguments = dict[str, Any]
CHANGES: frozenset[str] = frozenset()
MEASURES = ("jobs", "records", "started", "cpus", "memory", "gpus")
"""What is counted of a group: jobs, records (an array's unsplit tasks are one), jobs that began, what they have."""
_RAN = (JobState.RUNNING, JobState.SUSPENDED)
_LOOKED_AT = (Reason.RESOURCES, Reason.PRIORITY)


def calls(cluster: LiveCluster) -> dict[str, Callable[[Arguments, Person], Arguments]]:
    """Return the request by name."""
    return {"job_counts": lambda arguments, person: _counted(cluster, person)}


def _counted(cluster: LiveCluster, person: Person) -> Arguments:
    """Return `count`, which tells of all users' jobs. Raises Refusal where those are hidden."""
    refuse(cluster, "jobs", person)
    return count(cluster)


def count(cluster: LiveCluster) -> Arguments:
    """Return groups of jobs, and how many different nodes a user, an account, a partition and all have.

    A group is ``[state, flag, user, account, partition, kind]`` and the numbers of `MEASURES`; the kind of a waiting
    job is ``held``, ``dependency``, ``looked at`` (some scheduler found no place for it) or nothing.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    masks: dict[tuple[str, str], int] = {}
    sizes: dict[str, list[int]] = {}
    gpus = any(name.startswith("gres/gpu") for name in cluster.controller.state.billing.names)
    for row in cluster.job_table.rows():
        core = row.core
        state = core.state
        waiting = state == JobState.PENDING
        names = (row.job.person.name, core.account or "", core.partition.name)
        kind = flag = ""
        if waiting:
            reason = core.reason
            kind = (
                "held" if is_held(reason) else "dependency" if reason == Reason.DEPENDENCY
                else "looked at" if reason in _LOOKED_AT else ""
            )  # fmt: skip
            if kind == "looked at":
                least = sizes.setdefault(names[2], [1 << 30, 0])
                least[:] = min(least[0], int(core.n_nodes)), max(least[1], int(core.n_nodes))
        elif state == JobState.RUNNING and row.job.requeued_at == cluster.now:
            flag = "REQUEUED"
        found = groups.setdefault((str(state), flag, *names, kind), [0] * len(MEASURES))
        n_jobs = max(len(row.tasks), 1)
        found[0] += n_jobs
        found[1] += 1
        found[2] += n_jobs if core.start_time is not None else 0
        if state in _RAN and core.alloc is not None:
            alloc = core.alloc
            mem = alloc.mem
            found[3] += int(core.n_cpus)
            found[4] += mem * int(alloc.n_nodes) if isinstance(mem, int) else int(sum(mem))
            if gpus:
                given = cluster.controller.state.billing.allocated(alloc)
                found[5] += int(given.get("gres/gpu", 0))
            for key in zip(("user", "account", "partition"), names, strict=True):
                masks[key] = masks.get(key, 0) | int(core.nodes)
            masks["all", ""] = masks.get(("all", ""), 0) | int(core.nodes)
    return {
        "now": cluster.now,
        "groups": [[*key, *values] for key, values in groups.items()],
        "nodes": [[*key, mask.bit_count()] for key, mask in masks.items()],
        "waiting_nodes": [[name, low, high] for name, (low, high) in sizes.items()],
    }
