"""Node states as the commands print, number and read them.

Mirrors ``node_state_string`` and its compact and complete forms (22.05; BLOCKED and others from later releases). A
state is its base and the names of its flags, as ``scontrol show node`` has them (``IDLE+DRAIN``).
"""

from __future__ import annotations

from slurmsim import releases
from slurmsim.fast_imports import remembered
from slurmsim.releases import has

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


BASES: dict[str, int] = {
    "UNKNOWN": 0, "DOWN": 1, "IDLE": 2, "ALLOCATED": 3, "ERROR": 4, "MIXED": 5, "FUTURE": 6,
}  # fmt: skip
"""Slurm's numbers of the base states; sorting by state compares them."""

FLAGS: dict[str, int] = {
    "PERFCTRS": 4, "RESERVED": 5, "UNDRAIN": 6, "CLOUD": 7, "RESUME": 8, "DRAIN": 9, "COMPLETING": 10,
    "NOT_RESPONDING": 11, "POWERED_DOWN": 12, "FAIL": 13, "POWERING_UP": 14, "MAINTENANCE": 15,
    "REBOOT_REQUESTED": 16, "REBOOT_CANCEL": 17, "POWERING_DOWN": 18, "DYNAMIC_FUTURE": 19, "REBOOT_ISSUED": 20,
    "PLANNED": 21, "INVALID_REG": 22, "POWER_DOWN": 23, "POWER_UP": 24, "POWER_DRAIN": 25, "DYNAMIC_NORM": 26,
    "BLOCKED": 27, "EXTERNAL": 28,
}  # fmt: skip
"""Bit of every flag."""

# the order in which flags are listed behind the base
_LISTED = (
    "BLOCKED", "CLOUD", "COMPLETING", "DRAIN", "DYNAMIC_FUTURE", "DYNAMIC_NORM", "EXTERNAL", "INVALID_REG", "FAIL",
    "MAINTENANCE", "POWER_DOWN", "POWER_UP", "PERFCTRS", "POWERED_DOWN", "REBOOT_REQUESTED", "REBOOT_ISSUED",
    "RESERVED", "RESUME", "NOT_RESPONDING", "PLANNED", "POWERING_UP", "POWERING_DOWN",
)  # fmt: skip
_SUFFIXES = (
    ("MAINTENANCE", "$"), ("REBOOT_ISSUED", "^"), ("REBOOT_REQUESTED", "@"), ("POWERING_UP", "#"),
    ("POWERING_DOWN", "%"), ("POWERED_DOWN", "~"), ("POWER_DOWN", "!"), ("NOT_RESPONDING", "*"),
)  # fmt: skip
_COMPACT = {
    "DRAINING": "DRNG", "DRAINED": "DRAIN", "FAILING": "FAILG", "ALLOCATED": "ALLOC", "COMPLETING": "COMP",
    "MIXED": "MIX", "FUTURE": "FUTR", "REBOOT": "BOOT", "RESERVED": "RESV", "PLANNED": "PLND", "PERFCTRS": "NPC",
    "BLOCKED": "BLOCK", "UNKNOWN": "UNK",
}  # fmt: skip


def number(base: str, flags: Sequence[str]) -> int:
    """Return the state as one number: flags are high bits."""
    return BASES.get(base, 0) | sum(1 << FLAGS[flag] for flag in set(flags) if flag in FLAGS)


def listed_flags(flags: Sequence[str]) -> list[str]:
    """Return the flags that have a name in the complete form, in its order."""
    return [flag for flag in _LISTED if flag in flags]


def complete(base: str, flags: Sequence[str]) -> str:
    """``IDLE+MAINTENANCE+RESERVED``."""
    return "+".join((base, *listed_flags(flags)))


def long(base: str, flags: Sequence[str], *, mixed_fails: bool = False) -> str:
    """Return the long form in capitals: ``DRAINED*``."""
    word, suffix = shown(base, tuple(flags), mixed_fails)
    return word + suffix


def compact(base: str, flags: Sequence[str], *, mixed_fails: bool = False) -> str:
    """Return the compact form in capitals: ``DRAIN*``."""
    word, suffix = shown(base, tuple(flags), mixed_fails)
    return _COMPACT.get(word, word) + suffix


@remembered
def shown(base: str, flags: tuple[str, ...], mixed_fails: bool = False) -> tuple[str, str]:
    """Return the word and the sign behind it.

    With `mixed_fails` a node that fails is FAILING also with jobs on a part of it (26.05).

    >>> shown("IDLE", ("DRAIN", "NOT_RESPONDING")), shown("MIXED", ("PLANNED",)), shown("IDLE", ("RESERVED",))
    (('DRAINED', '*'), ('MIXED', '-'), ('RESERVED', ''))
    """
    busy = base in ("ALLOCATED", "MIXED")
    silent = "*" if "NOT_RESPONDING" in flags else ""
    if "INVALID_REG" in flags:
        return "INVAL", ""
    if "MAINTENANCE" in flags and not (busy or base == "DOWN" or "DRAIN" in flags):
        return "MAINT", silent
    if not busy and "REBOOT_ISSUED" in flags:
        return "REBOOT", "^"
    if not busy and "REBOOT_REQUESTED" in flags:
        return "REBOOT", silent
    suffix = next((sign for flag, sign in _SUFFIXES if flag in flags), "")
    completing = "COMPLETING" in flags
    if "DRAIN" in flags:
        return ("DRAINING" if completing or busy else "DRAINED"), suffix
    # of all signs Slurm gives a failing node only that of silence
    if "FAIL" in flags:
        return ("FAILING" if completing or base == "ALLOCATED" or (mixed_fails and busy) else "FAIL"), silent
    if completing and base not in ("ALLOCATED", "DOWN"):
        return "COMPLETING", suffix
    return _of_base(base, flags, suffix, silent)


