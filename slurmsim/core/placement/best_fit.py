"""Which nodes a job gets: Slurm's default best fit over consecutive nodes.

Mirrors select/cons_tres job_test.c (22.05): `choose` is choose_nodes with its retries, `_evaluate` is _eval_nodes,
`distribute` is dist_tasks. Works on lists or arrays of candidate nodes and their usable CPUs; knows nothing of jobs.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from slurmsim.bitmap import Bitmap, runs, span
from slurmsim.core.placement.shared_layers import Room
from slurmsim.core.records.value import Value
from slurmsim.data_classes import dataclass, field
from slurmsim.kernel import compiled, load

_PICKER: Final[Any] = load("picking").Picker() if compiled("picking") else None  # else big integers are quicker


def pick_equal(mask: Bitmap, n: int, least: int) -> list[tuple[int, int]] | None:
    """Choose `n` whole nodes out of `mask` when all are alike (same CPUs, same weight); None if there are too few.

    The tightest run that holds all that is missing of the `least` the job needs, first on ties; while none does, the
    longest run whole. So a job that takes up to `n` nodes, but would do with fewer, gets short runs first.
    Returns runs (first, length) in the order taken. This is `_evaluate` for equal nodes (a test compares them).
    """
    if mask.bit_count() < n:
        return None
    if _PICKER is not None:
        raw = mask.to_bytes((mask.bit_length() + 7) >> 3, "little")
        found: list[tuple[int, int]] | None = _PICKER.pick(raw, n, least)
        if found is not None:
            return found
    if least < n:
        return _pick_more(mask, n, least)
    holding = _holding(mask, n)
    if not holding:
        return _pick_longest(mask, n)
    exact = holding & ~(holding << 1) & ~(holding >> 1)
    return [((exact & -exact).bit_length() - 1 if exact else min(runs(holding), key=itemgetter(1))[0], n)]


def _pick_longest(mask: Bitmap, n: int) -> list[tuple[int, int]]:
    """Return the same if no run holds all `n`."""
    taken: list[tuple[int, int]] = []
    left = sorted(runs(mask), key=itemgetter(1), reverse=True)
    longest = 0
    while left[longest][1] < n:
        taken.append(left[longest])
        n -= left[longest][1]
        longest += 1
    enough = [run for run in left[longest:] if run[1] >= n]
    taken.append((min(run for run in enough if run[1] == enough[-1][1])[0], n))
    return taken


def _pick_more(mask: Bitmap, n: int, least: int) -> list[tuple[int, int]]:
    taken: list[tuple[int, int]] = []
    left = runs(mask)
    while n > 0:
        enough = [run for run in left if run[1] >= least]
        run = min(enough, key=itemgetter(1)) if enough else max(left, key=itemgetter(1))
        left.remove(run)
        size = min(run[1], n)
        taken.append((run[0], size))
        n -= size
        least -= size
    return taken


def _holding(mask: Bitmap, n: int) -> Bitmap:
    """Return where `n` consecutive members begin: of a run of `n` + k members its first k + 1."""
    done = 1
    while done < n and mask:
        step = min(done, n - done)
        mask &= mask >> step
        done += step
    return mask


def runs_mask(taken: list[tuple[int, int]]) -> Bitmap:
    """Return the set made of disjoint runs."""
    mask = 0
    for first, length in taken:
        mask |= span(first, length)
    return mask


class GresNeed:
    """GRES a job wants in total (``--gpus``, per task): how much the nodes taken so far bring of each kind.

    Parameters
    ----------
    counts
        Wanted of each kind.
    have
        Per node, what it could give of each kind.
    gpus
        Per node, its GPUs, which count beside its CPUs when nodes are given up.
    reserved
        CPUs one of each kind takes (``--cpus-per-gpu``), 0 for none.
    """

    __slots__ = ("counts", "gpus", "have", "reserved")

    def __init__(
        self, counts: tuple[int, ...], have: dict[int, tuple[int, ...]], gpus: dict[int, int],
        reserved: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        self.counts, self.have, self.gpus = counts, have, gpus
        self.reserved = reserved or (0,) * len(counts)

    def brought(self, node: int, cpus: int) -> tuple[list[int], int]:
        """Return how many of each kind `cpus` CPUs of a node bring, and how many CPUs that takes (gres_sched_add)."""
        found, used = [], 0
        for count, each in zip(self.have[node], self.reserved, strict=True):
            brought = min(count, cpus // each) if each else count
            found.append(brought)
            used = max(used, brought * each)
        return found, used or cpus


@dataclass(frozen=True, slots=True)
class Segments(Value):
    """``--segment``: so many nodes are placed together, each such group in blocks of its own where they are `spread`.

    `consolidated`: all groups within the smallest larger block that can hold the job.
    """

    size: int
    consolidated: bool = False
    spread: bool = False


@dataclass(slots=True, init=False)
class Ask:
    """The counts `choose` works to satisfy (names as in facts of job_test.c: minimum, target, maximum nodes)."""

    min_nodes: int
    target_nodes: int
    max_nodes: int
    min_cpus: int
    exclusive: bool
    pn_min_cpus: int
    cpus_per_core: int | npt.NDArray[np.int64]  # by node where they differ
    contiguous: bool
    node_floor: int  # CPUs a node must offer to be used at all
    strict_one: bool
    gres: GresNeed | None = None
    gpu_cpus: int = 0  # CPUs the GPUs of a node bring at least (min_gres_cpu), and those of the job (min_job_gres_cpu)
    job_gpu_cpus: int = 0
    segments: Segments | None = field(default=None, init=False)
    room: Room | None = field(default=None, init=False)  # layers that bound how many nodes it has where

    def __init__(
        self, min_nodes: int, target_nodes: int, max_nodes: int, min_cpus: int, exclusive: bool, pn_min_cpus: int,
        cpus_per_core: int | npt.NDArray[np.int64], contiguous: bool, node_floor: int, strict_one: bool,
        gres: GresNeed | None = None, gpu_cpus: int = 0, job_gpu_cpus: int = 0,
    ) -> None:  # fmt: skip
        self.min_nodes, self.target_nodes, self.max_nodes = min_nodes, target_nodes, max_nodes
        self.min_cpus, self.exclusive, self.pn_min_cpus = min_cpus, exclusive, pn_min_cpus
        self.cpus_per_core, self.contiguous, self.node_floor = cpus_per_core, contiguous, node_floor
        self.strict_one, self.gres, self.gpu_cpus, self.job_gpu_cpus = strict_one, gres, gpu_cpus, job_gpu_cpus
        self.segments = None
        self.room = None

    def core_of(self, node: int) -> int:
        """CPUs of a core of `node`."""
        return self.cpus_per_core if isinstance(self.cpus_per_core, int) else int(self.cpus_per_core[node])


class Evaluator(Protocol):
    """Another way to choose: a tree of switches, blocks, rings or tori."""

    comes_first: bool
    """True if it decides also where nodes have an order."""
    had_whole: bool
    """True if a job may have the units of its nodes to itself (--exclusive=topo)."""
    takes_single: bool
    """True if a job of one node gets the first node that serves, wherever it is in the network."""

    def whole(self, nodes: Bitmap) -> Bitmap:
        """Return `nodes` and all others of the units they are in."""

    def applies(self, nodes: Iterable[int]) -> bool:
        """Return True if it can choose among `nodes`."""

    def leaves_of(self, nodes: Bitmap) -> int:
        """Return how many leaf switches `nodes` are on."""

    def refused(self, n_nodes: int, size: int, n_required: int) -> bool:
        """Return True if no job of so many nodes, some of them required, can have segments of `size` nodes."""

    def evaluate(
        self, ask: Ask, left: dict[int, int], weight: dict[int, int], required: set[int]
    ) -> dict[int, int] | None: ...


def choose(
    ask: Ask, nodes: list[int], cpus: list[int], weights: list[int], required: set[int],
    order: list[int] | None = None, tree: Evaluator | None = None, *, once: bool = False,
) -> dict[int, int] | None:  # fmt: skip
    """Return nodes and the CPUs taken from each, or None.

    Parameters
    ----------
    nodes, cpus, weights
        Candidate nodes in table order with their usable CPUs (> 0) and weights, equally long.
    required
        Nodes that must be among the chosen; all must be candidates.
    order
        The candidates in the order they are to be taken (least loaded first, busy first, from the end); None for
        the best fit over consecutive nodes.
    tree
        Chooses instead, where there is no `order` or it comes first.
    once
        Make the first attempt only.

    Notes
    -----
    When the first attempt fails, nodes offering no more than 1, 2, 3, … CPUs are given up step by step and the
    choice is repeated, as choose_nodes does, including its in-place lowering of counts.
    """
    left = dict(zip(nodes, cpus, strict=True))
    weight = dict(zip(nodes, weights, strict=True))

    def evaluate() -> dict[int, int] | None:
        if ask.room is not None:
            ask.room.empty()
        return _attempt(ask, left, weight, required, order, tree)

    found = evaluate()
    if found is None and ask.room is not None:
        return _choose_with_room(ask, left, required, evaluate)
    if once or found is not None or len(left) <= ask.min_nodes:
        return found
    extra = ask.gres.gpus if ask.gres is not None else {}
    biggest = max((left[node] + extra.get(node, 0) for node in left), default=0)
    for count in range(1, biggest):
        dropped = False
        for node in list(left):
            if left[node] + extra.get(node, 0) <= count and node not in required:
                if len(left) <= ask.min_nodes:
                    break
                del left[node]
                dropped = True
        if not dropped and count != 1:
            continue
        found = evaluate()
        if found is not None or len(left) <= ask.min_nodes:
            return found
    return None


def _choose_with_room(
    ask: Ask, left: dict[int, int], required: set[int], evaluate: Callable[[], dict[int, int] | None]
) -> dict[int, int] | None:
    """Choose anew while nodes are given up one by one: first those with the fewest CPUs times room in their layers.

    That is how releases with such layers do it (common_topo_choose_nodes, 26.05).
    """
    assert ask.room is not None
    room = ask.room
    goes = sorted((node for node in left if node not in required), key=lambda node: left[node] * room.capacity(node))
    for node in goes:
        found = evaluate()
        if found is not None or len(left) <= ask.min_nodes:
            return found
        del left[node]
    return None


def _attempt(
    ask: Ask, left: dict[int, int], weight: dict[int, int], required: set[int], order: list[int] | None,
    tree: Evaluator | None,
) -> dict[int, int] | None:  # fmt: skip
    """One attempt, in the way that comes first."""
    if tree is not None and (order is None or tree.comes_first) and tree.applies(left):
        return tree.evaluate(ask, left, weight, required)
    if order is not None:
        return _evaluate_in_order(ask, left, order, required)
    return _evaluate(ask, left, weight, required)


def choose_spread(
    ask: Ask, idx: npt.NDArray[np.int64], cpus: npt.NDArray[np.int64], weights: npt.NDArray[np.int64]
) -> dict[int, int] | None:
    """Return the first attempt of `choose` for a request that only counts CPUs (one node at least, no more asked).

    The same answer from arrays, for clusters of thousands of nodes (a test compares them); None leaves it to `choose`.
    Arrays have shape (n_candidates,).
    """
    if not len(idx):
        return None
    ends_run = (np.diff(idx) != 1) | (np.diff(weights) != 0)
    first = np.concatenate(([0], np.flatnonzero(ends_run) + 1))
    last = np.concatenate((first[1:], [len(idx)])).tolist()
    sums = np.add.reduceat(cpus, first).tolist()
    weight = weights[first].tolist()
    begin = first.tolist()
    left, room = ask.min_cpus, ask.max_nodes
    taken: dict[int, int] = {}
    open_sets = list(range(len(begin)))
    while open_sets and room > 0:
        best = open_sets[0]
        for k in open_sets[1:]:
            if weight[k] != weight[best]:
                if weight[k] < weight[best]:
                    best = k
            elif sums[k] >= left:
                if sums[best] < left or sums[k] < sums[best]:
                    best = k
            elif sums[k] > sums[best]:
                best = k
        a, b = begin[best], last[best]
        part = cpus[a:b]
        fitting = np.flatnonzero(part >= left)
        if len(fitting):
            only = a + int(fitting[np.argmin(part[fitting])])
            taken[int(idx[only])] = min(int(cpus[only]), max(left, ask.pn_min_cpus))
            return taken
        if room == 1:
            open_sets.remove(best)
            continue
        reach = np.cumsum(part)
        n = min(int(np.searchsorted(reach, left)) + 1, len(part), room)
        given = part[:n].tolist()
        over = int(reach[n - 1]) - left
        if over > 0:
            given[-1] = max(given[-1] - over, min(given[-1], ask.pn_min_cpus))
        taken.update(zip(idx[a : a + n].tolist(), given, strict=True))
        left -= sum(given)
        room -= n
        if left <= 0:
            return taken
        open_sets.remove(best)
    return None


def choose_by_weight(
    ask: Ask, nodes: list[int], cpus: list[int], weights: list[int], required: set[int], per_task: int
) -> dict[int, int] | None:
    """--spread-job since 26.05: a task a node, then more in turn (_eval_nodes_spread, topology/common).

    Of every weight nodes are taken while more are wanted, but one at least: the walk over the weights does not end,
    also beyond the most nodes asked for. (Nodes beyond the number of tasks get no CPU; here they get those of one.)
    """
    room = dict(zip(nodes, cpus, strict=True))
    order = sorted(zip(weights, nodes, strict=True))
    take = _entering(ask.room, required)
    if take is None:
        return None
    taken = dict.fromkeys(required, per_task)
    wanted, most = max(ask.min_nodes, ask.target_nodes) - len(taken), ask.max_nodes - len(taken)
    left = ask.min_cpus - per_task * len(taken)
    while True:
        before, full = most, None
        for weight, node in order if most > 0 else ():
            if weight == full or not take(node):
                continue
            taken[node] = per_task
            wanted, most, left = wanted - 1, most - 1, left - per_task
            if most <= 0 or wanted <= 0:
                full = weight
        spare = sorted(taken)
        while left > 0 and (spare := [node for node in spare if taken[node] < room[node]]):
            for node in spare:
                taken[node] += per_task
                left -= per_task
                if left <= 0:
                    break
        if (left <= 0 and _serves(ask, taken)) or most <= 0 or most == before:
            break
        # slurmctld raises only a 0; below 0 each round still takes one node of every weight
        wanted = wanted or 1
    if left > 0 or len(taken) < ask.min_nodes or not _serves(ask, taken):
        return None
    return {node: max(count, ask.pn_min_cpus) for node, count in taken.items()}


def _entering(room: Room | None, required: set[int]) -> Callable[[int], bool] | None:
    """Return what says, once for each node, that it may be taken: its layers have room. None: not for `required`."""
    entered = set(required)
    if room is not None:
        room.empty()
        if not all(room.take(node) for node in sorted(required)):
            return None

    def enters(node: int) -> bool:
        if node in entered or not (room is None or room.take(node)):
            return False
        entered.add(node)
        return True

    return enters


def _serves(ask: Ask, taken: dict[int, int]) -> bool:
    """Return True if nodes with so many CPUs bring all GRES that the job wants in total."""
    if ask.gres is None:
        return True
    brought = [ask.gres.brought(node, cpus)[0] for node, cpus in taken.items()]
    return all(sum(one[k] for one in brought) >= count for k, count in enumerate(ask.gres.counts))


class Taking:
    """Counters of one evaluation and the rule of how many CPUs a node contributes."""

    __slots__ = ("ask", "gres", "left", "max_nodes", "min_rem", "missing", "rem_cpus", "rem_max", "rem_nodes", "taken")

    def __init__(self, ask: Ask, left: dict[int, int]) -> None:
        self.ask, self.left = ask, left
        self.rem_cpus = ask.min_cpus
        self.min_rem = ask.min_nodes
        self.rem_nodes = max(ask.min_nodes, ask.target_nodes)
        self.max_nodes = ask.max_nodes
        self.taken: dict[int, int] = {}
        self.gres = ask.gres
        self.missing: list[int] = []
        if ask.gres is not None:
            self.missing = list(ask.gres.counts)
            self.rem_nodes = min(ask.min_nodes, ask.target_nodes)
        self.rem_max = max(ask.min_cpus, ask.gpu_cpus * self.rem_nodes, ask.job_gpu_cpus)

    def take(self, node: int) -> bool:
        """Take a node; return False if its layers have no room for it."""
        if self.ask.room is not None and not self.ask.room.take(node):
            return False
        cpus = self.left[node]
        if not self.ask.exclusive:
            room = self.rem_max - max(self.min_rem - 1, 0) * self.ask.core_of(node)
            if cpus > room:
                cpus = max(room, self.ask.pn_min_cpus, self.ask.gpu_cpus)
                self.left[node] = cpus
        self.taken[node] = cpus
        if self.gres is not None:
            brought, cpus = self.gres.brought(node, cpus)
            for k, count in enumerate(brought):
                self.missing[k] -= count
        self.rem_cpus -= cpus
        self.rem_max -= cpus
        self.rem_nodes -= 1
        self.min_rem -= 1
        self.max_nodes -= 1
        return True

    def take_required(self, required: set[int]) -> bool:
        """Take the required nodes first; whether to go on (if not, the request is complete or cannot be met)."""
        order = sorted(required)
        if len(order) > self.max_nodes or any(self.left[node] <= 0 for node in order):
            return False
        if not all(self.take(node) for node in order):
            self.taken.clear()
            self.rem_nodes = max(self.rem_nodes, 1)  # a node it must have does not serve
            return False
        return not order or not (self.done or self.max_nodes <= 0)

    @property
    def done(self) -> bool:
        return self.rem_nodes <= 0 and self.rem_cpus <= 0 and (self.gres is None or self.has_gres)

    @property
    def has_gres(self) -> bool:
        """True if the nodes taken bring all GRES the job wants in total."""
        return all(count <= 0 for count in self.missing)

    def would_have_gres(self, nodes: Sequence[int]) -> bool:
        """Return True if they would with `nodes` too."""
        if self.gres is None:
            return True
        have = self.gres.have
        return all(count <= 0 or sum(have[n][k] for n in nodes) >= count for k, count in enumerate(self.missing))

    def enough(self, n: int) -> bool:
        ask = self.ask
        return n >= (self.rem_nodes + ask.min_nodes - ask.target_nodes if ask.target_nodes > ask.min_nodes
                     else self.rem_nodes)  # fmt: skip


_NO_WEIGHT: Final = -1
_ANY_WEIGHT: Final = -2


@dataclass(slots=True, init=False)
class _Set:
    """A run of neighbouring usable nodes of one weight, the last one's.

    Required nodes count for nothing. One before the others still marks the set (`required`), whatever its own weight,
    where nothing was before it; behind nodes of another weight it ends their set and marks none.
    """

    nodes: list[int]
    cpus: int
    count: int
    weight: int
    required: int | None = None

    def __init__(self, nodes: list[int], cpus: int, count: int, weight: int, required: int | None = None) -> None:
        self.nodes, self.cpus, self.count, self.weight, self.required = nodes, cpus, count, weight, required


def _sets(ask: Ask, left: dict[int, int], weight: dict[int, int], required: set[int]) -> list[_Set]:
    found: list[_Set] = []
    current = _Set([], 0, 0, _ANY_WEIGHT)
    last = -2
    for node in left:  # table order
        usable = (left[node] >= ask.node_floor and left[node] > 0) or node in required
        following: int | None = None
        if node != last + 1 or not usable:
            following = _ANY_WEIGHT
        elif current.weight not in (_ANY_WEIGHT, weight[node]) and not ask.contiguous:
            # slurmctld does not reset the weight of the set it opens here: the next weight closes that one, too
            following = _NO_WEIGHT if current.count else current.weight
        if following is not None:
            if current.count:
                found.append(current)
            current = _Set([], 0, 0, following)
        last = node if usable else -2
        if not usable:
            continue
        if node in required:
            if current.required is None:
                current.required = node
            continue
        current.nodes.append(node)
        current.cpus += left[node]
        current.count += 1
        current.weight = weight[node]
    return [*found, current] if current.count else found


def _sufficient(found: _Set, taking: Taking) -> bool:
    if found.cpus < taking.rem_cpus or not taking.enough(found.count):
        return False
    return taking.gres is None or taking.would_have_gres([n for n in found.nodes if n not in taking.taken])


def _better(new: _Set, best: _Set | None, taking: Taking) -> bool:
    if best is None:
        return True
    sufficient = _sufficient(new, taking)
    best_sufficient = _sufficient(best, taking)
    if best.required is None and new.required is not None:
        return True
    if new.weight < best.weight:
        return True
    if new.weight == best.weight:
        if sufficient and not best_sufficient:
            return True
        if sufficient and new.cpus < best.cpus:
            return True
        if not sufficient and new.cpus > best.cpus:
            return True
    return taking.ask.contiguous and not best_sufficient and sufficient


def _evaluate(ask: Ask, left: dict[int, int], weight: dict[int, int], required: set[int]) -> dict[int, int] | None:
    """One attempt; lowers `left` for nodes taken in part, as the original does."""
    if len(left) < ask.min_nodes or any(node not in left for node in required):
        return None
    taking = Taking(ask, left)
    if not taking.take_required(required):
        return taking.taken if taking.done else None
    sets = _sets(ask, left, weight, required)
    while sets and taking.max_nodes > 0:
        best: _Set | None = None
        for candidate in sets:
            if ask.contiguous and required and candidate.required is None:
                continue
            if _better(candidate, best, taking):
                best = candidate
        if best is None:
            break
        # nodes of a second set would not be side by side with these
        if ask.contiguous and not _sufficient(best, taking):
            return None
        if _take_from(best, taking):
            return taking.taken
        sets.remove(best)
    # -N a-b: the target may be missed where the minimum is not
    return taking.taken if taking.rem_cpus <= 0 and taking.enough(0) and taking.has_gres else None


def _evaluate_in_order(
    ask: Ask, left: dict[int, int], order: list[int], required: set[int]
) -> dict[int, int] | None:  # fmt: skip
    """One attempt that walks the nodes in a given order instead of looking for neighbours."""
    if len(left) < ask.min_nodes or any(node not in left for node in required):
        return None
    taking = Taking(ask, left)
    if not taking.take_required(required):
        return taking.taken if taking.done else None
    for node in order:
        if node in taking.taken or left.get(node, 0) < max(ask.node_floor, 1):
            continue
        taking.take(node)
        if taking.done:
            return taking.taken
        if taking.max_nodes <= 0:
            break
    return taking.taken if taking.rem_cpus <= 0 and taking.enough(0) and taking.has_gres else None


def _take_from(chosen: _Set, taking: Taking) -> bool:
    """Take nodes of one set; whether the request is complete."""
    left, taken = taking.left, taking.taken
    nodes = chosen.nodes
    if chosen.required is not None:
        at = bisect_left(nodes, chosen.required)
        # up, then down from the first required node, so that the others are its neighbours
        for node in nodes[at:] + nodes[:at][::-1]:
            if node not in taken and left[node] > 0:
                taking.take(node)
                if taking.max_nodes <= 0 or taking.done:
                    return taking.done
        return taking.done
    if taking.rem_nodes <= 1:
        fitting = [
            node for node in nodes
            if node not in taken and left[node] >= taking.rem_cpus
            and (taking.gres is None or taking.would_have_gres((node,)))
        ]  # fmt: skip
        if fitting:
            only = min(fitting, key=left.__getitem__)
            nodes = [only]
    for node in nodes:
        if node in taken or left[node] <= 0:
            continue
        # the last node allowed has to bring all that is missing
        if taking.max_nodes == 1 and left[node] < taking.rem_cpus:
            continue
        taking.take(node)
        if taking.max_nodes <= 0 or taking.done:
            break
    return taking.done


def distribute(
    min_cpus: int, least: int, taken: list[int], cpus_per_task: int, tasks_per_node: int, grain: list[int],
    tasks: int = 0, gpu_cpus: int = 0, *, one_each: bool = False,
) -> list[int]:  # fmt: skip
    """CPUs each chosen node finally gives, of a request for `min_cpus` in all and at least `least` of each node.

    `taken` are in node order, `grain` is the smallest share of each node.

    One task to every node first, then rounds over the nodes in order, one task each where there is room, then up to
    whole shares (dist_tasks.c, block distribution). `tasks`: so many are dealt, where that is not as many as there
    may be on these nodes. `gpu_cpus`: CPUs the job's GPUs bring, of each node for `one_each`: every node gets one task.
    """
    hosts = len(taken)
    total = max(hosts * max(1, tasks_per_node), min_cpus, hosts * least, gpu_cpus)
    if tasks:
        total = tasks * cpus_per_task
    if one_each:
        given = [max(min(cpus_per_task, a), gpu_cpus) for a in taken]
    elif cpus_per_task == 1 and not tasks_per_node and sum(taken) == total:
        given = taken
    else:
        room = [max(1, a // cpus_per_task) for a in taken]
        if tasks_per_node:
            room = [min(r, tasks_per_node) for r in room]
        shares = [max(share // cpus_per_task, 1) for share in grain]
        tasks_to_deal = total // cpus_per_task
        dealt = _rounds(room, tasks_to_deal) if max(shares) == 1 else _rounds_of_cores(room, tasks_to_deal, shares)
        short = tasks_to_deal - sum(room)
        if short > 0 and not tasks_per_node:  # CPUs enough, but not for whole tasks on every node: the first get more
            dealt = [d + (short + hosts - 1 - i) // hosts for i, d in enumerate(dealt)]
        given = [min(max(t * cpus_per_task, 0 if tasks else least), a) for t, a in zip(dealt, taken, strict=True)]
    return given if max(grain) == 1 else [-(-g // share) * share for g, share in zip(given, grain, strict=True)]


def _rounds_of_cores(room: list[int], tasks: int, shares: list[int]) -> list[int]:
    """Return the rounds if a core takes several tasks: after the first ones a node gets as many as fill a core."""
    dealt = [1] * len(room)
    left = tasks - len(room)
    for sizes in itertools.chain([[int(share > 1) for share in shares]], itertools.repeat(shares)):
        before = left
        for k, size in enumerate(sizes):
            more = max(min(size, room[k] - dealt[k], left), 0)
            dealt[k] += more
            left -= more
        if left <= 0 or (left == before and sizes is shares):
            return dealt
    raise AssertionError("rounds go on until no node has room")


def _rounds(room: list[int], tasks: int) -> list[int]:
    """Tasks a node after dealing `tasks` out in rounds, at least one and at most `room` a node."""
    if len(room) == 1:
        return [max(1, min(room[0], tasks))]
    if sum(room) <= tasks:
        return room
    low, high = 1, max(room)
    while low < high:  # the last round that is dealt to everybody who has room
        level = (low + high + 1) // 2
        if sum(min(r, level) for r in room) <= tasks:
            low = level
        else:
            high = level - 1
    dealt = [min(r, low) for r in room]
    left = tasks - sum(dealt)
    for i, r in enumerate(room):
        if left <= 0:
            break
        if r > low:
            dealt[i] += 1
            left -= 1
    return dealt
