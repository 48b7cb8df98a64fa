"""Hypothesis strategies for clusters and submissions, and a naive recount of what running jobs hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from slurmsim.config.load import parse_cluster
from slurmsim.core.placement.cluster_state import allocation_unit
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.request import GresRequest, ResourceRequest
from slurmsim.policy import load_policy

POLICIES = ("fcfs", "easy", "conservative", "backfill", "builtin")
EVENT_DRIVEN = {name: load_policy(name).event_driven for name in POLICIES}
SELECT = (
    ("select/cons_tres", "CR_Core"),
    ("select/cons_tres", "CR_Core_Memory"),
    ("select/cons_tres", "CR_CPU_Memory"),
    ("select/linear", ""),
)
EXTRAS = (
    (), ("PriorityType=priority/multifactor", "PriorityWeightJobSize=1000"),
    ("PriorityType=priority/multifactor", "PriorityWeightAge=1000", "PriorityMaxAge=0-1", "PriorityCalcPeriod=1",
     "AccountingStorageType=accounting_storage/slurmdbd"),
)  # fmt: skip


@st.composite
def conf_lines(draw: st.DrawFn, max_nodes: int = 12, parameters: Sequence[str] = ("",)) -> list[str]:
    """A slurm.conf: up to `max_nodes` nodes in one to three groups of different make, and partitions over them."""
    total = draw(st.integers(1, max_nodes))
    select, unit = draw(st.sampled_from(SELECT))
    lines = ["ClusterName=random", f"SelectType={select}", "GresTypes=gpu", *draw(st.sampled_from(EXTRAS))]
    lines += [f"SelectTypeParameters={unit}"] if unit else []
    chosen = draw(st.sampled_from(parameters))
    lines += [f"SchedulerParameters={chosen}"] if chosen else []
    first = 1
    for _ in range(draw(st.integers(1, 3))):
        if first > total:
            break
        last = draw(st.integers(first, total))
        cores, threads = draw(st.sampled_from(((1, 1), (2, 1), (4, 1), (8, 1), (2, 2), (4, 2))))
        line = f"NodeName=n[{first}-{last}] Sockets=1 CoresPerSocket={cores} ThreadsPerCore={threads}"
        line += f" RealMemory={1000 * cores * threads}"
        line += f" Weight={draw(st.integers(1, 3))} Feature={draw(st.sampled_from(('a', 'b', 'a,b')))}"
        gpus = draw(st.sampled_from(("", "gpu:2", "gpu:x:1,gpu:y:2")))
        lines.append(line + (f" Gres={gpus}" if gpus else ""))
        first = last + 1
    made = first - 1
    for number in range(draw(st.integers(1, 3))):
        low = draw(st.integers(1, made)) if number else 1
        high = draw(st.integers(low, made)) if number else made if draw(st.booleans()) else draw(st.integers(1, made))
        line = f"PartitionName=p{number} Nodes=n[{low}-{high}] Default={'NO' if number else 'YES'}"
        line += draw(st.sampled_from(("", "", " OverSubscribe=EXCLUSIVE")))
        line += draw(st.sampled_from(("", "", " MaxTime=20", " MaxTime=20 DefaultTime=2")))
        line += draw(st.sampled_from(("", "", " MaxNodes=2")))
        line += draw(st.sampled_from(("", "", " PriorityTier=2", " PriorityJobFactor=10")))
        lines.append(line)
    return lines


def read_conf(lines: Sequence[str]) -> ClusterSpec:
    """The cluster those lines describe."""
    return parse_cluster(lines, "random cluster")[0]


@st.composite
def requests(draw: st.DrawFn, n_nodes: int, *, plain: bool = False) -> ResourceRequest:
    """What one job asks for; some of it impossible. `plain` leaves out features, GRES and node lists."""
    kind = draw(st.sampled_from(("nodes", "tasks", "range", "both")))
    low = draw(st.integers(1, n_nodes))
    values: dict[str, Any] = {}
    if kind == "nodes":
        values |= {"min_nodes": low, "max_nodes": low}
    elif kind == "range":
        values |= {"min_nodes": low, "max_nodes": draw(st.integers(low, n_nodes + 1))}
    elif kind == "both":
        values |= {"min_nodes": low, "max_nodes": low, "n_tasks": draw(st.integers(low, 3 * low))}
    else:
        values |= {"n_tasks": draw(st.integers(1, 3 * n_nodes))}
    rare = st.sampled_from((False, False, False, True))
    if draw(rare):
        values["exclusive"] = True
    if draw(rare):
        values["cpus_per_task"] = draw(st.integers(1, 3))
    memory = draw(st.sampled_from(("", "", "node", "cpu")))
    if memory == "node":
        values["mem_per_node_mib"] = draw(st.sampled_from((0, 500, 1000, 3000)))
    elif memory == "cpu":
        values["mem_per_cpu_mib"] = draw(st.sampled_from((300, 1000, 1500)))
    if plain:
        return ResourceRequest(**values)
    if draw(rare):
        values["tasks_per_node"] = draw(st.integers(1, 2))
    if draw(rare):
        values["threads_per_core" if draw(st.booleans()) else "tasks_per_core"] = draw(st.sampled_from((1, 1, 2)))
    if draw(rare):
        values["constraint"] = draw(st.sampled_from(("a", "b", "a&b", "a|b")))
    gres = draw(st.sampled_from(("", "", "", "node", "job", "type")))
    if gres:
        scope, gtype = ("node", "x") if gres == "type" else (gres, "")
        values["gres"] = (GresRequest("gpu", gtype, draw(st.integers(1, 3)), scope),)
    if draw(rare):
        name = f"n{draw(st.integers(1, n_nodes))}"
        values[draw(st.sampled_from(("node_list", "exclude")))] = (name,)
    return ResourceRequest(**values)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the tests know of a cluster from its configuration alone."""

    cluster: ClusterSpec
    cpus: tuple[int, ...]
    cores: tuple[int, ...]  # CPUs of a core that one job gets together
    memory: tuple[int, ...]
    gres: tuple[dict[tuple[str, str], int], ...]
    kinds: tuple[tuple[str, str], ...]  # GRES by name and type, in the order allocations number them
    features: tuple[frozenset[str], ...]
    index: dict[str, int]
    members: dict[str, frozenset[int]]  # partition -> nodes
    exclusive: frozenset[str]  # partitions whose jobs own their nodes
    whole_nodes: bool
    memory_counts: bool


