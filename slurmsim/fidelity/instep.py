"""Replay in step: the real slurmctld's passes, our decisions.

Which second a pass of slurmctld falls into depends on clocks a recording does not hold: the phase of its loops, how
long an epilog took, how fast sbatch was. Real Slurm does not repeat itself in these, so no replay can predict them.
Here they are given: the controller is told submissions and ends at their recorded seconds and makes a pass of the
scheduler that started something in just those seconds. Everything it decides is its own: which jobs start, in which
order, on which nodes; and since a job lasts as recorded, one wrong decision spoils those that follow. Cycles of
backfill that started nothing are not recorded. They follow the last recorded one every bf_interval and decide nothing,
but the CPUs they find for a job count in its priority.

What a whole second still hides is the order inside it: did the pass come before or after a job's end or a
submission of that same second? Unless told otherwise everything of the second comes first. Where that gives another
decision than the recorded one, other orders of the *same second* are tried, fewest changes first, and the first that
gives the recorded decision is kept; the seconds that needed it are counted. So are passes that ran across the turn of
a second: what they started first is recorded with the one second, the rest with the next. A second that no order
explains is a difference between Slurm and us.

A recording names the nodes of a job, not its CPUs on each. Two orders of one second may give the recorded nodes with
other CPUs on them, and which of the two it was shows only when a later job needs what is left. So a second that no
order explains is first put down to that. The seconds in which a job began that shares nodes and still runs are tried,
latest first. In each, another order is looked for that gives the recorded nodes with other CPUs, and that explains what
followed as far as the second in question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import combinations_with_replacement, islice, product

import numpy as np

from slurmsim.core.controller.controller import Controller
from slurmsim.core.records.allocation import Allocation
from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import Action, JobEnded, Launch, Submit
from slurmsim.data_classes import dataclass, field, replace
from slurmsim.fidelity.copies import Original
from slurmsim.fidelity.recording import Recording
from slurmsim.model.submission import Submission
from slurmsim.policy import load_policy
from slurmsim.sim.network import Behaviour
from slurmsim.sim.submissions import Submissions

MAX_ORDERS = 400  # orders of one second that are tried
MAX_MOVED = 6  # ends of one second that are moved around
MAX_RECONSIDERED = 300  # walks that look for another order of an earlier second
BF_INTERVAL_S = 30  # bf_interval where slurm.conf says nothing
CLOCK_ERROR_S = (0, 1, -1, 2, -2, 3, -3)  # by how much the recording's begin may be misjudged, likeliest first
UP_SOONER_S = (1, 2)  # how long before it is thought to be up slurmctld may have loaded its priority plugin


@dataclass(slots=True)
class InStep:
    """What the replay decided: jobs and their node lists by id, times on slurmctld's clock.

    `recording` is what was replayed, begun where it is explained best on slurmctld's clock. `held` is what each job had
    of its nodes, as far as all is explained: a job that began later met other jobs than the recorded ones. `reordered`
    are the seconds in which not everything came before the pass, `unexplained` those that no order explains; both since
    the recording began.
    """

    recording: Recording
    jobs: dict[int, Job]
    nodes: dict[int, str]
    held: dict[int, Allocation]
    reordered: list[int]
    unexplained: list[int]


@dataclass(slots=True)
class _Run:
    jobs: dict[int, Job] = field(default_factory=dict)
    crossed: list[int] = field(default_factory=list)  # seconds with a pass that ended in the next second
    nodes: dict[int, str] = field(default_factory=dict)
    held: dict[int, Allocation] = field(default_factory=dict)
    began: dict[int, int] = field(default_factory=dict)  # job -> second of its start
    until: dict[int, int] = field(default_factory=dict)  # job -> second of its end
    diverged: int | None = None  # the first second that differs from the recording
    exhausted: bool = False  # the order asked for there does not exist


def replay_in_step(recording: Recording) -> InStep:
    """Replay `recording` in step with its passes.

    When it began on slurmctld's clock is known to about 3 s only, and backfill rounds to minutes of that clock; which
    second of a minute works priorities out anew is not recorded at all. `_begins` are tried until no second is
    unexplained, and the best is kept. Earlier seconds are considered again only when none will do without.

    Notes
    -----
    One run costs one walk over the recording. Each order tried of a second costs a copy of the controller there and
    the walk from there to the next second that differs.
    """
    for begun in _begins(recording):
        found = _explain(begun, 1, reconsider=False)
        if found is not None:
            return found
    best: InStep | None = None
    for begun in _begins(recording):
        found = _explain(begun, None if best is None else len(best.unexplained))
        if found is not None:
            best = found
            if not best.unexplained:
                break
    assert best is not None
    return best


def _begins(recording: Recording) -> Iterator[Recording]:
    """Yield the recording by each way it may have begun on slurmctld's clock, likeliest first."""
    first, *others = CLOCK_ERROR_S
    yield recording.shifted(first)
    for seconds in UP_SOONER_S:
        yield replace(recording, up_since=recording.up_since - seconds)
    for error in others:
        yield recording.shifted(error)


