"""A bare world around the controller: facts in, actions out, no SimPy. The smallest driver there can be.

w = World(CONF, "easy")
w.sbatch("-J a -N2 -t 10", run=300)
w.until(1000)
assert w.start("a") == 0
"""

from __future__ import annotations

import argparse
import heapq
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from slurmsim.config.load import parse_cluster
from slurmsim.config.option import OLDEST
from slurmsim.core.controller.controller import Controller
from slurmsim.core.placement.gres import agreed
from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import (
    AskSolver,
    Boot,
    Cancel,
    Continue,
    EditRefused,
    Fact,
    Finished,
    JobEnded,
    Kill,
    Launch,
    NodesBooted,
    Pause,
    Refused,
    ReservationRefused,
    Solved,
    Submit,
)  # fmt: skip
from slurmsim.errors import SubmitError
from slurmsim.model.accounting import Accounting
from slurmsim.model.request import GresRequest, ResourceRequest
from slurmsim.model.submission import Submission
from slurmsim.policy import load_policy, parse_policy
from slurmsim.sim.solving import solve

HEAD = """ClusterName=test
SlurmctldHost=localhost
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
"""


def simple(nodes: int = 4, cpus: int = 1, more: str = "", partition: str = "") -> str:
    """slurm.conf of `nodes` equal nodes n1, n2, … in one partition without a time limit."""
    return (
        f"{HEAD}{more}\nNodeName=n[1-{nodes}] CPUs={cpus} CoresPerSocket={cpus}\n"
        f"PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED {partition}\n"
    )


