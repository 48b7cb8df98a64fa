"""The network of a live cluster: what happens to the core's jobs is told to the records clients see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import Action, AskSolver, Decided, Fact, Refused, Resized, StartAtOnce
from slurmsim.sim.network import Behaviour, Network
from slurmsim.sim.sources import Sources
from slurmsim.slurmctld.base.decisions import changed, ended, requeued, resized, shaped, started, stopped
from slurmsim.slurmctld.base.forgetting import Forgetting
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.states import JobState


class Streams(Protocol):
    """Users who submit by themselves (`slurmsim.slurmctld.requests.submit.stream_jobs.StreamJobs`)."""

    @property
    def sources(self) -> Sources:
        """How far each is, to be told of starts and ends."""

    def turns(self) -> None:
        """Note that the controller's turn begins."""

    def turned(self) -> None:
        """Note that the controller has had its turn."""

    def refused(self, job_id: int) -> bool:
        """Note that the controller did not take that job; return True if it is a job of a stream."""


class Boots(Protocol):
    """What switches nodes on and off (`slurmsim.slurmctld.processes.power_programs.PowerPrograms`)."""

    def begin(self, nodes: Sequence[str]) -> tuple[tuple[str, ...], int]:
        """Let nodes boot; return those that come up by themselves, and how many seconds more than others they take."""

    def powers_down(self, nodes: Sequence[str]) -> None:
        """Have nodes switched off."""

    def failed(self, nodes: Sequence[str]) -> None:
        """Note that nodes have not come up in time."""


