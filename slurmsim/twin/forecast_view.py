"""A forecast as sentences for a terminal."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from slurmsim.duration import format_duration
from slurmsim.twin.forecast import LEAST_GAIN_S, SURE


def as_text(told: dict[str, Any]) -> str:
    """Return what `slurmsim.twin.forecast` found of one job, and how such intervals held."""
    lines = [f"Job {told['job']}, asked at {_moment(told['now'])}, by the lives of {told['copies']} copies:"]
    for what in ("start", "end"):
        levels = told[what]
        spans = f"50 %: {_span(levels, '50')}; 80 %: {_span(levels, '80')}"
        lines.append(f"- {what}: {_moment(levels['median'])} in the median; {spans}")
    held = told["held"]
    if held is not None and held["n"]:
        lines.append(f"Of {held['n']} waits of its past {held['in80']} started within the 80 % interval, "
                     f"{held['in50']} within that of 50 %.")  # fmt: skip
    elif held is not None:
        lines.append("Its past has no wait long enough to test such intervals on.")
    return "\n".join([*lines, *_advice(told["advice"])])


def _advice(found: list[dict[str, Any]]) -> list[str]:
    if not found:
        return []
    helps = [one for one in found if one["share"] >= SURE and one["sooner_s"] >= LEAST_GAIN_S]
    if not helps:
        tried = ", ".join(one["option"] for one in found)
        return [f"No other request that was tried lets it start sooner for sure ({tried})."]
    best = sorted(helps, key=lambda one: -one["sooner_s"])
    return [f"With {one['option']} it would start {format_duration(one['sooner_s'])} sooner (in {one['share']:.0%} of "
            f"{one['n']} copies)." for one in best]  # fmt: skip


def _span(levels: dict[str, Any], level: str) -> str:
    low, high = levels[f"low{level}"], levels[f"high{level}"]
    return f"{_moment(low)} to {_moment(high)}"


def _moment(seconds: int | None) -> str:
    return "later than two weeks" if seconds is None else datetime.fromtimestamp(seconds).isoformat(" ", "minutes")
