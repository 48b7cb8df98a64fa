"""What options may not be asked for together, in Slurm's words.

Mirrors the checks sbatch, srun and salloc share (22.05; later ones from 24.11), in their order.
"""

from __future__ import annotations

from slurmsim.gres_counts import bare, kind_of
from slurmsim.records.request import THREAD_FLAG
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmsim.commands.submit.options.chosen_options import Chosen
    from slurmsim.commands.text.messages import Messages


_NO_TASK_TRES = ("mem", "energy", "node", "billing", "fs", "vmem", "pages", "bb")
_MEMORY = ("mem", "mem-per-cpu", "mem-per-gpu")
_GPU_RIVALS = ("gpus-per-task", "gpus-per-socket", "ntasks-per-node")


def check_together(chosen: Chosen, say: Messages, spec_allowed: Callable[[], bool]) -> None:
    """Complain about options that exclude each other; forget those that others override.

    Parameters
    ----------
    spec_allowed
        Whether the configuration has AllowSpecResourcesUsage; asked only when it matters.

    Raises
    ------
    Stop
        After Slurm's ``fatal:`` line.
    """
    _gpus_of_step(chosen)
    names = [bare(item).partition(":")[0] for item in str(chosen.get("gres") or "").split(",")]
    if chosen.is_set("gpus-per-node") and "gpu" in names and since(chosen.context.release, "gpus_in_one_way"):
        say.fatal("--gpus-per-node and --gres=gpu are mutually exclusive.")
    _segments(chosen, say)
    _tasks_per_gpu(chosen, say)
    _specialised_cores(chosen, say, spec_allowed)
    if chosen.is_set("threads-per-core") and not chosen.is_set("cpu-bind") and chosen.get("verbose"):
        say.info("Setting --cpu-bind=threads as a default of --threads-per-core use")
    _memory(chosen, say)
    _cpus(chosen, say)
    if chosen.get("tres_per_task"):
        _task_tres(chosen, say)
    both = chosen.written("exclusive") and chosen.written("oversubscribe")
    if both and since(chosen.context.release, "exclusive_or_oversubscribe"):
        say.fatal("--exclusive and --oversubscribe options are mutually exclusive")


def _gpus_of_step(chosen: Chosen) -> None:
    """Let --gpus of a step override what SLURM_GPUS_PER_NODE tells of its job."""
    is_step = chosen.get("job_id") is not None and since(chosen.context.release, "gpus_override_those_of_nodes")
    if is_step and chosen.written("gpus") and chosen.from_variable("gpus-per-node"):
        chosen.reset("gpus-per-node")


def _segments(chosen: Chosen, say: Messages) -> None:
    """Since 26.05 the command itself counts whether the nodes of ``-N`` make whole segments."""
    size, nodes = int(chosen.get("segment_size") or 0), int(chosen.get("max_nodes") or chosen.get("min_nodes") or 0)
    if size and nodes > size and nodes % size and since(chosen.context.release, "segments_counted_by_commands"):
        say.fatal(
            f"--segment={size} does not fit the job size ({nodes}): node count must be evenly divisible by segment size"
        )


def _tasks_per_gpu(chosen: Chosen, say: Messages) -> None:
    gpu, tres = "ntasks-per-gpu", "ntasks-per-tres"
    if not chosen.is_set(gpu) and not chosen.is_set(tres):
        return
    per_gpu, per_tres = chosen.get("ntasks_per_gpu"), chosen.get("ntasks_per_tres")
    differ = per_gpu != per_tres
    # both are names of one thing: written ones beat variables, and two of one rank must agree
    if chosen.written(gpu) and chosen.written(tres):
        if differ:
            say.fatal(f"Inconsistent values set to --ntasks-per-gpu={per_gpu} and --ntasks-per-tres={per_tres} ")
    elif chosen.written(gpu) and chosen.from_variable(tres):
        chosen.reset(tres)
    elif chosen.written(tres) and chosen.from_variable(gpu):
        chosen.reset(gpu)
    elif chosen.from_variable(gpu) and chosen.from_variable(tres) and differ:
        say.fatal(
            "Inconsistent values set by environment variables "
            f"SLURM_NTASKS_PER_GPU={per_gpu} and SLURM_NTASKS_PER_TRES={per_tres} "
        )
    for rival in _GPU_RIVALS:
        if chosen.is_set(rival):
            shown = f"--{rival}" if chosen.written(rival) else "SLURM_" + rival.upper().replace("-", "_")
            say.fatal(f"{shown} is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU")


