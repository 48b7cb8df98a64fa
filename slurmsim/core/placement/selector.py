"""The select plugin: can a job start on what is free, on which nodes, and when could it at the latest.

`Placer.place` answers for the present or for any hypothetical free state; `Selector.future` is the test backfill
uses (select/cons_tres _will_run_test, 22.05): take running jobs away in the order of their ends until the job fits.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from slurmsim.bitmap import Bitmap, from_ascending
from slurmsim.core.placement.compiled_request import CompiledRequest
from slurmsim.core.placement.free_state import FreeState, Supposed
from slurmsim.core.placement.node_release_times import ONE_BY_ONE, NodeReleaseTimes
from slurmsim.core.placement.placer import UNBIASED, Bias, Placer
from slurmsim.core.placement.shares import Shares, future_on
from slurmsim.core.records.allocation import Allocation
from slurmsim.core.records.job import Job
from slurmsim.core.records.node_table import NodeTable
from slurmsim.core.records.release_rules import ReleaseRules
from slurmsim.core.records.shared_cores import Taken
from slurmsim.core.records.value import Value
from slurmsim.data_classes import dataclass

NEVER: Final = 1 << 60
FOUND_IN_TURN: Final = 4  # after so many looks that all found a place the kernel is not asked first
Trim = Callable[[FreeState, int], FreeState]


@dataclass(frozen=True, slots=True)
class Try(Value):
    """The instant a future test is about, and the one tried after it (0: none).

    `chosen`: a job that ends with that instant is gone, and a start is the last end on the nodes chosen (25.11).
    """

    start: int
    following: int
    chosen: bool = False

    def ended(self, releases: NodeReleaseTimes) -> int:
        """Return how many jobs are gone at the instant tried."""
        return (bisect_right if self.chosen else bisect_left)(releases.ends, self.start)

    def begin(self, releases: NodeReleaseTimes, gone: int, nodes: Bitmap) -> int:
        """Return the start on `nodes` with the first `gone` jobs taken away."""
        return releases.last_end(self.ended(releases), gone, nodes) if self.chosen else releases.ends[gone - 1]

    def suppositions(
        self, releases: NodeReleaseTimes, now: int, reach: Bitmap, window_linear: int
    ) -> Iterator[tuple[int, bool]]:
        """Return how many jobs are supposed to be gone, in order (_will_run_test, 24.11).

        And whether there are some among them that do not end before the try.
        """
        if self.start <= now:
            yield 0, False
        ended = self.ended(releases)
        if ended or self.start > now:
            yield ended, False
        for gone in releases.in_batches(reach, window_linear, ended, self.following or None):
            yield gone, True


class Selector(Placer):
    """Placement over one node table, now and in the future.

    Parameters
    ----------
    window_linear
        bf_window_linear: seconds the future test's window grows by, 0 to double it; or `ONE_BY_ONE`.
    """

    def __init__(
        self, table: NodeTable, rules: ReleaseRules, *, memory_consumable: bool, busy_first: bool = False,
        serial_last: bool = False, window_linear: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(
            table, rules, memory_consumable=memory_consumable, busy_first=busy_first, serial_last=serial_last
        )
        self.window_linear = window_linear
        # what is remembered until the running jobs change: forecasts, and free states without the first k jobs
        self.forgotten = 0  # how often
        self._releases: NodeReleaseTimes | None = None
        self._forecasts: dict[tuple[CompiledRequest, Bitmap, bool], Forecast | None] = {}
        self._states: list[Supposed] = []
        self.shares = Shares(table)
        self._found_in_turn = 0  # looks for a place

    def fits(self, request: CompiledRequest, within: Bitmap | None = None) -> bool:
        """Return True if the request could start now (inside `within` when given)."""
        if request.by_count or not self.shares.serves(request, self):
            return super().fits(request, within)
        if self.shares.serves_now(request, self):
            return self.place(request, self.table, within, rough=True) is not None
        mask = request.candidates & self.table.up
        return self.shares.fits(request, self._indices(mask if within is None else mask & within), self)

    def place(
        self, request: CompiledRequest, free: FreeState, within: Bitmap | None = None, *, rough: bool = False,
        later: bool = False, prefer: Bitmap = 0, heavier: Bitmap = 0,
    ) -> Allocation | None:  # fmt: skip
        """As `Placer.place`; where the kernel knows that there is no place for whole nodes or GRES none is looked for.

        To tell it what is free costs as much as a look, so it is not asked while one after the other finds a place.
        """
        plain = free is self.table and not (request.by_count or prefer or heavier or later)
        plain = plain and not self.shares.serves_now(request, self)
        asks = plain and self._found_in_turn < FOUND_IN_TURN and self.shares.serves(request, self)
        if asks and not self.fits(request, within):
            self._found_in_turn = 0
            return None
        found = super().place(request, free, within, rough=rough, later=later, prefer=prefer, heavier=heavier)
        if plain:
            self._found_in_turn = 0 if found is None else self._found_in_turn + 1
        return found

    def choose_among(
        self, request: CompiledRequest, free: FreeState, mask: Bitmap, busy: Taken | None, rough: bool, later: bool,
        bias: Bias,
    ) -> Allocation | None:  # fmt: skip
        """As `Placer.choose_among`; of what is free now the kernel says it, where it can."""
        if free is not self.table or bias is not UNBIASED or not self.shares.serves_now(request, self):
            return super().choose_among(request, free, mask, busy, rough, later, bias)
        if mask.bit_count() < request.min_nodes:
            return None
        taken = self.shares.place(request, self._indices(mask), self)
        if taken is None:
            return None
        if rough:
            return Allocation(from_ascending(taken[0]), False, len(taken[0]), 0, 0, 0)
        return self._allocation(request, free, *taken)

    def future(
        self, request: CompiledRequest, running: Sequence[tuple[int, int, Job]], now: int, within: Bitmap, *,
        exact: bool = False, trim: Trim | None = None, about: Try | None = None,
    ) -> Forecast | None:  # fmt: skip
        """Earliest start on the nodes of `within`, by taking running jobs away in the order of their ends.

        Parameters
        ----------
        running
            (end by limit, id, job), ascending; ends may lie in the past.
        exact
            Test after every distinct end (what the literature means). Otherwise in Slurm's batches: up to 30, 60,
            120, … seconds after the first end rounded up to 30, so the start may be later than strictly needed.
        trim
            Called with each supposition and how many of `running` are gone in it; returns what of it may be used.
        about
            The test is about that try (24.11): "now" is as good as its start then.

        Returns
        -------
        The forecast, or None when the job would not fit even with all of them gone. Its start is `now`, or the end of
        the last job taken away, which may lie in the past when that job is overdue.
        """
        if about is not None:
            return self._future_about(request, running, now, within, about, trim)
        if trim is not None:
            return self._future_by_placement(request, running, now, within, exact, trim)
        if request.by_count and not self.table.mixed & request.candidates:
            return self._future_by_count(request, running, now, within, exact)
        key = (request, within & request.candidates, exact)
        if key in self._forecasts:
            return self._forecasts[key]
        if self.shares.serves(request, self):
            found = self._future_of_share(request, running, now, within, exact)
        else:
            found = self._future_by_placement(request, running, now, within, exact)
        if found is None or found.start != now:  # "now" would be another instant next time
            self._forecasts[key] = found
        return found

    def _future_of_share(
        self, request: CompiledRequest, running: Sequence[tuple[int, int, Job]], now: int, within: Bitmap, exact: bool
    ) -> Forecast | None:
        """Return the same, by the kernel."""
        reach = self._indices(within & request.candidates & self.table.up)
        found = self.shares.future(request, reach, running, exact, self)
        if found is None:
            return None
        gone, nodes = found
        return Forecast(self.begin(self.releases_of(running).ends[gone - 1], now, exact) if gone else now, nodes)

    def begin(self, end: int, now: int, exact: bool = False) -> int:
        """Return the start of a job that waits for another one to end at `end`.

        As select/linear says it is never before the next second; otherwise it may lie in the past.
        """
        return max(end, now + 1) if self.window_linear == ONE_BY_ONE and not exact else end

    def future_supposing(
        self, request: CompiledRequest, nodes: Any, ends: Sequence[int], now: int, within: Bitmap
    ) -> Forecast | None:
        """Return the same for supposed nodes, where jobs have these `ends` (`Suppositions`)."""
        reach = self._indices(within & request.candidates & self.table.up)
        found = future_on(nodes, request, reach, self, False)
        return None if found is None else Forecast(self.begin(ends[found[0] - 1], now) if found[0] else now, found[1])

    def _future_by_placement(
        self, request: CompiledRequest, running: Sequence[tuple[int, int, Job]], now: int, within: Bitmap, exact: bool,
        trim: Trim = lambda free, gone: free,
    ) -> Forecast | None:  # fmt: skip
        self.tried.clear()
        found = self.place(request, trim(self.table, 0), within, rough=True)
        if found is not None:
            return Forecast(now, found.mask)
        releases = self.releases_of(running)
        reach = within & request.candidates
        for gone in releases.at_ends(reach) if exact else releases.in_batches(reach, self.window_linear):
            found = self.place(request, trim(self._supposed(running, gone), gone), within, rough=True, later=not exact)
            if found is not None:
                return Forecast(self.begin(releases.ends[gone - 1], now, exact), found.mask)
        return None

    def _future_about(
        self, request: CompiledRequest, running: Sequence[tuple[int, int, Job]], now: int, within: Bitmap, about: Try,
        trim: Trim | None,
    ) -> Forecast | None:  # fmt: skip
        releases = self.releases_of(running)
        reach = within & request.candidates
        counted = trim is None and request.by_count and not self.table.mixed & request.candidates
        if counted and request.node_need > request.max_nodes:
            return None
        self.tried.clear()
        usable, idle = reach & self.table.up, self.table.idle
        for gone, later in about.suppositions(releases, now, reach, self.window_linear):
            if counted:
                free = usable & releases.free_after(gone)
                nodes = self._pick_whole(request, free, later, idle) if free.bit_count() >= request.node_need else 0
            else:
                state: FreeState = self._supposed(running, gone) if gone else self.table
                found = self.place(request, trim(state, gone) if trim else state, within, rough=True, later=later)
                nodes = 0 if found is None else found.mask
            if nodes:
                return Forecast(about.begin(releases, gone, nodes) if later else now, nodes)
        return None

    def _supposed(self, running: Sequence[tuple[int, int, Job]], taken: int) -> Supposed:
        """Return the free state without the first `taken` running jobs, kept until the running jobs change."""
        states = self._states
        if not states:
            states.append(Supposed(self.table))
        while len(states) <= taken:
            following = states[-1].copy()
            following.release(running[len(states) - 1][2].alloc)  # type: ignore[arg-type]
            states.append(following)
        return states[taken]

    def releases_of(self, running: Sequence[tuple[int, int, Job]]) -> NodeReleaseTimes:
        """Return a snapshot of the running jobs and idle nodes, the same until either changes."""
        if self._releases is None:
            self._releases = NodeReleaseTimes(running, self.table.idle)
        return self._releases

    def _future_by_count(
        self, request: CompiledRequest, running: Sequence[tuple[int, int, Job]], now: int, within: Bitmap, exact: bool
    ) -> Forecast | None:
        """Return the same for whole, equal nodes if every running job holds whole nodes: only counts matter."""
        releases = self.releases_of(running)
        need = request.node_need
        if need > request.max_nodes:
            return None
        mask = within & request.candidates & self.table.up
        idle = releases.free_after(0)
        if releases.most_free[0] >= need:
            found = mask & idle
            if found.bit_count() >= need:
                return Forecast(now, None, lambda: self._pick_whole(request, found, False, idle))
        gone = releases.first_with(need, mask, self.window_linear, exact)
        if gone is None:
            return None
        free = mask & releases.free_after(gone)
        start = self.begin(releases.ends[gone - 1], now, exact)
        return Forecast(start, None, lambda: self._pick_whole(request, free, not exact, idle))

    def earliest_by_count(self, request: CompiledRequest, running: Sequence[tuple[int, int, Job]], now: int) -> int:
        """Return a lower bound of every forecast for `request`, on any nodes; `now` if counting tells nothing.

        The end of the job with which, all nodes taken together, enough have been given back for the first time.
        """
        if not request.by_count or self.table.mixed & request.candidates:
            if not self.shares.serves(request, self):
                return now
            reach = self._indices(request.candidates & self.table.up)
            gone = self.shares.earliest(request, reach, running, self)
            return NEVER if gone < 0 else self.releases_of(running).ends[gone - 1] if gone else now
        end = self.releases_of(running).earliest(request.node_need)
        return now if end is None else end

    def too_few_by(
        self, request: CompiledRequest, running: Sequence[tuple[int, int, Job]], within: Bitmap, time: int
    ) -> bool:
        """Return True if `future` would name an instant after `time`, or none, as far as counting tells."""
        if not request.by_count or self.table.mixed & request.candidates:
            return False
        releases = self.releases_of(running)
        p = bisect_right(releases.ends, time)
        if releases.most_free[p] < request.node_need:
            return True
        return (within & request.candidates & self.table.up & releases.free_after(p)).bit_count() < request.node_need

    def forget_future(self) -> None:
        """Forget what was remembered of the running jobs or usable nodes, as they have changed."""
        self.forgotten += 1
        self._releases = None
        if self._forecasts:
            self._forecasts = {}
        if self._states:
            self._states = []
        if self._fitting:
            self._fitting = {}


class Forecast:
    """When a job could start, and on which nodes; these are chosen when they are first read."""

    __slots__ = ("_choose", "_nodes", "start")

    def __init__(self, start: int, nodes: Bitmap | None, choose: Callable[[], Bitmap] | None = None) -> None:
        self.start, self._nodes, self._choose = start, nodes, choose

    @property
    def nodes(self) -> Bitmap:
        """The nodes the selector would give then."""
        if self._nodes is None:
            assert self._choose is not None
            self._nodes = self._choose()
        return self._nodes
