"""``scontrol show config``: what slurm.conf says over what each release assumes, as that release prints it."""

from __future__ import annotations

from slurmsim.commands.scontrol import config_rows as table
from slurmsim.commands.text.clock_text import Dates, long_clock
from slurmsim.commands.text.values import INFINITE, minutes_of
from slurmsim.fast_imports import pattern
from slurmsim.numerals import is_number
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


_UNIT = pattern(r"(?a)\d+( \D+)")
_CLOCK = pattern(r"(?a)(?:\d+-)?\d\d:\d\d:\d\d")
_UPPER = ("SelectTypeParameters", "HealthCheckNodeState")
_MULTIFACTOR = pattern(
    r"Priority(?:Parameters|SiteFactor\w*|DecayHalfLife|CalcPeriod|FavorSmall|Flags|MaxAge|UsageResetPeriod|Weight\w+)"
    r"|FairShareDampeningFactor"
)
_ALWAYS = ("PriorityParameters", "PrioritySiteFactorParameters", "PrioritySiteFactorPlugin")
_LEVELS = ("quiet", "fatal", "error", "info", "verbose", "debug", "debug2", "debug3", "debug4", "debug5")


def config_text(answer: Mapping[str, Any], release: str, dates: Dates) -> str:
    """Return the whole list, its date first; `answer` is the daemon's."""
    lines = [f"{name:<23} = {value}" for name, value in config_rows(answer, release, dates)]
    text = "\n".join([f"Configuration data as of {dates(answer['now'])}", *lines]) + "\n"
    given = {key.lower(): value for key, value in answer["given"].items()}
    plugins = f"{_given(given, 'ProctrackType', release)},{_given(given, 'TaskPlugin', release)}"
    if "cgroup" in plugins:
        text += _section("Cgroup Support Configuration:", table.CGROUP, release)
    return text + _section("MPI Plugins Configuration:", table.MPI, release)


def config_rows(answer: Mapping[str, Any], release: str, dates: Dates, *, every: bool = False) -> list[tuple[str, str]]:
    """Return name and value of each option that `release` lists, in its order; `every`: also what it hides."""
    given = {key.lower(): value for key, value in answer["given"].items()}
    hides_factors = _given(given, "PriorityType", release) == "priority/basic"
    all_selection = since(release, "select_parameters_listed") or "selecttypeparameters" in given
    per_cpu = "defmempercpu" in given
    found = []
    for name, default in table.rows(table.MAIN, release):
        hidden = hides_factors and name not in _ALWAYS and _MULTIFACTOR.fullmatch(name) is not None
        if every and default != "[]":
            found.append((name, _value(name, default, given, answer, release, dates)))
            continue
        if hidden or (name == "DefMemPerNode" and per_cpu) or (name == "DefMemPerCPU" and not per_cpu):
            continue
        if name == "SelectTypeParameters" and not all_selection:
            continue
        if default != "[]":
            found.append((name, _value(name, default, given, answer, release, dates)))
        elif name.lower() in given:
            found.append((f"{name}[0]", given[name.lower()]))
    return found


def _section(title: str, rows: str, release: str) -> str:
    found = table.rows(rows, release)
    return "\n".join(["", title, *[f"{name:<23} = {value}" for name, value in found]]) + "\n" if found else ""


def _given(given: Mapping[str, str], name: str, release: str) -> str:
    defaults = dict(table.rows(table.MAIN, release))
    return given.get(name.lower(), defaults.get(name, ""))


def _counted(default: str, given: str, release: str) -> str:
    """Return the TRES of every cluster, then what slurm.conf adds, each once."""
    found = default.split(",")
    for word in given.split(","):
        extra = ("gres/gpumem", "gres/gpuutil") if word.lower() == "gres/gpu" else ()
        for one in (word, *(extra if since(release, "use_of_gpus_counted") else ())):
            if one and one.lower() not in map(str.lower, found):
                found.append(one)
    return ",".join(found)


def _value(
    name: str, default: str, given: Mapping[str, str], answer: Mapping[str, Any], release: str, dates: Dates
) -> str:
    told = answer["facts"].get(name)
    if told is not None:
        return dates(told) if name == "BOOT_TIME" else str(told)
    text = given.get(name.lower())
    if text is None:
        return _assumed(name, default, given, answer, release)
    if since(release, "no_plugin_is_null") and (text.endswith("/none") or (text == "none" and name == "MpiDefault")):
        return "(null)"  # no plugin at all
    if name == "AccountingStorageTRES":
        return _counted(default, text, release)
    if (words := _spelled(name, text)) is not None:
        return words
    if default in ("Yes", "No", "yes", "no"):
        word = "Yes" if text.lower() in ("yes", "1", "true", "up") else "No"
        return word if default[0].isupper() else word.lower()
    if name == "SuspendTime":
        return "INFINITE" if text.lower() in ("-1", "infinite") else f"{text} sec"
    if (match := _UNIT.fullmatch(default)) and is_number(text.lstrip("-")):
        return text + match[1]
    if _CLOCK.fullmatch(default):
        minutes = minutes_of(text)
        return text if minutes is None else "INFINITE" if minutes == INFINITE else long_clock(minutes * 60)
    if name in ("SlurmUser", "SlurmdUser"):
        return f"{text}({answer['uids'].get(text, 0)})"
    return text


def _spelled(name: str, text: str) -> str | None:
    """Return words as Slurm writes them; None for an option that is no words."""
    if name in _UPPER or name == "PreemptMode":
        return ",".join(sorted(text.upper().split(","), key=lambda word: word != "GANG"))
    if name == "DebugFlags":
        return ",".join(table.DEBUG_FLAGS.get(word.lower(), word) for word in text.split(","))
    return _LEVELS[min(int(text), 9)] if name.endswith("Debug") and is_number(text) else None


def _assumed(name: str, default: str, given: Mapping[str, str], answer: Mapping[str, Any], release: str) -> str:
    """Return what holds without a word in slurm.conf, which may follow from another."""
    dbd = given.get("accountingstoragetype") == "accounting_storage/slurmdbd"
    if name == "JobDefaults":
        words = ((word, given.get(word.lower())) for word in ("DefCpuPerGPU", "DefMemPerGPU"))
        return ",".join(f"{word}={text}" for word, text in words if text is not None) or default
    if name == "AccountingStorageUser" and dbd:
        return "N/A"
    if name == "MaxDBDMsgs" and dbd:
        count = given.get("maxjobcount", "10000")
        return str(2 * int(count if is_number(count) else 10000) + 4 * answer["facts"]["MaxNodeCount"])
    if name == "UnkillableStepTimeout" and since(release, "unkillable_follows_messages"):
        wait = given.get("messagetimeout", "")
        return f"{max(60, 5 * int(wait))} sec" if is_number(wait) else default
    if name == "AccountingStoragePort" and dbd:
        return "6819"
    return default
