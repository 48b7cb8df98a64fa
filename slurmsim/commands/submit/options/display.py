"""The list of chosen options that ``-v`` prints. Mirrors 22.05."""

from __future__ import annotations

import time

from slurmsim.commands.text.clock_text import long_clock
from slurmsim.commands.text.values import INFINITE, MAIL_BITS, SIGNALS, int32
from slurmsim.records.request import THREAD_FLAG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from slurmsim.commands.submit.options.chosen_options import Chosen
    from slurmsim.commands.submit.options.job_options import Option
    from slurmsim.commands.text.messages import Messages


_RULE = "-------------------- --------------------"


def show_options(chosen: Chosen, say: Messages) -> None:
    """Print every option that was chosen, with its value."""
    say.info("defined options")
    say.info(_RULE)
    for option in chosen.chosen():
        text = option_text(chosen, option)
        name = "(null)" if option.hidden else option.name
        say.info(f"{name:<20}: {text}")
    say.info(_RULE)
    say.info("end of defined options")


def option_text(chosen: Chosen, option: Option) -> str:
    """Return the value of an option as Slurm prints it."""
    show = _SHOW.get(option.name)
    return show(chosen) if show else _plain(chosen.get(option.field))


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "set" if value else "unset"
    return "(null)" if value is None else str(value)


def _size(field: str) -> Callable[[Chosen], str]:
    def show(chosen: Chosen) -> str:
        value, units = int(chosen.get(field)), "MGTP"
        at = 0
        while at < len(units) and not (value and value % 1024):
            value //= 1024
            at += 1
        if at >= len(units):
            return f"{value}?"
        return str(value) if at == 0 else f"{value}{units[at]}"

    return show


def _span(seconds: int) -> str:
    return long_clock(None if seconds == INFINITE else seconds)


def _minutes(field: str) -> Callable[[Chosen], str]:
    def show(chosen: Chosen) -> str:
        value = int(chosen.get(field))
        return _span(value if value == INFINITE else value * 60)

    return show


def _date(field: str) -> Callable[[Chosen], str]:
    return lambda chosen: time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(chosen.get(field)))


def _nodes(chosen: Chosen) -> str:
    low, high = chosen.get("min_nodes"), chosen.get("max_nodes")
    return str(low) if low == high else f"{low}-{high}"


def _signal(chosen: Chosen) -> str:
    number, seconds = chosen.get("warn_signal"), chosen.get("warn_time")
    name = next((name for name, value in SIGNALS.items() if value == number), str(number))
    flags = chosen.get("warn_flags") or ""
    return (f"{flags}:" if flags else "") + name + ("" if seconds == 60 else f"@{seconds}")


def _mail(chosen: Chosen) -> str:
    bits = int(chosen.get("mail_type", 0))
    return ",".join(name for name, bit in MAIL_BITS.items() if bits & bit) or "NONE"


def _geometry(chosen: Chosen) -> str:
    found = ""
    for field, separator in (("sockets_per_node", ""), ("cores_per_socket", ":"), ("threads_per_core", ":")):
        if chosen.get(field) is not None:
            found += f"{separator}{chosen.get(field)}"
    return found or "unset"


def _distribution(chosen: Chosen) -> str:
    size = chosen.get("plane_size")
    return f"{chosen.get('distribution')}={size}" if size else str(chosen.get("distribution"))


def _switches(chosen: Chosen) -> str:
    wait = chosen.get("wait4switch")
    return f"{chosen.get('req_switch')}@{_span(wait)}" if wait is not None else str(chosen.get("req_switch"))


def _frequency(chosen: Chosen) -> str:
    low, high, governor = (chosen.get(f"cpu_freq_{end}") for end in ("min", "max", "gov"))
    if low is not None and high is not None:
        return f"{low}-{high}" + (f":{governor}" if governor else "")
    return str(high if high is not None else governor)


def _shared(chosen: Chosen) -> str:
    shared = chosen.get("shared")
    return {"ok": "oversubscribe", None: "unset"}.get(shared, str(shared))


def _requeue(chosen: Chosen) -> str:
    return {1: "requeue", 0: "no-requeue", None: "unset"}[chosen.get("requeue")]


def _specialised(threads: bool) -> Callable[[Chosen], str]:
    def show(chosen: Chosen) -> str:
        value = int(chosen.get("core_spec", 0))
        return str(value & ~THREAD_FLAG) if bool(value & THREAD_FLAG) is threads else "unset"

    return show


_SHOW: dict[str, Callable[[Chosen], str]] = {
    "begin": _date("begin_time"),
    "deadline": _date("deadline"),
    "core-spec": _specialised(threads=False),
    "thread-spec": _specialised(threads=True),
    "cpu-freq": _frequency,
    "delay-boot": lambda chosen: _span(chosen.get("delay_boot")),
    "distribution": _distribution,
    "exclusive": _shared,
    "oversubscribe": _shared,
    "extra-node-info": _geometry,
    "get-user-env": lambda chosen: chosen.get("get_user_env") or "0",
    "kill-on-invalid-dep": lambda chosen: "yes" if chosen.get("kill_on_invalid_dep") else "no",
    "mail-type": _mail,
    "mem": _size("mem"),
    "mem-bind": lambda chosen: chosen.get("mem_bind") or "unset",
    "mem-per-cpu": _size("mem_per_cpu"),
    "mem-per-gpu": _size("mem_per_gpu"),
    "mem-update": lambda chosen: f"{chosen.get('mem_update_margin')}@{chosen.get('mem_update_delay')}",
    "no-requeue": _requeue,
    "requeue": _requeue,
    "nodes": _nodes,
    "priority": lambda chosen: str(int32(chosen.get("priority"))),
    "signal": _signal,
    "switches": _switches,
    "switch-wait": lambda chosen: _span(chosen.get("wait4switch")),
    "time": _minutes("time_limit"),
    "time-min": _minutes("time_min"),
    "tmp": _size("pn_min_tmp_disk"),
    "umask": lambda chosen: f"0{chosen.get('umask'):o}",
}
