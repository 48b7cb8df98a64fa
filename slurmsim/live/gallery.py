"""A cluster that shows every state: ``slurmsim up --gallery``, for authors of exporters, dashboards and parsers.

`CONF` is its slurm.conf, `STEPS` what happens on it: commands of Slurm, jobs, faults, and time that passes. `fill`
carries the steps out on a frozen cluster of any release; `shown` says which states there are then.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

from slurmsim.commands import MODULES
from slurmsim.commands.io import Io
from slurmsim.data_classes import dataclass
from slurmsim.errors import OutputError
from slurmsim.live.daemon import environment
from slurmsim.protocol import Client

USERS = {"alice": "2001", "bob": "2002"}
ACCOUNTS = {"alice": "physics", "bob": "chemistry"}
START = "2026-01-05T08:00:00Z"
CONF = """\
ClusterName=gallery
SlurmctldHost=localhost
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
Licenses=matlab:2
AccountingStorageType=accounting_storage/slurmdbd
MinJobAge=31536000
KillWait=65000
SchedulerParameters=bf_interval=10
PrivateData=cloud
RebootProgram=/bin/true
SuspendProgram=/bin/true
ResumeProgram=/bin/true
SuspendTime=2592000
SuspendTimeout=65000
ResumeTimeout=65000
NodeName=n[01-20] CPUs=8 CoresPerSocket=8 RealMemory=16384 State=UNKNOWN
NodeName=g[1-2] CPUs=8 CoresPerSocket=8 RealMemory=16384 Gres=gpu:2 State=UNKNOWN
NodeName=c[1-4] CPUs=8 CoresPerSocket=8 RealMemory=16384 State=CLOUD
PartitionName=batch Nodes=n[01-20] Default=YES MaxTime=7-0 State=UP
PartitionName=gpu Nodes=g[1-2] MaxTime=1-0 State=UP
PartitionName=cloud Nodes=c[1-4] MaxTime=1-0 State=UP
PartitionName=draining Nodes=n[01-02] State=DRAIN
PartitionName=closed Nodes=n[01-02] State=DOWN
"""
GRES_CONF = "NodeName=g[1-2] Name=gpu File=/dev/nvidia[0-1]\n"


@dataclass(frozen=True, slots=True)
class Job:
    """A job to submit: its name, options of sbatch, how it goes (a ``#SLURMSIM`` line), and the user."""

    name: str
    options: str
    goes: str = "runtime=2592000"
    user: str = "alice"


@dataclass(frozen=True, slots=True)
class Run:
    """A command of Slurm; ``{name}`` stands for the id of a job."""

    command: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to the daemon, with its arguments."""

    name: str
    arguments: dict[str, Any]


def _fault(state: str) -> tuple[Ask, Job]:
    name = state.lower().replace("_", "-")
    options = "-w n01 -n1 -t 60 --no-requeue"
    return Ask("inject", {"what": state, "given": {"job": name, "seconds": 5}}), Job(name, options)


def _step(seconds: int) -> Ask:
    return Ask("clock", {"action": "step", "seconds": seconds})


STEPS: tuple[Job | Run | Ask, ...] = (
    _step(10),
    # jobs that are over
    Job("completed", "-w n01 -n1 -t 60", "runtime=20"),
    Job("failed", "-w n01 -n1 -t 60", "runtime=20 exit=3"),
    Job("timeout", "-w n01 -n1 -t 1"),
    Job("cancelled", "-w n01 -n1 -t 60"),
    *_fault("OUT_OF_MEMORY"),
    *_fault("PREEMPTED"),
    *_fault("BOOT_FAIL"),
    *_fault("DEADLINE"),
    Job("node-fail", "-w n02 -n4 -t 60 --no-requeue"),
    Job("requeued", "-w n02 -n1 -t 60"),
    _step(60),
    Run("scancel {cancelled}"),
    Ask("node_action", {"action": "fail", "nodes": "n02", "reason": "Not responding"}),
    # jobs that run, each on its node
    Job("running", "-w n05 -n8 -t 1-0"),
    Job("part-of-a-node", "-w n06 -n3 -t 1-0 -L matlab:2"),
    Job("draining", "-w n04 -n2 -t 1-0"),
    Job("suspended", "-w n07 -n8 -t 1-0"),
    Job("completing", "-w n08 -n4 -t 1-0", "runtime=2592000 term=3600"),
    Job("special-exit", "-w n09 -n8 -t 1-0"),
    Job("failing", "-w n10 -n8 -t 1-0"),
    Job("before-reboot", "-w n12 -n1 -t 1-0"),
    Job("array", "-a 1-4%1 -w n17 -n1 -t 1-0"),
    Job("resized", "-p gpu -N2 -w g[1-2] --gres=gpu:2 -n2 -t 1-0"),
    Job("reserved", "-w n19 -n1 -t 1-0"),
    _step(150),
    # what happens to nodes and to these jobs
    Run("scontrol update nodename=n03 state=drain reason=bad_fan"),
    Run("scontrol update nodename=n04 state=drain reason=memory_errors"),
    Run("scontrol update nodename=n10 state=fail reason=disk"),
    Run("scontrol update nodename=n11 state=fail reason=disk"),
    Run("scontrol update nodename=n20 state=down reason=moved"),
    Run("scontrol create reservation=maint starttime=now duration=30-0 nodes=n16 flags=maint users=root"),
    Run("scontrol create reservation=kept starttime=now duration=30-0 nodes=n18 users=alice"),
    Run("scontrol create reservation=soon starttime=now+60 duration=1-0 nodes=n19 users=alice flags=ignore_jobs"),
    Run("scontrol suspend {suspended}"),
    Run("scontrol requeuehold state=specialexit {special-exit}"),
    Run("scontrol update jobid={resized} numnodes=1"),
    # jobs that wait, a reason each
    Run("scontrol create reservation=over starttime=now+5 duration=1 nodes=n13 users=alice"),
    Job("reservation-is-over", "-n1 -t 1 --reservation=over -d afterany:{running}"),
    Job("held-by-its-user", "-H -n1 -t 60"),
    Job("held", "-n1 -t 60 --begin=now+30days"),
    Run("scontrol hold {held}"),
    Job("begin-time", "-n1 -t 60 --begin=now+30days"),
    Job("dependency", "-n1 -t 60 -d afterok:{running}"),
    Job("never", "-n1 -t 60 -d afterok:{failed}"),
    Job("licenses", "-w n06 -n1 -t 60 -L matlab:1"),
    Job("node-is-down", "-w n20 -n1 -t 60"),
    Job("partition-is-down", "-p closed -n1 -t 60"),
    Job("too-long", "-p cloud -n1 -t 3-0"),
    Job("resources", "-w n[05,14] -N2 --exclusive -t 60"),
    Job("waits-for-gpus", "-p gpu -N2 -n2 --gres=gpu:2 -t 60"),
    Job("priority", "-p gpu -N2 -n2 --gres=gpu:2 -t 60", user="bob"),
    _step(90),
    # what lasts for moments only
    Run("scontrol reboot n12"),
    Run("scontrol reboot n15"),
    Run("scontrol update nodename=c2 state=power_up"),
    Job("configuring", "-p cloud -w c1 -N1 -t 60"),
    Run("scancel {completing}"),
    Run("scontrol update nodename=g2 state=power_down"),
    _step(12),
)


def settings_of(folder: Path) -> dict[str, Any]:
    """Write the configuration into `folder`, and return the settings of a cluster made of it."""
    (folder / "slurm.conf").write_text(CONF, "utf-8")
    (folder / "gres.conf").write_text(GRES_CONF, "utf-8")
    return {"conf": str(folder / "slurm.conf"), "mode": "frozen", "start": START, "users": USERS}


def fill(folder: Path) -> None:
    """Carry out the steps on the frozen cluster in `folder`. Raises OutputError if a step is refused."""
    client = Client(str(folder), timeout_s=None)
    ids: dict[str, str] = {}
    for step in STEPS:
        if isinstance(step, Ask):
            client.call(step.name, **step.arguments)
        elif isinstance(step, Run):
            _command(folder, _with_ids(step.command, ids))
        else:
            script = f"#!/bin/sh\n#SLURMSIM {step.goes}\nsleep 2592000\n"
            options = _with_ids(step.options, ids)
            line = f"sbatch --parsable -o /dev/null -J {step.name} -A {ACCOUNTS[step.user]} {options}"
            ids[step.name] = _command(folder, line, step.user, script).strip()
    client.close()


def _with_ids(text: str, ids: dict[str, str]) -> str:
    for name, number in ids.items():
        text = text.replace(f"{{{name}}}", number)
    return text


def _command(folder: Path, line: str, user: str | None = None, stdin: str = "") -> str:
    """Run a command of Slurm in this process; what it prints."""
    name, *words = line.split()
    out, err = StringIO(), StringIO()
    client = Client.find(environment(folder, os.environ, user))
    io = Io(client, stdin=StringIO(stdin), stdout=out, stderr=err,
            environ=environment(folder, os.environ, user), cwd="/")  # fmt: skip
    run: Callable[[list[str], Io], int] = import_module(MODULES[name]).run
    if run(words, io):
        raise OutputError(f"gallery: {line}: {err.getvalue().strip()}")
    return out.getvalue()


def shown(folder: Path) -> tuple[Counter[str], Counter[str]]:
    """Return how many jobs and nodes are in each state, as ``squeue`` and ``sinfo`` spell them."""
    jobs = _command(folder, "squeue -a -t all -r -h -o %T").split()
    nodes = {line.split()[0]: line.split()[1] for line in _lines(folder)}
    return Counter(jobs), Counter(nodes.values())


def _lines(folder: Path) -> Iterator[str]:
    yield from _command(folder, "sinfo -a -N -h -o %N,%T").replace(",", " ").splitlines()
