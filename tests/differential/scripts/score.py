"""What is equal of two answers to a script: taken alike, all fields and messages, output and environment.

TRIVIA names what no two clusters have in common; all else counts.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from typing import Any

MOST_LINES = 30  # of a difference that are printed
# what the two cannot have in common: variable or field -> why
TRIVIA = {
    "SLURM_TASK_PID": "pid",
    "AllocNode:Sid": "pid",
    "SLURM_LAUNCH_NODE_IPADDR": "address",
    "SLURM_SRUN_COMM_HOST": "address",
    "SLURM_SRUN_COMM_PORT": "port",
    "SLURM_STEP_LAUNCHER_PORT": "port",
    "SLURM_JOB_START_TIME": "time",
    "SLURM_JOB_END_TIME": "time",
    "RunTime": "time",
    "SLUID": "time",
    "SLURM_JOB_SLUID": "time",
    "SLURM_PRIO_PROCESS": "how nice the one who asked was",
    "SLURM_CONF": "path of the cluster",
}
_NAMED = re.compile(rf"(?<![\w:])({'|'.join(map(re.escape, TRIVIA))})=\S*")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?")
# what our tasks know of their cluster: a line of its own, a word of a line where a script has unquoted output
_OURS = re.compile(r"^(\d+: )?(\[\S+ \S+\] )?SLURMSIM_\w+=.*\n| (\[\S+ \S+\] )?SLURMSIM_\w+=\S*", re.MULTILINE)
_TRACED = re.compile(r"\$'((?:[^'\\]|\\.)*)'")
_TRACE = re.compile(r"^\++ .*\$'.*$", re.MULTILINE)  # of ``set -x``: bash quotes new lines in another way from 5.3 on
_SPOOL = re.compile(r"/[^\s:']*/(\w+/job\d+/slurm_script)")  # under SlurmdSpoolDir, and in our cluster's folder
_SPOOL_FOLDER = re.compile(r"(?<![\w/])(/var/spool/slurmd|/tmp/scripts-\w+/owner/c/spool)(?=[/\s]|$)")
# what no two runs have in common: ``date`` and ``time``, and words that programs of another Debian have changed
# whether tasks that start at once have an AccrueTime: it differs between two runs of one script
_ACCRUED = re.compile(r"(?s)(?<=ArrayTaskId=)(.*?AccrueTime=)Unknown")
_DATE = re.compile(r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} +\d+ \d\d:\d\d:\d\d (AM |PM )?(UTC )?\d{4}")
_TIMED = re.compile(r"^(real|user|sys)(\s+)(\d+m)?\d+[.,]\d+s?$", re.MULTILINE)
_WORDING = (("integer expression expected", "integer expected"),)
_ALONE = re.compile(r"^1\d{5}$|(?<=Job )1\d{5}(?= to start)", re.MULTILINE)  # of --parsable and --test-only
_PID = re.compile(r"(slurm_script: line \d+: (?:kill: \(| *))\d+")


@dataclass
class Judged:
    """A script's verdicts; `differences` by what was looked at."""

    name: str
    taken: bool = True
    fields: bool = True
    ran: bool | None = None
    differences: dict[str, list[str]] = field(default_factory=dict)

    def told(self) -> str:
        """For people."""
        parts = [f"--- {self.name} {what}\n" + "\n".join(_short(lines)) for what, lines in self.differences.items()]
        return "\n".join(parts) + "\n" if parts else ""


def _short(lines: list[str]) -> list[str]:
    """A line of several tasks and programs once."""
    once = dict.fromkeys(re.sub(r"\[\S+ \S+\] ", "", line) for line in lines if not line.startswith("@@"))
    return [*once][:MOST_LINES]


