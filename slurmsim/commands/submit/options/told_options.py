"""What the options of a job tell its programs in the environment, alike for sbatch, salloc and srun.

Mirrors set_env_from_opts (src/common/env.c) and what salloc and srun set beside it.
"""

from __future__ import annotations

from slurmsim.release_changes import since
from slurmsim.releases import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.submit.options.chosen_options import Chosen


_GPUS = """
SLURM_CPUS_PER_GPU cpus_per_gpu
SLURM_GPUS gpus
SLURM_GPU_BIND gpu_bind - 24.11
SLURM_GPU_FREQ gpu_freq
SLURM_GPUS_PER_NODE gpus_per_node
SLURM_GPUS_PER_SOCKET gpus_per_socket
SLURM_GPUS_PER_TASK gpus_per_task - 24.11
SLURM_MEM_PER_GPU mem_per_gpu
"""
_SALLOC = """
SLURM_ACCTG_FREQ acctg_freq
SLURM_DIST_PLANESIZE plane_size
SLURM_HINT hint
SLURM_NETWORK network
SLURM_NTASKS_PER_CORE ntasks_per_core
SLURM_NTASKS_PER_SOCKET ntasks_per_socket
SLURM_NTASKS_PER_TRES ntasks_per_tres
SLURM_NTASKS_PER_GPU ntasks_per_gpu
SLURM_OOM_KILL_STEP oom_kill_step 24.11
SLURM_PROFILE profile
"""
_SRUN = """
SLURM_CONTAINER container
SLURM_MEM_PER_CPU mem_per_cpu 24.11
SLURM_NETWORK network 24.11
SLURM_NTASKS_PER_CORE ntasks_per_core
SLURM_NTASKS_PER_SOCKET ntasks_per_socket
SLURM_NTASKS_PER_TRES ntasks_per_gpu
SLURM_NTASKS_PER_TRES ntasks_per_tres
SLURM_OOM_KILL_STEP oom_kill_step 24.11
SLURMD_TRES_FREQ gpu_frequency
"""


def gpu_variables(chosen: Chosen) -> dict[str, str]:
    """Return what options about GPUs tell."""
    return _told(_GPUS, chosen)


def salloc_variables(chosen: Chosen) -> dict[str, str]:
    """Return what salloc's options tell its command beside the sizes of the allocation."""
    binding = chosen.get("mem_bind")
    return _told(_SALLOC, chosen) | gpu_variables(chosen) | (memory_variables(binding) if binding else {})


def srun_variables(chosen: Chosen) -> dict[str, str]:
    """Return what srun's options tell the tasks of its step."""
    found = _told(_SRUN, chosen)
    if since(chosen.context.release, "gpu_options_told_to_steps"):
        found |= gpu_variables(chosen)
    binding = chosen.get("mem_bind")
    if binding:
        words, _, numbers = binding.partition(":")
        flags = memory_variables(binding)
        mode = [word for word in words.split(",") if word not in ("verbose", "sort")]
        loud = flags["SLURM_MEM_BIND_VERBOSE"]
        found |= flags | {
            "SLURM_MEM_BIND": ",".join([loud, *mode]), "SLURM_MEM_BIND_LIST": numbers,
            "SLURM_MEM_BIND_TYPE": ",".join(mode),
        }  # fmt: skip
    return found


def memory_variables(binding: str) -> dict[str, str]:
    """Return what the `binding` of ``--mem-bind`` tells, as sbatch and salloc write it.

    >>> memory_variables("local")
    {'SLURM_MEM_BIND': 'local', 'SLURM_MEM_BIND_VERBOSE': 'quiet'}
    """
    flags = binding.partition(":")[0].split(",")
    found = {"SLURM_MEM_BIND": binding, "SLURM_MEM_BIND_VERBOSE": "verbose" if "verbose" in flags else "quiet"}
    return found | ({"SLURM_MEM_BIND_SORT": "sort"} if "sort" in flags else {})


def _told(rows: str, chosen: Chosen) -> dict[str, str]:
    frequency = chosen.get("gpu_freq")
    facts = {"gpu_frequency": f"gpu:{frequency}" if frequency else None}
    for _, fact, *_ in filter(None, map(str.split, rows.splitlines())):
        if fact not in facts:
            facts[fact] = chosen.get(fact)
    return shown(rows, facts, chosen.context.release)
