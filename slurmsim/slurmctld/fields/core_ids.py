"""Which CPUs of a node a job has or had, for ``show job -d`` and documents.

The scheduler counts CPUs; the numbers are given out here when a client first looks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.core.placement.core_choice import CoreWish, chosen_cores
from slurmsim.core.placement.core_spec import cores_left
from slurmsim.core.records.job import Job
from slurmsim.core.records.local_cores import first_bits, special_cores
from slurmsim.core.records.reservation import Reservation
from slurmsim.records.request import THREAD_FLAG
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.job_cpus import cpus_on_nodes
from slurmsim.slurmctld.base.live_job import task_ranges
from slurmsim.slurmctld.fields.node_fields import spec

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster


def cpu_ids(core: Job, node: int, cluster: LiveCluster) -> str:
    """Return the numbers of the CPUs that a job has, or had until it ended, on one node: ``0-1,4``."""
    _deal(cluster)
    return task_ranges(cluster.given_cpus.get(((core.id, core.restarts), node), ()))


def _deal(cluster: LiveCluster) -> None:
    """Give numbers to the CPUs of all jobs that have none yet, in the order they started.

    Jobs that have ended meanwhile get theirs, too: those that started in their time did not get the same.
    """
    given, mark = cluster.given_cpus, (cluster.network.happened, cluster.network.n_told)
    if cluster.dealt[0] is given and cluster.dealt[1] == mark:  # a snapshot that was read brings others
        return
    cluster.dealt = (given, mark)
    runs = [live.core for live in cluster.jobs.values() if live.is_known and live.core.start_time is not None]
    known = {(job.id, job.restarts): job for job in runs if job.alloc is not None}
    for key in [key for key in given if key[0] not in known]:
        del given[key]
    there = {key for key, _ in given}
    new = [job for key, job in known.items() if key not in there]
    on_node: dict[int, list[tuple[Job, tuple[int, ...]]]] = {}
    for (run, node), cpus in given.items() if new else ():
        on_node.setdefault(node, []).append((known[run], cpus))
    for job in sorted(new, key=lambda job: (job.start_time or 0, job.id)):
        _deal_to(job, on_node, cluster)


def _deal_to(job: Job, on_node: dict[int, list[tuple[Job, tuple[int, ...]]]], cluster: LiveCluster) -> None:
    """Give numbers to the CPUs of `job`; `on_node` says which the jobs before it got of each node."""
    alloc, start = job.alloc, job.start_time
    assert alloc is not None and start is not None
    for node, count in zip(alloc.indices().tolist(), cpus_on_nodes(job, cluster), strict=True):
        others = on_node.setdefault(node, [])
        # jobs come in the order they started: who is over by now is over for all that follow
        others[:] = [one for one in others if one[0].end_time is None or one[0].end_time > start]
        taken = {cpu for _, cpus in others for cpu in cpus}
        held = None if alloc.held is None else alloc.held.get(node)
        if job.request.own_cpus is not None:
            cpus = _of_its_own(job, node, count, cluster)
        elif held is None:
            cpus = _choose(job, node, count, taken, cluster)
        else:
            cpus = _threads(held.cores, count, node, cluster)
        cluster.given_cpus[(job.id, job.restarts), node] = cpus
        others.append((job, cpus))


def _of_its_own(job: Job, node: int, count: int, cluster: LiveCluster) -> tuple[int, ...]:
    """Return the CPUs of a job with --core-spec; since 23.11 those of no more cores than it uses."""
    machine, wanted = spec(node, cluster), job.sub.request.core_spec
    first = "spec_cores_first" in cluster.spec.scheduler_parameters
    cores = cores_left(machine, wanted or 0, first=first)
    per_socket, used = job.sub.request.tasks_per_socket, _wish(job, machine.threads_per_core, cluster).threads
    if per_socket:
        most, whole = -(-per_socket * job.sub.request.cpus_per_task // used), (1 << machine.cores_per_socket) - 1
        shifts = range(0, machine.sockets * machine.cores_per_socket, machine.cores_per_socket)
        cores = sum(first_bits(cores >> shift & whole, most) << shift for shift in shifts)
    threads = wanted and wanted & THREAD_FLAG and machine.threads_per_core > 1
    if since(cluster.release, "spec_cores_of_tasks") and not threads:
        cores = first_bits(cores, -(-count // used))
    return _threads(cores, machine.cpus, node, cluster)


def _threads(cores: int, count: int, node: int, cluster: LiveCluster) -> tuple[int, ...]:
    """Return the numbers of `count` threads of the `cores`."""
    threads = spec(node, cluster).threads_per_core
    found = [core * threads + k for core in range(cores.bit_length()) if cores >> core & 1 for k in range(threads)]
    return tuple(found[:count])


def cores_kept(r: Reservation, cluster: LiveCluster) -> dict[str, list[int]]:
    """Return the numbers of the cores of `r`, by its nodes' numbers as text.

    They are free when the reservation begins; in 24.11 they are idle now, if there are enough of these. The lowest are
    chosen; since 24.11, where cores are looked for as for a job, those of one socket after the other.
    """
    running = [entry[2] for entry in cluster.controller.state.running]
    now = {(job.id, job.restarts) for job in running}
    staying = {(job.id, job.restarts) for job in running if job.end_limit is None or job.end_limit >= r.start}
    others = [
        cluster.reservation_texts.get(other.name, {}).get("cores", {})
        for other in cluster.controller.state.reserved.all if other is not r and other.covers(r.start, r.end)
    ]  # fmt: skip
    dealt = since(cluster.release, "reserved_cores_dealt")
    found = {}
    _deal(cluster)  # cores of jobs that no client has looked at have no numbers yet, and would seem free
    for node, n_cpus in (r.cores or {}).items():
        machine = spec(node, cluster)
        kept = {core for cores in others for core in cores.get(str(node), ())}
        n_cores = n_cpus // machine.threads_per_core
        for jobs in (now, staying) if cluster.controller.state.rules.reserves_idle_first else (staying,):
            theirs = set() if "IGNORE_JOBS" in r.flags else _cores_of(jobs, node, machine.threads_per_core, cluster)
            theirs |= {core for core in range(machine.cpus) if special_cores(machine) >> core & 1}
            free = [core for core in range(machine.sockets * machine.cores_per_socket) if core not in kept | theirs]
            if len(free) >= n_cores:
                break
        each = machine.cores_per_socket
        sockets = [[core for core in free if core // each == socket] for socket in range(machine.sockets)]
        found[str(node)] = chosen_cores(sockets, n_cores, CoreWish(1)) if dealt else free[:n_cores]
    return found


def _cores_of(jobs: set[tuple[int, int]], node: int, threads: int, cluster: LiveCluster) -> set[int]:
    """Return the cores of `node` some of `jobs` has, which are named by id and run."""
    given = cluster.given_cpus.items()
    return {cpu // threads for (job, at), cpus in given if at == node and job in jobs for cpu in cpus}


def _choose(job: Job, node: int, count: int, taken: set[int], cluster: LiveCluster) -> tuple[int, ...]:
    machine = spec(node, cluster)
    threads, each = machine.threads_per_core, machine.cores_per_socket
    special = 0 if cluster.controller.state.table.unit == "node" else special_cores(machine)
    free = [
        [core for core in range(first, first + each) if core * threads not in taken and not special >> core & 1]
        for first in range(0, each * machine.sockets, each)
    ]
    cores = chosen_cores(free, -(-count // threads), _wish(job, threads, cluster))
    return tuple([core * threads + thread for core in cores for thread in range(threads)][:count])


def _wish(job: Job, threads: int, cluster: LiveCluster) -> CoreWish:
    """Return what the job asks of the cores of a node; one with its nodes to itself has all of them."""
    live, asked = cluster.jobs.get(job.id), job.sub.request
    per_task = job.request.memory.cpus_per_task
    used = min(asked.threads_per_core or threads, asked.tasks_per_core * per_task or threads, threads)
    if job.request.whole:
        return CoreWish(used)
    levels = str(live.asked.get("distribution") or "").split(":") if live is not None else []
    by_default = "CR_CORE_DEFAULT_DIST_BLOCK" in str(cluster.spec.options.get("SelectTypeParameters", "")).upper()
    block = levels[1:2] == ["block"] or levels[:1] == ["plane"] or (by_default and len(levels) < 2)
    few = cluster.controller.state.rules.deals_cores_to_tasks and not asked.gres
    return CoreWish(used, per_task, asked.tasks_per_core, asked.tasks_per_socket, asked.tasks_per_node, block, few)
