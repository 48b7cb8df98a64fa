"""The cluster as the controller holds it: node table, partitions, selector, and requests compiled once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from slurmsim.bitmap import from_indices
from slurmsim.core.placement.best_fit import Evaluator
from slurmsim.core.placement.blocks import BlockTopology
from slurmsim.core.placement.compiled_request import CompiledRequest
from slurmsim.core.placement.core_spec import allows_core_spec
from slurmsim.core.placement.gres import GpuDefaults
from slurmsim.core.placement.memory_limits import Fitted, MemoryBounds, fit_memory
from slurmsim.core.placement.node_release_times import ONE_BY_ONE
from slurmsim.core.placement.node_sets import NodeSets
from slurmsim.core.placement.rings import RingTopology
from slurmsim.core.placement.selector import Selector
from slurmsim.core.placement.shared_layers import SharedLayers
from slurmsim.core.placement.sharing import preempts_by_tier, shares_cores, takes_turns
from slurmsim.core.placement.topology import SwitchTree
from slurmsim.core.placement.torus import TorusTopology
from slurmsim.core.records.allocation import Allocation
from slurmsim.core.records.job_queue import PARTITIONS
from slurmsim.core.records.local_cores import LocalCores, Sharing
from slurmsim.core.records.node_names import NodeNamer, SortingNamer, index_runs, run_length
from slurmsim.core.records.node_table import NodeTable
from slurmsim.core.records.partition import Partition, assign_pools
from slurmsim.core.records.release_rules import ReleaseRules, rules_of
from slurmsim.core.records.shared_cores import SharedCores
from slurmsim.errors import SubmitError
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.request import ResourceRequest
from slurmsim.model.submission import Submission
from slurmsim.model.topology import TopologySpec

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job

_DOWN_STATES: Final = ("DOWN", "DRAIN", "FAIL", "FAILING", "FUTURE")


def allocation_unit(cluster: ClusterSpec) -> tuple[str, bool]:
    """Return the smallest share of a node by SelectType and its parameters, and whether memory is consumed."""
    select = cluster.option("SelectType")
    words = {w.upper() for w in cluster.option("SelectTypeParameters")}
    memory = any(w.endswith("_MEMORY") or w == "CR_MEMORY" for w in words)
    if select == "select/linear":
        return "node", "CR_MEMORY" in words
    if not words or words <= {"NONE"}:
        return "core", True
    for word in words:
        if word.startswith("CR_CPU"):
            return "cpu", memory
        if word.startswith("CR_SOCKET"):
            return "socket", memory
    if words & {"CR_CORE", "CR_CORE_MEMORY"}:
        return "core", memory
    return ("cpu", True) if "CR_MEMORY" in words else ("core", True)


def grows(cluster: ClusterSpec) -> bool:
    """Return True if nodes may come later: MaxNodeCount leaves room beside those of slurm.conf."""
    fixed = sum(not spec.dynamic for spec in cluster.nodes)
    return fixed < int(cluster.options.get("MaxNodeCount") or 0)


def follows_cores(table: NodeTable, cluster: ClusterSpec) -> bool:
    """Return True if ``Cores=`` of gres.conf counts: jobs have cores or sockets, and share none."""
    if table.cores is not None or takes_turns(cluster):
        return False
    return table.unit in ("core", "socket") or (table.unit == "cpu" and bool((table.grain == 1).all()))


class ClusterState:
    """Nodes and partitions at run time.

    Parameters
    ----------
    cluster
        Validated configuration; its node and partition states are the initial ones.
    """

    def __init__(self, cluster: ClusterSpec) -> None:
        self.cluster = cluster
        self.rules = rules_of(cluster.release)
        unit, memory = allocation_unit(cluster)
        self.table = NodeTable(cluster.nodes, unit)
        parameters = cluster.scheduler_parameters
        self.selector = Selector(
            self.table, self.rules, memory_consumable=memory, busy_first="bf_busy_nodes" in parameters,
            serial_last="pack_serial_at_end" in parameters,
            window_linear=ONE_BY_ONE if unit == "node" else int(parameters.get("bf_window_linear") or 0),
        )  # fmt: skip
        self.partitions = [Partition(spec, i, self.table) for i, spec in enumerate(cluster.partitions)]
        self.by_name = {p.name: p for p in self.partitions}
        for p in self.partitions:
            if p.spec.counts_cpus:
                self.table.used_by[p.index] = np.zeros(self.table.n, np.int64)
        if shares_cores(self.partitions) and not takes_turns(cluster):  # else the gang scheduler has the rows
            self.table.cores = SharedCores(self.table, self.partitions, by_tier=preempts_by_tier(cluster))
        words = {word.upper() for word in cluster.option("SelectTypeParameters")}
        self.table.binds_gres = "ENFORCE_BINDING_GRES" in words
        self.table.sharing = Sharing(
            several="MULTIPLE_SHARING_GRES_PJ" in words, least_loaded="LL_SHARED_GRES" in words,
            one_task="ONE_TASK_PER_SHARING_GRES" in words,
        )  # fmt: skip
        self.table.keeps_first = "spec_cores_first" in parameters if allows_core_spec(cluster) else None
        if follows_cores(self.table, cluster):
            local = LocalCores(cluster.nodes, self.table.gres_kinds, blind=not self.rules.gpu_cpus_by_node)
            self.table.local = local if local.layouts else None
        self.default_memory = MemoryBounds(cluster.option("DefMemPerCPU"), cluster.option("DefMemPerNode"))
        self.max_memory = MemoryBounds(cluster.option("MaxMemPerCPU"), cluster.option("MaxMemPerNode"))
        self.gpu_defaults = GpuDefaults(cluster.option("DefCpuPerGPU"), cluster.option("DefMemPerGPU"))
        self.networks = {one.name: _network(one, self.table, self.rules) for one in cluster.networks}
        self.tree = self.networks[cluster.networks[0].name]
        # hierarchical resources; select/linear does not heed those with counts a node
        self.layers = SharedLayers(cluster.hierarchies, self.table.index) if cluster.hierarchies else None
        self.selector.layers = None if unit == "node" else self.layers
        self.max_switch_wait_s = int(parameters.get("max_switch_wait") or 300)
        self.tree_optional = "TopoOptional" in cluster.option("TopologyParam")
        self.n_pools = assign_pools(self.partitions, together=grows(cluster))
        defaults = [p for p in self.partitions if p.spec.default]
        self.default = defaults[-1] if defaults else None
        down = [i for i, s in enumerate(cluster.nodes) if s.state.upper() in _DOWN_STATES]
        self.table.up = self.table.kept(self.table.up & ~from_indices(down))
        self.table.down = from_indices(down)
        self.namer = (SortingNamer if grows(cluster) else NodeNamer)(self.table.names)
        self.node_sets = NodeSets(self.table)
        # by identity of what was asked, which the compiled request keeps alive: hashing it costs more than placing it
        self.requests: dict[tuple[int, int, frozenset[str]], CompiledRequest] = {}
        self._asked: dict[ResourceRequest, ResourceRequest] = {}  # what they asked, the first of equal ones
        self.n_compiled = 0  # requests ever compiled: more than there are, once some were forgotten
        self.n_shares = 0  # of those there are: for less than whole nodes
        self._resolved: dict[tuple[str, ...], tuple[Partition, ...]] = {}
        self._compiled: dict[
            tuple[int, tuple[str, ...]], tuple[tuple[Partition, ...], tuple[CompiledRequest, ...]]
        ] = {}
        self.gone: set[int] = set()  # numbers of partitions that were deleted

    def network_of(self, partition: Partition) -> Evaluator | None:
        """Return what chooses nodes for `partition` by its topology, or the cluster's; None where nothing does."""
        return self.networks.get(partition.spec.topology, self.tree)

    def memory_default(self, partition: Partition) -> MemoryBounds:
        """``DefMemPerCPU`` or ``DefMemPerNode`` of `partition`, or of the cluster where it has neither."""
        spec = partition.spec
        return MemoryBounds.chosen(
            MemoryBounds(spec.def_mem_per_cpu_mib, spec.def_mem_per_node_mib), self.default_memory
        )

    def fitted(self, asked: ResourceRequest, partition: Partition) -> Fitted:
        """Return `asked` as the memory limits of `partition`, or the cluster's where it has none, leave it."""
        spec = partition.spec
        limit = MemoryBounds.chosen(MemoryBounds(spec.max_mem_per_cpu_mib, spec.max_mem_per_node_mib), self.max_memory)
        return fit_memory(asked, partition, self.table, self.memory_default(partition), limit)

    def known_request(self, asked: ResourceRequest) -> ResourceRequest:
        """Return the equal request that is compiled, if any: an object is compiled, and tried on empty nodes, once."""
        return self._asked.get(asked, asked)

    @property
    def known_requests(self) -> list[tuple[int, frozenset[str], CompiledRequest]]:
        """All compiled requests, each with its partition and what a QOS lifts; to be set by who restores them."""
        return [(at, lifted, request) for (_, at, lifted), request in self.requests.items()]

    @known_requests.setter
    def known_requests(self, found: list[tuple[int, frozenset[str], CompiledRequest]]) -> None:
        self.requests = {(id(request.asked), at, lifted): request for at, lifted, request in found}
        self._look_through()
        self.node_sets.forget()
        self._resolved.clear()
        self._compiled.clear()

    def forget_requests(self) -> None:
        """Nodes or partitions are not what requests were compiled against."""
        self.requests.clear()
        self._look_through()
        self.node_sets.forget()
        self._resolved.clear()
        self._compiled.clear()

    def keep_requests(self, jobs: Iterable[Job]) -> None:
        """Forget the compiled requests that none of `jobs` has."""
        used = {id(asked) for job in jobs for asked in (job.sub.request, *(r.asked for r in job.requests))}
        self.requests = {key: request for key, request in self.requests.items() if key[0] in used}
        self._look_through()
        self._compiled = {key: found for key, found in self._compiled.items() if key[0] in used}

    def _look_through(self) -> None:
        """Look through the compiled requests, which have changed."""
        self._asked.clear()
        self.n_shares = 0
        for request in self.requests.values():
            self._note(request)

    def _note(self, request: CompiledRequest) -> None:
        self._asked.setdefault(request.asked, request.asked)
        self.n_shares += not request.whole

    def resolve(self, names: Sequence[str]) -> tuple[Partition, ...]:
        """Partitions by name, the default one when none is named. Raises SubmitError with Slurm's text."""
        key = tuple(names)
        found = self._resolved.get(key)
        if found is None:
            if not key:
                if self.default is None:
                    raise SubmitError("No partition specified or system default partition")
                found = (self.default,)
            elif any(n not in self.by_name for n in key):
                raise SubmitError("Invalid partition name specified")
            else:
                found = tuple([self.by_name[n] for n in key])
            self._resolved[key] = found
        return found

    def switch_wait(self, request: ResourceRequest) -> int:
        """Seconds a job waits for nodes on few enough leaf switches."""
        asked = request.switch_wait_s
        return self.max_switch_wait_s if asked is None else min(asked, self.max_switch_wait_s)

    def compiled(self, sub: Submission) -> tuple[tuple[Partition, ...], tuple[CompiledRequest, ...]]:
        """Partitions of a submission and its request compiled for each. Raises SubmitError with Slurm's text."""
        key = (id(sub.request), sub.partitions)
        found = self._compiled.get(key)
        if found is None:
            partitions = self.resolve(sub.partitions)
            requests = tuple([compile_request(self, sub.request, p) for p in partitions])
            found = self._compiled[key] = partitions, requests
        return found

    def lift(self, job: Job, flags: frozenset[str]) -> None:
        """Compile the requests of `job` without the partition limits that its QOS lifts."""
        job.requests = tuple([compile_request(self, job.sub.request, p, lifted=flags) for p in job.partitions])
        job.request = job.requests[0]
        job.n_nodes, job.n_cpus = job.request.min_nodes, job.request.told_cpus

    def node_list(self, a: Allocation) -> str:
        """Return the allocation's nodes as Slurm prints them."""
        if a.names is None:
            a.names = self.namer.allocation(a)
        return a.names

    def compress(self, names: Sequence[str]) -> str:
        """Names of this cluster as Slurm prints them."""
        return self.namer.runs(index_runs(sorted(self.table.index[n] for n in names)))

    def cpus_per_node(self, a: Allocation) -> str:
        """``4(x2),2``: CPUs held on each node."""
        if isinstance(a.cpus, int):
            return f"{a.cpus}(x{a.n_nodes})" if a.n_nodes > 1 else str(a.cpus)
        return run_length(a.cpus.tolist())

    def mem_per_node(self, a: Allocation) -> str:
        """Memory held on each node, MiB, in the same form."""
        if isinstance(a.mem, int):
            return f"{a.mem}(x{a.n_nodes})" if a.n_nodes > 1 else str(a.mem)
        return run_length(a.mem.tolist())

    def gres_per_node(self, a: Allocation) -> str:
        """GRES held on the first node in Slurm's form (``gpu:a100:2``), the same on all unless asked per job."""
        parts = []
        for kind, count in a.gres:
            name, gtype = self.table.gres_kinds[kind]
            label = f"{name}:{gtype}" if gtype else name
            amount = str(count) if isinstance(count, int) else run_length(count.tolist())
            parts.append(f"{label}:{amount.partition('(')[0]}" if "," not in amount else f"{label}:{amount}")
        return ",".join(parts)


