"""How long requeued jobs wait: the lifetime of a credential, or SchedulerParameters=requeue_delay (26.05)."""

from __future__ import annotations

import pytest
from world import World, simple

from slurmsim.core.records.messages import Requeue


@pytest.mark.parametrize(("option", "starts"), [
    ("", 10 + 121), ("SchedulerParameters=requeue_delay=0", 11), ("SchedulerParameters=requeue_delay=30", 41),
])  # fmt: skip
def test_a_requeued_job_may_start_after_the_delay(option: str, starts: int) -> None:
    w = World(simple(2, more=option), "backfill", release="26.05")
    job = w.sbatch("-N2 -t 60", at=0)
    w.until(10)
    w.tell(Requeue(job))
    w.until(11)
    found = w.controller.state.jobs[job]
    assert (found.state, found.begin) == ("PENDING", starts)
    w.until(starts + 60)
    assert found.state == "RUNNING"