def _of_base(base: str, flags: tuple[str, ...], suffix: str, silent: str) -> tuple[str, str]:
    """Return the word and the sign of a node without stronger flags."""
    if base == "ALLOCATED":
        return base, suffix or ("+" if "COMPLETING" in flags else "")
    if base == "MIXED":
        return base, suffix or ("-" if "PLANNED" in flags else "")
    if base in ("DOWN", "FUTURE") or (base == "IDLE" and suffix):
        return base, suffix
    if base == "IDLE":
        return next((flag for flag in ("PERFCTRS", "RESERVED", "BLOCKED", "PLANNED") if flag in flags), base), ""
    if "RESUME" in flags:
        return "RESUME", ""
    return ("UNKNOWN", silent) if base == "UNKNOWN" else ("?", "")


# ---- what a filter takes ----

# word of the filter, other spellings, what it stands for, releases: tried in this order, the word may be shortened
_FILTERS: tuple[tuple[tuple[str, ...], str, str, str], ...] = (
    (("UNK", "UNKNOWN"), "base UNKNOWN", "", ""), (("DOWN",), "base DOWN", "", ""), (("IDLE",), "base IDLE", "", ""),
    (("ALLOC", "ALLOCATED"), "allocated", "", ""), (("?",), "base ERROR", "", "25.11"),
    (("MIX", "MIXED"), "base MIXED", "", ""), (("FUTR", "FUTURE"), "base FUTURE", "", ""),
    (("BLOCKED",), "flag BLOCKED", "24.05", ""), (("INVALID_REG", "INVAL"), "flag INVALID_REG", "25.11", ""),
    (("PLANNED", "PLND"), "flag PLANNED", "", ""), (("DRAIN",), "flag DRAIN", "", ""),
    (("DRAINED",), "drained", "", ""),
    (("RESV", "RESERVED"), "flag RESERVED", "", ""), (("PERFCTRS", "NPC"), "flag PERFCTRS", "", "24.05"),
    (("DRAINING", "DRNG"), "draining", "", ""), (("DYNAMIC_FUTURE",), "flag DYNAMIC_FUTURE", "25.11", ""),
    (("DYNAMIC_NORM",), "flag DYNAMIC_NORM", "25.11", ""), (("COMP", "COMPLETING"), "flag COMPLETING", "", ""),
    (("NO_RESPOND",), "flag NOT_RESPONDING", "", ""), (("POWER_UP",), "flag POWER_UP", "25.11", ""),
    (("POWERING_DOWN",), "flag POWERING_DOWN", "", ""), (("POWERED_DOWN",), "flag POWERED_DOWN", "", ""),
    (("POWER_DOWN",), "flag POWER_DOWN", "", ""), (("POWERING_UP",), "flag POWERING_UP", "", ""),
    (("FAIL",), "flag FAIL", "", ""), (("MAINT",), "flag MAINTENANCE", "", ""),
    (("BOOT", "REBOOT"), "flag REBOOT_REQUESTED", "", ""), (("BOOT^", "REBOOT^"), "flag REBOOT_ISSUED", "", ""),
    (("REBOOT_REQUESTED",), "flag REBOOT_REQUESTED", "26.05", ""),
    (("REBOOT_ISSUED",), "flag REBOOT_ISSUED", "26.05", ""),
    (("CLOUD",), "flag CLOUD", "", ""), (("EXTERNAL",), "flag EXTERNAL", "25.11", ""),
)  # fmt: skip

# the list in the message about a bad state
_NAMES = (
    ("unknown", "", ""), ("down", "", ""), ("idle", "", ""), ("allocated", "", ""), ("?", "", "25.11"),
    ("mixed", "", ""), ("future", "", ""), ("drain", "", ""), ("drained", "", ""), ("draining", "", ""),
    ("no_respond", "", ""), ("reserved", "", ""), ("perfctrs", "", "24.05"), ("planned", "24.05", ""),
    ("blocked", "24.05", ""), ("cloud", "", ""), ("completing", "", ""), ("powering_down", "", ""),
    ("powered_down", "", ""), ("power_down", "", ""), ("powering_up", "", ""), ("power_up", "25.11", ""),
    ("inval", "25.11", ""), ("fail", "", ""), ("maint", "", ""), ("reboot", "", ""), ("reboot^", "", ""),
    ("unknown", "", "24.05"), ("external", "25.11", ""), ("dynamic_future", "25.11", ""), ("dynamic_norm", "25.11", ""),
)  # fmt: skip


def accepted(release: str) -> list[str]:
    """State names a filter takes, as the message about a bad one lists them."""
    return releases.listed(_NAMES, release)


def parse_filter(word: str, release: str) -> str | None:
    """Return what a word of -t means: ``base X``, ``flag X``, ``allocated``, ``drained``, ``draining``; else None.

    >>> parse_filter("drng", "22.05"), parse_filter("d", "22.05"), parse_filter("bogus", "22.05")
    ('draining', 'base DOWN', None)
    """
    upper = word.upper()
    for names, meaning, since, until in _FILTERS:
        if has(release, since, until) and any(name.startswith(upper) for name in names):
            return meaning
    return None


def matches(meaning: str, base: str, flags: Sequence[str], allocated_cpus: int) -> bool:
    """Return True if a node passes one word of a filter."""
    kind, _, name = meaning.partition(" ")
    if kind == "not":
        return not matches(name, base, flags, allocated_cpus)
    if kind == "flag":
        return name in flags
    if kind == "base":
        return base == name
    if kind == "allocated":
        return allocated_cpus > 0
    draining = base in ("ALLOCATED", "MIXED", "ERROR") or "COMPLETING" in flags
    return "DRAIN" in flags and draining == (kind == "draining")
