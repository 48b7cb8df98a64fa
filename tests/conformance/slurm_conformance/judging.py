"""Comparing answers: what differs in every run is replaced first, ids of jobs and times of day."""

import os
import re
from collections.abc import Sequence

from slurm_conformance.answers import Answer

_SUBMITTED = re.compile(r"(?:Submitted batch job|Granted job allocation) (\d+)$", re.MULTILINE)
_PARSABLE = re.compile(r"^(\d+)(?:;\w+)?$", re.MULTILINE)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?")


def submitted(command: str, text: str) -> list[str]:
    """Return the ids of the jobs that `command` says it has submitted."""
    return (_PARSABLE if "--parsable" in command else _SUBMITTED).findall(text)


def placed(text: str, jobs: Sequence[str]) -> str:
    """Return a command with `{job}` and `{job1}`… as the ids of the scenario's jobs, and `{run}` as this run's own."""

    def one(found: re.Match[str]) -> str:
        number = int(found[1] or len(jobs))
        return jobs[number - 1] if 0 < number <= len(jobs) else found[0]

    return re.sub(r"\{job(\d*)\}", one, text.replace("{run}", str(os.getpid())))


def normal(status: int, output: str, errors: str, jobs: Sequence[str]) -> Answer:
    """Return an answer without what differs in every run."""

    def lines(text: str) -> tuple[str, ...]:
        for number, job in enumerate(jobs, 1):
            text = re.sub(rf"(?<!\d){job}(?!\d)", f"{{job{number}}}", text)
        return tuple(_TIME.sub("<time>", text).splitlines())

    return Answer(status, lines(output), lines(errors))


def alike(one: Answer, other: Answer, *, exact: bool) -> bool:
    """Return True if two answers say the same; blanks count only if `exact`."""
    if exact:
        return one == other
    return _words(one) == _words(other)


def _words(answer: Answer) -> tuple[int, list[list[str]], list[list[str]]]:
    return answer.status, [line.split() for line in answer.output], [line.split() for line in answer.errors]