def _network(spec: TopologySpec, table: NodeTable, rules: ReleaseRules) -> Evaluator | None:
    """Return what chooses nodes by one topology, None if it is flat."""
    if spec.blocks is not None:
        return BlockTopology(spec.blocks, table.index, any_segment=rules.any_segment)
    if spec.rings:
        return RingTopology(spec.rings, table.index)
    if spec.toruses:
        return TorusTopology(spec.toruses, table.index)
    if not spec.switches:
        return None
    return SwitchTree(spec.switches, table.index, counts_cpus=rules.switches_hold_cpus)


def compile_request(
    state: ClusterState, asked: ResourceRequest, partition: Partition, *, patient: bool = True,
    lifted: frozenset[str] = frozenset(),
) -> CompiledRequest:  # fmt: skip
    """Return the request compiled against the partition, once; without `patient`, any number of switches.

    `lifted`: limits of the partition that do not count, by the flags of a QOS that say so.
    """
    key = (id(asked), partition.index if patient else -1 - partition.index, lifted)
    request = state.requests.get(key)
    if request is None:
        spec, option = partition.spec, state.cluster.option
        network = state.network_of(partition)
        request = CompiledRequest(
            asked, partition, state.table, sets=state.node_sets, memory_consumable=state.selector.memory_consumable,
            memory=state.fitted(asked, partition), default_memory=state.memory_default(partition),
            gpus=GpuDefaults.chosen(GpuDefaults(spec.def_cpu_per_gpu, spec.def_mem_per_gpu_mib), state.gpu_defaults),
            least_loaded=partition.spec.lln or "CR_LLN" in option("SelectTypeParameters"),
            tree=None if state.tree_optional and not asked.switches else network,
            patient=patient and state.switch_wait(asked) > 0, lifted=lifted,
            rules=state.rules,
        )  # fmt: skip
        state.requests[key] = request
        state._note(request)
        state.n_compiled += 1
        if asked.prefer:
            first = replace(asked, constraint=asked.prefer, prefer="")
            request.preferred = compile_request(state, first, partition, patient=patient, lifted=lifted)
            request.preferred.lead = PARTITIONS // 2 if state.rules.prefers_in_all else 1
    return request
