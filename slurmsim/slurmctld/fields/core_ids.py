"""Which CPUs of a node a running job has, for ``show job -d``.

The scheduler counts CPUs; the numbers are given out here when a client first looks: the lowest free cores, or those of
one socket after the other for a job with tasks distributed over sockets, as slurmctld does by default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.core.records.job import Job
from slurmsim.core.records.reservation import Reservation
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.live_job import task_ranges
from slurmsim.slurmctld.fields.node_fields import spec

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster


def cpu_ids(core: Job, node: int, cluster: LiveCluster) -> str:
    """Numbers of the CPUs of one node, ``0-1,4``."""
    running = [entry[2] for entry in cluster.controller.state.running] + [
        e[2] for e in cluster.controller.state.suspended
    ]
    alive = {(job.id, job.restarts) for job in running}
    given = cluster.given_cpus
    for key in [key for key in given if key[0] not in alive]:
        del given[key]
    _give_out(running, node, cluster)
    return task_ranges(given.get(((core.id, core.restarts), node), ()))


def _give_out(running: list[Job], node: int, cluster: LiveCluster) -> None:
    given = cluster.given_cpus
    for job in sorted(running, key=lambda job: (job.start_time or 0, job.id)):
        other = ((job.id, job.restarts), node)
        if other not in given and job.nodes >> node & 1:
            taken = {cpu for (_, at), cpus in given.items() if at == node for cpu in cpus}
            given[other] = _choose(job, node, taken, cluster)


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
    for node, n_cpus in (r.cores or {}).items():
        machine = spec(node, cluster)
        # cores of jobs that no client has looked at have no numbers yet, and would seem free
        _give_out(running, node, cluster)
        kept = {core for cores in others for core in cores.get(str(node), ())}
        n_cores = n_cpus // machine.threads_per_core
        for jobs in (now, staying) if cluster.controller.state.rules.reserves_idle_first else (staying,):
            theirs = set() if "IGNORE_JOBS" in r.flags else _cores_of(jobs, node, machine.threads_per_core, cluster)
            free = [core for core in range(machine.sockets * machine.cores_per_socket) if core not in kept | theirs]
            if len(free) >= n_cores:
                break
        each = machine.cores_per_socket
        sockets = [[core for core in free if core // each == socket] for socket in range(machine.sockets)]
        found[str(node)] = sorted(_dealt(sockets, 1, n_cores, whole=False) if dealt else free[:n_cores])
    return found


def _cores_of(jobs: set[tuple[int, int]], node: int, threads: int, cluster: LiveCluster) -> set[int]:
    """Return the cores of `node` some of `jobs` has, which are named by id and run."""
    given = cluster.given_cpus.items()
    return {cpu // threads for (job, at), cpus in given if at == node and job in jobs for cpu in cpus}


def _choose(job: Job, node: int, taken: set[int], cluster: LiveCluster) -> tuple[int, ...]:
    alloc = job.alloc
    assert alloc is not None
    at = alloc.indices().tolist().index(node)
    count = alloc.cpus if isinstance(alloc.cpus, int) else int(alloc.cpus[at])
    machine = spec(node, cluster)
    threads = machine.threads_per_core
    per_socket = machine.cores_per_socket * threads
    sockets = [
        [cpu for cpu in range(first, first + per_socket) if cpu not in taken]
        for first in range(0, per_socket * machine.sockets, per_socket)
    ]
    live = cluster.jobs.get(job.id)
    task = threads * max(job.sub.request.cpus_per_task // threads, 1)
    apart = live is not None and bool(live.asked.get("ntasks_per_node"))
    if since(cluster.release, "cpus_by_socket") and (apart or task > threads):
        chosen = [cpu for socket in sockets for cpu in socket]
    else:
        chosen = _dealt(sockets, task, count, whole=True)
        chosen += _dealt(sockets, threads, count - len(chosen), whole=False)
    return tuple(sorted(chosen[:count]))


def _dealt(sockets: list[list[int]], size: int, count: int, *, whole: bool) -> list[int]:
    """CPUs taken in rounds over the sockets, `size` at a time; `whole`: of a socket that has as many only."""
    chosen: list[int] = []
    while len(chosen) < count:
        before = len(chosen)
        for socket in sockets:
            if len(chosen) < count and (len(socket) >= size or not whole):
                chosen += socket[:size]
                del socket[:size]
        if len(chosen) == before:
            break
    return chosen
