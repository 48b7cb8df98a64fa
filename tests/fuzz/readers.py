"""The parsers of slurm.conf, SWF, sacct dumps and Parquet on damaged files: ``python readers.py NAME COUNT [SEED]``.

Every file either is read or is refused with a `SlurmSimError`, within seconds.
"""

from __future__ import annotations

import random
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from mutations import mutate

from slurmsim.config.load import load_cluster
from slurmsim.errors import SlurmSimError
from slurmsim.workload import TextColumn, Workload
from slurmsim_workloads import read_workload, write_workload

HANG_S = 60

CONF = b"""\
ClusterName=c
SlurmctldHost=h(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu,nvme
Licenses=matlab:4,abaqus
MaxArraySize=1001
SchedulerParameters=bf_continue,bf_interval=60,bf_window=2880,bf_max_job_test=1000,default_queue_depth=50
PriorityType=priority/multifactor
PriorityMaxAge=2-00:00:00
PriorityWeightAge=10000
PriorityWeightTRES=CPU=1000,Mem=2000,GRES/gpu=3000
PriorityFlags=CALCULATE_RUNNING,ACCRUE_ALWAYS
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE,GANG
TopologyPlugin=topology/default
SuspendTime=600
SuspendProgram=/bin/true
ResumeProgram=/bin/true
SuspendExcNodes=n1
AccountingStorageTRES=gres/gpu
DefCpuPerGPU=2
NodeName=DEFAULT Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=16000 State=UNKNOWN
NodeName=n[1-4,07-09] CPUs=16 Weight=2 Feature=a,b CoreSpecCount=1
NodeName=g[1-2] Gres=gpu:a100:4,nvme:1K(S:0-1)
DownNodes=n2 State=DOWN Reason="out of order"
NodeSet=set1 Nodes=n[1-2] Feature=a
PartitionName=DEFAULT MaxTime=1-00:00:00 DefaultTime=1:00:00 State=UP
PartitionName=p Nodes=n[1-4] Default=YES PriorityTier=5 OverSubscribe=FORCE:2 TRESBillingWeights="CPU=1.0,Mem=0.25G"
PartitionName=q Nodes=ALL MaxNodes=2 MinNodes=1 AllowGroups=crew AllowAccounts=a DefMemPerCPU=100 GraceTime=30 QOS=x
PartitionName=r Nodes=set1 RootOnly=NO ReqResv=NO LLN=YES MaxCPUsPerNode=4 PreemptMode=OFF
"""
SWF = b"""\
; Version: 2.2
; UnixStartTime: 1767600000
; MaxNodes: 8
; MaxProcs: 64
; MaxQueues: 2
; Queue: 1 batch
; Note: a made-up log
1 0 5 60 4 50 -1 4 120 1000 1 1 1 -1 1 1 -1 -1
2 10 -1 60 8 -1 2048 8 3600 -1 0 2 1 3 2 1 1 30
3 20 0 7 1 7.5 -1 -1 -1 -1 5 3 2 -1 -1 -1 -1 -1
4 20 100 86400 64 -1 -1 64 90000 -1 1 1 1 -1 1 1 2 0
"""
SACCT = b"""\
JobIDRaw|JobID|JobName|Submit|Eligible|Start|End|ElapsedRaw|Suspended|Timelimit|TimelimitRaw|State|ExitCode|ReqTRES|\
AllocTRES|ReqCPUS|NCPUS|NNodes|ReqNodes|ReqMem|NodeList|User|Account|Partition|QOS|Reservation|Constraints|SubmitLine
12|12|job|1000|1000|1010|1070|60|00:00:00|00:10:00|10|COMPLETED|0:0|cpu=2,mem=4G,node=1|cpu=2,mem=4G,node=1|2|2|1|1|4G\
|n1|ann|chem|p|normal|||sbatch -n2 --mem=4G --dependency=afterok:11 j.sh
12.batch|12.batch|batch|1000|1000|1010|1070|60|00:00:00|||COMPLETED|0:0||cpu=2,mem=4G,node=1|2|2|1|1|4G|n1||chem||||||
13|13_4|arr|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T08:00:05|2026-01-05T09:00:05|3600|00:00:10|1-00:00:00|\
1440|TIMEOUT|0:15|billing=8,cpu=8,gres/gpu=2,mem=16000M,node=2|cpu=8,gres/gpu=2,mem=16000M,node=2|8|8|2|2|16000Mn\
|n[1-2]|bob|bio|q|high|res|a&b|sbatch --array=1-9:4%2 -N2 --gres=gpu:1 --exclusive -w n[1-2] j.sh
14|14_[5-9]|arr|1100|Unknown|Unknown|Unknown|0|00:00:00|UNLIMITED||PENDING|0:0|cpu=1,node=1||1|0|1|1|0|None assigned\
|bob|bio|q|high||||
15|15|x|1200|1200|1300|1400|100|00:00:00|01:00:00|60|CANCELLED by 1000|1:9|cpu=1,node=1|cpu=1,node=1|1|1|1|1|1Gc|n3|eve\
|bio|q,p|low|||srun -c4 true
"""


