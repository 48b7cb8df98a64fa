"""How many GPUs a step has on each of its nodes: what it asks for, else what its job was given for it.

Mirrors what slurmstepd counts for SLURM_GPUS_ON_NODE (22.05, 26.05): a step of a job that has GPUs of whole nodes and
asked for none has none.
"""

from __future__ import annotations

from slurmsim.commands.submit.options.task_tres import asked_per_task
from slurmsim.gres_counts import gres_items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from slurmsim.commands.submit.options.chosen_options import Chosen


def step_gpus(chosen: Chosen, step: Mapping[str, Any]) -> list[int]:
    """Return the GPUs on each node of a step, in the order of its nodes."""
    if str(chosen.get("gres") or "").lower() == "none":
        return [0] * len(step["nodes"])
    per_task = _count(asked_per_task(chosen))
    if per_task:
        return [per_task * tasks for tasks in step["tasks"]]
    per_node = _count(_gpus(chosen.get("gpus_per_node"))) + _count(str(chosen.get("gres") or ""))
    if per_node:
        return [per_node] * len(step["nodes"])
    total = _count(_gpus(chosen.get("gpus")))
    if total and len(step["nodes"]) == 1:
        return [total]
    return [int(count) for count in step.get("gpus") or [0] * len(step["nodes"])]


def _gpus(text: Any) -> str:
    return ",".join(f"gpu:{item}" for item in str(text or "").split(",") if item)


def _count(text: str) -> int:
    return sum(count for name, _, count, _ in gres_items(text, "step") if name == "gpu")