class World:
    """A controller, a clock, and processes that end.

    Parameters
    ----------
    conf
        slurm.conf text.
    policy
        Entry-point name, with options as --policy takes them.
    start
        When slurmctld starts, seconds.
    topology
        topology.conf text.
    boot
        Seconds a node takes to boot.
    plan_all
        Let backfill make every cycle and plan the whole queue in it, also where that starts nothing. Without
        `every_cycle` only those that something happened before.
    accounting
        Associations and QOS.
    epilog, term
        Seconds an epilog takes, and processes that are told to end.
    release
        Whose decisions are made.
    resources
        resources.yaml text.
    """

    def __init__(
        self,
        conf: str,
        policy: str = "easy",
        *,
        start: int = 0,
        topology: str = "",
        plan_all: bool = False,
        every_cycle: bool = True,
        boot: int = 30,
        accounting: Accounting | None = None,
        epilog: int = 0,
        term: int = 0,
        release: str = "22.05",
        gres: str = "",
        resources: str = "",
    ) -> None:
        self.cluster, self.findings = parse_cluster(
            conf, topology_lines=topology, gres_lines=gres, resources_yaml=resources,
            release=release if resources else OLDEST,
        )  # fmt: skip
        self.cluster = replace(self.cluster, release=release)
        name, options = parse_policy(policy)
        if plan_all:
            self.cluster = replace(self.cluster, watched=True)
            if every_cycle and name == "backfill":
                options["every_cycle"] = "1"
        self.controller = Controller(
            self.cluster, load_policy(name)(options), start, accounting=accounting, epilog_s=epilog, term_s=term
        )
        self.now = start
        self.jobs: dict[str, Job] = {}
        self.all: dict[int, Job] = {}  # the same by id, for jobs that share a name
        self.refused: dict[str, str] = {}
        self.told: list[tuple[int, list[Fact]]] = []
        self.boot = boot
        self.solving = 0  # seconds a solver takes
        self._next_id = 1
        self._future: list[tuple[int, int, Fact]] = []
        self._count = 0
        self._run: dict[int, tuple[int | None, str, str]] = {}
        self._names: dict[int, str] = {}
        self._left: dict[int, int | None] = {}
        self._since: dict[int, int] = {}
        self._timer: dict[int, int] = {}
        self._void: set[int] = set()

    # -- what users do --------------------------------------------------------------------------------------------

    def tell(self, fact: Fact, at: int | None = None) -> None:
        """Tell the controller `fact` at `at` (now when not given)."""
        self._count += 1
        heapq.heappush(self._future, (self.now if at is None else at, self._count, fact))

    def sbatch(
        self, line: str, run: int | None = None, *, at: int | None = None, state: str = "COMPLETED", user: str = "alice"
    ) -> int:
        """Submit with sbatch's options; `run` is how long it would run (None: until killed). Returns the job id."""
        asked = _PARSER.parse_args(shlex.split(line))
        first = self._next_id
        tasks = _tasks(asked.array)
        for task in tasks:
            job_id = self._next_id
            self._next_id += 1
            sub = _submission(asked, job_id, first, task, user)
            self._names[job_id] = sub.name if task is None else f"{sub.name}_{task}"
            base, _, code = state.partition(":")
            self._run[job_id] = (run, base, "0:0" if base == "COMPLETED" else f"{code or 1}:0")
            self.tell(Submit(sub), at)
        return first

    def scancel(self, name: str, at: int | None = None) -> None:
        self.tell(Cancel(self.id(name)), at)

    def fails(self, name: str) -> None:
        """The job `name` will end FAILED, 1:0."""
        job_id = self.id(name)
        self._run[job_id] = (self._run[job_id][0], "FAILED", "1:0")

    # -- time -----------------------------------------------------------------------------------------------------

    def until(self, time: int) -> None:
        """Let everything up to and including `time` happen."""
        while True:
            times = [self._future[0][0]] if self._future else []
            wake = self.controller.wake_at()
            if wake is not None:
                times.append(wake)
            if not times or min(times) > time:
                break
            self._instant(max(min(times), self.now))
        self.now = time

    def _instant(self, now: int) -> None:
        facts: list[Fact] = []
        while self._future and self._future[0][0] <= now:
            _, count, fact = heapq.heappop(self._future)
            if count not in self._void:
                facts.append(fact)
        self.now = now
        self.told.append((now, list(facts)))
        names = self._names
        actions = self.controller.step(now, facts)
        for job in self.controller.state.jobs.values():
            self.jobs[names[job.id]] = self.all[job.id] = job
        for action in actions:
            if isinstance(action, Finished):
                self.jobs[names[action.job.id]] = self.all[action.job.id] = action.job
            elif isinstance(action, Refused):
                self.refused[names[action.sub.job_id]] = action.text
            elif isinstance(action, AskSolver):
                self.tell(Solved(action.number, solve(action.solver, action.request)), now + self.solving)
            elif isinstance(action, Boot):
                self.tell(NodesBooted(action.nodes), now + self.boot)
            elif isinstance(action, ReservationRefused):
                self.refused[action.name] = action.text
            elif isinstance(action, EditRefused):
                self.refused[names[action.job_id]] = action.text
            elif isinstance(action, Launch):
                self._go_on(action.job, self._run[action.job.id][0])
            elif isinstance(action, Kill):
                self._void.add(self._timer.get(action.job.id, 0))
            elif isinstance(action, Pause):
                self._pause(action.job)
            elif isinstance(action, Continue):
                self._go_on(action.job, self._left[action.job.id])
        self.controller.check()

    def _go_on(self, job: Job, left: int | None) -> None:
        """The job's processes run and have `left` seconds to go."""
        _, state, code = self._run[job.id]
        self._left[job.id] = left
        self._since[job.id] = self.now
        if left is not None:
            self.tell(JobEnded(job.id, state, code, job.restarts), self.now + left)
            self._timer[job.id] = self._count

    def _pause(self, job: Job) -> None:
        left = self._left[job.id]
        if left is not None:
            self._left[job.id] = left - (self.now - self._since[job.id])
            self._void.add(self._timer[job.id])

    # -- what there is to see -------------------------------------------------------------------------------------

    def id(self, name: str) -> int:
        return next(i for i, n in self._names.items() if n == name)

    def __getitem__(self, name: str) -> Job:
        return self.jobs[name]

    def start(self, name: str) -> int | None:
        return self.jobs[name].start_time

    def starts(self, names: str) -> dict[str, int | None]:
        """Start times of the jobs named in one string, in that order."""
        return {name: self.start(name) for name in names.split()}

    def nodes(self, name: str) -> str:
        """Where the job runs or ran, as Slurm writes it; "" when it never started."""
        alloc = self.jobs[name].alloc
        return "" if alloc is None else self.controller.state.cluster.node_list(alloc)

    def shares(self, name: str) -> str:
        """CPUs on each node, as ``8(x2),4``."""
        alloc = self.jobs[name].alloc
        assert alloc is not None
        return self.controller.state.cluster.cpus_per_node(alloc)

    def reason(self, name: str) -> str:
        return self.jobs[name].reason

    def reasons(self, names: str) -> dict[str, str]:
        return {name: self.jobs[name].reason for name in names.split()}

    def state(self, name: str) -> str:
        return self.jobs[name].state

    def planned(self, name: str) -> tuple[int | None, str]:
        """Planned start and nodes, as ``squeue --start`` shows them."""
        from slurmsim.bitmap import runs

        job = self.jobs[name]
        nodes = self.controller.state.cluster.namer.runs(runs(job.planned_nodes)) if job.planned_nodes else ""
        return job.planned_start, nodes


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sbatch", add_help=False)
    add = parser.add_argument
    add("-J", dest="name", default="")
    add("-N", dest="nodes", default="")
    add("-n", dest="tasks", type=int, default=0)
    add("-c", dest="cpus", type=int, default=0)
    add("-t", dest="limit", default=None)
    add("-p", dest="partitions", default="")
    add("-w", dest="node_list", default="")
    add("-x", dest="exclude", default="")
    add("-C", dest="constraint", default="")
    add("-a", dest="array", default="")
    add("-d", dest="dependency", default="")
    add("-H", dest="hold", action="store_true")
    add("-s", dest="oversubscribe", action="store_true")
    add("--exclusive", nargs="?", const="node", default="")
    add("--spread-job", dest="spread", action="store_true")
    add("--use-min-nodes", dest="use_min_nodes", action="store_true")
    add("--switches", default="", help="count@seconds")
    add("--contiguous", action="store_true")
    add("--kill-on-invalid-dep", dest="kill_invalid", choices=("yes", "no"), default=None)
    add("--no-kill", dest="no_kill", action="store_true")
    add("--no-requeue", dest="requeue", action="store_false")
    add("--ntasks-per-node", dest="per_node", type=int, default=0)
    add("--mem", type=int, default=None)
    add("--mem-per-cpu", type=int, default=None)
    add("--gres", default="")
    add("--gpus", default="")
    add("--gpus-per-node", dest="gpus_node", default="")
    add("--gpus-per-socket", dest="gpus_socket", default="")
    add("--sockets-per-node", dest="sockets", type=int, default=1)
    add("--gpus-per-task", dest="gpus_task", default="")
    add("--mem-per-gpu", dest="mem_gpu", type=int, default=None)
    add("--cpus-per-gpu", dest="cpus_gpu", type=int, default=0)
    add("--ntasks-per-gpu", dest="tasks_gpu", type=int, default=0)
    add("--ntasks-per-socket", dest="per_socket", type=int, default=0)
    add("--gres-flags", dest="gres_flags", default="")
    add("--tres-per-task", dest="tres_task", default="", help="gres/shard:2")
    add("-m", dest="distribution", default="")
    add("--nice", type=int, default=0)
    add("--begin", type=int, default=None, help="absolute simulated second")
    add("--priority", type=int, default=None)
    add("-A", dest="account", default="")
    add("-q", "--qos", dest="qos", default="")
    add("--reservation", default="")
    add("-L", dest="licenses", default="")
    add("--time-min", dest="time_min", default=None)
    add("--deadline", type=int, default=None, help="absolute simulated second")
    return parser


