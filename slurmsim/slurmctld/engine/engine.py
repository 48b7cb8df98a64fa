"""The live cluster without sockets and files: requests in, answers out, at the instants a clock says.

An engine is a pure function of its header (configuration, first instant) and the requests it was given with their
times; that is how it is restored from the journal, and why a live session can be replayed.
"""

from __future__ import annotations

import errno
import functools
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from slurmsim.core.controller.controller import Controller
from slurmsim.core.occupancy.completing import BY_THEMSELVES
from slurmsim.core.records.job import Job
from slurmsim.model.cluster import ClusterSpec
from slurmsim.policy import Policy
from slurmsim.protocol import Refusal
from slurmsim.release_changes import since
from slurmsim.sim.network import BOOT_S, Behaviour, Durations
from slurmsim.slurmctld.base.association_database import Database, engine_database
from slurmsim.slurmctld.base.forgetting import Forgetting
from slurmsim.slurmctld.base.live_cluster import LiveCluster
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.live_network import LiveNetwork
from slurmsim.slurmctld.base.people import People, Person
from slurmsim.slurmctld.base.request_interning import Same
from slurmsim.slurmctld.base.simulated import is_real
from slurmsim.slurmctld.database.accounting_storage import Storage
from slurmsim.slurmctld.engine.kept_answers import KEPT, KeptAnswers, question
from slurmsim.slurmctld.faults.registry import Faults
from slurmsim.slurmctld.fields import every_job
from slurmsim.slurmctld.fields.node_fields import count_cpus
from slurmsim.slurmctld.processes import (
    controller_programs,
    expedited,
    job_termination,
    script_ends,
    solver_answers,
    steps,
)
from slurmsim.slurmctld.processes.event_triggers import EventTriggers
from slurmsim.slurmctld.processes.job_timers import JobTimers
from slurmsim.slurmctld.processes.power_programs import PowerPrograms
from slurmsim.slurmctld.processes.real_jobs import RealJobs
from slurmsim.slurmctld.requests.cluster import associations as association_requests
from slurmsim.slurmctld.requests.cluster import node_actions, nodes, partitions, rereading, reservations
from slurmsim.slurmctld.requests.jobs import array_cancel, cancels
from slurmsim.slurmctld.requests.jobs import control as jobs
from slurmsim.slurmctld.requests.jobs.crontabs import Crontabs
from slurmsim.slurmctld.requests.show import job_counts, priority_info, queries, shows, usage_report
from slurmsim.slurmctld.requests.show.statistics import Statistics
from slurmsim.slurmctld.requests.submit import allocations
from slurmsim.slurmctld.requests.submit.stream_jobs import StreamJobs
from slurmsim.slurmctld.requests.submit.submissions import Submissions
from slurmsim.states import JobState
from slurmsim.workload import Streams

REQUESTS = (
    queries, cancels, node_actions, every_job, priority_info, usage_report, association_requests, steps, script_ends,
    controller_programs, solver_answers, allocations, jobs, nodes, partitions, rereading, reservations, shows,
    job_counts,
)  # fmt: skip
KEPT_REQUESTS = 1000  # compiled requests that are kept, beside those of jobs


