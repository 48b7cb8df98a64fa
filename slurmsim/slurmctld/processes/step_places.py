"""Where the tasks of a step go inside its job's allocation.

Mirrors _pick_step_nodes and the task layout of slurmctld (step_mgr.c, slurm_step_layout.c, 22.05): nodes without a
step come first, whole nodes are taken unless the step wants exact CPUs, and a step waits where others are in the way.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from slurmsim.data_classes import dataclass, field
from slurmsim.gres_counts import gres_items
from slurmsim.protocol import Refusal
from slurmsim.slurmctld.processes.node_ranks import Rank
from slurmsim.slurmctld.processes.step_turns import Turn

BUSY = "Requested nodes are busy"
TOO_MANY_CPUS = "More processors requested than permitted"
BAD_NODE_COUNT = "Node count specification invalid"
NOT_AVAILABLE = "Requested node configuration is not available"
BAD_MEMORY = "Memory required by task is not available"


@dataclass(slots=True)
class Room:
    """What one node of an allocation has: `cpus` and `memory` in all, `used` and `memory_used` by `steps` steps.

    Steps share it by `grain` CPUs, the threads of a core.
    """

    cpus: int
    memory: int
    grain: int = 1
    used: int = 0
    memory_used: int = 0
    steps: int = 0


@dataclass(slots=True)
class Place:
    """Nodes of the allocation (their places in it) and of each its tasks, CPUs and MiB."""

    nodes: list[int]
    tasks: list[int]
    cpus: list[int]
    memory: list[int] = field(default_factory=list)
    turn: int | None = None  # where the next step of the job begins to look for nodes (`step_turns`)


def place_step(asked: Mapping[str, Any], rooms: Sequence[Room], turn: Turn | None = None) -> Place:
    """Where a step goes.

    Parameters
    ----------
    asked
        ``num_tasks cpu_count min_nodes max_nodes``, as wanted ``nodes`` and ``excluded`` (places in the allocation),
        ``relative``, ``exact``, ``overlap``, ``overcommit``, ``mem_per_cpu``, ``mem_per_node`` (MiB),
        ``ntasks_per_node``, ``threads_per_core``, ``plane_size``, ``arbitrary`` (places, one a task).
        ``job_threads`` are the threads of a core its job uses. ``threads_counted``: usable CPUs are such threads.
    rooms
        The nodes of the allocation, in order.
    turn
        Which of them are looked at first; without it, as they stand.

    Raises
    ------
    Refusal
        With Slurm's text; `BUSY` where waiting helps.
    """
    usable, blocked = _usable(asked, rooms)
    if turn is not None and asked.get("relative") is not None:
        turn.relative()
    nodes = _nodes(asked, rooms, usable, blocked, turn)
    if turn is not None:
        turn.took(nodes)
    tasks = _layout(asked, nodes, usable, rooms)
    per_task = max(1, int(asked.get("cpu_count") or 0) // max(int(asked["num_tasks"]), 1))
    if asked.get("overcommit"):
        per_task = int(asked.get("cpus_per_task") or 1)
    exact = bool(asked.get("exact"))
    cpus = [
        _exactly(n * per_task, asked, rooms[i]) if exact else rooms[i].cpus for i, n in zip(nodes, tasks, strict=True)
    ]
    memory = [_memory(asked, rooms[i], n) for i, n in zip(nodes, cpus, strict=True)]
    return Place(nodes, tasks, cpus, memory, None if turn is None else turn.next)


def give_cpus_of_gpus(place: Place, asked: Mapping[str, Any], rooms: Sequence[Room], gpus: Sequence[int]) -> None:
    """Give a step the CPUs of its `gpus` on each of its nodes, one a task at least. Raises Refusal.

    One that counts as many CPUs as its job has is given all cores (_step_alloc_lps).
    """
    each = sum(count for name, _, count, _ in gres_items(str(asked["cpus_per_tres"]), "step") if name == "gpu")
    all_cores = int(asked.get("cpu_count") or 0) == sum(room.cpus for room in rooms)
    for k, (i, count, tasks) in enumerate(zip(place.nodes, gpus, place.tasks, strict=True)):
        room = rooms[i]
        cpus = _exactly(max(count * each, tasks), asked, room) if not all_cores else room.cpus
        if max(count * each, tasks) > room.cpus and not all_cores:
            raise Refusal(TOO_MANY_CPUS)
        if cpus > room.cpus - room.used and not asked.get("overlap"):
            raise Refusal(BUSY)
        place.cpus[k], place.memory[k] = cpus, _memory(asked, room, cpus)


def _exactly(cpus: int, asked: Mapping[str, Any], room: Room) -> int:
    """CPUs of the cores that give a step so many."""
    threads = min(int(asked.get("threads_per_core") or room.grain), room.grain)
    return min(-(-cpus // threads) * room.grain, room.cpus)


def _memory(asked: Mapping[str, Any], room: Room, cpus: int) -> int:
    if asked.get("mem_per_cpu"):
        return min(int(asked["mem_per_cpu"]) * cpus, room.memory)
    return int(asked.get("mem_per_node") or room.memory)


def _usable(asked: Mapping[str, Any], rooms: Sequence[Room]) -> tuple[list[int], bool]:
    """CPUs of each node the step could use now, and whether other steps are in its way."""
    usable, blocked = [], False
    for room in rooms:
        cpus = room.cpus
        if not asked.get("overlap"):
            blocked = blocked or room.used > 0
            cpus = (0 if room.used else cpus) if not asked.get("exact") else max(cpus - room.used, 0)
            if _counts_threads(asked, room):
                cpus = cpus // room.grain * int(asked["threads_per_core"])
        free = room.memory - (0 if asked.get("overlap") else room.memory_used)
        per_cpu, per_node = int(asked.get("mem_per_cpu") or 0), int(asked.get("mem_per_node") or 0)
        if cpus and room.memory and per_cpu:
            fits = max(free, 0) // per_cpu
            # memory that steps have comes back: the step waits instead of being refused
            blocked = blocked or (fits < cpus and room.memory_used > 0)
            cpus = min(cpus, fits)
        elif cpus and room.memory and per_node and free < per_node:
            if per_node > room.memory:
                raise Refusal(BAD_MEMORY)
            blocked, cpus = True, 0
        usable.append(cpus)
    return usable, blocked


def _counts_threads(asked: Mapping[str, Any], room: Room) -> bool:
    """Return True if the CPUs a step could use are counted by the threads it uses."""
    own = asked.get("threads_per_core")
    return bool(asked.get("threads_counted") and own and int(own) != room.grain and not asked.get("overlap"))


def _nodes(
    asked: Mapping[str, Any], rooms: Sequence[Room], usable: Sequence[int], blocked: bool, turn: Turn | None
) -> list[int]:
    """Return the nodes of the step. Raises Refusal."""
    cpus = 0 if asked.get("overcommit") else int(asked.get("cpu_count") or 0)
    open_to = [i for i in range(len(rooms)) if i not in (asked.get("excluded") or ())]
    named = list(asked.get("nodes") or ())
    least, most = _counts(asked, rooms, cpus, {*named} <= {*open_to})
    if any(not usable[i] for i in named):
        raise Refusal(BUSY if blocked else BAD_MEMORY)
    skip = int(asked.get("relative") or 0)
    free = [i for i in open_to if usable[i] and i >= skip]
    # of more named nodes than the step needs only some are taken (_pick_step_nodes)
    if len(named) > least:
        free, named = named, []
    if len({*free, *named}) < least:
        raise Refusal(BUSY if blocked or any(usable) else NOT_AVAILABLE)
    rest = [i for i in free if i not in named]
    picked = _least(named, rest, rooms, usable, least, cpus, turn)
    if len(picked) < least:
        raise Refusal(BUSY if blocked else TOO_MANY_CPUS)
    picked = _with_more(picked, rest, usable, most, cpus)
    if sum(usable[k] for k in picked) < cpus:
        raise Refusal(BUSY if blocked else NOT_AVAILABLE)
    return picked


def _with_more(picked: list[int], rest: list[int], usable: Sequence[int], most: int, cpus: int) -> list[int]:
    """Add nodes of the `rest` to `picked` until they have the CPUs, `most` nodes in all."""
    for i in rest:
        if sum(usable[k] for k in picked) >= cpus or len(picked) >= most:
            break
        if i not in picked:
            picked = sorted([*picked, i])
    return picked


def _counts(asked: Mapping[str, Any], rooms: Sequence[Room], cpus: int, open_to_all: bool) -> tuple[int, int]:
    """Return the least and most nodes of the step; `open_to_all`: it may use all it names. Raises Refusal."""
    least, most = int(asked.get("min_nodes") or 1), int(asked.get("max_nodes") or len(rooms))
    if most < least:
        raise Refusal(BAD_NODE_COUNT)
    if not open_to_all:
        raise Refusal(NOT_AVAILABLE)
    grain = rooms[0].grain
    job = min(int(asked.get("job_threads") or grain), grain)
    own = int(asked.get("threads_per_core") or job)
    sizes = {room.cpus * job // grain for room in rooms}
    if cpus and len(sizes) == 1:
        if own < job:  # a core gives fewer CPUs than its job has of it
            cpus = -(-cpus // own) * grain
        least = max(least, -(-cpus // max(sizes)))
        if most < least:
            raise Refusal(TOO_MANY_CPUS)
    return least, most


def _least(
    named: list[int], rest: list[int], rooms: Sequence[Room], usable: Sequence[int], least: int, cpus: int,
    turn: Turn | None,
) -> list[int]:  # fmt: skip
    """Add nodes of the `rest` to the `named` ones until there are `least`, idle ones first."""
    picked = named
    for some in ([i for i in rest if not rooms[i].steps], rest):
        if len(picked) < least:
            looked_at = some if turn is None else turn.ordered(some)
            found = _enough(looked_at, least - len(picked), cpus - sum(usable[i] for i in picked), usable)
            picked = sorted([*picked, *found]) if found else picked
            if found and turn is not None:
                turn.looked_until(found[-1])
    return picked


def _enough(nodes: Sequence[int], count: int, cpus: int, usable: Sequence[int]) -> list[int]:
    """`count` of `nodes` with `cpus` CPUs among them: the first that have their share, then the largest others.

    They come as they are looked at.
    """
    if len(nodes) < count:
        return []
    if cpus <= count:
        return list(nodes[:count])
    share = -(-cpus // count)
    large = [i for i in nodes if usable[i] >= share][:count]
    small = sorted((i for i in nodes if usable[i] < share), key=lambda i: -usable[i])
    few = set(small[: count - len(large)])
    picked = [*large, *(i for i in nodes if i in few)]
    return picked if len(picked) == count and sum(usable[i] for i in picked) >= cpus else []


def _layout(asked: Mapping[str, Any], nodes: Sequence[int], usable: Sequence[int], rooms: Sequence[Room]) -> list[int]:
    """Tasks of each node: round after round one for every node that has CPUs left, however they are numbered later."""
    left = int(asked["num_tasks"])
    if asked.get("arbitrary"):
        return [sum(1 for i in asked["arbitrary"] if i == node) for node in nodes]
    per_task = max(int(asked.get("cpus_per_task") or 1), 1)
    single = int(asked.get("threads_per_core") or asked.get("job_threads") or 0) == 1  # a task uses a thread of a core
    threads = [rooms[i].grain if single and not _counts_threads(asked, rooms[i]) else 1 for i in nodes]
    room = [max((usable[i] or rooms[i].cpus) // n // per_task, 1) for i, n in zip(nodes, threads, strict=True)]
    cap = int(asked.get("ntasks_per_node") or 0)
    if cap:
        room = [min(n, cap) for n in room]
    return lay_out(left, room, int(asked.get("plane_size") or 1))


def lay_out(tasks: int, room: Sequence[int], plane: int = 1) -> list[int]:
    """How many of `tasks` each node gets: round after round `plane` for each that has room left, then for all.

    >>> lay_out(6, [3, 1, 1, 1]), lay_out(10, [4, 4, 4]), lay_out(5, [1, 1])
    ([3, 1, 1, 1], [4, 3, 3], [3, 2])
    >>> lay_out(4, [3, 1], 2), lay_out(4, [1, 1], 2)
    ([3, 1], [3, 1])
    """
    found = [0] * len(room)
    left, crowded = tasks, False
    while left:
        for k, most in enumerate(room):
            if left and (crowded or found[k] < most):
                take = min(left, plane if crowded else min(plane, most - found[k]))
                found[k] += take
                left -= take
        crowded = crowded or all(n >= most for n, most in zip(found, room, strict=True))
    return found


def task_ids(
    tasks: Sequence[int], distribution: str, plane: int = 0, ranks: Sequence[Rank] | None = None
) -> list[list[int]]:
    """Which tasks are on each node: filled node by node, or dealt one by one (``cyclic``), or `plane` at a time.

    Nodes are filled in the order of their `ranks`.

    >>> task_ids([3, 1], "block"), task_ids([3, 1], "cyclic"), task_ids([3, 3], "plane", 2)
    ([[0, 1, 2], [3]], [[0, 2, 3], [1]], [[0, 1, 4], [2, 3, 5]])
    """
    found: list[list[int]] = [[] for _ in tasks]
    number = 0
    if distribution in ("cyclic", "plane"):
        size = plane if distribution == "plane" and plane else 1
        while number < sum(tasks):
            for mine, count in zip(found, tasks, strict=True):
                for _ in range(min(size, count - len(mine))):
                    mine.append(number)
                    number += 1
        return found
    order = range(len(tasks)) if ranks is None else sorted(range(len(tasks)), key=lambda i: (ranks[i], i))
    for i in order:
        found[i].extend(range(number, number + tasks[i]))
        number += tasks[i]
    return found
