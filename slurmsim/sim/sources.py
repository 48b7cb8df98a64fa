"""Streams at work: submissions that follow from time, or from starts and ends of other jobs.

They are submissions like all others: the controller is told of them, the trace has them. One on a start or an end is
told in another turn within that second. So that no loop goes on within one second for ever, there is a bound on the
jobs a stream submits in one.

Seconds of streams count from the first submission of the log they are on top of, else from 0.

In a simulation job k of stream s has the id `first` + k x (number of streams) + s, so it has the same id under every
policy; a live cluster gives ids as jobs come.

A snapshot has which job is next, who waits where, and nothing that was drawn: it is drawn again.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from slurmsim.errors import WorkloadError
from slurmsim.installed import entry_points
from slurmsim.model.submission import Submission
from slurmsim.sim.network import Behaviour
from slurmsim.sim.submissions import Submissions
from slurmsim.sim.timers import Timer, Timers
from slurmsim.workload import Stream, Streams

CHUNK = 1024
AT_ONCE = 10_000  # most jobs a stream submits within a second
Item = tuple[Submission, Behaviour]


def load_streams(file: str) -> Streams:
    """Return the streams of a TOML file, read by the installed format of that name. Raises ConfigError."""
    (point,) = (one for one in entry_points(group="slurmsim.workloads") if one.name == "streams")
    streams: Streams = point.load()().read(Path(file), {}).streams
    return streams


class Host(Protocol):
    """The network, as sources need it."""

    timers: Timers

    def submit(self, item: Item, arrived: int) -> int:
        """Submit a job its stream came to at `arrived`: another turn within this second. The id it goes by."""

    def source_dry(self) -> None:
        """Take note that a stream has submitted its last job."""

    def source_broke(self, error: WorkloadError) -> None:
        """Raise, as a stream cannot go on, or return if others go on without it."""


class Source:
    """One stream: which job is next, and how many are in the queue."""

    def __init__(
        self, stream: Stream, number: int, of: int, first: int, seed: int, most: int, origin: int
    ) -> None:  # fmt: skip
        self.stream, self.number, self._of, self._first, self._seed = stream, number, of, first, seed
        self._most, self.origin = most, origin
        self.following = 0  # the number of its next job
        self.queued = 0
        self.submitted = self.dropped = self.refused = 0
        # its jobs in the buffer, oldest first, with their turns and the seconds in which they came
        self.waits: deque[tuple[int, int, int]] = deque()
        self.chains = stream.chains if stream.follows != "gap" else 1  # that have not come to their end
        self.broken = False
        self._drawn = 0
        self._items: dict[int, Item] = {}  # drawn, and not submitted yet
        self._gaps: dict[int, float] = {}
        self._passed = 0.0  # of an open stream: seconds from its start to its next job, not rounded
        self._second, self._within = -1, 0

    @property
    def full(self) -> bool:
        """True if the stream's own limit lets no job in."""
        return self.stream.limit is not None and self.queued >= self.stream.limit

    def next_job(self, now: int, *, at_once: bool = False) -> tuple[int, int] | None:
        """Return the next job's number and time, counted from `now` if it follows another; None: no more."""
        stream, k = self.stream, self.following
        if self.broken or (stream.jobs is not None and k >= stream.jobs):
            return None
        self.following += 1
        self._draw(k)
        gap = self._gaps.pop(k)
        if stream.follows == "gap":
            self._passed += gap
            at = self.origin + stream.start + round(self._passed)
        else:
            at = now if at_once else now + round(gap)
        return None if stream.last is not None and at >= self.origin + stream.last else (k, at)

    def came(self, now: int) -> None:
        """Count a job of it that comes now. Raises WorkloadError when too many come in this second."""
        self._within = self._within + 1 if now == self._second else 1
        self._second = now
        if self._within > AT_ONCE:
            raise WorkloadError(f"more than {AT_ONCE} jobs in second {now}: it would go on for ever",
                                field=f"stream {self.stream.name}", expected="time between its jobs")  # fmt: skip

    def take(self, k: int) -> Item:
        """Return job `k`, asked for once. Raises WorkloadError for one no cluster of this size can run."""
        item = self._items.pop(k, None)
        if item is None:  # drawn before a snapshot
            item = self._rows(k, 1)[0]
        if item[0].request.min_nodes > self._most:
            raise WorkloadError(f"job {k} asks for {item[0].request.min_nodes} nodes, the cluster has {self._most}",
                                field=f"stream {self.stream.name}",
                                expected=f"nodes with most = {self._most}")  # fmt: skip
        return item

    def drop(self, k: int) -> None:
        """Job `k` came to a full queue."""
        self.dropped += 1
        self._items.pop(k, None)

    def _draw(self, k: int) -> None:
        """Have job `k` at hand; asked for in order."""
        if k < self._drawn:
            return
        self._items |= enumerate(self._rows(k, CHUNK), k)
        self._gaps |= enumerate(self.stream.gaps(k, CHUNK, self._seed).tolist(), k)
        self._drawn = k + CHUNK

    def _rows(self, k: int, count: int) -> list[Item]:
        rows = self.stream.rows(k, count, self._seed)
        rows.ints["job_id"] = self._first + self.number + self._of * np.arange(k, k + count, dtype=np.int64)
        return [(sub, behaviour) for _, sub, behaviour in Submissions(rows).rows()]


