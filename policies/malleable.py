"""EASY with malleable jobs: they shrink so that waiting jobs start, and use the nodes that no job can use.

A malleable job has fewest, *preferred* and most nodes; the preferred ones are those it asks for. At each pass jobs
start in queue order. Nodes of running malleable jobs count as free for them, down to a floor that `mode` says. The
first job that does not fit is the head; later jobs start as in EASY if they do not delay it. Then malleable jobs
shrink as far as the starts need. Nodes that stay free no job could use now: malleable jobs that start or run get them.

======== ============================================ ======================== =====================================
mode     a waiting malleable job starts on            running ones shrink to   who shrinks first, and grows last
======== ============================================ ======================== =====================================
keep     its preferred nodes                          their preferred nodes    farthest above its preferred nodes
pref     those, or what there is from its fewest on   those; for the head to   farthest above its preferred nodes
                                                      their fewest
min      its fewest nodes                             their fewest nodes       farthest above its fewest nodes
average  its preferred nodes, or what there is        their fewest nodes       the one nearest to its most, relative
                                                                               to the range from fewest to most
======== ============================================ ======================== =====================================

A job grows at most once in `every` seconds, because it stands still meanwhile (docs/systems/parm.md). Jobs without an
application are rigid; if no job has one, starts are those of `slurmsim_policies.easy`. Jobs without a limit count with
one year. Where jobs need no equal whole nodes, a later job starts only if it ends before the head's planned start.

Source: Zojer, Posner and Özden 2026, "Evaluating Malleable Job Scheduling in HPC Clusters using Real-World Workloads",
arXiv 2602.17318, of which the abstract and summaries were at hand. It compares five strategies, among them EASY with
rigid jobs and a new one (KeepPref) that leaves jobs their preferred nodes. The other modes follow the scheduling
algorithms of the same group's repository ``projectwagomu/MalleableJobScheduling`` (``pref_common_pool``, …); what is
reserved there for one job is here simply shrunk and started at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

from slurmsim.data_classes import dataclass, field
from slurmsim.policy import Change, Decisions, JobView, Policy, PolicyOption, Pool, PowerView, Start, WakeAt
from slurmsim_policies.choices import one_of, whole
from slurmsim_policies.equipartition import carry_out

KEEP, PREF, MIN, AVERAGE = "keep", "pref", "min", "average"
FOREVER = 1 << 62


@dataclass(slots=True)
class Sized:
    """A job with its sizes, and the nodes it is to have after this pass (0: it waits)."""

    job: JobView
    least: int
    preferred: int
    most: int
    nodes: int
    rests: int = 0  # until when it may not grow
    before: int = field(init=False)

    def __post_init__(self) -> None:
        self.before = self.nodes

    @property
    def above_least(self) -> float:
        return self.nodes - self.least

    @property
    def above_preferred(self) -> float:
        return self.nodes - self.preferred

    @property
    def of_range(self) -> float:
        return (self.nodes - self.least) / max(self.most - self.least, 1)


# by mode: how large a job counts when it is decided who shrinks and who grows
_LARGE: Mapping[str, Callable[[Sized], float]] = {
    KEEP: lambda one: one.above_preferred, PREF: lambda one: one.above_preferred,
    MIN: lambda one: one.above_least, AVERAGE: lambda one: one.of_range,
}  # fmt: skip


class Malleable(Policy):
    """EASY, with sizes of malleable jobs that follow the queue."""

    name = "malleable"
    summary = "EASY with malleable jobs, which shrink for jobs that wait and grow into idle nodes"
    chooses_sizes = True
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {
        "mode": PolicyOption(one_of(KEEP, PREF, MIN, AVERAGE), KEEP, "how far jobs shrink: keep, pref, min, average"),
        "every": PolicyOption(whole(0), 1800, "seconds from a change of a job's nodes to its next growth"),
    }

    def schedule(self, view: PowerView, now: int) -> Decisions:
        """Decide starts and sizes by counting nodes, then resize, then start."""
        if view.pending or view.free_nodes:
            yield from _Pass(view, now, self.options["mode"], self.options["every"]).decide()


class _Pass:
    """One pass: who has how many nodes after it."""

    def __init__(self, view: PowerView, now: int, mode: str, every: int) -> None:
        self.view, self.now, self.mode, self.every = view, now, mode, every
        self.pool = _counted(view)
        self.alike = self.pool is not None
        self.free = view.free_nodes if self.pool is None else self.pool.free_units
        self.running = [self._sized(job) for job in view.running]
        self.starts: list[Sized] = []

    def decide(self) -> Decisions:
        queue = list(self.view.pending)
        at = 0
        while at < len(queue) and self._take(queue[at]):
            at += 1
        if at < len(queue):
            self._backfill(queue[at], queue[at + 1 :])
        self._grow()
        changes = [Change(one.job, one.nodes) for one in self.running if one.nodes != one.before]
        if changes:
            yield from carry_out(changes)
        for one in self.starts:
            if self.view.profile(one.job) is None:
                yield Start(one.job)
            # nodes of jobs that shrank are free at once, their watts later
            elif not (yield Start(one.job, nodes=one.nodes)) and one.nodes > one.least:
                yield Start(one.job, nodes=one.least)
        yield from self._wake(bool(at < len(queue)))

    def _sized(self, job: JobView) -> Sized:
        profile, now = self.view.profile(job), job.n_nodes
        if profile is None:
            now = now if self.pool is None else self.pool.need_of(job)
            return Sized(job, now, now, now, now)
        if job.start_time is None:
            return Sized(job, profile.min_nodes, now, profile.max_nodes, 0)
        shape = self.view.shape(job)
        preferred = min(max(_asked(job), profile.min_nodes), profile.max_nodes)
        if not profile.malleable or self.now < shape.moving_until or self.now < shape.point:
            return Sized(job, now, now, now, now, max(shape.moving_until, shape.point))
        rests = 0 if shape.resized_at is None else shape.resized_at + self.every
        return Sized(job, profile.min_nodes, preferred, profile.max_nodes, now, rests)

    def _take(self, job: JobView) -> bool:
        """Start `job` if nodes can be had for it; return False for the head of those that have to wait."""
        one = self._sized(job)
        if not self.alike and self.view.profile(job) is None and self.view.fits(job):
            self._start(one, 0)  # it may share nodes
            return True
        for want, deep in self._attempts(one):
            there = self.free + sum(self._spare(other, deep) for other in self.running)
            if want <= there:
                nodes = one.least if self.mode == MIN else min(one.preferred, there)
                self._shrink(nodes - self.free, deep)
                self._start(one, nodes)
                return True
        return False

    def _attempts(self, one: Sized) -> list[tuple[int, bool]]:
        """Return the nodes to try, and whether running jobs may shrink to their fewest for them."""
        if self.mode == KEEP:
            return [(one.preferred, False)]
        if self.mode == MIN:
            return [(one.least, True)]
        if self.mode == AVERAGE:
            return [(one.preferred, True), (one.least, True)]
        return [(one.preferred, False), (one.least, False), (one.least, True)]

    def _spare(self, one: Sized, deep: bool) -> int:
        return max(one.nodes - (one.least if deep else one.preferred), 0)

    def _shrink(self, lacking: int, deep: bool) -> None:
        """Take so many nodes from running jobs, from the largest first."""
        for one in sorted(self.running, key=_LARGE[self.mode], reverse=True) if lacking > 0 else ():
            taken = min(self._spare(one, deep), lacking)
            one.nodes -= taken
            lacking -= taken
            self.free += taken

    def _start(self, one: Sized, nodes: int) -> None:
        one.nodes = nodes or one.preferred
        self.free -= nodes
        self.starts.append(one)

    def _backfill(self, head: JobView, behind: Iterable[JobView]) -> None:
        """Start of the jobs `behind` those that do not delay `head`."""
        lent = sum(self._spare(one, False) for one in self.running)
        if not (self.free + lent):
            return
        shadow, extra = self._shadow(head, self.free + lent)
        for job in behind:
            one = self._sized(job)
            nodes = one.least if self.mode == MIN else one.preferred
            if not self.alike and self.view.profile(job) is None and self.view.fits(job):
                nodes = 0
            elif nodes > self.free + lent:
                continue
            if self.now + self._takes(one, nodes) > shadow:
                if nodes > extra or not self.alike:
                    continue
                extra -= nodes
            short = max(nodes - self.free, 0)
            self._shrink(short, False)
            lent -= short
            self._start(one, nodes)
            if not self.free + lent and self.alike:
                return

    def _shadow(self, head: JobView, free: int) -> tuple[int, int]:
        """Return when `head` can start by the limits, and the nodes that are free then beyond its need."""
        of = self._sized(head)
        need = of.least if self.mode == MIN else of.preferred
        ends = [(one.job.expected_end or FOREVER, min(one.nodes, one.preferred)) for one in self.running]
        ends += [(self.now + self._takes(one, one.nodes), one.nodes) for one in self.starts]
        ends.sort()
        at = -1
        while free < need and at + 1 < len(ends):
            at += 1
            free += ends[at][1]
        if free < need or at < 0:  # nodes are missing, or something else than nodes is
            return FOREVER, max(free - need, 0) if self.alike and free < need else FOREVER
        while at + 1 < len(ends) and ends[at + 1][0] <= ends[at][0]:
            at += 1
            free += ends[at][1]
        return ends[at][0], free - need

    def _takes(self, one: Sized, nodes: int) -> int:
        """Return the seconds to plan with for a job on so many nodes."""
        expected = one.job.expected_s
        if nodes in (0, one.preferred):
            return expected
        profile, power = self.view.profile(one.job), self.view.power
        assert profile is not None and power is not None
        cap = max(round(power.cap_w * 1000), profile.lowest_mw)
        return -int(-expected * profile.slowdown(nodes, cap) / profile.slowdown(one.preferred, cap) // 1)

    def _grow(self) -> None:
        """Deal the nodes left out: to jobs below their preferred nodes first, to the smallest first."""
        began = [one for one in self.starts if one.least < one.most and self._shrinks(one.job)]
        able = [one for one in (*self.running, *began) if one.nodes < one.most and one.rests <= self.now]
        for most in ("preferred", "most") if able and self.free > 0 else ():
            for one in sorted(able, key=_LARGE[self.mode]):
                more = min(getattr(one, most) - one.nodes, self.free)
                if more > 0:
                    one.nodes += more
                    self.free -= more

    def _shrinks(self, job: JobView) -> bool:
        profile = self.view.profile(job)
        return profile is not None and profile.malleable

    def _wake(self, waits: bool) -> Decisions:
        """Come back when a job may be resized that may not now, if that could matter."""
        times = [one.rests for one in self.running if one.rests > self.now and (waits or self.free > 0)]
        if times:
            yield WakeAt(min(times))


def _counted(view: PowerView) -> Pool | None:
    """Return the one pool where counting decides, in which malleable jobs take units as they take nodes; else None."""
    pools = view.pools
    if len(pools) != 1 or not pools[0].alike or pools[0].free_units != view.free_nodes:
        return pools[0] if len(pools) == 1 and pools[0].alike and not _any_sized(view) else None
    known = [job for job in view.pending if view.profile(job) is not None]
    return pools[0] if all(pools[0].need_of(job) == job.n_nodes for job in known) else None


def _any_sized(view: PowerView) -> bool:
    return any(view.profile(job) is not None for job in (*view.running, *view.pending))


def _asked(job: JobView) -> int:
    """Return the nodes a job asks for."""
    return next((amount for name, amount in job.asked if name == "node"), job.n_nodes)