def facts_of(cluster: ClusterSpec) -> Facts:
    """Look the facts up."""
    index = {node.name: i for i, node in enumerate(cluster.nodes)}
    unit, memory = allocation_unit(cluster)
    return Facts(
        cluster, tuple(n.cpus for n in cluster.nodes),
        tuple(n.threads_per_core if unit == "core" else 1 for n in cluster.nodes),
        tuple(n.real_memory_mib for n in cluster.nodes),
        tuple({(g.name, g.type): g.count for g in n.gres} for n in cluster.nodes),
        tuple(sorted({(g.name, g.type) for n in cluster.nodes for g in n.gres})),
        tuple(frozenset(n.features) for n in cluster.nodes), index,
        {p.name: frozenset(index[n] for n in p.nodes) for p in cluster.partitions},
        frozenset(p.name for p in cluster.partitions if p.oversubscribe == "EXCLUSIVE"), unit == "node", memory,
    )  # fmt: skip


def nodes_of(mask: int) -> list[int]:
    """Members of a node set, the slow way."""
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def shares(job: Any) -> Iterable[tuple[int, int, int]]:
    """(node, CPUs, MiB) a running job holds."""
    held = nodes_of(job.alloc.mask)
    cpus = [job.alloc.cpus] * len(held) if isinstance(job.alloc.cpus, int) else job.alloc.cpus.tolist()
    memory = [job.alloc.mem] * len(held) if isinstance(job.alloc.mem, int) else job.alloc.mem.tolist()
    return zip(held, cpus, memory, strict=True)