class Sources:
    """All streams of a workload, and the limit on all of them together.

    Parameters
    ----------
    host, streams, n_nodes
        Where they submit, who they are, and the nodes there are.
    seed
        Of their draws, unless they have one of their own.
    origin
        The second from which theirs count.
    first
        The id of the first of their jobs.
    """

    def __init__(
        self, host: Host, streams: Streams, n_nodes: int, *, seed: int = 0, origin: int = 0, first: int = 1
    ) -> None:  # fmt: skip
        seed = seed if streams.seed is None else streams.seed
        of = len(streams.streams)
        self._host, self._limit, self._drops = host, streams.limit, streams.drops
        self.sources = [
            Source(one, number, of, first, seed, n_nodes, origin) for number, one in enumerate(streams.streams)
        ]
        self.open = of  # streams that may submit more
        self.armed = 0  # jobs that a timer will submit, whatever else happens
        self._queued = 0
        self._turns = 0  # of all that ever were in the buffer
        # (turn, number of its source) of the oldest in the buffer of each source that is not full itself; also of jobs
        # that have entered, and of sources that have become full, since
        self._heads: list[tuple[int, int]] = []
        self._pending: dict[int, Source] = {}  # job id -> its source; jobs in the queue
        self._running: dict[int, Source] = {}

    @property
    def dropped(self) -> dict[str, int]:
        """Jobs dropped at full queues, by stream."""
        return {one.stream.name: one.dropped for one in self.sources if one.dropped}

    def begin(self) -> None:
        """Every stream comes to its first jobs; a loop begins with them at once, think times lie between its jobs."""
        for source in self.sources:
            for _ in range(source.chains):
                self._arm(source, source.origin + source.stream.start, at_once=True)

    def started(self, job_id: int) -> None:
        """Job `job_id` left the queue for its nodes."""
        source = self._pending.pop(job_id, None)
        if source is None:
            return
        self._running[job_id] = source
        self._leave(source)
        if source.stream.follows == "start":
            self._arm(source, self._host.timers.now)

    def ended(self, job_id: int) -> None:
        """Job `job_id` is over, or was refused or cancelled before it started."""
        source = self._pending.pop(job_id, None)
        if source is not None:
            self._leave(source)
            if source.stream.follows != "gap":
                self._arm(source, self._host.timers.now)
            return
        source = self._running.pop(job_id, None)
        if source is not None and source.stream.follows == "end":
            self._arm(source, self._host.timers.now)

    def refused(self, job_id: int) -> None:
        """Take note that the controller did not take job `job_id`."""
        source = self._pending.get(job_id)
        if source is not None:
            source.refused += 1
        self.ended(job_id)

    def _arm(self, source: Source, now: int, *, at_once: bool = False) -> None:
        """Wait for the next job of `source`; a chain that has none has come to its end."""
        following = source.next_job(now, at_once=at_once)
        if following is None:
            self._chain_over(source)
            return
        k, at = following
        timers = self._host.timers
        self.armed += 1
        timers.after(max(0, at - timers.now), self._due, (source, k))

    def _chain_over(self, source: Source) -> None:
        source.chains -= 1
        if not source.chains:
            self.open -= 1
            self._host.source_dry()

    def _due(self, timer: Timer) -> None:
        """Submit the next job of a stream, which is due."""
        value: Any = timer.value
        source, k = value
        now = self._host.timers.now
        self.armed -= 1
        if not source.broken:
            try:
                source.came(now)
            except WorkloadError as error:
                self._break(source, error)
        if source.broken:
            self._chain_over(source)
            return
        if self._room(source):
            self._enter(source, k, now)
        elif source.stream.drops if source.full else self._drops:
            source.drop(k)
        else:
            self._buffer(source, k, now)
        if source.stream.follows == "gap":
            self._arm(source, now)

    def _room(self, source: Source) -> bool:
        return not source.full and (self._limit is None or self._queued < self._limit)

    def _break(self, source: Source, error: WorkloadError) -> None:
        """Stop `source`: a job of it cannot come, and no other does."""
        source.broken = True
        self._host.source_broke(error)

    def _enter(self, source: Source, k: int, arrived: int) -> None:
        try:
            item = source.take(k)
        except WorkloadError as error:
            self._break(source, error)
            if source.stream.follows != "gap":
                self._chain_over(source)
            return
        source.queued += 1
        source.submitted += 1
        self._queued += 1
        self._pending[self._host.submit(item, arrived)] = source

    def _buffer(self, source: Source, k: int, now: int) -> None:
        source.waits.append((self._turns, now, k))
        self._turns += 1
        if len(source.waits) == 1:
            self._nominate(source)

    def _nominate(self, source: Source) -> None:
        """Let the oldest of `source` in the buffer enter once the limit on all streams allows, if its own does."""
        if source.waits and not source.full:
            heappush(self._heads, (source.waits[0][0], source.number))

    def _leave(self, source: Source) -> None:
        """Let the oldest job in the buffer that may enter do so, as a job of `source` left the queue.

        Logarithmic in the number of streams, however many wait behind those that are full.
        """
        source.queued -= 1
        self._queued -= 1
        self._nominate(source)
        while self._heads:
            turn, number = heappop(self._heads)
            other = self.sources[number]
            if not other.full and other.waits and other.waits[0][0] == turn:
                _, arrived, k = other.waits.popleft()
                self._enter(other, k, arrived)
                self._nominate(other)
                return
