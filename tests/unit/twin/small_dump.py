"""A dump of a cluster with two nodes and four jobs, as text, to be changed by tests."""

from __future__ import annotations

from pathlib import Path

NOW = 1_767_600_600
ABOUT = f"begin={NOW}\noffset=+0000\nuser=root\nslurm-wlm 24.11.5\nend={NOW + 1}\n"
CONFIG = """Configuration data as of 2026-01-05T08:00:00
BOOT_TIME               = 2026-01-05T08:00:00
ClusterName             = small
GresTypes               = gpu
KillWait                = 30 sec
PriorityType            = priority/basic
SchedulerParameters     = bf_interval=30
SchedulerType           = sched/backfill
SelectType              = select/cons_tres
SelectTypeParameters    = CR_CORE
SlurmctldHost[0]        = head
TaskPlugin              = (null type)
"""
NODES = """NodeName=a1 Arch=x86_64 CoresPerSocket=4
   CPUAlloc=4 CPUEfctv=4 CPUTot=4 CPULoad=1.00
   AvailableFeatures=(null)
   ActiveFeatures=(null)
   Gres=gpu:2(S:0)
   NodeAddr=a1 NodeHostName=a1 Version=24.11.5
   RealMemory=8000 AllocMem=0 FreeMem=7000 Sockets=1 Boards=1
   State=ALLOCATED ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions=main

NodeName=a2 Arch=x86_64 CoresPerSocket=4
   CPUAlloc=0 CPUEfctv=4 CPUTot=4 CPULoad=0.00
   Gres=(null)
   NodeAddr=a2 NodeHostName=a2 Version=24.11.5
   RealMemory=8000 AllocMem=0 FreeMem=7000 Sockets=1 Boards=1
   State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions=main
   Reason=bad disk [ann@2026-01-05T07:00:00]
"""
PARTITIONS = """PartitionName=main
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   AllocNodes=ALL Default=YES QoS=N/A
   DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO
   MaxNodes=UNLIMITED MaxTime=1-00:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
   Nodes=a[1-2]
   PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO
   OverTimeLimit=NONE PreemptMode=OFF
   State=UP TotalCPUs=8 TotalNodes=2 SelectTypeParameters=NONE
"""


def job(number: int, **fields: str) -> str:
    """Return a waiting job of ann's, with other values for some fields."""
    values = {
        "ArrayJobId": "", "JobName": f"j{number}", "UserId": "ann(3001)", "GroupId": "ann(3001)",
        "Priority": str(1000 - number), "Nice": "0", "Account": "(null)", "QOS": "(null)", "JobState": "PENDING",
        "Reason": "Resources", "Dependency": "(null)", "Requeue": "1", "Restarts": "0", "BatchFlag": "1",
        "ExitCode": "0:0", "RunTime": "00:00:00", "TimeLimit": "01:00:00", "TimeMin": "N/A",
        "SubmitTime": "2026-01-05T08:05:00", "EligibleTime": "2026-01-05T08:05:00", "StartTime": "Unknown",
        "EndTime": "Unknown", "Deadline": "N/A", "Partition": "main", "NodeList": "", "NumNodes": "1", "NumCPUs": "2",
        "NumTasks": "2", "CPUs/Task": "1", "MinCPUsNode": "1", "MinMemoryNode": "0", "OverSubscribe": "OK",
        "Command": "/home/ann/job.sh", "WorkDir": "/home/ann",
    }  # fmt: skip
    values |= fields
    head = f"JobId={number}" + (f" {values['ArrayJobId']}" if values["ArrayJobId"] else "")
    lines = [f"{head} JobName={values['JobName']}"]
    lines += [f"   {key}={value}" for key, value in values.items() if key not in ("JobName", "ArrayJobId")]
    return "\n".join(lines) + "\n\n"


RUNNING = job(
    1, JobState="RUNNING", Reason="None", RunTime="00:08:20", StartTime="2026-01-05T08:01:40",
    SubmitTime="2026-01-05T08:00:10", EligibleTime="2026-01-05T08:00:10", EndTime="2026-01-05T09:01:40", NodeList="a1",
    NumCPUs="4", NumTasks="4",
)  # fmt: skip
JOBS = RUNNING + job(2) + job(3, Reason="Priority") + job(4, Priority="0", Reason="JobHeldUser")
FILES = {
    "about.txt": ABOUT, "config.txt": CONFIG, "node.txt": NODES, "partition.txt": PARTITIONS, "job.txt": JOBS,
}  # fmt: skip


def write(folder: Path, **changed: str | None) -> Path:
    """Write the dump, with other texts for the files of some names (None: without the file); return the folder."""
    folder.mkdir(exist_ok=True)
    texts: dict[str, str | None] = {**FILES, **{f"{name}.txt": text for name, text in changed.items()}}
    for name, text in texts.items():
        if text is not None:
            (folder / name).write_text(text, "utf-8")
    return folder
