"""Jobs that really run: what their supervisor is told, and what its news mean to the controller."""

from __future__ import annotations

import asyncio
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from slurmsim import sluid, stepd_notices
from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import JobEnded
from slurmsim.core.records.node_names import run_length
from slurmsim.errors import OutputError
from slurmsim.gres_words import told_per_task
from slurmsim.numerals import is_number
from slurmsim.release_changes import since
from slurmsim.releases import PROTOCOLS, row
from slurmsim.slurmctld.base import het_jobs
from slurmsim.slurmctld.base.job_cpus import cpus_on_nodes
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.simulated import is_real
from slurmsim.slurmctld.base.step import BATCH
from slurmsim.slurmctld.base.stepmgr import has_stepmgr
from slurmsim.slurmctld.base.submit_request import array_tasks
from slurmsim.slurmctld.fields.gres_ids import gpu_devices, shares_told
from slurmsim.slurmctld.fields.network_address import network_address
from slurmsim.slurmctld.fields.output_files import file_name
from slurmsim.slurmctld.fields.sharing import exclusive
from slurmsim.slurmctld.processes import job_termination, node_programs
from slurmsim.slurmctld.processes.running_programs import RunningPrograms
from slurmsim.slurmctld.processes.step_gpus import variables_of
from slurmsim.slurmctld.processes.step_places import lay_out
from slurmsim.slurmd.environment import batch_environment
from slurmsim.slurmd.script_runner import Executor
from slurmsim.slurmd.supervisor import LAUNCH_FAILED
from slurmsim.states import JobState
from slurmsim.temporary_folder import temporary_folder

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

REQUEUE_GRACE_S = 0.5
TOLD_S = 0.015  # real seconds in which an srun hears of what it is told: it says so before the next thing is told
END_ROOM = 1024
"""Bytes of the journal that are kept for the end of each run: a full disk does not keep ends from being recorded."""
Run = tuple[int, int]  # core id and restarts of one run of a job
Pending = tuple[list[LiveJob], list[Callable[[], None]], list[Run]]
"""Scripts to start, runs to end and runs to forget once what led to it is on the disk."""


