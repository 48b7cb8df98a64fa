"""Core specialization of jobs: which cores of its nodes a job with --core-spec or --thread-spec leaves alone.

A node keeps some cores from jobs (CoreSpecCount, CPUSpecList). With AllowSpecResourcesUsage a job says how many it
wants to be kept from itself instead: the lowest of the node's own come first, then the last of each socket in turn, or
the first with spec_cores_first. Such a job has its nodes to itself, and is charged for what any job of whole nodes is.
Mirrors cons_helpers_mark_avail_cores (cons_helpers.c, 24.11); the same in 22.05 and 26.05.
"""

from __future__ import annotations

import numpy as np

from slurmsim.core.records.allocation import IntArray
from slurmsim.core.records.local_cores import special_cores
from slurmsim.core.records.node_table import NodeTable
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.node import NodeSpec
from slurmsim.records.request import THREAD_FLAG


def allows_core_spec(cluster: ClusterSpec) -> bool:
    """Return True if jobs may say how many cores are kept from them; select/linear forgets it."""
    return bool(cluster.option("AllowSpecResourcesUsage")) and cluster.option("SelectType") != "select/linear"


def cores_left(spec: NodeSpec, wanted: int, *, first: bool) -> int:
    """Return the cores of a node that a job keeping `wanted` from itself may use, as bits; 0 for none.

    Parameters
    ----------
    first
        spec_cores_first: further cores are taken from the front.
    """
    n_cores = spec.sockets * spec.cores_per_socket
    cores, own = (1 << n_cores) - 1, special_cores(spec)
    count = wanted & ~THREAD_FLAG
    if wanted & THREAD_FLAG and spec.cpus != n_cores:
        return cores & ~own  # threads are no cores: the node keeps its own
    if not wanted & THREAD_FLAG and count >= n_cores:
        return 0
    while count and own:
        lowest = own & -own
        cores, own, count = cores ^ lowest, own ^ lowest, count - 1
    for core in _in_turn(spec, first=first):
        if count and cores >> core & 1:
            cores, count = cores ^ 1 << core, count - 1
    return cores


def cpus_left(spec: NodeSpec, wanted: int, *, first: bool) -> int:
    """Return the CPUs of those cores; of threads kept, those that the node does not keep anyway are gone."""
    threads = max(1, spec.cpus // max(1, spec.sockets * spec.cores_per_socket))
    found = cores_left(spec, wanted, first=first).bit_count() * threads
    if wanted & THREAD_FLAG:
        kept = wanted & ~THREAD_FLAG
        return found if found + kept <= spec.cpus else max(0, found - kept)
    return found


def own_cpus(wanted: int | None, table: NodeTable) -> IntArray | None:
    """Return the CPUs of each node a job may use that keeps `wanted` from itself; None where it does not say."""
    first = table.keeps_first
    if wanted is None or first is None:
        return None
    alike: dict[tuple[object, ...], int] = {}
    found = []
    for spec in table.specs:
        kind = spec.cpus, spec.sockets, spec.cores_per_socket, spec.core_spec_count, spec.spec_cores
        if kind not in alike:
            alike[kind] = cpus_left(spec, wanted, first=first)
        found.append(alike[kind])
    return np.array(found, np.int64)


def _in_turn(spec: NodeSpec, *, first: bool) -> list[int]:
    """Return the cores in the order they are kept from a job: one of each socket after the other."""
    each = spec.cores_per_socket
    order = [socket * each + core for core in range(each) for socket in range(spec.sockets)]
    return order if first else order[::-1]
