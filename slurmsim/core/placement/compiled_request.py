"""A resource request compiled against one partition, so that equal jobs are judged once.

Everything about a request that does not change while the cluster runs is computed here: which nodes could ever serve
it, the CPUs and memory each node must give, and the number of nodes to aim at. Mirrors _get_req_features
(node_scheduler.c) and cons_tres job_test.c, 22.05.
"""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from slurmsim.bitmap import Bitmap, from_bools, from_indices, to_indices
from slurmsim.core.placement.best_fit import Evaluator, Segments
from slurmsim.core.placement.constraints import Test, parse_constraint
from slurmsim.core.placement.core_spec import own_cpus
from slurmsim.core.placement.dealt_tasks import uncertain
from slurmsim.core.placement.gres import (
    Demand,
    GpuDefaults,
    PerGpu,
    agreed,
    all_known,
    demands,
    evenly,
    gpu_cpus,
    guessed,
    wants_shares,
)
from slurmsim.core.placement.memory_limits import Fitted, MemoryBounds
from slurmsim.core.placement.node_sets import NodeSet, NodeSets
from slurmsim.core.placement.whole_cores import charge, differ, most_used, placed, times_charged
from slurmsim.core.records.node_table import NodeTable
from slurmsim.core.records.partition import Partition
from slurmsim.core.records.release_rules import ReleaseRules
from slurmsim.errors import SubmitError
from slurmsim.model.partition import PartitionSpec
from slurmsim.model.request import GresRequest, ResourceRequest
from slurmsim.policy.units import JobUnits

Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]
MOST_COUNTED: Final = 1 << 53  # what a kernel is asked with stays below: its integers have 64 bits
NO_LIMIT_NODES: Final = 500_000  # slurmctld's own cap on nodes a job
# flags of a QOS that lift a limit of the partition
PART_MIN_NODES: Final = "PartitionMinNodes"
PART_MAX_NODES: Final = "PartitionMaxNodes"
PART_TIME_LIMIT: Final = "PartitionTimeLimit"
SETTLED: Final = "settled"
"""Beside limits that are lifted: the fewest nodes are what the job asks for, whatever its partition wants by now."""
PARTITION_FLAGS: Final = frozenset({PART_MIN_NODES, PART_MAX_NODES, PART_TIME_LIMIT})
NOT_AVAILABLE: Final = "Requested node configuration is not available"
NO_SUCH_TOPOLOGY: Final = "Requested topology configuration is not available"


_KEPT: Final = (
    "_columns", "all_cores", "apart", "asked", "asked_cpus", "by_count", "candidates", "contiguous", "counted",
    "cpus_each", "cpus_per_task", "cpus_when_empty", "exclusive", "gpus_asked", "gres", "job_units", "kinds", "lead",
    "least_cpus", "least_loaded", "least_memory", "lifted", "limits_met", "max_cpus_per_node", "max_nodes",
    "mem_all", "mem_cpu", "mem_gpu", "mem_node", "memory", "memory_asked", "min_cpus", "min_nodes", "n_tasks",
    "node_need", "own_cpus", "part_max_nodes", "part_max_time_s", "part_min_nodes", "partition", "per_gpu", "possible",
    "preferred",
    "required", "sharing", "spread", "strict_one", "switches", "target_nodes", "task_cpus", "tasks_per_node",
    "tasks_short", "tree", "uniform", "unit_need", "units", "whole",
)  # fmt: skip
"""What a request keeps, attribute by attribute."""


