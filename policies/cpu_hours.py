"""Backfill with individual CPU-hour limits: who queues many jobs does not fill the head of the queue.

At every pass a user *holds* CPUs x remaining requested time of each running job. A job is *within the limit* if its
user holds nothing, or holds no more than the limit together with the job. Two rounds, both by the base scheduler:

1. the queue in its order, but only jobs within the limit; each that starts or gets a planned start counts at once;
2. the jobs that were held back, in their order, in what is left: they delay no planned start of round 1.

So no node stays idle for the limit alone: a job that was held back waits only where it would delay a job of round 1.

How it is composed. Two rounds of backfill with the same plans are one round over another order of the queue: first who
is within the limit, then who is not. That is all this policy gives to its base: EASY and conservative ask their
pool for the next one (`Pool.turns`), Slurm's backfill asks its view for the queue (`records`), slurmctld's main
scheduler asks the policy (`Policy.order`). EASY keeps one planned start, so who is within the limit is settled one by
one as the pass goes on. Conservative and Slurm's backfill plan every job they come to, so it is settled beforehand.
With an infinite limit the base runs by itself.

Time alone may bring a job within the limit, as running jobs use theirs up: then the policy asks to be called. Jobs
without a time limit count with one year. A job held back shows the reason Slurm gives for GrpTRESRunMins=cpu, which
limits the same sum but for ever: AssocGrpCPURunMinutesLimit. A user's own small jobs may overtake a large one.

Options: `CpuHours.OPTIONS`. Source: "Supercomputer Efficiency: Complex Approach Inspired by Lomonosov-2 History
Evaluation" has the idea and leaves algorithm and limits to an earlier paper; these are ours, docs/systems/lomonosov.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast

from slurmsim.policy import (
    Decision,
    Decisions,
    JobView,
    Outcome,
    Plan,
    Policy,
    PolicyOption,
    Pool,
    RecordView,
    Reject,
    SlurmRecord,
    SlurmView,
    Start,
    WakeAt,
)
from slurmsim_policies.choices import one_of, positive
from slurmsim_policies.conservative import Conservative
from slurmsim_policies.cpu_budgets import Budgets, Limit, Limits, NamedLimits
from slurmsim_policies.easy import Easy
from slurmsim_policies.slurm_backfill import SlurmBackfill

Turns = Callable[[Sequence[RecordView]], Iterable[RecordView]]
HOUR_S = 3600
HELD_BACK = "AssocGrpCPURunMinutesLimit"
BASES: dict[str, type[Policy]] = {base.name: base for base in (Easy, Conservative, SlurmBackfill)}


_AMOUNT = "CPU-hours, inf, or a multiple of an even share as in 0.5x"


class CpuHours(Policy):
    """Two rounds of backfill: first the jobs within their user's limit, then the others."""

    name = "cpu_hours"
    summary = "backfill in two rounds: first jobs within their user's CPU-hour limit, then the others"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {
        "base": PolicyOption(one_of(*BASES), "easy", "scheduler of both rounds: " + ", ".join(BASES)),
        "limit": PolicyOption(Limit.parse, Limit(1, shared=True), f"what a user may hold: {_AMOUNT}"),
        "hours": PolicyOption(positive, 24.0, "an even share: the cluster's CPUs x so many hours / users in the queue"),
        "user": PolicyOption(NamedLimits.parse, NamedLimits(), "limits of single users: NAME=LIMIT+NAME=LIMIT"),
        "account": PolicyOption(NamedLimits.parse, NamedLimits(), "limits of the users of accounts, likewise"),
        **SlurmBackfill.OPTIONS,  # of that base
    }
    STATE = ("_again", "_shown")

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        super().__init__(options)
        values = self.options
        self.limits = Limits(values["limit"], values["user"], values["account"], values["hours"])
        base = BASES[values["base"]]
        self.base = base({key: text for key, text in (options or {}).items() if key in SlurmBackfill.OPTIONS})
        self.event_driven = self.base.event_driven
        self.label = self.base.label or self.base.name
        self._one_plan = values["base"] == Easy.name
        self._interval = 1  # seconds between two calls at least
        self._again: int | None = None  # when to be called though nothing happens: bases that are not event-driven
        self._shown: set[int] = set()  # jobs that were shown as held back
        self._turn: list[RecordView] = []  # the queue as the last pass took it
        self._changes = 0  # how often what a base remembers of the queue has ceased to hold

    def configure(self, scheduler_parameters: Mapping[str, str], start_time: int) -> None:
        self.base.watched = self.watched
        self.base.configure(scheduler_parameters, start_time)
        if not self.event_driven:
            self._interval = int(scheduler_parameters.get("bf_interval") or 30)

    def next_time(self, view: SlurmView, now: int, changed: bool) -> int | None:
        at = self.base.next_time(view, now, changed)
        if self._again is None or not view.n_queued:
            return at
        return max(self._again, now) if at is None else min(at, max(self._again, now))

    def order(self, view: SlurmView, records: Sequence[SlurmRecord], now: int) -> Sequence[RecordView]:
        if self.limits.none:
            return records
        held = {record for record, _ in Budgets(self.limits, view, records, now).over(records)}
        return _held_last(records, held) if held else records

    def schedule(self, view: SlurmView, now: int) -> Iterable[Decision] | Decisions:
        if self.limits.none:
            return self.base.schedule(view, now)
        return self._two_rounds(view, now)

    def explain(self, view: SlurmView, job: JobView, now: int) -> str:
        said = self.base.explain(view, job, now)
        records = [] if self.limits.none else view.records()
        mine = next((record for record in records if record.job.id == job.id), None)
        if mine is None:
            return said
        budgets = Budgets(self.limits, view, records, now)
        holds, own = budgets.holds.get(job.user, 0), mine.n_cpus * job.time_limit_s
        room = budgets.room(mine)
        over = {record for record, _ in budgets.over(records)}
        hours = f"{job.user} holds {holds / HOUR_S:,.1f} CPU-hours with running jobs, "
        hours += f"and it asks for {own / HOUR_S:,.1f}"
        if room != math.inf:
            hours += f" (limit {(room + holds + own) / HOUR_S:,.1f})"
        turn = "in the second round, after all within their limits" if mine in over else "in the first round"
        return f"{hours}: its turn is {turn}. {said}".strip()

    def _two_rounds(self, view: SlurmView, now: int) -> Decisions:
        records = view.records()
        self._shown &= {record.job.id for record in records}
        budgets = Budgets(self.limits, view, records, now)
        held: list[RecordView]
        if self._one_plan:
            rounds = _OneByOne(budgets)
            self._changes += 1
            yield from self._watched(_View(view, rounds.turns, self._changes), now, budgets)
            held, admitted = rounds.held, rounds.admitted
        else:
            over = {record for record, _ in budgets.over(records)}
            held, admitted = [r for r in records if r in over], [r for r in records if r not in over]
            self._note_turn([*admitted, *held], records)

            def turns(some: Sequence[RecordView]) -> Sequence[RecordView]:
                return _held_last(some, over)

            yield from self._watched(_View(view, turns, self._changes), now, None)
        yield from self._show(held, admitted)
        self._again = self._next_turn(view, records, admitted, held, now) if held else None
        if self.event_driven and self._again is not None:
            yield WakeAt(self._again)

    def _watched(self, view: SlurmView, now: int, budgets: Budgets | None) -> Decisions:
        """Yield what the base decides; charge each start and plan to `budgets`, if any."""
        decisions = iter(self.base.schedule(view, now))
        answer: Callable[[Outcome], Decision] = getattr(decisions, "send", None) or (lambda _: next(decisions))
        outcome: Outcome = None
        while True:
            try:
                decision = answer(outcome)
            except StopIteration:
                return
            if isinstance(decision, Plan):
                decision.promise = False  # who comes within the limit goes before
            outcome = yield decision
            if budgets is not None and (isinstance(decision, Plan) or (isinstance(decision, Start) and outcome)):
                budgets.charge(cast("RecordView", decision.job))  # as all bases do

    def _note_turn(self, turn: list[RecordView], records: Sequence[RecordView]) -> None:
        """Count it as a change if anybody of the last pass is no more in the place he had among the others."""
        there = set(records)
        before = [record for record in self._turn if record in there]
        if turn[: len(before)] != before:
            self._changes += 1
        self._turn = turn

    def _show(self, held: Iterable[RecordView], admitted: Iterable[RecordView]) -> Decisions:
        """Slurm's reason for those held back, none for those that are so no more."""
        waiting = set()
        for record in held:
            if record.job.queued:
                waiting.add(record.job.id)
                if record.job.id not in self._shown:
                    yield Reject(record, HELD_BACK)
        for record in admitted:
            job_id = record.job.id
            if job_id in self._shown:
                self._shown.discard(job_id)
                if record.job.queued and job_id not in waiting:
                    yield Reject(record, "None")
        self._shown |= waiting

    def _next_turn(
        self, view: SlurmView, records: Sequence[RecordView], admitted: list[RecordView], held: list[RecordView],
        now: int,
    ) -> int | None:  # fmt: skip
        """Return when a pass may decide otherwise though nothing happens, with `records` the queue this one began with.

        Time may bring one of `held` within the limit; and what the pass has started may have put others over it, or
        changed the number of users who share. None while nothing is free. Where calls have a cadence it is the next.
        """
        if not view.free_cpus:
            return None
        budgets = Budgets(self.limits, view, view.records(), now)
        judged = {record for record in (*admitted, *held) if record.job.queued}  # the others fit nowhere now
        over = budgets.over([record for record in records if record in judged], first_only=self._one_plan)
        soonest = now + self._interval
        if {record for record, _ in over} != judged.intersection(held):
            return soonest
        at = budgets.release(over)
        return None if at is None else max(soonest, now - (now - at) // self._interval * self._interval)


class _OneByOne:
    """Two rounds for a base with one planned start: each is judged when his turn comes, with all decided before."""

    def __init__(self, budgets: Budgets) -> None:
        self._budgets = budgets
        # held, admitted: who was judged so, in order
        self.held: list[RecordView] = []
        self.admitted: list[RecordView] = []

    def turns(self, records: Sequence[RecordView]) -> Iterator[RecordView]:
        """Yield `records` within the limit, one when the one before is decided, then the others."""
        held: list[RecordView] = []
        for record in records:
            if not record.job.queued:
                continue
            if self._budgets.admits(record):
                self.admitted.append(record)
                yield record
            else:
                held.append(record)
                self.held.append(record)
        yield from held


def _held_last(records: Sequence[RecordView], held: set[RecordView]) -> list[RecordView]:
    """Return `records`, with those in `held` behind the others."""
    return [r for r in records if r not in held] + [r for r in records if r in held]


class _Behind:
    """Everything of `it`, but for what a subclass says."""

    __slots__ = ("it",)

    def __init__(self, it: Any) -> None:
        self.it = it

    def __getattr__(self, name: str) -> Any:
        return getattr(self.it, name)


class _Pool(_Behind):
    """A pool in which others have the next turn than in the queue.

    With `changes`, `generation` and `edits` change too: nothing a base remembers of the queue holds then.
    """

    __slots__ = ("_changes", "turns")

    def __init__(self, pool: Pool, turns: Turns, changes: int) -> None:
        super().__init__(pool)
        self.turns, self._changes = turns, changes

    @property
    def generation(self) -> tuple[int, int]:
        return self.it.generation, self._changes

    @property
    def edits(self) -> tuple[int, int]:
        return self.it.edits, self._changes


class _View(_Behind):
    """The cluster with such pools, and the queue in that order."""

    __slots__ = ("_turns", "pools")

    def __init__(self, view: SlurmView, turns: Turns, changes: int) -> None:
        super().__init__(view)
        self._turns = turns
        self.pools = [_Pool(pool, turns, changes) for pool in view.pools]

    def records(self) -> list[SlurmRecord]:
        return cast("list[SlurmRecord]", list(self._turns(self.it.records())))
