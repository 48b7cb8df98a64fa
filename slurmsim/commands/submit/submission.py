"""Handing a job to the daemon: retries as Slurm's commands make them, estimates, and waiting for the end."""

from __future__ import annotations

import time

from slurmsim.commands.submit.scripts.batch_script import MAX_SCRIPT_BYTES, TOO_LONG
from slurmsim.hostlist import compress, expand, natural_key
from slurmsim.protocol import Refusal, Unreachable
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from slurmsim.commands.io import Io
    from slurmsim.commands.text.messages import Messages


MAX_RETRIES = 15
_POLL_S, _LONGEST_POLL_S = 0.05, 2.0
_LATER = {
    "Unable to create job record, try again": "Slurm job queue full, sleeping and retrying",
    "Requested nodes are busy": "Job creation temporarily disabled, retrying",
    "Resource temporarily unavailable": "Slurm temporarily unable to accept job, sleeping and retrying",
}
_NOT_AN_ERROR = "Requested nodes are busy"
_INVALID_JOB = "Invalid job id specified"
_START_WORDS = {"22.05": "using", "25.05": "a using"}


class Failed(Exception):
    """The daemon refused or did not answer: Slurm's text, and the lines that come before it."""

    def __init__(self, text: str, notes: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.text, self.notes = text, notes

    @classmethod
    def by(cls, refusal: Refusal) -> Failed:
        """Split a refusal: its text is the last line."""
        *notes, text = refusal.text.split("\n")
        return cls(text, tuple(notes))


def submit(io: Io, jobs: list[dict[str, Any]], say: Messages) -> int:
    """Submit one job, or the parts of a heterogeneous one; the job id. Raises Failed."""
    return int(ask(io, jobs, say)["job_id"])


def ask(io: Io, jobs: list[dict[str, Any]], say: Messages) -> dict[str, Any]:
    """As `submit`: all that the daemon answered. Raises Failed."""
    _check_size(jobs)
    for retry in range(MAX_RETRIES + 1):
        try:
            answer = _ask(io, jobs, will_run=False)
        except Unreachable as away:
            raise Failed(away.text) from None
        except Refusal as refusal:
            failed = Failed.by(refusal)
            if failed.text not in _LATER or retry == MAX_RETRIES:
                raise failed from None
            if not retry:
                (say.info if failed.text == _NOT_AN_ERROR else say.error)(_LATER[failed.text])
            time.sleep(retry + 1)
            continue
        _user_message(answer, say)
        return answer
    raise AssertionError("unreachable: the last try raises")


def will_run(io: Io, jobs: list[dict[str, Any]], say: Messages) -> dict[str, Any]:
    """When and where the job would start: job_id, start_time, proc_cnt, node_list, part_name. Raises Failed."""
    _check_size(jobs)
    try:
        answer = _ask(io, jobs, will_run=True)
    except Unreachable as away:
        raise Failed(away.text) from None
    except Refusal as refusal:
        raise Failed.by(refusal) from None
    _user_message(answer, say)
    if "start_time" not in answer:  # a daemon that cannot tell
        raise Failed("Requested operation not supported on this system")
    return answer


def each_would_run(io: Io, jobs: list[dict[str, Any]], say: Messages) -> Iterator[dict[str, Any]]:
    """As `will_run`, of each component for itself. Raises Failed."""
    for job in jobs:
        yield will_run(io, [job], say)


def would_start(io: Io, job_id: int, job: dict[str, Any]) -> dict[str, Any]:
    """Return when and where a job that waits would start (26.05). Raises Failed."""
    try:
        return io.client.call("submit", job=job, will_run=True, of_job=job_id)
    except Unreachable as away:
        raise Failed(away.text) from None
    except Refusal as refusal:
        raise Failed.by(refusal) from None


def _ask(io: Io, jobs: list[dict[str, Any]], will_run: bool) -> dict[str, Any]:
    if len(jobs) > 1:
        return io.client.call("submit", job=jobs[0], components=jobs[1:], will_run=will_run)
    return io.client.call("submit", job=jobs[0], will_run=will_run)


def _check_size(jobs: list[dict[str, Any]]) -> None:
    """Refuse what would only fill the wire: the daemon has the same limit."""
    script = jobs[0].get("script") or ""
    if len(script) * 4 > MAX_SCRIPT_BYTES and len(script.encode("utf-8", "surrogateescape")) >= MAX_SCRIPT_BYTES:
        raise Failed(TOO_LONG)


def _user_message(answer: dict[str, Any], say: Messages) -> None:
    for line in (answer.get("job_submit_user_msg") or "").split("\n"):
        if line:
            say.info(line)


def wait_for(io: Io, job_id: int, say: Messages) -> int:
    """Wait until the job, or every task of the array, is over; the highest exit code, 1 for a signal."""
    pause = _POLL_S
    while True:
        try:
            io.client.patient().call("wait_over", job_id=job_id)
            columns = io.client.call("jobs", job_id=job_id, fields=["exit_code"])["columns"]
        except Refusal as refusal:
            if refusal.text.endswith(_INVALID_JOB):
                say.error(f"Job {job_id} no longer found and exit code not found")
                return 0
            text = refusal.text
        except Unreachable as away:
            text = away.text
        else:
            return max((1 if wait & 0x7F else wait >> 8 & 0xFF for wait in columns["exit_code"]), default=0)
        say.error(f"Currently unable to load job state information, retrying: {text}")
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_POLL_S)


def start_lines(found: dict[str, Any], date: str, release: str) -> list[str]:
    """Return what ``--test-only`` says of a job that would start, and of those that would make way for it."""
    start = (
        f"Job {found['job_id']} to start at {date} {row(_START_WORDS, release)} "
        f"{found['proc_cnt']} processors on nodes {found['node_list']} in partition {found['part_name']}"
    )
    victims = ",".join(str(number) for number in found.get("preemptee_job_id", ()))
    return [start, f"  Preempts: {victims}"] if victims else [start]


def start_line_together(components: list[dict[str, Any]], date: str) -> str:
    """Return what ``--test-only`` says of the components of a job, each of which would start."""
    nodes = {name for one in components for name in expand(one["node_list"])}
    cpus = sum(int(one["proc_cnt"]) for one in components)
    return (
        f"Job {components[0]['job_id']} to start at {date} using {cpus} processors "
        f"on {compress(sorted(nodes, key=natural_key))}"
    )