class Engine(LiveCluster):
    """One cluster that answers requests.

    Parameters
    ----------
    start_time
        First instant, seconds since the epoch.
    people
        Who is who; `owner` is the uid that may do everything.
    release
        The Slurm release to be like, a key of `VERSIONS`.
    runs_jobs
        Batch jobs really run, unless they say how long they are to be simulated.
    run_time
        Seconds a simulated job runs, from its request; -1 when something else ends it.
    boot_s
        Seconds a node takes to boot.
    """

    def __init__(
        self,
        cluster: ClusterSpec,
        policy: Policy,
        start_time: int,
        people: People,
        owner: int,
        *,
        database: Database | None = None,
        run_time: Callable[[Mapping[str, Any]], Behaviour],
        release: str = "22.05",
        runs_jobs: bool = False,
        boot_s: int = BOOT_S,
    ) -> None:
        database = database or engine_database(cluster, None, owner, start_time)
        lives: dict[int, LiveJob] = {}
        self.forgetting: Forgetting = Forgetting(lives, start_time, int(cluster.option("MinJobAge")), self._forget)
        self.power_programs: PowerPrograms = PowerPrograms(self)
        network = LiveNetwork(
            self._moved, self._killed, self._ran, self._resized, cluster, policy, start_time,
            boots=self.power_programs, forgetting=self.forgetting, turned=self._after_turn,
            accounting=database.accounting() if database.exists else None, durations=Durations(boot_s),
        )  # fmt: skip
        super().__init__(
            cluster, people, owner, database, network, lives, run_time=run_time, release=release, runs_jobs=runs_jobs
        )
        _introduce(self.controller, people, owner)
        self.controller.completing.lasts = self._lasts
        if since(release, "busy_nodes_planned"):
            self.controller.host.busy_planned = functools.partial(count_cpus, self)
        self._seen_pass = 0
        self._kept: KeptAnswers = KeptAnswers()
        self.same: Same = Same()
        self.real: RealJobs | None = None
        self.storage: Storage = Storage(self)
        self.job_table.index_of = lambda live: self.storage.first(live).db_index
        self.statistics: Statistics = Statistics(self)
        self.timers: JobTimers = JobTimers(self)
        self.event_triggers: EventTriggers = EventTriggers(self)
        self.faults: Faults = Faults(self)
        self.power_programs.troubles = self.faults.nodes
        self.calls: dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]] = {}
        self.changes: frozenset[str] = frozenset()
        for module in REQUESTS:
            self.calls |= module.calls(self)
            self.changes |= module.CHANGES
        self._submissions: Submissions = Submissions(
            self, self.storage, self.statistics, self.forgetting, self.same, self.faults.submitted
        )  # fmt: skip
        tables = Crontabs(self, self._submissions, self._forget)
        for part in (self._submissions, tables, self.storage, self.statistics, self.faults, self.event_triggers):
            self.calls |= part.calls()
            self.changes |= part.CHANGES

    def let_submit(self, streams: Streams) -> None:
        """From the first instant on `streams` submit jobs."""
        self.network.streams = StreamJobs(self, self._submissions, streams)

    def execute(self, now: int, call: str, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """Carry one request out at `now`. Raises Refusal with Slurm's text, having changed nothing."""
        self.network.advance(now)
        usage = self.controller.recalculation
        if usage.next_at < now:  # it decays while nothing else happens
            usage.catch_up(now)
        self.planned = None
        handler = self.calls.get(call)
        self.statistics.asked(call, person)
        if handler is None:
            raise Refusal("Invalid argument", errno.EINVAL)
        self.network.happened += call in self.changes
        if call not in KEPT or "single" in arguments:  # what is told of a single node hangs on what was told before
            return handler(arguments, person)
        asked = question(call, arguments, person)
        answer = self._kept.find((self.network.happened, now), asked)
        if answer is None:
            answer = handler(arguments, person)
            self._kept.keep(asked, answer)
        return answer

    def next_event(self) -> float:
        """When something happens by itself; infinity for never."""
        return min(float(self.network.env.peek()), self.forgetting.next)

    def exchange(self, people: Mapping[Person, Person]) -> None:
        """Let jobs of users who have another uid now have it too."""
        if people:
            for live in (*self.jobs.values(), *self.network.live.values(), *self.network.entering.values()):
                live.person = people.get(live.person, live.person)

    @property
    def busy(self) -> bool:
        """True if anything runs or may still start by itself."""
        c = self.controller
        return bool(c.state.running) or any(not live.over for live in self.jobs.values())

    # -- what happens to jobs ---------------------------------------------------------------------------------------

    def _moved(self, live: LiveJob, what: str) -> None:
        """`live` was launched, it ended, or its run is paused or resumed."""
        if what in ("paused", "resumed"):
            self._stop_or_continue(live, signal.SIGSTOP if what == "paused" else signal.SIGCONT)
            return
        if what == "ended" and live.core.state == JobState.DEADLINE and live.own_id is None and live.array is not None:
            array_cancel.take_out(self, live.array.unsplit(), whole=True)  # the array's own record misses its deadline
            if self.jobs.get(live.core.id) is not live:
                return
        self.job_table.split(live)
        if what == "launched":
            self.storage.launched(live)
            self.node_reasons.launched(live.core.alloc.mask if live.core.alloc is not None else 0)
            self.statistics.started += 1
            self.statistics.het_started += live.core.sub.het is not None
            expedited.launched(live)
            self.timers.warn_before_limit(live)
            if live.client_gone:
                self.timers.miss_client(live)
            self.faults.launched(live)
            controller_programs.launched(self, live)
        elif live.core.alloc is not None:
            steps.over(self, live, live.core)
            job_termination.left(self, live, live.core.restarts)
            controller_programs.over(self, live, live.core.restarts)
        if what == "ended":
            self.last_end = int(live.core.end_time or self.now)
            self.forgetting.over(live.core.id, self.last_end)
            self.statistics.ended(live)
            self._note_idle(live.core)
            self.storage.ended(live)
        self.changed(live)

    def _note_idle(self, core: Job) -> None:
        """Note now as the last busy time of nodes that are idle without this job (node_ptr->last_busy).

        Nodes it had to itself were so for a moment, also where a job that preempted it has them now.
        """
        if core.alloc is not None:
            idle = core.alloc.mask if core.alloc.whole else self.controller.state.table.idle
            for i in core.alloc.indices().tolist():
                if idle & (1 << i):
                    self.node_texts.setdefault(i, {})["last_busy"] = self.now

    def _stop_or_continue(self, live: LiveJob, number: int) -> None:
        """Stop the processes of a job that is suspended, or let them go on; sruns outside of its script pass it on."""
        steps.send(self, live, number)
        if self.real is not None and self.runs_jobs and is_real(live.asked):
            self.real.stop_or_continue(live, number)

    def _killed(self, job: Job) -> None:
        """Let the processes of `job` go; those of a job that is pending again belong to its last run."""
        live = self.jobs.get(job.id)
        if live is not None and job.state != JobState.PENDING:
            self._kill_processes(live, job)

    def _ran(self, run: Job) -> None:
        """Note that a run ended because its job was requeued; `run` is the record of it."""
        live = self.jobs.get(run.id)
        if live is not None:
            if run.state not in BY_THEMSELVES:  # a job that recurs, or is requeued for its exit code
                self._kill_processes(live, run)
            steps.over(self, live, run)
            job_termination.left(self, live, run.restarts)
            controller_programs.over(self, live, run.restarts)
            expedited.lost_node(self, live, run)
            self._note_idle(run)
            self.storage.requeued(run)

    def _resized(self, run: Job) -> None:
        """Note that a job has another size from now on; `run` is the record of what it was."""
        self.storage.requeued(run)

    def _kill_processes(self, live: LiveJob, run: Job) -> None:
        if self.runs_jobs and is_real(live.asked):
            if self.real is not None:
                self.real.terminate(live, run)
            self.timers.kill_script_later(run)

    def _lasts(self, job: Job, state: str) -> int:
        """How long processes of `job` take to die at most; the end of real ones is told to us."""
        live = self.jobs.get(job.id)
        return 0 if live is None or not self.dies_slowly else job_termination.lasts(self, live, state)

    def _after_turn(self, now: int) -> None:
        """Split arrays in the first pass if their tasks wait for the corresponding tasks of another array."""
        self.event_triggers.turned()
        events = self.controller.state.events
        if events:
            self.storage.history.note(event[1] for event in events)
            events.clear()  # there is no trace
        if self.controller.watts is not None:
            self.controller.watts.phases.clear()
        passes = self.controller.main.last_pass
        if passes == self._seen_pass:
            return
        self._seen_pass = passes
        for array in self.job_table.arrays.values():
            first = next(iter(array.left().values()), None)
            waits = first is not None and "aftercorr" in (first.asked.get("dependency") or "")
            if first is not None and waits and first.core.submit_time < now:
                for task in array.unsplit():
                    self.job_table.split(task)

    def _forget(self, gone: Sequence[LiveJob]) -> None:
        """Forget these jobs in slurmctld; accounting keeps them."""
        for live in gone:
            core_id = live.core.id
            last = live.array is None or live.array.forget(live)
            self.storage.forgotten(live)
            self.controller.forgotten(live.core, self.now, last=last)
            del self.jobs[core_id]
            self.network.live.pop(core_id, None)
            self.job_table.forget(live.id)
            if live.array is not None:
                if last:
                    self.job_table.arrays.pop(live.array.id, None)
                self.job_table.forget(live.own_id or 0)
        if len(self.controller.state.cluster.requests) > KEPT_REQUESTS + 4 * len(self.jobs):
            self.controller.keep_requests()  # most are of jobs that are gone


def _introduce(controller: Controller, people: People, owner: int) -> None:
    """Tell the controller who is who, and who may do everything."""
    controller.state.triggers.ticks = True
    controller.access.groups_of = lambda user: (people.by_name(user).group,)
    if controller.accounting.accounts is None:
        controller.access.without_accounts()
    controller.access.uid_of = lambda user: people.by_name(user).uid
    controller.access.privileged.add(people.by_uid(owner).name)
