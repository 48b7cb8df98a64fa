"""What one node offers a job with GRES where devices are beside some of its sockets only (``Cores=`` of gres.conf).

First choice are cores beside the devices; with ``--gres-flags=enforce-binding`` no others will do. Mirrors
gres_sock_list.c, gres_select_filter_remove_unusable and gres_filter_sock_core (24.11, 26.05; 22.05 where
`Binding.old`), for a node at a time. Everything here is about cores as bits of a number, socket after socket.
"""

from __future__ import annotations

from collections.abc import Sequence

from slurmsim.core.placement.gres import Demand
from slurmsim.core.records.local_cores import SHARED, Device, NodeLayout, Sharing, first_bits
from slurmsim.core.records.value import Value
from slurmsim.data_classes import dataclass, field


@dataclass(frozen=True, slots=True)
class Want(Value):
    """What a job wants of one kind of GRES, 0 where it does not say.

    `cpus` come with each device; they are sure unless only `guessed` from the number of tasks. `asked_cpus` are those
    of ``--cpus-per-gpu``; `made_tasks` the tasks that each makes (``--ntasks-per-gpu``).
    `shared_kind` is the kind of shares of GPUs, -1 for devices.
    """

    kinds: frozenset[int]
    name: str
    per_node: int = 0
    per_socket: int = 0
    per_task: int = 0
    per_job: int = 0
    cpus: int = 0
    guessed: bool = False
    made_tasks: int = 0
    asked_cpus: int = 0
    shared_kind: int = -1


@dataclass(frozen=True, slots=True)
class Binding(Value):
    """What of a request decides which cores and devices of a node it gets.

    Attributes
    ----------
    enforce
        Devices without a free core beside them are of no use.
    first
        The first attempt, which leaves out cores that are not beside the devices it would take.
    min_tasks, max_tasks
        Tasks a node gets, None for any number.
    sockets, said_sockets
        ``--sockets-per-node``, and True if it was said; `few_sockets`: those that its CPUs need, 0 for any number.
    others
        Nodes beside this one that the job needs at least.
    old, by_first_socket
        22.05; before 25.11 a device beside two of four sockets is counted for the first of them.
    """

    wants: tuple[Want, ...]
    cpus_per_task: int
    enforce: bool
    first: bool
    min_tasks: int = 1
    max_tasks: int | None = None
    tasks_per_node: int = 0
    tasks_per_socket: int = 0
    tasks_per_core: int = 0
    sockets: int = 1
    said_sockets: bool = False
    few_sockets: int = 0
    others: int = 0
    min_cpus: int = 0
    overcommit: bool = False
    whole_sockets: bool = False
    old: bool = False
    by_first_socket: bool = False
    sharing: Sharing = Sharing()
    one_task: bool = False


@dataclass(slots=True)
class Shares:
    """Shares of the GPUs of a node, free and in use, by kind; `ever`: one GPU needs not have all that a job wants."""

    free: dict[int, list[int]]
    used: dict[int, list[int]]
    ever: bool = False


NO_SHARES = Shares({}, {})


@dataclass(slots=True)
class Offer:
    """CPUs a node offers, how many of each GRES, and of its GPUs those near free cores.

    `cores` it may have, `least` CPUs it has to get, `by_socket`: devices of each want beside each socket, as bits,
    those beside all of them last.
    """

    cpus: int
    have: list[int]
    near: int
    cores: int
    least: int
    by_socket: list[list[int]]


@dataclass(slots=True)
class _Devices:
    """Devices of one want on a node, by socket and as counted so far (sock_gres_t)."""

    want: Want
    bits: list[int]
    counts: list[int]
    anywhere: int = 0
    n_anywhere: int = 0
    total: int = 0
    most: int = 0
    tasks: int | None = None  # that shares of single GPUs serve


@dataclass(slots=True)
class _Node:
    """One node while its offer is found."""

    layout: NodeLayout
    vpus: int  # CPUs used of a core
    cores: int
    cpus: int
    found: list[_Devices] = field(default_factory=list)

    def count(self, socket: int) -> int:
        """Return how many cores of `socket` are left."""
        return (self.cores & self.layout.socket(socket)).bit_count()

    def drop(self, socket: int) -> None:
        """Leave out the highest core of `socket`."""
        self.cores ^= 1 << (self.cores & self.layout.socket(socket)).bit_length() - 1

    def fewer_cpus(self, n_cores: int) -> None:
        self.cpus = min(self.cpus, n_cores * self.vpus)


