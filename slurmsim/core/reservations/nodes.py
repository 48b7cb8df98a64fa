"""Which nodes, or cores of nodes, a new reservation gets, and what Slurm refuses (reservation.c create_resv, 22.05)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from slurmsim.bitmap import Bitmap, from_bools, from_indices, lowest, to_indices
from slurmsim.core.placement.best_fit import Ask
from slurmsim.core.placement.best_fit import choose as best_fit
from slurmsim.core.placement.compiled_request import NOT_AVAILABLE
from slurmsim.core.placement.constraints import parse_constraint
from slurmsim.core.placement.node_release_times import NodeReleaseTimes
from slurmsim.core.records.allocation import IntArray
from slurmsim.core.records.node_columns import grain_cpus
from slurmsim.core.records.reservation import Reservation, collide
from slurmsim.errors import SubmitError
from slurmsim.model.reservation import NOT_MODELLED, ReservationSpec
from slurmsim.tres import resource_of

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.partition import Partition
    from slurmsim.core.state.controller_state import ControllerState

OVERLAPS: Final = "Requested reservation overlaps with another reservation"
REPLACING: Final = frozenset({"REPLACE", "REPLACE_DOWN"})
NODES_BUSY: Final = "Requested nodes are busy"
INVALID: Final = "Requested reservation is invalid"
BAD_TIME: Final = "Invalid time specified"
BAD_NODE: Final = "Invalid node name specified"
BAD_PARTITION: Final = "Invalid partition name specified"
BAD_CPUS: Final = "CPU count specification invalid"
BAD_CORES: Final = "Core count for reservation node list is not consistent!"
EMPTY: Final = "Reservation request lacks users, groups or accounts"
BAD_LICENSES: Final = "Invalid license specification"
NO_DEFAULT: Final = "No partition specified or system default partition"
MAX_PAST_S: Final = 60  # a start or end further in the past is refused

Chosen = tuple[Bitmap, dict[int, int] | None, frozenset[str], "Partition | None"]


def choose(state: ControllerState, spec: ReservationSpec, *, restored: bool = False) -> Chosen:
    """Nodes, cores (None: whole nodes), final flags and partition for `spec`.

    One that is `restored` may have begun, and has nodes Slurm may replace unless SPEC_NODES says otherwise.

    Raises
    ------
    SubmitError
        With Slurm's text, in Slurm's order of checks; nothing has changed then.
    """
    flags = set(spec.flags)
    _check(state, spec, flags, restored)
    partition = state.cluster.by_name[spec.partition] if spec.partition else None
    if spec.nodes:
        if not restored:
            flags.add("SPEC_NODES")
        nodes = _named(state, spec, flags, partition)
        if not flags & {"MAINT", "OVERLAP"} and overlapping(state, spec, frozenset(flags), nodes):
            raise SubmitError(OVERLAPS)
        # before running jobs are looked at: with core counts, the cores that they leave may be enough
        if spec.core_counts:
            if len(spec.core_counts) < nodes.bit_count():
                raise SubmitError(BAD_CORES)
            return *_cores(state, spec, flags, nodes), frozenset(flags), partition
        if "IGNORE_JOBS" not in flags and used_by_jobs(state, spec.start, nodes):
            raise SubmitError(NODES_BUSY)
        return nodes, None, frozenset(flags), partition
    if "ANY_NODES" in flags and not any(spec.node_counts) and not spec.core_counts:
        if not spec.licenses:
            raise SubmitError(INVALID)
        return 0, None, frozenset(flags), partition
    flags.discard("PART_NODES")
    if not any(spec.node_counts) and not spec.core_counts:
        raise SubmitError(NODES_BUSY if spec.node_counts and state.rules.reserves_as_for_jobs else BAD_NODE)
    if partition is None:
        partition = partition_for(state, spec.allowed_partitions)
        if partition is None:
            raise SubmitError(NO_DEFAULT)
    base = partition.mask
    if spec.features:
        base &= _with_features(state, spec.features)
        if _pools(state, spec, frozenset(flags), base)[-1].bit_count() < sum(spec.node_counts):
            raise SubmitError(NOT_AVAILABLE)
    if spec.core_counts:
        return *_cores(state, spec, flags, base), frozenset(flags), partition
    return count_nodes(state, spec, frozenset(flags), base), None, frozenset(flags), partition


def _check(state: ControllerState, spec: ReservationSpec, flags: set[str], restored: bool) -> None:
    """Raise SubmitError for errors that show without choosing nodes."""
    for flag in sorted(flags & NOT_MODELLED):
        raise SubmitError(f"slurmsim: reservation flag {flag} is not modelled")
    past = not restored and min(spec.start, spec.end) < state.now - MAX_PAST_S
    if past or spec.end <= spec.start:
        raise SubmitError(BAD_TIME)
    if flags & REPLACING:
        if spec.nodes and not restored:
            raise SubmitError(BAD_NODE)
        if spec.core_counts:
            raise SubmitError(BAD_CPUS)
    if spec.partition and spec.partition not in state.cluster.by_name:
        raise SubmitError(BAD_PARTITION)
    if "PART_NODES" in flags and not spec.partition:
        raise SubmitError(BAD_PARTITION)
    if "PART_NODES" in flags and not is_all(spec.nodes):
        raise SubmitError(BAD_NODE)
    if not (spec.users or spec.accounts or spec.qos or spec.allowed_partitions):
        raise SubmitError(EMPTY)
    check_licenses(state, spec.licenses)
    if spec.core_counts and state.event_driven:
        raise SubmitError(f"slurmsim: reservations of cores are not modelled under policy {state.policy.name}")
    if spec.core_counts and state.table.unit == "node":
        raise SubmitError(BAD_CPUS)


def check_licenses(state: ControllerState, asked: tuple[tuple[str, int], ...]) -> None:
    """Raise SubmitError unless there are as many such licenses; those of a layer are named with its nodes."""
    layers = state.cluster.layers
    for name, count in asked:
        if layers is not None and resource_of(name) in layers.specs:
            lacks = layers.lacks(name, count)
        else:
            lacks = count > state.license_totals.get(name, -1)
        if lacks:
            raise SubmitError(BAD_LICENSES)
    if layers is not None and layers.several_per_node(asked):
        raise SubmitError(BAD_LICENSES)


def partition_for(state: ControllerState, allowed: tuple[str, ...]) -> Partition | None:
    """Return where nodes of a reservation without a partition are: in the first that its list names, or the default."""
    return state.cluster.by_name.get(allowed[0].removeprefix("-")) if allowed else state.cluster.default


def is_all(nodes: tuple[str, ...]) -> bool:
    """Return True if a node list is the word ALL."""
    return len(nodes) == 1 and nodes[0].upper() == "ALL"


def _named(state: ControllerState, spec: ReservationSpec, flags: set[str], partition: Partition | None) -> Bitmap:
    if is_all(spec.nodes):
        if partition is not None and "PART_NODES" in flags:
            return partition.mask
        flags.discard("PART_NODES")
        flags.add("ALL_NODES")
        return state.table.everything
    flags.discard("PART_NODES")
    if not all(map(state.table.has, spec.nodes)):
        raise SubmitError(BAD_NODE)
    return from_indices(sorted(state.table.index[name] for name in spec.nodes))


def _with_features(state: ControllerState, features: str) -> Bitmap:
    asked = parse_constraint(features, state.table.known_features())
    if asked.kinds or asked.counts:
        raise SubmitError(f"slurmsim: counts and [] are not modelled in a reservation's features: {features}")
    return from_bools(np.array([asked.test(active) for active in state.table.active_features()], np.bool_))


def overlapping(
    state: ControllerState, spec: ReservationSpec, flags: frozenset[str], nodes: Bitmap, but: Reservation | None = None
) -> bool:
    """Return True if another reservation of whole nodes, without MAINT or OVERLAP, has some of `nodes` then."""
    return any(
        other is not but and other.full and not other.flags & {"MAINT", "OVERLAP"}
        and other.nodes & nodes and collide(spec, flags, other, state.rules, state.now)
        for other in state.reserved.all
    )  # fmt: skip


def used_by_jobs(state: ControllerState, start: int, nodes: Bitmap, but: Reservation | None = None) -> bool:
    """Return True if a running job may still be on some of `nodes` at `start`."""
    return any(
        job.nodes & nodes and end > start and (but is None or job.reservation is not but)
        for end, _, job in state.running
    )


def _staying(state: ControllerState, start: int) -> Iterator[Job]:
    """Return running jobs that may last until `start` or longer, in order of creation."""
    return iter(sorted((job for end, _, job in state.running if end >= start), key=lambda job: job.order))


def count_nodes(
    state: ControllerState, spec: ReservationSpec, flags: frozenset[str], base: Bitmap, wanted: int | None = None
) -> Bitmap:
    """Return the first nodes in table order that are up, unreserved and unused then; IGNORE_JOBS allows used ones.

    Nodes of reservations that let others overlap come next. MAINT and OVERLAP may fall back on all reserved nodes,
    MAINT on unavailable ones. Counts are served largest first. As slurmctld does, fewer nodes than wanted are
    accepted when at least one is found, but not where they are looked for as for a job. `wanted` more nodes for one
    that there is need not be idle to be preferred: it is enough that some of their CPUs are.
    """
    pools = _pools(state, spec, flags, base)
    picked = 0
    for count in [wanted] if wanted is not None else sorted(spec.node_counts, reverse=True):
        missing = count
        for pool in pools:
            found = _pick(state, spec, flags, pool & ~picked, missing, grows=wanted is not None)
            picked |= found
            missing -= found.bit_count()
            if missing <= 0:
                break
    if not picked:
        raise SubmitError(NODES_BUSY)
    return picked


def _pools(state: ControllerState, spec: ReservationSpec, flags: frozenset[str], base: Bitmap) -> list[Bitmap]:
    """Of `base`, what may be picked from: one pool after the other, each with all of the one before."""
    available = base & state.table.everything & ~state.unusable
    unreserved = shared = available
    for other in state.reserved.all:
        if other.full and other.nodes and collide(spec, flags, other, state.rules, state.now):
            unreserved &= ~other.nodes
            shared &= -1 if "OVERLAP" in other.flags else ~other.nodes
    pools = [unreserved] if shared == unreserved else [unreserved, shared]
    if flags & {"MAINT", "OVERLAP"}:
        pools.append(available)
    if "MAINT" in flags:
        pools.append(base)
    return pools


def _pick(
    state: ControllerState, spec: ReservationSpec, flags: frozenset[str], pool: Bitmap, count: int, *, grows: bool
) -> Bitmap:
    if state.rules.reserves_as_for_jobs and count > pool.bit_count():
        return 0
    count = min(count, pool.bit_count())
    if not count:
        return 0
    if count == pool.bit_count() and "IGNORE_JOBS" in flags:
        return pool
    jobs = list(_staying(state, spec.start))
    free = pool
    for job in jobs:
        free &= ~job.nodes
    table = state.table
    idle = free & (table.idle | table.mixed & table.with_free_cpus() if grows else table.idle)
    if state.rules.reserves_idle_first:
        if idle.bit_count() >= count:
            return _best(state, idle, count)
        soon = _soonest_free(state, free, count)
        if soon:
            return _best(state, soon, count)
    if free.bit_count() >= count:
        return _best(state, free, count)
    if "IGNORE_JOBS" not in flags:
        return 0
    for job in jobs:
        free |= pool & job.nodes
        if free.bit_count() >= count:
            return _best(state, free, count)
    return 0


def _soonest_free(state: ControllerState, pool: Bitmap, count: int) -> Bitmap:
    """Which of `pool` have no job at the first moment of the future test with `count` of them; 0 if there is none."""
    running = list(state.running)
    releases = NodeReleaseTimes(running, state.table.idle)
    for gone in releases.in_batches(pool, state.selector.window_linear):
        free = pool & releases.free_after(gone)
        for _, _, job in running[gone:]:
            free &= ~job.nodes
        if free.bit_count() >= count:
            return free
    return 0


def _best(state: ControllerState, free: Bitmap, count: int) -> Bitmap:
    """Return `count` nodes out of `free`: the first ones, or those a job would get."""
    if not state.rules.reserves_as_for_jobs:
        return lowest(free, count)
    idx = to_indices(free)
    return from_indices(sorted(_as_for_a_job(state, idx.tolist(), state.table.cpus[idx].tolist(), count, count)))


def _as_for_a_job(
    state: ControllerState, nodes: list[int], cpus: list[int], n_nodes: int, n_cpus: int
) -> dict[int, int]:
    """CPUs by node of a job of so many nodes (0: any number of them) and CPUs; empty if there are too few."""
    least = max(n_nodes, 1)
    ask = Ask(
        min_nodes=least, target_nodes=least, max_nodes=n_nodes or len(nodes), min_cpus=n_cpus, exclusive=False,
        pn_min_cpus=1, cpus_per_core=1, contiguous=False, node_floor=1, strict_one=False,
    )  # fmt: skip
    weights = [int(state.table.weight[node]) for node in nodes]
    if n_nodes == 1 and state.rules.first_node_serves:
        fitting = [(weight, node) for weight, node, room in zip(weights, nodes, cpus, strict=True) if room >= n_cpus]
        return {min(fitting)[1]: n_cpus} if fitting else {}
    return best_fit(ask, nodes, cpus, weights, set()) or {}


def replaceable(state: ControllerState, r: Reservation) -> bool:
    """Return True if Slurm looks for other nodes when some cannot be used."""
    if "MAINT" in r.flags and state.rules.maintenance_keeps_nodes:
        return False
    return r.cores is None and bool(r.nodes) and r.flags.isdisjoint({"SPEC_NODES", "STATIC"})


def lost(state: ControllerState, r: Reservation) -> Bitmap:
    """Return its nodes that others should take the place of: unusable ones, with REPLACE those in use as well."""
    if not replaceable(state, r):
        return 0
    gone = r.nodes & state.unusable
    return gone | r.nodes & ~state.table.idle if "REPLACE" in r.flags else gone


def replacements(state: ControllerState, r: Reservation, lost: Bitmap) -> Bitmap:
    """Other nodes for `lost` ones of `r`, as many as there are (_validate_node_choice); for nodes in use idle ones."""
    partition = r.partition or partition_for(state, r.allowed_partitions)
    base = (partition.mask if partition is not None else state.table.everything) & ~r.nodes
    spec, count, in_use = ReservationSpec(r.name, r.start, r.end), lost.bit_count(), "REPLACE" in r.flags
    while count:
        try:
            found = count_nodes(state, spec, r.flags, base, count)
        except SubmitError:
            count = count // 2 if in_use else 0
        else:
            return found & state.table.idle if in_use else found
    return 0


def _cores(
    state: ControllerState, spec: ReservationSpec, flags: set[str], base: Bitmap
) -> tuple[Bitmap, dict[int, int]]:
    """CPUs on nodes of `base` for core counts: in table order (_sequential_pick), or as a job would get them."""
    table = state.table
    pool = base if "MAINT" in flags else base & ~state.unusable
    free = table.cpus.copy()
    if table.cores is not None:
        pool, free, now = _shared_cores(state, spec, frozenset(flags), pool)
        return _chosen_cores(state, spec, pool, free, now)
    for other in state.reserved.all:
        if not collide(spec, frozenset(flags), other, state.rules, state.now):
            continue
        if other.cores is None:
            pool &= ~other.nodes
        else:
            for node, cpus in other.cores.items():
                free[node] -= cpus
    now = free.copy()
    if "IGNORE_JOBS" not in flags:
        for job in _staying(state, spec.start):
            assert job.alloc is not None
            free[job.alloc.indices()] -= job.alloc.cpus
        for _, _, job in state.running:
            assert job.alloc is not None
            now[job.alloc.indices()] -= job.alloc.cpus
    return _chosen_cores(state, spec, pool, free, now)


def taken_cores(
    state: ControllerState, spec: ReservationSpec, flags: frozenset[str], jobs: Iterable[Job]
) -> dict[int, int]:
    """Where cores are shared: those of each node that other reservations or some of `jobs` have then, as bits."""
    shared = state.table.cores
    assert shared is not None
    found: dict[int, int] = {}
    has = [other.core_bits for other in state.reserved.all if collide(spec, flags, other, state.rules, state.now)]
    if "IGNORE_JOBS" not in flags:
        has += [shared.taken_by(job.alloc) for job in jobs if job.alloc is not None]
    for cores in has:
        for node, bits in cores.items():
            found[node] = found.get(node, 0) | bits
    return found


def _shared_cores(
    state: ControllerState, spec: ReservationSpec, flags: frozenset[str], pool: Bitmap
) -> tuple[Bitmap, IntArray, IntArray]:
    """Where cores are shared: which nodes are left of `pool`, and CPUs no job has when `spec` begins, and now."""
    table = state.table
    for other in state.reserved.all:
        if other.full and collide(spec, flags, other, state.rules, state.now):
            pool &= ~other.nodes
    free = []
    for jobs in (_staying(state, spec.start), (job for _, _, job in state.running)):
        left = table.cpus.copy()
        for node, bits in taken_cores(state, spec, flags, jobs).items():
            left[node] -= bits.bit_count() * grain_cpus(table.specs[node], "core")
        free.append(left)
    return pool, free[0], free[1]


def core_bits(
    state: ControllerState, spec: ReservationSpec, flags: frozenset[str], chosen: dict[int, int]
) -> dict[int, int]:
    """Return the cores of the CPUs `chosen` on each node, if cores are shared: the lowest cores free then."""
    shared = state.table.cores
    if shared is None:
        return {}
    taken = taken_cores(state, spec, flags, _staying(state, spec.start))
    found = {}
    for node, cpus in chosen.items():
        free = ((1 << shared.size[node]) - 1) & ~taken.get(node, 0)
        bits = 0
        for _ in range(cpus // grain_cpus(state.table.specs[node], "core")):
            bits |= free & -free
            free &= free - 1
        found[node] = bits
    return found


def _chosen_cores(
    state: ControllerState, spec: ReservationSpec, pool: Bitmap, free: IntArray, now: IntArray
) -> tuple[Bitmap, dict[int, int]]:
    """Return nodes and CPUs for core counts out of those `free` then; newer releases take those free `now`."""
    table, rules = state.table, state.rules
    if rules.reserves_as_for_jobs and not spec.nodes and len(spec.core_counts) == 1:
        alike = _cores_as_for_a_job(state, spec, pool, now) if rules.reserves_idle_first else {}
        alike = alike or _cores_as_for_a_job(state, spec, pool, free)
        if not alike:
            raise SubmitError(NODES_BUSY)
        return from_indices(sorted(alike)), alike
    counts = list(spec.core_counts)
    n_nodes = sum(spec.node_counts)
    chosen: dict[int, int] = {}
    if len(counts) == 1 and not n_nodes and not spec.nodes:  # so many in all, wherever they are
        left = counts[0]
        for node in to_indices(pool).tolist():
            core = grain_cpus(table.specs[node], "core")
            give = min(left, int(free[node]) // core)
            if give > 0:
                chosen[node] = give * core
                left -= give
        if left:
            raise SubmitError(NODES_BUSY)
        return from_indices(sorted(chosen)), chosen
    if len(counts) == 1 and n_nodes > 1:
        each = max(counts[0] // n_nodes, 1)
        counts = [each] * n_nodes
        counts[0] += max(sum(spec.core_counts) - each * n_nodes, 0)
    for node in to_indices(pool).tolist():
        core = grain_cpus(table.specs[node], "core")
        if len(chosen) < len(counts) and int(free[node]) // core >= counts[len(chosen)]:
            chosen[node] = counts[len(chosen)] * core
    if len(chosen) < len(counts):
        raise SubmitError(NODES_BUSY)
    return from_indices(sorted(chosen)), chosen


def _cores_as_for_a_job(state: ControllerState, spec: ReservationSpec, pool: Bitmap, free: IntArray) -> dict[int, int]:
    """CPUs by node out of those `free`, whole cores."""
    threads = {node: grain_cpus(state.table.specs[node], "core") for node in to_indices(pool).tolist()}
    room = {node: int(free[node]) // each for node, each in threads.items() if free[node] >= each}
    wanted, n_nodes = spec.core_counts[0], sum(spec.node_counts)
    if state.rules.reserves_core_a_node and not n_nodes:
        found = _a_core_a_node(state, room, wanted)
    else:
        found = _as_for_a_job(state, list(room), list(room.values()), n_nodes, wanted)
    return {node: cores * threads[node] for node, cores in sorted(found.items())}


def _a_core_a_node(state: ControllerState, room: dict[int, int], wanted: int) -> dict[int, int]:
    """One core on each of the lightest nodes; what is left goes to the first of them."""
    if sum(room.values()) < wanted:
        return {}
    left = max(wanted - len(room), 0)
    found = {}
    for node in sorted(room, key=lambda node: (int(state.table.weight[node]), node))[:wanted]:
        more = min(left, room[node] - 1)
        found[node] = 1 + more
        left -= more
    return found