def recount(facts: Facts, running: Sequence[Any]) -> None:
    """Fail unless what the running jobs hold fits into every node, and owned nodes have one job."""
    n = len(facts.cpus)
    cpus, memory, jobs = [0] * n, [0] * n, [0] * n
    gres: list[dict[tuple[str, str], int]] = [{} for _ in range(n)]
    for job in running:
        for node, c, m in shares(job):
            cpus[node] += c
            memory[node] += m
            jobs[node] += 1
        held = nodes_of(job.alloc.mask)
        for kind, count in job.alloc.gres:
            each = [count] * len(held) if isinstance(count, int) else count.tolist()
            for node, k in zip(held, each, strict=True):
                gres[node][facts.kinds[kind]] = gres[node].get(facts.kinds[kind], 0) + k
    for node in range(n):
        assert cpus[node] <= facts.cpus[node], f"node {node}: {cpus[node]} CPUs in use"
        if facts.memory_counts:
            assert memory[node] <= facts.memory[node], f"node {node}: {memory[node]} MiB in use"
        for kind, count in gres[node].items():
            assert count <= facts.gres[node].get(kind, 0), f"node {node}: {count} {kind} in use"
    for job in running:
        if facts.whole_nodes or job.sub.request.exclusive or job.partition.name in facts.exclusive:
            assert all(jobs[node] == 1 for node in nodes_of(job.alloc.mask)), f"job {job.id} shares nodes it owns"


def _used(request: ResourceRequest, threads: int) -> int:
    """CPUs that a job uses of a core with so many threads."""
    of_tasks = request.tasks_per_core * request.cpus_per_task
    return min(threads, request.threads_per_core or threads, of_tasks or threads)


def meets_request(facts: Facts, job: Any) -> None:
    """Fail unless a started job got what it asked for, on nodes it may use."""
    request, held = job.sub.request, nodes_of(job.alloc.mask)
    assert set(held) <= facts.members[job.partition.name], f"job {job.id} outside its partition"
    assert not {facts.index[name] for name in request.exclude} & set(held), f"job {job.id} on an excluded node"
    assert {facts.index[name] for name in request.node_list} <= set(held), f"job {job.id} misses a required node"
    assert len(held) >= request.min_nodes
    if request.max_nodes:
        assert len(held) <= request.max_nodes
    given = {node: c for node, c, _ in shares(job)}
    assert job.n_cpus == sum(given.values())
    assert all(c % facts.cores[node] == 0 for node, c in given.items()), f"job {job.id} has parts of cores"
    used = {node: c // facts.cores[node] * _used(request, facts.cores[node]) for node, c in given.items()}
    # nodes whose CPUs are no multiple of -c are dealt out as dist_tasks.c does, which may come out short
    assert sum(used.values()) >= request.min_cpus or request.cpus_per_task > 1
    assert min(used.values()) >= request.cpus_per_task * request.tasks_apart
    if facts.memory_counts and request.mem_per_node_mib:
        assert all(m >= request.mem_per_node_mib for _, _, m in shares(job))
    limit = job.partition.spec.max_mem_per_node_mib
    assert not limit or (request.mem_per_node_mib or 0) <= limit, f"job {job.id} has more memory than a node gives"
    assert not job.partition.spec.req_resv or job.sub.reservation, f"job {job.id} is in no reservation"
    if facts.memory_counts and job.request.memory.request != request:  # MaxMemPerCPU gave it more CPUs for its memory
        assert all(m >= job.request.mem_cpu * c for _, c, m in shares(job))
        assert job.request.mem_cpu <= job.partition.spec.max_mem_per_cpu_mib
    elif facts.memory_counts and request.mem_per_node_mib is None and request.mem_per_cpu_mib:
        counted = used if request.threads_per_core else given
        assert all(m >= request.mem_per_cpu_mib * counted[node] for node, _, m in shares(job))
    words = request.constraint
    for node in held if words else ():
        has = facts.features[node]
        wanted = words.replace("|", "&").split("&")
        assert (any if "|" in words else all)(w in has for w in wanted), f"job {job.id} on a node without {words}"
    for asked in request.gres:
        kinds = [k for k, (n, t) in enumerate(facts.kinds) if n == asked.name and asked.type in ("", t)]
        per_node = [0] * len(held)
        for kind, count in job.alloc.gres:
            if kind in kinds:
                each = [count] * len(held) if isinstance(count, int) else count.tolist()
                per_node = [a + b for a, b in zip(per_node, each, strict=True)]
        if asked.scope == "node":
            assert all(k >= asked.count for k in per_node)
        else:
            assert sum(per_node) >= asked.count
