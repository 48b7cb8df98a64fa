"""All waiting jobs of one user, each in a line."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from slurmsim.errors import ConfigError, nearest
from slurmsim.numerals import counted
from slurmsim.states import JobState
from slurmsim.twin.twin import Twin

MOST = 5  # lines


def of_user(twin: Twin, user: str) -> list[str]:
    """Return the ids of the user's waiting jobs, of an array the first; the highest priority first.

    Raises ConfigError for a user without jobs in the dump.
    """
    users = {job.user for job in twin.jobs}
    if user not in users:
        raise ConfigError(f"no job of {user!r}{nearest(user, users)}", field="--user", expected="a user of the dump")
    waiting = [job for job in twin.jobs if job.user == user and job.state == JobState.PENDING]
    found = []
    for job in sorted(waiting, key=lambda job: -(job.priority or 0)):
        live = twin.lives.get(id(job))
        if live is not None and not live.over:
            found.append(str(live.id) if live.array is None else f"{live.array.id}_{live.task}")
    return found


def summary(user: str, found: list[dict[str, Any]], twin: Twin) -> str:
    """Return what keeps the user's jobs, in at most six lines: the jobs of one reason together where they are many."""
    running = sum(job.user == user and job.is_running for job in twin.jobs)
    head = f"{user}: {counted(running, 'job')} running, {counted(len(found), 'record')} waiting."
    if not found:
        return head
    by_reason = Counter(told["reason"] for told in found)
    if len(found) <= MOST:
        return "\n".join([head, *(_line(told) for told in found)])
    lines = []
    for reason, n in by_reason.most_common(MOST):
        first = next(told for told in found if told["reason"] == reason)
        jobs = ", ".join(told["job"] for told in found if told["reason"] == reason)
        lines.append(f"{counted(n, 'job')} ({jobs if len(jobs) < 40 else jobs[:36] + ' …'}): {_why(first)}")
    return "\n".join([head, *lines])


def _line(told: dict[str, Any]) -> str:
    return f"{told['job']} ({told['partition']}, {counted(told['nodes'], 'node')}): {_why(told)}"


def _why(told: dict[str, Any]) -> str:
    text = f"{told['reason']}{': ' if told['rule'] else ''}{told['rule']}"
    if told["ahead_n"]:
        text += f"; {told['ahead_n']} before it, first {told['ahead'][0]}"
    if told["planned_start"]:
        text += f"; planned for {datetime.fromtimestamp(told['planned_start']).isoformat(' ')}"
    return text
