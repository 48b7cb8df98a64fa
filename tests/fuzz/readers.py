"""The readers of all files on damaged and on odd but well-formed ones: ``python readers.py NAME COUNT [SEED]``.

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
from grammars import Grammar, as_json, as_json_lines, as_pairs, as_table, as_toml, bytes_only
from mutations import mutate
from seeds import (
    ACCOUNT_COMMANDS,
    ACCOUNTING_DATA,
    ACCOUNTS,
    BINS,
    BUDGET,
    CONF_OF_A_RUN,
    EVENTS,
    GRES,
    GRID,
    RESERVATIONS,
    SACCT_JSON,
    SESSION,
    SHOWN,
    STREAMS,
    TOPOLOGY,
    journal,
    manifest,
    snapshot,
    workload,
)

from slurmsim.campaign.grid import read_grid
from slurmsim.config.accounting.load import load_accounting
from slurmsim.config.load import load_cluster, parse_cluster
from slurmsim.errors import SlurmSimError
from slurmsim.input_file import read_text
from slurmsim.replaying.until import parse_moment
from slurmsim.sessions.session_file import read as read_session
from slurmsim.sim.node_events import read_account_commands, read_node_events
from slurmsim.sim.power_options import read_series
from slurmsim.sim.reservation_file import read_reservations
from slurmsim.slurmctld.history.journal_file import read_contents
from slurmsim.slurmctld.snapshot.file import read as read_snapshot
from slurmsim.trace.jsonfile import read_json
from slurmsim.trace.staging import read_manifest
from slurmsim.workload import TextColumn, Workload
from slurmsim_policies.bin_table import read_table
from slurmsim_workloads import read_workload, write_workload
from slurmsim_workloads.streams import read_streams

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
    """A parser, something it reads, how the file is called, the grammar of its inputs and the command that reads it.

    In `command` ``{}`` is the file and ``{conf}`` a slurm.conf beside it; empty: no command reads such a file alone.
    """

    read: Callable[[Path], Any]
    seed: Callable[[], bytes]
    name: str
    grammar: Grammar
    command: tuple[str, ...] = ()


def _beside(path: Path) -> Any:
    """The cluster of a slurm.conf that the file under test lies beside."""
    conf = path.with_name("slurm.conf")
    if not conf.exists():
        conf.write_text(CONF_OF_A_RUN)
    for name, text in (("topology.conf", TOPOLOGY), ("gres.conf", GRES)):
        if not path.with_name(name).exists():
            path.with_name(name).write_bytes(text)
    return load_cluster(conf)


def _accounts(*beside: str) -> Callable[[Path], Any]:
    """A reader of accounting data that needs other files of the same accounts."""
    others = [ACCOUNTING_DATA / name for name in beside]
    return lambda path: load_accounting([*others, path])


def _manifest(path: Path) -> Any:
    read_json(path)
    return read_manifest(path.parent)


CLUSTER = parse_cluster(CONF_OF_A_RUN.replace("TopologyPlugin=topology/tree\n", ""))[0]
_CONVERT = ("convert", "{}", "out.parquet")
_RUN = ("run", "--conf", "{conf}", "--workload", "jobs.csv", "--out", "run", "--quiet")
READERS = {
    "conf": Reader(load_cluster, lambda: CONF, "slurm.conf", as_pairs, ("check", "{}")),
    "topology": Reader(_beside, lambda: TOPOLOGY, "topology.conf", as_pairs,
                       ("check", "{conf}")),
    "gres": Reader(_beside, lambda: GRES, "gres.conf", as_pairs, ("check", "{conf}")),
    "swf": Reader(read_workload, lambda: SWF, "log.swf", as_table(" "), _CONVERT),
    "sacct": Reader(lambda path: read_workload(path, "sacct"), lambda: SACCT, "dump.txt", as_table("|"),
                    ("convert", "--from", "sacct", "{}", "out.parquet")),
    "sacct-drop": Reader(lambda path: read_workload(path, "sacct", {"bad_lines": "drop"}), lambda: SACCT, "dump.txt",
                         as_table("|")),
    "sacct-json": Reader(lambda path: read_workload(path, "sacct"), lambda: SACCT_JSON, "dump.json", as_json,
                         ("convert", "--from", "sacct", "{}", "out.parquet")),
    "parquet": Reader(read_workload, _parquet, "log.parquet", bytes_only, _CONVERT),
    "csv": Reader(lambda path: read_workload(path, "csv"), lambda: CSV, "log.csv", as_table(","), _CONVERT),
    "streams": Reader(lambda path: read_streams(str(path)), lambda: STREAMS, "streams.toml", as_toml,
                      ("run", "--conf", "{conf}", "--streams", "{}", "--out", "run", "--quiet")),
    "sweep": Reader(read_grid, lambda: GRID, "grid.toml", as_toml, ("sweep", "--dry-run", "--out", "run", "{}")),
    "bins": Reader(lambda path: read_table(str(path)), lambda: BINS, "bins.toml", as_toml),
    "reservations": Reader(lambda path: read_reservations(path, CLUSTER, workload()), lambda: RESERVATIONS, "r.toml",
                           as_toml, (*_RUN, "--reservations", "{}")),
    "reservations-shown": Reader(lambda path: read_reservations(path, CLUSTER, workload()), lambda: SHOWN, "r.txt",
                                 as_pairs, (*_RUN, "--reservations", "{}")),
    "events": Reader(lambda path: read_node_events(path, CLUSTER, workload()), lambda: EVENTS, "events.csv",
                     as_table(","), (*_RUN, "--node-events", "{}")),
    "account-commands": Reader(lambda path: read_account_commands(path, workload()), lambda: ACCOUNT_COMMANDS,
                               "events.csv", as_table(",")),
    "budget": Reader(
        lambda path: read_series(read_text(path, errors="replace", newline=""), str(path),
                                 lambda text: parse_moment(text, workload())),
        lambda: BUDGET, "budget.csv", as_table(",")),
    "accounting-toml": Reader(_accounts(), lambda: ACCOUNTS, "accounts.toml", as_toml,
                              (*_RUN, "--accounting", "{}")),
    **{f"accounting-{stem}": Reader(_accounts(*beside), (ACCOUNTING_DATA / name).read_bytes, name, grammar)
       for stem, name, grammar, beside in (
           ("dump", "dump.cfg", as_pairs, ("qos.txt",)), ("commands", "commands.txt", as_pairs, ()),
           ("assoc", "assoc-tree.txt", as_table("|"), ("qos.txt",)),
           ("qos", "qos.txt", as_table("|"), ("assoc-tree.txt",)),
           ("users", "users.txt", as_table("|"), ("assoc-tree.txt", "qos.txt")))},
    "manifest": Reader(_manifest, manifest, "run.json", as_json),
    "session": Reader(read_session, lambda: SESSION, "session.jsonl", as_json_lines),
    "snapshot": Reader(read_snapshot, snapshot, "snapshot", bytes_only),
    "journal": Reader(lambda path: read_contents(path.read_bytes(), str(path)), journal, "journal", bytes_only),
}  # fmt: skip


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
            data = reader.grammar(good, rng) if rng.random() < 0.5 else mutate(good, rng)
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
