"""Nodes that are COMPLETING: a job has ended there, and its processes or its epilog have not.

slurmctld does not decide how long that takes: the driver of the controller states it, or tells when it is over.
Processes of a job that ended by itself are gone, unless steps of it are known to be left. Processes of a job that was
ended from outside have until KillWait after SIGTERM. The epilog follows. Until it is done no job starts on any part of
these nodes, and jobs that depend on this job wait (node_scheduler.c, job_mgr.c, 22.05). Limits, licenses and fair share
let go of the job when it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from slurmsim.bitmap import Bitmap
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.messages import ProcessesGone
    from slurmsim.core.state.controller_state import ControllerState

BY_THEMSELVES: Final = (JobState.COMPLETED, JobState.FAILED, JobState.OUT_OF_MEMORY)
"""Final states in which the processes of a job are gone."""
Left = tuple[int, int, Bitmap, "Job", Bitmap, bool]
"""When its nodes are clean at the latest, and since when they are left; they; the job, which of them are idle since,
and whether it was over with that run.
"""


class Completing:
    """The nodes jobs have left but not yet cleared.

    Parameters
    ----------
    epilog_s
        Seconds the epilog takes on every node.
    term_s
        Seconds processes take to die once they are told to; KillWait ends them.
    """

    def __init__(self, state: ControllerState, epilog_s: int, term_s: int) -> None:
        self.state = state
        self.epilog_s = epilog_s
        self.term_s = min(term_s, int(state.spec.option("KillWait")))
        self._wait_s = int(state.spec.option("CompleteWait"))
        self.nodes: Bitmap = 0  # those that are completing now
        self._left: dict[tuple[int, int], Left] = {}  # by job and run
        # how long the processes of a job that ends in a state take to die at most, seconds, where it is known of that
        # job; 0 where it is not. That they are gone sooner may be told (`ProcessesGone`).
        self.lasts: Callable[[Job, str], int] = _unknown
        # called when nodes of a job are clean: the job, which nodes were idle, whether it was over, and whether they
        # are its last ones
        self.cleaned: Callable[[Job, Bitmap, bool, bool], None] = _nobody

    def seconds(self, job: Job, state: str) -> int:
        """How long the nodes of `job`, which ends in `state`, take to be clean at most; if they are down, no time."""
        if state == JobState.NODE_FAIL:
            return 0
        if state in BY_THEMSELVES:
            return self.epilog_s + self.lasts(job, state)
        return self.epilog_s + (self.lasts(job, state) or self.term_s)

    def leave(self, job: Job, seconds: int, freed: Bitmap, *, over: bool) -> None:
        """`job` leaves its nodes now, `freed` of them idle; they are clean in so many seconds, or when that is told."""
        now = self.state.now
        self._left[job.id, job.restarts] = now + seconds, now, job.nodes, job, freed, over
        self.nodes |= job.nodes
        self.state.timers.set(now + seconds, self._clean)

    def on_gone(self, fact: ProcessesGone) -> None:
        """Begin the epilog of a run, as its processes are gone; without an epilog that may be on some nodes alone."""
        now = self.state.now
        run = fact.job_id, fact.restarts
        left = self._left.get(run)
        if left is None or left[0] <= now + self.epilog_s:
            return
        until, since, nodes, job, freed, over = left
        clean = nodes if fact.nodes is None else nodes & fact.nodes
        if clean == nodes:
            self._left[run] = (now + self.epilog_s, *left[1:])
            self.state.timers.set(now + self.epilog_s, self._clean)
        elif clean and not self.epilog_s:
            self._left[run] = until, since, nodes & ~clean, job, freed & ~clean, over
            self._vacated([(job, freed & clean, False)], last=False)

    def runs(self) -> list[tuple[int, int]]:
        """Return job and run of all that have left nodes and not cleared them."""
        return list(self._left)

    def of(self, job_id: int, run: int) -> Bitmap:
        """Return nodes which that run of a job has left and not cleared."""
        left = self._left.get((job_id, run))
        return 0 if left is None else left[2]

    def since(self, job_id: int, run: int) -> int | None:
        """Return when that run of a job left its nodes; None if they are clean."""
        left = self._left.get((job_id, run))
        return None if left is None else left[1]

    def _clean(self) -> None:
        now = self.state.now
        clean = [run for run, left in self._left.items() if left[0] <= now]
        if not clean:
            return
        self._vacated([self._left.pop(run)[3:] for run in clean])

    def _vacated(self, clean: Sequence[tuple[Job, Bitmap, bool]], *, last: bool = True) -> None:
        """Nodes are clean: of which jobs, which of them are idle, and whether the job was over.

        They are the `last` ones of these jobs, or a job has more.
        """
        self.nodes = 0
        for left in self._left.values():
            self.nodes |= left[2]
        self.state.selector.forget_future()
        self.state.generation += 1
        for job, freed, over in clean:
            self.cleaned(job, freed, over, last)

    def held_until(self) -> int:
        """CompleteWait: no job starts anywhere before this instant; the present or one that is past for no wait."""
        if not self._left:
            return 0
        return max(min(left[0], left[1] + self._wait_s) for left in self._left.values())


def _unknown(job: Job, state: str) -> int:
    """Nothing is known of its processes."""
    return 0


def _nobody(job: Job, freed: Bitmap, over: bool, last: bool) -> None:
    """Do nothing: no listener is set yet."""
