"""Plans of sched/backfill put off until a start depends on them.

A backfill cycle exists for the jobs it starts. Whether a record starts depends on the nodes earlier records are
planned on before the record would end; plans that begin later only matter through each other. So a record that cannot
start is not planned at once but *deferred*, with an instant no plan of it can begin before, from counting nodes. Only
when a later record could start otherwise are the deferred ones settled that might begin before its end.

Settling is exact. A plan is made on the node space at the record's place in the queue: what is settled above it, and
nothing below (`_Layer`), with the running jobs as they were then. It reads the node space no further than to its own
end; so it is final when every deferred record above begins later than that, else those are settled first. Settling
in another order is possible because a node space is the same up to the first boundary of what is missing in it: Slurm
merges equal neighbours one pair a plan, and where a second pair is left (`NodeSpace.ragged`), boundaries depend on
the number of plans made, so then everything above is settled first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from slurmsim.bitmap import Bitmap
from slurmsim.capacity import CapacityProfile, NodeSpace
from slurmsim.policy import Plan

from slurmsim_policies.slurm_backfill_search import Search

NEVER = 1 << 60


@dataclass(slots=True)
class _Layer:
    """The node space below one plan or start, and all it rests on.

    Attributes
    ----------
    position
        Place in the queue of the record planned or started.
    first, last, nodes
        What it takes out of the node space.
    start, end
        While it holds `nodes` that running jobs have given back.
    outlook
        The running jobs for the records that follow.
    space
        The node space for the records that follow.
    profile
        How many nodes are then neither planned nor held by a running job, at most.
    """

    position: int
    first: int
    last: int
    start: int
    end: int
    nodes: Bitmap
    n_nodes: int
    outlook: Any
    space: NodeSpace
    profile: CapacityProfile

    def put_on(self, below: _Layer) -> None:
        """Work out `space` and `profile` anew from those of the layer before."""
        self.space = below.space.copy()
        self.space.take(self.first, self.last, self.nodes)
        self.profile = below.profile.copy()
        self.profile.add(self.start, self.end, -self.n_nodes)


@dataclass(slots=True, eq=False)
class _Deferred:
    """A record whose plan is put off; `bound`: no sooner can it start, on the layer `seen`."""

    position: int
    record: Any
    limit: int
    bound: int
    seen: _Layer | None = None
    settled: bool = False


class DeferredPlans:
    """The records of a cycle that were passed over, each to be planned if it matters.

    Parameters
    ----------
    search
        Finds where a record goes.
    space
        The node space without any plan.
    outlook
        The running jobs before anything starts.

    Attributes
    ----------
    made
        Plans made since somebody last cleared it.
    """

    def __init__(self, search: Search, space: NodeSpace, outlook: Any) -> None:
        self._search = search
        self._waiting: list[_Deferred] = []  # in the order of the queue
        self._layers = [_Layer(-1, 0, 0, 0, 0, 0, 0, outlook, space, outlook.profile())]
        self._positions = [-1]
        self.made: list[Plan] = []
        self.on_take: Callable[[int, int, Bitmap], None] = lambda first, last, nodes: None

    def defer(self, position: int, record: Any, limit: int) -> None:
        """Pass over `record`, the one at `position` of the queue; positions ascend."""
        self._waiting.append(_Deferred(position, record, limit, self._search.now))

    def started(self, position: int, limit: int, first: int, last: int, nodes: Bitmap, outlook: Any) -> None:
        """The record at `position` was started on `nodes` and is among the running jobs of `outlook`."""
        now = self._search.now
        self._insert(position, first, last, now, now + limit, nodes, outlook)

    def settle(self, until: int, wanted: Callable[[], bool]) -> bool:
        """Plan every deferred record that might begin by `until`, as long as `wanted` holds; whether it still does."""
        anything = False
        for deferred in self._waiting:
            if self._may_begin_by(until, deferred):
                anything = True
                self._settle(deferred)
                if not wanted():
                    break
        else:
            return self._prune(anything) or True
        self._prune(anything)
        return False

    def _prune(self, anything: bool) -> None:
        if anything:
            self._waiting = [deferred for deferred in self._waiting if not deferred.settled]

    def _may_begin_by(self, until: int, deferred: _Deferred) -> bool:
        """Whether a plan of `deferred` could take anything out of the node space at or before `until`."""
        if deferred.settled or self._floor(deferred.bound) > until:
            return False
        layer = self._layer(deferred.position)
        if deferred.seen is not layer:
            deferred.seen = layer
            # the plan may lack up to bf_resolution at its end
            length = max(deferred.limit - self._search.resolution, 1)
            bound = layer.profile.earliest(deferred.record.shape.node_need, length, deferred.bound)
            if bound is None or bound >= layer.space.end:  # where the map ends plans take nothing
                deferred.bound, deferred.settled = NEVER, True
            else:
                deferred.bound = bound
        return self._floor(deferred.bound) <= until

    def _floor(self, time: int) -> int:
        return time // self._search.resolution * self._search.resolution

    def _settle(self, deferred: _Deferred) -> None:
        """Plan `deferred`, and before it those it depends on."""
        position, limit = deferred.position, deferred.limit
        while self._may_begin_by(NEVER, deferred):
            layer = self._layer(position)
            found = self._search.find(
                deferred.record, limit, layer.space, layer.outlook, deferred.bound, refused=True
            )
            final = found is not None and found.nodes and not layer.space.ragged
            if not self._settle_above(position, max(found.start + limit, found.last) if final else NEVER):
                deferred.settled = True
                if found is not None and found.nodes:
                    self.made.append(Plan(deferred.record, found.start, found.nodes, promise=False))
                    if found.first < layer.space.end:
                        self._insert(
                            position, found.first, found.last, found.start, found.last, found.nodes, layer.outlook
                        )
                        self.on_take(found.first, found.last, found.nodes)
                return

    def _settle_above(self, position: int, until: int) -> bool:
        """Settle what stands before `position` and might begin by `until`; whether there was anything."""
        anything = False
        for other in self._waiting:
            if other.position >= position:
                break
            if self._may_begin_by(until, other):
                anything = True
                self._settle(other)
        return anything

    def _layer(self, position: int) -> _Layer:
        """What the record at `position` is planned on."""
        return self._layers[bisect_left(self._positions, position) - 1]

    def _insert(
        self, position: int, first: int, last: int, start: int, end: int, nodes: Bitmap, outlook: Any
    ) -> None:
        """A new layer, and those above it put on it anew."""
        at = bisect_left(self._positions, position)
        below = self._layers[at - 1]
        layer = _Layer(
            position, first, last, start, end, nodes, nodes.bit_count(), outlook, below.space, below.profile
        )
        self._positions.insert(at, position)
        layers = self._layers = self._layers[:at] + [layer] + self._layers[at:]
        for k in range(at, len(layers)):
            if k > at:  # a new object: who remembers a bound of the old one must look again
                old = layers[k]
                layers[k] = _Layer(
                    old.position, old.first, old.last, old.start, old.end, old.nodes, old.n_nodes, old.outlook,
                    old.space, old.profile,
                )  # fmt: skip
            layers[k].put_on(layers[k - 1])
