"""OverSubscribe=YES:n and FORCE:n: several jobs on one core, and where the next one may go.

Mirrors select/cons_tres (22.05): _verify_node_state (which nodes a job may enter at all) and steps 1, 3 and 4 of
_job_test. Those steps try idle cores; then cores idle among partitions of the same tier; then the rows of the job's own
partition, fullest row first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slurmsim.bitmap import Bitmap, from_indices
from slurmsim.core.placement.compiled_request import CompiledRequest
from slurmsim.core.records.partition import Partition
from slurmsim.core.records.shared_cores import SharedCores, Taken, both
from slurmsim.model.cluster import ClusterSpec


def shares_cores(partitions: Iterable[Partition]) -> bool:
    """Return True if jobs may share a core: those of one partition, or of one with FORCE and another."""
    known = [p for p in partitions if p.spec.oversubscribe != "EXCLUSIVE"]
    for p in known:
        if p.spec.oversubscribe in ("YES", "FORCE") and p.spec.oversubscribe_max > 1:
            return True
        if p.spec.oversubscribe == "FORCE" and any(q is not p and q.mask & p.mask for q in known):
            return True
    return False


def takes_turns(cluster: ClusterSpec) -> bool:
    """Return True if the configuration has a gang scheduler: PreemptMode with GANG, and not select/linear."""
    return "GANG" in cluster.option("PreemptMode") and cluster.option("SelectType") != "select/linear"


def preempts_by_tier(cluster: ClusterSpec) -> bool:
    """Return True if the configuration preempts by tiers of partitions."""
    return bool(cluster.option("PreemptType") == "preempt/partition_prio")


def trials(cores: SharedCores, request: CompiledRequest, mask: Bitmap) -> Iterator[tuple[Bitmap, Taken]]:
    """(nodes, cores that count as taken) to try one after another for `request` on the nodes of `mask`."""
    own = request.partition
    if request.sharing == "one":
        busy = both(cores.taken(range(len(cores.n_rows))), cores.kept)
        yield mask & ~cores.shared_beside(own.index), busy
        return
    mask &= ~cores.sole
    # with --exclusive only nodes with no core taken will do
    yield _trial(cores, request, mask, cores.taken(cores.rows))
    of = cores.partitions
    hard = cores.taken([i for i in cores.rows if _keeps(of[i], own)]) if cores.by_tier else {}
    equal = [i for i in cores.rows if of[i].tier == own.tier]
    lower = [i for i in cores.rows if of[i].tier < own.tier]
    for without in range(len(lower), -1, -1):  # spare the jobs of lower tiers as far as possible
        yield _trial(cores, request, mask, both(hard, cores.taken([*equal, *lower[:without]])))
    rows = cores.rows.get(own.index, [])
    for row in sorted(rows, key=lambda row: -sum(bits.bit_count() for bits in row.values())):
        if row:
            yield _trial(cores, request, mask, both(hard, row))
    if sum(bool(row) for row in rows) < cores.n_rows[own.index]:
        yield _trial(cores, request, mask, hard)


def _keeps(theirs: Partition, mine: Partition) -> bool:
    """Return True if jobs of `theirs` keep their cores from those of `mine`, whatever rows there are."""
    return theirs.tier > mine.tier or theirs.spec.preempt_mode == "OFF"


def _trial(cores: SharedCores, request: CompiledRequest, mask: Bitmap, busy: Taken) -> tuple[Bitmap, Taken]:
    busy = both(busy, cores.kept)
    if request.all_cores:
        mask &= ~from_indices(sorted(node for node, bits in busy.items() if bits))
    return mask, busy
