"""The environment a batch job is submitted with: what ``--export`` lets through, and what sbatch adds.

Mirrors sbatch (22.05): first its own variables join the environment, then ``--export`` chooses, then the variables
that tell of sizes are laid over.
"""

from __future__ import annotations

import os

from slurmsim.commands.submit.launchers import launcher_variables
from slurmsim.commands.submit.options.task_tres import task_tres
from slurmsim.commands.submit.options.told_options import gpu_variables, memory_variables
from slurmsim.commands.submit.scripts.batch_script import exported
from slurmsim.numerals import is_number
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.submit.job_request import Builder
    from slurmsim.commands.submit.options.chosen_options import Chosen


_FROM_OPTIONS: tuple[tuple[str, str], ...] = (
    ("SLURM_CPUS_PER_TASK", "cpus_per_task"),
    ("SLURM_NTASKS_PER_CORE", "ntasks_per_core"),
    ("SLURM_NTASKS_PER_NODE", "ntasks_per_node"),
    ("SLURM_NTASKS_PER_SOCKET", "ntasks_per_socket"),
    ("SLURM_THREADS_PER_CORE", "threads_per_core"),
    ("SLURM_DIST_PLANESIZE", "plane_size"),
    ("SLURM_OVERCOMMIT", "overcommit"),
)
"""Variable and option."""
_LIMITS = (
    "CPU", "FSIZE", "DATA", "STACK", "CORE", "RSS", "NPROC", "NOFILE", "MEMLOCK", "AS",
)  # fmt: skip


class NoFile(Exception):
    """The file of ``--export-file`` cannot be opened; the text is sbatch's complaint."""


def batch_environment(builder: Builder, component: int | None, host: str) -> dict[str, str]:
    """Variables the job starts with, as far as sbatch knows them. Raises NoFile.

    Parameters
    ----------
    component
        Place in a heterogeneous job; None when it is an ordinary one.
    """
    chosen = builder.chosen
    own = dict(chosen.context.environ)
    own.update(_additions(chosen, host))
    found = _file(chosen) if chosen.get("export_file") is not None else {}
    names = chosen.get("export_env")
    if chosen.get("export_file") is not None:
        own = _additions(chosen, host)
    found.update(exported("ALL" if names is None else names, own))
    whole = ("ALL", "NIL") if since(chosen.context.release, "export_nil") else ("ALL",)
    if chosen.get("get_user_env") is not None or (names is not None and names.upper() not in whole):
        found["SLURM_GET_USER_ENV"] = "1"
    found.update(launcher_variables(found, chosen.context.release))
    suffix = "" if component is None else f"_HET_GROUP_{component}"
    for name, value in _sizes(builder).items():
        found[name + suffix] = value
    return found


def _additions(chosen: Chosen, host: str) -> dict[str, str]:
    environ = chosen.context.environ
    found = {"SLURM_PRIO_PROCESS": "0", "SLURM_SUBMIT_DIR": chosen.context.cwd, "SLURM_SUBMIT_HOST": host}
    if chosen.get("name") is not None:
        found["SLURM_JOB_NAME"] = str(chosen.get("name"))
    if chosen.is_set("hint"):
        found["SLURM_HINT"] = str(chosen.get("hint"))
    if chosen.get("open_mode"):
        found["SLURM_OPEN_MODE"] = str(chosen.get("open_mode"))
    if chosen.get("dependency"):
        found["SLURM_JOB_DEPENDENCY"] = str(chosen.get("dependency"))
    export = chosen.get("export_env")
    if export is not None and export.upper() != "ALL" and "SLURM_EXPORT_ENV" not in environ:
        found["SLURM_EXPORT_ENV"] = export
    if chosen.get("profile"):
        found["SLURM_PROFILE"] = str(chosen.get("profile"))
    if chosen.get("acctg_freq"):
        found["SLURM_ACCTG_FREQ"] = str(chosen.get("acctg_freq"))
    return found


def _sizes(builder: Builder) -> dict[str, str]:
    chosen = builder.chosen
    found = gpu_variables(chosen)
    for name, field in _FROM_OPTIONS:
        value = chosen.get(field)
        if value is not None:
            found[name] = str(int(value) if value is True else value)
    if since(chosen.context.release, "gres_with_slash"):
        tres = task_tres(chosen)
        found |= {f"SLURM_{name.upper()}": value for name, value in tres.items() if value is not None}
    if builder.sizes.tasks_set and builder.sizes.tasks > 0:
        found["SLURM_NTASKS"] = found["SLURM_NPROCS"] = str(builder.sizes.tasks)
    if chosen.get("ntasks_per_tres") is not None:
        found["SLURM_NTASKS_PER_TRES"] = str(chosen.get("ntasks_per_tres"))
    elif chosen.get("ntasks_per_gpu") is not None:
        found["SLURM_NTASKS_PER_GPU"] = str(chosen.get("ntasks_per_gpu"))
    if chosen.get("distribution"):
        found["SLURM_DISTRIBUTION"] = str(chosen.get("distribution"))
    binding = chosen.get("mem_bind")
    if binding:
        found |= memory_variables(binding)
    return found


def _file(chosen: Chosen) -> dict[str, str]:
    """``NAME=value`` entries, each ended by a NUL byte, of a file or an open descriptor."""
    name = str(chosen.get("export_file"))
    descriptor = int(name) if is_number(name) and int(name) > 2 else -1
    try:
        if descriptor < 0:
            descriptor = os.open(os.path.join(chosen.context.cwd, name), os.O_RDONLY)
        with os.fdopen(descriptor, "rb") as file:
            text = file.read(1 << 24).decode("utf-8", "surrogateescape")
    except OSError:
        raise NoFile(f"Could not open user environment file {name}") from None
    found: dict[str, str] = {}
    for entry in text.split("\0"):
        variable, equals, value = entry.partition("=")
        if not entry:
            break
        if equals:
            found[variable] = value
    return found


def resource_limits(asked: str | None) -> dict[str, int]:
    """Soft limits to give to the job, by name (``RLIMIT_NOFILE``); -1 is unlimited.

    Parameters
    ----------
    asked
        ``--propagate``: names after commas, ``ALL``, ``NONE``; None for what is configured (all).

    Raises
    ------
    ValueError
        Naming an unknown limit.
    """
    import resource  # only here

    wanted: tuple[str, ...] | list[str] = _LIMITS
    if asked is not None and asked.upper() != "ALL":
        wanted = [name.removeprefix("RLIMIT_") for name in asked.split(",") if name and asked.upper() != "NONE"]
        for name in wanted:
            if name not in _LIMITS:
                raise ValueError(name)
    numbers = {name: getattr(resource, f"RLIMIT_{name}", None) for name in wanted}
    return {f"RLIMIT_{name}": resource.getrlimit(n)[0] for name, n in numbers.items() if n is not None}
