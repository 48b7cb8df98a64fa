"""How long requeued jobs wait: the lifetime of a credential, or SchedulerParameters=requeue_delay (26.05)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from world import World, simple

import slurmsim
from slurmsim.core.records.messages import Requeue as RequeueFact
from slurmsim.policy import Policy, Requeue, Start, WakeAt
from slurmsim.validate import validate_trace


@pytest.mark.parametrize(("option", "starts"), [
    ("", 10 + 121), ("SchedulerParameters=requeue_delay=0", 11), ("SchedulerParameters=requeue_delay=30", 41),
])  # fmt: skip
def test_a_requeued_job_may_start_after_the_delay(option: str, starts: int) -> None:
    w = World(simple(2, more=option), "backfill", release="26.05")
    job = w.sbatch("-N2 -t 60", at=0)
    w.until(10)
    w.tell(RequeueFact(job))
    w.until(11)
    found = w.controller.state.jobs[job]
    assert (found.state, found.begin) == ("PENDING", starts)
    w.until(starts + 60)
    assert found.state == "RUNNING"


CONF = """ClusterName=x
SlurmctldHost=h
SchedulerParameters=requeue_delay=5
NodeName=n[1-2] CPUs=2
PartitionName=p Nodes=ALL Default=YES
"""


class Once(Policy):
    """Requeues every job once, after a minute."""

    name = "once"

    def schedule(self, view: Any, now: int) -> Any:
        for job in view.running:
            if not job.restarts and now >= job.start_time + 60:
                yield Requeue(job)
        for job in list(view.pending):
            yield Start(job)
            yield WakeAt(now + 60)


def test_the_validator_knows_the_delay_of_the_run(tmp_path: Path) -> None:
    """It took 121 s for the only one, and called a right run invalid."""
    (tmp_path / "slurm.conf").write_text(CONF, "utf-8")
    jobs = pd.DataFrame([{"job_id": 1, "submit": 0, "run_time": 200, "time_limit": 600, "nodes": 1}])
    trace = slurmsim.run(jobs, conf=tmp_path / "slurm.conf", policy=Once, out=tmp_path / "out", report=False)
    assert trace.jobs_frame(dates=False)["start"].tolist() == [66]
    found = validate_trace(tmp_path / "out")
    assert found.valid and "decisions_kept" in [check.name for check in found.checks], found.to_text()


def test_a_job_that_had_ended_waits_as_long(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF, "utf-8")
    with slurmsim.cluster(
        conf=tmp_path / "slurm.conf", frozen=True, start="2026-01-05T08:00:00Z", slurm_version="26.05"
    ) as c:
        c.run("sbatch -t 5 --wrap 'sleep 10'")
        c.step(60)
        c.run("scontrol requeue 1")
        told = c.run("scontrol show job 1").stdout
    assert "EligibleTime=2026-01-05T08:01:06" in told
