"""A job that is started and preempted in one turn of the controller: what is launched is the run that ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import slurmsim
from slurmsim import compiled
from slurmsim.sim.network import Network

CONF = """ClusterName=c
SlurmctldHost=h
SelectType=select/cons_tres
PreemptType=preempt/qos
PreemptMode=REQUEUE
SchedulerParameters=bf_interval=1,sched_min_interval=0
PriorityType=priority/multifactor
PriorityWeightAge=1000
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos
NodeName=n[1-4] CPUs=4 RealMemory=8000
PartitionName=p Nodes=ALL Default=YES MaxTime=2:00:00
"""
ACCOUNTS = """add qos low Priority=1
add qos high Priority=100 Preempt=low,normal
add account a QOS=normal,low,high
add user ann Account=a QOS=normal,low,high
"""
# job 4, which job 9 preempted, may run again when job 11 comes, which preempts it
JOBS = """job_id,submit,run_time,time_limit,user,account,qos,nodes,exclusive
4,242,168,300,ann,a,normal,1,1
8,272,254,300,ann,a,low,2,1
9,392,43,60,ann,a,high,2,1
10,513,66,120,ann,a,low,2,
11,514,41,120,ann,a,high,2,1
"""


@pytest.mark.skipif(compiled(), reason="compiled classes take no other methods: pure Python runs this")
def test_it_is_launched_on_its_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[tuple[int, int, str]] = []
    launch = Network._launch

    def noting(self: Network, job: Any) -> None:
        launched.append((job.id, job.restarts, self.controller.state.cluster.node_list(job.alloc)))
        launch(self, job)

    monkeypatch.setattr(Network, "_launch", noting)
    for name, text in (("slurm.conf", CONF), ("accounts.txt", ACCOUNTS), ("jobs.csv", JOBS)):
        (tmp_path / name).write_text(text)
    trace = slurmsim.run(
        conf=tmp_path / "slurm.conf", workload=tmp_path / "jobs.csv", accounting=[tmp_path / "accounts.txt"],
        as_live=True, out=tmp_path / "out",
    )  # fmt: skip
    runs = trace.requeued_frame()
    assert launched[3:5] == [(4, 1, "n1"), (11, 0, "n[1,4]")]
    assert runs[["job_id", "restarts", "start", "end", "node_list", "state"]].to_numpy().tolist() == [
        [4, 0, 243, 393, "n1", "PREEMPTED"],
        [4, 1, 514, 514, "n1", "PREEMPTED"],
    ]
