"""topology/tree: nodes as close together in the network as possible.

Mirrors select/cons_tres _eval_nodes_topo (22.05). Of the lowest-weight nodes that suffice, leaf switches are filled one
after another. Each time the leaf nearest to those used already is next: the tightest that holds all missing nodes. If
none does, it is the leaf with the most nodes under the tightest parent. Newer releases ask a switch for the missing
CPUs as well as for the nodes, and take a nearer leaf only if it holds both (topology/tree).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from slurmsim.bitmap import Bitmap, from_indices, to_indices
from slurmsim.core.placement.best_fit import Ask, Taking
from slurmsim.model.switch import SwitchSpec

APART: Final = 1 << 30  # distance of switches that are not connected


class SwitchTree:
    """The switches of one cluster.

    Parameters
    ----------
    switches
        As topology.conf lists them, without circles. Ways lead over the last switch that has another below it.
    index
        Place of each node in the node table.
    counts_cpus
        True if a switch has to hold the missing CPUs, too.
    """

    comes_first = False
    had_whole = False
    takes_single = True

    def __init__(self, switches: Sequence[SwitchSpec], index: dict[str, int], *, counts_cpus: bool = False) -> None:
        self.names = [s.name for s in switches]
        self.counts_cpus = counts_cpus
        at = {name: i for i, name in enumerate(self.names)}
        self.n = len(switches)
        self.parent = list(range(self.n))
        for i, spec in enumerate(switches):
            for name in spec.switches:
                self.parent[at[name]] = i
        self.level = [0] * self.n
        self.nodes: list[Bitmap] = [from_indices(sorted(index[node] for node in s.nodes)) for s in switches]
        for _ in range(self.n):  # as deep as the tree can be
            for up, spec in enumerate(switches):
                for below in (at[name] for name in spec.switches):
                    self.level[up] = max(self.level[up], self.level[below] + 1)
                    self.nodes[up] |= self.nodes[below]
        self.leaves = [i for i in range(self.n) if self.level[i] == 0]
        self.distance = [[self._hops(i, j) for j in range(self.n)] for i in range(self.n)]

    def _hops(self, i: int, j: int) -> int:
        """Links between two switches, `APART` when there is no way."""
        way: dict[int, int] = {}
        steps = 0
        while True:
            way[i] = steps
            if self.parent[i] == i:
                break
            i, steps = self.parent[i], steps + 1
        steps = 0
        while j not in way:
            if self.parent[j] == j:
                return APART
            j, steps = self.parent[j], steps + 1
        return way[j] + steps

    def whole(self, nodes: Bitmap) -> Bitmap:
        """Return `nodes` and all others of the leaf switches they are in."""
        for leaf in self.leaves:
            nodes |= self.nodes[leaf] if nodes & self.nodes[leaf] else 0
        return nodes

    def applies(self, nodes: Iterable[int]) -> bool:
        """Return True: nodes without a switch are in no tree, and no job gets them."""
        return True

    def refused(self, n_nodes: int, size: int, n_required: int) -> bool:
        """Return False: ``--segment`` has no effect on switches."""
        return False

    def leaves_of(self, nodes: Bitmap) -> int:
        """Return how many leaf switches `nodes` are on."""
        return sum(1 for leaf in self.leaves if self.nodes[leaf] & nodes)

    def evaluate(
        self, ask: Ask, left: dict[int, int], weight: dict[int, int], required: set[int]
    ) -> dict[int, int] | None:
        """One attempt (`slurmsim.core.placement.best_fit.choose`); lowers `left` for nodes taken in part."""
        if len(left) < ask.min_nodes or any(node not in left for node in required):
            return None
        return _Search(self, ask, left, weight, required).run()


class _Search:
    def __init__(
        self, tree: SwitchTree, ask: Ask, left: dict[int, int], weight: dict[int, int], required: set[int]
    ) -> None:
        self.tree, self.left, self.weight, self.required = tree, left, weight, required
        self.taking = Taking(ask, left)
        usable = [node for node in left if left[node] >= max(ask.node_floor, 1) or node in required]
        self.reach = [nodes & from_indices(usable) for nodes in tree.nodes]
        # CPUs below each switch, of all that was offered: what is taken of them does not make them fewer
        self.cpus = [sum(left[node] for node in to_indices(nodes).tolist()) for nodes in self.reach]
        self.forced = [False] * tree.n  # leaves that hold nodes the job gets in any case
        # (weight, nodes) from the lightest on
        order = sorted(usable, key=lambda node: (weight[node], node))
        self.groups = [(w, list(nodes)) for w, nodes in groupby(order, key=weight.__getitem__)]

    def run(self) -> dict[int, int] | None:
        taking = self.taking
        if not taking.take_required(self.required):
            return taking.taken if taking.done else None
        top = self._top()
        if top < 0:
            return None
        needed = from_indices(sorted(self.required))
        if needed & ~self.reach[top]:
            return None
        above = self.reach[top]
        self.reach = [nodes & above for nodes in self.reach]
        chosen = self._lightest(above)
        if chosen is None:
            return None
        sure, best = chosen
        # without the heaviest weight the nodes do not suffice: all lighter ones are taken, like required ones
        for node in sure:
            if taking.max_nodes > 0:
                taking.take(node)
        if sure:
            self._force(from_indices(sorted(sure)))
            if taking.done:
                return taking.taken
            if taking.max_nodes <= 0:
                return None
        self.reach = [nodes & (best | needed) for nodes in self.reach]
        self.count = [nodes.bit_count() for nodes in self.reach]
        # leaves the job is on anyway are filled before another one is opened
        if self.required or sure:
            before = taking.rem_nodes
            for leaf in self.tree.leaves:
                if self.forced[leaf]:
                    if self._fill(leaf):
                        return taking.taken
                    self._used_up(leaf, before - taking.rem_nodes)
        if self._walk():
            return taking.taken
        return taking.taken if taking.min_rem <= 0 and taking.rem_cpus <= 0 and taking.has_gres else None

    def _has_cpus(self, switch: int) -> bool:
        """Return True if `switch` has the missing CPUs, where that is asked."""
        return not self.tree.counts_cpus or self.cpus[switch] >= self.taking.rem_cpus

    def _used_up(self, leaf: int, nodes: int) -> None:
        """Count so many nodes less on `leaf` and all above it, where CPUs count (_decrement_node_cnt)."""
        while self.tree.counts_cpus:
            self.count[leaf] = max(self.count[leaf] - nodes, 0)
            if self.tree.parent[leaf] == leaf:
                return
            leaf = self.tree.parent[leaf]

    def _force(self, nodes: Bitmap) -> None:
        for i in range(self.tree.n):
            if self.reach[i] & nodes:
                self.forced[i] = True

    def _top(self) -> int:
        """Return the switch the job stays below: over all required nodes, else over the lightest ones; -1 for none."""
        tree, level = self.tree, self.tree.level
        needed = from_indices(sorted(self.required))
        masks = [(w, from_indices(nodes)) for w, nodes in self.groups]
        top, lightest = -1, 0
        for i in range(tree.n):
            if needed & self.reach[i]:
                self.forced[i] = True
                if top < 0 or level[i] > level[top]:
                    top = i
            if needed or not self.taking.enough(self.reach[i].bit_count()) or not self._has_cpus(i):
                continue
            for w, mask in masks:
                if mask & self.reach[i]:
                    if top < 0 or (level[i] >= level[top] and w <= lightest):
                        top, lightest = i, w
                    break
        return top

    def _lightest(self, above: Bitmap) -> tuple[list[int], Bitmap] | None:
        """Of the lightest nodes that suffice together: those certainly taken (all but the heaviest), and all."""
        taking = self.taking
        best: list[int] = []
        sure: list[int] = []
        cpus = 0
        for _, nodes in self.groups:
            if best:
                sure = best.copy()
            for node in nodes:
                if above >> node & 1 and node not in self.required:
                    best.append(node)
                    cpus += self.left[node]
            if cpus >= taking.rem_cpus and taking.enough(len(best)) and taking.would_have_gres(best):
                return sorted(sure), from_indices(sorted(best))
        return None

    def _fill(self, leaf: int) -> bool:
        """Take the nodes of one leaf in table order; whether the request is complete."""
        taking = self.taking
        for node in to_indices(self.reach[leaf]).tolist():
            if taking.max_nodes <= 0:
                return False
            if node not in taking.taken and self.left[node] > 0:
                taking.take(node)
                if taking.done:
                    return True
        return False

    def _walk(self) -> bool:
        """Leaf after leaf until the request is complete; False when no leaf brings anything more."""
        tree, taking = self.tree, self.taking
        far = [0] * tree.n
        for i in range(tree.n):
            if self.forced[i]:
                self._move(far, i)
        before = taking.rem_nodes + 1
        while before != taking.rem_nodes:
            before = taking.rem_nodes
            best = -1
            for i in tree.leaves:
                if not self.forced[i]:
                    best = self._nearer(i, best, far)
            if best < 0:
                return False
            self._move(far, best)
            if self._fill(best):
                return True
            self._used_up(best, self.count[best])
            self.count[best] = 0
        return False

    def _move(self, far: list[int], used: int) -> None:
        for i, hops in enumerate(self.tree.distance[used]):
            far[i] = APART if APART in (hops, far[i]) else far[i] + hops

    def _nearer(self, i: int, best: int, far: list[int]) -> int:
        count = self.count
        if best < 0 or far[i] >= APART or not count[i]:
            return i if count[i] and far[i] < APART and best < 0 else best
        fit, holds = self._compare(i, best)
        near_enough = holds if self.tree.counts_cpus else fit >= 0
        return i if (far[i] < far[best] and near_enough) or (far[i] == far[best] and fit > 0) else best

    def _holds(self, switch: int) -> bool:
        return self.count[switch] >= self.taking.rem_nodes and self._has_cpus(switch)

    def _compare(self, i: int, j: int) -> tuple[int, bool]:
        """Above 0 when leaf `i` fits better than `j`: by the first ancestors that tell them apart. And if `i` holds."""
        parent, level, count = self.tree.parent, self.tree.level, self.count
        while True:
            holds_i, holds_j = self._holds(i), self._holds(j)
            if holds_i and holds_j:
                if count[i] != count[j]:
                    return (1 if count[i] < count[j] else -1), holds_i
                break
            if holds_i != holds_j:
                return (1 if holds_i else -1), holds_i
            if parent[i] == parent[j] or (parent[i] == i and parent[j] == j):
                break
            i, j = parent[i], parent[j]
        if count[i] != count[j]:
            return (1 if count[i] > count[j] else -1), holds_i
        return (level[i] < level[j]) - (level[i] > level[j]), holds_i
