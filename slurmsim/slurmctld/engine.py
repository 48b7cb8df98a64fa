"""The live cluster without sockets and files: requests in, answers out, at the instants a clock says.

An engine is a pure function of its header (configuration, first instant) and the requests it was given with their
times; that is how it is restored from the journal, and why a live session can be replayed.
"""

from __future__ import annotations

import errno
import re
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from slurmsim.bitmap import Bitmap
from slurmsim.core.controller import Controller
from slurmsim.core.job import Job
from slurmsim.core.messages import Submit
from slurmsim.core.partitions import Partition
from slurmsim.core.shape import NOT_AVAILABLE
from slurmsim.errors import SubmitError
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.partition import PartitionSpec
from slurmsim.model.submission import Submission
from slurmsim.policy import Policy
from slurmsim.protocol import DENIED, INVALID_JOB, Refusal
from slurmsim.release_changes import since
from slurmsim.releases import VERSIONS, row
from slurmsim.sim.network import Behaviour
from slurmsim.slurmctld import (
    accounting_storage,
    allocations,
    association_requests,
    cancels,
    control_jobs,
    control_nodes,
    control_partitions,
    control_reservations,
    control_shows,
    every_job,
    handles,
    likely_nodes,
    priority_info,
    queries,
    size_limits,
    statistics,
    steps,
    usage_report,
)
from slurmsim.slurmctld.association_database import Database, engine_database
from slurmsim.slurmctld.conf_facts import ConfFacts
from slurmsim.slurmctld.forgetting import Forgetting
from slurmsim.slurmctld.job_fields import Row
from slurmsim.slurmctld.job_timers import JobTimers
from slurmsim.slurmctld.live_job import TASK_BITS, Array, LiveJob
from slurmsim.slurmctld.live_network import LiveNetwork
from slurmsim.slurmctld.output_files import file_name
from slurmsim.slurmctld.people import People, Person
from slurmsim.slurmctld.real_jobs import RealJobs, ended, is_real
from slurmsim.slurmctld.refusals import check, lines, takes_id
from slurmsim.slurmctld.rejected import keep_rejected
from slurmsim.slurmctld.same import Same
from slurmsim.slurmctld.settled import settled
from slurmsim.slurmctld.submit_request import array_tasks, job_number, submission
from slurmsim.slurmctld.will_run import will_run
from slurmsim.states import JobState

PARTS = (
    queries, cancels, handles, every_job, accounting_storage, priority_info, usage_report, statistics,
    association_requests, steps, allocations, control_jobs, control_nodes, control_partitions, control_reservations,
    control_shows,
)  # fmt: skip
SHAPES = 1000
"""Compiled requests that are kept, beside those of jobs."""
_SIGNALLED = {"22.05": "JobLaunchFailure", "24.11": "RaisedSignal:{number}({name})"}
_KILLED = (JobState.CANCELLED, JobState.TIMEOUT, JobState.NODE_FAIL)
_REBOOTS = "reboot issued"
_PROTOCOL = {"22.05": 9728, "24.11": 10752, "26.05": 11520}


def _nobody(live: LiveJob) -> None:
    """Nobody listens yet."""


def _signal_name(number: int) -> str:
    return signal.strsignal(number) or f"Unknown signal {number}"


