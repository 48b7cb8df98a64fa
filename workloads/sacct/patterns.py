"""What the text of each field of ``sacct`` looks like: enough to tell which column a field of a broken line is from.

sacct prints the texts of users raw, so a delimiter or a line break inside one moves all fields behind it. The fields
that can be nothing else (ids, times, states, TRES) show where the others are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from slurmsim_workloads.sacct.fields import FREE_TEXT

Looks = Callable[[str], object]

_ITEM = r"[\w/:.\-]+=[\d.]+[KMGTP]?"
# Patterns of one field. Each `\S` stands for what is neither a blank nor the delimiter.
_BY_PATTERN = {
    r"\d{1,15}(?:_\d{1,9}|_\[[\d,:%.\-]*\]?|)(?:\+\d+)?(?:\.[\w+]+)?": ("JobID", "JobIDRaw"),
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|\d{1,12}|Unknown|None|": ("Submit", "Eligible", "Start", "End"),
    r"(?:\d+-)?\d+:\d\d(?::\d\d)?(?:\.\d+)?|": (
        "Elapsed", "Suspended", "CPUTime", "SystemCPU", "TotalCPU", "UserCPU", "Planned", "PlannedCPU", "Reserved",
        "AveCPU", "MinCPU",
    ),
    r"(?:\d+-)?\d+:\d\d(?::\d\d)?|\d{0,18}|UNLIMITED|Partition_Limit": ("Timelimit", "TimelimitRaw"),
    r"\d+:\d+|": ("ExitCode", "DerivedExitCode"),
    rf"(?:{_ITEM}(?:,{_ITEM})*,?)?": ("ReqTRES", "AllocTRES"),
    r"None assigned|[\w.,\[\]\-]*": ("NodeList",),
    r"[A-Z_]{2,}\+?(?: by \S+)?": ("State",),
    r"\d+(?:\.\d*)?[KMGTP]?[nc]?|\?|": ("ReqMem",),
    r"\d{0,18}": (
        "ElapsedRaw", "NNodes", "AllocNodes", "NCPUS", "AllocCPUS", "ReqCPUS", "ReqNodes", "Restarts", "UID", "GID",
        "AssocID", "CPUTimeRAW", "Priority", "QOSRAW", "NTasks", "DBIndex",
    ),
    r"\S*": ("Account", "User", "Partition", "QOS", "Cluster", "Group"),
    "": ("",),
}  # fmt: skip
_PATTERNS = {name: pattern for pattern, names in _BY_PATTERN.items() for name in names}
_COMMAND = r"(?:\S*(?:sbatch|srun|salloc|scrun|crontab)\S*(?!\S))"
_LONGEST_CONSTRAINTS = 4096

# Columns with texts of a form that no other column has: a line that matches one begins a record.
STRONG = frozenset({"JobID", "JobIDRaw", "Submit", "State", "ReqTRES", "AllocTRES", "ExitCode"})
# Fields of users that can hold a delimiter; those of FREE_TEXT can hold a line break too.
HOLDS_DELIMITER = FREE_TEXT | {"Constraints", "Licenses", "WCKey", "Container"}
_SAFE_DELIMITER = re.compile(r"[^\w\s,.:/=\[\]%+()?<>*\-]|[\x1c-\x1f\t]")


def is_constraint(text: str) -> bool:
    """Return True if `text` can be a feature expression: no blanks, no operator at its ends, all brackets closed."""
    if not text or text.isalnum():
        return True
    balanced = text.count("[") == text.count("]") and text.count("(") == text.count(")")
    ends = text[:1] + text[-1:]
    one = len(text.split()) == 1
    return balanced and len(text) <= _LONGEST_CONSTRAINTS and not re.search(r"[|&,]|\s", ends) and one


@cache
def looks_of(name: str) -> Looks:
    """Return the test whether a text can be one of column `name`; an unknown column takes any text of one line."""
    if name == "Constraints":
        return is_constraint
    if name == "SubmitLine":
        return re.compile(f"{_COMMAND}|$").match
    if name in FREE_TEXT:
        return lambda text: True
    return re.compile(_PATTERNS.get(name, r"\S*" if name in HOLDS_DELIMITER else r"[^\n]*"), re.I | re.A).fullmatch


def begin_pattern(names: Sequence[str], need: int, delimiter: str) -> re.Pattern[str]:
    """Return what a line looks like that begins with the first `need` columns."""
    parts = [_field(name, delimiter, "*?") for name in names[:need]]
    end = "" if need == len(names) else f"(?:$|{re.escape(delimiter)})"
    return re.compile(re.escape(delimiter).join(f"(?:{part})" for part in parts) + end, re.I | re.A)


def record_patterns(
    names: Sequence[str], delimiter: str, stems: Sequence[str]
) -> tuple[re.Pattern[str], re.Pattern[str]] | None:
    """Two patterns of a whole record, a group a column: texts of users are as short, or as long, as they can be.

    Where both find the same texts, no other way to divide the record is left. None for a delimiter that can be part of
    a typed field. `stems` is what the names of nodes begin with; empty: anything.
    """
    if not _SAFE_DELIMITER.fullmatch(delimiter):
        return None
    found = []
    for repeat in ("*?", "*"):
        parts = [
            _nodes(stems, delimiter) if name == "NodeList" and stems else _field(name, delimiter, repeat)
            for name in names
        ]
        found.append(re.compile(re.escape(delimiter).join(f"({part})" for part in parts), re.I | re.A))
    return found[0], found[1]


def _field(name: str, delimiter: str, repeat: str) -> str:
    separator = re.escape(delimiter)
    word, inside = rf"[^\s{separator}]", rf"[^{separator}]*"
    if name in FREE_TEXT:
        text = rf"{inside}(?:{separator}{inside}){repeat}"
        return _COMMAND.replace(r"\S", word) + text + "|" if name == "SubmitLine" else text
    if name in HOLDS_DELIMITER:
        return rf"{word}*(?:{separator}{word}*){repeat}"
    return _PATTERNS.get(name, rf"[^\n{separator}]*").replace(r"\S", word)


def _nodes(stems: Sequence[str], delimiter: str) -> str:
    names = "|".join(re.escape(stem) for stem in stems if stem != "None assigned")
    known = rf"|(?:{names})(?![^\d\[{re.escape(delimiter)}])[\w.,\[\]\-]*" if names else ""
    return f"None assigned{known}"
