"""A good input of each reader that `readers` has none of yet."""

from __future__ import annotations

import json
import tempfile
import zlib
from pathlib import Path
from typing import Any

ACCOUNTING_DATA = Path(__file__).parents[1] / "unit/config/accounting_data"
"""What Slurm's own commands wrote."""

CONF_OF_A_RUN = """\
ClusterName=c
SlurmctldHost=h
Licenses=mat:3
TopologyPlugin=topology/tree
GresTypes=gpu,nvme
NodeName=n[1-8] Sockets=1 CoresPerSocket=4 Gres=gpu:2,nvme:1K
PartitionName=all Nodes=ALL Default=YES
PartitionName=half Nodes=n[1-4]
"""
JOBS = b"job_id,submit,run_time,nodes,user,account\n1,1767600000,10,1,ann,org\n2,1767609000,60,2,bob,chem\n"
TOPOLOGY = b"""\
SwitchName=s1 Nodes=n[1-4]
SwitchName=s2 Nodes=n[5-8] LinkSpeed=100
SwitchName=top Switches=s[1-2]
"""
GRES = b"""\
AutoDetect=off
Name=gpu Type=a100 File=/dev/nvidia[0-1] Cores=0-1 Links=-1,2
NodeName=n[1-4] Name=gpu File=/dev/nvidia0 Cores=0-3
NodeName=n[5-8] Name=nvme Count=1K Flags=CountOnly
"""
EVENTS = b"""\
time,action,nodes,until,reason,command
+1:00:00,down,n1,,broken,
2026-01-05T09:00:00,maintenance,n[2-3],2026-01-05T10:00:00,"new, disks",
1767609000,resume,n1,,,
"""
ACCOUNT_COMMANDS = b"""\
time,action,nodes,until,reason,command
+3:00:00,sacctmgr,,,,modify qos normal set MaxJobsPU=4
1767609000,sacctmgr,,,,"add user bob account=chem qos=normal,high"
"""
RESERVATIONS = b"""\
[[reservation]]
name = "r"
start = "+1:00:00"
duration = "60"
nodes = "n[1-2]"
users = ["bob"]
flags = ["maint", "ignore_jobs"]

[[reservation]]
name = "c"
created = "+0:10:00"
start = "+2:00:00"
end = "2026-01-07"
node_count = [2, 1]
partition = "half"
licenses = "mat:2"
accounts = "-chem,-bio"

[[update]]
time = "+0:30:00"
name = "r"
duration = 120
set_flags = "FLEX"

[[delete]]
time = 1767602000
name = "c"
"""
SHOWN = b"""\
ReservationName=maint StartTime=2026-01-05T10:00:00 EndTime=2026-01-05T12:00:00 Duration=02:00:00
   Nodes=n[1-2] NodeCnt=2 CoreCnt=8 Features=(null) PartitionName=all Flags=MAINT,SPEC_NODES
   TRES=cpu=8
   Users=root Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a
   MaxStartDelay=(null)

"""
STREAMS = b"""\
limit = 5
over = "buffer"
seed = 3
nodes = 4

[[stream]]
name = "a"
jobs = 5
gap = 10
run = {dist = "expon", scale = 100}
user = "ann"
request = 1.5

[[stream]]
name = "b"
next = "end"
jobs = 3
run = 50
think = 5
start = 7
"""
GRID = b"""\
seeds = 2
loads = [0.9, 1.1]
policies = ["easy", "fcfs", { name = "predicting", policy = "easy:predictor=last_two" }]

[[workloads]]
name = "lublin"
workload = "generate:lublin:jobs=100,nodes=32"

[[settings]]
name = "small"
set = { SchedulerParameters = "bf_interval=60" }
"""
BINS = b"""\
limit = 4

[[bin]]
nodes = [1, 4]
hours = 12
boost_days = 1

[[bin]]
nodes = [5, 64]
hours = 6
"""
ACCOUNTS = b"""\
[qos.normal]
Priority = 5

[qos.high]
MaxJobsPerUser = 3
Preempt = "normal"

[accounts.chem]
Fairshare = 10
QOS = ["normal", "high"]
users = ["bob"]

[accounts.chem.accounts.org]
GrpTRES = {cpu = 64, mem = "5G"}

[accounts.chem.accounts.org.users.ann]
Fairshare = 2
Default = true
"""
BUDGET = b"time,watts\n+0:00:00,1000\n+1:00:00,500.5\n2026-01-05T12:00:00,2000\n"
SACCT_JSON = json.dumps({
    "meta": {"plugin": {"data_parser": "data_parser/v0.0.42"}, "slurm": {"release": "24.11.5"}},
    "jobs": [{
        "job_id": 40 + i, "name": "a", "user": "ann", "account": "acc", "partition": "batch", "qos": "normal",
        "state": {"current": [state], "reason": "None"}, "nodes": "n[1-2]", "constraints": "intel|amd",
        "time": {"submission": 1000, "eligible": 1000, "start": 1010, "end": 1070, "elapsed": 60, "suspended": 5,
                 "limit": {"set": True, "infinite": False, "number": 120}},
        "exit_code": {"status": ["SUCCESS"], "return_code": {"set": True, "number": 0},
                      "signal": {"id": {"set": False, "number": 0}, "name": ""}},
        "required": {"CPUs": 2, "memory_per_node": {"set": True, "infinite": False, "number": 8000}},
        "array": {"job_id": 41 * i, "task_id": {"set": i == 1, "number": 3}, "task": "1-4", "limits": None},
        "het": {"job_id": 0, "job_offset": {"set": False, "number": 0}}, "kill_request_user": "root", "steps": [],
        "tres": {"requested": [{"type": "cpu", "name": "", "id": 1, "count": 2},
                               {"type": "gres", "name": "gpu", "id": 7, "count": 4}], "allocated": []},
        "submit_line": "sbatch -N2 -C intel|amd j.sh", "allocation_nodes": 2, "restart_cnt": 0,
    } for i, state in enumerate(("COMPLETED", "FAILED", "PENDING"))],
    "errors": [],
}).encode()  # fmt: skip
SESSION = b"\n".join(json.dumps(line).encode() for line in (
    {"format": 1, "made_of": {"format": 2, "id": "x"}, "folder": "/c", "owner": "ann", "files": {"slurm.conf": "A=b"},
     "jobs": 0, "slurmsim": "0.6.0"},
    {"n": 1, "user": "ann", "argv": ["squeue"], "cwd": "/", "began": 1767600000, "ended": 1767600001, "stdin": "",
     "environ": {"USER": "ann"}, "files": {}, "rc": 0, "stdout": "", "stderr": "", "cut": False, "umask": 18,
     "faults": []},
)) + b"\n"  # fmt: skip


