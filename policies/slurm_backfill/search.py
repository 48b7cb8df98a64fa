"""Where sched/backfill puts one record: the tries of _attempt_backfill over the openings of the node space.

Source: Slurm src/plugins/sched/backfill/backfill.c, 22.05.8; where `view.tests_from_try`, 24.11.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from slurmsim.bitmap import Bitmap
from slurmsim.data_classes import dataclass
from slurmsim.policy import Forecast, SlurmRecord, SlurmView
from slurmsim_policies.slurm_backfill.layers import PlannedLayers
from slurmsim_policies.slurm_backfill.licenses import PlannedLicenses


@dataclass(slots=True, init=False)
class Found:
    """What a search ended with."""

    # start: when the job would start; `now` or earlier: it can start at once inside `within`
    start: int
    # within: the nodes the start was found on; the job needs only some of them
    within: Bitmap
    # first, last: what a plan takes out of the node space: from `first` to `last`, seconds
    first: int = 0
    last: int = 0
    # nodes: the nodes it takes; 0 where nothing is planned, because the start is too far away or only now would do
    nodes: Bitmap = 0

    def __init__(self, start: int, within: Bitmap, first: int = 0, last: int = 0, nodes: Bitmap = 0) -> None:
        self.start, self.within, self.first, self.last, self.nodes = start, within, first, last, nodes


class Space(Protocol):
    """What is planned, as a search asks for it (`slurmsim.capacity.NodeSpace`)."""

    @property
    def end(self) -> int: ...
    def free_over(self, begin: int, end: int) -> Bitmap: ...
    def openings(
        self, base: Bitmap, begin: int, length: int, need: int, not_before: int, *, goes_on: bool = False
    ) -> Iterator[tuple[int, int, Bitmap]]: ...


class Search:
    """The search, with what is the same for all records of a cycle.

    Parameters
    ----------
    now
        Seconds.
    resolution, window
        bf_resolution and bf_window, seconds.
    licenses, layers
        With bf_licenses: what is left over time of them, and of layers of hierarchical resources.
    """

    def __init__(
        self, view: SlurmView, now: int, resolution: int, window: int, licenses: PlannedLicenses | None = None,
        layers: PlannedLayers | None = None,
    ) -> None:  # fmt: skip
        self.layers = layers
        self.view, self.licenses, self.reserved, self.owned = view, licenses, view.reserved, view.owned
        self.now, self.resolution, self.window = now, resolution, window
        self.available: Bitmap = view.available()
        self._free_to = view.free_to
        self.from_try: bool = view.tests_from_try
        self.too_late: int = view.kill_wait + view.over_limit
        self.first = 0  # when the future test of the last search first let the job start, whatever is planned
        self.put_behind = False  # a plan has to begin later than the future test says, because of another plan

    def find(
        self, record: SlurmRecord, limit: int, space: Space, *,
        begin: int = 0, now_only: bool = False, put_off: int | None = None,
    ) -> Found | None:  # fmt: skip
        """Return where the record's job, running `limit` seconds, goes beside what `space` holds; None where nowhere.

        Parameters
        ----------
        now_only
            No start but the one now may be planned for.
        begin
            Nothing before this instant is tried.
        put_off
            A start now was tried and did not come about. 0: plan it as from now; else a limit forbade it: plan it for
            the next opening, or that many seconds from now.
        """
        now = self.now
        self.first = 0
        alone = record.job.het is None
        bound = self.view.earliest_possible(record) if alone and not now_only else now  # no start is before this
        base = self.available & record.partition.mask
        if not self.owned:
            base = self._free_to(record, base)
        trying = max(now, begin)  # from here on; a plan that collides with another is tried again from its own start
        while trying:
            tries, trying = self._tries(record, space, base, trying, limit, bound), 0
            for tried, following, within in tries:
                if self.from_try and tried > space.end:
                    return None  # what begins behind the window is not looked at
                if following and alone and not now_only and self.view.too_few_by(record, within, following):
                    continue  # whatever the future test says, it cannot say as early as the next opening
                if now_only and tried > now:
                    return None
                forecast = self._forecast(record, within, tried, limit, following)
                if forecast is None:
                    if following and not now_only:
                        continue
                    return None
                ended = self._end(record, space, tried, following, within, forecast, limit, now_only, put_off)
                if isinstance(ended, Found):
                    return ended
                if ended:
                    trying = ended
                    break
        return None

    def _end(
        self, record: SlurmRecord, space: Space, tried: int, following: int, within: Bitmap, forecast: Forecast,
        limit: int, now_only: bool, put_off: int | None,
    ) -> Found | int:  # fmt: skip
        """Return what a try ends the search with; an instant to try again from; or 0: the next try comes."""
        now, nodes = self.now, forecast.nodes
        expected = self._overdue(forecast.start)
        start = max(tried, expected)
        self.first = self.first or start
        self.put_behind |= tried > max(expected, now)
        if self.from_try and start > now and not self._is_open(record, space, start, limit, nodes):
            return start if start > tried else start + self.resolution
        if start <= now and put_off is not None:
            if put_off:
                start = following or now + put_off
            following = 0
        elif start <= now or now_only:
            return Found(start, within)
        if following and start > following:
            return 0
        if start > now + self.window:
            return Found(start, within)
        if start > now and not self._is_open(record, space, start, limit, nodes):
            return start
        return Found(start, within, *self._slot(start, limit), nodes)

    def _tries(
        self, record: SlurmRecord, space: Space, base: Bitmap, at: int, limit: int, bound: int
    ) -> Iterator[tuple[int, int, Bitmap]]:
        """Return what `space` has to try from `at` on: an instant, the next one, and the nodes free from the first."""
        if self.reserved or self.owned or (self.licenses is not None and record.job.licenses):
            return self._tries_reserved(record, space, base, at, limit)
        return space.openings(base, at, limit, record.request.min_nodes, bound, goes_on=self.from_try)

    def _forecast(self, record: SlurmRecord, within: Bitmap, at: int, limit: int, following: int) -> Forecast | None:
        """Return what the future test says of the nodes of `within`; None if the job never fits."""
        if record.request.required & ~within:
            return None
        if self.layers is None or not self.layers.asked(record):
            return self._future(record, within, at, limit, following)
        self.view.what_is_left(self.layers.left_at(at))
        found = self._future(record, within, at, limit, following)
        self.view.what_is_left(())
        return found

    def _future(self, record: SlurmRecord, within: Bitmap, at: int, limit: int, following: int) -> Forecast | None:
        if self.reserved or self.from_try:
            return self.view.future(record, within, at, limit, following)
        return self.view.future(record, within)

    def _slot(self, start: int, limit: int) -> tuple[int, int]:
        """Return begin and end of what a plan from `start` on takes out of the node space."""
        first = start // self.resolution * self.resolution
        return first, max(self.end_of(start + limit), first + self.resolution)

    def end_of(self, time: int) -> int:
        """Return `time` as an end in the node space: a multiple of bf_resolution."""
        return (time + (self.resolution - 1 if self.from_try else 0)) // self.resolution * self.resolution

    def _is_open(self, record: SlurmRecord, space: Space, start: int, limit: int, nodes: Bitmap) -> bool:
        """Return True if no earlier plan needs one of `nodes`, or their layers, while a plan from `start` on would."""
        first, last = self._slot(start, limit)
        free = space.free_over(first, last - 1)
        if self.layers is not None:
            free = self.layers.open_over(record, free, first, last - 1)
        return nodes & free == nodes

    def _tries_reserved(
        self, record: SlurmRecord, space: Space, base: Bitmap, at: int, limit: int
    ) -> Iterator[tuple[int, int, Bitmap]]:
        """Yield as `NodeSpace.openings` does, but heed reservations, nodes of exclusive users, or planned licenses."""
        view, res = self.view, self.resolution
        while at:
            access = view.access(record, at, limit)
            if access.verdict:
                return
            start, base_then, opens = access.start, base & access.nodes, 0
            if self.owned:
                base_then, opens = view.open_from(record, base_then, start)
            _, at, free = next(iter(space.openings(base_then, start, limit, 0, 0, goes_on=self.from_try)))
            if opens and not (base_then and at):
                at = opens if opens < space.end else 0
            if access.overlap and (end := view.next_reservation_end(start)):
                end = -(-end // res) * res + 1
                if end < self.now + self.window and (not at or end < at):
                    at = end
            if self.licenses is not None and (short := self.licenses.short_until(record, start, start + limit)):
                at = short if short < space.end else 0
                continue
            if self.layers is not None and self.layers.asked(record):
                free = self.layers.open_over(record, free, start, start + limit)
                more = self.layers.next_more(record, start)
                if more and more < space.end and (not at or more < at):
                    at = more
            yield start, at, free

    def _overdue(self, predicted: int) -> int:
        """Return the start to plan with; a predicted start is past if the job in the way is over its limit."""
        if predicted >= self.now:
            return predicted
        return max(predicted + self.too_late, self.now + 1)
