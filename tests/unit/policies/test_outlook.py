"""`Outlook`: conservative backfill in eight lines of another package is that of ours, on counts and on named nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import slurmsim
from slurmsim.errors import PolicyError
from slurmsim.policy import Outlook, Plan, Policy, Start
from slurmsim.validate import validate_trace
from slurmsim_policies.backfill import ReservationBackfill

GPUS = """
ClusterName=c
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
NodeName=n[1-6] CPUs=8 RealMemory=16000 Gres=gpu:2
NodeName=n[7-8] CPUs=16 RealMemory=64000
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE
"""
WHOLE = """
ClusterName=c
SelectType=select/linear
NodeName=n[1-16] CPUs=8
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE
"""


class Strangers(Policy):
    """Conservative backfill as a stranger writes it."""

    name = "strangers"
    summary = "plans every job in queue order"

    def schedule(self, view: Any, now: int) -> Any:
        outlook = Outlook(view)
        for job in view.pending:
            start = outlook.start(job)
            if start is not None and (yield start):
                outlook.started(job)
            elif (time := outlook.plan(job)) is not None:
                yield Plan(job, time)


class Ours(ReservationBackfill):
    """The engine of ours that plans anew in queue order."""

    name = "ours"
    summary = "as the one above"
    depth = None
    anew = True


def log_of(gpus: bool) -> pd.DataFrame:
    """120 jobs of mixed sizes that come faster than they can run."""
    rows = []
    for k in range(120):
        size = (k * 7) % 5 + 1
        rows.append({
            "job_id": k + 1, "submit": k * 37, "run_time": 120 + (k * 53) % 900, "time_limit": 300 + (k * 71) % 1200,
            **({"tasks": size * 3, "gres": f"gpu:{k % 3}" if k % 3 else ""} if gpus else {"nodes": size}),
        })  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("conf", "gpus"), [(WHOLE, False), (GPUS, True)], ids=["counts", "named nodes"])
def test_a_strangers_conservative_backfill_starts_what_ours_starts(conf: str, gpus: bool, tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(conf, encoding="utf-8")
    starts = {}
    for policy in (Strangers, Ours):
        out = tmp_path / policy.name
        trace = slurmsim.run(log_of(gpus), policy=policy, conf=tmp_path / "slurm.conf", out=out, report=False)
        assert validate_trace(out).valid
        starts[policy.name] = trace.jobs_frame(dates=False).sort_values("job_id")["start"].tolist()
    assert starts["strangers"] == starts["ours"]
    waited = pd.Series(starts["ours"]) - log_of(gpus)["submit"]
    assert waited.max() > 1000  # it is crowded: plans decide


THREE = pd.DataFrame(
    {"job_id": [1, 2, 3], "submit": [0] * 3, "run_time": [500] * 3, "time_limit": [600, 300, 60], "nodes": [12, 16, 8]}
)


def test_the_earliest_start_counts_what_is_planned(tmp_path: Path) -> None:
    told: list[tuple[int, int | None, int | None]] = []

    class Telling(Policy):
        name = "telling"
        summary = "says when jobs could start"

        def schedule(self, view: Any, now: int) -> Any:
            outlook = Outlook(view)
            for job in view.pending:
                start = outlook.start(job)
                if start is not None and (yield start):
                    outlook.started(job)
                else:
                    told.append((job.id, view.earliest_start(job), outlook.earliest_start(job)))
                    outlook.plan(job)

    (tmp_path / "slurm.conf").write_text(WHOLE, encoding="utf-8")
    slurmsim.run(THREE, policy=Telling, conf=tmp_path / "slurm.conf")
    assert told[:2] == [(2, 600, 600), (3, 600, 900)]


def test_what_was_not_started_by_it_is_not_noted(tmp_path: Path) -> None:
    class Careless(Policy):
        name = "careless"
        summary = "notes a start that was none"

        def schedule(self, view: Any, now: int) -> Any:
            Outlook(view).started(view.pending[0])
            yield Start(view.pending[0])

    (tmp_path / "slurm.conf").write_text(WHOLE, encoding="utf-8")
    with pytest.raises(PolicyError, match=r"expected start\(job\) first"):
        slurmsim.run(THREE, policy=Careless, conf=tmp_path / "slurm.conf")
