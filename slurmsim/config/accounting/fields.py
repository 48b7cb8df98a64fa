"""The fields of associations and QOS: sacctmgr's names and column titles, what each sets, how its value is read."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from slurmsim.data_classes import dataclass
from slurmsim.duration import DurationError, parse_duration, parse_time_limit
from slurmsim.errors import nearest
from slurmsim.model.accounting import PARENT_SHARES, Limits
from slurmsim.numerals import is_number
from slurmsim.records import Field as Row
from slurmsim.records import accounting
from slurmsim.tres import parse_count, parse_limit

USE_PARENT = 0x7FFFFFFF  # how a dump writes Fairshare=parent
TRES_NAMES = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages")
_TRES_KINDS = ("gres/", "license/", "bb/", "ic/", "fs/")
QOS_FLAGS = ("DenyOnLimit", "EnforceUsageThreshold", "NoDecay", "NoReserve", "OverPartQOS", "PartitionMaxNodes",
             "PartitionMinNodes", "PartitionTimeLimit", "Relative", "RequiresReservation",
             "UsageFactorSafe")  # fmt: skip
PREEMPT_MODES = ("CLUSTER", "OFF", "CANCEL", "REQUEUE", "SUSPEND", "WITHIN")


@dataclass(frozen=True, slots=True)
class Field:
    """One field: `name` as sacctmgr spells it, the attribute it sets (``limits.`` first if one of `Limits`), its kind.

    A kind with a colon sets one TRES of a list: ``GrpCPUs`` is ``cpu`` of GrpTRES.
    """

    name: str
    target: str
    kind: str
    aliases: tuple[str, ...] = ()


_KINDS = {"limit": "count", "priority": "count", "minutes": "time", "exempt": "duration", "modes": "mode",
          "text": "name"}  # fmt: skip
_LIMITS = frozenset(field.name for field in dataclasses.fields(Limits))
_ATTRIBUTES = {"def_qos": "default_qos"}
_TITLES = {
    "DefaultQOS": "DefQOS", "Fairshare": "Share", "GrpMemory": "GrpMem", "GrpSubmitJobs": "GrpSubmit",
    "MaxCPUMinsPerJob": "MaxCPUMins", "MaxCPUsPerJob": "MaxCPUs", "MaxNodesPerJob": "MaxNodes",
    "MaxSubmitJobs": "MaxSubmit", "MaxSubmitJobsPerAccount": "MaxSubmitPA", "MaxSubmitJobsPerUser": "MaxSubmitPU",
    "MaxTRESMinsPerJob": "MaxTRESMins", "MaxTRESPerJob": "MaxTRES", "MaxWallDurationPerJob": "MaxWall MaxWallPJ",
    "MinCPUsPerJob": "MinCPUs", "MinPrioThreshold": "MinPrioThresh MinPrioThres", "MinTRESPerJob": "MinTRES",
    "Parent": "ParentName ParName", "QosLevel": "QOS", "UsageThreshold": "UsageThres",
}  # fmt: skip
"""Titles of sacctmgr's columns that are no names of settings."""
_PER_USER = {"MaxJobsPerUser": "MaxJobs", "MaxSubmitJobsPerUser": "MaxSubmitJobs"}
"""What a QOS calls by the name of a setting of associations."""


def target(row: Row) -> str:
    """Return the attribute that a setting sets, ``limits.`` first if it is one of `Limits`."""
    return f"limits.{row.name}" if row.name in _LIMITS else _ATTRIBUTES.get(row.name, row.name)


def _fields(rows: Iterable[Row]) -> tuple[Field, ...]:
    """Return the settings of a noun: names, titles, and what each sets."""
    found: dict[str, Field] = {}
    for row in rows:
        if row.conf and row.conf not in NOT_MODELLED and row.name != "comment" and row.conf not in found:
            name = "QosLevel" if row.conf == "QOS" else row.conf
            words = [word.partition(":")[0] for word in row.update.split()]
            titles = f"{_TITLES.get(name, '')} {_PER_USER.get(name, '')}".split()
            found[row.conf] = Field(name, target(row), _KINDS.get(row.kind, row.kind), (*words, *titles))
    return tuple(found.values())


# read and without effect on a schedule
_ASIDE = ("AdminLevel", "Admin", "Classification", "Comment", "Coordinators", "Coordinator", "DefaultWCKey", "DefWCKey",
          "Description", "Descr", "Email", "Federation", "ID", "Lineage", "LFT", "Organization", "Org", "ParentID",
          "RawUsage", "RGT", "WCKeys", "WithAssoc")  # fmt: skip
# would have an effect
NOT_MODELLED: Mapping[str, str] = {
    "MaxTRESRunMins": "Slurm 22.05 does not enforce it for associations either",
    "MaxCPURunMins": "Slurm 22.05 does not enforce it for associations either",
}


_ASSOCIATION, _QOS = _fields(accounting.ASSOCIATION), _fields(accounting.QOS)