def _specialised_cores(chosen: Chosen, say: Messages, allowed: Callable[[], bool]) -> None:
    cores, threads = "core-spec", "thread-spec"
    if not chosen.is_set(cores) and not chosen.is_set(threads):
        return
    if chosen.written(cores) and chosen.written(threads):
        say.fatal("-S/--core-spec and --thred-spec options are mutually exclusive")
    if chosen.from_variable(cores) and chosen.from_variable(threads):
        say.fatal(
            "Both --core-spec and --thread-spec set using environment variables. Those options are mutually exclusive."
        )
    if not allowed():
        option = "--thread-spec" if int(chosen.get("core_spec", 0)) & THREAD_FLAG else "-S"
        say.error(f"Ignoring {option} since it's not allowed by configuration (AllowSpecResourcesUsage = No)")
        chosen.reset(cores)
        chosen.reset(threads)


def _memory(chosen: Chosen, say: Messages) -> None:
    written = [name for name in _MEMORY if chosen.written(name)]
    if len(written) > 1:
        say.fatal("--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.")
    if written:
        for name in _MEMORY:
            if name != written[0]:
                chosen.reset(name)
    elif sum(chosen.from_variable(name) for name in _MEMORY) > 1:
        say.fatal("SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.")


def _cpus(chosen: Chosen, say: Messages) -> None:
    """CPUs come by task or by GPU; what is written beats what variables say."""
    if not since(chosen.context.release, "cpus_by_task_or_gpu"):
        return
    task, gpu = "cpus-per-task", "cpus-per-gpu"
    tres = str(chosen.get("tres_per_task") or "").lower()
    named = "cpu" in tres or (tres and chosen.is_set(task))  # CPUs of tasks go beside what else a task is given
    by_task = chosen.written(task) or (named and chosen.written("tres-per-task"))
    by_variable = chosen.from_variable(task) or (named and chosen.from_variable("tres-per-task"))
    if (by_task and chosen.written(gpu)) or (by_variable and chosen.from_variable(gpu)):
        say.fatal("--cpus-per-task, --tres-per-task=cpu:#, and --cpus-per-gpu are mutually exclusive")
    if by_task and chosen.from_variable(gpu):
        chosen.reset(gpu)
    elif chosen.written(gpu) and by_variable:
        chosen.reset(task)
        if named:
            items = [item for item in str(chosen.get("tres_per_task")).split(",") if kind_of(item) != "cpu"]
            chosen.values["tres_per_task"] = ",".join(items) or None


def _task_tres(chosen: Chosen, say: Messages) -> None:
    """Hold ``--tres-per-task`` against the options that give tasks CPUs and GPUs: those win over a variable's."""
    items = str(chosen.get("tres_per_task")).split(",")
    for item in items:
        kind = next((kind for kind in _NO_TASK_TRES if item.lower().startswith(kind)), None)
        if kind is not None:
            say.fatal(f"Invalid TRES for --tres-per-task: {kind}")
    if chosen.unlike_cpus and chosen.from_variable("tres-per-task") and chosen.from_variable("cpus-per-task"):
        one, other = chosen.unlike_cpus
        say.fatal("cpus-per-task set by two different environment variables "
                  f"SLURM_CPUS_PER_TASK={one} != SLURM_TRES_PER_TASK=cpu={other}")  # fmt: skip
    for option, name in (("gpus-per-task", "gres/gpu"), ("cpus-per-task", "cpu")):
        if chosen.written(option) and any(item.lower().startswith(name) for item in items):
            if chosen.written("tres-per-task"):
                say.fatal(f"You can not have --tres-per-task={name}= and --{option} please use one or the other")
            items = [item for item in items if not item.lower().startswith(name)]
    chosen.values["tres_per_task"] = ",".join(items)
    cpus = chosen.get("cpus_per_task")
    if any(kind_of(item) == "cpu" for item in items):
        if not cpus:
            say.fatal(f"Invalid --tres-per-task=cpu={cpus}")
        chosen.set_by_name("cpus-per-task", str(cpus), variable=True)


def hint_counts(chosen: Chosen, say: Messages) -> bool:
    """Return True if ``--hint`` is to be obeyed; the options it overrides are forgotten then."""
    rivals = ("ntasks-per-core", "threads-per-core", "extra-node-info", "cpu-bind")
    loud = bool(chosen.get("verbose"))
    listed = "--ntasks-per-core, --threads-per-core, -B and --cpu-bind"
    if chosen.written("hint"):
        if any(chosen.written(name) for name in rivals):
            if loud:
                say.info(
                    f"Following options are mutually exclusive with --hint: {listed} "
                    "(other then --cpu-bind=verbose). Ignoring --hint."
                )
            chosen.reset("hint")
            return False
        for name in rivals:
            chosen.reset(name)
    elif any(chosen.written(name) for name in rivals):
        chosen.reset("hint")
        return False
    elif chosen.from_variable("hint") and any(chosen.from_variable(name) for name in rivals):
        if loud:
            say.info(
                f"Following options are mutually exclusive with --hint: {listed}, "
                "but more than one set by environment variables. Ignoring SLURM_HINT."
            )
        chosen.reset("hint")
        return False
    return True