class LiveNetwork(Network):
    """The network with live records beside the core's jobs."""

    told_whole = False  # the past is told by who knows all of it: no timer is needed, and no job is forgotten in it

    def __init__(
        self, moved: Callable[[LiveJob, str], None], killed: Callable[[Job], None], ran: Callable[[Job], None],
        changed_size: Callable[[Job], None], *arguments: Any, boots: Boots,
        turned: Callable[[int], None], forgetting: Forgetting, **options: Any,
    ) -> None:  # fmt: skip
        self._forgetting = forgetting
        super().__init__(*arguments, **options)
        # called for each job that starts or ends, for each job that is killed, and for each run that ends in a requeue
        self._moved, self._killed, self._ran, self._changed_size = moved, killed, ran, changed_size
        self._boots, self._turn_over = boots, turned
        self.n_told = 0  # how often the controller was told something
        self.happened: int = 0
        """Grows with all that happens: events, and requests that may change something."""
        # entering, live: records by the core's id: of jobs the controller is being told of, and of all it has
        self.entering: dict[int, LiveJob] = {}
        self.live: dict[int, LiveJob] = {}
        self._over: dict[int, Job] = {}
        # what was decided and has not been written down yet, in order (`slurmsim.slurmctld.base.decisions`)
        self.decided: list[list[Any]] = []
        self.followed = False  # decisions are those of a journal: nothing is scheduled, no job ends by itself
        # users who submit by themselves, and are told what becomes of their jobs; None for none
        self.streams: Streams | None = None
        self.controller.state.triggers.changed = True  # nodes register while slurmctld comes up
        self._arm(self.start_time)  # idle nodes may be powered down before the first request

    def advance(self, now: int) -> None:
        """As the network's; jobs are forgotten in between, behind all else of their instant."""
        env, forgetting = self.env, self._forgetting
        if self.told_whole:
            if env.now < now:
                env.run(until=now)
            return
        while (following := env.peek()) <= now or forgetting.next <= now:
            self.happened += 1
            due = forgetting.next
            if following <= due:
                env.step()
                continue
            if env.now < due:
                env.run(until=due)
            forgetting.at(int(due))
        if env.now < now:
            env.run(until=now)

    def tell(self, now: int, facts: Sequence[Fact]) -> None:
        """As the network's; counted."""
        self.n_told += 1
        super().tell(now, facts)

    def asked_for_jobs(self) -> None:
        """Note that a request looked at jobs to change them; even without a change that is news to backfill."""
        self.act(int(self.env.now), self.controller.state.triggers.happened)

    def tell_later(self, fact: Fact) -> None:
        """Tell the controller `fact` in a turn of its own, behind all else of this instant."""
        self._tell(fact)

    def core_of(self, core_id: int) -> Job:
        """Return the core's job, also when it ended within the instant it was submitted."""
        job = self.controller.state.jobs.get(core_id)
        return job if job is not None else self._over.pop(core_id)

    # -- decisions of a journal -------------------------------------------------------------------------------------

    def follow(self, *, whole: bool = False) -> None:
        """From now on only the journal says, by `act`, which jobs start and end.

        `whole`: it is no journal but a past of which all is known, until `decide`.
        """
        self.followed, self.told_whole = True, whole
        self.controller.state.time_limits.enforced = False

    def _arm(self, now: int) -> None:
        """As the network's; a past that is told whole wakes the controller by its own facts alone."""
        if not self.told_whole:
            super()._arm(now)

    def _step(self, now: int, facts: list[Fact]) -> list[Action]:
        if self.streams is not None:
            self.streams.turns()
        if not self.followed:
            return super()._step(now, facts)
        return self.controller.note(now, [fact for fact in facts if not isinstance(fact, StartAtOnce)])

    def act(self, now: int, what: Callable[[], None], *, before_others: bool = False) -> None:
        """Let `what` change the controller at `now`, and carry out what follows from it.

        `before_others`: what is due at this very instant may come later.
        """
        if not before_others or self.env.now < now:
            self.advance(now)
        self.happened += 1
        self.controller.note(now, [])
        what()
        self._carry_out(self.controller.state.actions)
        self._arm(now)

    def decide(self, now: int) -> None:
        """From `now` on the controller decides by itself again."""
        self.advance(now)
        self.happened += 1
        self.followed = self.told_whole = False
        self.controller.state.time_limits.enforced = True
        for _, _, job in list(self.controller.state.running):
            self._start_timer(job, self._to_go(job) if self._watts is None else self._run_time(job))
        self.controller.state.triggers.request_now()
        self.controller.state.triggers.changed = True
        self._arm(now)

    def _start_timer(self, job: Job, left: int) -> None:
        if not self.followed:
            super()._start_timer(job, left)

    def stand_in(self, job: Job, behaviour: Behaviour, ran_s: int) -> None:
        """`job`, which real processes did so far and which ran for `ran_s` seconds, does this from now on."""
        self.behaviour[job.id] = behaviour
        left = max(behaviour.run_time - ran_s, 1) if behaviour.run_time >= 0 else -1
        if job.state == JobState.SUSPENDED:
            self._left[job.id] = left
        elif job.state == JobState.RUNNING:
            self._void_timer(job)
            Network._restart_timer(self, job, left)  # it was not suspended

    # -- what happens to jobs -----------------------------------------------------------------------------------------

    def _pause(self, job: Job) -> None:
        super()._pause(job)
        self.decided.append(stopped(int(self.env.now), "suspend", job))
        live = self.live.get(job.id)
        if live is not None:
            live.ran_before_suspension += int(self.env.now) - (live.suspended_or_resumed or job.start_time or 0)
            live.suspended_or_resumed = int(self.env.now)
            self._moved(live, "paused")

    def _restart_timer(self, job: Job, left: int) -> None:
        live = self.live.get(job.id)
        if live is not None and live.suspended_or_resumed:
            live.suspended_or_resumed = int(self.env.now)
            self._moved(live, "resumed")
        self.decided.append(stopped(int(self.env.now), "resume", job))
        super()._restart_timer(job, left)

    def _launch(self, job: Job) -> None:
        live = self.live.get(job.id) or self.entering.get(job.id)  # it may start within the turn it comes in
        if live is not None:
            live.suspended_or_resumed = live.ran_before_suspension = 0
            live.stopped = False
        super()._launch(job)
        self._tell_of(job, "launched")
        self.decided.append(
            started(int(self.env.now), job, live.id if live is not None else 0, self.controller.state.cluster)
        )
        self._shaped(job)
        if self.streams is not None:
            self.streams.sources.started(job.id)

    def _reshaped(self, job: Job) -> None:
        super()._reshaped(job)
        self._shaped(job)

    def _shaped(self, job: Job) -> None:
        """Note nodes and cap of a job with known watts, and how long it stands still."""
        if self._watts is not None and job.id in self._watts.shapes:
            shape = self._watts.shapes[job.id]
            self.decided.append(shaped(int(self.env.now), job, shape.nodes, shape.cap_mw, shape.lost_s))

    def _turned(self, now: int) -> None:
        if self.streams is not None:
            self.streams.turned()
        self._turn_over(now)

    def _refused(self, action: Refused) -> None:
        if self.streams is None or not self.streams.refused(action.sub.job_id):
            super()._refused(action)

    def _kill(self, job: Job) -> None:
        self._killed(job)

    def _policy_decided(self, action: Decided) -> None:
        self.decided.append(changed(int(self.env.now), action))

    def _ask_solver(self, asked: AskSolver) -> None:
        """Nothing: who paces us sees what is awaited (`Solves.awaited`), also after a restart, and tells the answer."""

    def _boot(self, nodes: tuple[str, ...]) -> None:
        found, longer = self._boots.begin(nodes)
        if found:
            self.boot_by_itself(found, longer)

    def boot_by_itself(self, nodes: tuple[str, ...], longer: int = 0) -> None:
        """Let nodes come up when a boot is over, which takes `longer` seconds more than others."""
        self.timers.after(self._durations.boot_s + longer, self._booted, nodes)

    def _power_down(self, nodes: tuple[str, ...]) -> None:
        self._boots.powers_down(nodes)

    def _boot_failed(self, nodes: tuple[str, ...]) -> None:
        self._boots.failed(nodes)

    def _requeued(self, run: Job) -> None:
        again = self.behaviour[run.id]
        super()._requeued(run)
        live = self.live.get(run.id) or self.entering.get(run.id)
        if live is not None:
            live.core = self.controller.state.jobs[run.id]  # not its run, of which a launch in this turn told
        self.behaviour[run.id] = again  # the script does what it did before
        self.decided.append(requeued(int(self.env.now), run))
        self._ran(run)

    def _resized(self, action: Resized) -> None:
        super()._resized(action)
        self.decided.append(resized(int(self.env.now), action.job, self.controller.state.cluster))
        self._changed_size(action.run)

    def _finished(self, job: Job) -> None:
        if job.id in self.entering:
            self._over[job.id] = job
        self._tell_of(job, "ended")
        self.decided.append(ended(int(self.env.now), job))
        super()._finished(job)
        if self.streams is not None:
            self.streams.sources.ended(job.id)

    def _tell_of(self, job: Job, what: str) -> None:
        live = self.live.get(job.id) or self.entering.get(job.id)
        if live is not None:
            live.core = job  # also of one that starts within the turn it comes in
            self._moved(live, what)
