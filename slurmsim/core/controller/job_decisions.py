"""What a policy decides about one job: suspend, resume, requeue, migrate, cancel, limit, priority, hold, release.

Each is checked first: a decision that never could be right is a PolicyError, and one that cannot be now has the outcome
False. Neither changes anything. What is carried out is what an administrator's request would do (`scontrol`,
`scancel`), so both are one implementation. The trace names the policy in the column `scheduler` of its events.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from slurmsim.bitmap import from_indices, runs, to_indices
from slurmsim.core.records.job import Job
from slurmsim.core.records.job_queue import Record
from slurmsim.core.records.messages import (
    AlterJob,
    Cancel,
    Decided,
    Hold,
    Release,
    Resume,
    SetNice,
    SetPriority,
    SetTimeLimit,
    Suspend,
)
from slurmsim.errors import PolicyError, SubmitError
from slurmsim.hostlist import expand
from slurmsim.policy import decisions
from slurmsim.states import JobState, Reason, is_held

if TYPE_CHECKING:
    from slurmsim.core.controller.job_alterations import JobAlterations
    from slurmsim.core.controller.job_updates import JobUpdates
    from slurmsim.core.controller.requeues import Requeues
    from slurmsim.core.controller.waiting import Waiting
    from slurmsim.core.occupancy.power import PowerSaving
    from slurmsim.core.occupancy.suspend_facts import SuspendFacts
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import RunWay
    from slurmsim.model.submission import Submission

_HAS_NODES: Final = (JobState.RUNNING, JobState.SUSPENDED)
_ALIVE: Final = (JobState.PENDING, *_HAS_NODES)
MOST_PRIORITY: Final = 2**32 - 2  # beyond it Slurm has NO_VAL and INFINITE
MOST_NICE: Final = 2**31 - 3
MOST_SECONDS: Final = 365 * 86_400
CHANGES: Final = ("limit", "priority", "nice", "hold", "release", "grace", "confine")
"""Kinds of what the journal of a live cluster has of such decisions (`Decided`)."""
LIMIT, PRIORITY, NICE, HOLD, RELEASE, GRACE, CONFINE = CHANGES


class JobDecisions:
    """Reads such decisions and carries them out.

    Parameters
    ----------
    alterations
        To have the nodes changed that a job may take.
    power
        Tells which jobs wait for nodes that boot; None without power saving.
    """

    def __init__(
        self, state: ControllerState, waiting: Waiting, runs: RunWay, suspend: SuspendFacts, requeues: Requeues,
        updates: JobUpdates, alterations: JobAlterations, power: PowerSaving | None,
    ) -> None:  # fmt: skip
        self.state, self._waiting, self._runs, self._suspend = state, waiting, runs, suspend
        self._requeues, self._updates, self._alterations, self._power = requeues, updates, alterations, power
        self._policy = state.policy.name
        self._excluded: dict[int, tuple[str, ...]] = {}  # what the submissions of migrated jobs exclude, by job id
        self._kinds: dict[type, tuple[tuple[str, ...], Callable[[Any, Job], bool]]] = {
            decisions.Suspend: ((JobState.RUNNING,), self._stop),
            decisions.Resume: ((JobState.SUSPENDED,), self._go_on),
            decisions.Requeue: (_HAS_NODES, self._requeue),
            decisions.Migrate: (_HAS_NODES, self._migrate),
            decisions.Cancel: (_ALIVE, self._cancel),
            decisions.SetLimit: (_ALIVE, self._set_limit),
            decisions.SetPriority: ((JobState.PENDING,), self._set_priority),
            decisions.SetNice: ((JobState.PENDING,), self._set_nice),
            decisions.Hold: ((JobState.PENDING,), self._hold),
            decisions.Release: ((JobState.PENDING,), self._release),
        }

    def carry_out(self, decision: Any, label: str, late: bool) -> bool | None:
        """Carry `decision` out for the policy of that `label`; None if it is not about one job.

        `late`: the policy acts on an answer to an old question, so a job that is in another state now is no error.
        """
        kind = type(decision)
        known = self._kinds.get(kind)
        if known is None:
            return None
        states, act = known
        job = decision.job.job if isinstance(decision.job, Record) else decision.job
        if not isinstance(job, Job):
            raise PolicyError(self._policy, f"yielded {kind.__name__} of {job!r}, which is no job of the view")
        if job.state not in states or self.state.jobs.get(job.id) is not job:
            if late:
                return False
            raise self._wrong(kind, job, f"which is {job.state}", f"a job that is {' or '.join(states)}")
        first = len(self.state.events)
        done = act(decision, job)
        if done:
            self._sign(job, first, label)
        return done

    def _sign(self, job: Job, first: int, label: str) -> None:
        """Name the policy in the events of `job` from number `first` on."""
        events = self.state.events
        for at in range(first, len(events)):
            if events[at][2] == job.id and events[at][1] not in ("REASON", "END") and not events[at][8]:
                events[at] = (*events[at][:8], label)

    def _wrong(self, kind: type, job: Job, what: str, expected: str) -> PolicyError:
        return PolicyError(self._policy, f"yielded {kind.__name__} of job {job.id}, {what} (expected {expected})")

    def _whole_number(self, decision: Any, name: str, least: int, most: int) -> int:
        """Return the amount `name` of `decision`. Raises PolicyError."""
        value = getattr(decision, name)
        if type(value) is not int or not least <= value <= most:
            raise self._wrong(
                type(decision), decision.job, f"with {name}={value!r}", f"a whole number from {least} to {most}"
            )
        return value

    def _tell(self, kind: str, job: Job, value: int | str = 0) -> None:
        self.state.actions.append(Decided(job.id, job.restarts, kind, value))

    # -- jobs with nodes ----------------------------------------------------------------------------------------------

    def _stop(self, _: decisions.Suspend, job: Job) -> bool:
        budget = self.state.watts is not None and self.state.watts.limited
        if budget or job.het is not None or (self._power is not None and self._power.waits(job)):
            return False
        self._suspend.on_suspend(Suspend(job.id))
        return True

    def _go_on(self, _: decisions.Resume, job: Job) -> bool:
        if not self._has_cpus_back(job):
            return False
        self._suspend.on_resume(Resume(job.id))
        return True

    def _has_cpus_back(self, job: Job) -> bool:
        """Return True if suspended `job` gave its CPUs away, and no other job has one of them now."""
        alloc, table = job.alloc, self.state.table
        assert alloc is not None
        if job.id not in self.state.holders.parked or alloc.mask & ~(table.idle | table.mixed):
            return False
        if bool(np.any(table.free_cpus[alloc.indices()] < alloc.cpus)):
            return False
        if alloc.share is None or table.cores is None:
            return True
        taken = table.cores.taken(list(table.cores.rows))
        return not any(taken.get(node, 0) & cores for node, cores in alloc.share.cores.items())

    def _may_requeue(self, job: Job) -> bool:
        return job.het is None and self._requeues.wanted(job)

    def _requeue(self, _: decisions.Requeue, job: Job) -> bool:
        if not self._may_requeue(job):
            return False
        self._runs.requeue(job)
        return True

    def _migrate(self, decision: decisions.Migrate, job: Job) -> bool:
        within, everything = decision.within, self.state.table.everything
        if type(within) is not int or within < 0 or within & ~everything:
            raise self._wrong(type(decision), job, f"within {within!r}", "a bitmap of nodes of the cluster")
        if not self._may_requeue(job):
            return False
        elsewhere = self._confined(job, within)
        try:
            found = self._alterations.probe(job, elsewhere)
        except SubmitError:
            return False
        if not any(request.candidates.bit_count() >= max(1, request.min_nodes) for request in found.requests):
            return False
        self._runs.requeue(job)
        self.confine(job, within)
        return True

    def _confined(self, job: Job, within: int) -> Submission:
        """Return the submission of `job` with all nodes excluded but those of `within`."""
        self._excluded = {known: names for known, names in self._excluded.items() if known in self.state.jobs}
        table = self.state.table
        own = self._excluded.get(job.id, job.sub.request.exclude)
        others = [table.names[node] for node in to_indices(table.everything & ~within)]
        request = replace(job.sub.request, exclude=tuple(dict.fromkeys((*own, *others))))
        return replace(job.sub, request=self.state.cluster.known_request(request))

    def confine(self, job: Job, within: int) -> None:
        """Have the next runs of pending `job` take nodes of `within` alone."""
        elsewhere = self._confined(job, within)
        self._excluded.setdefault(job.id, job.sub.request.exclude)
        self._alterations.job(AlterJob(job.id, elsewhere))
        nodes = self.state.cluster.namer.runs(runs(within)) if within else ""
        self.state.record("MIGRATE", job, nodes=nodes)
        self._tell(CONFINE, job, nodes)

    # -- every job ----------------------------------------------------------------------------------------------------

    def _cancel(self, decision: decisions.Cancel, job: Job) -> bool:
        grace_s = self._whole_number(decision, "grace_s", 0, MOST_SECONDS)
        if job.het is not None or job.preempt_time is not None:
            return False
        if grace_s and job.state != JobState.PENDING:
            self.give_grace(job, grace_s)
            return True
        self.state.record("CANCEL", job, value=0)
        self._runs.on_cancel(Cancel(job.id))
        return True

    def give_grace(self, job: Job, grace_s: int) -> None:
        """Let `job` run for `grace_s` seconds more, then cancel it."""
        assert job.end_limit is not None
        now = self.state.now
        self.state.record("CANCEL", job, value=grace_s)
        job.preempt_time = now
        self._runs.move_end(job, min(job.end_limit, now + grace_s))
        self.state.timers.set(now + grace_s, self.grace_over, job.id, job.restarts)
        self.state.changed()
        self._tell(GRACE, job, grace_s)

    def grace_over(self, job_id: int, restarts: int) -> None:
        """Cancel that run of the job, if it has not ended."""
        job = self.state.jobs.get(job_id)
        if job is not None and job.restarts == restarts and job.state in _HAS_NODES:
            self._runs.on_cancel(Cancel(job_id))

    def _set_limit(self, decision: decisions.SetLimit, job: Job) -> bool:
        seconds = self._whole_number(decision, "time_limit_s", 1, MOST_SECONDS)
        if job.preempt_time is not None:
            return False
        if seconds != job.time_limit_s:
            self._updates.time_limit(SetTimeLimit(job.id, seconds))
            self._tell(LIMIT, job, seconds)
        return True

    # -- jobs that wait -----------------------------------------------------------------------------------------------

    def _set_priority(self, decision: decisions.SetPriority, job: Job) -> bool:
        priority = self._whole_number(decision, "priority", 1, MOST_PRIORITY)
        if is_held(job.reason):
            return False
        if priority != job.sub.priority:
            self._updates.priority(SetPriority(job.id, priority))
            self._tell(PRIORITY, job, priority)
        return True

    def _set_nice(self, decision: decisions.SetNice, job: Job) -> bool:
        nice = self._whole_number(decision, "nice", -MOST_NICE, MOST_NICE)
        if job.sub.priority is not None or is_held(job.reason):
            return False
        if nice != job.sub.nice:
            self._updates.nice(SetNice(job.id, nice))
            self._tell(NICE, job, nice)
        return True

    def _hold(self, _: decisions.Hold, job: Job) -> bool:
        if job.het is not None or is_held(job.reason):
            return False
        self._waiting.hold(Hold(job.id, admin=True))
        self._tell(HOLD, job)
        return True

    def _release(self, _: decisions.Release, job: Job) -> bool:
        if job.reason == Reason.HELD_USER or job.het is not None:
            return False
        if job.sub.priority is None and not is_held(job.reason):
            return True
        self._waiting.release(Release(job.id))
        self._tell(RELEASE, job)
        return True

    # -- what a journal tells -----------------------------------------------------------------------------------------

    def repeat(self, kind: str, job: Job, value: int | str) -> None:
        """Carry out again what the journal of a live cluster has as `Decided`."""
        if kind == CONFINE:
            index = self.state.table.index
            names = [name for name in expand(str(value)) if name in index]
            self.confine(job, from_indices(sorted(index[name] for name in names)))
            return
        number = int(value)
        if kind == GRACE:
            self.give_grace(job, number)
            return
        {
            LIMIT: lambda: self._updates.time_limit(SetTimeLimit(job.id, number)),
            PRIORITY: lambda: self._updates.priority(SetPriority(job.id, number)),
            NICE: lambda: self._updates.nice(SetNice(job.id, number)),
            HOLD: lambda: self._waiting.hold(Hold(job.id, admin=True)),
            RELEASE: lambda: self._waiting.release(Release(job.id)),
        }[kind]()
        self._tell(kind, job, value)
