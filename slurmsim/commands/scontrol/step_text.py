"""Job steps as ``scontrol show step`` lays them out, and the ids that name them."""

from __future__ import annotations

from slurmsim import sluid
from slurmsim.commands.scontrol.session import Session, null
from slurmsim.commands.text.clock_text import Dates, long_clock
from slurmsim.commands.text.values import leading_number
from slurmsim.fast_imports import NamedTuple
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


NO_STEP = 0xFFFFFFFE
_NAMES = {NO_STEP: "TBD", -5: "batch", -4: "extern", -6: "interactive"}
STEP_NAMES = {0xFFFFFFFB: "batch", 0xFFFFFFFC: "extern", 0xFFFFFFFA: "interactive"}
FIELDS: tuple[str, ...] = (
    "job_id", "array_job_id", "array_task_id", "step_id", "step_het_comp", "step_name", "name", "user_id", "start_time",
    "time_limit", "state", "partition", "nodes", "num_nodes", "num_cpus", "num_tasks", "network", "tres_alloc_str",
    "resv_ports", "task_dist", "srun_host", "srun_pid", "std_in", "std_err", "std_out", "cwd", "first_node",
    "user_name", "cpus_per_tres", "mem_per_tres", "tres_bind", "tres_freq", "tres_per_step", "tres_per_node",
    "tres_per_socket", "tres_per_task",
)  # fmt: skip


class StepId(NamedTuple):
    """``JOB[_TASK][.STEP]``; `name` is how a message calls the step."""

    job: int | str | None  # text: a SLUID
    task: int | None
    step: int | None
    name: str


def parse_step(text: str | None) -> StepId:
    """Return the step a text names, read as strtol would.

    >>> parse_step("12.3"), parse_step("5_2.1")
    (StepId(job=12, task=None, step=3, name='3'), StepId(job=5, task=2, step=1, name='1'))
    """
    if text is None:
        return StepId(None, None, None, "TBD")
    word, dot, name = text.partition(".")
    if sluid.number_of(word) is not None:
        return parse_step(f"1{dot}{name}")._replace(job=word)
    job, rest = leading_number(text)
    if rest == text:
        job = 0
    task = None
    if rest.startswith("_"):
        task, rest = leading_number(rest[1:])
    if rest.startswith("."):
        word = rest[1:]
        known = {"batch": -5, "extern": -4, "interactive": -6}.get(word)
        step = known if known is not None else leading_number(word)[0]
        return StepId(job, task, step, word if known is not None else str(step))
    return StepId(job, task, None, "TBD")


_BOUND = (
    ("CpusPerTres", "cpus_per_tres"), ("MemPerTres", "mem_per_tres"), ("TresBind", "tres_bind"),
    ("TresFreq", "tres_freq"),
)  # fmt: skip
_ASKED = (
    ("TresPerStep", "tres_per_step"), ("TresPerNode", "tres_per_node"), ("TresPerSocket", "tres_per_socket"),
    ("TresPerTask", "tres_per_task"),
)  # fmt: skip


def _marked(text: str, mark: str) -> str:
    """Return `text` with a mark before each GRES: ``gres:gpu:2,gpu:1`` as ``gres/gpu:2,gres/gpu:1``."""
    items = [item.replace("gres:", mark) for item in text.split(",")]
    return ",".join(f"{mark}{item}" if item.startswith("gpu:") else item for item in items)


def _files(row: dict[str, Any], step: str) -> list[str]:
    """Return the files of the first task's input and output that srun was told."""
    from slurmsim.path_patterns import expand_step_path

    of = row["job_id"], row["array_job_id"], row["array_task_id"], step, row["first_node"], row["name"]
    return [
        f"{label}={expand_step_path(row[field], *of, row['user_name'], row['cwd'] or '')}"
        for label, field in (("StdIn", "std_in"), ("StdErr", "std_err"), ("StdOut", "std_out"))
        if row[field] is not None
    ]


def step_text(row: dict[str, Any], session: Session, dates: Dates) -> str:
    """One step, with the empty line behind it."""
    gap = " " if session.one_line else "\n   "
    step = row["step_name"] or STEP_NAMES.get(row["step_id"], row["step_id"])
    if row["step_het_comp"] is not None:
        step = f"{step}+{row['step_het_comp']}"
    limit = "UNLIMITED" if row["time_limit"] is None else long_clock(row["time_limit"] * 60)
    if row["array_job_id"]:
        name = f"{row['array_job_id']}_{row['array_task_id']}.{step}"
    else:
        name = f"{row['job_id']}.{step}"
    dist = f" Dist={row['task_dist']}" if row["task_dist"] else ""

    lines = [
        f"StepId={name} UserId={row['user_id']} StartTime={dates(row['start_time'])} TimeLimit={limit}",
        f"State={row['state']} Partition={row['partition']} NodeList={row['nodes']}",
        f"Nodes={row['num_nodes']} CPUs={row['num_cpus']} Tasks={row['num_tasks']} Name={row['name']} "
        f"Network={null(row['network'])}",
        f"TRES={null(row['tres_alloc_str'])}", f"ResvPorts={null(row['resv_ports'])}", f"CPUFreqReq=Default{dist}",
        f"SrunHost:Pid={null(row['srun_host'])}:{row['srun_pid'] or 0}",
    ]  # fmt: skip
    mark = "gres/" if since(session.release, "gres_with_slash") else "gres:"
    lines += [f"{label}={row[field]}" for label, field in _BOUND if row[field]]
    lines += [f"{label}={_marked(row[field], mark)}" for label, field in _ASKED if row[field]]
    if since(session.release, "files_of_steps"):
        lines += _files(row, str(step))
    return gap.join(lines) + ("\n" if session.one_line else "\n\n")
