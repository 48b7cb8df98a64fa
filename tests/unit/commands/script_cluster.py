"""A cluster of hyperthreaded nodes with GPUs, and what batch scripts find in their environment there."""

from __future__ import annotations

import re
from pathlib import Path

from engine_client import Cluster

from slurmsim.slurmctld.processes.real_jobs import RealJobs
from slurmsim.slurmd.script_runner import Executor

CONF = """\
ClusterName=oracle
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/basic
DefMemPerCPU=1000
GresTypes=gpu,nvme
Licenses=matlab:4,fluent:10
NodeName=n[01-12] Sockets=2 CoresPerSocket=64 ThreadsPerCore=2 RealMemory=2000000 TmpDisk=100000 Feature=a100,gpu,quad\
 Gres=gpu:v100:8,gpu:a100:8,gpu:h100:8,gpu:gh200:8,gpu:l40s:8,gpu:a40:8,nvme:4000
PartitionName=defq Nodes=ALL Default=YES MaxTime=UNLIMITED DefaultTime=60
"""
_FIELD = re.compile(r"([A-Z][\w/:]*)=(\S+)")


class Scripts(Cluster):
    """What recorded clusters were, with the environments of the scripts."""

    def __init__(self, folder: Path, release: str, conf: str = CONF) -> None:
        super().__init__(folder, conf, release=release)
        self.executor = Executor(folder / "jobs")

    def sbatch(self, options: str, **environ: str) -> int:
        """Submit a script as alice; its id."""
        code, out, error = self.run(f"sbatch --parsable -t1 {options} --wrap 'sleep 99'", "alice", **environ)
        assert (code, error) == (0, ""), error
        return int(out)

    def shown(self, job_id: int) -> dict[str, str]:
        """What ``scontrol -d show job`` has, by name; of its last nodes where they differ."""
        return dict(_FIELD.findall(self.text(f"scontrol -d show job {job_id}")))

    def environment(self, job_id: int) -> dict[str, str]:
        """What the script of a running job finds."""
        job = self.engine.job_table.shown(job_id)
        assert job is not None
        return RealJobs(self.engine, self.executor, lambda room: None)._environment(job)
