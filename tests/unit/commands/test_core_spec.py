"""Jobs with --core-spec and --thread-spec beside others, as real 22.05, 24.11 and 26.05 placed and showed them.

`core_spec_recorded.txt` has one line for what one or more releases did with a job on nodes that are all free.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from engine_client import Cluster

from slurmsim.slurmctld.processes.real_jobs import used_cpus

HEAD = """\
ClusterName=tux
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters={unit}
SchedulerParameters=bf_interval=10{first}
PriorityType=priority/basic
AllowSpecResourcesUsage=yes
DefMemPerCPU=100
"""
PLAIN = """\
NodeName=n1 Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=8000 CoreSpecCount=3 Weight=1 Feature=a
NodeName=n2 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=8000 CoreSpecCount=2 Weight=2 Feature=b
NodeName=n3 Sockets=2 CoresPerSocket=4 RealMemory=8000 CPUSpecList=0-1,6 MemSpecLimit=2000 Weight=3 Feature=c
NodeName=n4 Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=8000 Weight=4 Feature=d
NodeName=n5 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=8000 CPUSpecList=0-2 Weight=5 Feature=e
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
"""
MORE = """\
NodeName=n1 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=8000 Weight=1
NodeName=n2 Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=1000 CoreSpecCount=2 Weight=2
NodeName=n3 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=8000 CoreSpecCount=2 Weight=3
NodeName=n4 Sockets=1 CoresPerSocket=16 RealMemory=8000 CoreSpecCount=2 Weight=4
NodeName=n5 Sockets=4 CoresPerSocket=2 RealMemory=8000 CoreSpecCount=5 Weight=4
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
PartitionName=force Nodes=ALL OverSubscribe=FORCE:2
PartitionName=excl Nodes=ALL OverSubscribe=EXCLUSIVE
"""
CONF = {
    "plain": HEAD.format(unit="CR_Core_Memory", first="") + PLAIN,
    "first": HEAD.format(unit="CR_Core_Memory", first=",spec_cores_first") + PLAIN,
    "more": HEAD.format(unit="CR_Core_Memory", first="") + MORE,
    "cpus": HEAD.format(unit="CR_CPU_Memory", first="") + MORE,
}
RECORDED = [
    line.split(" | ")
    for line in Path(__file__).with_name("core_spec_recorded.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


def seen(cluster: Cluster, options: str) -> list[str]:
    """What becomes of one job on idle nodes."""
    _, out, _ = cluster.run(f"sbatch -t 5 --parsable {options} --wrap 'sleep 60'", "alice")
    if not out.strip():
        return ["refused"]
    number = out.strip()
    _forward(cluster, 3)
    state, cpus, spec, shared, nodes = cluster.text(f"squeue -h -j {number} -o '%t|%C|%X|%h|%N'").strip().split("|")
    shown = cluster.text(f"scontrol -d show job {number}")
    alloc = [re.findall(r"CPUAlloc=(\d+)", cluster.text(f"scontrol show node n{k}"))[0] for k in range(1, 6)]
    core = cluster.engine.jobs[int(number)].core
    own = str(used_cpus(core, cluster.engine)[0]) if core.alloc else "-"
    ids, memory = _first(r"CPU_IDs=(\S+)", shown), _first(r"Mem=(\d+) G", shown)
    found = [
        f"{state} {nodes}", cpus, spec, shared, ids, memory,
        "+".join(count for count in alloc if count != "0"), own,
    ]  # fmt: skip
    cluster.text(f"scancel {number}")
    _forward(cluster, 5)
    return found


def _first(pattern: str, text: str) -> str:
    return next(iter(re.findall(pattern, text)), "-")


def _forward(cluster: Cluster, seconds: int) -> None:
    cluster.now += seconds
    cluster.engine.network.advance(cluster.now)


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
@pytest.mark.parametrize("conf", CONF)
def test_as_recorded(conf: str, release: str, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, CONF[conf], release=release)
    rows = [row for row in RECORDED if row[0] == conf and (row[1] == "all" or release in row[1].split())]
    assert len(rows) > 25
    found = [(row[2], seen(cluster, row[2])) for row in rows]
    assert found == [(row[2], row[3:]) for row in rows]


def test_nodes_show_whole_cores(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, CONF["plain"], release="24.11")
    for node, shown in (("n1", "3,6-7"), ("n2", "6-7,14-15"), ("n3", "0-1,6 MemSpecLimit=2000"), ("n5", "0-3")):
        assert f"CPUSpecList={shown}" in cluster.text(f"scontrol show node {node}")


def test_an_operator_changes_it(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, CONF["plain"], release="24.11")
    cluster.text("sbatch -H --wrap true", "alice")
    cluster.text("scontrol update jobid=1 corespec=2")
    assert "CoreSpec=2" in cluster.text("scontrol show job 1")
    assert "denied" in cluster.run("scontrol update jobid=1 corespec=1", "alice")[2]
    cluster.text("scontrol update jobid=1 threadspec=3")
    assert "ThreadSpec=3" in cluster.text("scontrol show job 1")
    cluster.text("scontrol update jobid=1 corespec=*")
    shown = cluster.text("scontrol show job 1")
    assert "CoreSpec=*" in shown and "OverSubscribe=NO" in shown


def test_it_is_not_resumed_beside_another_one(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, CONF["plain"], release="24.11")
    cluster.text("sbatch -w n4 -S1 --wrap 'sleep 900'", "alice")
    _forward(cluster, 4)
    cluster.text("scontrol suspend 1")
    cluster.text("sbatch -w n4 -S1 --wrap 'sleep 900'", "alice")
    _forward(cluster, 12)
    assert cluster.text("squeue -h -S i -o '%i %t'") == "1 S\n2 R\n"
    assert "Requested nodes are busy for job 1" in cluster.run("scontrol resume 1")[2]
    cluster.text("scancel 2")
    _forward(cluster, 8)
    cluster.text("scontrol resume 1")


def test_without_the_switch_it_says_nothing(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, CONF["plain"].replace("Usage=yes", "Usage=no"), release="24.11")
    _, out, error = cluster.run("sbatch -w n1 -S0 --parsable --wrap true", "alice")
    assert out == "1\n" and "AllowSpecResourcesUsage = No" in error
    assert "CoreSpec=*" in cluster.text("scontrol show job 1")
