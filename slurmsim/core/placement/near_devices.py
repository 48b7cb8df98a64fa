"""Which devices of its nodes a job gets, once its cores are chosen: first those beside the cores.

Mirrors gres_select_filter_select_and_set (24.11, 26.05), and 22.05 where `Binding.old`. Devices are bits of a number.
"""

from __future__ import annotations

from collections.abc import Sequence

from slurmsim.core.placement.near import Binding, Want
from slurmsim.core.records.local_cores import first_bits
from slurmsim.data_classes import dataclass, field


@dataclass(slots=True)
class Chosen:
    """One node of a job: its cores of each socket, its tasks, and the devices it may have.

    `by_socket`: of each want those beside each socket, then those beside all; `have` how many of them it may have.
    `vpus`, `threads`: CPUs the job uses of a core, and those there are. `cores` as bits; `each` of a socket.
    """

    by_socket: list[list[int]]
    have: list[int]
    cores: int
    sockets: int
    each: int
    vpus: int
    tasks: int
    cpus: int
    given: list[int] = field(default_factory=list)
    shares: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)

    def on(self, socket: int) -> int:
        """Return how many of its cores are on `socket`."""
        return (self.cores >> socket * self.each & (1 << self.each) - 1).bit_count()


class _Pick:
    """Devices of one want taken on one node, and how many are missing."""

    def __init__(self, node: Chosen, by_socket: list[int], missing: int) -> None:
        self.by_socket, self.missing = by_socket, missing
        self.taken = 0
        self.used = [socket for socket in range(node.sockets) if node.on(socket)]
        self.unused = [socket for socket in range(node.sockets) if not node.on(socket)]

    def take(self, socket: int, most: int) -> int:
        """Take up to `most` of the missing ones beside `socket`, -1 for those beside all; return how many."""
        left = self.by_socket[socket] & ~self.taken
        bits = first_bits(left, max(0, min(most, self.missing, left.bit_count())))
        self.taken |= bits
        self.missing -= bits.bit_count()
        return bits.bit_count()

    def take_all(self, sockets: Sequence[int]) -> None:
        """Take those missing, of one of `sockets` after the other."""
        for socket in sockets:
            self.take(socket, self.missing)


def choose_devices(nodes: list[Chosen], order: Sequence[int], wants: Sequence[Want], binding: Binding) -> bool:
    """Set `given` of each node, by want; `order` is that in which nodes were taken. False if there are too few."""
    for node in nodes:
        node.given = []
    enough = True
    for k, want in enumerate(wants):
        if want.shared_kind >= 0:  # chosen apart (near_shares.py)
            continue
        if want.per_node:
            given = [_of_node(node, node.by_socket[k], want.per_node, binding) for node in nodes]
        elif want.per_socket:
            given = [_of_sockets(node, node.by_socket[k], want.per_socket, binding) for node in nodes]
        elif want.per_task:
            given = [_of_tasks(node, node.by_socket[k], want.per_task, binding) for node in nodes]
        else:
            given = _of_job(nodes, k, _limits(nodes, order, k, want), want, binding)
        least = want.per_node or want.per_task * (not binding.old)
        total = sum(bits.bit_count() for bits in given)
        enough &= total >= want.per_job and all(bits.bit_count() >= least for bits in given)
        for node, bits in zip(nodes, given, strict=True):
            node.given.append(bits)
    return enough


def _share(cores: int, of: int, missing: int) -> int:
    """Return the whole devices that fall to so many of the cores."""
    return int(cores * (missing / of)) if of else 0


def _of_node(node: Chosen, by_socket: list[int], count: int, binding: Binding) -> int:
    pick = _Pick(node, by_socket, count)
    if binding.old:
        for socket in (-1, *pick.used):
            pick.take(socket, 1)
        pick.take_all((-1, *pick.used))
        pick.take_all(pick.unused)
        return pick.taken
    total = node.cores.bit_count()
    for socket in pick.used:
        pick.take(socket, _share(node.on(socket), total, count))
    pick.take_all((-1, *pick.used))
    if not binding.enforce:
        pick.take_all(pick.unused)
    return pick.taken


