"""What the daemon knows of a cluster: controller and network, its job table, texts no scheduler needs.

Requests, fields, accounting and processes are written against this class; `Engine` extends it and knows all of them.
What holds the cluster itself (accounting, timers, processes) is declared here by what others need of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from slurmsim.bitmap import Bitmap
from slurmsim.core.controller.controller import Controller
from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import Fact
from slurmsim.model.cluster import ClusterSpec
from slurmsim.releases import VERSIONS
from slurmsim.sim.network import Behaviour
from slurmsim.slurmctld.base.association_database import Database, Transaction
from slurmsim.slurmctld.base.job_record import First, JobRecord
from slurmsim.slurmctld.base.job_table import JobTable
from slurmsim.slurmctld.base.live_job import LiveJob, Row
from slurmsim.slurmctld.base.live_network import LiveNetwork
from slurmsim.slurmctld.base.node_reasons import NodeReasons
from slurmsim.slurmctld.base.past_rows import Outage, PastReservation
from slurmsim.slurmctld.base.people import People
from slurmsim.slurmctld.base.raw_configuration import ConfFacts
from slurmsim.slurmctld.base.step import Step
from slurmsim.slurmd.script_runner import Executor


class EndedRuns(Protocol):
    """What others read of the runs that slurmctld has forgotten (`slurmsim.slurmctld.database.record_store`)."""

    def waiting(self) -> list[JobRecord]:
        """Return the runs that are not written yet."""

    def shown(self, after: int, condition: str = "TRUE", values: Sequence[Any] = ()) -> Iterator[tuple[int, str]]:
        """Yield the place of each written run behind `after` in the job table, and what it shows."""

    def waiting_shown(self) -> list[tuple[int, JobRecord, Sequence[Any]]]:
        """Return the same of the runs that are not written yet."""

    def execute(self, statement: str, values: Sequence[Any] | dict[str, Any] = ()) -> Iterator[Any]:
        """Yield the rows that a statement of SQL finds."""


class PastRows(Protocol):
    """What others read of reservations and outages (`slurmsim.slurmctld.database.cluster_history.ClusterHistory`)."""

    def past_reservations(self) -> Iterator[PastReservation]:
        """Yield all rows of reservations."""

    def past_outages(self) -> Iterator[Outage]:
        """Yield all rows of nodes that were out of service."""


class Left(Protocol):
    """What others read of rows that were not purged (`slurmsim.slurmctld.database.purges.Purges`)."""

    def of_jobs(self) -> Callable[[JobRecord], JobRecord | None]:
        """Return what gives what is left of a job's row at this instant; None if nothing is."""

    def outages(self) -> Iterator[Outage]:
        """Yield the rows of nodes out of service that are left."""

    def reservations(self) -> Iterator[PastReservation]:
        """Yield the rows of reservations that are left."""

    def transactions(self) -> Iterator[Transaction]:
        """Yield the transactions that are left."""

    def usage_since(self) -> int:
        """Return the first second of which usage is left."""


class Accounting(Protocol):
    """What others need of the rows of jobs (`slurmsim.slurmctld.database.accounting_storage.Storage`)."""

    enabled: bool

    @property
    def history(self) -> PastRows:
        """Reservations, and nodes out of service."""

    @property
    def store(self) -> EndedRuns:
        """The runs that slurmctld has forgotten."""

    def first(self, live: LiveJob) -> First:
        """Return what was noted of a job at first."""

    def started_before(self, live: LiveJob) -> int | None:
        """Return when the last run of a requeued job began; None where it has no row."""

    def resized(self, core_id: int) -> int | None:
        """Return when a job got its present size; None for one that has had no other in its run."""

    @property
    def purges(self) -> Left:
        """What is left of rows where some were purged."""

    def every(self) -> Iterator[JobRecord]:
        """Yield all rows of jobs, also those that were purged."""

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

    def limit_step(self, live: LiveJob, step: Step) -> None:
        """Stop the step at the first scan after it has run for so long."""

    def kill_tasks_later(self, live: LiveJob, step: int | None) -> None:
        """KILL to the tasks of a step, None: of all, when KillWait is over."""

    def clean_at(self, instant: int, live: LiveJob, run: int, nodes: Bitmap) -> None:
        """From that instant on these nodes of a run that was ended are clean."""

    def miss_client(self, live: LiveJob) -> None:
        """Fail the job when slurmctld has tried for a while to tell its client that it has started."""

    def expedite_later(self, live: LiveJob) -> None:
        """Let a requeued job go first, behind all else of this instant."""


