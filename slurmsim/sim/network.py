"""The SimPy network around a controller: running jobs, booting nodes, the controller's turns and wake-ups.

Two drivers stand on it: `Simulation` (virtual time, a workload) and the daemon (paced, requests). Whatever happens at
one instant is collected and told to the controller in one `step`, after everything else of that instant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any, Final

import simpy

from slurmsim.core.controller.controller import Controller
from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import (
    Action,
    AskSolver,
    Boot,
    BootFailed,
    Continue,
    Decided,
    EditRefused,
    Fact,
    Finished,
    JobEnded,
    Kill,
    Launch,
    NodesBooted,
    Pause,
    PowerDown,
    Refused,
    Requeued,
    ReservationRefused,
    Reshaped,
    Resized,
    Solved,
    Submit,
)
from slurmsim.data_classes import dataclass, replace
from slurmsim.errors import ConfigError
from slurmsim.model.accounting import Accounting
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.submission import Submission
from slurmsim.policy import Policy
from slurmsim.sim.checkpoints import Checkpoints, SavedWork
from slurmsim.sim.pass_watch import LIMIT_S, LIVE_LIMIT_S, PassWatch
from slurmsim.sim.solving import solve
from slurmsim.sim.timers import TURN, Timer, Timers
from slurmsim.states import JobState

# until a job's programs begin; what a round of slurmctld's loop is late (3 to 8)
LAUNCH_MS: Final = 120
LATE_MS: Final = 4
BOOT_S: Final = 60
Pending = tuple[float, int, int, list[Callable[[Any], None]], Any]
"""An event: its time, SimPy's priority, its number, the functions it calls, and its value."""


@dataclass(slots=True, init=False)
class Behaviour:
    """What a job does when it runs: seconds until it ends by itself (-1: never), how, and when its user cancels it."""

    run_time: int
    state: str
    exit_code: str
    cancel_at: int

    def __init__(self, run_time: int, state: str, exit_code: str, cancel_at: int) -> None:
        self.run_time, self.state, self.exit_code, self.cancel_at = run_time, state, exit_code, cancel_at


@dataclass(frozen=True, slots=True)
class Durations:
    """How long things take that no log tells of."""

    boot_s: int = BOOT_S  # seconds a node takes to boot, after a reboot or from being powered down
    draw_boot: Callable[[], int] | None = None  # the same of each boot of each node, where it differs
    # epilog_s, term_s: seconds an epilog takes, and processes that are told to end; nodes are COMPLETING meanwhile
    epilog_s: int = 0
    term_s: int = 0
    # of a job that is resized: (seconds it would still run, nodes it had, nodes it has) -> seconds it will run. None: a
    # job runs as long on fewer nodes.
    left_after: Callable[[int, int, int], int] | None = None
    # seconds until a solver's answer is there; None: what SchedulerParameters say (solver_latency), else 0
    solver_s: int | None = None


