"""A live cluster in this process: ``with slurmsim.cluster(nodes=4, frozen=True) as c: …``.

The daemon is a thread, so that a new cluster costs milliseconds; its folder is a temporary one, its commands are put on
PATH for as long as the cluster lives, and nothing of it is left.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from slurmsim.data_classes import dataclass, replace
from slurmsim.errors import ConfigError, OutputError
from slurmsim.live.daemon import environment, prepare
from slurmsim.live.entered import ENTERED
from slurmsim.live.faults import Fault, inject
from slurmsim.live.going_on import check_going_on, given_in
from slurmsim.live.settings import Settings, exists, seconds_of
from slurmsim.protocol import FOLDER_VARIABLE, Client, Refusal, Unreachable
from slurmsim.releases import of_new

if TYPE_CHECKING:
    from slurmsim.live.web import Page
    from slurmsim.policy import Policy
    from slurmsim.policy.given import ChosenPolicy
    from slurmsim.slurmctld.server.server import Server

_CLOSE_S = 30.0  # the longest a single request of the engine may take
_GONE_S = 5.0
_AT_A_TIME = 2000  # jobs of one answer
_JOB_FIELDS = (
    "job_id", "array_job_id", "array_task_id", "name", "user_name", "account", "partition", "qos", "job_state",
    "state_reason", "submit_time", "eligible_time", "start_time", "end_time", "time_limit", "nodes", "num_nodes",
    "num_cpus", "priority", "exit_code", "restart_cnt", "work_dir", "std_out", "std_err", "comment",
)  # fmt: skip
_NODE_FIELDS = ("name", "state", "state_flags", "cpus", "alloc_cpus", "real_memory", "reason", "partitions")
_SHORT = {"user_name": "user", "job_state": "state", "state_reason": "reason", "restart_cnt": "restarts"}


class Record(dict[str, Any]):
    """One job or node: a dictionary with its keys as attributes, too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass(slots=True)
class Origin:
    """The file a cluster is made of, the clock it has then (None: as it was), and what goes with the file."""

    path: Path
    mode: str | None = None
    rate: float | None = None
    scratch: tempfile.TemporaryDirectory[str] | None = None

    def make(self, folder: Path) -> None:
        """Make the cluster, unless it has been."""
        from slurmsim.slurmctld.history.copies import make

        if not exists(folder):
            make(self.path, folder, mode=self.mode, rate=self.rate)
        if self.scratch is not None:
            self.scratch.cleanup()


