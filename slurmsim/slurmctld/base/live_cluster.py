"""The daemon's knowledge of a cluster: controller and network, jobs by the ids users see, texts no scheduler needs.

Requests, fields, accounting and processes are written against this class; `Engine` extends it and knows all of them.
What holds the cluster itself (accounting, timers, processes) is declared here by what others need of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Protocol

from slurmsim.bitmap import Bitmap
from slurmsim.core.controller.controller import Controller
from slurmsim.core.records.job import Job
from slurmsim.core.records.partition import Partition
from slurmsim.errors import SubmitError
from slurmsim.hostlist import compress
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.partition import PartitionSpec
from slurmsim.release_changes import since
from slurmsim.releases import VERSIONS, row
from slurmsim.sim.network import Behaviour
from slurmsim.slurmctld.base import het_jobs
from slurmsim.slurmctld.base.live_job import Array, LiveJob, Row
from slurmsim.slurmctld.base.live_network import LiveNetwork
from slurmsim.slurmctld.base.people import People, Person
from slurmsim.slurmctld.base.raw_configuration import ConfFacts
from slurmsim.slurmctld.base.simulated import is_real
from slurmsim.slurmctld.base.step import Step
from slurmsim.slurmctld.base.submit_request import array_tasks, job_number
from slurmsim.slurmctld.database.association_database import Database
from slurmsim.slurmctld.database.job_record import First, JobRecord
from slurmsim.slurmctld.database.record_store import RecordStore
from slurmsim.slurmd.script_runner import Executor
from slurmsim.states import JobState

_REBOOTS = "reboot issued"
_PROTOCOL = {"22.05": 9728, "24.11": 10752, "26.05": 11520}


class Accounting(Protocol):
    """What others need of the rows of jobs (`slurmsim.slurmctld.database.accounting_storage.Storage`)."""

    enabled: bool
    store: RecordStore

    def first(self, live: LiveJob) -> First:
        """Return what was noted of a job at first."""

    def runs(self, row: Row) -> list[JobRecord]:
        """Return the rows of one job slurmctld has, in the order they were made."""

    def requeued(self, run: Job, ended: Job | None = None) -> None:
        """Note that a run ended in a requeue."""

    def joules(self, core_id: int) -> int | None:
        """Return what the job has used up since its last row; None where nothing is known of watts."""

    def dropped(self, live: LiveJob) -> None:
        """Note that a task goes without ever having had a record."""


class Timers(Protocol):
    """What steps need of the instants that lie ahead (`slurmsim.slurmctld.processes.job_timers.JobTimers`)."""

    def limit_step(self, live: LiveJob, step: Step, seconds: int) -> None:
        """Stop the step at the first scan after it has run for so long."""

    def kill_tasks_later(self, live: LiveJob, step: int | None) -> None:
        """KILL to the tasks of a step, None: of all, when KillWait is over."""

    def clean_at(self, instant: int, live: LiveJob, run: int, nodes: Bitmap) -> None:
        """From that instant on these nodes of a run that was ended are clean."""

    def miss_client(self, live: LiveJob) -> None:
        """Fail the job when slurmctld has tried for a while to tell its client that it has started."""


class Processes(Protocol):
    """What others need of jobs that really run (`slurmsim.slurmctld.processes.real_jobs.RealJobs`)."""

    executor: Executor

    def tell(self, live: LiveJob, number: int, *, script_only: bool) -> None:
        """Signal the script of a job that runs, or all its processes."""


def _ignore(live: LiveJob) -> None:
    """Do nothing: no client listens yet."""


class LiveCluster:
    """State, and simple questions about it.

    Parameters
    ----------
    cluster, people, database
        What it is made of.
    owner
        The uid that may do everything.
    network, jobs
        The network, and all jobs it tells of by the core's id, in order of creation, until they are forgotten.
    run_time
        What a simulated job does, from its request.
    release
        The Slurm release to be like, a key of `VERSIONS`.
    runs_jobs
        Batch jobs really run, unless they say how long they are to be simulated.

    Attributes
    ----------
    dies_slowly
        Jobs keep their nodes until their processes are gone.
    storage, timers
        Set by `Engine`: they hold the cluster themselves.
    real
        The same of jobs that really run; None until the journal has been replayed.
    changed
        Called with a job when its clients may be waiting for news of it.
    node_texts, partition_texts, reservation_texts
        What scontrol changes and no scheduler needs: of nodes by index, of the others by name.
    crontabs
        Tables of recurring jobs by the uid of their users.
    last_end
        When a job ended last.
    """

    storage: Accounting
    timers: Timers
    real: Processes | None

    def __init__(
        self,
        cluster: ClusterSpec,
        people: People,
        owner: int,
        database: Database,
        network: LiveNetwork,
        jobs: dict[int, LiveJob],
        *,
        run_time: Callable[[Mapping[str, Any]], Behaviour],
        release: str,
        runs_jobs: bool,
    ) -> None:
        self.spec: ClusterSpec = cluster
        self.people: People = people
        self.owner = owner
        self.database: Database = database
        self.network: LiveNetwork = network
        self.controller: Controller = network.controller
        self.jobs: dict[int, LiveJob] = jobs
        self._run_time, self.runs_jobs = run_time, runs_jobs
        self.dies_slowly = True
        self.changed: Callable[[LiveJob], None] = _ignore
        self.conf_path, self.host = "/etc/slurm/slurm.conf", "localhost"
        self.arrays: dict[int, Array] = {}
        self._node_reasons: dict[int, tuple[str | None, int, int]] = {}
        self.conf = ConfFacts()  # slurm.conf as written
        self.node_texts: dict[int, dict[str, Any]] = {}
        self.partition_texts: dict[str, dict[str, Any]] = {}
        self.reservation_texts: dict[str, dict[str, Any]] = {}
        self.crontabs: dict[int, str] = {}
        self.given_cpus: dict[tuple[tuple[int, int], int], tuple[int, ...]] = {}
        self.given_gres: dict[tuple[tuple[int, int], int, int], tuple[int, ...]] = {}
        self.release: str = release
        self.version: str = VERSIONS[release]
        self._shown: dict[int, LiveJob] = {}  # by the id that is shown
        options = cluster.options
        self._first_id, self._max_id = int(options.get("FirstJobId") or 1), int(options.get("MaxJobId") or 0x03FF0000)
        self.last_id = self._first_id - 1
        self._order = 0
        self.last_end = network.start_time
        self._planned: Bitmap | None = None  # of the present request
        self._most_cpus: dict[str, tuple[Any, int]] = {}

    @property
    def now(self) -> int:
        """The present instant."""
        return int(self.network.env.now)

    # -- who may do what --------------------------------------------------------------------------------------------

    def is_operator(self, person: Person) -> bool:
        """Whether `person` may do to others' jobs and to reservations what their owners may (validate_operator)."""
        return self.database.is_admin(person)

    def is_administrator(self, person: Person) -> bool:
        """Whether `person` may change nodes, partitions and the cluster itself (validate_super_user)."""
        return self.database.admin_level(person) == "Administrator"

    def visible(self, partition: Partition, person: Person) -> bool:
        """Whether that user sees the partition without asking for all."""
        allowed = partition.spec.allow_groups
        hidden = self.partition_texts.get(partition.name, {}).get("hidden")
        if hidden is None:
            hidden = self.conf.partition(partition.name, "hidden").upper() == "YES"
        return not hidden and (not allowed or person.group in allowed)

    # -- the job table, and ids in it -------------------------------------------------------------------------------

    @property
    def place(self) -> int:
        """The place of the next job in the job table."""
        return self._order

    def take_place(self) -> int:
        """Take the next place and return it."""
        self._order += 1
        return self._order - 1

    def next_id(self) -> int:
        """Return the id the next job is shown with."""
        most = self._max_id
        following = self.last_id
        while True:
            following = following + 1 if following + 1 < most else self._first_id
            if following not in self._shown and following not in self.arrays:
                return following

    def use_up(self, number: int) -> None:
        """Use up an id for a job that does not stay; that its record was made is news to backfill all the same."""
        self.last_id = number
        self.asked_for_jobs()

    def asked_for_jobs(self) -> None:
        """Note that a request looked at jobs to change them; even without a change that is news to backfill."""
        self.network.act(self.now, self.controller.state.triggers.happened)

    def split(self, live: LiveJob) -> None:
        """Split off a task that started, ended, or was edited: it gets an id of its own, the last one the array's."""
        if live.own_id is not None or live.array is None:
            return
        live.order = live.array.order
        if len(live.array.left()) == 1:
            live.take_id(live.array.id)
        else:
            self.last_id = self.next_id()
            live.take_id(self.last_id)
            live.array.order = self.take_place()  # what is left of the array goes to the end of the job table
            rest, core = next(iter(live.array.left().values())), live.core
            if rest.is_known:  # it is a copy of this task's record, with what a pass found for it
                rest.core.likely_nodes = core.n_nodes if core.state == JobState.RUNNING else core.likely_nodes
        self.keep(live)

    def keep(self, live: LiveJob) -> None:
        """Keep this job behind the id it is shown with from now on."""
        self._shown[live.id] = live

    def drop(self, live: LiveJob) -> None:
        """Drop a task that never had a record of its own; no client will see it again."""
        del self.jobs[live.core.id]
        self.network.live.pop(live.core.id, None)
        self.storage.dropped(live)

    def shown(self, number: int) -> LiveJob | None:
        """Return the job that is shown with this id of its own."""
        return self._shown.get(number)

    def find(self, text: str) -> list[LiveJob]:
        """Return the jobs an id names: ``N`` (a job, or all tasks of an array), ``N_T``, ``N_[list]``, ``N+K``."""
        if "+" in text:
            live = het_jobs.component(self, text)
            return [live] if live is not None else []
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
            wanted, _ = array_tasks(tasks.strip("[]"), int(self.spec.option("MaxArraySize")))
        except SubmitError:
            return []
        return list(dict.fromkeys(array.tasks[task] for task in wanted if task in array.tasks))

    def core_ids(self, text: str) -> str:
        """Dependencies on tasks by an id of their own, as the core knows them: array and index."""

        def core(match: re.Match[str]) -> str:
            found = self._shown.get(int(match[0]))
            if found is None or found.array is None or match[0] == str(found.array.id):
                return match[0]
            return f"{found.array.id}_{found.task}"

        return re.sub(r"(?<=:)\d{1,18}(?![\d_])", core, text)

    def rows(self) -> Iterator[Row]:
        """Everything slurmctld still has, in the order of its job table; unsplit tasks of an array as one."""
        return self._as_rows(self.jobs.values())

    def rows_of(self, ids: Iterable[int]) -> Iterator[Row]:
        """Those of jobs with these ids, and of the tasks of arrays with them."""
        return self._as_rows(self.lives_of(ids))

    def node_list(self, nodes: Iterable[int]) -> str:
        """Return the nodes with these indices, as Slurm prints them."""
        names = self.controller.state.table.names
        return compress([names[i] for i in nodes])

    def lives_of(self, ids: Iterable[int]) -> list[LiveJob]:
        """Return the jobs with these ids, and the tasks of arrays with them."""
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

    # -- jobs ---------------------------------------------------------------------------------------------------------

    def behaviour_of(self, asked: Mapping[str, Any], task: int | None = None) -> Behaviour:
        """Return what a job of this request does once it runs."""
        if asked.get("allocate") or asked.get("het_offset") or (self.runs_jobs and is_real(asked)):
            return Behaviour(-1, JobState.COMPLETED, "0:0", -1)
        return self._run_time(asked if task is None else {**asked, "array_task_id": task})

    @property
    def working_cluster(self) -> str:
        """SLURM_WORKING_CLUSTER: name, address, port and protocol of the controller."""
        options = self.spec.options
        port = str(options.get("SlurmctldPort") or 6817).partition("-")[0]
        return f"{self.spec.name}:{self.host}:{port}:{row(_PROTOCOL, self.release)}:109"

    # -- who looked at them -----------------------------------------------------------------------------------------

    @property
    def looks(self) -> tuple[int, int]:
        """Passes of the main scheduler so far, and when backfill came last: who has seen the jobs there are."""
        return self.controller.main.passes, self.last_cycle

    @property
    def last_cycle(self) -> int:
        """When backfill last walked over the queue; 0: never."""
        return int(getattr(self.controller.host.policy, "last_cycle", 0))

    # -- nodes --------------------------------------------------------------------------------------------------------

    def planned_nodes(self) -> Bitmap:
        """Return the nodes that backfill's last cycle planned for pending jobs and that no job has taken since.

        Only idle nodes are marked; since 24.11 nodes with idle CPUs, too.
        """
        if self._planned is None:  # once a request, not once a node
            host, table = self.controller.host, self.controller.state.table
            if not hasattr(host.policy, "last_cycle"):  # a policy without cycles
                host.mark_planned()
            self._planned = host.planned & table.idle
            if since(self.release, "busy_nodes_planned"):
                self._planned |= host.planned_busy & (table.idle | table.mixed & table.with_free_cpus())
        return self._planned

    def most_cpus(self, spec: PartitionSpec) -> int:
        """CPUs of the largest node of a partition."""
        known = self._most_cpus.get(spec.name)
        if known is None or known[0] is not spec.nodes:
            table = self.controller.state.table
            most = max((int(table.cpus[table.index[name]]) for name in spec.nodes), default=1)
            known = self._most_cpus[spec.name] = (spec.nodes, most)
        return known[1]

    def note_idle(self, core: Job) -> None:
        """Note now as the last busy time of nodes that are idle without this job (node_ptr->last_busy)."""
        if core.alloc is not None:
            idle = self.controller.state.table.idle
            for i in core.alloc.indices().tolist():
                if idle & (1 << i):
                    self.node_texts.setdefault(i, {})["last_busy"] = self.now

    def node_reason(self, i: int) -> tuple[str | None, int, int]:
        """Why node `i` is down or drained, since when, and who said so."""
        found = self._node_reasons.get(i, (None, 0, 0))
        states = self.controller.node_states
        if (found[0] or "").endswith(_REBOOTS) and not (
            states.booting | states.drained | states.failing | self.controller.state.table.down
        ) >> i & 1:
            del self._node_reasons[i]  # it is back
            return None, 0, 0
        return found

    def set_reason(self, i: int, text: str | None, uid: int) -> None:
        """Say why node `i` is down or drained; None: it is not any more."""
        if text is None:
            self._node_reasons.pop(i, None)
        else:
            self._node_reasons[i] = (text, self.now, uid)

    def note_reboots(self, names: Sequence[str]) -> None:
        """Note that these nodes are rebooted now, or come back from being powered down."""
        for name in names:
            i = self.controller.state.table.index[name]
            text = self._node_reasons.get(i, ("", 0, 0))[0] or ""
            if self.controller.node_states.booting >> i & 1:
                joined = f"{text} : {_REBOOTS}" if text and _REBOOTS not in text else _REBOOTS
                self.set_reason(i, joined, self.people.by_name(self.conf.scalar("SlurmUser") or "root").uid)
