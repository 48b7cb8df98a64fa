"""Which devices of a node a running job has: ``gpu:a:2(IDX:0-1)``.

The scheduler counts devices; the numbers are given out here when a client first looks, the lowest free ones of a type,
job by job in the order of their starts. A node numbers the devices of one name through, type after type.
Mirrors gres_ctld_job_build_details (gres_ctld.c) and _node_gres_used (gres.c), 22.05.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from slurmsim.core.records.job import Job
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.live_job import task_ranges

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

Devices = tuple[int, ...]
Held = dict[tuple[tuple[int, int], int, int], Devices]  # by run of a job (id and restarts), node and kind


def _running(cluster: LiveCluster) -> list[Job]:
    controller = cluster.controller
    found = [entry[2] for entry in controller.state.running] + [entry[2] for entry in controller.state.suspended]
    return sorted((job for job in found if job.alloc is not None), key=lambda job: (job.start_time or 0, job.id))


def _held(cluster: LiveCluster) -> Held:
    """Return what every running job has; those that started since the last look are served first come, first served."""
    given, running = cluster.given_gres, _running(cluster)
    alive = {(job.id, job.restarts) for job in running}
    for gone in [key for key in given if key[0] not in alive]:
        del given[gone]
    served = {key[0] for key in given}
    for job in running:
        run = (job.id, job.restarts)
        if run in served or job.alloc is None:
            continue
        for kind, counts in job.alloc.gres:
            for at, node in enumerate(job.alloc.indices().tolist()):
                count = counts if isinstance(counts, int) else int(counts[at])
                if count:
                    held = _told(cluster, job, node, kind)
                    given[run, node, kind] = held or _lowest(node, kind, count, given)
    return given


def _told(cluster: LiveCluster, job: Job, node: int, kind: int) -> Devices:
    """Return which devices the scheduler gave a job, where it matters; none elsewhere."""
    local = cluster.controller.state.table.local
    if local is None or job.alloc is None or job.alloc.held is None or node not in job.alloc.held:
        return ()
    mine = dict(job.alloc.held[node].devices).get(kind, 0)
    bits = [device.bit for _, of in local.layouts[node].devices for device in of if device.kind == kind]
    return tuple([k for k, bit in enumerate(bits) if mine & bit])


def _lowest(node: int, kind: int, count: int, given: Held) -> Devices:
    taken = {device for key, devices in given.items() if key[1:] == (node, kind) for device in devices}
    found: list[int] = []
    device = 0
    while len(found) < count:
        if device not in taken:
            found.append(device)
        device += 1
    return tuple(found)


def _first(cluster: LiveCluster, node: int, kind: int) -> int:
    """Return the number of the first device of a type on a node."""
    table = cluster.controller.state.table
    name = table.gres_kinds[kind][0]
    return sum(int(table.gres[k][node]) for k in range(kind) if table.gres_kinds[k][0] == name)


def _indices(cluster: LiveCluster, node: int, kind: int, devices: Devices) -> str:
    first = _first(cluster, node, kind)
    return task_ranges(first + device for device in devices)


def _counted(cluster: LiveCluster, node: int, kind: int) -> bool:
    """Return True if devices of `kind` have no files on this node."""
    name, of_type = cluster.controller.state.table.gres_kinds[kind]
    gres = cluster.spec.nodes[node].gres
    return any(one.counted for one in gres if one.name == name and one.type in ("", of_type))


def _label(name: str, of_type: str) -> str:
    return f"{name}:{of_type}" if of_type else name


def gres_of(core: Job, node: int, cluster: LiveCluster) -> str:
    """Return what a running job has on one node, with numbers; empty for nothing."""
    if core.alloc is None or not core.alloc.gres:
        return ""
    held, run = _held(cluster), (core.id, core.restarts)
    parts = []
    own = {kind for kind, _ in core.alloc.gres}
    for kind in sorted(own | _other_types(core, node, cluster)):
        devices = held.get((run, node, kind), ())
        if shares := _shares_of(core, node, kind, cluster):
            parts.append(_shared_text(kind, node, shares, cluster))
        elif devices or kind not in own:
            label = _label(*cluster.controller.state.table.gres_kinds[kind])
            if _counted(cluster, node, kind):
                parts.append(f"{label}(CNT:{len(devices)})")
            else:
                parts.append(f"{label}:{len(devices)}(IDX:{_indices(cluster, node, kind, devices)})")
    return ",".join(parts)


def _shares_of(core: Job, node: int, kind: int, cluster: LiveCluster) -> tuple[int, ...]:
    """Return how many shares of each GPU of a node a running job has; none if `kind` is no share of GPUs."""
    alloc = core.alloc
    held = None if alloc is None or alloc.held is None else alloc.held.get(node)
    return () if held is None else dict(held.shares).get(kind, ())


def shares_told(
    core: Job, node: int, cluster: LiveCluster, wanted: Mapping[str, int] | None = None
) -> tuple[list[int], dict[str, str]]:
    """Return the GPUs of a node of which a running job has shares, and the variables that say how much.

    A step of it has as many of each name as it `wanted`, of the first GPUs that give them.
    """
    alloc, local = core.alloc, cluster.controller.state.table.local
    held = None if alloc is None or alloc.held is None else alloc.held.get(node)
    gpus: list[int] = []
    told: dict[str, str] = {}
    if held is None or local is None:
        return gpus, told
    caps = dict(local.layouts[node].shared)
    for kind, all_counts in held.shares:
        name = cluster.controller.state.table.gres_kinds[kind][0]
        counts = all_counts if wanted is None else _first_of(all_counts, wanted.get(name, 0))
        gpus += [k for k, count in enumerate(counts) if count]
        if name == "shard":
            told["SLURM_SHARDS_ON_NODE"] = str(sum(counts))
        elif sum(counts):
            first = next(k for k, count in enumerate(counts) if count)
            told["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = str(100 * counts[first] // caps[kind][first])
    return sorted(set(gpus)), told


def _first_of(counts: Sequence[int], wanted: int) -> list[int]:
    """Return how many each gives of so many, the first ones all they have.

    >>> _first_of([0, 4, 4], 6)
    [0, 4, 2]
    """
    found = []
    for count in counts:
        found.append(min(count, wanted))
        wanted -= found[-1]
    return found


def _shared_text(kind: int, node: int, shares: tuple[int, ...], cluster: LiveCluster) -> str:
    """Return the shares that a job has: ``shard:3(3/4,0/4)``, before 24.11 ``shard:3(IDX:0)``."""
    label = _label(*cluster.controller.state.table.gres_kinds[kind])
    if not since(cluster.release, "shares_told_of_each_gpu"):
        return f"{label}:{sum(shares)}(IDX:{task_ranges(k for k, count in enumerate(shares) if count)})"
    return f"{label}:{sum(shares)}({_of_each(kind, node, shares, cluster)})"


def _of_each(kind: int, node: int, shares: Iterable[int | str], cluster: LiveCluster) -> str:
    local = cluster.controller.state.table.local
    caps = dict(local.layouts[node].shared)[kind] if local is not None else ()
    return ",".join(f"{count}/{cap}" for count, cap in zip(shares, caps, strict=True))


def _shared_use(kind: int, node: int, cluster: LiveCluster) -> tuple[int, str] | None:
    """Return how many shares of the GPUs of a node are in use, and of which; None if `kind` is no share of GPUs."""
    unheld = cluster.controller.state.table.unheld
    layout = None if unheld is None else unheld.layout(node)
    if unheld is None or layout is None or kind not in dict(layout.shared):
        return None
    used = unheld.used_shares(node, kind)
    if not since(cluster.release, "shares_told_of_each_gpu"):
        there = [k for k, count in enumerate(used) if count]
        return len(there), f"IDX:{task_ranges(there) or 'N/A'}"
    taken = unheld.whole_devices(node) if since(cluster.release, "no_null_types") else 0
    told = ["-" if gpu.bit & taken else count for gpu, count in zip(layout.of_name("gpu"), used, strict=True)]
    return sum(used), _of_each(kind, node, told, cluster)


def _other_types(core: Job, node: int, cluster: LiveCluster) -> set[int]:
    """Return the kinds on a node that a job may have got as well: it asked for devices of any type."""
    table = cluster.controller.state.table
    names = {g.name for g in core.sub.request.gres if not g.type}
    return {
        kind for kind, (name, _) in enumerate(table.gres_kinds)
        if name in names and int(table.gres[kind][node]) and not _counted(cluster, node, kind)
    }  # fmt: skip


def gpu_devices(core: Job, node: int, cluster: LiveCluster) -> list[int]:
    """Return the numbers of the GPUs a running job has on one node, ascending; those without files have none."""
    if core.alloc is None or not core.alloc.gres:
        return []
    held, run, kinds = _held(cluster), (core.id, core.restarts), cluster.controller.state.table.gres_kinds
    return sorted(
        _first(cluster, node, kind) + device
        for kind, _ in core.alloc.gres
        if kinds[kind][0] == "gpu" and not _counted(cluster, node, kind)
        for device in held.get((run, node, kind), ())
    )


def gres_details(core: Job, cluster: LiveCluster) -> list[str]:
    """Return what a running job has on each of its nodes that gave it some."""
    if core.alloc is None or not core.alloc.gres:
        return []
    return [text for node in core.alloc.indices().tolist() if (text := gres_of(core, node, cluster))]


def gres_totals(core: Job, cluster: LiveCluster) -> str:
    """Return what a job has on all nodes together: ``gpu:a:1,gpu:b:1``."""
    if core.alloc is None:
        return ""
    parts = []
    for kind, counts in core.alloc.gres:
        total = counts * core.alloc.n_nodes if isinstance(counts, int) else int(counts.sum())
        if total:
            parts.append(f"{_label(*cluster.controller.state.table.gres_kinds[kind])}:{total}")
    return ",".join(parts)


def used_gres(kind: int, node: int, cluster: LiveCluster) -> int:
    """Return how many of a kind are in use on a node."""
    table = cluster.controller.state.table
    total = int(table.gres[kind][node])
    if table.idle >> node & 1 or kind in table.unconsumed:
        return 0
    if kind in table.explicit and not table.mixed >> node & 1:  # the job that has the node may not have asked for it
        return sum(_of_job(job, kind, node) for job in _running(cluster) if job.nodes >> node & 1)
    return total - int(table.free_gres[kind][node]) if table.mixed >> node & 1 else total


def _of_job(job: Job, kind: int, node: int) -> int:
    if job.alloc is None:
        return 0
    at = job.alloc.indices().tolist().index(node)
    return sum(counts if isinstance(counts, int) else int(counts[at]) for own, counts in job.alloc.gres if own == kind)


def _placed(node: int, name: str, cluster: LiveCluster) -> bool:
    """Return True if gres.conf says which cores are beside devices called `name`, or jobs share them."""
    local = cluster.controller.state.table.local
    if local is not None and node in local.layouts and local.layouts[node].shared:
        return since(cluster.release, "shares_told_of_each_gpu")
    return any(gres.near for gres in cluster.spec.nodes[node].gres if gres.name == name)


def gres_used(node: int, cluster: LiveCluster) -> str | None:
    """Return what is in use on a node: typed devices with their numbers, others counted; None for unknown GRES."""
    table = cluster.controller.state.table
    held: Held | None = None
    parts: list[str] = []
    known = {name.lower() for name in cluster.spec.option("GresTypes")}
    names = dict.fromkeys([*(n for n in cluster.spec.option("GresTypes")), *(name for name, _ in table.gres_kinds)])
    for name in names:
        kinds = [k for k, kind in enumerate(table.gres_kinds) if kind[0] == name and int(table.gres[k][node])]
        if not kinds and name.lower() in known and not since(cluster.release, "gres_of_other_nodes_hidden"):
            parts.append(f"{name}:0")
        for kind in kinds:
            of_type = table.gres_kinds[kind][1]
            shared = _shared_use(kind, node, cluster)
            if not (of_type or shared or _placed(node, name, cluster)):
                parts.append(f"{name}:{used_gres(kind, node, cluster)}")
                continue
            # this walks over all running jobs, so only nodes with typed devices pay for it
            held = _held(cluster) if held is None else held
            devices = tuple(d for key, mine in held.items() if key[1:] == (node, kind) for d in mine)
            numbers = _indices(cluster, node, kind, tuple(sorted(devices))) or "N/A"
            if not of_type and not since(cluster.release, "no_null_types"):
                of_type = "(null)"
            count, where = (len(devices), f"IDX:{numbers}") if shared is None else shared
            parts.append(f"{_label(name, of_type)}:{count}({where})")
    return ",".join(parts) or None
