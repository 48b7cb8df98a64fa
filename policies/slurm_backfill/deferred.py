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

A record that turns out to begin later than asked for is not planned. That it does shows either from counting nodes,
as soon as enough plans above are known, or from the search, once every deferred record above that begins before the
latest end in question is settled. What is still missing then begins after all that the tries up to the instant in
question read, boundaries included: if none of them gives a start by that instant, none does with all plans made. (A
missing boundary may cut the row of tries short or prolong it, but only behind a try whose next is later than that.)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from slurmsim.bitmap import Bitmap
from slurmsim.capacity import CapacityProfile, NodeSpace
from slurmsim.policy import Outlook, Plan, SlurmRecord
from slurmsim_policies.slurm_backfill.dominated import Hopeless
from slurmsim_policies.slurm_backfill.search import NEVER, Search


@dataclass(slots=True, eq=False)
class _Layer:
    """One plan or start, and the node space below it in the queue.

    Attributes
    ----------
    position
        Place in the queue of the record planned or started.
    first, last, nodes
        What it takes out of the node space.
    start, end
        While it holds `n_nodes` nodes that running jobs have given back.
    outlook
        The running jobs for the records that follow.
    space
        The node space for the records that follow; None until somebody wants to know.
    profile
        How many nodes are then neither planned nor held by a running job, at most.
    """

    position: int
    first: int
    last: int
    start: int
    end: int
    nodes: Bitmap
    outlook: Outlook
    space: NodeSpace | None = None
    profile: CapacityProfile | None = None

    def put_on(self, below: _Layer) -> None:
        """Work out `space` and `profile` from those of the layer before."""
        assert below.space is not None
        assert below.profile is not None
        self.space = below.space.copy()
        self.space.take(self.first, self.last, self.nodes)
        self.profile = below.profile.copy()
        self.profile.add(self.start, self.end, -self.nodes.bit_count())


@dataclass(slots=True, eq=False)
class _Deferred:
    """A record whose plan is put off.

    Attributes
    ----------
    bound
        No sooner can it begin, as far as known; `NEVER` once it is planned or nothing will be planned for it.
    kind, need
        Whose fate it shares (`Hopeless`), and how many nodes it needs.
    seen
        The profile `bound` was counted on.
    """

    position: int
    record: SlurmRecord
    limit: int
    bound: int
    kind: int
    need: int
    seen: CapacityProfile | None = None


