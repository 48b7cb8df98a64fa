"""From srun's options to the step it asks for inside an allocation.

Mirrors job_step_create_allocation (srun_job.c) and _create_job_step_create_request (launch.c), 22.05.
"""

from __future__ import annotations

import math
import os

from slurmsim.commands.submit.options.task_tres import asked_per_task, step_binding
from slurmsim.commands.text.messages import Stop
from slurmsim.gres_counts import BAD_GRES, gres_items, kind_of
from slurmsim.gres_words import told_per_task
from slurmsim.hostlist import HostlistError, compress, expand
from slurmsim.numerals import is_number
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from slurmsim.commands.submit.component import Part
    from slurmsim.commands.text.messages import Messages


_PER_SOCKET = (
    "warning: Ignoring --gpus-per-socket because it can only be specified at job allocation time, not during step "
    "allocation."
)
_LICENSES = (
    "warning: Ignoring --tres-per-task license specification because licenses can only be specified at job allocation "
    "time, not during step allocation."
)
_NAMES = {"block": "Block", "cyclic": "Cyclic", "plane": "Plane", "arbitrary": "Arbitrary"}


class StepRequest:
    """The step that is asked for."""

    def __init__(self, part: Part, facts: Mapping[str, Any], say: Messages, code: int, *, own: bool) -> None:
        self.part, self.facts, self.say, self.code, self.own = part, facts, say, code, own
        self.chosen, self.sizes = part.chosen, part.builder.sizes
        self.told_tasks: bool = self.sizes.tasks_set
        self.nodes: list[str] = list(facts["nodes"])
        # what SLURM_DISTRIBUTION says; None where srun leaves it to the controller
        self.distribution: str | None = None

    def build(self) -> dict[str, Any]:
        """Fields of the request. Raises Stop."""
        chosen, sizes = self.chosen, self.sizes
        count = len(self.nodes)
        self._check_relative(count)
        wanted, excluded = self._names("req_nodes"), self._names("exc_nodes")
        excluded += self.facts.get("taken", [])
        if not self.own and excluded:
            self._check_excluded(wanted, excluded)
            count -= len(set(excluded) & set(self.nodes))
        if not sizes.nodes_set and "het_comp" in self.facts:
            sizes.min_nodes = 1
        elif not sizes.nodes_set:
            sizes.min_nodes = sizes.tasks if sizes.tasks_set and sizes.tasks < count else count
        least = count if self.own else sizes.min_nodes
        most = min(sizes.max_nodes or least, count)
        if least > count:
            self._fail(f"Only allocated {count} nodes asked for {least}", bool(excluded))
        if "het_comp" in self.facts:  # it takes no more of an ordinary allocation than it asks for
            count = min(count, max(sizes.max_nodes, sizes.min_nodes))
        tasks = self._tasks(count if not sizes.max_nodes else min(count, sizes.max_nodes))
        exact = bool(chosen.get("exact")) or self._counts_cpus() or self._exclusive()
        found: dict[str, Any] = {
            "job_id": self.facts["job_id"], "num_tasks": tasks, "cpu_count": self._cpus(tasks, least),
            "min_nodes": min(least, count), "max_nodes": max(most, min(least, count)), "exact": exact,
            "overlap": chosen.is_set("overlap"), "overcommit": bool(chosen.get("overcommit")),
            "cpus_per_task": chosen.get("cpus_per_task"), "relative": chosen.get("relative"),
            "ntasks_per_node": chosen.get("ntasks_per_node"), "threads_per_core": chosen.get("threads_per_core"),
            "plane_size": chosen.get("plane_size"),
            "name": self._name(), "srun_pid": os.getpid(), "srun_host": os.uname().nodename,
            "submit_line": self.part.request.get("submit_line"), "network": chosen.get("network"),
            "std_in": chosen.get("std_in"), "std_err": chosen.get("std_err"), "std_out": chosen.get("std_out"),
            "cwd": chosen.get("work_dir"),
        }  # fmt: skip
        if wanted and not self.own:
            found["node_list"] = compress(wanted)
        if excluded and not self.own:
            found["exc_nodes"] = compress(excluded)
        if "het_comp" in self.facts:
            found["het_comp"] = self.facts["het_comp"]
        if not self.own:
            found["time_limit"] = chosen.get("time_limit")
        ports = str(self.chosen.get("resv_ports") or "")
        if is_number(ports):
            found["resv_ports"] = int(ports)
        self._memory(found)
        self._distribute(found, wanted, tasks, least)
        self._tres(found)
        return {name: value for name, value in found.items() if value is not None}

    # -- parts ------------------------------------------------------------------------------------------------------

    def _fail(self, text: str, excluded: bool = False) -> None:
        self.say.error(text)
        if excluded:
            self.say.error("Are required nodes explicitly excluded?")
        raise Stop(self.code)

    def _check_relative(self, count: int) -> None:
        relative = self.chosen.get("relative")
        if relative is not None and int(relative) + self.sizes.min_nodes > count:
            what = "--nodes" if self.chosen.written("nodes") else "SLURM_JOB_NUM_NODES"
            self._fail(
                f"--relative and {what} option incompatible with count of allocated nodes "
                f"({relative}+{self.sizes.min_nodes}>{count})"
            )

    def _names(self, field: str) -> list[str]:
        try:
            return list(expand(self.chosen.get(field))) if self.chosen.get(field) else []
        except HostlistError:
            return []

    def _check_excluded(self, wanted: list[str], excluded: list[str]) -> None:
        for name in excluded:
            if name in wanted:
                self.say.error(f"Requested node {name} is also in the excluded list.")
                self._fail("Job not submitted.")

    def _counts_cpus(self) -> bool:
        """Return True if CPUs are asked for, by task or by GPU."""
        return self.chosen.is_set("cpus-per-task") or self._has_cpus_of_gpus()

    def _has_cpus_of_gpus(self) -> bool:
        by_gpu = self.chosen.get("cpus_per_gpu") is not None
        return by_gpu and since(self.chosen.context.release, "steps_have_cpus_of_gpus")

    def _exclusive(self) -> bool:
        """Return True for ``--exclusive``: of an allocation of srun's own only where it says how many CPUs it wants."""
        counted = self.chosen.is_set("cpus-per-task") or self.chosen.is_set("ntasks")
        return self.chosen.get("shared") == "exclusive" and (counted or not self.own)

    def _tasks(self, count: int) -> int:
        if self.sizes.tasks_set:
            return self.sizes.tasks
        per_node, per_task = self.chosen.get("ntasks_per_node"), self.chosen.get("cpus_per_task")
        found = 0
        if per_node is not None:
            found, self.sizes.tasks_set = count * int(per_node), True
        elif per_task is not None:
            found, self.sizes.tasks_set = sum(int(n) // int(per_task) for n in self.facts["cpus"]), True
        return max(found, count)

    def _cpus(self, tasks: int, least: int) -> int:
        whole = sum(int(n) for n in self.facts["cpus"])
        per_task = self.chosen.get("cpus_per_task")
        if self.chosen.get("overcommit"):
            return whole if self.own else least
        if per_task is not None:
            return tasks * int(per_task)
        if self._has_cpus_of_gpus():
            return self._gpus(tasks, least) * int(self.chosen.get("cpus_per_gpu"))
        if self.sizes.tasks_set or not self.own:
            return tasks
        return whole

    def _gpus(self, tasks: int, least: int) -> int:
        """GPUs that are asked for in all; 0 where the job's are used."""
        chosen = self.chosen
        for text, times in (
            (_of_gpus(chosen.get("gpus")), 1), (_of_gpus(chosen.get("gpus_per_node")), least),
            (asked_per_task(chosen), tasks), (chosen.get("gres"), least),
        ):  # fmt: skip
            counts = [count for name, _, count, _ in gres_items(str(text or ""), "step") if name == "gpu"]
            if counts:
                return times * sum(counts)
        return 0

    def _name(self) -> str:
        if self.chosen.written("job-name"):
            return str(self.chosen.get("name"))
        return self.part.command[0].rsplit("/", 1)[-1] if self.part.command else ""

    def _memory(self, found: dict[str, Any]) -> None:
        if self.own:
            found["mem_per_cpu"], found["mem_per_node"] = self.facts["mem_per_cpu"], self.facts["mem_per_node"]
        elif self.chosen.get("mem_per_cpu") is not None:
            found["mem_per_cpu"] = self.chosen.get("mem_per_cpu")
        elif self.chosen.get("mem") is not None:
            found["mem_per_node"] = self.chosen.get("mem")

    def _distribute(self, found: dict[str, Any], wanted: list[str], tasks: int, least: int) -> None:
        asked = self.chosen.get("distribution")
        base = str(asked or "").partition(",")[0].partition(":")[0]
        if asked:
            self.distribution = str(asked)
        elif any(found.get(field) for field in ("mem_per_cpu", "mem_per_node")) or not self._no_memory(found):
            counted = tasks if self._counts_tasks() else math.inf
            base = "cyclic" if counted <= least else "block"
            self.distribution = base
        if base == "arbitrary":
            if len(wanted) != tasks:
                self._fail(f"You asked for {tasks} tasks but hostlist specified {len(wanted)} nodes")
            found["task_nodes"] = ",".join(wanted)
            named = list(dict.fromkeys(wanted))
            found["node_list"] = compress(named)
            found["min_nodes"] = found["max_nodes"] = len(named)
        found["distribution"] = base or "block"
        found["task_dist"] = _NAMES.get(base, "Block")

    def _counts_tasks(self) -> bool:
        """Return True if srun knows how many tasks there are; the controller counts those that CPUs per task make."""
        given = self.told_tasks or self.chosen.get("ntasks_per_node") is not None
        by_controller = since(self.chosen.context.release, "controller_counts_tasks")
        return given or not (by_controller and self.chosen.get("cpus_per_task") is not None)

    def _no_memory(self, found: Mapping[str, Any]) -> bool:
        """Return True if no memory at all is asked for, so that the controller has to choose."""
        alone = self.own and "het_job_id" not in self.facts
        return alone or 0 in (found.get("mem_per_cpu"), found.get("mem_per_node"))

    def _tres(self, found: dict[str, Any]) -> None:
        release = self.chosen.context.release
        found["tres_bind"] = step_binding(self.chosen)
        if self.chosen.get("gpu_freq"):
            found["tres_freq"] = f"gpu:{self.chosen.get('gpu_freq')}"
        found["tres_per_task"] = told_per_task(asked_per_task(self.chosen), release, self.chosen.get("cpus_per_task"))
        for field, source in (("tres_per_node", "gpus_per_node"), ("tres_per_socket", "gpus_per_socket")):
            if self.chosen.get(source):
                found[field] = ",".join(f"gres:gpu:{item}" for item in str(self.chosen.get(source)).split(",") if item)
        found["gpus"] = _of_gpus(self.chosen.get("gpus")) or None
        asked = [f"cpu:{found['cpu_count']}"] if found["exact"] else []
        asked += [f"gres:{gpu}" for gpu in (found["gpus"] or "").split(",") if gpu]
        found["tres_per_step"] = ",".join(asked) or None
        for field, source in (("cpus_per_tres", "cpus_per_gpu"), ("mem_per_tres", "mem_per_gpu")):
            if self.chosen.get(source) is not None:
                found[field] = f"gres:gpu:{self.chosen.get(source)}"
        gres = self.chosen.get("gres")
        self._check_gres(str(gres or ""), str(found["tres_per_task"] or ""))
        found["no_gres"] = True if str(gres or "").lower() == "none" else None
        if gres and str(gres).lower() != "none":
            found["tres_per_node"] = f"{found['tres_per_node']},{gres}" if "tres_per_node" in found else gres

    def _check_gres(self, gres: str, per_task: str) -> None:
        """Refuse unknown GRES, and say what only a job can ask for. Raises Stop."""
        known = (self.part.builder.configured("GresTypes") or "").split(",")
        wanted = [*gres_items(gres, "node"), *gres_items(per_task, "task")]
        if any(name not in known and name != "none" for name, *_ in wanted):
            self._fail(BAD_GRES)
        if self.own:
            return
        if self.chosen.written("tres-per-task") and any(kind_of(item) == "license" for item in per_task.split(",")):
            self.say.info(_LICENSES)
        if self.chosen.written("gpus-per-socket") and since(self.chosen.context.release, "gpus_per_socket_of_jobs"):
            self.say.info(_PER_SOCKET)


def _of_gpus(text: object) -> str:
    """Return an option about GPUs alone as GRES.

    >>> _of_gpus("a100:2,1"), _of_gpus(None)
    ('gpu:a100:2,gpu:1', '')
    """
    return ",".join(f"gpu:{item}" for item in str(text or "").split(",") if item)
