"""The fields of ``job_desc`` in job_submit.lua: what a script reads of a submission, and what it may set.

Mirrors _get_job_req_field and _set_job_req_field (job_submit_lua.c). A field that is not given reads as nil if it is a
text, and as one of Slurm's numbers for that (NO_VAL, or 0) if it is a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slurmsim.lua.constants import MEM_PER_CPU, NICE_OFFSET, NO_VAL, NO_VAL16, NO_VAL64
from slurmsim.records.request import THREAD_FLAG
from slurmsim.release_changes import since
from slurmsim.releases import has

_TEXTS = frozenset({
    "account", "acctg_freq", "admin_comment", "array_inx", "batch_features", "burst_buffer", "clusters", "comment",
    "container", "cpus_per_tres", "dependency", "exc_nodes", "extra", "features", "licenses", "mail_user", "mcs_label",
    "mem_per_tres", "name", "network", "partition", "prefer", "qos", "req_nodes", "reservation", "script",
    "selinux_context", "std_err", "std_in", "std_out", "tres_bind", "tres_freq", "tres_per_job", "tres_per_socket",
    "wckey", "work_dir",
})  # fmt: skip
_READ_TEXTS = ("alloc_node", "req_context")
# fields of numbers by what stands for a number that is not given
_NUMBERS = {
    NO_VAL16: "cores_per_socket cpus_per_task ntasks_per_core ntasks_per_node ntasks_per_socket ntasks_per_tres "
              "pn_min_cpus sockets_per_node threads_per_core",
    NO_VAL: "max_cpus max_nodes min_nodes num_tasks pn_min_tmp_disk "
            "req_switch time_limit time_min wait4switch",
    0: "begin_time end_time immediate mail_type",
}  # fmt: skip
_ABSENT = {name: absent for absent, names in _NUMBERS.items() for name in names.split()}
_FIXED = {
    "boards_per_node": 0, "ntasks_per_board": 0, "sockets_per_board": 0, "spank_job_env_size": 0, "delay_boot": NO_VAL,
    "cpu_freq_min": NO_VAL, "cpu_freq_max": NO_VAL, "cpu_freq_gov": NO_VAL,
}  # fmt: skip
_FLAGS = {"requeue": NO_VAL16, "reboot": NO_VAL16, "contiguous": 0}
_SHARED = {0: "exclusive", 1: "ok", 2: "user", 3: "mcs", 4: "topo"}
_BITS = {1: ("kill_on_invalid_dep", True), 2: ("kill_on_invalid_dep", False), 256: ("spread_job", True),
         512: ("use_min_nodes", True)}  # fmt: skip
_GIVEN = {1 << 14: "num_tasks", 1 << 15: "cpus_per_task"}  # bits that say a field was given
_NOT_GIVEN = {1 << 25: "account", 1 << 26: "partition", 1 << 27: "qos", 1 << 28: "wckey"}  # that it was not
_ALIASES = {"oversubscribe": "shared", "ntasks_per_gpu": "ntasks_per_tres", "pack_job_offset": "het_job_offset"}
_WHOLE = 1 << 53
_LINE, _SCRIPT = 1 << 16, 4 << 20  # characters of a text, of a script


class Field(Exception):
    """A field cannot be set so: Lua's words."""


def text_of(value: Any, most: int = _LINE) -> str:
    """Return a value as luaL_checkstring takes it. Raises Field."""
    if isinstance(value, str):
        text = value.partition("\0")[0]  # where a text ends in C
        if len(text) > most:
            raise Field(f"bad argument #3 to '?' (more than {most:,} characters)")
        return text
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{float(value):.14g}"
    raise Field(f"bad argument #3 to '?' (string expected, got {_kind(value)})")