class DeferredPlans:
    """The records of a cycle that were passed over, each to be planned if it matters.

    Parameters
    ----------
    search
        Finds where a record goes.
    space
        The node space the plans are made on; it is not changed.
    outlook
        The running jobs before anything starts.
    first_seen
        Whether the first record of the cycle has had its plan.
    """

    def __init__(self, search: Search, space: NodeSpace, outlook: Outlook, *, first_seen: bool = False) -> None:
        self._search = search
        self._resolution = search.resolution
        self._waiting: list[_Deferred] = []  # in the order of the queue
        self._ground = space
        self._first_seen = first_seen
        self._layers = [_Layer(-1, 0, 0, 0, 0, 0, outlook, space, outlook.profile())]
        self._positions = [-1]
        self._windows: dict[int, Bitmap] = {}  # time limit -> nodes no plan needs before now + limit
        self._made: list[Plan] = []

    def defer(self, position: int, record: SlurmRecord, limit: int, kind: int) -> None:
        """Pass over `record` of that `kind_of`, the one at `position` of the queue; positions ascend.

        The first of a cycle is planned all the same: when its turn comes is what people look at.
        """
        deferred = _Deferred(position, record, limit, self._search.now, kind, record.request.node_need)
        if not self._first_seen:
            self._first_seen = True
            if self._may_begin_by(self._ground.end, deferred):
                self._settle(deferred, NEVER, lambda: True)
                return
        self._waiting.append(deferred)

    def new_plans(self) -> list[Plan]:
        """Plans made since this was last asked for."""
        made, self._made = self._made, []
        return made

    def started(self, position: int, limit: int, first: int, last: int, nodes: Bitmap, outlook: Outlook) -> None:
        """The record at `position` was started on `nodes` and is among the running jobs of `outlook`."""
        now = self._search.now
        self._insert(_Layer(position, first, last, now, now + limit, nodes, outlook))

    def free_for(self, limit: int) -> Bitmap:
        """Usable nodes nothing known so far needs before now + `limit`, busy or not."""
        found = self._windows.get(limit)
        if found is None:
            now = self._search.now
            found = self._search.available & self._ground.free_over(now, now + limit)
            for layer in self._layers[1:]:
                if layer.first <= now + limit and layer.last > now:
                    found ^= found & layer.nodes
            self._windows[limit] = found
        return found

    def settle(self, limit: int, could_start: Callable[[Bitmap], bool]) -> bool:
        """Whether a record of `limit` seconds could start now beside all plans of deferred records.

        Those that begin before it would end are made, as long as `could_start` holds for the nodes they leave free.
        """
        before = len(self._layers)
        seen: Bitmap = -1
        still = True

        def wanted() -> bool:
            nonlocal seen, still
            free = self.free_for(limit)
            if free is not seen:
                seen, still = free, could_start(free)
            return still

        if not wanted():
            return False
        self._settle_above(NEVER, self._search.now + limit, wanted)
        if len(self._layers) > before:
            self._waiting = [deferred for deferred in self._waiting if deferred.bound < NEVER]
        return still

    def _last_of(self, time: int) -> int:
        """The last instant that is `time` or earlier once rounded down to bf_resolution, as the begin of a plan is."""
        return time // self._resolution * self._resolution + self._resolution - 1

    def _may_begin_by(self, by: int, deferred: _Deferred) -> bool:
        """Whether the record could begin by then, for all that is known above it; raises its bound."""
        layer = self._layer(deferred.position)
        profile, space = layer.profile, layer.space
        assert profile is not None
        assert space is not None
        length = max(deferred.limit - self._resolution, 1)  # the plan may lack that much at its end
        if deferred.seen is not profile:
            deferred.seen = profile
            bound = profile.earliest(deferred.record.request.node_need, length, deferred.bound)
            deferred.bound = NEVER if bound is None or bound >= space.end else bound  # beyond its end nothing is taken
            if deferred.bound > by:
                return False
        deferred.bound = self._search.earliest(deferred.record, length, space, layer.outlook, deferred.bound, by)
        return deferred.bound <= by

    def _settle(self, deferred: _Deferred, by: int, wanted: Callable[[], bool]) -> bool:
        """Plan `deferred` if it begins by then, as long as `wanted` holds; whether it still does.

        What it depends on is settled before, until that shows that it begins later.
        """
        position, record, limit = deferred.position, deferred.record, deferred.limit

        def needed() -> bool:
            return self._may_begin_by(by, deferred)

        while True:
            # it will not end before that; most of what it depends on is known then
            if not self._settle_above(position, deferred.bound + limit, wanted, needed):
                return wanted()
            layer, before = self._layer(position), len(self._layers)
            space = layer.space
            assert space is not None
            last = NEVER if space.ragged else by
            found = self._search.find(record, limit, space, layer.outlook, deferred.bound, put_off=0, by=last)
            late = not space.ragged and (found is None or found.start > by)
            if late:
                until = by + max(limit, self._resolution)
            elif found is None or not found.nodes or space.ragged:
                until = space.end
            else:
                until = max(found.start + limit, found.last)
            if not self._settle_above(position, until, wanted, needed):
                return wanted()
            if len(self._layers) == before:
                break
        if late:
            deferred.bound, deferred.kind = by + 1, -1  # too few nodes are not the reason
            return True
        deferred.bound = NEVER
        if found is None or not found.nodes:
            return True
        self._made.append(Plan(record, found.start, found.nodes, promise=False))
        if found.first < space.end:
            self._insert(_Layer(position, found.first, found.last, found.start, found.last, found.nodes, layer.outlook))
        return wanted()

    def _settle_above(
        self, position: int, until: int, wanted: Callable[[], bool], needed: Callable[[], bool] = lambda: True
    ) -> bool:
        """Settle what stands before `position` and begins by `until`, as long as both hold; whether they do.

        `wanted` is asked after every plan, `needed` only between those for which this was called.
        """
        by = self._last_of(until)
        hopeless = Hopeless()
        for other in self._waiting:
            if other.position >= position:
                break
            if other.bound > by or hopeless.covers(other.kind, other.limit, other.need):
                continue
            if not self._may_begin_by(by, other):
                hopeless.add(other.kind, other.limit, other.need)
            elif not (self._settle(other, by, wanted) and needed()):
                return False
        return True

    def _layer(self, position: int) -> _Layer:
        """What the record at `position` is planned on."""
        layers = self._layers
        at = known = bisect_left(self._positions, position) - 1
        while layers[known].space is None:
            known -= 1
        for k in range(known, at):
            layers[k + 1].put_on(layers[k])
        return layers[at]

    def _insert(self, layer: _Layer) -> None:
        at = bisect_left(self._positions, layer.position)
        self._positions.insert(at, layer.position)
        self._layers.insert(at, layer)
        for above in self._layers[at + 1 :]:
            above.space = above.profile = None
        now, nodes, windows = self._search.now, layer.nodes, self._windows
        if layer.last > now:
            for limit, free in windows.items():
                if layer.first <= now + limit:
                    windows[limit] = free ^ (free & nodes)
