"""Which nodes a job gets, and which share of them, out of what is free now or in any hypothetical state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from slurmsim.bitmap import Bitmap, from_ascending, lowest, to_bools, to_indices
from slurmsim.bitmap import runs as bit_runs
from slurmsim.core.placement.best_fit import (
    Ask,
    choose,
    choose_by_weight,
    choose_spread,
    distribute,
    pick_equal,
    runs_mask,
)
from slurmsim.core.placement.compiled_request import CompiledRequest, GuessedRequest
from slurmsim.core.placement.counted_gres import CountedGres
from slurmsim.core.placement.dealt_tasks import share_cpus, too_many
from slurmsim.core.placement.free_state import FreeState, Supposed
from slurmsim.core.placement.gres import (
    NEAR,
    all_of,
    beside_tasks,
    cpus_of_tasks,
    gpu_cpus,
    grant,
    has_devices,
    offer,
    preference,
    totals,
    untouched,
    wants_shares,
)
from slurmsim.core.placement.gres import usable as usable_gres
from slurmsim.core.placement.linear_fit import choose_linear
from slurmsim.core.placement.near_placing import Held, Offers, first_try, hold, is_near, offer_near
from slurmsim.core.placement.shared_layers import SharedLayers
from slurmsim.core.placement.sharing import trials
from slurmsim.core.records.allocation import Allocation, IntArray, Share
from slurmsim.core.records.node_table import NodeTable
from slurmsim.core.records.release_rules import ReleaseRules
from slurmsim.core.records.shared_cores import Taken

ASLEEP_BITS: Final = 40  # above any weight
OUTSIDE_BITS: Final = 41  # above that

Trim = Callable[[FreeState, int], FreeState]


class Bias(NamedTuple):
    """What else than their weight draws a job to nodes: `prefer` before all others, `heavier` weigh one more."""

    prefer: Bitmap
    heavier: Bitmap


UNBIASED: Final = Bias(0, 0)


class Placer:
    """Placement over one node table.

    Parameters
    ----------
    memory_consumable
        Whether SelectTypeParameters makes memory a resource (``*_Memory``).
    busy_first
        bf_busy_nodes: what is planned for later goes to nodes in use now.
    serial_last
        pack_serial_at_end: jobs of one CPU go to the last nodes.
    """

    def __init__(
        self, table: NodeTable, rules: ReleaseRules, *, memory_consumable: bool, busy_first: bool = False,
        serial_last: bool = False,
    ) -> None:  # fmt: skip
        self.table, self.rules = table, rules
        self.memory_consumable = memory_consumable
        self.busy_first, self.serial_last = busy_first, serial_last
        self.asleep: Bitmap = 0  # nodes powered down, which come after all others
        self.layers: SharedLayers | None = None  # hierarchical resources; None where there are none
        # what is remembered: until the running jobs change whether a request fits, and for good the indices of nodes
        self._fitting: dict[tuple[CompiledRequest, Bitmap], bool] = {}
        self._index_memory: dict[Bitmap, IntArray] = {}
        self._counted: tuple[Bitmap, Bitmap, Bitmap, Bitmap, Bitmap, int] = (0, 0, 0, 0, 0, 0)
        # backfill plans the head of the queue on the same nodes cycle after cycle
        self._picked: dict[tuple[Bitmap, int, int], list[tuple[int, int]]] = {}
        self._asks_ever = False  # `could_serve` asks, for which one node with enough GRES is enough
        self.tried: dict[int, int] = {}  # by node, what one test of the future has found of GPUs there so far

    @property
    def takes_runs(self) -> bool:
        """True if equal whole nodes are taken by runs alone (`pick_equal`), unless a partition wants others.

        First of those that are not powered down.
        """
        return not (self.busy_first or self.serial_last or self.rules.first_node_serves)

    def possible(self, request: CompiledRequest) -> bool:
        """Return True if the request could ever run on the cluster as configured, all nodes up and free."""
        if request.possible is None:
            request.possible = self.could_serve(request)
        return request.possible

    def cpus_when_empty(self, request: CompiledRequest) -> int:
        """Return the CPUs the request gets if all nodes are up and free; those it asks for if none could serve it."""
        if request.cpus_when_empty is None:
            found = self.place(request, Supposed.empty(self.table))
            request.cpus_when_empty = request.min_cpus if found is None else found.n_cpus
        return request.cpus_when_empty

    def could_serve(self, request: CompiledRequest, within: Bitmap | None = None) -> bool:
        """Return True if the nodes, all or those of `within`, could serve the request if no job had them.

        A job with more tasks than its CPUs can take passes: it waits for resources. So does one that wants fewer
        switches than its nodes lie on: it waits for them as long as it may.
        """
        short, request.tasks_short = request.tasks_short, 0
        switches, request.switches = request.switches, 0
        self._asks_ever = True
        found = self.place(request, Supposed.empty(self.table), within, rough=True)
        request.tasks_short, request.switches, self._asks_ever = short, switches, False
        return found is not None

    def fits(self, request: CompiledRequest, within: Bitmap | None = None) -> bool:
        """Return True if the request could start now (inside `within` when given)."""
        if request.by_count:
            need = request.node_need
            return need <= request.max_nodes and self._idle(request.candidates, within)[1] >= need
        return self.place(request, self.table, within) is not None

    def _idle(self, candidates: Bitmap, within: Bitmap | None) -> tuple[Bitmap, int]:
        """Return the usable nodes without a job of `candidates` inside `within`, and how many they are.

        A pass asks this of the same sets again and again while nothing starts; counting 18,688 bits takes a while.
        """
        table, everything = self.table, self.table.everything
        if within is None or within == everything:
            within = everything
            if candidates == everything:
                return table.idle_of(everything)
        idle, up, of, inside, mask, n = self._counted
        if not (idle == table.idle and up == table.up and of == candidates and inside == within):
            mask, n = table.idle_of(candidates & within)
            self._counted = table.idle, table.up, candidates, within, mask, n
        return mask, n

    def could_start(self, request: CompiledRequest, within: Bitmap) -> bool:
        """As `fits`, remembered until the running jobs change."""
        if request.by_count:
            return self.fits(request, within)
        key = (request, within & request.candidates)
        known = self._fitting.get(key)
        if known is None:
            known = self._fitting[key] = self.fits(request, within)
        return known

    def place(
        self, request: CompiledRequest, free: FreeState, within: Bitmap | None = None, *, rough: bool = False,
        later: bool = False, prefer: Bitmap = 0, heavier: Bitmap = 0,
    ) -> Allocation | None:  # fmt: skip
        """Return nodes and shares for the request out of `free`, or None.

        `rough` leaves the shares out of a part-node allocation: only its nodes are wanted. `later`: for a start in
        the future, which bf_busy_nodes treats differently. `prefer`: nodes taken before all others.
        `heavier`: nodes that weigh one more than they do.
        """
        if request.max_nodes < request.min_nodes:
            return None
        if request.whole and free is self.table:
            mask, n = self._idle(request.candidates, within)
        else:
            mask = (free.idle if request.whole else free.idle | free.mixed) & free.up & request.candidates
            if within is not None:
                mask &= within
            n = mask.bit_count()
        if request.asked.layered[0]:
            mask &= self._covered(request)
            n = mask.bit_count()
        if n < request.min_nodes:
            return None
        if request.required and request.required & ~mask:
            return None
        if prefer and (mask & prefer).bit_count() >= request.min_nodes:
            inside = self.place(request, free, mask & prefer, rough=rough, later=later, heavier=heavier)
            if inside is not None:
                return inside
        bias = UNBIASED
        if prefer or heavier:  # a preference for no candidate, or for all, changes no choice
            prefer, heavier = (0 if some & mask == mask else some & mask for some in (prefer, heavier))
            bias = Bias(prefer, heavier) if prefer or heavier else UNBIASED
        if request.by_count and bias is UNBIASED:
            return self.choose_whole(request, mask, later, n)
        if request.kinds:  # [a|b]: the first kind that can serve alone
            tries = (self._place_in(request, free, mask & kind, rough, later, bias) for kind in request.kinds)
            return next((a for a in tries if a is not None), None)
        return self._place_in(request, free, mask, rough, later, bias)

    def _covered(self, request: CompiledRequest) -> Bitmap:
        """Return the nodes in a layer of the hierarchical resource that each node of the job takes a count of."""
        covered = self.table.everything if self.layers is None else self.layers.covered[request.asked.layered[0]]
        return covered

    def _place_in(
        self, request: CompiledRequest, free: FreeState, mask: Bitmap, rough: bool, later: bool, bias: Bias
    ) -> Allocation | None:
        """Choose among the nodes of `mask` one by one; where cores are shared, in Slurm's order of trials."""
        if free.cores is None or request.whole:
            return self.choose_among(request, free, mask, None, rough, later, bias)
        for nodes, busy in trials(free.cores, request, mask):
            found = self.choose_among(request, free, nodes, busy, rough, later, bias)
            if found is not None:
                if not rough:
                    cores = free.cores.pick(found, busy)
                    found.share = Share(cores, request.partition.index, request.sharing == "one")
                return found
        return None

    def choose_among(
        self,
        request: CompiledRequest,
        free: FreeState,
        mask: Bitmap,
        busy: Taken | None,
        rough: bool,
        later: bool,
        bias: Bias,
    ) -> Allocation | None:
        """Return nodes of `mask` and shares of them; `busy` says which cores count as taken (None: those that are)."""
        if mask.bit_count() < request.min_nodes or request.required & ~mask:
            return None
        if request.whole:
            idx = to_indices(mask)
            has = self.table.cpus if request.own_cpus is None else request.own_cpus
            cpus = request.used_of(has[idx], self.table.grain[idx])
            if not (self.table.sharing.several or self._asks_ever) and wants_shares(request.gres, self.table):
                cpus = np.where(self._several_gpus(idx), 0, cpus)  # of which it may not have shares together
            if request.task_cpus:
                cpus = cpus - cpus % request.task_cpus
        else:
            idx = self._indices(mask)
            free_cpus = free.free_cpus[idx] if busy is None or free.cores is None else free.cores.left(idx, busy)
            if request.all_cores and free.cores is None:  # the gang scheduler has the rows, not the node table
                free_cpus = np.where(free_cpus == self.table.cpus[idx], free_cpus, 0)
            cpus = self._usable(request, free, idx, free_cpus)
            if request.all_cores:
                cpus = np.where(untouched(self.table, free.free_gres, idx), cpus, 0)
        if request.asked.tasks_per_socket:
            cpus = np.minimum(cpus, self.table.sockets(idx) * self._cpus_of_socket(request, idx))
        have = near = None
        offers: Offers = {}
        if request.gres:
            have = usable_gres(request.gres, free.free_gres, idx, request.mem_gpu, free.free_mem[idx])
            by_cores = is_near(request, free, self.table)
            guess = first_try(request, self.rules) if by_cores else request.guess(self.rules)
            if guess is not None:
                found = self.choose_among(guess, free, mask, busy, rough, later, bias)
                if found is not None:
                    return found
            any_gpus = request.exclusive and not (self.rules.first_node_serves and request.strict_one)
            near = preference(request.sure_gres, have, cpus, any_gpus)
            usable = cpus
            cpus, have = self.offer(request, idx, have, cpus)
            if by_cores:
                offers = offer_near(request, free, self.table, idx, usable, cpus, have, near, self.rules)
        keep = cpus > 0
        if not keep.all():
            idx, cpus = idx[keep], cpus[keep]
            have, near = (None, None) if have is None or near is None else (have[:, keep], near[keep])
        return self._place_general(request, free, idx, cpus, have, near, rough, later, bias, offers)

    def _several_gpus(self, idx: IntArray) -> npt.NDArray[np.bool_]:
        """Return which nodes of `idx` have more GPUs than one, shape (len(idx),)."""
        gpus = [kind for kind, (name, _) in enumerate(self.table.gres_kinds) if name == "gpu"]
        found: npt.NDArray[np.bool_] = self.table.gres[gpus][:, idx].sum(axis=0) > 1
        return found

    def offer(
        self, request: CompiledRequest, idx: IntArray, have: IntArray, cpus: IntArray
    ) -> tuple[IntArray, IntArray]:
        """CPUs and GRES nodes `idx` can offer, `have` and `cpus` of which are free; arrays of shape (…, len(idx))."""
        grain = self.table.grain[idx]
        guessed = self.rules.guesses_cpus_of_gres and isinstance(request, GuessedRequest)
        by_node = self.rules.gpu_cpus_by_node or guessed
        others = request.min_nodes - 1 if by_node else None
        return offer(
            request.gres, have, cpus, request.cpus_per_task, request.most_tasks, grain, request.exclusive, others,
            request.sure_tasks,
        )  # fmt: skip

    def _indices(self, mask: Bitmap) -> IntArray:
        """`to_indices`, remembered: backfill asks about the same few node sets again and again."""
        idx = self._index_memory.get(mask)
        if idx is None:
            if len(self._index_memory) >= 1024:
                self._index_memory.clear()
            idx = self._index_memory[mask] = to_indices(mask)
        return idx

    def choose_whole(
        self, request: CompiledRequest, mask: Bitmap, later: bool = False, n: int | None = None
    ) -> Allocation | None:
        """Equal whole nodes out of the `n` of `mask`; for ``-N a-b`` as many as there are, up to the target."""
        if n is None:
            n = mask.bit_count()
        need = self._need(request, n)
        if need > request.max_nodes or need > n:
            return None
        taken = self._pick_runs(request, mask, need, request.node_need, later, self.table.idle)
        chosen = runs_mask(taken)
        taken.sort()
        return self._whole(request, chosen, taken, need, need * request.cpus_each)

    @staticmethod
    def _need(request: CompiledRequest, n: int) -> int:
        return max(request.node_need, min(request.most_needed, n))

    def _pick_whole(self, request: CompiledRequest, mask: Bitmap, later: bool, idle: Bitmap) -> Bitmap:
        """Return the nodes `choose_whole` would take of `mask`, which has enough, if `idle` are without a job."""
        need = self._need(request, mask.bit_count())
        return runs_mask(self._pick_runs(request, mask, need, request.node_need, later, idle))

    def _pick_runs(
        self, request: CompiledRequest, mask: Bitmap, need: int, least: int, later: bool, idle: Bitmap
    ) -> list[tuple[int, int]]:
        """`need` equal whole nodes out of `mask`, of which `least` would do, as runs (first, length) as taken."""
        if self.asleep & mask:
            awake = mask & ~self.asleep
            some = awake.bit_count()
            if some:
                # nodes powered down outweigh all others (ASLEEP_BITS): they bring only what is missing
                if some >= need:
                    return self._pick_runs(request, awake, need, least, later, idle)
                rest = runs_mask(self._pick_runs(request, mask & self.asleep, need - some, least - some, later, idle))
                return bit_runs(awake | rest)
        if self.rules.first_node_serves and 1 in (request.max_nodes, request.n_tasks):
            return bit_runs(lowest(mask, need))
        if later and self.busy_first:
            idle &= mask
            busy = mask ^ idle
            some = min(need, busy.bit_count())
            return bit_runs(lowest(busy, some) | lowest(idle, need - some))
        if request.least_loaded:
            return bit_runs(lowest(mask, need))
        if self.serial_last and request.min_cpus == request.min_nodes == 1:
            return bit_runs(mask ^ lowest(mask, mask.bit_count() - need))
        # backfill asks for the same plans cycle after cycle; a start changes the mask
        if not later:
            taken = pick_equal(mask, need, least)
            assert taken is not None
            return taken
        key = mask, need, least
        found = self._picked.get(key)
        if found is None:
            found = pick_equal(mask, need, least)
            assert found is not None
            if len(self._picked) >= 4096:
                self._picked.clear()
            self._picked[key] = found
        return found.copy()

    def whole_nodes(self, request: CompiledRequest, chosen: Bitmap, n_nodes: int) -> Allocation:
        """Return the allocation of the `n_nodes` whole nodes `chosen`, whatever is free."""
        n_cpus = int(self.table.cpus[to_indices(chosen)].sum())
        return self._whole(request, chosen, None, n_nodes, n_cpus)

    def _whole(
        self, request: CompiledRequest, chosen: Bitmap, runs: list[tuple[int, int]] | None, n_nodes: int, n_cpus: int
    ) -> Allocation:
        cpus: int | IntArray
        if request.uniform:
            cpus = request.cpus_each
        else:
            cpus = self.table.cpus[to_indices(chosen)]
        mem: int | IntArray = 0
        if self.memory_consumable:
            if request.mem_all:
                mem = self.table.mem[to_indices(chosen)]
            elif request.mem_cpu:
                counted = cpus
                if request.memory.by_thread:
                    counted = request.memory_counted(cpus, self.table.grain[to_indices(chosen)])
                mem = request.memory_of(counted)
                if request.own_cpus is not None:
                    mem = request.told_mem_cpu * request.cpus_of_its_own(to_indices(chosen), self.table)
            else:
                mem = request.mem_node
        gres: tuple[tuple[int, IntArray], ...] = ()
        if request.exclusive and self.table.gres_kinds:  # all that its nodes have, whatever it asks for
            idx = to_indices(chosen)
            gres = all_of(self.table, idx, request.gres)
            mem = self._memory_of_gpus(request, gres, mem, len(idx)) if request.gres else mem
        return Allocation(chosen, True, n_nodes, n_cpus, cpus, mem, gres, runs=runs)

    def _cpus_of_socket(self, request: CompiledRequest, idx: IntArray) -> int | IntArray:
        """Return the CPUs of a socket of each node that --ntasks-per-socket lets a job have.

        Beside GPUs that bring CPUs, and before 24.11 always, the cores of its tasks count, with all their threads.
        """
        per_task = request.asked.cpus_per_task * request.charge
        brought = not request.per_gpu.reserved and any(d.cpus for d in request.sure_gres)
        if brought:
            per_task = max([per_task, *(d.count * d.cpus for d in request.sure_gres if d.scope == "task")])
        each = request.asked.tasks_per_socket * per_task
        if self.rules.socket_tasks_by_cpu and not brought:
            return each
        grain = self.table.grain[idx]
        return -(-each // grain) * grain // per_task * per_task

    def _usable(self, request: CompiledRequest, free: FreeState, idx: IntArray, cpus: IntArray) -> IntArray:
        """Return those of the free `cpus` of nodes `idx` this request could use, 0 where none; shape (len(idx),)."""
        table, grain = self.table, self.table.grain[idx]
        if request.max_cpus_per_node is not None:
            used = free.used_by[request.partition.index][idx]
            cpus = np.minimum(cpus, request.max_cpus_per_node - used)
        cpus = request.used_of(cpus, grain)
        if request.mem_all:
            cpus = np.where(free.free_mem[idx] == table.mem[idx], cpus, 0)
        elif request.mem_cpu:
            of_core = request.memory_counted(grain, grain)
            cores = free.free_mem[idx] // request.mem_cpu // of_core
            cpus = np.minimum(cpus, cores * request.used_each(grain))
        elif request.mem_node:
            cpus = np.where(free.free_mem[idx] >= request.mem_node, cpus, 0)
        if request.all_cores:  # it is charged for all, which the memory must suffice for
            cpus = np.where(cpus == request.used_of(table.cpus[idx], grain), cpus, 0)
        if request.task_cpus:
            cpus = cpus - cpus % request.task_cpus
        if self.rules.offers_for_tasks and (most := request.offers_for_tasks):
            cpus = np.minimum(cpus, most)
        return np.where(cpus >= request.least_offer, cpus, 0)

    def _ask(self, request: CompiledRequest, idx: IntArray) -> Ask:
        min_nodes, max_nodes = request.bounds
        if self.rules.first_node_serves and request.tasks_per_node and not request.asked.max_nodes:
            max_nodes = min_nodes  # sbatch asks for as many as the tasks fill
        each = request.used_each(self.table.grain[idx])
        grain = int(each[0]) if len(idx) else 1
        cores = grain if (each == grain).all() else request.used_each(self.table.grain)
        ask = Ask(
            min_nodes, max(request.target_nodes, min_nodes), max_nodes, request.min_cpus,
            request.whole or request.all_cores, request.least_given, cores, request.contiguous, request.floor,
            request.strict_one, None, gpu_cpus(request.sure_gres, None), gpu_cpus(request.sure_gres, request.min_nodes),
        )  # fmt: skip
        ask.segments = request.segments
        if self.layers is not None:
            ask.room = self.layers.room(request.asked.layered)
        return ask

    def _place_general(
        self, request: CompiledRequest, free: FreeState, idx: IntArray, cpus: IntArray, have: IntArray | None,
        near: IntArray | None, rough: bool, later: bool, bias: Bias, offers: Offers,
    ) -> Allocation | None:  # fmt: skip
        if len(idx) == 0 or int(cpus.sum()) < request.min_cpus:
            return None
        ask = self._ask(request, idx)
        weights = self.table.weight[idx]
        if self.asleep:
            weights = weights + (to_bools(self.asleep, self.table.n)[idx].astype(np.int64) << ASLEEP_BITS)
        if bias.prefer:
            weights = weights + ((~to_bools(bias.prefer, self.table.n)[idx]).astype(np.int64) << OUTSIDE_BITS)
        if bias.heavier:
            weights = weights + to_bools(bias.heavier, self.table.n)[idx]
        if have is not None and near is not None:
            # near GRES decides among nodes of equal weight, never against the weight
            weights = weights * (NEAR + 1) + near
            ask.gres = totals(request.gres, have, idx)
        required = set(to_indices(request.required).tolist()) if request.required else set()
        if request.counted:
            found = self._pick_counted(request, ask, idx, cpus, weights, required)
            if found is None:
                return None
            required = found
        single = request.tree is None or request.tree.takes_single
        if self.rules.first_node_serves and ask.max_nodes == 1 and single:
            taken = self._take_first(request, ask, idx, cpus, weights, required, later)
        elif request.contiguous and self.table.unit == "node":
            taken = self._take_lightest(request, ask, idx, cpus, weights, required, later)
        else:
            taken = self._take(request, ask, idx, cpus, weights, required, later)
        if taken is None:
            return None
        short = request.tasks_short
        if short and too_many(short, taken.values(), request.cpus_per_task, request.asked, self.rules):
            return None
        nodes = sorted(taken)
        if request.switches and request.leaves_of(from_ascending(nodes)) > request.switches:
            return None
        if rough:
            return Allocation(from_ascending(nodes), request.whole, len(nodes), 0, 0, 0)
        offered = cpus[np.searchsorted(idx, nodes)].tolist() if request.gres else ()
        return self._allocation(request, free, nodes, [taken[n] for n in nodes], offered, offers, tuple(taken))

    def _take_first(
        self, request: CompiledRequest, ask: Ask, idx: IntArray, cpus: IntArray, weights: IntArray,
        required: set[int], later: bool,
    ) -> dict[int, int] | None:  # fmt: skip
        """As `_take`, the first of the lightest nodes that serves alone.

        GRES of a job or its tasks are counted over all nodes tried (gres_sched_test), and the node that completes the
        count is taken. Where that node alone has too few the job finds no place, though another one has enough
        (gres_select_filter_select_and_set); so it is accepted, and waits for ever. Devices that have neither types nor
        cores beside them are counted alone, and it starts with those the node has. A test of the future tries nodes
        that it has tried before behind others.
        """
        counts = CountedGres(ask.gres)
        makes_tasks = any(demand.task_cpus for demand in request.gres)  # which one node has to have room for
        known = self.tried if later and ask.gres is not None else {}
        near = weights % (NEAR + 1)
        if ask.gres is not None:  # nodes are in order before it is known how many GPUs are near
            weights = weights - near + np.array([known.get(node, 0) for node in idx.tolist()], np.int64)
        for k in np.lexsort((idx, weights)):
            known[int(idx[k])] = int(near[k])
            if required and int(idx[k]) not in required:
                continue
            complete, alone = counts.add(int(idx[k]), int(cpus[k]))
            serves = alone or (complete and not makes_tasks) if self._asks_ever else complete
            if not serves or cpus[k] < ask.min_cpus:
                continue
            one = slice(k, k + 1)
            # it is asked for no more GRES than it has where no test finds out that they are too few
            trusted = not (alone or makes_tasks) and (
                self._asks_ever or not has_devices(request.gres, self.table, int(idx[k]))
            )
            asked = replace(ask, gres=None) if trusted else ask
            asked.room = ask.room
            taken = self._take(request, asked, idx[one], cpus[one], weights[one], required, False)
            if taken is not None or not alone:
                return taken
        return None

    def _take_lightest(
        self, request: CompiledRequest, ask: Ask, idx: IntArray, cpus: IntArray, weights: IntArray,
        required: set[int], later: bool,
    ) -> dict[int, int] | None:  # fmt: skip
        """As `_take`, of the lightest nodes that serve: select/linear is asked with ever heavier ones beside them.

        Other plugins are given all nodes at once, and look for those side by side before they look at weights.
        """
        for weight in np.unique(weights):
            light = weights <= weight
            taken = self._take(request, ask, idx[light], cpus[light], weights[light], required, later)
            if taken is not None:
                return taken
        return None

    def _take(
        self,
        request: CompiledRequest,
        ask: Ask,
        idx: IntArray,
        cpus: IntArray,
        weights: IntArray,
        required: set[int],
        later: bool,
    ) -> dict[int, int] | None:
        """Return nodes of `idx` and CPUs taken from each."""
        if required and not set(idx.tolist()).issuperset(required):
            return None
        if request.spread and self.rules.spreads_by_weight and ask.max_nodes != 1 and request.tree is None:
            lists = idx.tolist(), cpus.tolist(), weights.tolist()
            return choose_by_weight(ask, *lists, required, request.cpus_per_task)
        order = self._order(request, idx, cpus, weights, later)
        plain = not (ask.contiguous or ask.gres or ask.gpu_cpus or ask.room)
        counted = plain and not ask.exclusive and ask.min_nodes == ask.target_nodes == 1
        if counted and order is None and not required and request.tree is None:
            taken = choose_spread(ask, idx, cpus, weights)
            if taken is not None:
                return taken
        offered = ask, idx.tolist(), cpus.tolist(), weights.tolist(), required
        if self.table.unit == "node" and not request.uniform and order is None and plain and request.tree is None:
            return choose_linear(*offered)
        return choose(*offered, order, request.tree, once=isinstance(request, GuessedRequest))

    def _pick_counted(
        self, request: CompiledRequest, ask: Ask, idx: IntArray, cpus: IntArray, weights: IntArray, required: set[int]
    ) -> set[int] | None:
        """``a*2``: choose the nodes of each kind in turn; they are required nodes of the final choice."""
        chosen = set(required)
        for kind, count in request.counted:
            is_kind = to_bools(kind, self.table.n)
            need = count if request.apart else count - sum(bool(is_kind[n]) for n in chosen)
            if need <= 0:
                continue
            among = is_kind[idx] & ~np.isin(idx, sorted(chosen))
            few = replace(ask, min_nodes=need, target_nodes=need, min_cpus=need, gres=None)
            few.room = ask.room
            taken = self._take(request, few, idx[among], cpus[among], weights[among], set(), False)
            if taken is None:
                return None
            chosen |= set(taken)
        return chosen

    def _order(
        self, request: CompiledRequest, idx: IntArray, cpus: IntArray, weight: IntArray, later: bool
    ) -> list[int] | None:
        """Return the order of taking nodes if it is not the best fit over neighbours; lighter nodes come first."""
        if request.spread:
            return [int(i) for i in idx[np.lexsort((idx, weight))]]
        if later and self.busy_first and not request.contiguous:
            idle = to_bools(self.table.idle, self.table.n)[idx]
            return [int(i) for i in idx[np.lexsort((idx, weight, idle))]]
        if request.least_loaded:
            load = -cpus / self.table.cpus[idx]
            return [int(i) for i in idx[np.lexsort((idx, load, weight))]]
        if self.serial_last and request.min_cpus == request.min_nodes == 1:
            return [int(i) for i in idx[np.lexsort((-idx, weight))]]
        return None

    def _allocation(
        self, request: CompiledRequest, free: FreeState, nodes: list[int], each: list[int],
        offered: Sequence[int] = (), offers: Offers | None = None, order: Sequence[int] = (),
    ) -> Allocation | None:  # fmt: skip
        """Return the allocation of the ascending nodes, with what the job gets of the CPUs `each` it may have.

        `offered`: CPUs each node could give a request with GRES; `offers` of nodes where it matters which, taken in
        `order`. None if cores and devices of these nodes do not go together.
        """
        table = self.table
        idx = np.fromiter(nodes, np.int64, len(nodes))
        chosen = from_ascending(nodes)
        if request.whole:
            return self._whole(request, chosen, None, len(nodes), int(table.cpus[idx].sum()))
        by_thread = request.memory.by_thread
        whole_grain = not by_thread and table.uniform_grain
        grain = [whole_grain] * len(nodes) if whole_grain else request.used_each(table.grain[idx]).tolist()
        together = share_cpus(request.asked, self.rules)
        brought = self._brought(request, len(nodes), together)
        per_node = 0 if request.tasks_anywhere else request.tasks_per_node
        dealt = 0 if together else self._dealt(request, per_node)
        given = distribute(
            request.min_cpus, request.least_given, each, request.cpus_per_task, per_node, grain, dealt, brought,
            one_each=together,
        )  # fmt: skip
        given = beside_tasks(request.sure_gres, given, each, per_node, by_node=self.rules.gpu_cpus_by_node)
        if brought and self.rules.gpu_cpus_by_node and any(d.cpus and d.scope != "node" for d in request.sure_gres):
            given = list(offered)
        if request.all_cores:
            cpus = table.cpus[idx]
        else:
            cpus = np.fromiter(given, np.int64, len(given))
            if by_thread:
                cpus = request.given_for(cpus, table.grain[idx])
        made = self._devices(request, free, idx, cpus, each, offers or {}, order)
        if made is None:
            return None
        cpus, gres, held = made
        mem: int | IntArray = request.mem_node
        if request.mem_all:
            mem = table.mem[idx]
        elif request.mem_cpu:
            mem = request.memory_of(request.memory_counted(cpus, table.grain[idx]))
            if request.own_cpus is not None:  # of all cores of a row
                mem = request.told_mem_cpu * request.cpus_of_its_own(idx, table)
        if request.gres:
            mem = self._memory_of_gpus(request, gres, mem, len(idx))
        quota = -1 if request.max_cpus_per_node is None else request.partition.index
        found = Allocation(chosen, False, len(nodes), int(cpus.sum()), cpus, mem, gres, idx, quota=quota)
        found.held = held
        return found

    def _brought(self, request: CompiledRequest, n_nodes: int, together: bool) -> int:
        """Return the CPUs the job's GPUs bring, or those of each node if tasks share CPUs: none before 24.11."""
        if not together:
            return gpu_cpus(request.sure_gres, n_nodes)
        return gpu_cpus(request.sure_gres, None) if self.rules.gpu_cpus_by_node else 0

    def _dealt(self, request: CompiledRequest, per_node: int) -> int:
        """Return how many tasks are dealt to the nodes; 0 for as many as there may be."""
        deals = self.rules.deals_tasks if per_node else self.rules.deals_asked_tasks and not request.gres
        return request.asked.n_tasks if deals else 0

    def _devices(
        self, request: CompiledRequest, free: FreeState, idx: IntArray, cpus: IntArray, taken: Sequence[int],
        offers: Offers, order: Sequence[int],
    ) -> Held | None:  # fmt: skip
        """Return the CPUs and GRES of nodes `idx`, and what the job has of each where it matters which.

        `taken`: CPUs it may have of each.
        """
        if is_near(request, free, self.table):
            return hold(request, free, self.table, idx, cpus, taken, offers, order, self.rules)
        if not request.gres:
            return cpus, (), None
        most = free.free_mem[idx] // request.mem_gpu if request.mem_gpu and request.per_gpu.charged else None
        tasks = (cpus // request.cpus_per_task).tolist()
        gres = grant(request.gres, free.free_gres, idx, tasks, cpus, most, self.table)
        if request.all_cores:
            gres = all_of(self.table, idx, request.gres)
        elif request.asked.tasks_per_gpu and self.rules.gpu_cpus_by_node:
            grain = self.table.grain[idx]
            cpus = -(-cpus_of_tasks(request.gres, gres, cpus) // grain) * grain
        return cpus, gres, None

    def _memory_of_gpus(
        self, request: CompiledRequest, gres: tuple[tuple[int, IntArray], ...], mem: int | IntArray, n_nodes: int
    ) -> int | IntArray:
        """Memory of each node where the job gets it per GPU; `mem` otherwise."""
        if not request.per_gpu.charged:
            return mem
        gpus = np.zeros(n_nodes, np.int64)
        for kind, count in gres:
            if self.table.gres_kinds[kind][0] == "gpu":
                gpus += count
        return gpus * request.mem_gpu
