"""What squeue -s can show of a job step, and how a step is called."""

from __future__ import annotations

from slurmsim.commands.text.clock_text import bounded_clock
from slurmsim.commands.text.print_fields import Column, Uncut
from slurmsim.commands.text.print_fields import column_of as C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.squeue.columns import Show


SPECIAL_STEPS: dict[int, str] = {
    0xFFFFFFFD: "TDB", 0xFFFFFFFC: "extern", 0xFFFFFFFB: "batch", 0xFFFFFFFA: "interactive"
}  # fmt: skip
"""Step numbers with a name."""


def step_id_text(_: Show, job: int, step: int, array: int | None, task: int | None, component: int | None) -> str:
    """``2.0``, ``3_1.batch``."""
    of = f"{array}_{task}" if array else str(job)
    tail = "" if component is None else f"+{component}"
    return f"{of}.{SPECIAL_STEPS.get(step, str(step))}{tail}"


def _path(show: Show, path: str | None, step: int, folder: str | None, *of: object) -> str:
    """Return a file of a step as srun was told it, or filled in for its first task."""
    if path is None or not show.expand:
        return path or ""
    from slurmsim.path_patterns import expand_step_path  # rarely needed

    job, array, task, host, name, user = of
    text = SPECIAL_STEPS.get(step, str(step))
    return expand_step_path(path, job, array, task, text, host, name, user, folder or "")  # type: ignore[arg-type]


_OF_PATH = (
    "step_id", "cwd", "job_id", "array_job_id", "array_task_id", "first_node", "name", "user_name"
)  # fmt: skip
COLUMNS: tuple[Column, ...] = (
    C("CLUSTER", "cluster", names=("cluster",)),
    C("CONTAINER", "container", names=("container",)),
    C("CONTAINERID", "container_id", names=("containerid",), since="23.02"),
    C("CONTAINERTYPE", "container", names=("containertype",), since="26.05"),
    C("TASKS", "num_tasks", letter="A", names=("numtasks", "numtask")),
    C("STEPID", "job_id", "step_id", "array_job_id", "array_task_id", "step_het_comp", render=step_id_text,
      letter="i", names=("stepid",)),
    C("NAME", "name", letter="j", names=("stepname",)),
    C("TIME_LIMIT", "time_limit",
      render=lambda _, limit: "UNLIMITED" if limit is None else Uncut(bounded_clock(limit * 60)), letter="l",
      names=("timelimit",), marked=True),
    C("TIME", "run_time", render=lambda _, seconds: Uncut(bounded_clock(seconds or 0)), letter="M",
      names=("timeused",), marked=True),
    C("NODELIST", "nodes", render=lambda _, nodes: nodes or "", letter="N", names=("nodes",), uncut=True,
      header_uncut=True),
    C("PARTITION", "partition", letter="P", names=("partition",)),
    C("START_TIME", "start_time", render=lambda show, when: show.dates(when), letter="S", names=("starttime",),
      header_left=True),
    C("UID", "user_id", letter="U", names=("userid",)),
    C("USER", "user_name", letter="u", names=("username",)),
    C("ARRAY_JOB_ID", "array_job_id", render=lambda _, array: str(array or 0), names=("arrayjobid",)),
    C("ARRAY_TASK_ID", "array_task_id", render=lambda _, value: "N/A" if value is None else str(value),
      names=("arraytaskid",)),
    C("JOB_ID", "job_id", names=("jobid",)),
    C("NETWORK", "network", names=("network",)),
    C("NUM_CPUS", "num_cpus", names=("numcpus",)),
    C("CPU_FREQ", "cpu_freq_min", "cpu_freq_max", "cpu_freq_gov",
      render=lambda _, low, high, governor: f"{low or '0'}-{high or '0'}:{governor or '0'}", names=("cpufreq",)),
    C("RESERVED_PORTS", "resv_ports", names=("resvports",)),
    C("STDERR", "std_err", *_OF_PATH, render=_path, names=("stderr",), since="25.05"),
    C("STDIN", "std_in", *_OF_PATH, render=_path, names=("stdin",), since="25.05"),
    C("STDOUT", "std_out", *_OF_PATH, render=_path, names=("stdout",), since="25.05"),
    C("STATE", "state", names=("stepstate",)),
    C("CPUS_PER_TRES", "cpus_per_tres", names=("cpus-per-tres",)),
    C("MEM_PER_TRES", "mem_per_tres", names=("mem-per-tres",)),
    C("TRES_BIND", "tres_bind", names=("tres-bind",)),
    C("TRES_FREQ", "tres_freq", names=("tres-freq",)),
    C("TRES_PER_STEP", "tres_per_step", names=("tres-per-job", "tres-per-step")),
    C("TRES_PER_JOB", "tres_per_node", letter="b", names=("tres-per-node", "gres")),
    C("TRES_PER_SOCKET", "tres_per_socket", names=("tres-per-socket",)),
    C("TRES_PER_TASK", "tres_per_task", names=("tres-per-task",)),
)  # fmt: skip
