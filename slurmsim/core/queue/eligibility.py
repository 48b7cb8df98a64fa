"""What keeps a pending job out of the queue: dependencies, begin time, array throttle.

slurmctld asks these questions whenever it builds its queue (job_independent, 22.05); here each is asked when the
fact that can change its answer arrives, which comes to the same.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, TypeVar

from slurmsim.core.queue.begin_times import BeginTimes
from slurmsim.core.queue.dependency import CIRCULAR, PROBLEM, Known, Outcome, Term, combine, judge, parse
from slurmsim.core.queue.job_array import JobArrays
from slurmsim.core.records.job import Job
from slurmsim.errors import SubmitError
from slurmsim.states import JobState, Reason, is_held

if TYPE_CHECKING:
    from slurmsim.core.accounting.controller_accounting import AccountingParts
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import QueueWay, RunWay

_Key = TypeVar("_Key", int, tuple[str, str])
PURGE_S: Final = 60
_BY_RESULT: Final = frozenset({"afterok", "afternotok"})


class Eligibility:
    """Decides when a pending job enters the queue.

    Parameters
    ----------
    min_job_age
        Seconds an ended job is remembered (MinJobAge; 0 for ever), then up to a minute until it is purged.
    kill_invalid
        DependencyParameters=kill_invalid_depend: cancel what can never run.
    """

    def __init__(
        self, state: ControllerState, ways: tuple[QueueWay, RunWay], accounting: AccountingParts, *, min_job_age: int,
        kill_invalid: bool,
    ) -> None:  # fmt: skip
        self.state, self._accounting = state, accounting
        self._queue_way, self._runs = ways
        self.min_job_age = min_job_age
        self.kill_invalid = kill_invalid
        self.arrays = JobArrays(state, self._queue_way)
        self.begin_times = BeginTimes(state)
        self._terms: dict[int, tuple[tuple[Term, ...], bool]] = {}
        self.left: dict[int, str] = {}  # what jobs that ended still waited for, in a live cluster
        self._never: set[int] = set()  # jobs with failed terms, which stay failed when the jobs they name are forgotten
        self.dependents: dict[int, list[int]] = {}
        self._singletons: dict[tuple[str, str], list[int]] = {}
        self._ended: dict[int, tuple[str, int]] = {}
        # the jobs that are forgotten at a time, and a heap of these times
        self._forgotten_at: dict[int, list[int]] = {}
        self._ages: list[int] = []

    # -- bookkeeping the controller calls -------------------------------------------------------------------------

    def register(self, job: Job) -> None:
        """Take in a new job and parse its dependency. Raises SubmitError on a bad one, before changing anything."""
        if job.sub.dependency:
            self._depend(job, *self._parse(job, job.sub.dependency))
        if job.sub.array_task_id is not None:
            self.arrays.register(job)

    def check(self, job: Job) -> None:
        """Raise SubmitError if `job` could not be taken in for what it depends on."""
        if job.sub.dependency:
            self._parse(job, job.sub.dependency)

    def _parse(self, job: Job, dependency: str) -> tuple[tuple[Term, ...], bool]:
        """Return the terms of a new dependency. Raises SubmitError for a bad one, or one on a job that is unknown."""
        rules = self.state.rules
        found = parse(dependency, job.id, one_separator=rules.one_separator)
        if rules.unknown_refused and any(t.kind in _BY_RESULT and self._known(t, job) is None for t in found[0]):
            raise SubmitError(PROBLEM)
        return found

    def _depend(self, job: Job, terms: tuple[Term, ...], any_one: bool) -> None:
        self._terms[job.id] = (terms, any_one)
        for term in terms:
            if term.kind == "singleton":
                self._singletons.setdefault((job.user, job.name), []).append(job.id)
            else:
                self.dependents.setdefault(term.job_id, []).append(job.id)

    def redefine(self, job: Job, dependency: str) -> None:
        """`job`, pending, waits for `dependency` from now on instead of what it waited for.

        Raises SubmitError on a bad or circular one, before changing anything.
        """
        found = self._parse(job, dependency) if dependency else None
        if found is not None and self._leads_back(found[0], job):
            raise SubmitError(CIRCULAR)
        self._waits_no_more(job)
        if found is not None:
            self._depend(job, *found)
        self._queue_way.withdraw(job)
        if job.sub.array_task_id is not None:
            self.arrays.leave(job)
        if not is_held(job.reason):
            self.state.set_reason(job, Reason.NONE)
            self.consider(job)
        if not job.queued:
            if self._accounting.accrual is not None:
                self._accounting.accrual.held(job)
            elif job.accrue_time is None:  # where nothing limits it, what it began with stays
                job.accrue_time = job.eligible_time
            job.eligible_time = None

    def _waits_no_more(self, job: Job) -> None:
        """Forget the dependencies of `job`, if it had any: no other job has to wake it."""
        self._never.discard(job.id)
        terms, _ = self._terms.pop(job.id, ((), False))
        for term in terms:
            if term.kind == "singleton":
                _leave(self._singletons, (job.user, job.name), job.id)
            else:
                _leave(self.dependents, term.job_id, job.id)

    def _meet(self, job: Job, terms: tuple[Term, ...]) -> None:
        """Take note that `job` waits no more for what is met of its `terms`."""
        left = tuple(
            term for term in terms
            if term.kind == "singleton" or judge(term, self._known(term, job), self.state.now) is not Outcome.MET
        )  # fmt: skip
        if left:
            self._terms[job.id] = (left, False)
            for term in set(terms) - set(left):
                _leave(self.dependents, term.job_id, job.id)

    def _leads_back(self, terms: tuple[Term, ...], job: Job) -> bool:
        """Return True if what `terms` name waits, by however many steps, for `job`."""
        seen: set[int] = set()
        todo = [term.job_id for term in terms if term.job_id]
        while todo:
            at = todo.pop()
            if at == job.id or (at == job.array_key and job.sub.array_task_id is not None):
                return True
            if at not in seen:
                seen.add(at)
                array = self.arrays.by_id.get(at)
                for job_id in (at,) if array is None else tuple(array.tasks.values()):
                    todo += [t.job_id for t in self._terms.get(job_id, ((), False))[0] if t.job_id]
        return False

    def started(self, job: Job) -> None:
        """Take note that `job` started: ``after`` dependents may be met, and tasks of its array have a place less."""
        if job.array_limit:
            self.arrays.started(job)
        if self.dependents:
            self._wake(job)

    def ended(self, job: Job, was_running: bool) -> None:
        """Take note that `job` reached a final state."""
        now = self.state.now
        started = job.start_time if job.start_time is not None else now
        self._ended[job.id] = (job.state, started)
        if self.min_job_age:
            self._remember(job, now)
            if self._ages and self._ages[0] <= now:
                self._purge(now)
        if job.id in self._terms:
            if self.state.triggers.ticks:
                self.left[job.id] = self.describe(job)
            self._waits_no_more(job)
        if job.sub.array_task_id is not None:
            self.arrays.leave(job)
        if self.dependents:
            self._wake(job)
        if self._singletons:
            for waiting in list(self._singletons.get((job.user, job.name), ())):
                self._again(waiting)

    def rejected(self, job: Job) -> None:
        """Take note that `job` was refused once it had an id: to those that name it it is one that failed."""
        self._ended[job.id] = (job.state, self.state.now)
        if self.min_job_age:
            self._forget_later(job.id, self.state.now)

    def special_exit(self, job: Job) -> None:
        """Take note that `job` was requeued into SPECIAL_EXIT, which ``afternotok`` dependents take for a failure."""
        if self.dependents:
            self._wake(job)

    def requeued(self, job: Job) -> None:
        """Take note that `job` gives up its place among its array's active tasks."""
        if job.sub.array_task_id is not None:
            self.arrays.leave(job)

    def forget(self, job: Job) -> None:
        """Take note that `job` was held: it waits for nothing but its release. What was met before stays so."""
        terms, any_one = self._terms.get(job.id, ((), False))
        if len(terms) > 1 and not any_one:
            self._meet(job, terms)
        if job.sub.array_task_id is not None:
            self.arrays.leave(job)

    # -- the decision ---------------------------------------------------------------------------------------------

    def ends_at_once(self, job: Job) -> bool:
        """Return True if a new job is cancelled for a dependency that is never met."""
        return job.id in self._terms and self._killed(job) and self._judge(job) is Outcome.FAILED

    def _killed(self, job: Job) -> bool:
        return self.kill_invalid if job.sub.kill_invalid is None else job.sub.kill_invalid

    def consider(self, job: Job) -> None:
        """Queue `job` if nothing keeps it out; otherwise show why and arrange to be asked again."""
        state = self.state
        if is_held(job.reason):
            return  # asked again by its release
        if job.id in self._terms:
            outcome = Outcome.FAILED if job.id in self._never else self._judge(job)
            if outcome is Outcome.FAILED:
                if job.id not in self._never and job.begin is not None and job.begin < state.now:
                    job.begin = None  # it passed while the job waited for others; one to come is left as it is
                self._never.add(job.id)
                state.set_reason(job, Reason.DEPENDENCY_NEVER)
                if self._killed(job):
                    self._runs.finish(job, JobState.CANCELLED, Reason.DEPENDENCY_NEVER)
                return
            if outcome is Outcome.WAITING:
                state.set_reason(job, Reason.DEPENDENCY)
                return
            self._waits_no_more(job)
        throttled = bool(job.array_limit) and job.sub.array_task_id is not None
        if throttled and not self.arrays.has_room(job):
            return
        if job.begin is not None and job.begin > state.now:
            if throttled:
                self.arrays.wait_for_begin(job)
            state.set_reason(job, Reason.BEGIN_TIME)
            self.begin_times.wait(job, job.begin)
            return
        if throttled:
            self.arrays.take_place(job)
        self._queue_way.enqueue(job)

    def waits_for(self, job: Job) -> list[Job]:
        """Return the jobs that have not ended and that `job` still waits for, by id; of an array all its tasks."""
        found: dict[int, Job] = {}
        for term in self._terms.get(job.id, ((), False))[0]:
            array = self.arrays.by_id.get(term.job_id)
            ids = (term.job_id,) if array is None else tuple(array.tasks.values())
            for job_id in ids:
                other = self.state.jobs.get(job_id)
                if other is not None and term.task in (None, other.array_task_id):
                    found[job_id] = other
        return [found[job_id] for job_id in sorted(found)]

    def depends(self, job: Job) -> bool:
        """Return True if `job` still waits for others."""
        return job.id in self._terms

    def named_by(self, job: Job) -> set[int]:
        """Return ids of the jobs and arrays `job` waits for."""
        return {term.job_id for term in self._terms.get(job.id, ((), False))[0] if term.job_id}

    def describe(self, job: Job, *, unasked: bool = False) -> str:
        """Return what `job` still waits for, as slurmctld prints it: ``afterok:12(unfulfilled),afterany:7(failed)``.

        `unasked`: a new array, which a submission does not ask; all of it counts as unfulfilled until a pass has.
        """
        if job.id in self.left:
            return self.left[job.id]
        met = job.id not in self._terms  # as no pass has noticed while that is the reason
        noticed = job.reason != Reason.DEPENDENCY and not unasked
        if met and (noticed or job.state != JobState.PENDING or not job.sub.dependency):
            return ""
        terms, any_one = parse(job.sub.dependency, job.id) if met else self._terms[job.id]
        shown = []
        for term in terms:
            if term.kind == "singleton":
                shown.append(f"singleton({Outcome.WAITING.value})")
                continue
            # nor are a held job's dependencies looked at
            unseen = met or unasked or is_held(job.reason)
            outcome = Outcome.WAITING if unseen else judge(term, self._known(term, job), self.state.now)
            if outcome is Outcome.MET:
                continue
            if len(terms) == 1 and not unseen and job.id in self._never:  # also if the other job was requeued since
                outcome = Outcome.FAILED
            task = f"_{term.task}" if term.task is not None else "_*" if term.job_id in self.arrays.by_id else ""
            delay = f"+{term.delay_s // 60}" if term.delay_s else ""
            shown.append(f"{term.kind}:{term.job_id}{task}{delay}({outcome.value})")
        return ("?" if any_one else ",").join(shown)

    def _again(self, job_id: int) -> None:
        job = self.state.jobs.get(job_id)
        if job is not None and job.state == JobState.PENDING and not job.queued and job.id in self._terms:
            self.consider(job)

    def _wake(self, job: Job) -> None:
        keys = (job.id,) if job.array_key == job.id else (job.id, job.array_key)
        for key in keys:
            for waiting in tuple(self.dependents.get(key, ())):
                self._again(waiting)

    def would_wait(self, job: Job, dependency: str) -> bool:
        """Return True if `job`, outside the queue, would wait for `dependency`. Raises SubmitError as `register`."""
        return self._judged(job, *self._parse(job, dependency)) is not Outcome.MET

    def _judge(self, job: Job) -> Outcome:
        return self._judged(job, *self._terms[job.id])

    def _judged(self, job: Job, terms: tuple[Term, ...], any_one: bool) -> Outcome:
        outcomes = []
        for term in terms:
            if term.kind == "singleton":
                outcomes.append(self._judge_singleton(job))
                continue
            known = self._known(term, job)
            outcome = judge(term, known, self.state.now)
            if outcome is Outcome.WAITING and term.delay_s and known is not None and not known.unstarted:
                self.begin_times.wait(job, known.last_start + term.delay_s)
            outcomes.append(outcome)
        return combine(outcomes, any_one)

    def _judge_singleton(self, job: Job) -> Outcome:
        """Met when no other job of this user and name is older and pending, or running; tasks of one array are one."""
        alone = job.sub.array_task_id is None
        for other in self.state.jobs.values():
            same = other.user == job.user and other.name == job.name and other is not job
            if (
                same
                and (alone or other.array_key != job.array_key)
                and (other.state != JobState.PENDING or other.order < job.order)
            ):
                return Outcome.WAITING
        return Outcome.MET

    def _known(self, term: Term, job: Job) -> Known | None:
        """Return what is remembered of the job or array `term` names; None for nothing."""
        array = self.arrays.by_id.get(term.job_id)
        if array is None:
            return self._known_ids([term.job_id])
        if term.kind == "aftercorr":
            if job.sub.array_task_id is not None and job.sub.array_task_id in array.tasks:
                return self._known_ids([array.tasks[job.sub.array_task_id]])
            return self._known_ids(list(array.tasks.values()))  # who corresponds to none waits for all
        if term.task is not None:
            return self._known_ids([array.tasks[term.task]]) if term.task in array.tasks else None
        return self._known_ids(list(array.tasks.values()))

    def _known_ids(self, ids: list[int]) -> Known | None:
        self._purge(self.state.now)
        known = Known()
        states = []
        found = False
        for job_id in ids:
            live = self.state.jobs.get(job_id)
            if live is not None:
                found = True
                known.live += 1
                known.special = known.special or live.special
                if live.state == JobState.PENDING:
                    known.unstarted += 1
                elif live.start_time is not None:
                    known.last_start = max(known.last_start, live.start_time)
            elif job_id in self._ended:
                found = True
                state, started = self._ended[job_id]
                states.append(state)
                known.last_start = max(known.last_start, started)
        known.states = tuple(states)
        return known if found else None

    # -- memory -----------------------------------------------------------------------------------------------------

    def _remember(self, job: Job, now: int) -> None:
        """Start MinJobAge; for a task of an array only once all its tasks have ended."""
        if job.sub.array_task_id is None:
            self._forget_later(job.id, now)
            return
        for end, job_id in self.arrays.forgettable(job, now):
            self._forget_later(job_id, end)

    def _forget_later(self, job_id: int, end: int) -> None:
        """At the first full minute from now on that is MinJobAge after `end` (slurmctld's purge period)."""
        due = max(end + self.min_job_age, self.state.now + 1)
        due += (self.state.start_time - due) % PURGE_S
        together = self._forgotten_at.get(due)
        if together is None:
            heappush(self._ages, due)
            together = self._forgotten_at[due] = []
        together.append(job_id)

    def forgotten(self, job: Job, now: int, *, last: bool) -> None:
        """Forget `job`, as slurmctld does; what tells of an array goes with the `last` of its tasks.

        The array stays while a dependency of a job still names it, so that the dependency reads as before.
        """
        self._purge(now)
        self.left.pop(job.id, None)
        if last and job.sub.array_task_id is not None and job.array_key not in self.dependents:
            self.arrays.by_id.pop(job.array_key, None)

    def _purge(self, now: int) -> None:
        """Forget the ended jobs that have reached their age."""
        ages = self._ages
        while ages and ages[0] <= now:
            for job_id in self._forgotten_at.pop(heappop(ages)):
                self._ended.pop(job_id, None)


def _leave(lists: dict[_Key, list[int]], key: _Key, job_id: int) -> None:
    """Take `job_id` off the list under `key`; an empty list goes."""
    listed = lists.get(key)
    if listed is not None and job_id in listed:
        listed.remove(job_id)
        if not listed:
            del lists[key]