def _of_sockets(node: Chosen, by_socket: list[int], each: int, binding: Binding) -> int:
    used = [socket for socket in range(node.sockets) if node.on(socket)]
    if binding.sockets > len(used):  # fewer sockets have its cores than it asked for: devices of others, too
        more = [s for s in range(node.sockets) if s not in used and by_socket[s].bit_count() >= each]
        used = sorted(used + more[: binding.sockets - len(used)])
    elif binding.said_sockets and binding.sockets < len(used):
        used = [socket for socket in used if by_socket[socket]] or used
    pick = _Pick(node, by_socket, len(used) * each)
    for socket in used:
        found = pick.take(socket, each)
        if binding.old:
            pick.take(-1, each - found)
    if binding.old:
        return pick.taken
    pick.take_all((-1, *used))
    if not binding.enforce:
        pick.take_all([socket for socket in range(node.sockets) if socket not in used])
    return pick.taken


def _of_tasks(node: Chosen, by_socket: list[int], each: int, binding: Binding) -> int:
    tasks = tasks_of_sockets(node, binding)
    pick = _Pick(node, by_socket, min(sum(tasks), node.tasks) * each)
    if binding.old:
        goal = 0
        for socket, count in enumerate(tasks):
            if socket and not count:
                continue
            goal += count * each
            pick.take(socket, goal - pick.taken.bit_count())
        pick.take_all((-1, *range(node.sockets)))
        return pick.taken
    for socket, count in enumerate(tasks):
        if count:
            pick.take(socket, count * each)
    pick.take(-1, pick.missing)
    if not binding.enforce:
        pick.take_all(range(node.sockets))
    return pick.taken


def tasks_of_sockets(node: Chosen, binding: Binding) -> list[int]:
    """Return the tasks of each socket, as its cores take them (_build_tasks_per_node_sock).

    22.05 takes each for one of one CPU. Since 25.11 sockets with cores left over count as if they had tasks of their
    own.
    """
    each = 1 if binding.old else max(1, node.cpus // max(node.tasks, 1))
    found, left = [0] * node.sockets, node.tasks if binding.by_first_socket else node.cpus
    for socket in range(node.sockets):
        here = skip = 0
        for _ in range(node.on(socket)):
            if skip:
                skip -= 1
                continue
            tasks = binding.tasks_per_core or node.vpus // each
            if not tasks:
                tasks, skip = 1, each // node.vpus - 1
            tasks = min(tasks, left)
            if binding.tasks_per_socket:
                tasks = min(tasks, binding.tasks_per_socket - here)
            here += tasks
            left -= tasks
        found[socket] = here
    return found


def _limits(nodes: list[Chosen], order: Sequence[int], k: int, want: Want) -> list[int]:
    """Return how many devices of the job each node may give at first, as they were counted up (gres_sched_add)."""
    found, total = [0] * len(nodes), 0
    for at in order:
        node = nodes[at]
        limit = min(node.have[k], node.cpus // want.asked_cpus) if want.asked_cpus else node.have[k]
        least = limit if want.made_tasks else 1
        if want.per_job > total:
            limit = min(limit, want.per_job - total)
        found[at] = max(limit, least)
        total += found[at]
    return found


def _of_job(nodes: list[Chosen], k: int, limits: list[int], want: Want, binding: Binding) -> list[int]:
    """Node after node, each leaving one for every other; what is missing then comes from wherever there is some."""
    picks, total = [], 0
    cpus = want.asked_cpus or want.made_tasks * binding.cpus_per_task
    for at, node in enumerate(nodes):
        most = want.per_job - total - (len(nodes) - at - 1)
        most = most if binding.old else min(most, limits[at])
        if cpus:
            most = min(most, node.cores.bit_count() * node.vpus // cpus)
        pick = _Pick(node, node.by_socket[k], most if binding.old else max(most, 1))
        if not binding.old:
            wanted, cores = pick.missing, node.cores.bit_count()
            for socket in pick.used:
                pick.take(socket, _share(node.on(socket), cores, wanted))
        pick.take_all((-1, *pick.used))
        if not pick.taken and (binding.old or not binding.enforce):
            pick.missing = 1
            pick.take_all(pick.unused)
        total += pick.taken.bit_count()
        picks.append(pick)
    for pick in picks:
        if total >= want.per_job:
            break
        pick.missing = want.per_job - total
        sockets = range(len(pick.by_socket) - 1)
        before = pick.taken.bit_count()
        pick.take_all((-1, *sockets) if binding.old else (*sockets, -1))
        total += pick.taken.bit_count() - before
    return [pick.taken for pick in picks]
