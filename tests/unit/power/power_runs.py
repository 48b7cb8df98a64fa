"""Runs with applications, under a policy that does what a test says, judged by the validator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from slurmsim.policy import Change, Decisions, Policy, PowerView, Reconfigure, Start, WakeAt
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import FRAME, prepare
from slurmsim.replaying.replay import execute
from slurmsim.trace.reader import Trace, read_trace
from slurmsim.validate import validate_trace

LEAN = "LeanMD:parallelism=24:sigma=0.2"
WAVE = "Wave2D:parallelism=40:sigma=0"


def jobs(*rows: Mapping[str, Any]) -> pd.DataFrame:
    """Jobs of LeanMD by default: 8 nodes, 4 to 16, malleable, 3,600 s at 0."""
    usual = {"submit": 0, "run_time": 3600, "time_limit": 7200, "nodes": 8, "min_nodes": 4, "max_nodes": 16,
             "malleable": 1, "app": LEAN}  # fmt: skip
    return pd.DataFrame([{"job_id": k + 1, **usual, **row} for k, row in enumerate(rows)])


class Script(Policy):
    """Starts whatever fits in order, with what `shapes` say, and makes the changes of `changes` at their time.

    `outcomes` are those of the changes.
    """

    name = "script"

    def __init__(
        self, shapes: Mapping[int, tuple[int | None, float | None]] | None = None,
        changes: Mapping[int, Mapping[int, tuple[int | None, float | None]]] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.shapes, self.changes = dict(shapes or {}), dict(changes or {})
        self.outcomes: dict[int, bool | None] = {}
        self.refused: list[int] = []

    def schedule(self, view: PowerView, now: int) -> Decisions:
        if now in self.changes:
            by_id = {job.id: job for job in view.running}
            wanted = self.changes.pop(now)
            changes = [Change(by_id[job], *shape) for job, shape in wanted.items() if job in by_id]
            self.outcomes[now] = yield Reconfigure(changes)
        for job in view.pending:
            nodes, cap = self.shapes.get(job.id, (None, None))
            if not (yield Start(job, nodes=nodes, cap=cap)):
                self.refused.append(job.id)
        for time in sorted(self.changes):
            if time > now:
                yield WakeAt(time)
                break


def run(
    tmp_path: Path, frame: pd.DataFrame, policy: Policy | str = "fcfs", *, nodes: int = 32, **options: Any
) -> Trace:
    """The trace of a run, which the validator finds valid."""
    named = policy if isinstance(policy, str) else "fcfs"
    prepared = prepare(RunOptions.of(FRAME, tmp_path / "out", nodes=nodes, policy=named, **options), frame)
    if isinstance(policy, Policy):
        prepared.policy = policy
    folder, _, _ = execute(prepared, report=False)
    assert validate_trace(folder).failed == [], validate_trace(folder).to_text()
    return read_trace(folder)


def ends(trace: Trace) -> dict[int, int]:
    """When jobs ended, by id."""
    return {int(k): int(v) for k, v in trace.jobs_frame().set_index("job_id")["end"].items()}


def column(trace: Trace, name: str) -> dict[int, Any]:
    """A column of jobs by id."""
    return dict(trace.jobs_frame().set_index("job_id")[name].items())