def snapshot() -> bytes:
    """A snapshot with lines of right checksums."""
    crc, lines = 0, []
    for entry in ({"snapshot": 1, "writer": "x"}, {"kind": "job", "n": 1}, {"tables": 1}):
        text = json.dumps(entry).encode()
        crc = zlib.crc32(text, crc)
        lines.append(b"%08x " % crc + text + b"\n")
    return b"".join(lines)


def journal() -> bytes:
    """A journal of a header and two entries."""
    lines, crc = [], 0
    for number, entry in enumerate(({"format": 2, "id": "x"}, {"t": 5, "k": "submit"}, {"t": 6, "k": "cancel"})):
        text = b"%d " % number + json.dumps(entry).encode()
        crc = zlib.crc32(text, crc)
        lines.append(b"%08x " % crc + text + b"\n")
    return b"".join(lines)


def manifest() -> bytes:
    """The run.json of a run of two jobs."""
    import slurmsim

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "log.swf").write_text("; MaxProcs: 4\n1 0 -1 60 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1\n")
        slurmsim.run(workload=folder / "log.swf", out=folder / "run", report=False)
        return (folder / "run" / "run.json").read_bytes()


def workload() -> Any:
    """Two jobs of 5 January 2026."""
    import numpy as np

    from slurmsim.workload import Workload

    first = 1_767_600_000
    return Workload({"job_id": np.array([1, 2]), "submit": np.array([first, first + 9000])}, {})
