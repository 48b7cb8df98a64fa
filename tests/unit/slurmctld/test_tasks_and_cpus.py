"""More tasks than CPUs, which an update may lead to: since 24.11 such a job waits for resources and is not planned."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_calls import do, engine_of, show, submit, wait

CONF = """\
ClusterName=tux
SlurmctldHost=head
SelectType=select/cons_tres
NodeName=n[1-2] CPUs=8
PartitionName=batch Nodes=ALL Default=YES
"""


@pytest.mark.parametrize(
    ("release", "state", "follower"),
    [
        ("22.05", ["RUNNING", "None"], "RUNNING"),
        ("24.11", ["PENDING", "Resources"], "RUNNING"),
        ("26.05", ["PENDING", "Resources"], "RUNNING"),
    ],
)
def test_a_job_whose_cpus_are_too_few(release: str, state: list[str], follower: str, tmp_path: Path) -> None:
    e = engine_of(tmp_path, CONF, release)
    asked = {"name": "j", "work_dir": "/tmp", "time_limit": 10, "script": "#!/bin/sh\nsleep 500\n"}
    job_id = submit(e, **asked, num_tasks=3, min_cpus=3, hold=True)
    other = submit(e, **asked, num_tasks=3, min_cpus=3, begin_time=e.now + 60)
    do(e, "update_job", job_id=job_id, job={"min_cpus": 1})
    do(e, "hold_job", job_id=job_id, kind="release")
    wait(e, 180)
    assert show(e, job_id, "job_state", "state_reason") == state
    assert show(e, other, "job_state") == [follower]
