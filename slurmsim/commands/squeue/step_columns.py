"""What squeue -s can show of a job step, and how a step is called."""

from __future__ import annotations

from slurmsim.commands.text.clock_text import bounded_clock
from slurmsim.commands.text.print_fields import Column, Uncut

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


def _limit(_: Show, limit: int | None) -> str:
    return "UNLIMITED" if limit is None else Uncut(bounded_clock(limit * 60))


def _used(_: Show, seconds: int | None) -> str:
    return Uncut(bounded_clock(seconds or 0))


def _or_na(_: Show, value: int | None) -> str:
    return "N/A" if value is None else str(value)


def _frequency(_: Show, low: str | None, high: str | None, governor: str | None) -> str:
    return f"{low or '0'}-{high or '0'}:{governor or '0'}"


def _date(show: Show, when: int | None) -> str:
    return show.dates(when)


def _column(header: str, *fields: str, render: object = None, **more: object) -> Column:
    return Column(header, fields, render, **more)  # type: ignore[arg-type]


C = _column
COLUMNS: tuple[Column, ...] = (
    C("CLUSTER", "cluster", names=("cluster",)),
    C("CONTAINER", "container", names=("container",)),
    C("CONTAINERID", "container_id", names=("containerid",), since="24.11"),
    C("TASKS", "num_tasks", letter="A", names=("numtasks", "numtask")),
    C("STEPID", "job_id", "step_id", "array_job_id", "array_task_id", "step_het_comp", render=step_id_text,
      letter="i", names=("stepid",)),
    C("NAME", "name", letter="j", names=("stepname",)),
    C("TIME_LIMIT", "time_limit", render=_limit, letter="l", names=("timelimit",), marked=True),
    C("TIME", "run_time", render=_used, letter="M", names=("timeused",), marked=True),
    C("NODELIST", "nodes", render=lambda _, nodes: nodes or "", letter="N", names=("nodes",), uncut=True,
      header_uncut=True),
    C("PARTITION", "partition", letter="P", names=("partition",)),
    C("START_TIME", "start_time", render=_date, letter="S", names=("starttime",), header_left=True),
    C("UID", "user_id", letter="U", names=("userid",)),
    C("USER", "user_name", letter="u", names=("username",)),
    C("ARRAY_JOB_ID", "array_job_id", render=lambda _, array: str(array or 0), names=("arrayjobid",)),
    C("ARRAY_TASK_ID", "array_task_id", render=_or_na, names=("arraytaskid",)),
    C("JOB_ID", "job_id", names=("jobid",)),
    C("NETWORK", "network", names=("network",)),
    C("NUM_CPUS", "num_cpus", names=("numcpus",)),
    C("CPU_FREQ", "cpu_freq_min", "cpu_freq_max", "cpu_freq_gov", render=_frequency, names=("cpufreq",)),
    C("RESERVED_PORTS", "resv_ports", names=("resvports",)),
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
