"""The workload's ``options`` column: sbatch's rarer options as they stand on a command line."""

import shlex
from collections.abc import Callable

from slurmsim.data_classes import dataclass, field
from slurmsim.duration import parse_time_limit
from slurmsim.model.request import GresRequest
from slurmsim.numerals import is_number
from slurmsim.records.request import THREAD_FLAG
from slurmsim.tres import parse_memory

_FLAGS = {
    "spread-job": "spread", "use-min-nodes": "use_min_nodes", "no-kill": "no_kill",
    "consolidate-segments": "consolidate_segments", "spread-segments": "spread_segments",
}  # fmt: skip


@dataclass(slots=True)
class MoreOptions:
    """What the text says; fields as in `ResourceRequest` and `Submission`."""

    spread: bool = False
    use_min_nodes: bool = False
    no_kill: bool = False
    exclusive_user: bool = False
    exclusive_topo: bool = False
    switches: int = 0
    switch_wait_s: int | None = None
    mem_per_gpu_mib: int | None = None
    cpus_per_gpu: int = 0
    tasks_per_gpu: int = 0
    sockets_per_node: int = 1
    threads_per_core: int = 0
    tasks_per_core: int = 0
    tasks_per_socket: int = 0
    min_cpus_per_node: int = 0
    segment: int = 0
    consolidate_segments: bool = False
    spread_segments: bool = False
    enforce_binding: bool = False
    disable_binding: bool = False
    one_task_per_sharing: bool = False
    tasks_share: bool = False
    kill_invalid: bool | None = None
    core_spec: int | None = None
    gres: list[GresRequest] = field(default_factory=list)


def parse_more_options(text: str) -> MoreOptions:
    """Read e.g. ``--spread-job --switches=1@00:05:00``.

    Raises
    ------
    ValueError
        An option that is not modelled, or a value it cannot have; the message names it.
    """
    found = MoreOptions()
    for word in shlex.split(text):
        name, equals, value = word.removeprefix("--").partition("=")
        try:
            if name in _FLAGS and word.startswith("--"):
                setattr(found, _FLAGS[name], value in ("", "on"))
            elif name in _VALUES and word.startswith("--") and equals:
                _VALUES[name](found, value)
            else:
                raise ValueError(f"{word!r} is no option slurmsim models here")
        except ValueError as error:
            raise error if word in str(error) else ValueError(f"bad value in {word!r}") from None
    return found


def _count(text: str) -> int:
    if not is_number(text) or int(text) < 1:
        raise ValueError(text)
    return int(text)


def _gpus(scope: str) -> Callable[[MoreOptions, str], None]:
    def read(found: MoreOptions, value: str) -> None:
        for item in value.split(","):
            kind, _, count = item.rpartition(":")
            found.gres.append(GresRequest("gpu", kind, _count(count), scope))

    return read


def _per_task(found: MoreOptions, value: str) -> None:
    """``gres/mic=2,gres/gpu:a100=1``, as 24.11's ``--tres-per-task`` takes it; CPUs have a column of their own."""
    for item in value.split(","):
        name, _, count = item.rpartition("=" if "=" in item else ":")
        prefix, _, kind = name.partition("/")
        if prefix != "gres" or not kind:
            raise ValueError(value)
        found.gres.append(GresRequest(*kind.partition(":")[::2], _count(count), "task"))


def _switches(found: MoreOptions, value: str) -> None:
    count, at, wait = value.partition("@")
    found.switches = _count(count)
    found.switch_wait_s = parse_time_limit(wait) if at else None


def _exclusive(found: MoreOptions, value: str) -> None:
    if value not in ("user", "topo"):
        raise ValueError(value)
    found.exclusive_user, found.exclusive_topo = value == "user", value == "topo"


def _memory(found: MoreOptions, value: str) -> None:
    found.mem_per_gpu_mib = parse_memory(value)


def _number(field_name: str) -> Callable[[MoreOptions, str], None]:
    def read(found: MoreOptions, value: str) -> None:
        setattr(found, field_name, _count(value))

    return read


def _core_spec(found: MoreOptions, value: str) -> None:
    if not is_number(value) or int(value) >= THREAD_FLAG:
        raise ValueError(value)
    found.core_spec = int(value)


def _thread_spec(found: MoreOptions, value: str) -> None:
    found.core_spec = THREAD_FLAG | min(_count(value), THREAD_FLAG - 1)


def _hint(found: MoreOptions, value: str) -> None:
    if value not in ("nomultithread", "multithread"):
        raise ValueError(value)
    found.threads_per_core = int(value == "nomultithread")


_GRES_WORDS = {"enforce-binding", "disable-binding", "one-task-per-sharing", "multiple-tasks-per-sharing"}


def _gres_flags(found: MoreOptions, value: str) -> None:
    words = value.split(",")
    if not set(words) <= _GRES_WORDS:
        raise ValueError(value)
    found.enforce_binding, found.disable_binding = "enforce-binding" in words, "disable-binding" in words
    found.one_task_per_sharing = "one-task-per-sharing" in words
    found.tasks_share = "multiple-tasks-per-sharing" in words


def _kill_invalid(found: MoreOptions, value: str) -> None:
    found.kill_invalid = {"yes": True, "no": False}[value] if value in ("yes", "no") else bool(_count(value))


_VALUES: dict[str, Callable[[MoreOptions, str], None]] = {
    "switches": _switches,
    "core-spec": _core_spec,
    "thread-spec": _thread_spec,
    "exclusive": _exclusive,
    "mem-per-gpu": _memory,
    "cpus-per-gpu": _number("cpus_per_gpu"),
    "ntasks-per-gpu": _number("tasks_per_gpu"),
    "sockets-per-node": _number("sockets_per_node"),
    "threads-per-core": _number("threads_per_core"),
    "ntasks-per-core": _number("tasks_per_core"),
    "ntasks-per-socket": _number("tasks_per_socket"),
    "mincpus": _number("min_cpus_per_node"),
    "segment": _number("segment"),
    "hint": _hint,
    "gres-flags": _gres_flags,
    "kill-on-invalid-dep": _kill_invalid,
    "gpus-per-node": _gpus("node"),
    "gpus-per-task": _gpus("task"),
    "gpus-per-socket": _gpus("socket"),
    "tres-per-task": _per_task,
}