def _explain(recording: Recording, limit: int | None, *, reconsider: bool = True) -> InStep | None:
    """Find an order for every second; None as soon as `limit` of them are unexplained."""
    stepper = _Stepper(recording)
    chosen: dict[int, int] = {}
    unexplained: set[int] = set()
    run = stepper.run(chosen, unexplained)
    while run.diverged is not None:
        at = run.diverged
        found = _next_order(stepper, chosen, unexplained, at)
        if found is None and reconsider and not unexplained:  # afterwards nothing is as recorded any more
            found = _reconsider(stepper, chosen, at, run)
        if found is None:
            unexplained.add(at)
            if limit is not None and len(unexplained) >= limit:
                return None
            run = stepper.run(chosen, unexplained)
        else:
            chosen, run = found
    seconds, odd = ([t - recording.epoch for t in sorted(times)] for times in ({*chosen, *run.crossed}, unexplained))
    explained = {k: alloc for k, alloc in run.held.items() if not unexplained or run.began[k] < min(unexplained)}
    return InStep(recording, run.jobs, run.nodes, explained, seconds, odd)


_Found = tuple[dict[int, int], "_Run"]  # the orders chosen and the walk they make


def _next_order(stepper: _Stepper, chosen: dict[int, int], forgiven: set[int], at: int) -> _Found | None:
    """Another order of the second `at`, the first after the chosen one that explains it."""
    for k in range(chosen.get(at, 0) + 1, MAX_ORDERS):
        orders_now = {**chosen, at: k}
        run = stepper.run(orders_now, forgiven)
        if run.exhausted:
            return None
        if run.diverged is None or run.diverged > at:
            return orders_now, run
    return None


def _reconsider(stepper: _Stepper, chosen: dict[int, int], at: int, run: _Run) -> _Found | None:
    """Other CPUs for a job that shares its nodes and runs at the second `at`, so that all up to there is explained."""
    sharing = {run.began[k] for k, alloc in run.held.items() if not alloc.whole and run.until[k] >= at > run.began[k]}
    last = stepper.walks + MAX_RECONSIDERED
    for second in sorted(sharing, reverse=True):
        tried = [_split(run, second)]
        other: _Found | None = ({t: k for t, k in chosen.items() if t <= second}, run)
        while other is not None and stepper.walks < last:
            other = _next_order(stepper, other[0], set(), second)
            if other is None or _split(other[1], second) in tried:
                continue
            tried.append(_split(other[1], second))
            on: _Found | None = other
            while on is not None and on[1].diverged is not None and on[1].diverged <= at and stepper.walks < last:
                on = _next_order(stepper, on[0], set(), on[1].diverged)
            if on is not None and (on[1].diverged is None or on[1].diverged > at):
                return on
    return None


def _split(run: _Run, second: int) -> list[tuple[int, int, list[int]]]:
    """Return the CPUs on each of its nodes of every job that began in `second`."""
    return [
        (job_id, alloc.mask, np.broadcast_to(alloc.cpus, alloc.n_nodes).tolist())
        for job_id, alloc in sorted(run.held.items())
        if run.began[job_id] == second and not alloc.whole
    ]


