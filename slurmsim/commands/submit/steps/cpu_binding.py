"""How the tasks of a step are bound to CPUs: ``--cpu-bind``, or what follows from other options.

Nothing is bound here; the tasks are told in SLURM_CPU_BIND and its parts. Mirrors slurm_verify_cpu_bind, _expand_mult
(slurm_resource_info.c), the defaults of srun/opt.c, and setup_env (env.c).
"""

from __future__ import annotations

import re

from slurmsim.fast_imports import dataclass
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmsim.commands.submit.options.chosen_options import Chosen
    from slurmsim.commands.text.messages import Messages

_TO = {f"{name}{plural}": f"{name}s" for name in ("socket", "core", "thread", "ldom") for plural in ("", "s")}
_KINDS = {"no": "none", "none": "none", "rank": "rank", "rank_ldom": "rank_ldom"}
_LISTS = re.compile(r"(map|mask)_?(cpu|ldom)", re.IGNORECASE)
_DELIMITER = re.compile(r",(?!\d|[0-9a-f]+(?:,|$))", re.IGNORECASE)  # a comma before a value is part of a list
_MOST, _DIGITS = 1 << 16, 6  # values of a list, and digits of a multiplier, of which more are too many
_FATAL = "Failed to parse --cpu-bind= values."
_BY_HINT = {"compute_bound": "cores", "memory_bound": "cores", "multithread": "threads", "nomultithread": "threads"}


@dataclass
class CpuBinding:
    """``cores``, ``map_cpu:`` and the like: `to` a resource, of a `kind`, with the values that go with that kind."""

    verbose: bool = False
    to: str = ""
    kind: str = ""
    values: str = ""

    def variables(self) -> dict[str, str]:
        """Return what the tasks have in their environment: nothing if nothing was asked for."""
        if not (self.verbose or self.to or self.kind):
            return {}
        loud, what = "verbose" if self.verbose else "quiet", ",".join(filter(None, (self.to, self.kind)))
        whole = f"{loud},{what}{self.values}" if what else loud
        return {"SLURM_CPU_BIND": whole, "SLURM_CPU_BIND_VERBOSE": loud, "SLURM_CPU_BIND_TYPE": what,
                "SLURM_CPU_BIND_LIST": self.values}  # fmt: skip


def cpu_binding(chosen: Chosen, say: Messages, configured: Callable[[str], str | None]) -> CpuBinding:
    """Return how the tasks are bound.

    Parameters
    ----------
    configured
        Gives an option of slurm.conf.

    Raises
    ------
    Stop
        After Slurm's ``fatal:`` line for a word it does not know.
    """
    asked = str(chosen.get("cpu_bind") or "")
    tells = not since(chosen.context.release, "cpu_bind_read_once")
    threads = chosen.is_set("threads-per-core") and not asked
    if tells and (asked or threads) and (configured("TaskPlugin") or "task/none").lower() == "task/none":
        say.info("cluster configuration lacks support for cpu binding")
    found = CpuBinding(values=asked if tells else "")
    for word in _DELIMITER.split(asked) if asked else ():
        _read(word, found, chosen, say)
    found.to = found.to or _by_other_options(chosen)
    if not (found.to or found.kind or found.verbose):
        found.values = ""
    return found


def _read(word: str, found: CpuBinding, chosen: Chosen, say: Messages) -> None:
    name, _, values = word.partition(":" if ":" in word else "=")
    listed, low = _LISTS.fullmatch(name), word.lower()
    if low in ("v", "verbose"):
        found.verbose = True
    elif low in ("q", "quiet"):
        found.verbose = False
    elif low == "rank" and since(chosen.context.release, "cpu_bind_read_once"):
        say.info("Ignoring --cpu-bind=rank. Rank binding is obsolete.")
    elif low in _KINDS:
        found.kind, found.values = _KINDS[low], ""
    elif listed:
        found.kind = f"{listed[1]}_{listed[2]}:".lower()
        found.values = _expanded(values, found.kind.rstrip(":"), say)
        if not values:
            say.error(f'missing list for "--cpu-bind={found.kind}<list>"')
            say.fatal(_FATAL)
    elif low in _TO:
        found.to = _TO[low]
    elif low != "one_thread":
        say.error(f'unrecognized --cpu-bind argument "{word}"')
        say.fatal(_FATAL)


def _expanded(values: str, kind: str, say: Messages) -> str:
    """Return the list without multipliers: ``0x1*2,0xf`` of masks is ``1,1,f``. Raises Stop for a bad multiplier."""
    found: list[str] = []
    for value in values.split(","):
        one, star, times = value.removeprefix("0x" if kind.startswith("mask") else "").partition("*")
        wrong = next((c for c in times if c not in "0123456789"), "")
        if wrong:
            say.error(f"Failed to validate number: *{times}, the offending character is {wrong}")
            say.fatal(_FATAL)
        count = int(times[:_DIGITS] or 0) if star else 1
        if not 0 < count <= _MOST - len(found):
            say.error(f"Invalid {kind} multiplier: {times}")
            say.fatal(_FATAL)
        found += [one] * count
    return ",".join(found)


def _by_other_options(chosen: Chosen) -> str:
    """Return what tasks are bound to if ``--cpu-bind`` does not say it."""
    if chosen.is_set("hint"):
        return _BY_HINT.get(str(chosen.get("hint")).rpartition(",")[2].lower(), "")
    if chosen.is_set("threads-per-core"):
        return "threads"
    if chosen.is_set("extra-node-info"):
        return "threads" if chosen.get("threads_per_core") else "cores" if chosen.get("cores_per_socket") else "sockets"
    if chosen.get("ntasks_per_core"):
        return "cores" if chosen.get("ntasks_per_core") == 1 else "threads"
    return "sockets" if chosen.get("ntasks_per_socket") else ""
