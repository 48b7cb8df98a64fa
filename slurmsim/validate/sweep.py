"""Walk each node through time: over-booking, nodes not shared, nodes that were down, and how many were busy.

The runs on one node are sorted by start. Where each begins after the one before it ended (the usual case on nodes
handed out whole) nothing can be over-booked by sharing, so amounts are added up only on nodes where runs overlap.
"""

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.validate.columns import BoolArray, IntArray
from slurmsim.validate.facts import ClusterFacts, PartitionFacts
from slurmsim.validate.outages import DRAIN, Outages
from slurmsim.validate.runs import CPUS, MEMORY, JobRuns

CHUNK = 1 << 22  # node visits (one node of one run) held in memory at once

_PIECE_BITS = 36


@dataclass(frozen=True, slots=True)
class Resource:
    """A quantity no node may give out more of than it has: its check, amount per piece and capacity per node."""

    check: str
    label: str
    amount: IntArray  # (n_pieces,)
    capacity: IntArray  # (n_nodes,)
    unit: int = 1  # amounts are multiples of 1 / unit


@dataclass(frozen=True, slots=True)
class Overbooking:
    """`used` of resource `resource` on `node` at instant ``times[time]``; `runs` hold it then."""

    resource: int
    node: int
    time: int
    used: int
    runs: tuple[int, ...]


@dataclass(slots=True)
class SweepResult:
    """What the walk saw."""

    visits: int  # node visits: nodes summed over runs
    overbooked: list[Overbooking]  # the first few for each resource
    overbooked_count: list[int]  # instants at which a start left a node over-booked, per resource
    # (run, node, outage) of runs that used a node while it could not be, the first few
    outage_runs: list[tuple[int, int, int]]
    outage_count: int  # how many of those there are
    # (n_classes, n_times) int64: nodes of each class with at least one run, from each instant to the next
    busy: IntArray


def resources(cluster: ClusterFacts, runs: JobRuns) -> list[Resource]:
    """Return the resources of a cluster as the runs use them."""
    amounts, owner = runs.pieces.amounts, runs.pieces.owner
    facts = [cluster.partitions.get(name) for name in runs.partition.values]
    code = runs.partition.codes[owner]
    cpus = np.where(runs.unchecked[owner], 0, amounts[CPUS])
    found = _cpus(cluster, facts, code, cpus)
    if cluster.memory_tracked:
        found.append(Resource("memory_not_overbooked", "MiB", amounts[MEMORY], cluster.memory_mib))
    none = np.zeros(cluster.n, np.int64)
    for name, amount in zip(runs.gres, amounts[MEMORY + 1 :], strict=True):
        found.append(Resource("gres_not_overbooked", name, amount, cluster.gres.get(name, none)))
    alone = np.array([cluster.whole_nodes or bool(p and p.exclusive) for p in facts] + [False], bool)
    if alone.any():
        # A run that wants its nodes alone takes all of 2**40 places, any other run one.
        place = np.where(runs.stopped[owner] | runs.unchecked[owner], 0, np.where(alone[code], 1 << 40, 1))
        found.append(Resource("nodes_not_shared", "jobs", place, np.full(cluster.n, 1 << 40, np.int64)))
    return found


def _cpus(cluster: ClusterFacts, facts: list[PartitionFacts | None], code: IntArray, cpus: IntArray) -> list[Resource]:
    """CPUs, once for each partition that shares them: its jobs beside all jobs that share none.

    Jobs of two partitions that share CPUs may have the same ones, each as many as its own partition says.
    """
    units = [p.jobs_per_cpu if p is not None and p.shares_cpus else 0 for p in facts]  # 0: it shares none
    found = []
    for k, unit in [(k, unit) for k, unit in enumerate(units) if unit] or [(-1, 1)]:
        weight = np.array([int(i == k) if some else unit for i, some in enumerate(units)] + [unit], np.int64)
        found.append(Resource("cpus_not_overbooked", "CPUs", cpus * weight[code], cluster.cpus * unit, unit))
    return found