class Network:
    """A controller in a SimPy environment.

    Parameters
    ----------
    start_time
        When slurmctld starts, whole seconds.
    durations
        How long nodes and processes take for what is theirs.
    """

    def __init__(
        self,
        cluster: ClusterSpec,
        policy: Policy,
        start_time: int,
        *,
        accounting: Accounting | None = None,
        enforce_limits: bool = True,
        durations: Durations | None = None,
    ) -> None:
        self.start_time = start_time
        self._durations = durations = durations or Durations()
        self.env = simpy.Environment(initial_time=start_time)
        self.timers = Timers(self.env)
        self._over_calls: list[Callable[[Any], None]] = [self._job_over]  # of every running job's timer
        self.controller = Controller(
            cluster, policy, start_time, accounting=accounting, enforce_limits=enforce_limits,
            epilog_s=durations.epilog_s, term_s=durations.term_s,
        )  # fmt: skip
        if self.controller.host.from_outside:
            self.controller.host.watch = PassWatch(
                cluster.pass_limit_s or (LIVE_LIMIT_S if cluster.watched else LIMIT_S)
            )
        self._watts = self.controller.watts
        checkpoints = Checkpoints.configured(cluster.scheduler_parameters)
        if checkpoints is not None and self._watts is not None:
            raise ConfigError("checkpoints are not modelled in a run that knows of power", field="checkpoint_interval",
                              expected="one of the two")  # fmt: skip
        # what checkpoints hold of each job; None where jobs make none
        self.saved_work = SavedWork(checkpoints) if checkpoints is not None else None
        self.keep_progress: Callable[[tuple[int, ...]], None] | None = None  # takes a row for each run that is over
        self.refused: list[tuple[Submission, str]] = []
        self.refused_reservations: list[tuple[str, str]] = []  # name and Slurm's text
        self.refused_edits: list[tuple[int, str]] = []  # job and Slurm's text
        self.behaviour: dict[int, Behaviour] = {}  # what each job that is not over does once it runs, by job id
        said = cluster.scheduler_parameters.get("solver_latency")
        self._solver_s = int(said or 0) if durations.solver_s is None else durations.solver_s
        # calls a policy's solver: (its name, the request) -> the answer, texts of JSON
        self.solve: Callable[[str, str], str] = solve
        self._facts: list[Fact] = []
        self._turn_due = False
        self._armed: int | None = None
        # jobs suspended, resized or requeued: how often, as timers of before are void; and when they end, since
        self._voided: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._left: dict[int, int] = {}  # of suspended jobs: seconds of run time to go

    def _job_over(self, timer: Timer) -> None:
        """End a running job at its time. A live cluster's job may end a moment behind the pass of its second.

        What the main scheduler starts it starts in a round of slurmctld's loop; its programs begin a moment later,
        and whole seconds after that they end. That is behind the round of that second, unless the loop has lost that
        moment: each of its rounds is a little late.
        """
        value: Any = timer.value
        job = value[0]
        in_order = not self.controller.state.triggers.ticks or job.scheduler != "Main"
        if in_order or self.env.now - (job.start_time or 0) > LAUNCH_MS // LATE_MS:
            self._ended(timer)
            return
        self.timers.after(0, self._ended, value, TURN + 1)

    def _ended(self, timer: Timer) -> None:
        """Tell the controller that a running job ended; it ignores an instance that it took away before."""
        value: Any = timer.value
        job, instance, voided, behaviour = value
        if job.restarts == instance and job.state == JobState.RUNNING and voided == self._voided.get(job.id, 0):
            self._facts.append(self._end_of(job, behaviour))
            self._settle(timer)

    def _end_of(self, job: Job, behaviour: Behaviour) -> Fact:
        """Return how the run of `job` that is over now ends."""
        return JobEnded(job.id, behaviour.state, behaviour.exit_code, job.restarts)

    # -- what waits for its time --------------------------------------------------------------------------------------

    def at(self, instant: int, call: Callable[[Any], None], *value: Any) -> None:
        """Call `call` at `instant` with a timer; its ``value`` is the tuple `value`."""
        self.timers.after(instant - self.timers.now, call, value)

    def pending(self) -> tuple[list[Pending], int]:
        """Return all that waits, in order, and the number of the next: with `take_up` all that SimPy knows."""
        queue = sorted(self.env._queue, key=lambda entry: entry[:3])
        found = [(time, priority, number, list(event.callbacks or ()), event._value)
                 for time, priority, number, event in queue]  # fmt: skip
        return found, next(copy(self.env._eid))  # type: ignore[return-value]

    def take_up(self, now: int, pending: Iterable[Pending], following: int) -> None:
        """Wait for what `pending` told, instead of what is waited for."""
        env = self.env
        env._now = now
        env._queue.clear()
        for time, priority, number, calls, value in pending:  # in order, so already a heap
            env._queue.append((time, priority, number, Timer(calls, value)))  # type: ignore[arg-type]
        self.timers.count_from(following)

    @property
    def unsettled(self) -> bool:
        """True if the controller still has to be told something of the present instant."""
        return self._turn_due or bool(self._facts)

    # -- pacing, for drivers that have a clock of their own ---------------------------------------------------------

    def advance(self, now: int) -> None:
        """Let everything happen that is due up to and at `now`."""
        env = self.env
        while env.peek() <= now:
            env.step()
        if env.now < now:
            env.run(until=now)

    def tell(self, now: int, facts: Sequence[Fact]) -> None:
        """Tell the controller `facts` at `now`, at once, and do what it answers."""
        self.advance(now)
        self._facts += facts
        self._turn(None)

    # -- the controller's turn ------------------------------------------------------------------------------------

    def _tell(self, fact: Fact) -> None:
        self._facts.append(fact)
        self._call_controller()

    def _settle(self, timer: Timer) -> None:
        """Give the controller its turn: at once if nothing else happens at this instant, else after all that does."""
        if not self._turn_due and self.timers.nothing_else:
            self._turn(timer)
        else:
            self._call_controller()

    def _call_controller(self) -> None:
        if not self._turn_due:
            self._turn_due = True
            self.timers.after(0, self._turn, None, TURN)

    def _turn(self, _: Timer | None) -> None:
        now = self.timers.now
        facts, self._facts = self._facts, []
        self._turn_due = False
        if self.controller.state.policy.pass_each:
            *first, facts = [[fact] for fact in sorted(facts, key=self._by_kind)] or [[]]
            for fact in first:
                self._carry_out(self._step(now, fact))
                self._turned(now)
        self._carry_out(self._step(now, facts))
        self._turned(now)
        self._arm(now)

    def _by_kind(self, fact: Fact) -> tuple[int, int, int]:
        """Return the place of a fact among those of its second, for a policy with a pass for each."""
        if isinstance(fact, Submit):
            return 0, fact.sub.job_id, 0
        if not isinstance(fact, JobEnded):
            return 1, 0, 0
        job = self.controller.state.jobs.get(fact.job_id)
        return 2, (job.start_time or 0) if job is not None else 0, fact.job_id

    def _step(self, now: int, facts: list[Fact]) -> list[Action]:
        """Return what the controller answers."""
        return self.controller.step(now, facts)

    def _turned(self, now: int) -> None:
        """Follow a turn of the controller."""

    def _carry_out(self, actions: Sequence[Action]) -> None:
        """Do what the controller answered."""
        for action in actions:
            if isinstance(action, Launch):
                self._launch(action.job)
            elif isinstance(action, Finished):
                self._finished(action.job)
            elif isinstance(action, Refused):
                self._refused(action)
            elif isinstance(action, ReservationRefused):
                self.refused_reservations.append((action.name, action.text))
            elif isinstance(action, EditRefused):
                self.refused_edits.append((action.job_id, action.text))
            elif isinstance(action, Pause):
                self._pause(action.job)
            elif isinstance(action, Continue):
                left = self._left.pop(action.job.id, -1)
                self._restart_timer(action.job, left if self._watts is None else self._run_time(action.job))
            elif isinstance(action, Reshaped):
                self._reshaped(action.job)
            elif isinstance(action, Requeued):
                self._requeued(action.run)
            elif isinstance(action, Resized):
                self._resized(action)
            elif isinstance(action, Boot):
                self._boot(action.nodes)
            elif isinstance(action, Kill):
                self._kill(action.job)
            elif isinstance(action, PowerDown):
                self._power_down(action.nodes)
            elif isinstance(action, BootFailed):
                self._boot_failed(action.nodes)
            elif isinstance(action, AskSolver):
                self._ask_solver(action)
            elif isinstance(action, Decided):
                self._policy_decided(action)

    def _policy_decided(self, action: Decided) -> None:
        """Take note that a policy changed a job; the core has done all there is to do."""

    def _ask_solver(self, asked: AskSolver) -> None:
        """Solve at once; the answer is there `solver_s` seconds later, modelled and never measured."""
        answer = self.solve(asked.solver, asked.request)
        self.at(self.timers.now + self._solver_s, self._answered, asked.number, answer)

    def _answered(self, timer: Timer) -> None:
        value: Any = timer.value
        number, answer = value
        self._tell(Solved(number, answer))

    def _kill(self, job: Job) -> None:
        """Kill the processes of `job`; a simulated job has none."""

    def _launch(self, job: Job) -> None:
        run_time = self._length(job.id) if self._watts is None else self._run_time(job)
        self._start_timer(job, run_time)

    def _length(self, job_id: int) -> int:
        """Return the seconds a run of the job takes; -1 if that is unknown."""
        run_time = self._work_s(job_id)
        return run_time if self.saved_work is None else self.saved_work.run_time(job_id, run_time)

    def _work_s(self, job_id: int) -> int:
        """Return the seconds of work the job has to do; -1 if that is unknown."""
        return self.behaviour[job_id].run_time

    def _note_progress(self, run: Job, *, last: bool) -> None:
        """Take note of what `run`, which is over, has done and saved."""
        behaviour = self.behaviour.get(run.id)
        if self.saved_work is None or behaviour is None:
            return
        row = self.saved_work.over(run, behaviour.run_time, last=last)
        if row is not None and self.keep_progress is not None:
            self.keep_progress(row)

    def _run_time(self, job: Job) -> int:
        """Return the seconds until the running `job` has done its work in its present shape; -1 if that is unknown."""
        run_time = self._work_s(job.id)
        if run_time < 0:
            return -1
        assert self._watts is not None
        shape = self._watts.shapes.get(job.id)
        if shape is None:  # it went on and met its limit in the same turn
            return -1
        return max(0, shape.end_of(run_time) - self.timers.now)

    def _reshaped(self, job: Job) -> None:
        """Take note that `job` has other nodes or another cap, as a decision wants it."""
        self._rescale(job)

    def _rescale(self, job: Job) -> None:
        """Compute how long the rest of `job` takes in its present shape."""
        if self._watts is not None and job.id in self._watts.shapes and job.state == JobState.RUNNING:
            self._void_timer(job)
            self._start_timer(job, self._run_time(job))

    def _start_timer(self, job: Job, left: int) -> None:
        """Start the timer of `job`, which runs and has `left` seconds to go; none if negative: it ends from outside."""
        if left >= 0:
            value = (job, job.restarts, self._voided.get(job.id, 0), self.behaviour[job.id])
            self.timers.tell(left, self._over_calls, value)

    def _restart_timer(self, job: Job, left: int) -> None:
        """Start the timer of a job with a new end."""
        if left >= 0:
            self._ends[job.id] = self.timers.now + left
            self._start_timer(job, left)

    def _void_timer(self, job: Job) -> None:
        self._voided[job.id] = self._voided.get(job.id, 0) + 1

    def _to_go(self, job: Job) -> int:
        """Return the seconds of run time a running job has left; -1 if it ends from outside."""
        run_time = self._length(job.id)
        if run_time < 0:
            return -1
        assert job.start_time is not None
        return max(0, self._ends.get(job.id, job.start_time + run_time) - self.timers.now)

    def _pause(self, job: Job) -> None:
        """Take note that `job` is suspended: its timer is void, what it has left is kept for its resumption."""
        self._left[job.id] = self._to_go(job)
        self._void_timer(job)

    def _requeued(self, run: Job) -> None:
        self._note_progress(run, last=False)
        if run.state == JobState.FAILED:
            # requeued for its exit code: the log does not tell how it ended the next time, so it succeeds
            self.behaviour[run.id] = replace(self.behaviour[run.id], state=JobState.COMPLETED, exit_code="0:0")
        self._void_timer(run)  # it may have been launched in this very instant
        self._ends.pop(run.id, None)
        self._left.pop(run.id, None)
        self._run_over(run)

    def _run_over(self, run: Job) -> None:
        """Take note that `run` is the record of what ended in a requeue or a resize."""

    def _resized(self, action: Resized) -> None:
        """Let the job work on with other nodes; `Durations.left_after` tells how long the rest takes."""
        job = action.job
        self._run_over(action.run)
        if self._watts is not None:
            self._rescale(job)
            return
        left = self._to_go(job)
        left_after = self._durations.left_after
        if left_after is not None and left >= 0:
            self._void_timer(job)
            self._restart_timer(job, max(0, left_after(left, action.run.n_nodes, job.n_nodes)))

    def _boot(self, nodes: tuple[str, ...]) -> None:
        """Nodes come up when they have booted."""
        draw = self._durations.draw_boot
        if draw is None:
            self.timers.after(self._durations.boot_s, self._booted, nodes)
            return
        for node in nodes:
            self.timers.after(draw(), self._booted, (node,))

    def _power_down(self, nodes: tuple[str, ...]) -> None:
        """Take note that nodes are switched off; the core has done all there is to do."""

    def _boot_failed(self, nodes: tuple[str, ...]) -> None:
        """Take note that nodes did not come up."""

    def _booted(self, timer: Timer) -> None:
        nodes: Any = timer.value
        self._tell(NodesBooted(nodes))

    def _arm(self, now: int) -> None:
        """Make sure the controller is called when it wants to be. A timer that turns out early arms the next."""
        at = self.controller.wake_at()
        if at is not None and (self._armed is None or at < self._armed):
            self._armed = at
            self.timers.after(max(0, at - now), self._ring, at)

    def _ring(self, timer: Timer) -> None:
        if timer.value != self._armed:
            return  # an earlier one was armed since
        self._armed = None
        now = self.timers.now
        at = self.controller.wake_at()
        if at is not None and at <= now:
            self._settle(timer)
        else:
            self._arm(now)

    def _finished(self, job: Job) -> None:
        """Take note that `job` reached its final state."""
        self._note_progress(job, last=True)
        self.behaviour.pop(job.id, None)
        if job.id in self._voided:
            del self._voided[job.id]
            self._ends.pop(job.id, None)
            self._left.pop(job.id, None)

    def _refused(self, action: Refused) -> None:
        self.refused.append((action.sub, action.text))
        self.behaviour.pop(action.sub.job_id, None)