class RealJobs:
    """The link between one cluster and the processes of its jobs.

    Parameters
    ----------
    reserve
        Takes room in its journal, or raises OutputError.
    """

    def __init__(self, cluster: LiveCluster, executor: Executor, reserve: Callable[[int], None]) -> None:
        self.cluster, self.executor, self._reserve = cluster, executor, reserve
        self.programs = RunningPrograms(cluster, executor)
        self._waiting: list[LiveJob] = []
        self._ending: list[Callable[[], None]] = []
        self._noticed: set[Run] = set()  # runs with a notice of their end in their output
        self._later: dict[Run, tuple[asyncio.TimerHandle, Callable[[], None]]] = {}  # what waits to be told to end
        executor.forget_unborn()
        self._begun: set[Run] = set(executor.runs())  # runs that have not been told to have ended
        self._told: set[Run] = set()  # runs with their end in the journal, now or with its next sync
        with suppress(OutputError):  # none to be had: ends are recorded when there is
            reserve(self.room)
        self._left = dict.fromkeys(self._begun, 0.0)  # runs of an earlier daemon -> when an unwanted one is killed

    @property
    def room(self) -> int:
        """Bytes of the journal that are kept for ends."""
        return END_ROOM * len(self._begun)

    def adopt(self, cluster: LiveCluster) -> None:
        """Go on with another cluster, made of the same journal."""
        self.cluster, cluster.real = cluster, self
        self.programs.cluster = cluster
        self._waiting.clear()
        self._ending.clear()
        self._begun |= self._told  # what the journal does not have is told again
        self._told.clear()

    def launch(self, live: LiveJob) -> None:
        """Start the job's script at the next `flush`, when what led to it has been written down."""
        self._waiting.append(live)

    @property
    def starting(self) -> bool:
        """True if scripts wait for `flush`."""
        return bool(self._waiting)

    def take(self) -> Pending | None:
        """Return what has come up to be done since the last time, for `flush`; None for nothing."""
        waiting, self._waiting = self._waiting, []
        ending, self._ending = self._ending, []
        return (waiting, ending, list(self._told)) if waiting or ending or self._told else None

    def flush(self, pending: Pending) -> None:
        """Start what was `pending`, end what was to end; forget of it what is quiet by now."""
        waiting, ending, told = pending
        for live in waiting:
            if live.core.state == JobState.RUNNING:
                with suppress(OSError, OutputError):  # a full disk: `tend` tries again
                    self._start(live)
        for end in ending:
            end()
        for run in told:
            if run in self._told and self.executor.is_quiet(*run):
                self._forget(run)

    def over(self, core_id: int, restarts: int) -> None:
        """Note that the end of that run is on the disk at the next `flush`; its folder goes with its last process."""
        self._begun.discard((core_id, restarts))
        self._told.add((core_id, restarts))

    def _forget(self, run: Run) -> None:
        self.executor.forget(*run)
        self._noticed.discard(run)
        self._begun.discard(run)
        self._told.discard(run)
        self._left.pop(run, None)

    def tend(self, *, kept: bool) -> list[dict[str, int]]:
        """Have started what could not be so far; runs that ended untold, as arguments of ``ended``.

        `kept` says whether all that was decided is on the disk; nothing starts and nothing is forgotten without.
        """
        self.executor.reap()
        if kept:
            for live in self._running():
                self.launch(live)
            if pending := self.take():
                self.flush(pending)
            for run in [run for run in self._told if not self.executor.supervised(*run)]:
                self._forget(run)  # what is left of it is dead, and waits for a parent that does not care
        self._begun &= set(self.executor.runs())  # without those that could not be started
        return self.news()

    def _running(self) -> list[LiveJob]:
        found = (self.cluster.jobs.get(core_id) for _, core_id, _ in self.cluster.controller.state.running)
        return [live for live in found if live is not None and is_real(live.asked) and not live.configures]

    def _start(self, live: LiveJob) -> None:
        core = live.core
        run = core.id, core.restarts
        self._reserve(END_ROOM * len(self._begun | {run}))
        environment = self._environment(live)
        environment["TMPDIR"], wrong = temporary_folder(environment.get("TMPDIR"))
        notice = stepd_notices.line("", self._node(core), self.cluster.now, self.cluster.release)
        spec = {
            "work_dir": live.asked.get("work_dir") or "/", "umask": live.asked.get("umask", 0o22),
            "append": live.asked.get("open_mode") == "append" or core.restarts > 0,
            "std_in": self._file(live, "std_in") or "/dev/null", "std_out": self._file(live, "std_out"),
            "std_err": self._file(live, "std_err"), "rlimits": live.asked.get("rlimits") or {},
            "argv": live.asked.get("argv") or [], "place": f"{self._node(core)}/job{live.id:05d}",
            "make_folders": since(self.cluster.release, "output_folders_made"), "memory": _memory(core) << 20,
            "notice": notice, "notices": [f"{notice}{line}" for line in wrong],
            "environment": environment, "socket": str(self.executor.folder.parent / "slurmctld.sock"),
        }  # fmt: skip
        if node_programs.has(self.cluster, live, node_programs.PROLOG):
            assert core.alloc is not None
            first = int(core.alloc.indices()[0])
            spec["prolog"] = node_programs.spec(self.cluster, live, node_programs.PROLOG, core.restarts, first)
        self._begun.add(run)
        self.executor.start(*run, str(live.asked["script"]), spec)

    def switch_power(self, number: int) -> None:
        """Run a program that switches nodes on or off at the next `flush`."""
        self._ending.append(partial(self.programs.switch_power, number))

    def run_for_job(self, live: LiveJob, kind: str, run: int, node: int) -> None:
        """Run a prolog or an epilog at the next `flush`."""
        self._ending.append(partial(self.programs.begin, live, kind, run, node))

    def stop_or_continue(self, live: LiveJob, number: int) -> None:
        """Stop all processes of a job's run at the next `flush`, or let them go on."""
        self._ending.append(partial(self.executor.signal_session, live.core.id, live.core.restarts, number))

    def terminate(self, live: LiveJob, run: Job) -> None:
        """End a run at the next `flush`: a daemon that dies before would find it ended, and not know why."""
        self._ending.append(partial(self._terminate, live, run))

    def _terminate(self, live: LiveJob, run: Job) -> None:
        """Say so in its output, then TERM; KILL comes when KillWait is over.

        A requeue is often asked for from within: that command is to see its answer first. The script's sruns hear of
        the end of their job, then CONT, and only then what slurmstepd does.
        """
        why = str(run.state)
        steps = job_termination.steps_of(live, run.restarts)
        notice = self._notice(live, run, why)
        if steps and run.state == JobState.OUT_OF_MEMORY:
            notice = _nothing  # a step is out of memory, not the script: its srun says so
        key = run.id, run.restarts

        def end(*, awake: bool = False) -> None:
            self._later.pop(key, None)
            notice()
            self.executor.terminate(*key, awake=awake)

        def go_on() -> None:
            self.executor.signal_session(*key, signal.SIGCONT)
            self._wait(key, TOLD_S, partial(end, awake=True), partial(end, awake=True))

        if why == "REQUEUED" or steps:
            grace = (REQUEUE_GRACE_S if why == "REQUEUED" else 0) + (TOLD_S if steps else 0)
            self._wait(key, grace, go_on if steps else end, end)
        else:
            end()

    def _wait(self, run: Run, seconds: float, then: Callable[[], None], at_once: Callable[[], None]) -> None:
        """Do `then` in so many real seconds; `at_once` what is to be done if the clock is moved before."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # the daemon is starting: no client waits for an answer
            at_once()
            return
        self._later[run] = loop.call_later(seconds, then), at_once

    def _notice(self, live: LiveJob, run: Job, why: str) -> Callable[[], None]:
        """Return a function that says in a running script's output that its job is ended, as slurmstepd does."""
        node, path, key = self._node(run), self._file(live, "std_err", run), (run.id, run.restarts)
        now, release = self.cluster.now, self.cluster.release
        if why == JobState.OUT_OF_MEMORY:
            text = stepd_notices.oom_killed(f"StepId={live.id}.batch", node, now, release)
        else:
            text = stepd_notices.cancelled(f"JOB {live.id}", node, now, why, release)

        def notice() -> None:
            if path is not None and key not in self._noticed and self.executor.pid(*key) is not None:
                self._noticed.add(key)
                self.executor.note(path, text)

        return notice

    def tell(self, live: LiveJob, number: int, *, script_only: bool) -> None:
        """Signal the script of a job that runs, or all its processes. slurmstepd says that it was told to end."""
        core = live.core
        if number in (signal.SIGTERM, signal.SIGKILL):
            self._notice(live, core, "")()
        self.executor.signal(core.id, core.restarts, number, script_only=script_only)

    def run_program(self, words: Sequence[str]) -> None:
        """Run a program that belongs to no job: that of a trigger."""
        self.executor.run_program(words)

    def end_now(self) -> None:
        """End at once what waits for its moment to be ended, because the clock is moved."""
        ending, self._ending = self._ending, []
        for end in ending:
            end()
        for handle, end in list(self._later.values()):
            handle.cancel()
            end()

    def _file(self, live: LiveJob, which: str, run: Job | None = None) -> str | None:
        """Return a file of a job, named by the node it runs on: a node of a site has a machine of its own."""
        node = self._node(run or live.core)
        if not since(self.cluster.release, "files_named_by_node"):
            node = (self.cluster.conf.node(node, "NodeHostName") or node).partition(".")[0]
        return file_name(live, which, node, self.cluster)

    def _node(self, core: Job) -> str:
        """Return the first node of a job that has or had some."""
        assert core.alloc is not None
        return self.cluster.controller.state.table.names[int(core.alloc.indices()[0])]

    def news(self) -> list[dict[str, int]]:
        """Return the runs that ended while no daemon was listening, as arguments of the call ``ended``."""
        found = []
        for run in list(self.executor.runs()):
            if run in self._told:
                continue
            status = self.executor.status(*run)
            if status is None and not self._is_wanted(*run):
                self._end(run)
            elif status is None and self.executor.lost(*run):
                status = LAUNCH_FAILED
            if status is not None:
                found.append({"core_id": run[0], "restarts": run[1], "status": status})
        return found + self.unborn()

    def unborn(self) -> list[dict[str, int]]:
        """Return the runs that were ended before their script began, as arguments of ``ended``: as if ended by TERM.

        They have no folder, and only this tells that their nodes are clean.
        """
        waiting = {(live.core.id, live.core.restarts) for live in self._waiting}
        found = []
        for run in self.cluster.controller.completing.runs():
            live = self.cluster.jobs.get(run[0])
            if live is None or run in waiting or run in self._told or not is_real(live.asked):
                continue
            script = any(s.number == BATCH and s.run == run[1] and s.end is None for s in live.steps)
            if script and not self.executor.exists(*run):
                found.append({"core_id": run[0], "restarts": run[1], "status": int(signal.SIGTERM)})
        return found

    def _is_wanted(self, core_id: int, restarts: int) -> bool:
        """Return True if that run goes on, as far as the controller knows; it may have to catch up with a start."""
        live = self.cluster.jobs.get(core_id)
        return live is not None and not live.over and live.core.restarts <= restarts

    def _end(self, run: Run) -> None:
        """End a run of a job that is over: another daemon may have been killed before it could."""
        if self.executor.lost(*run) or self.executor.never(*run):
            self._forget(run)
        elif run in self._left:
            now = time.monotonic()
            if not self.executor.stopped(*run):
                self.executor.terminate(*run)
            if not self._left[run]:
                self._left[run] = now + int(self.cluster.spec.option("KillWait"))
            elif now > self._left[run]:
                self.executor.kill(*run)

    def _environment(self, live: LiveJob) -> dict[str, str]:
        core, asked, state = live.core, live.asked, self.cluster.controller.state.cluster
        recurs, alloc = bool(asked.get("crontab_spec")), core.alloc
        assert alloc is not None
        cpus = run_length(used_cpus(core, self.cluster))
        per_task = asked.get("cpus_per_task")
        address, pattern = network_address(self.cluster.spec, self._node(core))
        facts: dict[str, Any] = {
            "job_id": live.id, "name": asked.get("name"), "partition": core.partition.name,
            "user": live.person.name, "uid": live.person.uid, "gid": live.person.gid, "home": live.person.home,
            "account": core.account or None, "qos": core.qos or None, "reservation": core.reservation_name or None,
            "n_nodes": core.n_nodes, "nodes": state.node_list(alloc), "first_node": self._node(core),
            "network_address": address, "network_pattern": pattern,
            "cpus_per_node": cpus, "tasks_per_node": _tasks_per_node(core, self.cluster),
            "cpus_on_node": cpus.partition("(")[0].partition(",")[0],
            "n_tasks": _tasks(core, asked, self.cluster.release),
            "cpus_per_task": per_task, "segment": asked.get("segment_size") or None,
            "tres_per_task": told_per_task(asked.get("tres_per_task"), self.cluster.release, per_task),
            "mem_per_cpu": core.request.told_mem_cpu or None, "mem_per_node": core.request.mem_node or None,
            "submit_dir": None if recurs else asked.get("submit_dir") or asked.get("work_dir"),
            "submit_host": None if recurs else asked.get("alloc_node") or "localhost",
            "cluster": self.cluster.spec.name, "conf": self.cluster.conf_path, "restarts": core.restarts,
            "working_cluster": working_cluster(self.cluster), "start": core.start_time, "end": core.end_limit,
            "licenses": asked.get("licenses"), "shared": asked.get("shared"), **self._gpus(core),
            "exclusive": exclusive(
                asked.get("shared"), core.partition.spec, forced=core.forced, whole=core.request.exclusive
            ),
            "spool": str(self.executor.spool), "folder": str(self.executor.folder.parent),
            "oom_kill_step": int(asked.get("oom_kill_step") or 0),
            "stepmgr": self._node(core) if has_stepmgr(self.cluster, live) else None,
            "sluid": sluid.text(self.cluster.storage.first(live).db_index),
            "simulated": live.person.uid != self.cluster.owner,
        }  # fmt: skip
        if live.array is not None:
            indices, _ = array_tasks(live.array.asked, 1 << 31)
            step = re.findall(r":(\d+)", live.array.asked.partition("%")[0])
            facts |= {
                "array_job_id": live.array.id, "array_task_id": live.task, "array_count": len(indices),
                "array_min": indices[0], "array_max": indices[-1], "array_step": step[-1] if step else 1,
            }  # fmt: skip
        found = batch_environment(facts, asked.get("environment") or {}, self.cluster.release)
        return found | self._of_components(live, found)

    def _of_components(self, live: LiveJob, found: dict[str, str]) -> dict[str, str]:
        """Return what the script of a heterogeneous job is told of each component, under names of its own."""
        components = het_jobs.whole(self.cluster.job_table, [live])
        if live.core.sub.het is None or not het_jobs.leads(live):
            return {}
        state, more = self.cluster.controller.state.cluster, {"SLURM_HET_SIZE": str(live.core.sub.het[1])}
        for offset, one in enumerate(components):
            core = one.core
            if core.alloc is None:
                continue
            request = core.request
            facts = {
                "JOB_ID": one.id, "JOB_NAME": one.asked.get("name"), "JOB_PARTITION": core.partition.name,
                "JOB_ACCOUNT": core.account, "JOB_QOS": core.qos, "JOB_NODELIST": state.node_list(core.alloc),
                "JOB_NUM_NODES": core.n_nodes, "JOB_CPUS_PER_NODE": run_length(used_cpus(core, self.cluster)),
                "TASKS_PER_NODE": _tasks_per_node(core, self.cluster),
                "MEM_PER_CPU": request.told_mem_cpu, "MEM_PER_NODE": request.mem_node,
            }  # fmt: skip
            more |= {f"SLURM_{name}_HET_GROUP_{offset}": str(value) for name, value in facts.items() if value}
            own = one.asked.get("environment") or {}
            more |= {name: str(own[name]) for name in own if name.endswith(f"_HET_GROUP_{offset}")}
        both = found | more  # each has its old name, too
        return more | {name.replace("_HET_", "_PACK_"): value for name, value in both.items() if "_HET_" in name}

    def _gpus(self, core: Job) -> dict[str, Any]:
        """Return which GPUs the job has on its first node, and how many."""
        assert core.alloc is not None
        node = int(core.alloc.indices()[0])
        shares, told = shares_told(core, node, self.cluster)
        devices = gpu_devices(core, node, self.cluster) or shares
        if not devices:
            return {}
        uuids = self.cluster.spec.nodes[node].gpu_uuids
        return {
            "gpus": ",".join(map(str, devices)),
            "gpu_names": ",".join(uuids[device] for device in devices) if uuids else None,
            "gpus_on_node": len(devices),
            "gpu_variables": variables_of(self.cluster.spec.nodes[node].gpu_variables, told),
            "share_variables": told,
        }