def _number_of(value: Any) -> int:
    """Return a value as luaL_checknumber takes it, whole. Raises Field."""
    if isinstance(value, str):
        try:
            value = float(value) if len(value) < 400 else None
        except ValueError:
            value = str(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Field(f"bad argument #3 to '?' (number expected, got {_kind(value)})")
    if value != value or abs(value) >= 1 << 64:
        raise Field("bad argument #3 to '?' (number out of range)")
    return int(value)


def _kind(value: Any) -> str:
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number" if isinstance(value, int | float) else "table"


def read(request: Mapping[str, Any], name: str, release: str) -> Any:
    """Return what ``job_desc.NAME`` is; None (nil) for a text that is not given and for what is no field."""
    name = _ALIASES.get(name, name)
    if name in _TEXTS or name in _READ_TEXTS:
        return request.get(name) or None
    if name in _ABSENT:
        value = request.get(name)
        return _ABSENT[name] if value is None or isinstance(value, str) else int(value)
    if name in _FIXED:
        return _FIXED[name]
    if name in _FLAGS:
        value = request.get(name)
        return _FLAGS[name] if value is None else int(value)
    reader = _READERS.get(name)
    return None if reader is None else reader(request, release)


def write(request: dict[str, Any], name: str, value: Any, release: str) -> bool:
    """Set ``job_desc.NAME``; False where there is no such field, which slurmctld only logs.

    Raises
    ------
    Field
        A value of another kind.
    """
    name = _ALIASES.get(name, name)
    if name in _TEXTS:
        text = text_of(value, _SCRIPT if name == "script" else _LINE)
        if text:
            request[name] = text
        else:
            request.pop(name, None)
        return True
    if name in _ABSENT:
        _put(request, name, _number_of(value), _ABSENT[name])
        return True
    if name in _FLAGS:
        _put(request, name, _number_of(value), _FLAGS[name] or -1)
        return True
    writer = _WRITERS.get(name)
    if writer is None and name in _FIXED:
        raise Field(f"bad argument #3 to '?' ({name} is not modelled)")
    if writer is None:
        return False
    writer(request, value, release)
    return True


def _put(request: dict[str, Any], name: str, number: int, absent: int) -> None:
    if number == absent or (absent == NO_VAL16 and number == NO_VAL):
        request.pop(name, None)
    elif number < 0 or number > NO_VAL:
        raise Field(f"bad argument #3 to '?' ({name}: number out of range)")
    else:
        request[name] = number


# -- fields with a form of their own --------------------------------------------------------------------------------


def _per_node(request: Mapping[str, Any], release: str) -> str | None:
    text = request.get("tres_per_node")
    return text.replace("gres:", "gres/") if text and since(release, "gres_with_slash") else text or None


def _per_task(request: Mapping[str, Any], release: str) -> str | None:
    text, cpus = request.get("tres_per_task"), request.get("cpus_per_task")
    if cpus and since(release, "cpus_per_task_as_tres"):
        return f"cpu={cpus},{text}" if text else f"cpu={cpus}"
    return text or None


def _set_per_task(request: dict[str, Any], value: Any, release: str) -> None:
    words = text_of(value).split(",")
    others = ",".join(word for word in words if word and not word.startswith("cpu="))
    for word in words:
        if word.startswith("cpu="):
            _put(request, "cpus_per_task", _number_of(word[4:]), NO_VAL16)
    if others:
        request["tres_per_task"] = others
    else:
        request.pop("tres_per_task", None)


def _set_per_node(request: dict[str, Any], value: Any, release: str) -> None:
    text = text_of(value)
    items = [word for word in text.replace("gres/", "gres:").split(",") if word]
    if items:
        request["tres_per_node"] = ",".join(items)
    else:
        request.pop("tres_per_node", None)


def _set_gres(request: dict[str, Any], value: Any, release: str) -> None:
    words = [word for word in text_of(value).split(",") if word]
    plain = [word if word.startswith(("gres:", "gres/")) else f"gres:{word}" for word in words]
    _set_per_node(request, ",".join(plain), release)


def _memory(request: Mapping[str, Any], release: str) -> int:
    memory = request.get("pn_min_memory")
    if memory is None:
        return NO_VAL64
    return int(memory) | (MEM_PER_CPU if request.get("mem_per_cpu") else 0)


def _of(per_cpu: bool) -> Any:
    def get(request: Mapping[str, Any], release: str) -> int | None:
        memory = request.get("pn_min_memory")
        return None if memory is None or bool(request.get("mem_per_cpu")) is not per_cpu else int(memory)

    def put(request: dict[str, Any], value: Any, release: str) -> None:
        memory = _number_of(value)
        if not 0 <= memory < _WHOLE:
            raise Field("bad argument #3 to '?' (memory: number out of range)")
        request["pn_min_memory"], request["mem_per_cpu"] = memory, per_cpu

    return get, put


def _set_memory(request: dict[str, Any], value: Any, release: str) -> None:
    memory = _number_of(value)
    if memory >= NO_VAL64 - 2048:  # as near as a double comes to it
        request.pop("pn_min_memory", None)
        request.pop("mem_per_cpu", None)
    else:
        _of(memory >= MEM_PER_CPU)[1](request, memory % MEM_PER_CPU, release)


def _shared(request: Mapping[str, Any], release: str) -> int:
    value = request.get("shared")
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return next((number for number, word in _SHARED.items() if word == value), NO_VAL16)


def _set_shared(request: dict[str, Any], value: Any, release: str) -> None:
    number = _number_of(value)
    if number == NO_VAL16:
        request.pop("shared", None)
    elif number in _SHARED:
        request["shared"] = _SHARED[number]
    else:
        raise Field("bad argument #3 to '?' (shared: number out of range)")


def _priority(request: Mapping[str, Any], release: str) -> int:
    if request.get("hold"):
        return 0
    value = request.get("priority")
    return NO_VAL if value is None else int(value)


def _set_priority(request: dict[str, Any], value: Any, release: str) -> None:
    number = _number_of(value)
    request["hold"] = number == 0
    _put(request, "priority", number or NO_VAL, NO_VAL)


def _offset(name: str) -> Any:
    def get(request: Mapping[str, Any], release: str) -> int:
        value = request.get(name)
        return NO_VAL if value is None else int(value) + NICE_OFFSET

    def put(request: dict[str, Any], value: Any, release: str) -> None:
        number = _number_of(value)
        if name == "site_factor" and number != NO_VAL:
            number += NICE_OFFSET
        number %= 1 << 32  # the field has 32 bits without a sign: -50 lowers a priority to 1
        if number == NO_VAL:
            request.pop(name, None)
        else:
            request[name] = number - NICE_OFFSET

    return get, put


def _bitflags(request: Mapping[str, Any], release: str) -> int:
    found = sum(bit for bit, name in _GIVEN.items() if request.get(name) is not None)
    found += sum(bit for bit, name in _NOT_GIVEN.items() if not request.get(name))
    for bit, (name, meaning) in _BITS.items():
        if request.get(name) is meaning:
            found |= bit
    return found


def _set_bitflags(request: dict[str, Any], value: Any, release: str) -> None:
    number = _number_of(value)
    news = (number ^ _bitflags(request, release)) & ~sum(_BITS)
    if news:
        raise Field(f"bad argument #3 to '?' (bitflags: the bits {news:#x} are not modelled)")
    for name in {name for name, _ in _BITS.values()}:
        request.pop(name, None)
    for bit, (name, meaning) in _BITS.items():
        if number & bit:
            request[name] = meaning


def _core_spec(threads: bool) -> Any:
    def get(request: Mapping[str, Any], release: str) -> int | None:
        value = request.get("core_spec")
        if value is None:
            return None
        number = int(value)
        return number & ~THREAD_FLAG if bool(number & THREAD_FLAG) is threads else None

    def put(request: dict[str, Any], value: Any, release: str) -> None:
        number = _number_of(value)
        if not 0 <= number < NO_VAL16:
            request.pop("core_spec", None)
        else:
            request["core_spec"] = number | THREAD_FLAG if threads else number

    return get, put


_PAIRS = {
    "min_mem_per_node": _of(False), "min_mem_per_cpu": _of(True), "nice": _offset("nice"),
    "site_factor": _offset("site_factor"), "core_spec": _core_spec(False), "thread_spec": _core_spec(True),
    "shared": (_shared, _set_shared), "priority": (_priority, _set_priority),
    "pn_min_memory": (_memory, _set_memory), "bitflags": (_bitflags, _set_bitflags),
    "tres_per_node": (_per_node, _set_per_node), "gres": (_per_node, _set_gres),
    "tres_per_task": (_per_task, _set_per_task),
}  # fmt: skip
_READERS: dict[str, Any] = {
    **{name: pair[0] for name, pair in _PAIRS.items()},
    "argc": lambda request, release: len(request.get("argv") or ()),
    "min_cpus": lambda request, release: int(request.get("min_cpus") or 1),
    "het_job_offset": lambda request, release: NO_VAL if request.get("het_offset") is None else request["het_offset"],
    "cron_job": lambda request, release: False,
    "segment_size": lambda request, release: request.get("segment_size") or (0 if has(release, "25.11") else None),
}
_WRITERS: dict[str, Any] = {
    **{name: pair[1] for name, pair in _PAIRS.items()},
    "min_cpus": lambda request, value, release: _put(request, "min_cpus", _number_of(value), NO_VAL),
    "segment_size": lambda request, value, release: _put(request, "segment_size", _number_of(value), 0),
}
