"""Licenses: how many there are, who holds them, what reservations keep back.

Mirrors slurmctld's licenses.c (22.05). A job holds its licenses from its start until it leaves RUNNING; a suspended
job keeps them. A job that lacks a license blocks no other job.

Event-driven policies know nothing of licenses. A job enters their queue only with its licenses set aside for it, and
waits outside until then; so whatever the policy starts may start, and no job that lacks a license is in its way.

Hierarchical resources are asked for as licenses are, and counted by layers of nodes (`HeldLayers`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from slurmsim.bitmap import Bitmap
from slurmsim.core.records.observer import Observer
from slurmsim.core.reservations.held_layers import HeldLayers
from slurmsim.data_classes import dataclass
from slurmsim.errors import InvariantError, SubmitError
from slurmsim.states import JobState, Reason
from slurmsim.tres import parse_license_choice, parse_licenses, resource_of

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.reservation import Reservation
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import QueueWay

Counts = tuple[tuple[str, int], ...]
INVALID: Final = "Invalid license specification"


@dataclass(slots=True)
class Remote:
    """What is heard of licenses of a server outside of the cluster, of which it is allowed a part.

    Parameters
    ----------
    consumed
        How many are in use anywhere, as the server was last heard to say.
    deficit
        How many of the cluster's own others have taken.
    updated
        When that was heard, epoch seconds.
    """

    consumed: int
    deficit: int
    updated: int


class Licenses(Observer):
    """The cluster's licenses."""

    def __init__(self, state: ControllerState, queue_way: QueueWay) -> None:
        self.state, self._queue_way = state, queue_way
        self.used = dict.fromkeys(state.license_totals, 0)
        # under event-driven policies: set aside for queued jobs; eligible jobs that wait outside of the queue, by id
        self.earmarked = dict.fromkeys(self.state.license_totals, 0)
        self.lacking: dict[int, Job] = {}
        self.remote: dict[str, Remote] = {}  # by name and server: ``matlab@flex``
        self.dropped: set[str] = set()  # remote ones that were there: jobs may still wait for them
        # hierarchical resources, which are asked for like licenses; None where there are none
        self.layers = HeldLayers(state, state.cluster.layers) if state.cluster.layers is not None else None
        self._words = {one.name: dict(one.variables) for one in state.spec.hierarchies if one.variables}

    # -- licenses of other servers ------------------------------------------------------------------------------------

    def set_remote(self, name: str, total: int, consumed: int, external: int, updated: int) -> None:
        """Let the cluster have `total` licenses of another server, of which `external` more belong to others.

        What is consumed beyond those and what jobs of the cluster hold is missing here (_handle_consumed).
        """
        self.state.license_totals[name] = total
        self.used.setdefault(name, 0)
        self.earmarked.setdefault(name, 0)
        self.dropped.discard(name)
        deficit = max(0, consumed - external - self.used[name])
        self.remote[name] = Remote(consumed, deficit, updated)
        self.retry()

    def drop_remote(self, name: str) -> None:
        """Take away all licenses of a server; jobs that hold some keep them, those that wait go on waiting."""
        self.state.license_totals[name] = 0
        del self.remote[name]
        self.dropped.add(name)

    def totals(self) -> dict[str, int]:
        """Return how many there are, by name, without those of servers that were taken away."""
        return {name: total for name, total in self.state.license_totals.items() if name not in self.dropped}

    def missing(self, name: str) -> int:
        """Return how many of them others have taken."""
        remote = self.remote.get(name)
        return 0 if remote is None else remote.deficit

    # -- what is asked for -------------------------------------------------------------------------------------------

    @property
    def fuzzy(self) -> bool:
        """True if jobs may leave out the server of a remote license (RemoteFuzzyMatch, 26.05)."""
        return "remotefuzzymatch" in [
            str(word).lower() for word in self.state.spec.options.get("LicenseParameters") or ()
        ]

    def matched(self, name: str) -> str:
        """Return the license that a name is short for: itself, or the only remote one of that name on any server."""
        if not self.fuzzy or "@" in name or "(" in name or self._is_local(name):
            return name
        found = [one for one in self.remote if one.rpartition("@")[0] == name]
        return found[0] if len(found) == 1 else name

    def _is_local(self, name: str) -> bool:
        return name in self.totals() or (self.layers is not None and name in self.layers.names)

    def spelled(self, text: str) -> str:
        """Return a request as it is kept: where a server could be left out, every license by its name and count."""
        try:
            choices = self._choices(text) if self.fuzzy else ()
        except SubmitError:
            return text  # it is refused as it is
        asked = [pair for one in choices for pair in one]
        if all("@" in name for name, _ in asked):
            return text
        between = "|" if "|" in text else ";"
        return between.join(f"{self.matched(name)}:{count}" for name, count in asked)

    def wanted(self, text: str) -> Counts:
        """Return the licenses that ``-L text`` asks for. Raises SubmitError for an unknown name or too many."""
        choices = self._choices(text)
        if any(self._lacks(name, count) for asked in choices for name, count in asked):
            raise SubmitError(INVALID)
        if self.layers is not None:
            return self.layers.wanted(choices)
        return choices[0] if choices else ()

    def _choices(self, text: str) -> tuple[Counts, ...]:
        if self.state.rules.license_equals:
            text = text.replace("=", ":")
        words = self._words
        try:
            return parse_license_choice(text, words) if self.state.rules.license_choice else (parse_licenses(text),)
        except ValueError:
            raise SubmitError(INVALID) from None

    def _lacks(self, name: str, count: int) -> bool:
        """Return True if there are no such licenses, or never as many."""
        if self.layers is not None and name in self.layers.names:
            return self.layers.table.lacks(name, count)
        return bool(count > self.state.license_totals.get(name, -1))

    def free(self, job: Job, reservation: Reservation | None = None) -> bool:
        """Return True if `job` could take its licenses now and keep them to its limit (license_job_test).

        Of licenses any one of which will do, it takes the first that is free.
        """
        now = self.state.now
        if self.layers is not None and self.layers.asked_by(job):
            return self._enough(job, reservation, now, now + job.time_limit_s)
        for asked in self._choices(job.sub.licenses) if "|" in job.sub.licenses else (job.licenses,):
            job.licenses = asked
            if self._enough(job, reservation, now, now + job.time_limit_s):
                return True
        return False

    def _enough(self, job: Job, own: Reservation | None, begin: int, end: int) -> bool:
        for name, count in job.licenses:
            if self.layers is not None and resource_of(name) in self.layers.names:
                continue
            left = self.state.license_totals[name] - self.used[name] - self.earmarked[name]
            if self.remote:
                left -= self.missing(name)
            if self.state.reserved.all:
                left -= self.kept(name, begin, end, own)
            if left < count:
                return False
        return True

    def kept(self, name: str, begin: int, end: int, own: Reservation | None) -> int:
        """Licenses of that name which reservations other than `own` keep over some of [begin, end)."""
        return sum(
            count for r in self.state.reserved.all if r is not own and r.covers(begin, end)
            for held, count in r.licenses if held == name
        )  # fmt: skip

    def take(self, job: Job, nodes: Bitmap) -> None:
        """Take note that `job` starts on `nodes`."""
        for name, count in self.counted(job):
            self.used[name] += count
        if self.layers is not None:
            self.layers.take(job, nodes)

    def counted(self, job: Job) -> Counts:
        """Return the licenses of `job` that are counted by their names alone."""
        if self.layers is None:
            return job.licenses
        return tuple(pair for pair in job.licenses if resource_of(pair[0]) not in self.layers.names)

    def released(self, job: Job, now: int) -> None:
        if job.claims:
            self.give_back(job)

    def give_back(self, job: Job) -> None:
        """`job` holds its licenses no more."""
        for name, count in self.counted(job):
            self.used[name] -= count
        if self.layers is not None:
            self.layers.give_back(job)
        self.retry()

    # -- event-driven policies ------------------------------------------------------------------------------------

    def enter(self, job: Job) -> bool:
        """Set licenses aside for `job`, which then may be queued; False when it must wait outside for them.

        What any reservation keeps at any time counts as gone, so that a start is never refused later.
        """
        if not self._enough(job, None, 0, 1 << 60):
            self.lacking[job.id] = job
            self.state.set_reason(job, Reason.LICENSES)
            return False
        for name, count in job.licenses:
            self.earmarked[name] += count
        return True

    def leave(self, job: Job) -> None:
        """Take note that `job` leaves the queue: what was set aside for it is taken now, or free for others."""
        for name, count in job.licenses:
            self.earmarked[name] -= count

    def retry(self) -> None:
        """Licenses came back: those that waited for them try again, in queue order."""
        for job in sorted(self.lacking.values(), key=lambda job: (-job.priority, job.submit_time, job.id)):
            del self.lacking[job.id]
            self._queue_way.enqueue(job)

    # -- checks ---------------------------------------------------------------------------------------------------

    def holders(self, jobs: Iterable[Job]) -> Iterator[tuple[str, int]]:
        """(name, count) of every license `jobs` hold."""
        return (pair for job in jobs for pair in self.counted(job))

    def check(self, jobs: Collection[Job]) -> None:
        """Raise InvariantError unless what is in use equals a recount and none is over-used. For tests."""
        used = dict.fromkeys(self.state.license_totals, 0)
        for name, count in self.holders(j for j in jobs if j.state in (JobState.RUNNING, JobState.SUSPENDED)):
            used[name] += count
        if used != self.used:
            raise InvariantError(f"licenses in use {self.used} differ from a recount {used}")
        aside = dict.fromkeys(self.state.license_totals, 0)
        for name, count in self.holders(j for j in jobs if j.queued and self.state.event_driven):
            aside[name] += count
        if aside != self.earmarked:
            raise InvariantError(f"licenses set aside {self.earmarked} differ from a recount {aside}")
        changing = self.remote.keys() | self.dropped  # of these there may be fewer than are held
        if any(count > self.state.license_totals[name] for name, count in used.items() if name not in changing):
            raise InvariantError(f"licenses over-used: {used} of {self.state.license_totals}")
        if self.layers is not None:
            self.layers.check({job.id for job in jobs if job.state in (JobState.RUNNING, JobState.SUSPENDED)})