def offer(
    layout: NodeLayout, free: int, taken: int, cpus: int, vpus: int, binding: Binding, most_gpus: int | None,
    shares: Shares = NO_SHARES,
) -> Offer | None:  # fmt: skip
    """Return what a node offers with cores `free`, devices `taken` and so many usable `cpus`; None: not what is needed.

    `vpus`: CPUs the job uses of a core. `most_gpus`: those its memory suffices for, None for any number.
    """
    node = _Node(layout, vpus, free, cpus)
    for want in binding.wants:
        devices = _find(node, want, taken, binding, shares)
        if devices is None:
            return None
        node.found.append(devices)
    if binding.tasks_per_socket:
        _keep_for_tasks(node, binding)
    if not node.cores or (binding.said_sockets and _open_sockets(node) < binding.sockets):
        return None
    near = 0
    for devices in node.found:
        close = _usable(node, devices, binding, most_gpus if devices.want.name == "gpu" else None)
        if close is None:
            return None
        near += close if devices.want.name == "gpu" else 0
    return _filtered(node, binding, near)


def _open_sockets(node: _Node) -> int:
    """Return how many sockets have free cores."""
    return sum(bool(node.cores & node.layout.socket(socket)) for socket in range(node.layout.sockets))


# -- which devices (gres_sock_list_create) -----------------------------------------------------------------------


def _find(node: _Node, want: Want, taken: int, binding: Binding, shares: Shares) -> _Devices | None:
    """Return the free devices of `want` by socket; None if they are too few."""
    layout = node.layout
    found = _Devices(want, [0] * layout.sockets, [0] * layout.sockets)
    if want.shared_kind >= 0:
        _find_shares(node, found, shares, binding)
    for device in () if want.shared_kind >= 0 else layout.of_name(want.name):
        if device.kind in want.kinds and not device.bit & taken:
            _place(node, found, device, binding, 1)
    if want.per_socket:
        _whole_sockets(node, found, enforce=binding.enforce)
    if binding.enforce and binding.by_first_socket and binding.few_sockets and want.per_job and not want.per_socket:
        _leave_poor_sockets(node, found, binding.few_sockets)
    least = max(want.per_node, want.per_task)
    return found if found.total and found.total >= least else None


def usable_shares(shares: Shares, want: Want, binding: Binding) -> list[int]:
    """Return the shares that count of each GPU: of MPS only those of GPUs in use, if there are any."""
    free, used = shares.free.get(want.shared_kind, []), shares.used.get(want.shared_kind, [])
    if want.name == "mps" and any(used) and not shares.ever:
        free = [count if busy else 0 for count, busy in zip(free, used, strict=True)]
    if want.per_task and not binding.by_first_socket:
        free = [count if count >= want.per_task else 0 for count in free]
    return free