class Processes(Protocol):
    """What others need of jobs that really run (`slurmsim.slurmctld.processes.real_jobs.RealJobs`)."""

    executor: Executor

    def launch(self, live: LiveJob) -> None:
        """Start the job's script."""

    def tell(self, live: LiveJob, number: int, *, script_only: bool) -> None:
        """Signal the script of a job that runs, or all its processes."""

    def run_program(self, words: Sequence[str]) -> None:
        """Run a program that belongs to no job."""

    def switch_power(self, number: int) -> None:
        """Run a program that switches nodes on or off."""

    def run_for_job(self, live: LiveJob, kind: str, run: int, node: int) -> None:
        """Run a prolog or an epilog."""


def _ignore(live: LiveJob) -> None:
    """Do nothing: no client listens yet."""


class PowerSwitches(Protocol):
    """What switches nodes on and off (`slurmsim.slurmctld.processes.power_programs`)."""

    pending: dict[int, tuple[str, str, str, str]]

    def runs(self, kind: str) -> bool:
        """Return True if a program of that kind runs here."""

    def spec(self, number: int, folder: str, commands: str) -> dict[str, Any]:
        """Return what a supervisor runs: its own files lie in `folder`, the cluster's commands in `commands`."""

    def ended(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Take the news that a program is over. Raises Refusal for one that is not awaited."""

    def end_all(self) -> None:
        """Let all programs be over."""

    def is_valid(self, kind: str, name: str = "") -> bool:
        """Return True if that action may be taken."""

    def ask(self, nodes: Sequence[str], name: str | None) -> None:
        """Note which action is to be taken for nodes the next time; None for the default."""

    def registered(self, nodes: Sequence[str]) -> list[Fact]:
        """Return what the core is told when the slurmd of these nodes registers."""


class RereadHeard(Protocol):
    """What hears that the configuration was read again (`slurmsim.slurmctld.processes.event_triggers`)."""

    def note_reread(self) -> None:
        """Note that the configuration was read again."""


class LiveCluster:
    """The records of one cluster, without behaviour.

    Parameters
    ----------
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
    """

    # storage, timers: set by `Engine`: they hold the cluster themselves
    storage: Accounting
    timers: Timers
    event_triggers: RereadHeard
    power_programs: PowerSwitches
    real: Processes | None  # the same of jobs that really run; None until the journal has been replayed

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
        self.job_table = JobTable(cluster, jobs)
        self.node_reasons: NodeReasons = NodeReasons(network.controller)
        self.run_time, self.runs_jobs = run_time, runs_jobs
        self.flavour = "debian"  # the build of Slurm it is like (`slurmsim.releases.FLAVOURS`)
        self.dies_slowly = True  # jobs keep their nodes until their processes are gone
        self.runs_programs = False  # those that slurm.conf names run, as Prolog
        # called with a job when its clients may be waiting for news of it
        self.changed: Callable[[LiveJob], None] = _ignore
        self.conf_path, self.host = "/etc/slurm/slurm.conf", "localhost"
        self.conf = ConfFacts()  # slurm.conf as written
        # node_texts, partition_texts, reservation_texts: what scontrol changes and no scheduler needs: of nodes by
        # index, of the others by name
        self.node_texts: dict[int, dict[str, Any]] = {}
        self.partition_texts: dict[str, dict[str, Any]] = {}
        self.reservation_texts: dict[str, dict[str, Any]] = {}
        self.crontabs: dict[int, str] = {}  # tables of recurring jobs by the uid of their users
        self.given_cpus: dict[tuple[tuple[int, int], int], tuple[int, ...]] = {}
        self.dealt: tuple[Any, Any] = (None, None)  # numbers of CPUs, and what had happened when they were given out
        self.given_gres: dict[tuple[tuple[int, int], int, int], tuple[int, ...]] = {}
        self.release: str = release
        self.version: str = VERSIONS[release]
        self.last_end = network.start_time  # when a job ended last
        self.told_cpus: list[int] = []  # CPUs that jobs had of each node when slurmctld counted them last
        self.planned: Bitmap | None = None  # planned nodes as the present request has found them; None until it looks
        # by partition: its nodes, and the CPUs of the largest
        self.most_cpus: dict[str, tuple[Any, tuple[int, int]]] = {}

    @property
    def now(self) -> int:
        """The present instant."""
        return int(self.network.env.now)
