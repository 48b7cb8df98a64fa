"""What the options of a job say of the TRES of its tasks, as its environment tells it."""

from __future__ import annotations

from slurmsim.gres_words import told_binding, told_per_task
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.submit.options.chosen_options import Chosen


def asked_per_task(chosen: Chosen) -> str:
    """Return what a task is given, ``gres:gpu:2,license/mat:1``: what ``--tres-per-task`` says, and GPUs beside it."""
    text = str(chosen.get("tres_per_task") or "")
    gpus = "" if "gres/gpu" in text else str(chosen.get("gpus_per_task") or "")
    return ",".join([*(f"gres:gpu:{item}" for item in gpus.split(",") if item), *filter(None, [text])])


def task_tres(chosen: Chosen) -> dict[str, str | None]:
    """Return TRES for each task and how tasks are bound to them, under the names the environment's tables have."""
    release, gres = chosen.context.release, asked_per_task(chosen)
    return {
        "tres_per_task": told_per_task(gres, release, chosen.get("cpus_per_task")),
        "tres_bind": chosen.get("tres_bind") or told_binding(chosen.get("gpu_bind"), gres, release),
    }


def step_binding(chosen: Chosen) -> str | None:
    """Return TresBind of a step; ``--ntasks-per-gpu`` binds each GPU's tasks to it."""
    found = task_tres(chosen)["tres_bind"]
    return slurmd_binding(chosen) if found is None and chosen.get("ntasks_per_gpu") is not None else found


def slurmd_binding(chosen: Chosen) -> str | None:
    """Return how slurmd is told to bind the tasks of a step to their GRES, None for not at all.

    ``--ntasks-per-gpu`` and ``--gpus-per-task`` bind in every release, whatever TresBind shows.
    """
    release, bind = chosen.context.release, chosen.get("gpu_bind")
    name = "gres/gpu" if since(release, "gres_with_slash") else "gpu"
    if bind and bind.startswith("single:") and not since(release, "single_binding_told"):
        return None
    if bind:
        return f"{name}:{bind}"
    if chosen.get("ntasks_per_gpu") is not None:
        return f"{name}:single:{chosen.get('ntasks_per_gpu')}"
    found = chosen.get("tres_bind") or told_binding(None, asked_per_task(chosen), "24.11")
    return found if found is None or name == "gres/gpu" else found.replace("gres/", "")
