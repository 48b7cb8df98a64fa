"""What a mean does not show: jobs that were refused, left out, or had not started when the run was over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slurmsim.numerals import counted
from slurmsim.report.text import by_reason, duration

STARVED = 0.5  # a run in which more than this share of the jobs never started says nothing about waits
SHORT_OF = ("jobs", "refused", "never_started", "cancelled_waiting", "dropped")
"""What of a summary a table of many runs keeps to say it."""


def shortfall(summary: Mapping[str, Any]) -> str:
    """``369 jobs refused. 12 jobs can never start: Priority 12. …`` of a run's summary; empty for nothing to say.

    The first line of whatever speaks of the run's waits, because those are of the jobs that started.
    """
    said = [f"{counted(n, 'job')} refused"] if (n := summary.get("refused")) else []
    said += _not_started(summary)
    said += [f"{counted(n, 'job')} left out of the log"] if (n := summary.get("dropped")) else []
    if summary.get("never_started"):
        started = summary["jobs"] - summary["never_started"]
        text = f"Waits are of the {started:,} of {summary['jobs']:,} that started"
        if summary.get("mean_wait_so_far_s") is not None:
            text += f"; with the waits so far of the others the mean is {duration(summary['mean_wait_so_far_s'])}"
        said.append(text)
    return "".join(f"{sentence}. " for sentence in said).rstrip()


def _not_started(summary: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each fate of the jobs that never started; a summary of many runs tells no reasons."""
    said = []
    rest = (summary.get("never_started") or 0) - (summary.get("cancelled_waiting") or 0)
    if rest and "waiting" not in summary:
        said.append(f"{counted(rest, 'job')} never started")
    if waiting := summary.get("waiting"):
        words = "had not started when the run was stopped" if summary["stopped"] else "can never start"
        said.append(f"{counted(sum(waiting.values()), 'job')} {words}: {by_reason(waiting)}")
    if ended := summary.get("ended_waiting"):
        said.append(f"{counted(sum(ended.values()), 'job')} ended without a start: {by_reason(ended)}")
    if n := summary.get("cancelled_waiting"):
        said.append(f"{counted(n, 'job')} {'was' if n == 1 else 'were'} cancelled in the log while waiting")
    return said


def starved(summary: Mapping[str, Any]) -> bool:
    """Return True if most of a run's submissions never started.

    Refused ones count; those left out of the log do not, nor do those that the log itself cancels.
    """
    cancelled = summary.get("cancelled_waiting", 0)
    asked = summary["jobs"] + summary["refused"] - cancelled
    return bool(summary["never_started"] + summary["refused"] - cancelled > STARVED * asked)


def shortfalls(names: Sequence[str], summaries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each run that has a shortfall, its name before it."""
    return [f"{name}: {text}" for name, one in zip(names, summaries, strict=True) if (text := shortfall(one))]
