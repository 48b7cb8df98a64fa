"""Which nodes a job gets from select/linear where they are not all alike.

Mirrors _job_test of select_linear.c and the order in which _pick_best_nodes of node_scheduler.c offers nodes (22.05).

1. Nodes come in sets of one weight and one size, lightest first; required nodes are there from the first on. Each
   set joins those before it until a choice succeeds, so weights do not matter within what was joined.
2. If sizes differ, and the job needs more than so many of the smallest have, the largest go first, last ones before.
3. Else nodes come run by run: the smallest run that has all that is missing, or the largest; each from its begin.

Deviations: slurmctld begins a set with each NodeName line, here sets of the same size and weight are one. With
--contiguous it takes one run in order, and may give fewer CPUs than asked for; here `best_fit.choose` does that.
"""

from __future__ import annotations

from collections.abc import Iterator

from slurmsim.core.placement.best_fit import Ask
from slurmsim.data_classes import dataclass


@dataclass(slots=True)
class _Run:
    """Neighbouring nodes, those required left out."""

    nodes: list[int]
    cpus: int
    required: int | None


def choose_linear(
    ask: Ask, nodes: list[int], cpus: list[int], weights: list[int], required: set[int]
) -> dict[int, int] | None:
    """Return nodes and the CPUs of each, or None (parameters: see `best_fit.choose`)."""
    wanted = max(ask.min_nodes, ask.target_nodes)
    first: dict[tuple[int, int], int] = {}  # weight and size of a set -> its first node
    for node, size, weight in zip(nodes, cpus, weights, strict=True):
        first.setdefault((weight, size), node)
    sets = sorted(first, key=lambda one: (one[0], first[one]))
    for n in range(1, len(sets) + 1):
        joined = set(sets[:n])
        offered = {
            node: size
            for node, size, weight in zip(nodes, cpus, weights, strict=True)
            if (weight, size) in joined or node in required
        }
        if len(offered) >= wanted or n == len(sets):
            found = _Choice(ask, offered, required).made()
            if found is not None:
                return found
    return None


class _Choice:
    def __init__(self, ask: Ask, offered: dict[int, int], required: set[int]) -> None:
        self._ask, self._offered, self._required = ask, offered, required
        self._taken: dict[int, int] = {}
        self._cpus, self._nodes = ask.min_cpus, max(ask.min_nodes, ask.target_nodes)
        self._room = ask.max_nodes

    def made(self) -> dict[int, int] | None:
        """Return what was taken, None if it does not serve."""
        if len(self._offered) < self._ask.min_nodes or not self._required <= self._offered.keys():
            return None
        for node in sorted(self._required):
            self._take(node)
        sizes = set(self._offered.values())
        if len(sizes) > 1 and self._cpus > min(sizes) * self._nodes:
            self._take_all(sorted(self._offered, key=lambda node: (-self._offered[node], -node)))
        else:
            self._take_runs()
        return self._taken if self._cpus <= 0 and self._enough(0) else None

    def _take(self, node: int) -> None:
        self._taken[node] = self._offered[node]
        self._cpus -= self._offered[node]
        self._nodes -= 1
        self._room -= 1

    def _take_all(self, order: list[int]) -> None:
        """Take nodes in this order until there is enough."""
        for node in order:
            if self._room <= 0 or self._done:
                return
            if node not in self._taken:
                self._take(node)

    @property
    def _done(self) -> bool:
        return self._nodes <= 0 and self._cpus <= 0

    def _enough(self, n: int) -> bool:
        """Return True if `n` further nodes are as many as it needs at least."""
        return n >= self._nodes - max(self._ask.target_nodes - self._ask.min_nodes, 0)

    def _take_runs(self) -> None:
        runs = list(self._runs())
        while runs and self._room > 0 and not self._done:
            best = self._best(runs)
            runs.remove(best)
            order = best.nodes
            if (at := best.required) is not None:  # up from the required node, then down
                order = [node for node in order if node > at] + [node for node in reversed(order) if node < at]
            self._take_all(order)

    def _runs(self) -> Iterator[_Run]:
        run, last = _Run([], 0, None), -2
        for node in self._offered:  # table order
            if node != last + 1:
                if run.nodes:
                    yield run
                run = _Run([], 0, None)
            last = node
            if node in self._required:
                run.required = node if run.required is None else run.required
            else:
                run.nodes.append(node)
                run.cpus += self._offered[node]
        if run.nodes:
            yield run

    def _best(self, runs: list[_Run]) -> _Run:
        best, suffices = runs[0], self._suffices(runs[0])
        for run in runs[1:]:
            enough = self._suffices(run)
            tighter = run.cpus < best.cpus if enough else run.cpus > best.cpus
            if (best.required is None and run.required is not None) or (enough and not suffices) or tighter:
                best, suffices = run, enough
        return best

    def _suffices(self, run: _Run) -> bool:
        return run.cpus >= self._cpus and self._enough(len(run.nodes))
