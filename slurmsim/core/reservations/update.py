"""``scontrol update reservation``: what may be changed, and what Slurm refuses (reservation.c update_resv, 22.05)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slurmsim.bitmap import Bitmap, from_indices, lowest
from slurmsim.core.records.messages import UpdateReservation
from slurmsim.core.records.reservation import Reservation
from slurmsim.core.reservations import nodes as nodes_of
from slurmsim.errors import SubmitError
from slurmsim.model.reservation import NOT_MODELLED, ReservationSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmsim.core.records.job import Job
    from slurmsim.core.state.controller_state import ControllerState

CORES_FIXED: Final = "Core-based reservation can not be updated"
KEEPS_USERS: Final = "Reservation update rejected because of JobId="
STARTED: Final = "Reservation already started"
NOT_SUPPORTED: Final = "Requested operation not supported on this system"


def update(
    state: ControllerState, r: Reservation, fact: UpdateReservation, loser: Callable[[Reservation], Job | None]
) -> None:
    """Carry out an update. Raises SubmitError with Slurm's text, changing nothing.

    `loser` finds a job of a reservation that may not use it, where that forbids the update.
    """
    if r.cores is not None and (fact.nodes or fact.node_count is not None):
        raise SubmitError(CORES_FIXED)
    for flag in sorted(fact.set_flags & NOT_MODELLED):
        raise SubmitError(f"slurmsim: reservation flag {flag} is not modelled")
    flags = (r.flags | fact.set_flags) - fact.clear_flags
    if fact.set_flags & nodes_of.REPLACING and ("SPEC_NODES" in r.flags or r.cores is not None):
        raise SubmitError(NOT_SUPPORTED)
    if fact.nodes and flags & nodes_of.REPLACING:
        raise SubmitError(NOT_SUPPORTED)
    start, end = _times(state, r, fact)
    nodes, flags = _nodes(state, r, fact, flags)
    spec = ReservationSpec(r.name, start, end)
    if not flags & {"MAINT", "OVERLAP"} and nodes_of.overlapping(state, spec, flags, nodes, but=r):
        raise SubmitError(nodes_of.OVERLAPS)
    if "IGNORE_JOBS" not in flags and nodes_of.used_by_jobs(state, start, nodes, but=r):
        raise SubmitError(nodes_of.NODES_BUSY)
    users, accounts, licenses = _people_and_licenses(state, r, fact)
    qos, allowed = _kinds_of_jobs(r, fact)
    if not (users or accounts or qos or allowed):
        raise SubmitError(nodes_of.EMPTY)
    before = r.users, r.accounts
    r.users, r.accounts = users, accounts
    if (job := loser(r)) is not None:
        r.users, r.accounts = before
        raise SubmitError(f"{KEEPS_USERS}{job.id}")
    if fact.partition is not None:
        r.partition = state.cluster.by_name.get(fact.partition)
    elif state.rules.reserves_of_partition and fact.node_count is not None and nodes.bit_count() > r.nodes.bit_count():
        r.partition = r.partition or nodes_of.partition_for(state, allowed)
    r.start, r.end, r.nodes, r.flags, r.licenses = start, end, nodes, flags, licenses
    r.qos, r.allowed_partitions = qos, allowed
    r.purge_comp_s = r.purge_comp_s if fact.purge_comp_s is None else fact.purge_comp_s


def _nodes(
    state: ControllerState, r: Reservation, fact: UpdateReservation, flags: frozenset[str]
) -> tuple[Bitmap, frozenset[str]]:
    """Return the nodes after the update, and the flags that go with them. Raises SubmitError."""
    nodes = r.nodes
    if fact.nodes:
        flags |= {"SPEC_NODES"}
        if nodes_of.is_all(fact.nodes):
            flags |= {"ALL_NODES"}
            nodes = state.table.everything
        elif not all(map(state.table.has, fact.nodes)):
            raise SubmitError(nodes_of.BAD_NODE)
        else:
            flags -= {"ALL_NODES", "PART_NODES"}
            nodes = from_indices(sorted(state.table.index[name] for name in fact.nodes))
    if fact.node_count is not None:
        flags -= {"ALL_NODES", "PART_NODES"}
        nodes = _resized(state, r, flags, fact.node_count)
    return nodes, flags


def _kinds_of_jobs(r: Reservation, fact: UpdateReservation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the QOS and partitions of its jobs after the update."""
    qos = r.qos if fact.qos is None else fact.qos
    return qos, r.allowed_partitions if fact.allowed_partitions is None else fact.allowed_partitions


def _people_and_licenses(
    state: ControllerState, r: Reservation, fact: UpdateReservation
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, int], ...]]:
    """Return users, accounts and licenses after the update. Raises SubmitError."""
    users = r.users if fact.users is None else fact.users
    accounts = r.accounts if fact.accounts is None else fact.accounts
    licenses = r.licenses if fact.licenses is None else fact.licenses
    nodes_of.check_licenses(state, licenses)
    return users, accounts, licenses


def _times(state: ControllerState, r: Reservation, fact: UpdateReservation) -> tuple[int, int]:
    start, end = r.start, r.end
    if fact.start is not None:
        if r.start <= state.now:
            raise SubmitError(STARTED)
        if fact.start < state.now - nodes_of.MAX_PAST_S:
            raise SubmitError(nodes_of.BAD_TIME)
        start, end = fact.start, fact.start + r.end - r.start
    if fact.end is not None:
        if fact.end < state.now - nodes_of.MAX_PAST_S:
            raise SubmitError(nodes_of.BAD_TIME)
        end = fact.end
    if fact.duration_s is not None:
        end = max(start + fact.duration_s, state.now)
    if start >= end:
        raise SubmitError(nodes_of.BAD_TIME)
    return start, end


def _resized(state: ControllerState, r: Reservation, flags: frozenset[str], count: int) -> int:
    """Fewer nodes: idle ones go first, from the beginning of the table; more: chosen as for a new one."""
    have = r.nodes.bit_count()
    if count <= have:
        idle = r.nodes & state.table.idle
        left = r.nodes & ~lowest(idle, min(have - count, idle.bit_count()))
        return lowest(left, count)
    partition = r.partition or nodes_of.partition_for(state, r.allowed_partitions)
    base = (partition.mask if partition is not None else state.table.everything) & ~r.nodes
    more = nodes_of.count_nodes(state, ReservationSpec(r.name, r.start, r.end), flags, base, count - have)
    if more.bit_count() < count - have:
        raise SubmitError(nodes_of.NODES_BUSY)
    return r.nodes | more
