"""What is done with an array of 5,000 tasks takes time in proportion to its tasks, not to their square.

The bounds are CPU time and ten times what it takes; with a sorted list of the tasks made at each start it was 34 s.
"""

from __future__ import annotations

import time

import slurmsim

TASKS, NODES = 5_000, 500
MOST_S = 10.0


def test_five_thousand_tasks_start_are_held_and_cancelled() -> None:
    with slurmsim.cluster(nodes=NODES, frozen=True) as c:
        job = {"name": "a", "script": "#!/bin/sh\nsleep 100\n", "work_dir": "/", "array_inx": f"0-{TASKS - 1}"}
        begin = time.process_time()
        assert c.client.call("submit", job=job)["job_id"] == 1
        c.step(60)
        started = time.process_time() - begin
        assert sum(one.state == "RUNNING" for one in c.jobs()) == 8 * NODES
        throttled = c.client.call("submit", job={**job, "array_inx": f"{job['array_inx']}%1"})["job_id"]
        c.step(60)
        begin = time.process_time()
        c.client.call("hold_job", job_id=f"{throttled}_[1-{TASKS - 1}]", kind="hold")
        c.client.call("kill", job_id=str(throttled))
        c.step(3600)
        cancelled = time.process_time() - begin
        assert {one.state for one in c.jobs()} == {"COMPLETED", "CANCELLED"}
    assert started < MOST_S
    assert cancelled < MOST_S