class Cluster:
    """One running cluster; a context manager.

    Parameters
    ----------
    settings
        What it is like.
    folder
        Where it lives; None: a temporary folder, which is removed when the cluster is closed.
    origin
        A file another cluster was written to, of which this one is made.
    policy
        A policy that no package offers; this process offers it for as long as the cluster lives.

    Attributes
    ----------
    folder
        The cluster's.
    client
        A connection to the daemon as the cluster's owner, for calls that have no method here.
    """

    def __init__(
        self, settings: Settings, folder: Path | None = None, origin: Origin | None = None,
        policy: ChosenPolicy | None = None,
    ) -> None:  # fmt: skip
        self.settings, self._policy = settings, policy
        self._offers = ExitStack()
        self._temporary = folder is None
        self._given, self._origin = folder, origin
        self.client = Client("")  # `start` has the folder
        self._thread: threading.Thread | None = None
        self._server: Server | None = None
        self._life = threading.Lock()  # one starts or stops it at a time
        self._line = threading.Lock()  # one talks to it at a time

    # -- life -------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Cluster:
        self.folder = Path(tempfile.mkdtemp(prefix="slurmsim-")) if self._given is None else self._given.absolute()
        try:
            if self._policy is not None:
                from slurmsim.policy.registry import offering

                self._offers.enter_context(offering(self._policy.name, self._policy.make))
            if self._origin is not None:
                self._origin.make(self.folder)
            elif exists(self.folder):
                check_going_on(self.folder, self.settings, given_in(self.settings))
            self.start()
        except BaseException:
            self._offers.close()
            self._remove()
            raise
        ENTERED.enter(self.folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        ENTERED.leave(self.folder)
        server = self._server
        if server is not None:
            server.lasting = not self._temporary
        try:
            self.stop()
        finally:
            if server is not None and server.engine.real is not None:
                server.engine.real.executor.end_all()  # no script outlives its cluster
            self._offers.close()
            self._remove()

    def start(self) -> None:
        """Start the daemon, after `stop`; one that runs is left alone. Raises ConfigError, OutputError."""
        from slurmsim.slurmctld.server.start import open_cluster

        with self._life:
            if self._thread is not None and self._server is not None and self._thread.is_alive():
                if not self._server.is_stopping:
                    return
                self._thread.join(_CLOSE_S)  # a client stopped it, and it is on its way
            self.client.close()  # its daemon was stopped from outside
            prepared = prepare(self.folder, self.settings)
            server = None
            try:
                server = open_cluster(prepared.folder, prepared.header)
                thread = threading.Thread(target=_run, args=(server,), name="slurmctld", daemon=True)
                thread.start()
            except BaseException:  # no more threads, for instance
                if server is not None:
                    server.close()
                prepared.folder.close()
                raise
            self._server, self._thread = server, thread
            self.client = Client(str(self.folder), timeout_s=None)

    def stop(self) -> None:
        """Stop the daemon: clients find no controller until `start`. The state stays.

        May be called at any time, from any thread, once or more often: when it returns, nothing answers any more. What
        others were waiting for is not answered. Raises OutputError when the daemon does not end.
        """
        with self._life:
            if self._thread is None or self._server is None:
                return
            self._server.stop()
            self._thread.join(_CLOSE_S)
            if self._thread.is_alive():
                raise OutputError(f"the daemon in {self.folder} does not end")
            self._thread = self._server = None
            with self._line:  # the daemon has closed the connection, perhaps in the middle of a call
                self.client.close()

    def _remove(self) -> None:
        """Remove a temporary folder, also while the last supervisors write to it."""
        last = time.monotonic() + _GONE_S
        while self._temporary and self.folder.exists() and time.monotonic() < last:
            shutil.rmtree(self.folder, ignore_errors=True)

    # -- copies -----------------------------------------------------------------------------------------------------

    def snapshot(self, path: str | os.PathLike[str]) -> int:
        """Write the whole cluster as it is into a file, for `slurmsim.restore`; the instant.

        Raises ConfigError when the file cannot be written.
        """
        return int(self._call("snapshot", path=os.path.abspath(path))["now"])

    def fork(self) -> Cluster:
        """Return a copy of the cluster as it is at this moment, with a frozen clock; to be entered by ``with``.

        It answers the same commands and has a future of its own: whatever happens to it, this cluster does not know.
        What really runs here goes on here and is simulated there.
        """
        scratch = tempfile.TemporaryDirectory(prefix="slurmsim-fork-")
        path = Path(scratch.name) / "cluster"
        self.snapshot(path)
        origin = Origin(path, "frozen", scratch=scratch)
        return Cluster(replace(self.settings, mode="frozen"), None, origin, self._policy)

    # -- commands ---------------------------------------------------------------------------------------------------

    @property
    def environ(self) -> dict[str, str]:
        """What the cluster adds to the environment: PATH with its commands, and its folder."""
        found = environment(self.folder, os.environ)
        return {name: found[name] for name in ("PATH", FOLDER_VARIABLE)}

    def run(
        self, command: Sequence[str] | str, *, user: str | None = None, check: bool = False, input: str | None = None,
        cwd: str | Path | None = None, env: Mapping[str, str] | None = None, timeout_s: float | None = 60.0,
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        """Run a command (a string goes through the shell) and return what it printed, as text.

        Parameters
        ----------
        command, input, cwd, check
            As `subprocess.run` has them; `cwd` None: the present folder.
        user
            Which user of the cluster it acts as; None: the cluster's owner.
        env
            Variables on top of this process's.
        """
        environ = environment(self.folder, {**os.environ, **(env or {})}, user)
        return subprocess.run(
            command, shell=isinstance(command, str), env=environ, cwd=cwd, input=input, check=check, timeout=timeout_s,
            stdin=subprocess.DEVNULL if input is None else None, capture_output=True, text=True,
            encoding="utf-8", errors="surrogateescape",
        )  # fmt: skip

    def calls(self, command: str | None = None) -> list[Record]:
        """Return the command calls so far, or those of one command: ``argv``, ``user``, ``rc``, ``seconds``, ``at``."""
        return [Record(one) for one in self._call("calls", command=command)["calls"]]

    # -- the clock --------------------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """Cluster time, seconds since the epoch."""
        return int(self._call("clock", action="show")["now"])

    def step(self, amount: str | int | float) -> int:
        """Let time pass: seconds, or ``"90"``, ``"10m"``, ``"1h"``, ``"1d12h"``; the present then."""
        return int(self._call("clock", action="step", seconds=seconds_of(amount))["now"])

    def until_idle(self, limit: str | int = "366d") -> int:
        """Step until no job runs and none will start on its own, at most by `limit`; return the present then.

        Scripts that really run are waited for; cluster time stands still meanwhile.
        """
        return int(self._call("clock", action="until-idle", limit_s=seconds_of(limit))["now"])

    def freeze(self) -> int:
        """Let time stand still from now on; the present."""
        return int(self._call("clock", action="freeze")["now"])

    def rate(self, rate: float) -> int:
        """Let `rate` cluster seconds pass in a real one from now on; the present."""
        return int(self._call("clock", action="rate", rate=rate)["now"])

    def fast(self) -> int:
        """Let time jump from event to event from now on; the present."""
        return int(self._call("clock", action="fast")["now"])

    # -- what is there ------------------------------------------------------------------------------------------------

    def jobs(self) -> list[Record]:
        """Every job there ever was, a row an array task, in order of submission.

        ``state`` and ``reason`` are Slurm's words, times seconds since the epoch (0: not set), ``nodes`` names,
        ``exit_code`` as sacct prints it (``1:0``), ``time_limit`` minutes (None: none).
        """
        return self._jobs()

    def _jobs(self, **which: Any) -> list[Record]:
        rows: list[Record] = []
        after: int | None = -1
        while after is not None:
            answer = self._call("every_job", fields=list(_JOB_FIELDS), after=after, most=_AT_A_TIME, **which)
            rows += _records(answer, _JOB_FIELDS)
            after = answer["further"]
        for row in rows:
            status = row["exit_code"]
            row["exit_code"] = f"{status >> 8}:{status & 0x7F}"
            row["nodes"] = _names(row["nodes"])
        return rows

    def job(self, job_id: int | str) -> Record:
        """Return the job with that id, or the array task ``N_T``. Raises KeyError."""
        text = str(job_id).strip()
        number = text.partition("_")[0]
        for row in self._jobs(job_id=int(number)) if number.isdecimal() else ():
            if text in (str(row["job_id"]), f"{row['array_job_id']}_{row['array_task_id']}"):
                return row
        raise KeyError(job_id)

    def nodes(self) -> list[Record]:
        """Return all nodes: ``name``, ``state``, ``state_flags``, ``cpus``, ``alloc_cpus``, ``reason`` and more."""
        return self._rows("nodes", _NODE_FIELDS)

    def fail_node(self, nodes: str, reason: str = "Not responding") -> None:
        """Nodes of a hostlist stop responding: they are down, and their jobs requeued or lost."""
        self._call("node_action", action="fail", nodes=nodes, reason=reason)

    def drain_node(self, nodes: str, reason: str = "drained") -> None:
        """Nodes of a hostlist take no more jobs."""
        self._call("node_action", action="drain", nodes=nodes, reason=reason)

    def resume_node(self, nodes: str) -> None:
        """Nodes of a hostlist are back."""
        self._call("node_action", action="resume", nodes=nodes)

    def register_node(self, nodes: str) -> None:
        """Let the slurmd of these nodes register: nodes that boot are up from now on, as others that were off."""
        self._call("node_action", action="register", nodes=nodes)

    def _repr_html_(self) -> str:
        """For a notebook: nodes and jobs by state, and the queue."""
        from slurmsim.live.notebook import shown

        return shown(self)

    # -- faults -------------------------------------------------------------------------------------------------------

    def inject(self, what: str, **given: Any) -> Fault:
        """From now on something goes wrong, until the fault is ended (it is a context manager) or its time is over.

        Parameters
        ----------
        what
            A kind of fault: ``"timeout"``, ``"OUT_OF_MEMORY"``, ``"flap"`` … (docs/faults.md).
        given
            What it strikes (``command``, ``user``, ``job``: patterns), when (``every``, ``probability``, ``after``,
            ``times``, ``for_``, ``seed``), and what else its kind takes (``seconds=30``).

        Raises
        ------
        ConfigError
            There is no such fault, or a setting is wrong.
        """
        return inject(self._call, what, given)

    def answer(self, command: str, stdout: str = "", *, stderr: str = "", rc: int = 0, **given: Any) -> Fault:
        """From now on a command only prints this; `given` as `inject` has it (``times=2``). Raises ConfigError."""
        return self.inject("answer", command=command, stdout=stdout, stderr=stderr, rc=rc, **given)

    def why(self, job: int | str, *, offers: bool = True) -> Record:
        """Return why a job waits (`slurmsim.live.waiting.explain`). Raises ConfigError for a job squeue does not know.

        The answer has its reason with the numbers behind it, the jobs before it, its planned start, and what would
        start it now.
        """
        from slurmsim.live.waiting.explain import explain

        return Record(explain(self.folder, str(job), self.now, offers=offers))

    def web(self, *, control: bool = False) -> Page:
        """Serve a page to watch this cluster, in a process of its own: a context manager with the address as ``url``.

        `control`: the page may change clock, nodes and faults. Raises OutputError. Needs the extra ``web``.
        """
        from slurmsim.live.web import start_page

        return start_page(self.folder, may_change=control)

    def faults(self) -> list[Record]:
        """Return the injected faults: ``id``, ``what``, ``parameters``, what they strike, how often they ``met`` it."""
        return [Record(one) for one in self._call("faults")["faults"]]

    def _rows(self, call: str, fields: Sequence[str]) -> list[Record]:
        return _records(self._call(call, fields=list(fields)), fields)

    def _call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call the daemon. Raises ConfigError for what it refuses, OutputError when it is stopped."""
        try:
            with self._line:
                return self.client.call(name, **arguments)
        except Refusal as refusal:
            raise ConfigError(refusal.text) from None
        except Unreachable:
            raise OutputError(f"no daemon answers in {self.folder}") from None


def _records(answer: dict[str, Any], fields: Sequence[str]) -> list[Record]:
    columns = answer["columns"]
    return [Record({_SHORT.get(name, name): columns[name][k] for name in fields}) for k in range(answer["n"])]


def _run(server: Server) -> None:
    """Run the daemon in this thread; its folder is held as long as it runs."""
    from slurmsim.slurmctld.server.server import run_server

    try:
        run_server(server)
    finally:
        server.folder.close()


def _names(hostlist: str | None) -> list[str]:
    from slurmsim.hostlist import expand

    return expand(hostlist) if hostlist else []


def cluster(
    nodes: int = 4, cpus_per_node: int = 8, gpus_per_node: int = 0, *, conf: str | os.PathLike[str] | None = None,
    accounting: Sequence[str | os.PathLike[str]] = (), frozen: bool = False, fast: bool = False,
    rate: float | None = None, start: int | str | None = None, jobs: str | None = None,
    users: Mapping[str, int | str] | None = None, operators: Sequence[str] = (), slurm_version: str | None = None,
    flavour: str = "upstream",
    streams: str | os.PathLike[str] | None = None, power: Mapping[str, str | float] | None = None,
    folder: str | os.PathLike[str] | None = None, policy: str | type[Policy] | Policy | None = None,
    allow_code: bool = False, boot_time: int = 60,
) -> Cluster:  # fmt: skip
    """Return a live cluster for ``with``: sbatch, squeue and their family on PATH until its end.

    Parameters
    ----------
    nodes, cpus_per_node, gpus_per_node
        A made-up cluster of equal nodes ``n1`` …
    conf
        Path of a slurm.conf instead.
    accounting
        Paths of associations and QOS.
    frozen, fast, rate
        The clock: standing still until it is stepped, jumping from event to event, or at `rate` cluster seconds a real
        second; the machine's time without any of them.
    start
        First instant: seconds since the epoch or ``YYYY-MM-DDThh:mm:ss`` (UTC with a Z).
    jobs
        ``"run"``: batch scripts really run; ``"simulate"``: they seem to. Without it they run, unless the clock is
        frozen or fast.
    users
        Simulated users: name -> uid, or ``"uid:group:gid:home"``. Others are made up when they are named.
    operators
        Names of users who may cancel, hold, requeue and update the jobs of all users, and make reservations.
    slurm_version
        The release to be like; without it that of ``SLURMSIM_DEFAULT_RELEASE``, else 26.05.
    flavour
        The build of it: ``upstream`` or ``debian``, which differ in what ``--version`` says.
    streams
        Path of streams of jobs in TOML: simulated users who submit by themselves.
    power
        Options of power, as `slurmsim.run` has them: ``{"power_budget": 1500, "idle_w": 10}``.
    folder
        Where the cluster lives; without it a temporary folder that is removed at the end.
    policy
        As `slurmsim.run` has it, in place of the conf's SchedulerType. A class, an instance or a class in a file is
        known to this process only: who goes on with `folder` gives it again.
    allow_code
        Whether programs that the conf names run: Prolog, Epilog, TaskProlog, TaskEpilog.
    boot_time
        Seconds a node takes to boot, after a reboot or from being powered down.

    Raises
    ------
    ConfigError
        An argument is wrong, or there is a cluster in `folder` that was made otherwise.
    PolicyError
        The policy cannot be loaded.
    """
    mode = _mode(frozen, fast, rate) or "real"
    settings = Settings(
        nodes=nodes, cpus_per_node=cpus_per_node, gpus_per_node=gpus_per_node,
        conf=None if conf is None else os.fspath(conf), accounting=tuple(os.fspath(path) for path in accounting),
        mode=mode, rate=1.0 if rate is None else rate, start=start, jobs=jobs,
        users={name: str(text) for name, text in (users or {}).items()},
        release=slurm_version or of_new(os.environ), flavour=flavour,
        operators=tuple(operators), streams=None if streams is None else os.fspath(streams),
        power={name: str(value) for name, value in (power or {}).items()},
        allow_code=allow_code, boot_time=boot_time,
    )  # fmt: skip
    named, chosen = ("", None) if policy is None else _chosen(policy)
    return Cluster(replace(settings, policy=named), None if folder is None else Path(folder), policy=chosen)


def _chosen(policy: str | type[Policy] | Policy) -> tuple[str, ChosenPolicy | None]:
    """Return what a slurm.conf says of a policy, and the policy if no package offers it."""
    from slurmsim.policy.given import as_option, choose_policy
    from slurmsim.policy.policy_file import in_file

    option = as_option(policy)
    assert option is not None
    chosen = choose_policy(option)
    if isinstance(option, str) and in_file(option) is None:
        chosen.make()  # raises for wrong options
        return option.removeprefix("sched/"), None
    return chosen.name, chosen


def restore(
    path: str | os.PathLike[str], *, frozen: bool = False, fast: bool = False, rate: float | None = None,
    folder: str | os.PathLike[str] | None = None, policy: str | type[Policy] | Policy | None = None,
) -> Cluster:  # fmt: skip
    """Return the cluster that `Cluster.snapshot` or ``slurmsim snapshot`` wrote to `path`, for ``with``.

    Parameters
    ----------
    frozen, fast, rate
        Its clock, as `cluster` has them; without any of them it goes on as the first one's went.
    folder
        Where it lives; without it a temporary folder that is removed at the end.
    policy
        The policy it has, if no package offers that.

    Raises
    ------
    ConfigError
        An argument is wrong, or there is a cluster in `folder`.
    OutputError, WorkloadError
        The file cannot be read, is damaged, or is a newer slurmsim's.
    """
    origin = Origin(Path(path).absolute(), _mode(frozen, fast, rate), rate)
    chosen = None if policy is None else _chosen(policy)[1]
    return Cluster(Settings(), None if folder is None else Path(folder), origin, chosen)


def _mode(frozen: bool, fast: bool, rate: float | None) -> str | None:
    """Return the clock these mean; None for none of them. Raises ConfigError for more than one."""
    if frozen + fast + (rate is not None) > 1:
        raise ConfigError("frozen, fast and rate exclude each other", field="clock", expected="one of them")
    return "frozen" if frozen else "fast" if fast else "running" if rate is not None else None
