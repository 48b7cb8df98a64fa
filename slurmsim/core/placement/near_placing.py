"""Placement on nodes where devices are beside some sockets only: offers of nodes, then cores and devices of a job."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slurmsim.core.placement.compiled_request import CompiledRequest, GuessedRequest
from slurmsim.core.placement.core_choice import CoreWish, chosen_cores
from slurmsim.core.placement.free_state import FreeState
from slurmsim.core.placement.gres import NEAR
from slurmsim.core.placement.near import NO_SHARES, Binding, Offer, Shares, offer, wants_of
from slurmsim.core.placement.near_devices import Chosen, choose_devices, tasks_of_sockets
from slurmsim.core.placement.near_shares import choose_shares
from slurmsim.core.records.allocation import Hold, IntArray
from slurmsim.core.records.local_cores import NodeLayout, Unheld, first_bits, layout_of
from slurmsim.core.records.node_table import NodeTable
from slurmsim.core.records.release_rules import ReleaseRules

Offers = dict[int, Offer]
Given = tuple[tuple[int, IntArray], ...]
Held = tuple[IntArray, Given, dict[int, Hold] | None]
"""CPUs and GRES of the nodes of a job, and what it has of each where it matters which."""


def is_bound(request: CompiledRequest, table: NodeTable) -> bool:
    """Return True if `request` gets no devices but those beside its cores."""
    asked = request.asked
    return asked.enforce_binding or (table.binds_gres and not asked.disable_binding)


def is_near(request: CompiledRequest, free: FreeState, table: NodeTable) -> bool:
    """Return True if it matters which cores and devices `request` has of a share of a node.

    That is so where devices are beside some sockets only. It is so anywhere for jobs that are bound to the cores beside
    them, or ask for GPUs of each socket with no CPUs for each.
    """
    if request.whole or request.all_cores:
        return False
    if free.unheld is None:
        by_socket = not request.asked.cpus_per_gpu and any(one.scope == "socket" for one in request.asked.gres)
        return bool(request.gres) and table.unit != "node" and (by_socket or is_bound(request, table))
    return bool(request.candidates & free.unheld.local.nodes)


class _Counted:
    """What is free where only numbers are known: cores are taken socket after socket, devices are beside all of them.

    Jobs that are bound to the cores beside their devices want it on any node.
    """

    def __init__(self, free: FreeState, table: NodeTable) -> None:
        self.free, self.table = free, table

    def layout(self, node: int) -> NodeLayout:
        return layout_of(self.table.specs[node], self.table.gres_kinds)

    def cores(self, node: int) -> int:
        layout = self.layout(node)
        count = int(self.free.free_cpus[node]) // layout.threads
        return layout.cores & ~first_bits(layout.cores, layout.cores.bit_count() - count)

    def devices(self, node: int) -> int:
        layout, taken = self.layout(node), 0
        for kind in range(len(self.table.gres_kinds)):
            bits = layout.of_kind(kind)
            taken |= first_bits(bits, bits.bit_count() - int(self.free.free_gres[kind, node]))
        return taken


def _state_of(free: FreeState, table: NodeTable) -> Unheld | _Counted:
    return _Counted(free, table) if free.unheld is None else free.unheld


def first_try(request: CompiledRequest, rules: ReleaseRules) -> GuessedRequest | None:
    """Return the request for the first attempt, which takes cores beside the devices only; None: it is the first."""
    if isinstance(request, GuessedRequest):
        return None
    return request.guess(rules) or GuessedRequest(request, request.gres)


def binding_of(request: CompiledRequest, table: NodeTable, rules: ReleaseRules) -> Binding:
    """Return what of `request` decides its cores and devices."""
    asked = request.asked
    names = [table.gres_kinds[demand.kinds[0]][0] for demand in request.gres]
    least, most = _tasks(request)
    if rules.binds_every_socket and request.n_tasks:
        most = request.n_tasks if most is None else min(most, request.n_tasks)
    sockets = max(asked.sockets_per_node, 1)
    return Binding(
        wants_of(request.sure_gres, request.gres, names, sockets, asked.cpus_per_task), request.cpus_per_task,
        is_bound(request, table), isinstance(request, GuessedRequest), least, most, request.tasks_per_node,
        asked.tasks_per_socket, asked.tasks_per_core, sockets, asked.sockets_per_node > 1, _few_sockets(request, rules),
        request.min_nodes - 1, request.least_cpus, asked.overcommit, table.unit == "socket",
        old=not rules.gpu_cpus_by_node, by_first_socket=not rules.binds_every_socket, sharing=table.sharing,
        one_task=asked.one_task_per_sharing or (table.sharing.one_task and not asked.tasks_share),
    )  # fmt: skip


def _tasks(request: CompiledRequest) -> tuple[int, int | None]:
    """Return the fewest tasks a node gets, and the most (_select_cores, eval_nodes_select_cores)."""
    asked = request.asked
    if request.tasks_per_node:
        return request.tasks_per_node, request.tasks_per_node
    if asked.tasks_per_socket:
        return asked.tasks_per_socket, None
    if asked.tasks_per_core:
        return asked.tasks_per_core, None
    if asked.tasks_per_gpu:
        if request.min_nodes == asked.max_nodes:
            return (request.n_tasks // request.min_nodes,) * 2
        return asked.tasks_per_gpu, request.n_tasks
    most = request.most_tasks
    return (most or 1) if request.strict_one else 1, most


def _few_sockets(request: CompiledRequest, rules: ReleaseRules) -> int:
    """Return how many sockets of a node its CPUs need, 0 for any number (_socks_per_node)."""
    cpus = max(request.asked_cpus, request.n_tasks * request.cpus_per_task)
    brought = sum(d.cpus * d.count for d in request.sure_gres) if rules.gpu_cpus_by_node else 0
    if cpus // request.min_nodes <= 1 and brought <= 1:
        return 1
    each = request.asked.tasks_per_socket
    return -(-(request.n_tasks // request.min_nodes) // each) if each else 0


def offer_near(
    request: CompiledRequest, free: FreeState, table: NodeTable, idx: IntArray, usable: IntArray, cpus: IntArray,
    have: IntArray, near: IntArray, rules: ReleaseRules,
) -> Offers:  # fmt: skip
    """Set `cpus`, `have` and `near` of the nodes `idx` where it matters; return their offers.

    `usable`: free CPUs before GRES left some out. Nodes in the same state are judged once.
    """
    unheld = _state_of(free, table)
    binding = binding_of(request, table, rules)
    known: dict[tuple[object, ...], Offer | None] = {}
    found: Offers = {}
    for k, node in enumerate(idx.tolist()):
        layout = unheld.layout(node)
        if layout is None:
            continue
        cpus_here = int(usable[k])
        most = int(free.free_mem[node]) // request.mem_gpu if request.mem_gpu else None
        shares, cores, taken = _shares_of(unheld, layout, node), unheld.cores(node), unheld.devices(node)
        key = (layout, cores, taken, cpus_here, most, *map(tuple, (*shares.free.values(), *shares.used.values())))
        if key not in known:
            used = int(request.used_each(np.int64(layout.threads)))
            known[key] = offer(layout, cores, taken, cpus_here, used, binding, most, shares) if cpus_here else None
        made = known[key]
        if made is None:
            cpus[k] = 0
            continue
        found[node] = made
        cpus[k], near[k] = made.cpus, NEAR - min(made.near, NEAR)
        have[:, k] = made.have
    return found


def _shares_of(unheld: Unheld | _Counted, layout: NodeLayout, node: int) -> Shares:
    """Return the shares of the GPUs of a node, free and in use."""
    if not layout.shared or isinstance(unheld, _Counted):
        return NO_SHARES
    kinds = [kind for kind, _ in layout.shared]
    return Shares(
        {kind: unheld.shares(node, kind) for kind in kinds}, {kind: unheld.used_shares(node, kind) for kind in kinds},
        unheld.all_gone,
    )  # fmt: skip


def hold(
    request: CompiledRequest, free: FreeState, table: NodeTable, idx: IntArray, cpus: IntArray, taken: Sequence[int],
    offers: Offers, order: Sequence[int], rules: ReleaseRules,
) -> Held | None:  # fmt: skip
    """Return the CPUs of the nodes `idx`, the GRES and what is held, of a job with tasks for so many `cpus` of each.

    `taken`: CPUs it may have of each, beyond which 22.05 gives none for GPUs. `order`: the nodes as they were taken.
    None if too few devices are beside the cores; before 25.11 a job started with fewer than it asked for then.
    """
    unheld = _state_of(free, table)
    cpus = cpus.copy()
    cores: dict[int, int] = {}
    old = not rules.gpu_cpus_by_node
    tasks = _tasks_on(request, cpus)
    for k, node in enumerate(idx.tolist()):
        layout = unheld.layout(node)
        if layout is None:
            continue
        made = offers.get(node)
        if made is not None:
            most = made.cpus if not old else made.least if taken[k] == made.cpus else taken[k]
            cpus[k] = max(int(cpus[k]), min(made.least, most))
        allowed = unheld.cores(node) if made is None else made.cores
        cores[node] = _cores(request, layout, allowed, int(cpus[k]), rules)
        if table.unit == "core":
            cpus[k] = cores[node].bit_count() * layout.threads
    if not request.gres:
        return cpus, (), {node: Hold(bits) for node, bits in cores.items()}
    chosen = [
        _chosen(
            request, unheld.layout(node), table, free, node, offers.get(node), cores.get(node), int(cpus[k]), tasks[k]
        )
        for k, node in enumerate(idx.tolist())
    ]
    place = {node: k for k, node in enumerate(idx.tolist())}
    binding = binding_of(request, table, rules)
    in_order = [place[node] for node in order]
    if not choose_devices(chosen, in_order, binding.wants, binding) and rules.binds_every_socket:
        return None
    if not _share(unheld, idx, chosen, binding):
        return None
    return cpus, *_granted(free, table, idx, chosen, cores, unheld)


def _share(unheld: Unheld | _Counted, idx: IntArray, chosen: list[Chosen], binding: Binding) -> bool:
    """Choose shares of GPUs for the wants of shares; False if a node has too few."""
    for want in (want for want in binding.wants if want.shared_kind >= 0):
        for node, found in zip(idx.tolist(), chosen, strict=True):
            layout = unheld.layout(node)
            if layout is None:
                return False
            tasks = tasks_of_sockets(found, binding)
            given = choose_shares(layout, want, _shares_of(unheld, layout, node), binding, found.cores, tasks)
            if given is None:
                return False
            found.shares.append((want.shared_kind, given))
    return True


def _tasks_on(request: CompiledRequest, cpus: IntArray) -> list[int]:
    """Return the tasks of each node."""
    left, found = request.n_tasks or None, []
    for count in (cpus // request.cpus_per_task).tolist():
        tasks = max(1, count) if left is None else max(min(count, left), 1)
        left = None if left is None else left - tasks
        found.append(tasks)
    return found


def _cores(request: CompiledRequest, layout: NodeLayout, allowed: int, cpus: int, rules: ReleaseRules) -> int:
    """Return the cores of one node that the job gets of those `allowed`, as bits."""
    asked, threads = request.asked, layout.threads
    used = min(asked.threads_per_core or threads, asked.tasks_per_core * asked.cpus_per_task or threads, threads)
    wish = CoreWish(
        used, asked.cpus_per_task, asked.tasks_per_core, asked.tasks_per_socket, asked.tasks_per_node,
        asked.block_cores, rules.deals_cores_to_tasks and not asked.gres,
    )  # fmt: skip
    sockets = [
        [core for core in range(first, first + layout.each) if allowed >> core & 1]
        for first in range(0, layout.each * layout.sockets, layout.each)
    ]
    return sum(1 << core for core in chosen_cores(sockets, -(-cpus // threads), wish))


def _chosen(
    request: CompiledRequest, layout: NodeLayout | None, table: NodeTable, free: FreeState, node: int,
    made: Offer | None, cores: int | None, cpus: int, tasks: int,
) -> Chosen:  # fmt: skip
    """Return a node as devices are chosen on it; where it does not matter which, all are beside its one socket."""
    threads = max(1, int(table.grain[node]))
    if made is None or cores is None or layout is None:
        bits = [sum(_pretended(free, node, kind) for kind in demand.kinds) for demand in request.gres]
        count = max(1, cpus // threads)
        have = [mine.bit_count() for mine in bits]
        return Chosen([[0, mine] for mine in bits], have, (1 << count) - 1, 1, count, threads, tasks, cpus)
    used = int(request.used_each(np.int64(layout.threads)))
    return Chosen(made.by_socket, made.have, cores, layout.sockets, layout.each, used, tasks, cpus)


def _pretended(free: FreeState, node: int, kind: int) -> int:
    """Return bits for the free devices of `kind` on a node where only their number matters."""
    first = int(free.free_gres[:kind, node].sum())
    return ((1 << int(free.free_gres[kind, node])) - 1) << first


def _granted(
    free: FreeState, table: NodeTable, idx: IntArray, chosen: list[Chosen], cores: dict[int, int],
    unheld: Unheld | _Counted,
) -> tuple[Given, dict[int, Hold] | None]:  # fmt: skip
    """Return how many of each kind the nodes give, and what is held where it is kept."""
    counts: dict[int, IntArray] = {}
    held: dict[int, Hold] = {}
    for k, (node, found) in enumerate(zip(idx.tolist(), chosen, strict=True)):
        layout, mine = unheld.layout(node), 0
        for bits in found.given:
            mine |= bits
        devices = []
        for kind in range(len(table.gres_kinds)):
            of_kind = _pretended(free, node, kind) if layout is None else layout.of_kind(kind)
            if mine & of_kind:
                counts.setdefault(kind, np.zeros(len(idx), np.int64))[k] = (mine & of_kind).bit_count()
                devices.append((kind, mine & of_kind))
        for kind, given in found.shares:
            counts.setdefault(kind, np.zeros(len(idx), np.int64))[k] = sum(given)
        if layout is not None:
            held[node] = Hold(cores[node], tuple(devices), tuple(found.shares))
    return tuple(sorted(counts.items())), None if free.unheld is None else held