@dataclass(slots=True)
class _Walk:
    """How far a walk has come, beside its controller."""

    times: list[int]  # a heap of the seconds to come in which something happens
    found: _Run = field(default_factory=_Run)
    ends: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    ahead: dict[int, dict[int, str]] = field(default_factory=dict)  # second -> what the pass before it started already
    cycle_at: int | None = None  # when backfill's next cycle comes

    def will_end(self, job_id: int, at: int) -> None:
        self.ends[at].append(job_id)
        self.found.until[job_id] = at
        heappush(self.times, at)


_Choices = tuple[dict[int, int], set[int]]  # the orders chosen, the seconds forgiven


def _before(at: int, chosen: dict[int, int], forgiven: set[int]) -> _Choices:
    return {t: k for t, k in chosen.items() if t < at}, {t for t in forgiven if t < at}


@dataclass(slots=True)
class _Kept:
    """A walk as it was before the second `at`, by way of the choices `before`."""

    at: int
    before: _Choices
    state: Original[_Walk]

    def leads_to(self, chosen: dict[int, int], forgiven: set[int]) -> bool:
        """Return True if a walk with these choices comes by here."""
        return self.before == _before(self.at, chosen, forgiven)


class _Stepper:
    """Walks a recording second by second."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.walks = 0  # made so far
        self.kept: list[_Kept] = []  # ascending, each on the way to the next
        self.interval = int(recording.cluster.scheduler_parameters.get("bf_interval") or BF_INTERVAL_S)
        self.submits: dict[int, list[Submission]] = defaultdict(list)
        self.behaviour: dict[int, Behaviour] = {}
        submit = recording.workload.ints["submit"].tolist()
        for row, sub, behaviour in Submissions(recording.workload).rows():
            self.submits[submit[row]].append(sub)
            self.behaviour[sub.job_id] = behaviour
        self.recorded: dict[int, dict[int, str]] = defaultdict(dict)
        self.passes: dict[int, set[bool]] = defaultdict(set)  # second -> {is it a backfill cycle}
        for job in recording.jobs:
            at = recording.epoch + job.start
            self.recorded[at][job.id] = job.nodes
            self.passes[at].add(job.scheduler == "Backfill")

    def run(self, chosen: dict[int, int], forgiven: set[int]) -> _Run:
        """One walk, up to the first second that differs and is not `forgiven`.

        `chosen` names the order of a second by its place in `orders`; 0 where it says nothing. What came before the
        last of these seconds is kept: the next walk with the same earlier choices begins there.
        """
        self.walks += 1
        while self.kept and not self.kept[-1].leads_to(chosen, forgiven):
            self.kept.pop()
        c, walk = self.kept[-1].state.copy() if self.kept else self._begin()
        keep = max(chosen.keys() | forgiven, default=None)
        if self.kept and self.kept[-1].at == keep:
            keep = None
        while walk.times:
            now = walk.times[0]
            if now == keep:
                self.kept.append(_Kept(now, _before(now, chosen, forgiven), Original(c, walk)))
                keep = None
            while walk.times and walk.times[0] == now:
                heappop(walk.times)
            if not self._second(c, walk, now, chosen.get(now, 0), now in forgiven):
                walk.found.diverged = now
                break
        return walk.found

    def _begin(self) -> tuple[Controller, _Walk]:
        recording = self.recording
        policy = load_policy(recording.scheduler)()
        c = Controller(
            recording.cluster, policy, recording.up_since, accounting=recording.accounting, enforce_limits=False
        )
        if recording.reservations:
            c.note(recording.up_since, recording.facts)
        walk = _Walk(list(self.submits.keys() | self.recorded.keys()))
        heapify(walk.times)
        if recording.scheduler == "builtin" and self.interval > 0:  # which starts nothing, but finds CPUs
            walk.cycle_at = recording.up_since + self.interval
        return c, walk

    def _second(self, c: Controller, walk: _Walk, now: int, place: int, forgiven: bool) -> bool:
        """Walk through one second in the order at `place`; return False if it differs from the recording."""
        while walk.cycle_at is not None and walk.cycle_at < now:
            c.quiet_cycle(walk.cycle_at)
            walk.cycle_at += self.interval
        possible = orders(sorted(walk.ends[now]), self.submits.get(now, []), sorted(self.passes.get(now, ())))
        order = next(islice(possible, place, None), None)
        if order is None:
            walk.found.exhausted = True
            return False
        started: dict[int, str] = {}
        for item in order:
            if isinstance(item, bool):
                actions = c.run_pass(now, backfill=item)
                if item and self.interval > 0:
                    walk.cycle_at = now + self.interval
            elif isinstance(item, Submission):
                actions = c.note(now, [Submit(item)])
            else:
                how = self.behaviour[item]
                actions = c.note(now, [JobEnded(item, how.state, how.exit_code, 0)])
            started |= self._launched(c, walk, now, actions)
        expected = self.recorded.get(now, {})
        if now in walk.ahead:
            expected = {k: names for k, names in expected.items() if k not in walk.ahead[now]}
        later = _after_the_turn(started, expected, self.recorded.get(now + 1, {}))
        if not later:
            return started == expected or forgiven
        walk.found.crossed.append(now)
        walk.ahead[now + 1] = later
        for job_id in later:
            end = now + self.behaviour[job_id].run_time
            walk.ends[end].remove(job_id)
            walk.will_end(job_id, end + 1)
        return True

    def _launched(self, c: Controller, walk: _Walk, now: int, actions: list[Action]) -> dict[int, str]:
        """Note the jobs that were launched; return their nodes."""
        found, started = walk.found, {}
        for action in actions:
            if isinstance(action, Launch):
                job = action.job
                assert job.alloc is not None
                found.jobs[job.id] = job
                found.nodes[job.id] = started[job.id] = c.state.cluster.node_list(job.alloc)
                found.held[job.id], found.began[job.id] = job.alloc, now
                walk.will_end(job.id, now + self.behaviour[job.id].run_time)
        return started


def _after_the_turn(started: dict[int, str], now: dict[int, str], next_second: dict[int, str]) -> dict[int, str]:
    """Return the starts, in order, that are recorded in the next second, if one pass across the turn explains both."""
    items = list(started.items())
    first, rest = dict(items[: len(now)]), dict(items[len(now) :])
    return rest if now and first == now and rest.items() <= next_second.items() else {}


Item = int | Submission | bool  # a job's end, a submission, a pass (True: backfill)


def orders(ends: list[int], subs: list[Submission], passes: list[bool]) -> Iterator[list[Item]]:
    """Orders of one second's events, the usual one first, then by how many events come later than usual.

    Submissions stay in order, ends may come after any pass; with two passes either may come first.
    """
    if not passes:
        yield [*ends, *subs]
        return
    slots = len(passes)
    moved = ends[:MAX_MOVED]
    found: list[tuple[int, int, list[bool], tuple[int, ...], tuple[int, ...]]] = []
    for first in (passes, passes[::-1]) if slots > 1 else (passes,):
        for after in product(range(slots + 1), repeat=len(moved)):
            for cut in combinations_with_replacement(range(len(subs) + 1), slots):
                late = sum(after) + sum(len(subs) - k for k in cut)
                found.append((late, len(found), first, after, cut))
    found.sort(key=lambda entry: entry[:2])
    for _, _, order, after, cut in found:
        items: list[Item] = list(ends[MAX_MOVED:])
        done = 0
        for k, is_backfill in enumerate(order):
            items += [end for end, slot in zip(moved, after, strict=True) if slot == k]
            items += subs[done : cut[k]]
            items.append(is_backfill)
            done = cut[k]
        items += [end for end, slot in zip(moved, after, strict=True) if slot == slots]
        items += subs[done:]
        yield items
