"""What a twin is, and what its dump lacks, as a text and as plain data."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from slurmsim.numerals import counted
from slurmsim.states import JobState
from slurmsim.twin.findings import Weight
from slurmsim.twin.twin import Twin

_HEADS = {
    Weight.HEAVY: "Missing, or left out:", Weight.MIDDLE: "May change an order, or nodes:",
    Weight.LIGHT: "Only shown:",
}  # fmt: skip


def as_dict(twin: Twin) -> dict[str, Any]:
    """Return the twin's size and the findings, the heaviest first."""
    lives = {id(live): live for live in twin.lives.values()}.values()
    states = [str(live.core.state) for live in lives]
    return {
        "cluster": twin.engine.spec.name, "release": twin.engine.release, "now": twin.now,
        "nodes": len(twin.engine.spec.nodes), "running": states.count(JobState.RUNNING),
        "waiting": states.count(JobState.PENDING), "records": len(twin.jobs), "taken": len(lives),
        "findings": [{"weight": one.weight.name.lower(), "what": one.what, "names": list(one.names)}
                     for one in twin.findings.all()],
    }  # fmt: skip


def as_text(twin: Twin) -> str:
    """Return the same for a terminal."""
    told = as_dict(twin)
    when = datetime.fromtimestamp(twin.now).isoformat(" ")
    lines = [f"{told['cluster']} (Slurm {told['release']}) of {when}: {counted(told['nodes'], 'node')}, "
             f"{counted(told['running'], 'running job')}, {counted(told['waiting'], 'waiting record')}."]  # fmt: skip
    for weight, head in _HEADS.items():
        found = [one for one in twin.findings.all() if one.weight == weight]
        if found:
            lines += ["", head, *(f"- {one.text}" for one in found)]
    return "\n".join(lines)
