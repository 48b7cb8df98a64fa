"""Jobs that really run: what their supervisor is told, and what its news mean to the controller."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from slurmsim.core.job import Job
from slurmsim.core.messages import JobEnded
from slurmsim.slurmctld.live_job import LiveJob
from slurmsim.slurmctld.output_files import file_name
from slurmsim.slurmd.environment import batch_environment
from slurmsim.slurmd.executor import Executor
from slurmsim.slurmd.supervisor import LAUNCH_FAILED
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.slurmctld.engine import Engine

DIRECTIVE = re.compile(r"^\s*#SLURMSIM\s", re.MULTILINE)
After = Callable[[float, Callable[[], None]], None]


def is_real(asked: Mapping[str, Any]) -> bool:
    """Whether a batch job of a cluster that runs jobs is to run, and not to be simulated."""
    script = asked.get("script")
    environment = asked.get("environment") or {}
    return bool(script) and not DIRECTIVE.search(str(script)) and "SLURMSIM_RUNTIME" not in environment


class RealJobs:
    """The link between one engine and the processes of its jobs.

    Parameters
    ----------
    engine, executor
        Of one cluster.
    after
        Calls a function that many real seconds from now.
    conf
        What SLURM_CONF says.
    """

    def __init__(self, engine: Engine, executor: Executor, after: After, conf: str) -> None:
        self.engine, self.executor, self.after, self.conf = engine, executor, after, conf
        self._waiting: list[LiveJob] = []
        self._kill_wait = float(engine.cluster.option("KillWait"))

    def adopt(self, engine: Engine) -> None:
        """Go on with another engine, made of the same journal."""
        self.engine, engine.real = engine, self
        self._waiting.clear()

    def launch(self, live: LiveJob) -> None:
        """Start the job's script at the next `flush`, when what led to it has been written down."""
        self._waiting.append(live)

    def flush(self) -> None:
        """Start what waits."""
        waiting, self._waiting = self._waiting, []
        for live in waiting:
            if live.core.state == JobState.RUNNING:
                self._start(live)

    def _start(self, live: LiveJob) -> None:
        core = live.core
        spec = {
            "work_dir": live.asked.get("work_dir") or "/", "umask": live.asked.get("umask", 0o22),
            "append": live.asked.get("open_mode") == "append" or core.restarts > 0,
            "std_in": file_name(live, "std_in") or "/dev/null", "std_out": file_name(live, "std_out"),
            "std_err": file_name(live, "std_err"), "rlimits": live.asked.get("rlimits") or {},
            "script_name": "slurm_script", "argv": live.asked.get("argv") or [],
            "environment": self._environment(live), "socket": str(self.executor.folder.parent / "slurmctld.sock"),
        }  # fmt: skip
        self.executor.start(core.id, core.restarts, str(live.asked["script"]), spec)

    def kill(self, core_id: int, restarts: int) -> None:
        """TERM now, KILL when KillWait is over."""
        self.executor.terminate(core_id, restarts)
        self.after(self._kill_wait, lambda: self.executor.kill(core_id, restarts))

    def news(self) -> list[dict[str, int]]:
        """Runs that ended while nobody was listening, as arguments of the call ``ended``."""
        found = []
        for core_id, restarts in self.executor.runs():
            live = self.engine.jobs.get(core_id)
            if live is None or live.over or live.core.restarts != restarts or live.core.start_time is None:
                continue
            status = self.executor.status(core_id, restarts)
            if status is None and self.executor.lost(core_id, restarts):
                status = LAUNCH_FAILED
            if status is not None:
                found.append({"core_id": core_id, "restarts": restarts, "status": status})
        return found

    def _environment(self, live: LiveJob) -> dict[str, str]:
        core, asked, state = live.core, live.asked, self.engine.controller.state
        alloc = core.alloc
        assert alloc is not None
        cpus = state.cpus_per_node(alloc)
        request = core.sub.request
        tasks = _tasks_per_node(core)
        facts: dict[str, Any] = {
            "job_id": live.id, "name": asked.get("name"), "partition": core.partition.name,
            "user": live.person.name, "uid": live.person.uid, "gid": live.person.gid,
            "account": core.account or None, "qos": core.qos or None, "reservation": core.reservation_name or None,
            "n_nodes": core.n_nodes, "nodes": state.node_list(alloc),
            "first_node": self.engine.controller.table.names[int(alloc.indices()[0])],
            "cpus_per_node": cpus, "tasks_per_node": tasks, "cpus_on_node": cpus.partition("(")[0].partition(",")[0],
            "n_tasks": request.n_tasks or None, "ntasks_per_node": request.tasks_per_node or None,
            "cpus_per_task": asked.get("cpus_per_task"),
            "mem_per_cpu": core.shape.mem_cpu or None, "mem_per_node": core.shape.mem_node or None,
            "submit_dir": asked.get("submit_dir") or asked.get("work_dir"),
            "submit_host": asked.get("alloc_node") or "localhost",
            "cluster": self.engine.cluster.name, "conf": self.conf, "restarts": core.restarts,
        }  # fmt: skip
        if live.array is not None:
            indices = sorted(live.array.tasks)
            step = re.findall(r":(\d+)", live.array.asked.partition("%")[0])
            facts |= {
                "array_job_id": live.array.id, "array_task_id": live.task, "array_count": len(indices),
                "array_min": indices[0], "array_max": indices[-1], "array_step": step[-1] if step else 1,
            }  # fmt: skip
        return batch_environment(facts, asked.get("environment") or {})


def _tasks_per_node(core: Job) -> str:
    """SLURM_TASKS_PER_NODE: the tasks of each node, run-length coded."""
    request, alloc = core.sub.request, core.alloc
    assert alloc is not None
    cpus = [alloc.cpus] * alloc.n_nodes if isinstance(alloc.cpus, int) else alloc.cpus.tolist()
    if request.tasks_per_node:
        counts = [request.tasks_per_node] * alloc.n_nodes
    elif not request.n_tasks:
        counts = (
            [1] * alloc.n_nodes if request.exclusive is False else [max(n // request.cpus_per_task, 1) for n in cpus]
        )
    else:
        left = request.n_tasks
        counts = []
        for k, n in enumerate(cpus):
            share = max(1, min(n // request.cpus_per_task, left - (alloc.n_nodes - k - 1)))
            counts.append(share)
            left -= share
    return run_length(counts)


def run_length(counts: list[int]) -> str:
    """``4(x2),2``.

    >>> run_length([4, 4, 2]), run_length([1])
    ('4(x2),2', '1')
    """
    parts: list[str] = []
    k = 0
    while k < len(counts):
        last = k
        while last + 1 < len(counts) and counts[last + 1] == counts[k]:
            last += 1
        parts.append(f"{counts[k]}(x{last - k + 1})" if last > k else str(counts[k]))
        k = last + 1
    return ",".join(parts)


def ended(core: Job, restarts: int, status: int) -> tuple[JobEnded, bool]:
    """The fact of a wait status, and whether the script never ran."""
    if status == LAUNCH_FAILED:
        return JobEnded(core.id, JobState.FAILED, f"0:{LAUNCH_FAILED}", restarts), True
    signal, code = status & 0x7F, status >> 8 & 0xFF
    state = JobState.COMPLETED if not signal and not code else JobState.FAILED
    return JobEnded(core.id, state, f"{code}:{signal}", restarts), False
