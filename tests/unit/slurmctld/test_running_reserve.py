"""bf_running_job_reserve: what runs holds its nodes in backfill's node space, also beyond its limit."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_calls import ALICE, do, show, wait

from slurmsim import compiled
from slurmsim.slurmctld.server.start import make_engine, new_header
from slurmsim_policies.slurm_backfill.atom_plans import AtomPlans
from slurmsim_policies.slurm_backfill.node_plans import NodePlans

START = 1_767_600_000
CONF = """\
ClusterName=tux
SlurmctldHost=head
SelectType=select/cons_tres
OverTimeLimit=60
SchedulerParameters=bf_interval=5,bf_running_job_reserve
NodeName=n[1-3] CPUs=8 RealMemory=8000
PartitionName=batch Nodes=ALL Default=YES OverSubscribe=EXCLUSIVE
"""
BATCH = {"name": "j", "script": "#!/bin/sh\nsleep 5000\n", "work_dir": "/tmp", "min_cpus": 1, "shared": "none"}


@pytest.mark.skipif(compiled(), reason="compiled classes take no other methods: pure Python runs this")
def test_a_job_over_its_limit_holds_its_nodes_for_one_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = []
    for plans in (AtomPlans, NodePlans):
        take = plans.take
        monkeypatch.setattr(plans, "take", lambda self, *what, take=take: (held.append(what), take(self, *what))[1])
    (tmp_path / "slurm.conf").write_text(CONF)
    header = new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0)
    cluster = make_engine(header, tmp_path)
    runs = do(cluster, "submit", ALICE, job={**BATCH, "time_limit": 1})["job_id"]
    wait(cluster, 600)
    assert show(cluster, str(runs), "job_state") == ["RUNNING"]
    do(cluster, "submit", ALICE, job={**BATCH, "min_nodes": 3, "time_limit": 10})
    wait(cluster, 60)
    begin, end, _ = held[0]
    assert (begin >= START + 540, end - begin) == (True, 60)
