"""What a mean does not show: jobs that were refused, left out, or had not started when the run was over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slurmsim.report.text import duration

STARVED = 0.5
"""A run in which more than this share of the jobs never started says nothing about waits."""
_WORDS = (("refused", "refused"), ("never_started", "never started"), ("dropped", "left out of the log"))


def shortfall(summary: Mapping[str, Any]) -> str:
    """``369 jobs refused, 12 never started …`` of a run's summary; empty when there is nothing to say.

    The first line of whatever speaks of the run's waits, because those are of the jobs that started.
    """
    parts = [f"{summary[key]:,} {word}" for key, word in _WORDS if summary.get(key)]
    if not parts:
        return ""
    first, *others = parts
    count, word = first.split(" ", 1)
    jobs = "job" if count == "1" else "jobs"
    text = f"{count} {jobs} {word}" + "".join(f", {part}" for part in others)
    if summary.get("never_started"):
        started = summary["jobs"] - summary["never_started"]
        text += f": waits are of the {started:,} of {summary['jobs']:,} that started"
        if summary.get("mean_wait_so_far_s") is not None:
            text += f"; with the waits so far of the others the mean is {duration(summary['mean_wait_so_far_s'])}"
    return text + "."


def starved(summary: Mapping[str, Any]) -> bool:
    """Whether most of a run's submissions never started: refused ones count, those left out of the log do not."""
    asked = summary["jobs"] + summary["refused"]
    return bool(summary["never_started"] + summary["refused"] > STARVED * asked)


def shortfalls(names: Sequence[str], summaries: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each run that has a shortfall, its name before it."""
    return [f"{name}: {text}" for name, one in zip(names, summaries, strict=True) if (text := shortfall(one))]
