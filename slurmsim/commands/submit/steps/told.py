"""What srun and salloc tell with -v of an allocation and of the tasks of a step (22.05, 24.11, 26.05)."""

from __future__ import annotations

from itertools import groupby

from slurmsim.numerals import ranges
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from slurmsim.commands.submit.steps.cpu_binding import CpuBinding
    from slurmsim.commands.text.messages import Messages

_RETURNED = {"22.05": "", "25.11": "JobId={} returned by the controller"}
_READY = {"22.05": "", "24.11": "Nodes {} are ready for job"}
_TREE = {
    "22.05": "route/default: init: route default plugin loaded",
    "23.11": "topology/default: init: topology Default plugin loaded",
    "25.05": "",
}
_LAUNCH = {"22.05": "launch/slurm: launch_p_step_launch: ", "23.02": ""}
_START = {"22.05": "launch/slurm: _task_start: ", "23.02": ""}
_FINISH = {"22.05": "launch/slurm: _task_finish: ", "23.02": ""}


def returned(say: Messages, job_id: int, release: str) -> None:
    """Tell the id that the controller gave."""
    if text := row(_RETURNED, release):
        say.verbose(text.format(job_id))


def ready(say: Messages, facts: dict[str, Any], release: str) -> None:
    """Tell that the nodes of srun's own allocation are ready."""
    if text := row(_READY, release):
        say.verbose(text.format(facts["node_list"]))


def allocated(say: Messages, facts: dict[str, Any], binding: CpuBinding, release: str) -> None:
    """Tell nodes and CPUs of the allocation, and how tasks are bound."""
    counts = ",".join(f"{cpus}(x{len(list(same))})" for cpus, same in groupby(facts["cpus"]))
    say.verbose(f"jobid {facts['job_id']}: nodes({len(facts['nodes'])}):`{facts['node_list']}', cpu counts: {counts}")
    kind = ",".join(filter(None, (binding.to, binding.kind))) or "(null type)"
    say.verbose(f"{row(_LAUNCH, release)}CpuBindType={kind}")


def launching(say: Messages, name: str, nodes: Sequence[str], task_ids: Sequence[Sequence[int]], release: str) -> None:
    """Tell which tasks go where."""
    for node, numbers in zip(nodes, task_ids, strict=True):
        listed = ranges(numbers)
        shown = f"[{listed}]" if len(numbers) > 1 else listed
        say.verbose(f"launching {name} on host {node}, {len(numbers)} tasks: {shown}")
    if text := row(_TREE, release):
        say.verbose(text)


def started(say: Messages, nodes: Sequence[str], task_ids: Sequence[Sequence[int]], release: str) -> None:
    """Tell that tasks run."""
    for node, numbers in zip(nodes, task_ids, strict=True):
        say.verbose(f"{row(_START, release)}Node {node}, {len(numbers)} tasks started")


def notified(say: Messages, name: str, count: int, status: int, release: str) -> None:
    """Tell that tasks of one node ended with the same status."""
    tasks = "task" if count == 1 else "tasks"
    text = f"Received task exit notification for {count} {tasks} of {name} (status=0x{status:04x})."
    say.verbose(row(_FINISH, release) + text)


def completed(say: Messages, what: str, release: str) -> None:
    """Tell of tasks that ended well."""
    say.verbose(f"{row(_FINISH, release)}{what}: Completed")