def sweep(
    cluster: ClusterFacts,
    runs: JobRuns,
    wanted: list[Resource],
    outages: Outages,
    node_class: IntArray,
    examples: int,
    chunk: int = CHUNK,
    *,
    skip: BoolArray | None = None,
) -> SweepResult:
    """Walk all nodes.

    Parameters
    ----------
    wanted
        The resources to add up.
    outages
        When nodes could not be used, in order of node; instants are indices into ``runs.times``.
    node_class
        Class of each node, (n_nodes,); busy nodes are counted per class.
    examples
        How many violations of a kind to describe.
    chunk
        Node visits to hold at once.
    skip
        Runs to leave out, (n_runs,).

    Notes
    -----
    O(v log v) in the number of node visits v, in memory bounded by `chunk`.
    """
    n_classes, n_times = int(node_class.max(initial=0)) + 1, len(runs.times)
    # A run [t, t) holds nothing. A resource needs a look only if some run takes more of it than some node has.
    some = runs.begin < runs.end if skip is None else (runs.begin < runs.end) & ~skip
    held = np.flatnonzero(some[runs.pieces.owner])
    tight = [bool(len(r.amount)) and int(r.amount.max()) > int(r.capacity.min()) for r in wanted]
    low, high = runs.pieces.low, runs.pieces.high
    change = np.bincount(low, minlength=cluster.n + 1) - np.bincount(high + 1, minlength=cluster.n + 1)
    visits = np.cumsum(np.cumsum(change)[: cluster.n])
    result = SweepResult(int(visits[-1]), [], [0] * len(wanted), [], 0, np.zeros((n_classes, n_times), np.int64))
    first = 0
    while first < cluster.n:
        done = int(visits[first - 1]) if first else 0
        stop = max(first + 1, int(np.searchsorted(visits, done + chunk, "right")))
        _Chunk(cluster, runs, wanted, result, examples, held, (first, stop)).walk(outages, node_class, tight)
        first = stop
    result.busy = np.cumsum(result.busy, axis=1)
    return result