_PARSER = _make_parser()


def _hosts(text: str) -> tuple[str, ...]:
    from slurmsim.hostlist import expand

    return tuple(expand(text)) if text else ()


def _tasks(text: str) -> list[int | None]:
    """Indices of ``0-9%3`` or ``1,3-5,20-40:10``."""
    if not text:
        return [None]
    found: list[int | None] = []
    for part in text.partition("%")[0].split(","):
        span, _, step = part.partition(":")
        low, _, high = span.partition("-")
        found += range(int(low), int(high or low) + 1, int(step or 1))
    return found


def _seconds(text: str | None) -> int | None:
    """Minutes, or seconds as ``90s``."""
    if text is None:
        return None
    return int(text[:-1]) if text.endswith("s") else int(text) * 60


def _gres(asked: argparse.Namespace) -> tuple[GresRequest, ...]:
    found = []
    for text, prefix, scope in (
        (asked.gres, "", "node"), (asked.gpus, "gpu:", "job"), (asked.gpus_node, "gpu:", "node"),
        (asked.gpus_task, "gpu:", "task"), (asked.gpus_socket, "gpu:", "socket"),
        (asked.tres_task.removeprefix("gres/"), "", "task"),
    ):  # fmt: skip
        for item in filter(None, text.split(",")):
            name, *rest = (prefix + item).split(":")
            count = int(rest.pop()) if rest and rest[-1].isdigit() else 1
            found.append(GresRequest(name, rest[0] if rest else "", count, scope))
    return tuple(found)