def _find_shares(node: _Node, found: _Devices, shares: Shares, binding: Binding) -> None:
    """Find the free shares of GPUs; all a job gets are of one GPU, unless several are allowed."""
    want = found.want
    free = usable_shares(shares, want, binding)
    for gpu, count in zip(node.layout.of_name("gpu"), free, strict=False):
        if count:
            _place(node, found, gpu, binding, count)
    if not (binding.sharing.several or shares.ever):
        found.most = max(free, default=0)
    if want.per_task:
        tasks = [min(count // want.per_task, 1) if binding.one_task else count // want.per_task for count in free]
        found.tasks = sum(tasks) if binding.sharing.several else max(tasks, default=0)


def _place(node: _Node, found: _Devices, device: Device, binding: Binding, count: int) -> None:
    """Count so much of one device for the sockets it is beside."""
    if not device.sockets:
        found.anywhere |= device.bit
        found.n_anywhere += count
        found.total += count
        return
    sockets = [s for s in device.sockets if not binding.enforce or node.cores & node.layout.socket(s)]
    for socket in sockets[:1] if binding.by_first_socket else sockets:
        found.bits[socket] |= device.bit
        found.counts[socket] += count
    found.total += count if sockets else 0


def _whole_sockets(node: _Node, found: _Devices, *, enforce: bool) -> None:
    """Count no socket with fewer devices than are wanted of each, and no more of any."""
    wanted = found.want.per_socket
    for socket, count in enumerate(found.counts):
        if count < wanted:
            found.total -= count
            found.counts[socket] = 0
            if enforce:
                node.cores &= ~node.layout.socket(socket)
        else:
            found.total -= count - wanted
            found.counts[socket] = wanted


def _leave_poor_sockets(node: _Node, found: _Devices, most: int) -> None:
    """Leave out cores and devices of the sockets with the fewest, but those of the `most` with more."""
    usable = [s for s, count in enumerate(found.counts) if count and node.cores & node.layout.socket(s)]
    while len(usable) > most:
        poorest = min(usable, key=lambda socket: found.counts[socket])
        usable.remove(poorest)
        node.cores &= ~node.layout.socket(poorest)
        found.total -= found.counts[poorest]
        found.counts[poorest] = 0


def _keep_for_tasks(node: _Node, binding: Binding) -> None:
    """Keep so many cores of each socket as the tasks it may have can use (_allocate_sc)."""
    most = -(-binding.tasks_per_socket * binding.cpus_per_task // node.vpus)
    kept = (
        first_bits(node.cores & node.layout.socket(s), min(most, node.count(s))) for s in range(node.layout.sockets)
    )
    node.cores = sum(kept)


def _usable(node: _Node, found: _Devices, binding: Binding, most_gpus: int | None) -> int | None:
    """Return how many devices are near free cores; None if those of use are too few (…remove_unusable)."""
    want = found.want
    least = max(1, want.per_node, want.per_socket * (binding.few_sockets or 1), want.per_task * binding.tasks_per_node)
    cpus = 0 if want.guessed else want.cpus
    if cpus:
        most = node.cpus // cpus
        if not most or max(want.per_node, want.per_task, want.per_socket) > most:
            return None
    if most_gpus is not None:
        if not most_gpus:
            return None
        found.most = most_gpus
    near = found.total
    for socket, count in enumerate(found.counts):
        if not node.cores & node.layout.socket(socket):
            near -= count
            if binding.enforce:
                found.total -= count
                found.counts[socket] = 0
    limit = want.per_node or want.per_job
    if limit:
        found.most = min(found.most or limit, limit)
    if cpus:
        most = node.cores.bit_count() * node.layout.threads // cpus
        if not most:
            return None
        found.most = min(found.most or most, most)
    if most_gpus is not None:
        found.total = min(found.total, most_gpus)
    if found.total < least or 0 < found.most < least:
        return None
    return min(near, found.most) if found.most else near


# -- which cores (gres_filter_sock_core) -------------------------------------------------------------------------


@dataclass(slots=True)
class _Filter:
    """The cores of a node as they are left out, one kind of GRES after the other."""

    node: _Node
    binding: Binding
    per_socket: list[int]
    n_cores: int
    min_tasks: int
    max_tasks: int | None
    least: int | None = None
    required: set[int] = field(default_factory=set)
    brings: bool = False


def _filtered(node: _Node, binding: Binding, near: int) -> Offer | None:
    """Return the offer with the cores and CPUs that the GRES leave."""
    counts = [node.count(s) for s in range(node.layout.sockets)]
    most = binding.max_tasks
    if not binding.overcommit:
        room = node.cpus // binding.cpus_per_task
        if room < binding.min_tasks:
            return None
        most = room if most is None else min(most, room)
    left = _Filter(node, binding, counts, sum(counts), binding.min_tasks, most)
    # those that are wanted of each socket come first (_sock_gres_sort)
    for devices in sorted(node.found, key=lambda one: not one.want.per_socket):
        if not _filter(left, devices):
            return None
    least = (left.least or 0) * node.vpus
    if left.max_tasks is not None and not left.brings:
        most_cpus = left.max_tasks * binding.cpus_per_task
        node.cpus = min(node.cpus, most_cpus if binding.old else max(most_cpus, least))
    cores = 0
    for socket, count in enumerate(counts):
        mine = node.cores & node.layout.socket(socket)
        cores |= first_bits(mine, min(count, mine.bit_count()))
    bits = [[*found.bits, found.anywhere] for found in node.found]
    return Offer(node.cpus, [found.total for found in node.found], near, cores, least, bits)


def _filter(left: _Filter, found: _Devices) -> bool:
    """Leave out what is not near the devices of one want; False if the node does not serve."""
    want, binding, node = found.want, left.binding, left.node
    most = _most(found, binding, left.min_tasks, left.max_tasks)
    if most is None or not _may_serve(left, want, most):
        return False
    counted, n_required, n_cores = _gather(left, found, most)
    left.brings = left.brings or bool(want.cpus and not (want.guessed or want.made_tasks))
    counted = _countable(left, want, counted, most)
    if not counted or max(want.per_node, want.per_task) > counted:
        return False
    counted = _limit_tasks(left, found, counted)
    if left.max_tasks == 0:
        return False
    if (binding.enforce or binding.first) and (binding.old or n_required != node.layout.sockets):
        n_cores = _only_required(left, n_cores)
    if left.max_tasks is None:
        found.total = min(node.cpus // want.cpus, found.total) if want.cpus else found.total
        return True
    return _cut(left, found, counted, n_required, n_cores)


def _may_serve(left: _Filter, want: Want, most: int) -> bool:
    """Return True if a node with `most` devices of use (0: any number) has enough for its tasks and sockets."""
    if most and max(want.per_node, want.per_socket * left.binding.sockets) > most:
        return False
    if not (want.per_node and want.per_task) or left.max_tasks is None:
        return True
    tasks = want.per_node // want.per_task
    return tasks > 0 and left.min_tasks <= tasks <= left.max_tasks


def _countable(left: _Filter, want: Want, counted: int, most: int) -> int:
    """Return how many of the devices count that were gathered."""
    if want.cpus:
        by_cpus = left.node.cpus // want.cpus
        most = min(by_cpus, most) if most else by_cpus
        counted = min(counted, most)
    if left.binding.old:
        return counted
    counted = min(counted, most) if most else counted
    return min(counted, want.per_node) if want.per_node else counted


def _cut(left: _Filter, found: _Devices, counted: int, n_required: int, n_cores: int) -> bool:
    """Leave out the cores that neither tasks nor devices need; False if there are too few of them."""
    want, binding, node = found.want, left.binding, left.node
    needed, counted = _needed(left, want, counted, n_required, n_cores)
    if needed > n_cores or (binding.enforce and needed * node.vpus > node.cpus):
        return False
    _leave_spare_cores(left, needed, n_cores, n_required)
    if want.cpus:
        found.total = min(node.cpus // want.cpus, found.total)
        if max(want.per_node, want.per_task) > found.total:
            return False
    if not binding.old:
        found.total = min(counted, found.total)
    if binding.enforce or (left.brings and not binding.old):
        left.least = needed if left.least is None else min(left.least, needed)
    return True


def _most(found: _Devices, binding: Binding, min_tasks: int, max_tasks: int | None) -> int | None:
    """Return how many devices are of use, 0 for any number; None if the tasks need more (_set_max_gres)."""
    want, rest = found.want, 0
    if want.per_job:
        rest = want.per_job if binding.old else want.per_job - binding.others
    if not (binding.by_first_socket or binding.old) and want.per_task and max_tasks is not None:
        if want.per_task * min_tasks > rest:
            return None
        rest = min(rest, want.per_task * max_tasks)
    if not found.most:
        return 0
    return rest if 0 < rest < found.most else found.most


def _gather(left: _Filter, found: _Devices, most: int) -> tuple[int, int, int]:
    """Take sockets with the most free cores first; return devices counted, sockets required for them, and cores."""
    want, binding, node = found.want, left.binding, left.node
    picky = binding.enforce or binding.first
    counted = found.n_anywhere
    n_anywhere, n_required, n_cores, enough = counted, 0, 0, False
    least = max(left.min_tasks, 1) * binding.cpus_per_task
    least = -(-least // node.vpus)
    for socket in sorted(range(node.layout.sockets), key=lambda s: -left.per_socket[s]):
        there = found.counts[socket]
        if picky and want.cpus:
            there = min(there, left.per_socket[socket] * node.vpus // want.cpus)
        if want.per_socket > n_anywhere + there or not n_anywhere + there:
            if want.per_socket > n_anywhere + there or binding.enforce:
                found.total -= found.counts[socket]
                found.counts[socket] = 0
            if binding.first:
                _leave_far_cores(left, socket, least)
        n_cores += left.per_socket[socket]
        if picky and not left.per_socket[socket]:
            continue
        counted += there
        if (not enough and (there or n_anywhere or binding.old)) or (n_anywhere and not binding.old):
            left.required.add(socket)
            n_required += 1
        if binding.old and n_anywhere:
            continue
        if (most and counted >= most) or 0 < want.per_node <= counted:
            enough = True
    return counted, n_required, n_cores


def _leave_far_cores(left: _Filter, socket: int, least: int) -> None:
    """Leave out cores of a socket without devices, as long as `least` cores remain."""
    while left.n_cores > least and left.per_socket[socket]:
        left.node.drop(socket)
        left.per_socket[socket] -= 1
        left.n_cores -= 1
        left.node.fewer_cpus(left.n_cores)


def _limit_tasks(left: _Filter, found: _Devices, counted: int) -> int:
    """Limit the tasks to those the devices can serve; return how many devices those need at most."""
    binding, want = left.binding, found.want
    if want.cpus and not binding.old:
        brought = want.cpus * counted
        if brought < left.min_tasks * binding.cpus_per_task or brought < binding.min_cpus:
            left.max_tasks = left.min_tasks
        else:
            tasks = brought // binding.cpus_per_task
            left.max_tasks = tasks if left.max_tasks is None else min(left.max_tasks, tasks)
    if want.per_task:
        tasks = counted // want.per_task if found.tasks is None else found.tasks
        left.max_tasks = tasks if left.max_tasks is None else min(left.max_tasks, tasks)
        if not (want.per_node or binding.old):
            counted = min(left.max_tasks * want.per_task, counted)
    if want.made_tasks and not binding.old:
        tasks = counted * want.made_tasks
        while left.max_tasks is not None and tasks > left.max_tasks:
            tasks -= want.made_tasks
            counted -= 0 if want.per_node else 1
        left.max_tasks = tasks
    step = binding.min_tasks
    left.min_tasks = left.min_tasks // step * step
    if left.max_tasks is not None:
        left.max_tasks = left.max_tasks // step * step
    return counted


def _only_required(left: _Filter, n_cores: int) -> int:
    """Leave out the cores of sockets that are not required; return how many there are then."""
    for socket in range(left.node.layout.sockets):
        if socket not in left.required:
            left.node.cores &= ~left.node.layout.socket(socket)
            n_cores -= left.per_socket[socket]
            left.per_socket[socket] = 0
            left.node.fewer_cpus(n_cores)
    return n_cores


def _needed(left: _Filter, want: Want, counted: int, n_required: int, n_cores: int) -> tuple[int, int]:
    """Return the cores of the tasks and devices, of fewer tasks if there are not enough, and the devices they need."""
    binding, vpus = left.binding, left.node.vpus
    tasks = left.max_tasks
    assert tasks is not None
    needed = -(-tasks * binding.cpus_per_task // vpus)
    while needed > n_cores and tasks >= left.min_tasks:
        tasks -= 1
        needed = -(-tasks * binding.cpus_per_task // vpus)
        if not (want.per_node or binding.old) and (want.per_task or want.made_tasks):
            limit = tasks * want.per_task if want.per_task else tasks // want.made_tasks
            counted = min(counted, limit)
    left.max_tasks = tasks
    if want.cpus:
        devices = want.per_node or want.per_socket * n_required or want.per_task * tasks or counted or 1
        cpus = devices * want.cpus
        if not binding.old:
            left.max_tasks = min(cpus, tasks)
        needed = max(needed, -(-cpus // vpus))
    if binding.enforce:
        needed = max(needed, n_required)
    return needed, counted


def _leave_spare_cores(left: _Filter, needed: int, n_cores: int, n_required: int) -> None:
    """Leave out cores beyond those `needed`: of sockets that are not required, then of the fullest one each time."""
    binding, node = left.binding, left.node
    if binding.whole_sockets and not binding.old:
        return
    sockets = range(node.layout.sockets)
    if not (binding.enforce or binding.first) and (binding.old or n_required != node.layout.sockets):
        for socket in sockets:
            if socket not in left.required:
                fewer = min(n_cores - needed, left.per_socket[socket])
                n_cores -= fewer
                left.per_socket[socket] -= fewer
                node.fewer_cpus(n_cores)
    while n_cores > needed and (n_required or binding.old):
        full = [s for s in sockets if s in left.required and left.per_socket[s]]
        if not full:
            break
        left.per_socket[max(full, key=lambda s: left.per_socket[s])] -= 1
        n_cores -= 1
        node.fewer_cpus(n_cores)


def wants_of(
    sure: Sequence[Demand], tried: Sequence[Demand], names: Sequence[str], sockets: int, cpus_per_task: int
) -> tuple[Want, ...]:
    """Return the wants of a request: what is `sure` of its demands, and the CPUs of each device while it is `tried`.

    `names` are those of the demands, `sockets` its ``--sockets-per-node``.
    """
    found = []
    for demand, guess, name in zip(sure, tried, names, strict=True):
        by_socket = demand.scope == "node" and demand.total < 0
        found.append(Want(
            frozenset(demand.kinds), name,
            per_node=demand.count if demand.scope == "node" and not by_socket else 0,
            per_socket=demand.count // sockets if by_socket else 0,
            per_task=demand.count if demand.scope == "task" else 0,
            per_job=demand.count if demand.scope == "job" else demand.total if demand.scope == "task" else 0,
            cpus=demand.cpus or demand.task_cpus or guess.cpus,
            guessed=not (demand.cpus or demand.task_cpus), made_tasks=demand.task_cpus // cpus_per_task,
            asked_cpus=demand.cpus if demand.reserved else 0, shared_kind=demand.kinds[0] if name in SHARED else -1,
        ))  # fmt: skip
    return tuple(found)
