"""A site of our own: a workload, the schedule one configuration makes of it, and that written as sacct would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import slurmsim
from slurmsim.duration import format_duration
from slurmsim.replaying.jobs import generator_of
from slurmsim.trace.columns import NULL
from slurmsim_workloads import write_workload
from slurmsim_workloads.generators import generate

FIELDS = ("JobIDRaw", "JobID", "Submit", "Eligible", "Start", "End", "ElapsedRaw", "Suspended", "Timelimit", "State",
          "ExitCode", "ReqTRES", "AllocTRES", "NNodes", "ReqMem", "Partition", "QOS", "Account", "User", "Reservation",
          "Constraints", "NodeList", "JobName", "SubmitLine")  # fmt: skip
CONF = """\
ClusterName=secretcluster
SlurmctldHost=head01.example.org
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/slurmdbd
StateSaveLocation=/srv/secret/state
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightJobSize=500
MaxArraySize=100000
NodeName=rack[01-32] CPUs=16 CoresPerSocket=8 Sockets=2 RealMemory=256000 Feature=hidden
PartitionName=work Nodes=ALL Default=YES MaxTime=2-00:00:00
"""
GENERATED = "generate:mix:jobs={jobs},nodes=32,cpus_per_node=16,load=1.4,median=3000,users=12,accounts=3,arrays=0"


def run_site(folder: Path, change: dict[str, str], jobs: int = 700, conf: str = CONF, seed: int = 1) -> Path:
    """What the scheduler with `change` made of a generated workload; returns the dump of it."""
    (folder / "slurm.conf").write_text(conf)
    trace = slurmsim.run(GENERATED.format(jobs=jobs), conf=folder / "slurm.conf", set=change, out=folder / "real",
                         seed=seed)  # fmt: skip
    _write_log(folder / "jobs.parquet", trace, jobs, seed)
    dump = folder / "jobs.sacct"
    dump.write_text("|".join(FIELDS) + "\n" + "".join(_line(row) for row in trace.jobs_frame().itertuples()))
    return dump


def _write_log(file: Path, trace: slurmsim.Trace, jobs: int, seed: int) -> None:
    """The same as a workload, of which nothing is lost."""
    found = generator_of(GENERATED.format(jobs=jobs))
    assert found is not None
    workload = generate(*found, seed)
    ids, start, end = trace.ints("jobs", "job_id", "start", "end")
    _, a, b = np.intersect1d(workload.ints["job_id"], ids, return_indices=True)
    for name, times in (("log_start", start), ("log_end", end)):
        column = workload.ints[name].copy()
        column[a] = np.where(times[b] == NULL, -1, times[b])
        workload.ints[name] = column
    write_workload(workload, file)


def _line(job: Any) -> str:
    submit, eligible, start, end = (
        "Unknown" if t is pd.NaT else str(int(t.timestamp())) for t in (job.submit, job.eligible, job.start, job.end)
    )
    ran = 0 if job.start is pd.NaT else int((job.end - job.start).total_seconds())
    tres = f"cpu={job.req_cpus},node={job.req_nodes}"
    got = "" if job.start is pd.NaT else f"cpu={job.cpus},node={job.nodes}"
    limit = format_duration(int(job.time_limit_s))
    return "|".join((
        str(job.job_id), str(job.job_id), submit, eligible, start, end, str(ran), "00:00:00", limit, job.state, "0:0",
        tres, got, str(job.nodes), "", job.partition, job.qos, job.account, job.user, "", "",
        job.node_list, job.name, "",
    )) + "\n"  # fmt: skip