def normal(text: str, job: str | None) -> str:
    """`text` without trivia; job ids are told by how far they are from the first one."""
    text = _TRACE.sub(lambda line: _TRACED.sub(_as_before, line[0]), text)
    text = _SPOOL.sub(r"\1", _NAMED.sub(r"\1=*", _OURS.sub("", text)))
    text = _PID.sub(r"\1*", _TIME.sub("TIME", _SPOOL_FOLDER.sub("SPOOL", text)))
    text = _ACCRUED.sub(r"\1TIME", _TIMED.sub(r"\1 *", _DATE.sub("DATE", text)))
    for before, since in _WORDING:
        text = text.replace(before, since)
    if job is None:
        text = _ALONE.sub("JOB", text)
    else:
        first = int(job)
        text = re.sub(r"(?<!\d)(?<!Priority=)1\d{5}(?![\dM])", lambda n: f"J+{int(n[0]) - first}"
                      if -9 < int(n[0]) - first < 900 else n[0], text)  # fmt: skip
    return text


def _as_before(quoted: re.Match[str]) -> str:
    plain = re.sub(r"\\(.)", lambda one: {"n": "\n", "t": "\t", "'": "'\\''"}.get(one[1], one[1]), quoted[1])
    return f"'{plain}'"


def _job(answer: list[Any] | None) -> str | None:
    found = re.search(r"Submitted batch job (\d+)", answer[1]) if answer else None
    return found[1] if found else None


def _lines(text: str, job: str | None) -> list[str]:
    """A line for each field of `scontrol show job`, each line otherwise."""
    text = normal(text, job)
    if text.startswith("JobId="):
        return [word for word in re.sub(r"[ \n]+(?=[A-Z][\w/:]*=)", "\n", text).splitlines() if word]
    return text.splitlines()


def _differ(real: list[str], ours: list[str]) -> list[str]:
    return list(difflib.unified_diff(real, ours, "real", "ours", lineterm="", n=0))[2:]


def _submission(one: Judged, real: dict[str, Any], ours: dict[str, Any]) -> None:
    for what in ("held", "held_shown", "free", "free_shown"):
        left, right = real.get(what, [None, "", ""]), ours.get(what, [None, "", ""])
        pair = [_job(side.get(what.partition("_")[0])) for side in (real, ours)]
        found = [] if left[0] == right[0] else [f"exit {left[0]}, ours {right[0]}"]
        for k in (1, 2):
            found += _differ(_lines(left[k], pair[0]), _lines(right[k], pair[1]))
        if found:
            one.differences[what] = found
            one.fields = False
            one.taken &= what not in ("held", "free") or left[0] == right[0]


def _run(one: Judged, real: dict[str, Any], ours: dict[str, Any]) -> None:
    pair = [_job(side["submitted"]) for side in (real, ours)]
    found: dict[str, list[str]] = {}
    texts = [{normal(name, job): sorted(normal(text, job).splitlines()) for name, text in side.get("files", {}).items()}
             for side, job in zip((real, ours), pair, strict=True)]  # fmt: skip
    for name in sorted(set(texts[0]) | set(texts[1])):
        if name not in texts[0] or name not in texts[1]:
            found[f"file {name}"] = ["only real" if name in texts[0] else "only ours"]
        elif lines := _differ(texts[0][name], texts[1][name]):
            found[f"file {name}"] = lines
    shown = [_lines(side.get("shown", [0, "", ""])[1], job) for side, job in zip((real, ours), pair, strict=True)]
    if lines := _differ(*shown):
        found["ended"] = lines
    one.ran = not found
    one.differences |= found


def judge(real: dict[str, Any], ours: dict[str, Any], only: str = "") -> list[Judged]:
    """A verdict a script that both were asked."""
    found = []
    for name in sorted(real.keys() & ours.keys()):
        if only in name:
            one = Judged(name)
            _submission(one, real[name]["submit"], ours[name]["submit"])
            if real[name].get("run", {}).get("ended") and "run" in ours[name]:
                _run(one, real[name]["run"], ours[name]["run"])
            found.append(one)
    return found


def table(release: str, judged: list[Judged]) -> str:
    """The figures, a row of Markdown."""
    ran = [one for one in judged if one.ran is not None]

    def share(n: int, of: int) -> str:
        return f"{n}/{of} = {n / of:.1%}" if of else "0/0"

    return (f"| {release} | taken {share(sum(one.taken for one in judged), len(judged))} "
            f"| fields and messages {share(sum(one.fields for one in judged), len(judged))} "
            f"| run {share(sum(bool(one.ran) for one in ran), len(ran))} |")  # fmt: skip
