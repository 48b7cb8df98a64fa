"""What ``scontrol show`` prints, as records of keys and values: on several lines or, with ``-o``, on one.

On several lines a value goes to the end of its line where its key is one of free text (a job's name, a node's reason).
Elsewhere a value ends at the next key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmsim.data_classes import dataclass
from slurmsim.errors import WorkloadError

_KEY = re.compile(r"(?:^|(?<=\s))([A-Za-z][A-Za-z0-9_/:.\[\]]{0,63})=", re.ASCII)
FREE = frozenset({
    "JobName", "Comment", "AdminComment", "SystemComment", "Command", "WorkDir", "StdErr", "StdIn", "StdOut",
    "SubmitLine", "Reason", "OS", "Extra", "BurstBuffer", "Container", "BatchFlag=", "ActiveFeatures",
    "AvailableFeatures", "Features", "MailUser",
})  # fmt: skip
"""Keys with values of free text, where the line is theirs."""
_SHARED = frozenset({"Reason", "Features"})  # of jobs, where other keys follow on the line
MOST_RECORDS = 2_000_000
_NOTHING = frozenset({"(null)", "N/A", "n/a", "None", "NONE"})


@dataclass(frozen=True, slots=True)
class Shown:
    """One record: the line it begins at, its fields, and the lines of details below (``Nodes=… CPU_IDs=…``)."""

    line: int
    fields: dict[str, str]
    details: tuple[dict[str, str], ...] = ()

    def get(self, key: str, default: str = "") -> str:
        """Return the value of `key`; `default` where it is missing or says that there is none."""
        value = self.fields.get(key, "")
        return default if not value or value in _NOTHING else value


def records(text: str, first: str, file: str, detail: str = "") -> Iterator[Shown]:
    """Yield the records that begin with the key `first`; those of lines that begin with `detail` are its details.

    Raises WorkloadError for text before the first of them.
    """
    fields: dict[str, str] = {}
    details: list[dict[str, str]] = []
    began = n = 0
    head = f"{first}="
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith(("No ", "There are no")):
            continue
        if line.startswith(head):
            if began:
                yield Shown(began, fields, tuple(details))
            n += 1
            if n > MOST_RECORDS:
                raise WorkloadError("too many records", file=file, line=number, expected=f"{MOST_RECORDS:,} at most")
            began, fields, details = number, {}, []
        elif not began:
            raise WorkloadError(f"{stripped[:40]!r} begins no record", file=file, line=number, expected=head)
        if detail and stripped.startswith(f"{detail}=") and "CPU_IDs=" in stripped:
            details.append(_pairs(stripped))
        else:
            fields.update(_of_line(stripped, one_line=line.startswith(head) and stripped.count("=") > 15))
    if began:
        yield Shown(began, fields, tuple(details))


def _of_line(line: str, *, one_line: bool) -> dict[str, str]:
    if not one_line:
        key, equals, value = line.partition("=")
        if equals and key in FREE and key not in _SHARED:
            return {key: value}
        at = line.find(" JobName=")
        if line.startswith("JobId=") and at > 0:
            return {**_pairs(line[:at]), "JobName": line[at + 9 :]}
        if line.startswith("Reason=") and "[" in line:  # of a node: Reason=text [user@time]
            return {"Reason": line[7:]}
    return _pairs(line)


def _pairs(line: str) -> dict[str, str]:
    found = list(_KEY.finditer(line))
    ends = [*(match.start() for match in found[1:]), len(line)]
    return {match[1]: line[match.end() : end].strip() for match, end in zip(found, ends, strict=False)}
