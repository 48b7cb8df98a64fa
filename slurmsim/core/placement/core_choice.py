"""Which free cores of a node a job gets, of so many: by socket in turn, task by task, or a socket after the other.

Mirrors _allocate_sc (job_test.c) and _cyclic_sync_core_bitmap, _block_sync_core_bitmap (dist_tasks.c), 22.05 to 26.05.
"""

from slurmsim.core.records.value import Value
from slurmsim.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class CoreWish(Value):
    """What matters of a request: `threads` used of a core, CPUs a task, tasks of a core, a socket and a node (0: any).

    `block` takes one socket after the other. `few` leaves a job no more cores of a node than its tasks can take there.
    """

    threads: int
    per_task: int = 1
    tasks_per_core: int = 0
    tasks_per_socket: int = 0
    tasks_per_node: int = 0
    block: bool = False
    few: bool = False

    def used(self, rest: int) -> int:
        """CPUs used of a core by a task that lacks `rest`."""
        alone = self.tasks_per_core == 1 and self.per_task > self.threads
        return min(rest, self.threads) if alone else self.threads


def chosen_cores(sockets: list[list[int]], count: int, wish: CoreWish) -> list[int]:
    """Return `count` of the free cores of `sockets`, or as many as there are."""
    sockets = _takeable(sockets, wish)
    return sorted((_in_blocks if wish.block else _in_turn)(sockets, count, wish))


def _takeable(sockets: list[list[int]], wish: CoreWish) -> list[list[int]]:
    """Return the cores left after limits on the tasks of a socket and of a node."""
    if wish.tasks_per_socket:
        most = -(-wish.tasks_per_socket * wish.per_task // wish.threads)
        sockets = [cores[:most] for cores in sockets]
    if not wish.few:
        return sockets
    left, rest = _cpus_for_tasks(sockets, wish), wish.per_task
    found: list[list[int]] = []
    for cores in sockets:
        found.append(kept := [])
        for core in cores:
            if left <= 0:
                break
            kept.append(core)
            used = wish.used(rest)
            left -= used
            rest = rest - used if rest > used else wish.per_task
    return found


def _cpus_for_tasks(sockets: list[list[int]], wish: CoreWish) -> int:
    cpus = [len(cores) * wish.threads for cores in sockets]
    tasks = sum(min(n, wish.tasks_per_socket or n) for n in cpus)
    if wish.tasks_per_node:
        tasks = min(tasks, wish.tasks_per_node)
    if wish.per_task < 2:
        return tasks
    if wish.tasks_per_core == 1 and wish.per_task > wish.threads:
        each = -(-wish.per_task // wish.threads) * wish.threads
        return sum(cpus) // each * wish.per_task
    return min(tasks, sum(cpus) // wish.per_task) * wish.per_task


def _in_turn(sockets: list[list[int]], count: int, wish: CoreWish) -> list[int]:
    """Return cores of the sockets in turn; several CPUs of one task lie together as far as sockets have whole tasks."""
    left = [list(cores) for cores in sockets]
    chosen: list[int] = []
    if wish.tasks_per_socket:
        left = [[] if avoid else cores for cores, avoid in zip(left, _avoided(sockets, count, wish), strict=True)]
    elif wish.per_task > 1:
        chosen = _whole_tasks(left, count, wish)
    while len(chosen) < count and any(left):
        for cores in left:
            if cores and len(chosen) < count:
                chosen.append(cores.pop(0))
    return chosen


def _whole_tasks(left: list[list[int]], count: int, wish: CoreWish) -> list[int]:
    """Take cores for the whole tasks of each socket off `left`."""
    chosen: list[int] = []
    rest = wish.per_task
    for cores in left:
        cpus = len(cores) * wish.threads
        cpus -= cpus % wish.per_task
        while cpus > 0 and cores and len(chosen) < count:
            chosen.append(cores.pop(0))
            used = wish.used(rest)
            rest = rest - used if rest > used else wish.per_task
            cpus = 0 if cpus < wish.threads else cpus - used
    return chosen


def _avoided(sockets: list[list[int]], count: int, wish: CoreWish) -> list[bool]:
    """Return the sockets that are not needed if each takes its tasks: the first ones."""
    needed, most = count * wish.threads, wish.tasks_per_socket * wish.per_task
    cpus = [len(cores) * wish.threads for cores in sockets]
    total = sum(cpus)
    for k, n in enumerate(cpus):
        if total > needed and n > most:
            cpus[k], total = most, total - n + most
    avoided = []
    for n in cpus:
        avoided.append(total > needed and n <= most and total - n >= needed)
        total -= n if avoided[-1] else 0
    return avoided


def _in_blocks(sockets: list[list[int]], count: int, wish: CoreWish) -> list[int]:
    """Return cores of the fewest sockets: of the smallest that has enough, else of the largest."""
    left = [list(cores) for cores in sockets]
    chosen: list[int] = []
    while len(chosen) < count and any(left):
        enough = [cores for cores in left if len(cores) >= count]
        best = min(enough, key=len) if enough else max(left, key=len)
        more = count - len(chosen)
        chosen += best[:more]
        del best[:more]
    return chosen
