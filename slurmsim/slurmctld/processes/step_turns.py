"""From which node of its job on a step looks for its nodes: where the step before ended (24.11 on).

Mirrors next_step_node_inx of stepmgr.c. From 26.05 on nodes are looked at in the order of their network, and the next
step begins in another unit of it than the one in which this step ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from slurmsim.release_changes import since
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.processes.node_ranks import NOWHERE, Rank, node_ranks

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

TURN = "turn"  # among what a step asked for: where the next one begins


class Turn:
    """Which of the `n_nodes` nodes of a job comes next; `next` is where the next step begins.

    `by_rank`: places in the order of the network count (26.05), of `ranks`; else the nodes' own order.
    """

    def __init__(self, n_nodes: int, first: int, *, by_rank: bool, ranks: Sequence[Rank] | None = None) -> None:
        self.next, self.by_rank = first, by_rank
        self._ranks = list(ranks or [NOWHERE] * n_nodes)
        self._order = sorted(range(n_nodes), key=lambda i: (self._ranks[i], i))

    def relative(self) -> None:
        """Begin with the first node that is left, which 26.05 does for ``--relative``."""
        if self.by_rank:
            self.next = 0

    def ordered(self, nodes: Sequence[int]) -> list[int]:
        """Return some of the job's nodes as they are looked at, once round."""
        if self.by_rank:
            first = self.next if self.next < len(self._order) else 0
            among = set(nodes)
            return [i for i in (*self._order[first:], *self._order[:first]) if i in among]
        first = self.next if self.next <= max(nodes, default=0) else 0
        return [*(i for i in nodes if i >= first), *(i for i in nodes if i < first)]

    def looked_until(self, node: int) -> None:
        """Note the last node that was found by looking."""
        if not self.by_rank:
            return
        n, at = len(self._order), self._order.index(node)
        units = [self._ranks[i][0] for i in self._order]
        steps = range(1, n) if units[0] != units[-1] else ()
        self.next = next(((at + k) % n for k in steps if units[(at + k) % n] != units[at]), (at + 1) % n)

    def took(self, nodes: Sequence[int]) -> None:
        """Note what a step got in the end, in whatever way."""
        if not self.by_rank:
            self.next = max(nodes) + 1


def turn_of(cluster: LiveCluster, live: LiveJob) -> Turn | None:
    """Return where the next step of a job that runs begins to look; None before 24.11, when all begin with its first.

    Each step notes what it leaves to the next among what it asked for.
    """
    if not since(cluster.release, "steps_take_turns"):
        return None
    core = live.core
    assert core.alloc is not None
    names = [cluster.controller.state.table.names[i] for i in core.alloc.indices().tolist()]
    before = next((step for step in reversed(live.steps) if step.run == core.restarts and TURN in step.asked), None)
    first = int(before.asked[TURN]) if before is not None else 0
    by_rank = since(cluster.release, "steps_in_order_of_network")
    return Turn(len(names), first, by_rank=by_rank, ranks=ranks_of(cluster, live, names))


def ranks_of(cluster: LiveCluster, live: LiveJob, names: Sequence[str]) -> list[Rank] | None:
    """Return the places of all nodes of a job in its network; None where their own order counts."""
    if not since(cluster.release, "steps_in_order_of_network"):
        return None
    if "CR_NO_DIST_TOPO_BLOCK" in {str(word).upper() for word in cluster.spec.option("SelectTypeParameters")}:
        return None
    return node_ranks(cluster.spec.network_of(live.core.partition.spec.topology), names)
