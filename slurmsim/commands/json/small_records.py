"""Reservations, licenses and steps as data_parser documents have them."""

from __future__ import annotations

from slurmsim.commands.json.versions import always, at_least_zero, count, field, limit, number, placed, text, words
from slurmsim.commands.scontrol.step_text import STEP_NAMES
from slurmsim.records import reservation as records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.json.versions import Record

F = field


def _specializations(rows: list[list[str]] | None) -> list[Record]:
    return [{"node": name, "core": cores} for name, cores in rows or ()]


def _resv_flags(told: str | None) -> list[str]:
    return [word.partition("=")[0] for word in words(told)]


def _purge(seconds: int | None) -> Record:
    """PURGE_COMP's time, which is kept without the flag, too."""
    return {"time": number(seconds)}


_KINDS = {
    **dict.fromkeys(("text", "names", "words", "node list", "told"), text), **dict.fromkeys(("counts", "delay"), count),
    "time": at_least_zero,
}  # fmt: skip
_COMPOSED = {
    "burst_buffer": (F("burst_buffer", always("")),),
    "core_specializations": (F("core_specializations", _specializations, "core_spec"),),
    "flags": (F("flags", _resv_flags, "flag_text"),),
    "purge_completed": (F("purge_completed", _purge, "purge_comp"),),
    "watts": (F("watts", always({}), last=44),),
}  # fmt: skip
RESERVATION = placed(records.RESERVATION, _KINDS, _COMPOSED)


_ANY_NUMBER = 2**32 - 1  # of a layer that never lacks any


def _free(total: int, used: int, deficit: int) -> int:
    return total if total == _ANY_NUMBER else max(0, total - used - deficit)


LICENSE = (
    F("LicenseName", text, "name"), F("Total", count, "total"), F("Used", count, "used"),
    F("Free", _free, "total", "used", "deficit"), F("Remote", bool, "remote"), F("Reserved", count, "reserved"),
    F("LastConsumed", count, "consumed"), F("LastDeficit", count, "deficit"), F("LastUpdate", count, "updated"),
    F("Nodes", text, "nodes", first=44),
)  # fmt: skip


def _frequency(step: int, low: int | None, high: int | None, governor: int | None) -> Record:
    unset = 0 if step >= 0xFFFFFFF0 else None  # no option sets the frequency of a batch step
    values = (unset if value is None else value for value in (low, high, governor))
    return {"frequency": dict(zip(("min", "max", "governor"), map(number, values), strict=True))}


def _tres(
    allocation: str | None, cpu: str | None, memory: str | None, step: str | None, node: str | None,
    socket: str | None, task: str | None, bind: str | None, frequency: str | None,
) -> Record:  # fmt: skip
    listed = ",".join(word for word in words(step) if not word.startswith("cpu:"))  # CPUs are told elsewhere
    per = {"cpu": text(cpu), "memory": text(memory), "step": listed, "node": text(node), "socket": text(socket),
           "task": text(task)}  # fmt: skip
    return {"per": per, "allocation": text(allocation), "binding": text(bind), "frequency": text(frequency)}


_FILES = {"stderr": "std_err", "stdin": "std_in", "stdout": "std_out"}
_OF_FILES = ("step_id", "cwd", "job_id", "array_job_id", "array_task_id", "first_node", "name", "user_name")


def _expanded(path: str | None, step: int, folder: str | None, *of: object) -> str:
    """Return the file that the first task of a step reads or writes."""
    if path is None:
        return ""
    from slurmsim.path_patterns import expand_step_path

    job, array, task, host, name, user = of  # the last of _OF_FILES
    called = str(STEP_NAMES.get(step, step))
    return expand_step_path(path, job, array, task, called, host, name, user, folder or "")  # type: ignore[arg-type]


STEP = (
    F("array", lambda job, task: {"job_id": job or 0, "task_id": 0xFFFFFFFE if task is None else task},
      "array_job_id", "array_task_id"),
    F("cluster", text), F("container", text), F("container_id", always("")), F("container_type", always(""), first=45),
    F("cpu", _frequency, "step_id", "cpu_freq_min", "cpu_freq_max", "cpu_freq_gov"),
    F("tres", _tres, "tres_alloc_str", "cpus_per_tres", "mem_per_tres", "tres_per_step", "tres_per_node",
      "tres_per_socket", "tres_per_task", "tres_bind", "tres_freq"),
    F("name", text), F("network", text), F("nodes", text), F("number_cpus", count, "num_cpus"),
    F("number_tasks", count, "num_tasks"), F("partition", text), F("reserved_ports", text, "resv_ports"),
    F("time", lambda run, start, most: {"running": number(run), "start": number(start), "limit": limit(most)},
      "run_time", "start_time", "time_limit"),
    F("srun", lambda host, pid: {"host": text(host), "pid": pid or 0}, "srun_host", "srun_pid"),
    F("state", lambda state: [str(state)]), F("sluid", text, first=45),
    F("id", lambda job, step: f"{job}.{STEP_NAMES.get(step, step)}", "job_id", "step_id"),
    *(F(key, text, fact, first=43) for key, fact in _FILES.items()),
    *(F(f"{key}_expanded", _expanded, _FILES[key], *_OF_FILES, first=43) for key in ("stdin", "stdout", "stderr")),
    F("submit_line", text), F("task", lambda told: {"distribution": told or "Unknown"}, "task_dist"),
    F("user", text, "user_name"),
)  # fmt: skip
"""Key, how it is made of which of the daemon's fields, and its versions; in the order of the recordings."""