class CompiledRequest:
    """What is asked for, and what one partition makes of it.

    Attributes
    ----------
    asked
        The request as it was made; `memory` has it inside the limits on memory.
    candidates
        Nodes of the partition that have the features, sizes and GRES, whatever runs on them.
    exclusive
        The job shares its nodes with no other job, by its own wish, its partition's or select/linear's.
    whole
        The job gets whole nodes only, or every share of a candidate is the whole node.
    uniform
        All candidates have the same CPUs and weight: `cpus_each` CPUs; then sets of nodes are judged by length.
    min_nodes, target_nodes, max_nodes
        Node counts after partition limits; `target_nodes` is the maximum when the user gave a range.
    part_min_nodes, part_max_nodes, part_max_time_s
        Limits of the partition, but those `lifted` by the job's QOS.
    asked_cpus, min_cpus
        CPUs the job asks for: of its own, and after MaxMemPerCPU with the other threads of its cores.
    least_memory
        MiB each node must have, or that a CPU is to have, though no job is given any: memory is not consumable.
    memory
        What limits on memory made of the request; `least_cpus` are CPUs each node has to give.
    mem_all
        No memory was asked and none is the default: each node gives all it has.
    gres
        GRES asked for, in the order written.
    task_cpus
        CPUs of a node count in multiples of so many, 0 where all of them do.
    per_gpu, mem_gpu
        What a GPU brings; MiB a GPU of a node needs.
    tasks_short
        Tasks of the job, or of each node, that need CPUs; 0 where there are enough on any nodes.
    preferred, lead
        The same with the features it prefers (--prefer), which is tried first; of that one, how far its records stand
        before the others of the job, else 0.
    kinds, counted, apart
        ``[a|b]`` as sets of nodes, one of which must serve alone; ``a*2`` as (nodes, count), `apart` when a node
        counts for one of them only.
    own_cpus
        CPUs of each node that a job with --core-spec may use, shape (n_nodes,); None where it does not say.
    sharing
        How its jobs take cores of nodes they do not have to themselves where some partition lets jobs share cores:
        "one" (cores no other job has) or "row" (cores of a row of the partition).
    """

    __slots__ = _KEPT

    def __init__(
        self,
        asked: ResourceRequest,
        partition: Partition,
        table: NodeTable,
        *,
        sets: NodeSets,
        memory_consumable: bool,
        memory: Fitted,
        default_memory: MemoryBounds,
        gpus: GpuDefaults,
        least_loaded: bool = False,
        tree: Evaluator | None = None,
        patient: bool = True,
        lifted: frozenset[str] = frozenset(),
        rules: ReleaseRules,
    ) -> None:
        self.own_cpus: Indices | None = own_cpus(asked.core_spec, table)
        self.asked, self.partition, self.memory, self.lifted = asked, partition, memory, lifted
        if asked.threads_per_core:
            self.memory = replace(memory, charge=charge(asked, table, partition.mask))
        if differ(asked, table, partition.mask):
            self.memory = replace(self.memory, by_thread=True)
        request, spec = placed(memory.request, asked, table, partition.mask), partition.spec
        request = evenly(request, by_node=rules.gpu_cpus_by_node)
        self._limits(spec, table)
        self._tasks_and_cpus(request)
        self._node_counts(request, spec, rules)
        self._order_of_nodes(request, tree, least_loaded, patient)
        each = gpus.of_task(memory.request)
        self.per_gpu: PerGpu = gpus.charged(times_charged(asked, each, table, partition.mask)).complete(request)
        self._memory(request, memory_consumable, default_memory)
        self._gres(request, table, rules)
        self._sharing(request, spec, table)
        self._short_tasks(request, rules)
        self._named_nodes(request, table, rules)
        members = self._narrowed(table, sets)
        self._alike(members)
        self.whole_tasks(whatever_memory=rules.serves_whole_tasks, linear=table.unit == "node")
        self._count_nodes()
        self._shown_totals(request, default_memory, rules)
        self._counted_in(table, members)
        # kernels choose as cons_tres does, and count: no columns for nodes that are not alike under select/linear, nor
        # for those where it matters which cores a job has
        unlike = table.unit == "node" and not self.uniform
        by_cores = table.local is not None and not self.whole and bool(self.candidates & table.local.nodes)
        self._columns: array[int] | None = array("q") if unlike or by_cores or self.own_cpus is not None else None
        self.possible: bool | None = None
        self.cpus_when_empty: int | None = None
        self.job_units: JobUnits | None = None  # once a policy has asked for them (`units`)
        self.preferred: CompiledRequest | None = None
        self.lead = 0
        self.limits_met: set[int] = set()  # time limits found inside the limits of the partition while it was UP

    @property
    def sure_gres(self) -> tuple[Demand, ...]:
        """GRES asked for, without guesses."""
        return self.gres

    def guess(self, rules: ReleaseRules) -> GuessedRequest | None:
        """Return the request that nodes are tried for first, each device with the CPUs of its tasks; None: no other."""
        if not (self.gres and rules.guesses_cpus_of_gres) or self.whole or self.all_cores:
            return None
        gres = guessed(self.gres, self.n_tasks, self.cpus_per_task)
        return GuessedRequest(self, gres) if gres else None

    # -- how much: limits, counts, memory, GRES -------------------------------------------------------------------

    def _limits(self, spec: PartitionSpec, table: NodeTable) -> None:
        """Set the partition's limits of such jobs, without those that their QOS lifts (get_node_cnts, 22.05)."""
        self.part_min_nodes = 0 if PART_MIN_NODES in self.lifted else spec.min_nodes
        self.part_max_nodes = None if PART_MAX_NODES in self.lifted else spec.max_nodes
        self.part_max_time_s = None if PART_TIME_LIMIT in self.lifted else spec.max_time_s
        sockets = 1
        if spec.max_cpus_per_socket is not None:
            sockets = min((table.specs[i].sockets for i in to_indices(self.partition.mask)), default=1)
        self.max_cpus_per_node = spec.cpus_of_node(sockets)

    def _tasks_and_cpus(self, request: ResourceRequest) -> None:
        """Tasks, and CPUs: of the job, of a task, of a node."""
        self.asked_cpus = max(self.asked.min_cpus, 1)
        self.min_cpus = max(request.min_cpus, 1)
        self.cpus_per_task = request.cpus_per_task
        self.tasks_per_node = request.tasks_per_node
        self.least_cpus = max(
            self.memory.least_cpus * self.charge, request.tasks_apart * request.cpus_per_task, request.min_cpus_per_node
        )
        # num_tasks is known to the selector only when -n was given, or follows from --ntasks-per-node and the nodes
        known = not request.overcommit and (request.n_tasks or request.tasks_per_node)
        self.n_tasks = request.tasks if known else 0

    def _node_counts(self, request: ResourceRequest, spec: PartitionSpec, rules: ReleaseRules) -> None:
        """Set the fewest nodes, how many to aim at, and the most."""
        own = SETTLED in self.lifted or 0 < request.max_nodes < spec.min_nodes
        self.min_nodes = max(request.min_nodes, 0 if own else spec.min_nodes, 1)
        self.strict_one = request.max_nodes == 1
        most = request.max_nodes
        limit = self.part_max_nodes if most else spec.max_nodes
        limit = NO_LIMIT_NODES if limit is None else limit
        if request.spread and not most and self.n_tasks:
            most = self.n_tasks
        self.max_nodes = min(most, limit) if most else limit
        if self.n_tasks and not (rules.tasks_reach_beyond or request.n_tasks):
            self.max_nodes = min(self.max_nodes, max(self.n_tasks, self.min_nodes))
        given_range = most > request.min_nodes and not request.use_min_nodes
        self.target_nodes = self.max_nodes if given_range else self.min_nodes

    def _order_of_nodes(
        self, request: ResourceRequest, tree: Evaluator | None, least_loaded: bool, patient: bool
    ) -> None:
        """Which nodes come first: spread, in one piece, near each other in the network, or the emptiest."""
        self.spread = request.spread
        self.contiguous = request.contiguous
        self.least_loaded = least_loaded  # LLN: spread over the emptiest nodes instead of the best fit
        # how many leaf switches the job accepts, 0 for any; `tree` is None where the network does not matter
        self.switches = request.switches if tree is not None and patient else 0
        wishes = request.contiguous or least_loaded
        self.tree = tree if tree is not None and (tree.comes_first or not wishes) else None

    def _memory(self, request: ResourceRequest, consumable: bool, default: MemoryBounds) -> None:
        """Memory a node or a CPU needs, in Slurm's order: --mem, --mem-per-cpu, partition or cluster default.

        What is asked for, or given by default, per GPU comes before the other defaults. Where memory is not consumable
        a node still has to have what is asked of it, or for one of its CPUs, at all (22.05, 24.11, 26.05).
        """
        self.mem_node, self.mem_cpu, self.mem_all, self.mem_gpu = 0, 0, False, 0
        self.least_memory = 0
        if not consumable:
            self.least_memory = self.untracked(request, default)[0]
            return
        self.mem_gpu = self.per_gpu.memory
        if self.per_gpu.charged:
            return
        if request.mem_per_node_mib is not None:
            self.mem_node, self.mem_all = request.mem_per_node_mib, request.mem_per_node_mib == 0
        elif request.mem_per_cpu_mib is not None:
            self.mem_cpu, self.mem_all = request.mem_per_cpu_mib, request.mem_per_cpu_mib == 0
        elif default.per_cpu:
            self.mem_cpu = default.per_cpu
        elif default.per_node:
            self.mem_node = default.per_node
        else:
            self.mem_all = True
        if self.charge > 1:
            self.memory = replace(self.memory, mem_cpu=self.mem_cpu)
            self.mem_cpu = -(-self.mem_cpu // self.charge)

    @staticmethod
    def untracked(request: ResourceRequest, default: MemoryBounds) -> tuple[int, bool]:
        """Return the MiB a job is shown with where memory is not consumable; and True if they are for each CPU."""
        if request.mem_per_node_mib is not None:
            return request.mem_per_node_mib, False
        if request.mem_per_cpu_mib is not None:
            return request.mem_per_cpu_mib, True
        return (default.per_cpu, True) if default.per_cpu else (default.per_node or 0, False)

    @property
    def only_shows_memory(self) -> bool:
        """True if memory is not consumable: what it is shown with it is never given."""
        return not self.mem_all and (self.least_memory > 0 or self.shows_all_memory)

    @property
    def shows_all_memory(self) -> bool:
        """True if memory is not consumable and none is named: it is shown as one that asks for all of a node."""
        return not (self.mem_node or self.mem_cpu or self.mem_gpu or self.per_gpu.charged or self.least_memory)

    @property
    def mem_of_default_gpus(self) -> bool:
        """True if the memory is a default of its GPUs, which is not among the TRES it asks for."""
        return self.per_gpu.charged and not self.asked.mem_per_gpu_mib

    def memory_of(self, cpus: Any) -> Any:
        """Return the MiB so many CPUs are given, which may be an array of counts: as many as those that are used."""
        told = self.told_mem_cpu * cpus
        return told if self.charge == 1 else told // self.charge  # a division of an array takes longer than all else

    def used_of(self, cpus: Any, grain: Any) -> Any:
        """Return how many of `cpus`, whole cores of `grain` each, the job counts as its own while it is placed."""
        return cpus // grain * self.used_each(grain) if self.memory.by_thread else cpus

    def used_each(self, grain: Any) -> Any:
        """Return the CPUs it counts of a core of `grain`."""
        return np.minimum(grain, most_used(self.asked, self.cpus_per_task)) if self.memory.by_thread else grain

    def given_for(self, used: Any, grain: Any) -> Any:
        """Return the CPUs of the whole cores of which it counts so many as `used`."""
        each = self.used_each(grain)
        return (used + each - 1) // each * grain if self.memory.by_thread else used

    def memory_counted(self, cpus: Any, grain: Any) -> Any:
        """Return how many of the `cpus` that the job is given have memory: those it uses of --threads-per-core."""
        return self.used_of(cpus, grain) if self.asked.threads_per_core else cpus

    def cpus_of_its_own(self, idx: Indices, table: NodeTable) -> Indices:
        """Return the CPUs a job with --core-spec has of nodes `idx`: of whole tasks, without threads it does not use.

        It is charged for all that jobs can have of its nodes, be they more or fewer.
        """
        assert self.own_cpus is not None
        found, asked = self.own_cpus[idx], self.asked
        threads = np.array([max(1, node.cpus // (node.sockets * node.cores_per_socket)) for node in
                            [table.specs[i] for i in idx.tolist()]], np.int64)  # fmt: skip
        used = np.minimum(threads, most_used(asked, self.memory.request.cpus_per_task))
        found = np.where(used < threads, found // threads * used, found)
        if asked.tasks_per_socket:
            found = np.minimum(found, table.sockets(idx) * asked.tasks_per_socket * asked.cpus_per_task)
        return found - found % asked.cpus_per_task if self.task_cpus else found

    def _gres(self, request: ResourceRequest, table: NodeTable, rules: ReleaseRules) -> None:
        counts_cpus = rules.gpu_cpus_by_node
        agreed(request)
        found = demands(request, table, self.per_gpu, by_node=counts_cpus)
        if found is None:
            raise SubmitError(NOT_AVAILABLE)
        self.gres: tuple[Demand, ...] = found
        # tasks that bring GPUs bring the CPUs of those; not told of GPUs of a type
        if self.per_gpu.cpus and not self._typed_gpus:
            each = max((d.count * d.cpus for d in found if d.scope == "task"), default=1)
            self.cpus_per_task = max(self.cpus_per_task, each)
        if counts_cpus and request.cpus_per_gpu:
            self.min_cpus = max(self.min_cpus, gpu_cpus(found, self.min_nodes))

    def _leaves_nodes_short(self, request: ResourceRequest, rules: ReleaseRules) -> bool:
        """Return True if GRES are dealt to as many tasks as a node is to have, and the job has fewer in all."""
        if not self.gres or not 1 < request.n_tasks < request.tasks_per_node:
            return False
        return rules.gres_of_full_nodes or any(d.scope == "task" for d in self.gres)

    def _short_tasks(self, request: ResourceRequest, rules: ReleaseRules) -> None:
        """Find out which tasks may find too few CPUs; 0 where they are enough on any nodes."""
        if request.overcommit and self.own_cpus is not None:
            self.tasks_short = request.n_tasks if rules.tasks_need_cpus else 0  # which do not share CPUs then
        elif request.overcommit or request.tasks_per_node:
            self.tasks_short = uncertain(request, rules, self.exclusive)
        else:
            few = rules.tasks_need_cpus and self.n_tasks * self.cpus_per_task > self.min_cpus
            self.tasks_short = self.n_tasks if few else 0

    # -- which nodes ----------------------------------------------------------------------------------------------

    def _sharing(self, request: ResourceRequest, spec: PartitionSpec, table: NodeTable) -> None:
        """Find out whether the job has its nodes to itself, and else which cores it takes."""
        wishes = spec.oversubscribe == "YES" and request.oversubscribe and spec.oversubscribe_max > 1
        forced = spec.oversubscribe == "FORCE" and (spec.oversubscribe_max > 1 or table.cores is not None)
        self.sharing = "row" if wishes or forced else "one"
        # with FORCE even a job with --exclusive shares: it gets all cores of one row
        forced, alone = spec.all_share, request.exclusive or self.own_cpus is not None
        self.all_cores = forced and alone
        self.exclusive = (alone and not forced) or spec.oversubscribe == "EXCLUSIVE" or table.unit == "node"

    def _beyond_its_tasks(self, request: ResourceRequest) -> bool:
        """Return True if a shared node must give more CPUs (--mincpus) than the tasks can take that it may have."""
        most = self.tasks_per_node * request.cpus_per_task
        return 0 < most < request.min_cpus_per_node and not (self.exclusive or self.gres)

    def _named_nodes(self, request: ResourceRequest, table: NodeTable, rules: ReleaseRules) -> None:
        """Set the nodes it names, and the candidates: large enough, with the features, and not excluded."""
        named = sorted(self._lookup(request.node_list, table))
        if request.contiguous and named:  # the nodes between them are named, too (bit_fill_gaps)
            named = list(range(named[0], named[-1] + 1))
            if not rules.list_may_be_longer:  # as many nodes are needed then, whatever was said (_job_create)
                self.min_nodes, self.min_cpus = max(self.min_nodes, len(named)), max(self.min_cpus, len(named))
                self.target_nodes = max(self.target_nodes, self.min_nodes)
        self.required: Bitmap = from_indices(named)
        excluded = from_indices(sorted(self._lookup(request.exclude, table)))
        if rules.list_may_be_longer and self.required.bit_count() > request.min_nodes:
            excluded |= table.everything & ~self.required
            self.required = 0
        large = self._large_enough(table)
        if self._leaves_nodes_short(request, rules) or (rules.serves_whole_tasks and self._beyond_its_tasks(request)):
            large = np.zeros(table.n, np.bool_)
        taken = self._with_features(table, large) & self.partition.mask & ~excluded
        # one set for all who may have any node: it is kept once, and compared at once
        self.candidates: Bitmap = self.partition.mask if taken == self.partition.mask else taken

    @staticmethod
    def _lookup(names: tuple[str, ...], table: NodeTable) -> list[int]:
        for name in names:
            if name not in table.index:
                raise SubmitError("Invalid node name specified")
        return [table.index[name] for name in names]

    def _large_enough(self, table: NodeTable) -> Flags:
        """Return nodes with the CPUs, the memory and the GRES each node has to give."""
        # one task has nodes with room for as many as --ntasks-per-node says
        room = self.tasks_per_node * self.cpus_per_task if self.asked.n_tasks == 1 else 0
        cpus = table.cpus if self.own_cpus is None else self.own_cpus
        ok: Flags = self.used_of(cpus, table.grain) >= max(self.least_cpus, self.together_cpus, room)
        if self.asked.tasks_per_socket:
            ok &= self.asked.tasks_per_socket <= table.cpus // table.sockets(np.arange(table.n))
        if self.mem_cpu:
            # whole cores, sockets or nodes are charged
            each = self.used_each(table.grain)
            charged = (self.least_cpus + each - 1) // each * table.grain
            ok &= table.mem >= self.mem_cpu * self.memory_counted(charged, table.grain)
        ok &= table.mem >= self.mem_node
        if self.least_memory:
            ok &= table.mem >= self.least_memory
        for g in self.gres:
            ok &= table.gres[list(g.kinds)].sum(axis=0) >= (g.count if g.scope != "job" else 1)
        return ok if all_known(self.asked, table) else np.zeros_like(ok)

    def _with_features(self, table: NodeTable, ok: Flags) -> Bitmap:
        """Those of the nodes `ok` that meet the constraint, which may ask for counts or kinds of nodes as well."""
        self.kinds: tuple[Bitmap, ...] = ()
        self.counted: tuple[tuple[Bitmap, int], ...] = ()
        self.apart = False
        if not self.asked.constraint:
            return from_bools(ok)
        asked = parse_constraint(self.asked.constraint, table.known_features())
        features = table.active_features()

        def passing(test: Test) -> Bitmap:
            return from_bools(np.array([test(f) for f in features], np.bool_))

        self.kinds, self.apart = tuple(passing(test) for test in asked.kinds), asked.apart
        self.counted = tuple((passing(test), n) for test, n in asked.counts)
        found = from_bools(ok) & passing(asked.test)
        if self.kinds:
            union = 0
            for kind in self.kinds:
                union |= kind
            found &= union
        return found

    def _narrowed(self, table: NodeTable, sets: NodeSets) -> NodeSet:
        """Return the candidates; for an exclusive job only nodes with all their CPUs open to it."""
        members = sets.of(self.candidates)
        if self.exclusive and (self.mem_cpu or self.max_cpus_per_node is not None):
            rows = members.rows
            cpus = (table.cpus if self.own_cpus is None else self.own_cpus)[rows]
            # all CPUs of a node are charged; a node with too little memory for them is of no use
            fit = table.mem[rows] >= self.mem_cpu * self.memory_counted(cpus, table.grain[rows])
            if self.max_cpus_per_node is not None:
                fit &= cpus <= self.max_cpus_per_node
            rows = rows[fit]
            self.candidates = from_indices(rows) if len(rows) else 0
            members = sets.of(self.candidates)
        return members

    # -- when counting is enough ----------------------------------------------------------------------------------

    def _alike(self, members: NodeSet) -> None:
        """Find out whether the candidates are taken whole, and whether they are alike."""
        sole = members.only_whole and not self.gres and self.max_cpus_per_node is None and self.sharing == "one"
        self.whole = self.exclusive or sole
        self.cpus_each = members.cpus_each
        # what tasks of sockets get of equal nodes depends on the sockets
        self.uniform = self.cpus_each > 0 and not (self.asked.tasks_per_socket or self.memory.by_thread)
        self.uniform = self.uniform and self.own_cpus is None

    def whole_tasks(self, *, whatever_memory: bool, linear: bool = False) -> None:
        """Find out whether a node serves whole tasks, or any number of CPUs: `task_cpus` (_select_cores, job_test.c).

        A node that is taken whole gives what is left beside them too, and select/linear does not ask.
        """
        per_node = self.mem_node or self.mem_all
        if self.whole:
            counts = not linear and (self.mem_cpu or self.gres or (self.n_tasks and whatever_memory))
        else:
            counts = self.mem_cpu or (self.n_tasks and (whatever_memory or not per_node))
        self.task_cpus = self.cpus_per_task if self.cpus_per_task > 1 and counts else 0

    def _count_nodes(self) -> None:
        """Nodes a whole-node job takes when all candidates are alike."""
        each = self.cpus_each - self.cpus_each % (self.task_cpus or 1) or self.cpus_each
        self.node_need = max(self.min_nodes, -(-self.min_cpus // each)) if self.uniform else self.min_nodes
        self.node_need = max(self.node_need, self.nodes_for_tasks)

    def _counted_in(self, table: NodeTable, members: NodeSet) -> None:
        """Find out whether a count of nodes decides, and whether a count of equal nodes or CPUs is all there is."""
        # nodes are as good as each other
        order = self.required or self.contiguous or self.spread or self.kinds or self.counted or self.tree
        plain = not (order or self.asked.layered[0] or self.tasks_short or self.memory.by_thread)
        self.by_count = self.whole and self.uniform and plain and self._equal_gres(table, members.rows)
        fungible = plain and not self.gres and table.cores is None
        self.units, self.unit_need = self._units(members) if fungible else (None, 0)

    def _equal_gres(self, table: NodeTable, members: Indices) -> bool:
        """Return True if GRES leave all candidates alike: none asked, or per node from nodes that have the same."""
        if not self.gres:
            return True
        if any(g.scope != "node" for g in self.gres) or self.mem_gpu or not len(members):
            return False
        if not table.sharing.several and wants_shares(self.gres, table):
            return False
        have = [table.gres[list(g.kinds)][:, members].sum(axis=0) for g in self.gres]
        return all(bool((count == count[0]).all()) for count in have)

    def _units(self, members: NodeSet) -> tuple[str | None, int]:
        """Return the unit of a plain count, nodes or CPUs, and the count; None if a count is not enough."""
        if not self.uniform or self.target_nodes != self.min_nodes or self.candidates != self.partition.mask:
            return None, 0
        if self.whole:
            return ("node", self.node_need) if self.node_need <= self.max_nodes else (None, 0)
        tied = self.min_nodes > 1 or self.asked.max_nodes or self.tasks_per_node or self.least_offer > 1
        memory = self.mem_all or self.mem_cpu or self.mem_node
        if tied or memory or self.max_cpus_per_node is not None or not members.by_cpu:
            return None, 0
        return "cpu", self.min_cpus

    # -- what a pending job is shown with -------------------------------------------------------------------------

    def _shown_totals(self, request: ResourceRequest, default: MemoryBounds, rules: ReleaseRules) -> None:
        """Memory and GPUs, in all."""
        self.memory_asked = self._memory_asked(request, default, rules)
        self.gpus_asked = sum(self.gres_asked(g) for g in request.gres if g.name == "gpu")

    def _memory_asked(self, request: ResourceRequest, default: MemoryBounds, rules: ReleaseRules) -> int:
        """Return the memory a pending job is shown with (job_get_tres_mem).

        Per GPU of the first type only, and before 26.05 only if the request says so.
        """
        by_gpu = request.mem_per_gpu_mib or (rules.default_gpu_memory_asked and self.per_gpu.charged)
        if by_gpu and self.mem_gpu:
            return self.mem_gpu * next(self.gres_asked(g) for g in request.gres if g.name == "gpu")
        if self.mem_of_default_gpus:
            return (default.per_node or 0) * self.min_nodes or (default.per_cpu or 0) * self.told_cpus
        if self.least_memory:
            each, by_cpu = self.untracked(request, default)
            return each * (self.told_cpus if by_cpu else self.min_nodes)
        return self.mem_node * self.min_nodes or self.told_mem_cpu * self.told_cpus

    def gres_asked(self, asked: GresRequest) -> int:
        """Return how many the job asks for in all, on the fewest nodes it may have."""
        sockets = self.min_nodes * self.asked.sockets_per_node
        times = {"node": self.min_nodes, "task": self.asked.tasks, "socket": sockets}
        return asked.count * times.get(asked.scope, 1)

    @property
    def charge(self) -> int:
        """CPUs the job is charged for each it uses: the threads of a core of which it uses one."""
        return self.memory.charge

    @property
    def told_cpus(self) -> int:
        """CPUs it asks for after MaxMemPerCPU, without the other threads of its cores, with those of --cpus-per-gpu."""
        fitted = self.memory.request
        told = self.asked_cpus if fitted is self.asked else max(fitted.min_cpus, 1)
        return max(told, self.min_cpus) if self.per_gpu.reserved and self.charge == 1 else told

    @property
    def told_mem_cpu(self) -> int:
        """MiB of each CPU it uses."""
        return self.memory.mem_cpu or self.mem_cpu

    # -- questions ------------------------------------------------------------------------------------------------

    def leaves_of(self, nodes: Bitmap) -> int:
        """Return how many leaf switches `nodes` are on; 0 where there are no switches."""
        return 0 if self.tree is None else self.tree.leaves_of(nodes)

    @property
    def columns(self) -> array[int] | None:
        """What it asks of nodes, as `slurmsim.kernel.placement` has it; None where it has other wishes."""
        if self._columns is None:
            asked = () if self._has_wishes() else self._asked_of_nodes()
            self._columns = array("q", asked if max(asked, default=0) < MOST_COUNTED else ())
        return self._columns or None

    def _has_wishes(self) -> bool:
        """Return True if more decides where it goes than nodes, CPUs, memory and GRES of each node."""
        order = self.required or self.kinds or self.counted or self.tree or self.contiguous or self.spread
        more = self.least_loaded or self.all_cores or self.max_cpus_per_node is not None or self.mem_gpu
        more = more or self.asked.tasks_per_socket or self.tasks_short or self.memory.by_thread
        totals = any(d.scope != "node" or d.cpus or d.total for d in self.gres)
        return bool(order or more or totals or self.asked.layered[0] or self.max_nodes < self.min_nodes)

    def _asked_of_nodes(self) -> tuple[int, ...]:
        least, most = self.bounds
        demands = [x for d in self.gres for x in (d.count, d.is_gpu, len(d.kinds), *d.kinds)]
        return (
            least, max(self.target_nodes, least), most, self.min_cpus, self.least_cpus, self.least_offer,
            self.task_cpus, self.mem_cpu, self.mem_node, self.mem_all,
            self.cpus_per_task, -1 if self.most_tasks is None else self.most_tasks, self.whole,
            len(self.gres), *demands,
        )  # fmt: skip

    @property
    def segments(self) -> Segments | None:
        """Nodes that are placed together (``--segment``)."""
        asked = self.asked
        return Segments(asked.segment, asked.consolidate_segments, asked.spread_segments) if asked.segment else None

    @property
    def segments_refused(self) -> bool:
        """True if the blocks of the cluster never give nodes in such segments."""
        named = self.required.bit_count()
        nodes = min(self.min_nodes, self.target_nodes)
        return self.tree is not None and self.tree.refused(nodes, self.asked.segment, named)

    @property
    def nodes_for_tasks(self) -> int:
        """Nodes that its tasks need with so many on each, 0 if it does not say (_select_nodes, job_test.c)."""
        return -(-self.asked.n_tasks // self.tasks_per_node) if self.tasks_per_node else 0

    @property
    def bounds(self) -> tuple[int, int]:
        """The fewest and the most nodes, after those its tasks need and take."""
        least, most = max(self.min_nodes, self.nodes_for_tasks), self.max_nodes
        tasks = min(self.n_tasks, self.asked.n_tasks)
        return least, max(tasks, least) if tasks and most > tasks else most

    @property
    def together_cpus(self) -> int:
        """CPUs of the tasks a node needs room for before it gets one of them."""
        return self.asked.tasks_together * self.asked.cpus_per_task * self.charge

    @property
    def tasks_anywhere(self) -> bool:
        """True if each node must have CPUs for all tasks that the GPUs make, but may give fewer."""
        return bool(self.asked.tasks_per_gpu) and self.min_nodes <= 1

    @property
    def offers_for_tasks(self) -> int:
        """CPUs that a node offers at most for --ntasks-per-node tasks, where releases count so; 0 for all it has."""
        return 0 if self.exclusive or self.gres else self.tasks_per_node * self.cpus_per_task

    @property
    def least_given(self) -> int:
        """CPUs each node gives at least."""
        return self.cpus_per_task if self.tasks_anywhere else self.least_cpus

    @property
    def least_offer(self) -> int:
        """CPUs a node has to have for the job before it gives any, which may be fewer."""
        need = max(self.least_cpus, self.together_cpus)
        return max(need, self.n_tasks * self.cpus_per_task) if self.strict_one else need

    @property
    def floor(self) -> int:
        """CPUs a node must offer in the choice of nodes: GRES may have lowered its offer below what it had to have."""
        return 0 if self.gres else self.least_cpus

    @property
    def by_runs(self) -> bool:
        """True if it gets equal whole nodes by runs (`pick_equal`), where nothing else says otherwise."""
        return self.by_count and not self.least_loaded

    @property
    def most_needed(self) -> int:
        """Nodes it takes at most of more equal ones; -1 where it may not have what it needs."""
        if self.node_need > self.max_nodes:
            return -1
        if not self.elastic:
            return self.node_need
        return max(self.node_need, min(self.target_nodes, self.bounds[1]))  # none without a task

    @property
    def elastic(self) -> bool:
        """True if how many nodes the job gets depends on how many there are (``-N a-b``)."""
        return self.target_nodes > self.min_nodes

    @property
    def known_amount(self) -> bool:
        """True if it gets the same of any nodes that suffice: equal whole ones, of which nothing else is asked."""
        return self.by_count and not (self.elastic or self.gres or self.memory_asked or self.mem_all)

    @property
    def sure_tasks(self) -> int:
        """Tasks that every node of a job with GRES has for sure (job_test.c, min_tasks_this_node)."""
        return self.tasks_per_node or (self.n_tasks if self.strict_one and not self._typed_gpus else 0)

    @property
    def _typed_gpus(self) -> bool:
        """True if CPUs are reserved for its GPUs, and each of them is of a type it names."""
        return self.per_gpu.reserved and all(g.type for g in self.asked.gres if g.name == "gpu")

    @property
    def most_tasks(self) -> int | None:
        """Tasks a job with GRES puts on one node at most, None when CPUs alone say (job_test.c _select_cores)."""
        if self.tasks_per_node:
            return self.tasks_per_node
        if self.strict_one:
            return self.n_tasks or None
        one_each = self.n_tasks == self.min_nodes == self.asked.max_nodes
        return 1 if self.n_tasks and (self.n_tasks == 1 or one_each) else None


class GuessedRequest(CompiledRequest):
    """A request with a guess of the CPUs of its GRES, to try nodes for once."""

    __slots__ = ("_sure",)

    def __init__(self, true: CompiledRequest, gres: tuple[Demand, ...]) -> None:
        for name in _KEPT:
            setattr(self, name, getattr(true, name))
        self.gres, self._sure = gres, true.gres

    @property
    def sure_gres(self) -> tuple[Demand, ...]:
        """GRES asked for, without guesses."""
        return self._sure

    def guess(self, rules: ReleaseRules) -> None:
        """Return None: it is one."""