def _memory(core: Job) -> int:
    """Return the memory of a running job on its first node, MiB; 0 where memory is not allocated."""
    assert core.alloc is not None
    mem = core.alloc.mem
    return mem if isinstance(mem, int) else int(mem[0])


def used_cpus(core: Job, cluster: LiveCluster) -> list[int]:
    """CPUs of each node a running job uses: without the other threads of its cores."""
    alloc, request = core.alloc, core.request
    assert alloc is not None
    cpus = cpus_on_nodes(core, cluster)
    if request.own_cpus is not None:
        return cpus
    if request.memory.by_thread and core.sub.request.threads_per_core:
        grain = cluster.controller.state.table.grain[alloc.indices()].tolist()
        return [int(request.used_of(count, one)) for count, one in zip(cpus, grain, strict=True)]
    return [count // request.charge for count in cpus]


def _tasks(core: Job, asked: Mapping[str, Any], release: str) -> int | None:
    """SLURM_NTASKS: what was asked for, or as many on each node as sbatch said (env_array_for_batch_job)."""
    own = asked.get("environment") or {}
    made = core.sub.request.tasks_per_gpu and not since(release, "tasks_beside_tasks_per_node")
    if made and is_number(str(own.get("SLURM_NTASKS", ""))):
        return int(own["SLURM_NTASKS"])  # GPUs make other tasks of it
    told = str(own.get("SLURM_NTASKS_PER_NODE", ""))
    per_node = int(told) if is_number(told) else 0
    return core.sub.request.n_tasks or per_node * core.n_nodes or None


def _tasks_per_node(core: Job, cluster: LiveCluster) -> str:
    """SLURM_TASKS_PER_NODE: the tasks of each node, run-length coded."""
    request, alloc = core.sub.request, core.alloc
    assert alloc is not None
    cpus, release = used_cpus(core, cluster), cluster.release
    if request.tasks_per_node and (not since(release, "tasks_beside_tasks_per_node") or not request.n_tasks):
        counts = [request.tasks_per_node] * alloc.n_nodes
    elif not request.n_tasks:
        counts = [max(n // request.cpus_per_task, 1) for n in cpus]
    else:
        cap = request.tasks_per_node
        counts = lay_out(request.n_tasks, [min(n // request.cpus_per_task, cap or n) for n in cpus])
    return run_length(counts)


def _nothing() -> None:
    """Say nothing."""


def ended(core: Job, restarts: int, status: int) -> tuple[JobEnded, bool]:
    """Return the fact of a wait status, and whether the script never ran."""
    if status == LAUNCH_FAILED:
        return JobEnded(core.id, JobState.FAILED, f"0:{LAUNCH_FAILED}", restarts), True
    number, code = status & 0x7F, status >> 8 & 0xFF
    state = JobState.COMPLETED if not number and not code else JobState.FAILED
    return JobEnded(core.id, state, f"{code}:{number}", restarts), False


def working_cluster(cluster: LiveCluster) -> str:
    """Return SLURM_WORKING_CLUSTER: name, address, port and protocol of the controller."""
    port = str(cluster.spec.options.get("SlurmctldPort") or 6817).partition("-")[0]
    return f"{cluster.spec.name}:{cluster.host}:{port}:{row(PROTOCOLS, cluster.release)}:109"
