"""What the text of each field of ``sacct`` looks like: enough to tell which column a field of a broken line is from.

sacct prints the texts of users raw, so a delimiter or a line break inside one moves all fields behind it. The fields
that can be nothing else (ids, times, states, TRES) show where the others are.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from slurmsim_workloads.sacct_fields import FREE_TEXT

Looks = Callable[[str], object]

_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|\d{1,12}|Unknown|None|"
_NUMBER = r"\d{0,18}"
_ELAPSED = r"(?:\d+-)?\d+:\d\d(?::\d\d)?(?:\.\d+)?|"
_LIMIT = r"(?:\d+-)?\d+:\d\d(?::\d\d)?|\d{0,18}|UNLIMITED|Partition_Limit"
_EXIT = r"\d+:\d+|"
_TRES = r"(?:[\w/:.\-]+=[\d.]+[KMGTP]?,?)*"
_NODES = r"None assigned|None|(?:[A-Za-z0-9_.\-]+(?:\[[0-9,\-]+\][A-Za-z0-9_.\-]*)*,?)*"
_BY_TEXT = {
    r"\d{1,15}(?:_\d{1,9}|_\[[^\]]*\]?|)(?:\+\d+)?(?:\.[\w+]+)?": ("JobID", "JobIDRaw"),
    _TIME: ("Submit", "Eligible", "Start", "End"),
    _ELAPSED: ("Elapsed", "Suspended", "CPUTime", "SystemCPU", "TotalCPU", "UserCPU", "Planned", "PlannedCPU",
               "Reserved", "AveCPU", "MinCPU"),
    _LIMIT: ("Timelimit", "TimelimitRaw"),
    _EXIT: ("ExitCode", "DerivedExitCode"),
    _TRES: ("ReqTRES", "AllocTRES"),
    _NODES: ("NodeList",),
    r"[A-Z_]{2,}\+?(?: by \S+)?": ("State",),
    r"(?:\d+(?:\.\d*)?[KMGTP]?[nc]?|\?|)": ("ReqMem",),
    _NUMBER: ("ElapsedRaw", "NNodes", "AllocNodes", "NCPUS", "AllocCPUS", "ReqCPUS", "ReqNodes", "Restarts", "UID",
              "GID", "AssocID", "CPUTimeRAW", "Priority", "QOSRAW", "NTasks", "DBIndex"),
    r"\S*": ("Account", "User", "Partition", "QOS", "Cluster", "Group"),
}  # fmt: skip
# Slurm refuses a feature expression that begins or ends with an operator.
_CONSTRAINTS = re.compile(r"(?:[^\s|&,](?:\S*[^\s|&,])?)?")
_SUBMIT = re.compile(r"(?:\S*(?:sbatch|srun|salloc|scrun|crontab)\S*(?:\s|$))|$")
_LONGEST_CONSTRAINTS = 4096

# Columns whose text nothing else has: a line that matches one begins a record.
STRONG = frozenset({"JobID", "JobIDRaw", "Submit", "State", "ReqTRES", "AllocTRES", "ExitCode"})
# Fields of users that can hold a delimiter; those of FREE_TEXT can hold a line break too.
HOLDS_DELIMITER = FREE_TEXT | {"Constraints", "Licenses", "WCKey", "Container"}


def _constraints(text: str) -> bool:
    balanced = text.count("[") == text.count("]") and text.count("(") == text.count(")")
    return balanced and len(text) <= _LONGEST_CONSTRAINTS and _CONSTRAINTS.fullmatch(text) is not None


def _one_line(text: str) -> bool:
    return "\n" not in text


LOOKS: dict[str, Looks] = {
    name: re.compile(pattern, re.IGNORECASE | re.ASCII).fullmatch
    for pattern, names in _BY_TEXT.items()
    for name in names
}
LOOKS |= {
    "": lambda text: not text,
    "Constraints": _constraints,
    "Licenses": re.compile(r"\S*").fullmatch,
    "SubmitLine": _SUBMIT.match,
    **dict.fromkeys(FREE_TEXT - {"SubmitLine"}, lambda text: True),
}


def looks_of(name: str) -> Looks:
    """Whether a text can be one of column `name`; a column that is not known takes any text of one line."""
    return LOOKS.get(name, _one_line)
