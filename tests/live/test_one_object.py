"""A live session, told to ``slurmsim run`` by way of its own sacct, decides the same again: starts, ends and nodes."""

from __future__ import annotations

import random
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import slurmsim
from slurmsim.hostlist import expand
from slurmsim.live.cluster import Cluster

DUMP = (
    "SLURM_TIME_FORMAT=%s SLURM_BITSTR_LEN=0 sacct -a -X -D -P -S 2026-01-01 -E 2026-06-01 -o "
    "JobID,Submit,Eligible,Start,End,ElapsedRaw,Suspended,Timelimit,State,ExitCode,ReqTRES,AllocTRES,ReqNodes,"
    "NNodes,ReqMem,Partition,QOS,Account,User,Reservation,Constraints,NodeList,JobName,SubmitLine"
)
CONF = """ClusterName=two
SlurmctldHost=h
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageTRES=gres/gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=60
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightPartition=5000
PriorityMaxAge=1-0
GresTypes=gpu
NodeName=c[1-6] CPUs=8 CoresPerSocket=8 RealMemory=32000
NodeName=g[1-2] CPUs=8 CoresPerSocket=8 RealMemory=32000 Gres=gpu:4 Feature=big
PartitionName=batch Nodes=c[1-6] Default=YES MaxTime=1-0
PartitionName=gpu Nodes=g[1-2],c[5-6] MaxTime=12:00:00 PriorityJobFactor=10
"""


def small(c: Cluster, rng: random.Random) -> None:
    """Jobs of all sizes on a made-up cluster."""
    for k in range(30):
        minutes = rng.randrange(5, 120)
        c.run(["sbatch", "-n", str(rng.randrange(1, 10)), "-t", str(minutes), "-J", f"j{k}",
               "--wrap", f"sleep {rng.randrange(1, minutes * 60)}"], check=True)  # fmt: skip
        c.step(rng.randrange(0, 400))


def mixed(c: Cluster, rng: random.Random) -> None:
    """Two partitions, GPUs, features, nodes, arrays with a throttle, limits that are reached."""
    for k in range(24):
        minutes = rng.randrange(5, 90)
        kind = k % 6
        words = ["-t", str(minutes)]
        if kind == 0:
            words += ["-p", "gpu", f"--gres=gpu:{rng.randrange(1, 5)}", "-n", "2"]
        elif kind == 1:
            words += ["-N", str(rng.randrange(1, 4)), "--exclusive"]
        elif kind == 2:
            words += ["-a", "1-4%2", "-n", "3"]
        elif kind == 3:
            words += ["-p", "gpu", "-C", "big", "-n", "4"]
        else:
            words += ["-n", str(rng.randrange(1, 9))]
        seconds = minutes * 60 + 30 if kind == 5 else rng.randrange(1, minutes * 60)
        c.run(["sbatch", *words, "--wrap", f"sleep {seconds}"], check=True)
        c.step(rng.randrange(0, 300))


@pytest.mark.parametrize(("session", "conf"), [(small, ""), (mixed, CONF)], ids=["small", "mixed"])
def test_replayed(session: Callable[[Cluster, random.Random], None], conf: str, tmp_path: Path) -> None:
    if conf:
        (tmp_path / "given.conf").write_text(conf)
    given = str(tmp_path / "given.conf") if conf else None
    with slurmsim.cluster(conf=given, cpus_per_node=4, frozen=True, start="2026-01-05T08:00:00Z") as c:
        session(c, random.Random(5))
        c.until_idle()
        (tmp_path / "session.txt").write_text(c.run(DUMP, check=True).stdout)
        shutil.copy(c.folder / "slurm.conf", tmp_path / "slurm.conf")
        live = {
            (job.array_job_id or job.job_id, job.array_task_id): (job.start_time, job.end_time, sorted(job.nodes))
            for job in c.jobs()
        }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = slurmsim.run(
            str(tmp_path / "session.txt"),
            conf=str(tmp_path / "slurm.conf"),
            out=str(tmp_path / "out"),
            as_live=True,
            report=False,
        )
    again = {}
    for row in trace.jobs_frame(dates=False).itertuples():
        task = None if pd.isna(row.array_task_id) else int(row.array_task_id)
        number = int(row.job_id if task is None else row.array_job_id)
        again[number, task] = int(row.start), int(row.end), sorted(expand(row.node_list))
    assert len(live) >= 30
    assert again == live
