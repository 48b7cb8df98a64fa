"""seff: how well an ended job used its CPUs and its memory, as the contribution to Slurm of that name prints it.

Nothing is measured here, as with jobacct_gather/none: what was used is 0.
"""

from __future__ import annotations

from slurmsim.commands.text.database_away import database_away
from slurmsim.commands.text.messages import Stop, stoppable
from slurmsim.commands.text.release import release_of
from slurmsim.fast_imports import pattern
from slurmsim.protocol import Refusal, Unreachable
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.io import Io

_USAGE = """\
Usage: seff [Options] <Jobid>
       Options:
       -h    Help menu
       -v    Version
       -d    Debug mode: display raw Slurm data
"""
_RAW = (
    "Slurm data: JobID ArrayJobID User Group State Clustername Ncpus Nnodes Ntasks Reqmem PerNode Cput Walltime Mem "
    "ExitStatus"
)
_JOB = pattern(r"([0-9]+)(?:_([0-9]+))?(?:\.[0-9a-z]+)?$")


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One seff call in the world `io`; the exit code."""
    release = release_of(io)
    raw, names = _read(argv, io)
    if len(names) != 1:
        io.out(_USAGE)
        return 1
    job = _found(names[0], io)
    lines = _raw(job, release) if raw else []
    io.out("\n".join([*lines, *_about(job), *_efficiency(job, release)]) + "\n")
    return 0


def _read(argv: list[str], io: Io) -> tuple[bool, list[str]]:
    """Return whether raw data is wanted, and the other words. Options stand first, as Perl's getopts reads them."""
    raw, words = False, list(argv)
    while words and words[0].startswith("-") and len(words[0]) > 1:
        letters = words.pop(0)[1:]
        if letters == "-":
            break
        if "v" in letters:
            io.out("seff Version 2.1\n")
            raise Stop(1)
        if "h" in letters:
            words = []
        raw |= "d" in letters
    return raw, words


def _found(name: str, io: Io) -> dict[str, Any]:
    """Return the first row of a job. Raises Stop."""
    parts = _JOB.match(name)
    if parts is None:
        io.error(f"perl: fatal: Bad job/step specified: {name}")
        raise Stop(1)
    task = None if parts[2] is None else int(parts[2])
    try:
        answer = io.client.call("accounting_jobs", jobs=[[int(parts[1]), task]], end=1 << 40, no_steps=True)
    except Unreachable as error:
        io.error(database_away("perl", error))
        raise Stop(2) from None
    except Refusal as error:
        io.error(f"perl: error: {error.text}\nJob not found.")
        raise Stop(2) from None
    if not answer["n"]:
        io.error("Job not found.")
        raise Stop(2)
    row: dict[str, Any] = {name: values[0] for name, values in answer["columns"].items()}
    tres, per_cpu = row["tres_alloc"], row["mem_cpu"] is not None
    begin, end = row["start"], row["end"] or answer["now"]
    asked = row["mem_cpu"] if per_cpu else row["mem_node"] or 0
    cpus, nodes = tres.get("cpu") or 1, row["alloc_nodes"] or 1
    array = f"{row['array_job_id']}_{row['array_task_id']}" if row["array_job_id"] else ""
    if array and row["array_task_id"] is None:
        io.error(f"Badly formatted array jobid {row['array_job_id']} with task_id = -2")
        raise Stop(3)
    return {
        "id": row["job_id"], "array": array, "user": row["user"], "group": row["group"], "cluster": answer["cluster"],
        "state": str(row["state"]).split()[0], "exit": int(row["exit_code"]) >> 8, "cpus": cpus, "nodes": nodes,
        "seconds": max(0, end - begin - row["suspended"]) if begin else 0, "per_cpu": per_cpu,
        "asked": (asked or 0) * 1024 * (cpus if per_cpu else nodes), "memory": tres.get("mem", 0) * 1024,
    }  # fmt: skip


def _raw(job: dict[str, Any], release: str) -> list[str]:
    tasks = [] if since(release, "seff_of_allocated_memory") else [0]
    names = ("id", "array", "user", "group", "state", "cluster", "cpus", "nodes")
    values = [*(job[name] for name in names), *tasks, job["asked"], int(not job["per_cpu"]), 0, job["seconds"], 0]
    values.append(job["exit"])
    return [_RAW, "Slurm data: " + " ".join(map(str, values)), ""]


def _about(job: dict[str, Any]) -> list[str]:
    state = job["state"] if job["state"] in ("PENDING", "RUNNING") else f"{job['state']} (exit code {job['exit']})"
    lines = [f"Job ID: {job['id']}", f"Array Job ID: {job['array']}" if job["array"] else "",
             f"Cluster: {job['cluster']}", f"User/Group: {job['user']}/{job['group']}", f"State: {state}"]  # fmt: skip
    if job["cpus"] == 1:
        lines.append("Cores: 1")
    else:
        lines += [f"Nodes: {job['nodes']}", f"Cores per node: {job['cpus'] // job['nodes']}"]
    return [line for line in lines if line]


def _efficiency(job: dict[str, Any], release: str) -> list[str]:
    if job["state"] == "PENDING":
        return ["Efficiency not available for jobs in the PENDING state."]
    allocated = since(release, "seff_of_allocated_memory")
    memory = job["memory"] if allocated else job["asked"]
    share, unit = (memory / job["cpus"], "core") if job["per_cpu"] else (memory / job["nodes"], "node")
    lines = [
        "CPU Utilized: 00:00:00",
        f"CPU Efficiency: 0.00% of {_clock(job['seconds'] * job['cpus'])} core-walltime",
        f"Job Wall-clock time: {_clock(job['seconds'])}",
        "Memory Utilized: 0.00 MB" + ("" if allocated else " (estimated maximum)"),
        f"Memory Efficiency: 0.00% of {_size(memory)} ({_size(share)}/{unit})",
    ]
    if job["state"] == "RUNNING":
        lines.append(
            "WARNING: Efficiency statistics can only be obtained after the job has ended as seff tool is based on the "
            "accounting database data." if allocated else
            "WARNING: Efficiency statistics may be misleading for RUNNING jobs."
        )  # fmt: skip
    return lines


def _clock(seconds: int) -> str:
    days, rest = divmod(seconds, 86400)
    text = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{text}" if days else text


def _size(kib: float) -> str:
    """Return an amount of memory in the largest unit of which there is one."""
    if not kib:
        return "0.00 MB"
    unit = 0
    while kib >= 1024:
        kib, unit = kib / 1024, unit + 1
    return f"{kib:.2f} {'KMGTPE'[unit]}B"