class Engine:
    """One cluster.

    Parameters
    ----------
    cluster, policy, accounting
        What it is made of.
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
    ) -> None:
        self.cluster: ClusterSpec = cluster
        self.people: People = people
        self.owner = owner
        self.database: Database = database or engine_database(cluster, None, owner, start_time)
        self.storage: accounting_storage.Storage = accounting_storage.Storage(self)
        self.jobs: dict[int, LiveJob] = {}  # by the core's id, in order of creation, until they are forgotten
        age = int(cluster.option("MinJobAge"))
        self.forgetting: Forgetting = Forgetting(self.jobs, start_time, age, self._forget)
        self.network: LiveNetwork = LiveNetwork(
            self._moved, self._killed, self._ran, self.storage.requeued, cluster, policy, start_time,
            boots=self._reboots, forgetting=self.forgetting, after_turn=self._after_turn,
            accounting=self.database.accounting() if self.database.exists else None,
        )  # fmt: skip
        self.controller: Controller = self.network.controller
        self.controller.main.ticks = True
        self.controller.access.groups_of = lambda user: (people.by_name(user).group,)
        if self.controller.accounts is None:
            self.controller.access.without_accounts()
        self.controller.access.uid_of = lambda user: people.by_name(user).uid
        self.controller.access.privileged.add(people.by_uid(owner).name)
        self._run_time, self.runs_jobs = run_time, runs_jobs
        self.changed: Callable[[LiveJob], None] = _nobody  # told of jobs whose clients may be waiting for news
        self.conf_path, self.host = "/etc/slurm/slurm.conf", "localhost"
        self.real: RealJobs | None = None  # set once the journal has been replayed
        self.arrays: dict[int, Array] = {}
        self._node_reasons: dict[int, tuple[str | None, int, int]] = {}
        self.conf = ConfFacts()  # slurm.conf as written
        # what scontrol changes and no scheduler needs: of nodes by index, of partitions and reservations by name
        self.node_texts: dict[int, dict[str, Any]] = {}
        self.partition_texts: dict[str, dict[str, Any]] = {}
        self.reservation_texts: dict[str, dict[str, Any]] = {}
        self.given_cpus: dict[tuple[tuple[int, int], int], tuple[int, ...]] = {}
        self.given_gres: dict[tuple[tuple[int, int], int, int], tuple[int, ...]] = {}
        self.release: str = release
        self.version: str = VERSIONS[release]
        self._shown: dict[int, LiveJob] = {}  # by the id that is shown
        options = cluster.options
        self._first_id, self._max_id = int(options.get("FirstJobId") or 1), int(options.get("MaxJobId") or 0x03FF0000)
        self.last_id = self._first_id - 1
        self._order = 0
        self.last_end = start_time  # of any job
        self.same: Same = Same()
        self._planned: Bitmap | None = None  # of the present request
        self._most_cpus: dict[str, tuple[Any, int]] = {}
        self._seen_pass = 0
        self.calls: dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]] = {
            "submit": self._submit, "ended": self._ended, "last_id": self._set_last_id,
        }  # fmt: skip
        self.changes = frozenset({"submit", "ended"})
        self.statistics = statistics.Statistics(self)
        self.timers: JobTimers = JobTimers(self)
        for part in PARTS:
            self.calls |= part.calls(self)
            self.changes |= part.CHANGES

    def is_operator(self, person: Person) -> bool:
        """Whether `person` may do to others' jobs and to reservations what their owners may (validate_operator)."""
        return self.database.is_admin(person)

    def is_administrator(self, person: Person) -> bool:
        """Whether `person` may change nodes, partitions and the cluster itself (validate_super_user)."""
        return self.database.admin_level(person) == "Administrator"

    @property
    def now(self) -> int:
        """The present instant."""
        return int(self.network.env.now)

    def execute(self, now: int, call: str, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """Carry one request out at `now`. Raises Refusal with Slurm's text, having changed nothing."""
        self.network.advance(now)
        usage = self.controller.recalculation
        if usage.next_at < now:  # it decays while nothing else happens
            usage.catch_up(now)
        self._planned = None
        handler = self.calls.get(call)
        self.statistics.asked(call, person)
        if handler is None:
            raise Refusal("Invalid argument", errno.EINVAL)
        return handler(arguments, person)

    def next_event(self) -> float:
        """When something happens by itself; infinity for never."""
        return min(float(self.network.env.peek()), self.forgetting.next)

    @property
    def busy(self) -> bool:
        """Whether anything runs or may still start by itself."""
        c = self.controller
        return bool(c.running) or any(not live.over for live in self.jobs.values())

    # -- submitting -------------------------------------------------------------------------------------------------

    def _submit(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        asked = self.same.share(arguments["job"])
        if arguments.get("components"):
            raise Refusal("Requested operation not supported on this system")
        if asked.get("user_name"):
            if person.uid != self.owner:
                raise Refusal(DENIED)
            person = self.people.by_name(asked["user_name"])
        asked = settled(self, asked)
        shown = self._next_id()
        try:
            size_limits.check(self, asked)
            check(self, asked, person)
            if arguments.get("will_run"):
                found = will_run(self, self._make(shown, asked, person)[0], shown)
                self._use_up(shown)
                return found
            made: list[tuple[Submission, Behaviour, int | None]]
            if asked.get("array_inx"):
                made = self._array(shown, asked, person)
            else:
                made = [(*self._make(shown, asked, person), None)]
            self._enter(shown, asked, person, made)
        except SubmitError as error:
            if takes_id(self, error, asked):
                self._use_up(shown)
            if error.text == NOT_AVAILABLE and not asked.get("allocate"):
                self._keep_rejected(shown, asked, person)
            raise Refusal("\n".join(lines(self, error, asked))) from None
        return allocations.answer(self, self._shown[shown]) if asked.get("allocate") else {"job_id": shown}

    def _keep_rejected(self, shown: int, asked: Mapping[str, Any], person: Person) -> None:
        live = keep_rejected(self, shown, asked, person, self._order)
        if live is not None:
            self._order += 1
            self.jobs[shown] = self._shown[shown] = live
            if live.array is not None:
                self.arrays[shown] = live.array
            self.last_end = self.now
            self.forgetting.over(shown, self.now)

    def _set_last_id(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """From the journal: a refusal used an id up."""
        if person.uid != self.owner:
            raise Refusal(DENIED, 2002)
        self._use_up(int(arguments["id"]))
        return {}

    def _use_up(self, number: int) -> None:
        """An id goes to a job that does not stay; that its record was made is news to backfill all the same."""
        self.last_id = number
        self.network.act(self.now, lambda: setattr(self.controller.host, "changed", True))

    def _next_id(self) -> int:
        most = self._max_id
        following = self.last_id
        while True:
            following = following + 1 if following + 1 < most else self._first_id
            if following not in self._shown and following not in self.arrays:
                return following

    def _make(self, core_id: int, asked: Mapping[str, Any], person: Person) -> tuple[Submission, Behaviour]:
        requeue = bool(self.cluster.option("JobRequeue"))
        sub = submission(core_id, asked, person.name, self.now, requeue)
        if sub.priority and not self.is_operator(person):
            sub.priority = None  # it may be 0; others are not heard (validate_job_create_req)
        if not sub.partitions and self.controller.state.default is not None:
            sub.partitions = (self.controller.state.default.name,)  # whatever the default becomes later
        if sub.dependency:
            sub.dependency = self.core_ids(sub.dependency)
        return sub, self.behaviour_of(asked, core_id & (1 << TASK_BITS) - 1 if core_id >> 2 * TASK_BITS else None)

    def behaviour_of(self, asked: Mapping[str, Any], task: int | None = None) -> Behaviour:
        """What a job of this request does once it runs."""
        if asked.get("allocate") or (self.runs_jobs and is_real(asked)):
            return Behaviour(-1, JobState.COMPLETED, "0:0", -1)
        return self._run_time(asked if task is None else {**asked, "array_task_id": task})

    def _array(
        self, shown: int, asked: Mapping[str, Any], person: Person
    ) -> list[tuple[Submission, Behaviour, int | None]]:
        tasks, throttle = array_tasks(asked["array_inx"], int(self.cluster.option("MaxArraySize")))
        made: list[tuple[Submission, Behaviour, int | None]] = []
        for task in tasks:
            sub, behaviour = self._make((shown << TASK_BITS) + task + (1 << 2 * TASK_BITS), asked, person)
            sub.array_job_id, sub.array_task_id, sub.array_limit = shown, task, throttle
            made.append((sub, behaviour, task))
        return made

    def core_ids(self, text: str) -> str:
        """Dependencies on tasks by an id of their own, as the core knows them: array and index."""

        def core(match: re.Match[str]) -> str:
            found = self._shown.get(int(match[0]))
            if found is None or found.array is None or match[0] == str(found.array.id):
                return match[0]
            return f"{found.array.id}_{found.task}"

        return re.sub(r"(?<=:)\d{1,18}(?![\d_])", core, text)

    def _enter(
        self, shown: int, asked: Mapping[str, Any], person: Person,
        made: list[tuple[Submission, Behaviour, int | None]],
    ) -> None:  # fmt: skip
        """Tell the controller and keep the records; a refusal leaves nothing behind. Raises SubmitError."""
        network = self.network
        already = len(network.refused)
        array = Array(shown, str(asked["array_inx"]), order=self._order) if made[0][2] is not None else None
        for sub, behaviour, task in made:
            live = LiveJob(asked, None if array is not None else shown, person, self._order, array, task)
            live.entered_after = self.looks
            self._order += 1
            network.entering[sub.job_id] = live
            network.behaviour[sub.job_id] = behaviour
            if array is not None and task is not None:
                array.tasks[task] = live
        before, self.last_id = self.last_id, shown
        network.tell(self.now, [Submit(sub) for sub, _, _ in made])
        if len(network.refused) > already:
            self.last_id = before
            _, text = network.refused[already]
            del network.refused[already:]
            for sub, _, _ in made:
                network.entering.pop(sub.job_id, None)
            raise SubmitError(text)
        for sub, _, _ in made:
            live = network.entering.pop(sub.job_id)
            live.core = network.core_of(sub.job_id)
            self.jobs[sub.job_id] = live
            if live.own_id is not None:
                self._shown[live.own_id] = live
            network.live[sub.job_id] = live
            self.storage.entered(live)
            self.statistics.submitted += 1
        likely_nodes.guess(self.controller, [network.live[sub.job_id].core for sub, _, _ in made])
        if array is not None:
            self.arrays[shown] = array

    # -- ids of tasks ---------------------------------------------------------------------------------------------

    def _moved(self, live: LiveJob, what: str) -> None:
        """`live` was launched, or it ended."""
        self.split(live)
        if what == "launched":
            self.storage.launched(live)
            self.statistics.started += 1
            steps.began(self, live)
            self.timers.warn_before_limit(live)
            if self.real is not None and self.runs_jobs and is_real(live.asked):
                self.real.launch(live)
        elif live.core.alloc is not None:
            steps.over(self, live, live.core)
        if what == "ended":
            self.last_end = int(live.core.end_time or self.now)
            self.forgetting.over(live.core.id, self.last_end)
            self.statistics.ended(live)
            self.storage.ended(live)
        self.changed(live)

    def _killed(self, job: Job) -> None:
        """The processes of `job` are to go; those of one that is pending again belong to a run of its own."""
        live = self.jobs.get(job.id)
        if live is not None and job.state != JobState.PENDING:
            self._kill_processes(live, job)

    def _ran(self, run: Job) -> None:
        """A run of a job ended because the job was requeued; `run` is the record of it."""
        live = self.jobs.get(run.id)
        if live is not None:
            self._kill_processes(live, run)
            steps.over(self, live, run)
            self.storage.requeued(run)

    def _kill_processes(self, live: LiveJob, run: Job) -> None:
        if self.runs_jobs and is_real(live.asked):
            if self.real is not None:
                self.real.terminate(live, run)
            self.timers.kill_script_later(run)

    def _ended(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """News of a supervisor: its job's script is over."""
        live = self.jobs.get(int(arguments["core_id"]))
        if live is None:
            raise Refusal(INVALID_JOB)
        if person.uid not in (live.person.uid, self.owner):
            raise Refusal(DENIED)
        core, run, status = live.core, int(arguments["restarts"]), int(arguments["status"])
        steps.batch_over(live, self.now, run, status)
        fact, unlaunched = ended(core, run, status)
        running = core.state in (JobState.RUNNING, JobState.SUSPENDED)
        if core.state in _KILLED and run == core.restarts and status:
            core.exit_code = fact.exit_code
        self.network.tell(self.now, [fact])
        if running and live.over:
            if unlaunched:
                core.reason = "JobLaunchFailure"
            else:
                self.name_signal(live, status & 0x7F)
        return {}

    def name_signal(self, live: LiveJob, number: int) -> None:
        """A job that failed by a signal says so, each release in its way."""
        if number and live.core.state == JobState.FAILED:
            live.core.reason = row(_SIGNALLED, self.release).format(number=number, name=_signal_name(number))

    def split(self, live: LiveJob) -> None:
        """The task started, ended, or was edited alone: it gets an id of its own; the last one left the array's."""
        if live.own_id is not None or live.array is None:
            return
        live.order = live.array.order
        if len(live.array.left()) == 1:
            live.take_id(live.array.id)
        else:
            self.last_id = self._next_id()
            live.take_id(self.last_id)
            live.array.order = self._order  # what is left of the array goes to the end of the job table
            self._order += 1
            rest, core = next(iter(live.array.left().values())), live.core
            if rest.is_known:  # it is a copy of this task's record, with what a pass found for it
                rest.core.likely_nodes = core.n_nodes if core.state == JobState.RUNNING else core.likely_nodes
        self._shown[live.id] = live

    def _after_turn(self, now: int) -> None:
        """The first pass takes arrays apart whose tasks wait for the corresponding ones of another."""
        self.controller.events.clear()  # there is no trace
        passes = self.controller.main.last_pass
        if passes == self._seen_pass:
            return
        self._seen_pass = passes
        for array in self.arrays.values():
            first = next(iter(array.left().values()), None)
            waits = first is not None and "aftercorr" in (first.asked.get("dependency") or "")
            if first is not None and waits and first.core.submit_time < now:
                for task in array.unsplit():
                    self.split(task)

    # -- records ----------------------------------------------------------------------------------------------------

    def drop(self, live: LiveJob) -> None:
        """Nobody will see this task again: it goes without ever having had a record."""
        del self.jobs[live.core.id]
        self.network.live.pop(live.core.id, None)
        self.storage.dropped(live)

    def keep(self, live: LiveJob) -> None:
        """This task stands for its array's own record from now on."""
        self._shown[live.id] = live

    def shown(self, number: int) -> LiveJob | None:
        """The job that is shown with this id of its own."""
        return self._shown.get(number)

    @property
    def working_cluster(self) -> str:
        """SLURM_WORKING_CLUSTER: name, address, port and protocol of the controller."""
        options = self.cluster.options
        port = str(options.get("SlurmctldPort") or 6817).partition("-")[0]
        return f"{self.cluster.name}:{self.host}:{port}:{row(_PROTOCOL, self.release)}:109"

    def find(self, text: str) -> list[LiveJob]:
        """The jobs an id names: ``N`` (a job, or all tasks of an array), ``N_T``, ``N_[list]``."""
        base, underscore, tasks = text.removesuffix("_*").partition("_")
        number = job_number(base)
        array = self.arrays.get(number)
        if not underscore:
            if array is not None:
                return list(dict.fromkeys(live for _, live in sorted(array.tasks.items())))
            live = self._shown.get(number)
            return [live] if live is not None else []
        if array is None:
            return []
        try:
            wanted, _ = array_tasks(tasks.strip("[]"), int(self.cluster.option("MaxArraySize")))
        except SubmitError:
            return []
        return list(dict.fromkeys(array.tasks[task] for task in wanted if task in array.tasks))

    # -- looking ----------------------------------------------------------------------------------------------------

    def rows(self) -> Iterator[Row]:
        """Everything slurmctld still has, in the order of its job table; unsplit tasks of an array as one."""
        return self._as_rows(self.jobs.values())

    def rows_of(self, ids: Iterable[int]) -> Iterator[Row]:
        """Those of jobs with these ids, and of the tasks of arrays with them."""
        return self._as_rows(self.lives_of(ids))

    def lives_of(self, ids: Iterable[int]) -> list[LiveJob]:
        """The jobs with these ids, and the tasks of arrays with them."""
        found: dict[int, LiveJob] = {}
        for number in ids:
            array, shown = self.arrays.get(number), self._shown.get(number)
            named = [] if array is None else list(array.tasks.values())
            if shown is not None:
                named.append(shown)
            found.update((live.core.id, live) for live in named if self.jobs.get(live.core.id) is live)
        return list(found.values())

    def _as_rows(self, lives: Iterable[LiveJob]) -> Iterator[Row]:
        seen: set[int] = set()
        found: list[tuple[int, Row]] = []
        for live in lives:
            if live.array is None or live.own_id is not None:
                found.append((live.order, Row(live, () if live.emptied else live.record_of)))
            elif live.array.id not in seen:
                seen.add(live.array.id)
                tasks = live.array.unsplit()
                found.append((live.array.order, Row(tasks[0], tuple(tasks))))
        found.sort(key=itemgetter(0))
        return (row for _, row in found)

    def visible(self, partition: Partition, person: Person) -> bool:
        """Whether that user sees the partition without asking for all."""
        allowed = partition.spec.allow_groups
        hidden = self.partition_texts.get(partition.name, {}).get("hidden")
        if hidden is None:
            hidden = self.conf.partition(partition.name, "hidden").upper() == "YES"
        return not hidden and (not allowed or person.group in allowed)

    def _forget(self, gone: Sequence[LiveJob]) -> None:
        """slurmctld forgets these; accounting does not."""
        for live in gone:
            core_id = live.core.id
            self.storage.forgotten(live)
            self.controller.forgotten(live.core, self.now)
            del self.jobs[core_id]
            self.network.live.pop(core_id, None)
            self._shown.pop(live.id, None)
            if live.array is not None:
                self.arrays.pop(live.array.id, None)
                self._shown.pop(live.own_id or 0, None)
        if len(self.controller.state.shapes) > SHAPES + 4 * len(self.jobs):
            self.controller.keep_shapes()  # most are of jobs that are gone

    def planned_nodes(self) -> Bitmap:
        """Nodes that backfill keeps for somebody whose turn is to come, as they are marked.

        Mirrors `_handle_planned` (backfill.c): idle nodes only; since 24.11 those with idle CPUs, too.
        """
        if self._planned is None:  # once a request, not once a node
            mask = 0
            for records in self.controller.queue.jobs.values():
                if any(record.partition.state in ("UP", "DRAIN") for record in records):  # else no cycle plans it
                    mask |= records[0].job.planned_nodes
            table = self.controller.table
            markable = table.idle
            if since(self.release, "busy_nodes_planned"):
                markable |= table.mixed & table.with_free_cpus()
            self._planned = mask & markable
        return self._planned

    def most_cpus(self, spec: PartitionSpec) -> int:
        """CPUs of the largest node of a partition."""
        known = self._most_cpus.get(spec.name)
        if known is None or known[0] is not spec.nodes:
            table = self.controller.table
            most = max((int(table.cpus[table.index[name]]) for name in spec.nodes), default=1)
            known = self._most_cpus[spec.name] = (spec.nodes, most)
        return known[1]

    def node_reason(self, i: int) -> tuple[str | None, int, int]:
        """Why node `i` is down or drained, since when, and who said so."""
        found = self._node_reasons.get(i, (None, 0, 0))
        states = self.controller.node_states
        if (found[0] or "").endswith(_REBOOTS) and not (
            states.booting | states.drained | states.failing | self.controller.table.down
        ) >> i & 1:
            del self._node_reasons[i]  # it is back
            return None, 0, 0
        return found

    def _reboots(self, names: Sequence[str]) -> None:
        """These nodes are rebooted now, or come back from being powered down."""
        for name in names:
            i = self.controller.table.index[name]
            text = self._node_reasons.get(i, ("", 0, 0))[0] or ""
            if self.controller.node_states.booting >> i & 1:
                joined = f"{text} : {_REBOOTS}" if text and _REBOOTS not in text else _REBOOTS
                self.set_reason(i, joined, self.people.by_name(self.conf.scalar("SlurmUser") or "root").uid)

    def set_reason(self, i: int, text: str | None, uid: int) -> None:
        """Say why node `i` is down or drained; None: it is not any more."""
        if text is None:
            self._node_reasons.pop(i, None)
        else:
            self._node_reasons[i] = (text, self.now, uid)

    # -- what fields ask ----------------------------------------------------------------------------------------------

    def dependency_text(self, live: LiveJob) -> str:
        """Dependencies not met yet, as slurmctld prints them: ``afterok:12(unfulfilled)``."""
        eligibility = self.controller.eligibility
        pending = live.core.state == JobState.PENDING
        unasked = live.array is not None and live.entered_after == self.looks
        text = eligibility.describe(live.core, unasked=unasked) if pending else eligibility.left.get(live.core.id, "")
        # a task that was named by an id of its own is shown by it
        for own in re.findall(r"(?<=:)\d+(?![\d_])", str(live.asked.get("dependency") or "")) if text else ():
            core = self.core_ids(f":{own}")
            text = re.sub(rf"{core}(?=[+(])", f":{own}", text)
        return text

    def file_of(self, live: LiveJob, which: str) -> str | None:
        """The path of a job's std_out, std_err or std_in."""
        return file_name(live, which)

    @property
    def looks(self) -> tuple[int, int]:
        """Passes of the main scheduler so far, and when backfill came last: who has seen the jobs there are."""
        return self.controller.main.passes, self.last_cycle

    def last_evaluated(self, core: Job) -> int:
        """When a scheduler last looked at the pending job, as far as is kept."""
        return max(self.controller.main.last_pass, core.submit_time, self.last_cycle if core.queued else 0)

    @property
    def last_cycle(self) -> int:
        """When backfill last walked over the queue; 0: never."""
        return int(getattr(self.controller.host.policy, "last_cycle", 0))