def _submission(asked: argparse.Namespace, job_id: int, first: int, task: int | None, user: str) -> Submission:
    low, dash, high = asked.nodes.partition("-")
    min_nodes = int(low or 1)
    max_nodes = int(high) if dash else (min_nodes if low else 0)
    if dash and asked.tasks:
        max_nodes = max(min(max_nodes, asked.tasks), min_nodes)
    request = ResourceRequest(
        min_nodes, max_nodes, asked.tasks, asked.cpus or 1, asked.per_node, asked.mem, asked.mem_per_cpu,
        _gres(asked), asked.exclusive == "node", asked.oversubscribe, asked.constraint,
        _hosts(asked.node_list), _hosts(asked.exclude), asked.contiguous, asked.exclusive == "user", asked.spread,
        asked.use_min_nodes, int(asked.switches.partition("@")[0] or 0),
        int(asked.switches.partition("@")[2]) if "@" in asked.switches else None, asked.mem_gpu,
        sockets_per_node=asked.sockets, cpus_per_gpu=asked.cpus_gpu, cpus_given=bool(asked.cpus),
        tasks_per_gpu=asked.tasks_gpu, tasks_per_socket=asked.per_socket,
        one_task_per_sharing=asked.gres_flags == "one-task-per-sharing",
        enforce_binding=asked.gres_flags == "enforce-binding", block_cores=asked.distribution.endswith(":block"),
    )  # fmt: skip
    with suppress(SubmitError):  # the controller refuses it
        request = agreed(request)
    options: Mapping[str, Any] = {} if task is None else {
        "array_job_id": first, "array_task_id": task, "array_limit": int(asked.array.partition("%")[2] or 0) or None,
    }  # fmt: skip
    return Submission(
        job_id, request, _seconds(asked.limit), name=asked.name or str(job_id), user=user,
        partitions=tuple(filter(None, asked.partitions.split(","))), begin=asked.begin, nice=asked.nice,
        priority=asked.priority, hold=asked.hold, dependency=asked.dependency, requeue=asked.requeue,
        account=asked.account, qos=asked.qos, no_kill=asked.no_kill, reservation=asked.reservation,
        kill_invalid=None if asked.kill_invalid is None else asked.kill_invalid == "yes", licenses=asked.licenses,
        time_min_s=_seconds(asked.time_min), deadline=asked.deadline, **options,
    )  # fmt: skip
