"""What the options of a job say of the TRES of its tasks, as its environment tells it."""

from __future__ import annotations

from slurmsim.gres_words import told_binding, told_per_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.submit.options.chosen_options import Chosen


def asked_per_task(chosen: Chosen) -> str:
    """Return the GRES of a task, ``gres:gpu:2,gres:nvme:1``."""
    gpus = [f"gres:gpu:{item}" for item in str(chosen.get("gpus_per_task") or "").split(",") if item]
    return ",".join([*gpus, *filter(None, [str(chosen.get("gres_per_task") or "")])])


def task_tres(chosen: Chosen) -> dict[str, str | None]:
    """Return TRES for each task and how tasks are bound to them, under the names the environment's tables have."""
    release, gres = chosen.context.release, asked_per_task(chosen)
    return {
        "tres_per_task": told_per_task(gres, release, chosen.get("cpus_per_task")),
        "tres_bind": told_binding(chosen.get("gpu_bind"), gres, release),
    }