CSV = b"job_id,submit,run_time,nodes,max_nodes,app\n1,0,10,2,4,LeanMD:parallelism=9:sigma=0\n2,5,20,1,,\n"


def _parquet() -> bytes:
    ints = {name: np.array(values, np.int64) for name, values in {
        "job_id": [1, 2, 3], "submit": [0, 5, 9], "run_time": [10, 20, 30], "time_limit": [60, 60, -1],
        "nodes": [1, 2, 1],
        "tasks": [1, 4, 2], "cpus_per_task": [1, 1, 2], "mem_per_node": [-1, 100, -1], "depends_on": [-1, 1, -1],
    }.items()}  # fmt: skip
    texts = {"user": TextColumn.from_list(["ann", "bob", "ann"]), "partition": TextColumn.from_list(["p", "", "q"])}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "w.parquet"
        write_workload(Workload(ints=ints, texts=texts), str(path))
        return path.read_bytes()


@dataclass(frozen=True)
class Reader:
    """A parser, something it reads, and how the file is called."""

    read: Callable[[Path], Any]
    seed: Callable[[], bytes]
    name: str


READERS = {
    "conf": Reader(load_cluster, lambda: CONF, "slurm.conf"),
    "swf": Reader(read_workload, lambda: SWF, "log.swf"),
    "sacct": Reader(lambda path: read_workload(path, "sacct"), lambda: SACCT, "dump.txt"),
    "parquet": Reader(read_workload, _parquet, "log.parquet"),
    "csv": Reader(lambda path: read_workload(path, "csv"), lambda: CSV, "log.csv"),
}


class Hung(Exception):
    """A file took longer than any may."""


def _hung(number: int, frame: FrameType | None) -> None:
    raise Hung


def fuzz(name: str, count: int, seed: int, folder: Path, *, stop: int = 1) -> list[tuple[bytes, str]]:
    """Read `count` damaged files; those that broke the reader, with their tracebacks, at most `stop` kinds of them."""
    reader = READERS[name]
    good, path = reader.seed(), folder / reader.name
    path.write_bytes(good)
    reader.read(path)  # or the damage shows nothing
    rng = random.Random(f"{name} {seed}")
    broken: dict[str, tuple[bytes, str]] = {}
    before = signal.signal(signal.SIGALRM, _hung)
    try:
        for _ in range(count):
            data = mutate(good, rng)
            path.write_bytes(data)
            signal.alarm(HANG_S)
            try:
                reader.read(path)
            except SlurmSimError as error:
                if "\n" in str(error) and name != "conf":  # all findings of a configuration, a line each
                    broken.setdefault("two lines", (data, str(error)))
            except Exception:
                trace = traceback.format_exc()
                broken.setdefault(trace.splitlines()[-3] + trace.splitlines()[-1][:60], (data, trace))
            signal.alarm(0)
            if len(broken) >= stop:
                break
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return list(broken.values())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        found = fuzz(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0, Path(place), stop=50)
    for _, text in found:
        print(text)
    print(f"{sys.argv[1]}: {sys.argv[2]} files, {len(found)} ways to break")
    sys.exit(bool(found))
