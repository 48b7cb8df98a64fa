"""What one asks of an engine without a daemon around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.server.start import make_engine, new_header

ROOT, ALICE = Person("root", 0, "root", 0, "/root"), Person("alice", 2001, "alice", 2001, "/home/alice")
START = 1_767_600_000
THREE_NODES = """\
ClusterName=tux
SlurmctldHost=head
SelectType=select/cons_tres
PriorityType=priority/basic
DefMemPerCPU=100
NodeName=n[1-2] CPUs=8 RealMemory=8000 Feature=std Weight=3
NodeName=n3 CPUs=8 RealMemory=64000 Feature=big
PartitionName=batch Nodes=ALL Default=YES
PartitionName=scav Nodes=ALL
"""
BATCH = {"name": "j", "script": "#!/bin/sh\nsleep 5000\n", "work_dir": "/tmp", "time_limit": 60, "min_cpus": 1}


def engine_of(folder: Path, conf: str, release: str = "22.05") -> Engine:
    """An engine under that slurm.conf, its clock frozen at `START`."""
    (folder / "slurm.conf").write_text(conf)
    header = new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0, release=release)
    return make_engine(header, folder)


def submit(e: Engine, **asked: Any) -> str:
    """A batch job of alice's; its id."""
    return str(do(e, "submit", ALICE, job={**BATCH, **asked})["job_id"])


def do(e: Engine, call: str, person: Person = ROOT, **arguments: Any) -> dict[str, Any]:
    """A request now."""
    return e.execute(e.now, call, arguments, person)


def show(e: Engine, job_id: str, *fields: str) -> list[Any]:
    """Fields of a job, as commands get them."""
    found = do(e, "jobs", job_id=job_id, fields=list(fields))["columns"]
    return [found[name][0] for name in fields]


def wait(e: Engine, seconds: int) -> None:
    """Time passes."""
    e.execute(e.now + seconds, "ping", {}, ROOT)