class _Chunk:
    """Nodes ``nodes[0]`` up to ``nodes[1]``: their visits in order of node, then start."""

    def __init__(
        self,
        cluster: ClusterFacts,
        runs: JobRuns,
        wanted: list[Resource],
        result: SweepResult,
        examples: int,
        held: IntArray,
        nodes: tuple[int, int],
    ) -> None:
        self.cluster, self.runs, self.wanted, self.result, self.examples = cluster, runs, wanted, result, examples
        pieces = runs.pieces
        here = held[(pieces.low[held] < nodes[1]) & (pieces.high[held] >= nodes[0])]
        low = np.maximum(pieces.low[here], nodes[0])
        length = np.minimum(pieces.high[here], nodes[1] - 1) - low + 1
        key = np.repeat((low << _PIECE_BITS) | here, length)
        key += (np.arange(len(key)) - np.repeat(np.cumsum(length) - length, length)) << _PIECE_BITS
        key.sort()  # pieces are in order of their run's start
        self.node, self.piece = key >> _PIECE_BITS, key & ((1 << _PIECE_BITS) - 1)
        self.run = pieces.owner[self.piece]
        self.begin, self.end = runs.begin[self.run], runs.end[self.run]

    def walk(self, outages: Outages, node_class: IntArray, tight: list[bool]) -> None:
        """Add what happens on these nodes to the result."""
        if len(self.node) == 0:
            return
        step = len(self.runs.times)
        base = (self.node - self.node[0]) * step
        reach = np.maximum.accumulate(base + self.end)  # latest end so far on the node
        same = self.node[1:] == self.node[:-1]
        overlaps = np.concatenate([[False], same & (base[1:] + self.begin[1:] < reach[:-1])])
        self._count_busy(np.flatnonzero(~overlaps), reach - base, node_class)
        shared = np.zeros(self.cluster.n, bool)
        shared[self.node[overlaps]] = True
        is_shared = shared[self.node]
        alone = np.flatnonzero(~is_shared)
        self._check_alone(alone if overlaps.any() else None, tight)
        if overlaps.any():
            self._check_shared(np.flatnonzero(is_shared))
        self._check_outages(outages)

    def _count_busy(self, block: IntArray, reach: IntArray, node_class: IntArray) -> None:
        """Count busy nodes by blocks of runs that overlap or follow each other, from first start to last end."""
        busy = self.result.busy
        classes, step = busy.shape
        last = np.append(block[1:], len(self.node)) - 1
        cls = node_class[self.node[block]] * step
        busy += np.bincount(cls + self.begin[block], minlength=classes * step).reshape(busy.shape)
        busy -= np.bincount(cls + reach[last], minlength=classes * step).reshape(busy.shape)

    def _check_alone(self, visits: IntArray | None, tight: list[bool]) -> None:
        """Single runs against the node's capacity."""
        piece = self.piece if visits is None else self.piece[visits]
        node = self.node if visits is None else self.node[visits]
        for k, resource in enumerate(self.wanted):
            if not tight[k]:
                continue
            over = np.flatnonzero(resource.amount[piece] > resource.capacity[node])
            for i in over[: self._room(k)]:
                at = int(i if visits is None else visits[i])
                used, run = int(resource.amount[piece[i]]), int(self.run[at])
                self.result.overbooked.append(Overbooking(k, int(node[i]), int(self.begin[at]), used, (run,)))
            self.result.overbooked_count[k] += len(over)

    def _check_shared(self, visits: IntArray) -> None:
        """Check the sums of overlapping runs after each start; a run that ends then is gone before the start."""
        node = self.node[visits] - self.node[0]
        step = len(self.runs.times)
        key = np.concatenate([(node * step + self.begin[visits]) * 2 + 1, (node * step + self.end[visits]) * 2])
        order = np.argsort(key, kind="stable")
        key = key[order]
        # of the starts at one instant only the last tells how much is in use
        final = np.flatnonzero((key & 1).astype(bool) & np.append(key[1:] != key[:-1], True))
        node_at = (key[final] >> 1) // step + self.node[0]
        for k, resource in enumerate(self.wanted):
            amount = resource.amount[self.piece[visits]]
            used = np.cumsum(np.concatenate([amount, -amount])[order])[final]
            over = np.flatnonzero(used > resource.capacity[node_at])
            for i in over[: self._room(k)]:
                where, when = int(node_at[i]), int((key[final[i]] >> 1) % step)
                there = (self.node == where) & (self.begin <= when) & (when < self.end)
                there &= resource.amount[self.piece] > 0
                holders = tuple(int(r) for r in np.unique(self.run[there]))
                self.result.overbooked.append(Overbooking(k, where, when, int(used[i]), holders))
            self.result.overbooked_count[k] += len(over)

    def _check_outages(self, outages: Outages) -> None:
        """Find runs on nodes that were down, and starts on nodes that took no new jobs."""
        first, stop = np.searchsorted(outages.node, [self.node[0], self.node[-1] + 1])
        edges = np.searchsorted(self.node, outages.node[first:stop])
        ends = np.searchsorted(self.node, outages.node[first:stop], "right")
        for k, a, b in zip(range(first, stop), edges.tolist(), ends.tolist(), strict=True):
            begin, end = self.begin[a:b], self.end[a:b]
            bad = begin < outages.end[k]
            if outages.kind[k] == DRAIN:
                run = self.run[a:b]
                after = (begin > outages.begin[k]) | (self.runs.told[run] > outages.told[k])
                bad &= (begin >= outages.begin[k]) & after & ~self.runs.resized[run]
            else:
                bad &= end > outages.begin[k]
            for i in np.flatnonzero(bad):
                self.result.outage_count += 1
                if len(self.result.outage_runs) < self.examples:
                    self.result.outage_runs.append((int(self.run[a + i]), int(outages.node[k]), k))

    def _room(self, resource: int) -> int:
        """Examples still wanted of `resource`."""
        return max(0, self.examples - sum(o.resource == resource for o in self.result.overbooked))
