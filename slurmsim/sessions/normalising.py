"""Output of commands compared: without what differs each time, and line by line."""

import difflib
import re
from collections.abc import Sequence

from slurmsim.data_classes import dataclass

Patterns = Sequence[Sequence[str]]  # what is replaced: pairs of a name and a regular expression

VOLATILE: Patterns = (
    ("ISO time stamps", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"),
    ("elapsed times (TIME, RunTime)", r"\b(\d+-)?\d{0,2}:?\d{1,2}:\d{2}\b"),
    ("process ids", r"(SLURM_TASK_PID=|AllocNode:Sid=\S+:)\d+"),
    ("munge/tcp ports", r"SLURM_(SRUN|LAUNCH)\S*=\S+"),
)
"""Of every session."""
# what only the machine of the recording knows, though its list does not name it
_MEASURED = (
    ("CPU load", r"CPULoad=\S+"), ("free memory", r"FreeMem=\S+"), ("process ids", r"SrunHost:Pid=\S+:\d+"),
    ("kernel", r"\bOS=Linux .*?SMP(?: PREEMPT_DYNAMIC)?"),
    ("SLUID", r"\bs[0-9A-HJKMNP-TV-Z]{13}\b"),  # a random number and the machine's own clock
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command answered; no code: it was given up."""

    code: int | None
    stdout: str
    stderr: str


def normal(text: str, volatile: Patterns = VOLATILE) -> str:
    """`text` with everything volatile replaced, a volatile port also where it is shown under another name."""
    for what, pattern in (*volatile, *_MEASURED):
        if "port" in what:
            for shown in list(re.finditer(pattern, text)):
                port = shown[0].rpartition("=")[2]
                if port.isdigit():
                    text = re.sub(rf"\b{port}\b", "<port>", text)
        text = re.sub(rf" *(?:{pattern})", f" <{what}>", text)
    return re.sub(r"(?<=stamps>)\.\d{3}\b", "", text)  # a fraction of a time stamp's second


def difference(ours: Answer, recorded: Answer, volatile: Patterns = VOLATILE) -> str:
    """How our answer differs from the recorded one; empty for not at all.

    >>> difference(Answer(1, "a\\n", ""), Answer(0, "a\\n", ""))
    'exit code 1, recorded 0'
    """
    parts = []
    if ours.code != recorded.code:
        parts.append(f"exit code {ours.code}, recorded {recorded.code}")
    for name in ("stdout", "stderr"):
        mine, real = (normal(getattr(one, name), volatile).splitlines() for one in (ours, recorded))
        if mine != real:
            lines = difflib.unified_diff(real, mine, "recorded", "ours", lineterm="", n=0)
            parts.append(f"{name}:\n" + "\n".join(lines))
    return "\n".join(parts)
