"""Which of a step's GPUs on a node each of its tasks sees: by ``--gpu-bind``, GPUs a task or tasks a GPU, else all.

Mirrors what slurmstepd sets for CUDA_VISIBLE_DEVICES and SLURM_STEP_GPUS where devices have files (22.05 to 26.05).
"""

from __future__ import annotations

from slurmsim.numerals import is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmsim.commands.submit.options.chosen_options import Chosen


def task_devices(chosen: Chosen, devices: Sequence[int], place: int) -> list[int]:
    """Return the numbers of the devices that the `place`-th task of a node sees.

    Parameters
    ----------
    devices
        Those of the step on this node, ascending.
    """
    if not devices:
        return []
    kind, _, values = (_binding(chosen)).partition(":")
    each = max(int(values), 1) if is_number(values) else 1
    if kind == "none":
        return []
    if kind == "single":
        return [devices[place // each % len(devices)]]
    if kind == "per_task":
        return list(devices[place * each : (place + 1) * each])
    if kind in ("map", "map_gpu", "mask", "mask_gpu"):
        words = values.split(",")
        number = int(words[place % len(words)].partition("*")[0] or "0", 0 if kind.startswith("map") else 16)
        chosen_ones = {number} if kind.startswith("map") else {n for n in range(64) if number >> n & 1}
        return [device for at, device in enumerate(devices) if at in chosen_ones]
    return list(devices)


def _binding(chosen: Chosen) -> str:
    """Return how tasks are bound: as asked, else by what a task or a GPU has."""
    asked = str(chosen.get("gpu_bind") or "").lower().removeprefix("verbose,")
    if asked:
        return asked
    per_gpu, per_task = chosen.get("ntasks_per_tres") or chosen.get("ntasks_per_gpu"), chosen.get("gpus_per_task")
    if per_gpu:
        return f"single:{per_gpu}"
    count = str(per_task or "").rpartition(":")[2]
    return f"per_task:{count}" if is_number(count) else ""