class Fields:
    """A table of fields, looked up by name, alias or column title, without regard to case and spaces.

    sacctmgr also takes the beginning of a name; here it must be the beginning of one field only.
    """

    def __init__(self, rows: Iterable[Field]) -> None:
        self.rows = tuple(rows)
        self._exact: dict[str, Field] = {}
        for row in rows:
            for name in (row.name, *row.aliases):
                self._exact[name.lower()] = row
        self._names = sorted({row.name for row in rows})
        self._aside = {name.lower() for name in _ASIDE}
        self._absent = {name.lower(): (name, why) for name, why in NOT_MODELLED.items()}

    def find(self, name: str) -> Field | None:
        """Return the field called `name`; None for one without effect. Raises ValueError(message, expected)."""
        key = name.replace(" ", "").lower()
        found = self._exact.get(key)
        if found is not None or key in self._aside or key in self._absent:
            return found
        longer = {row.name: row for known, row in self._exact.items() if known.startswith(key)} if key else {}
        if len(longer) == 1:
            return next(iter(longer.values()))
        if any(known.startswith(key) for known in self._aside):
            return None
        if longer:
            raise ValueError(f"{name!r} is the beginning of several fields", " or ".join(sorted(longer)))
        raise ValueError(f"unknown field{nearest(name, self._names)}", "a field of sacctmgr")

    def not_modelled(self, name: str) -> str:
        """Return why a field that is read has no effect though it would in Slurm, "" otherwise."""
        return self._absent.get(name.replace(" ", "").lower(), ("", ""))[1]


ASSOCIATION_FIELDS = Fields(_ASSOCIATION)
QOS_FIELDS = Fields(_QOS)


def parse_value(field: Field, text: str) -> Any:
    """Return the typed value of `text`; None takes the setting away (an empty value or -1).

    A TRES list is a mapping; its None values take single items away, and pairs of a sign and a count change what is
    there. Names are tuples as written, with signs.

    Raises
    ------
    ValueError
        (message, expected) of a value the field does not take.
    """
    kind, _, item = field.kind.partition(":")
    text = text.strip()
    if kind in ("names", "flags"):
        return parse_names(text)
    if kind == "tres":
        return _tres(f"{item}={text}" if item and text else text)
    if text.lower() in ("", "-1", "none", "(null)"):
        return None
    return _SCALARS[kind](text)


def parse_names(text: str) -> tuple[str, ...]:
    """``+high,low`` as a tuple in lower case; "" and -1 are empty."""
    names = tuple(name.strip().lower() for name in text.split(",") if name.strip())
    return () if names == ("-1",) else names


def _tres(text: str) -> dict[str, int | tuple[str, int] | None] | None:
    if text in ("", "-1"):
        return None
    found: dict[str, int | tuple[str, int] | None] = {}
    for item in text.split(","):
        name, _, value = (part.strip() for part in item.partition("="))
        sign = name[-1:] if name[-1:] in ("+", "-") else ""
        name = name.lower().removesuffix(sign)
        if name not in TRES_NAMES and not name.startswith(_TRES_KINDS):
            raise ValueError(f"{name!r} is no TRES{nearest(name, TRES_NAMES)}",
                             f"{', '.join(TRES_NAMES[:5])}, gres/NAME or license/NAME")  # fmt: skip
        if name in found:
            raise ValueError(f"TRES {name!r} is given twice", "each once")
        if value == "-1":
            found[name] = None
            continue
        try:
            count = parse_limit(name, value)
            found[name] = (sign, count) if sign else count
        except ValueError as error:
            raise ValueError(f"{item.strip()!r} is not a TRES", "NAME=COUNT") from error
    return found


def _count(text: str) -> int:
    try:
        return parse_count(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a count", "a whole number, or -1 for none") from error


def _shares(text: str) -> int:
    if text.lower() == "parent" or text == str(USE_PARENT):
        return PARENT_SHARES
    return _count(text)


def _time(text: str) -> int | None:
    try:
        return parse_time_limit(text)
    except DurationError as error:
        raise ValueError(error.message, error.expected) from error


def _time_exact(text: str) -> int | None:
    try:
        return parse_duration(text)
    except DurationError as error:
        raise ValueError(error.message, error.expected) from error


def _factor(text: str) -> float:
    if re.fullmatch(r"\d{1,18}(\.\d*)?|\.\d{1,18}", text) is None:
        raise ValueError(f"{text!r} is not a factor", "a number of at least 0")
    return float(text)


def _mode(text: str) -> str:
    words = [word.strip().upper() for word in text.split(",")]
    for word in words:
        if word not in PREEMPT_MODES:
            raise ValueError(f"unknown preemption mode {word!r}", ", ".join(PREEMPT_MODES))
    return ",".join(word for word in words if word != "CLUSTER")


_SCALARS: dict[str, Callable[[str], Any]] = {
    "count": _count,
    "shares": _shares,
    "time": _time,
    "duration": _time_exact,
    "seconds": lambda text: int(text) if is_number(text) else _time_exact(text),
    "factor": _factor,
    "mode": _mode,
    "name": str.lower,
}
