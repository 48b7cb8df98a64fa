"""What is asked of power saving by hand, as slurmctld 22.05, 24.11 and 26.05 did it in a recording.

Four nodes, SuspendTime=60, SuspendTimeout=20, SuspendExcNodes=n[1-2]:1. What is compared is `sinfo` at the seconds of
the recording.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unit.commands.engine_client import Cluster

from slurmsim.errors import ConfigError

CONF = """\
ClusterName=oracle
SlurmctldHost=head
SlurmdTimeout=0
ReturnToService=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=10
PriorityType=priority/basic
SuspendProgram=/etc/slurm/suspend.sh
ResumeProgram=/etc/slurm/resume.sh
SuspendTime=60
SuspendTimeout=20
ResumeTimeout=120
SuspendExcNodes=n[1-2]:1
{more}NodeName=n[1-4] Sockets=1 CoresPerSocket=4 RealMemory=8000
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
{partitions}"""
NEWER = {"more": "SuspendExcStates=DRAIN\n", "partitions": "PartitionName=pdoi Nodes=n4 PowerDownOnIdle=YES\n"}


def made(folder: Path, release: str) -> Cluster:
    words = {"more": "", "partitions": ""} if release == "22.05" else NEWER
    return Cluster(folder, CONF.format(**words), release=release)


def states(c: Cluster) -> str:
    return " ".join(c.text("sinfo -h -N -p main -o %t").split())


def flags(c: Cluster, node: str) -> str:
    line = next(line for line in c.text(f"scontrol show node {node}").splitlines() if "State=" in line)
    return line.split()[0].partition("=")[2]


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_what_runs_keeps_a_node_up_until_it_is_forced(tmp_path: Path, release: str) -> None:
    c = made(tmp_path, release)
    c.text("sbatch -w n3 -t 60 --wrap 'sleep 500'")
    c.now += 3
    c.text("scontrol update nodename=n3 state=power_down")
    assert (states(c), flags(c, "n3")) == ("idle idle mix! idle", "MIXED+POWER_DOWN")
    c.text("sbatch -w n3 -n1 -t 10 -J beside --wrap 'sleep 100'")
    c.now += 5
    assert c.text("squeue -h -S i -o %j,%t").split() == ["wrap,R", "beside,R"]
    c.text("scontrol update nodename=n3 state=power_down_force")
    c.now += 1
    assert (states(c), flags(c, "n3")) == ("idle idle idle% idle", "IDLE+POWERING_DOWN")
    assert c.text("squeue -h -S i -o %j,%t,%r").split() == ["wrap,PD,BeginTime", "beside,PD,BeginTime"]
    assert "Restarts=1 " in c.text("scontrol show job 1")
    c.text("scancel 1 2")
    c.now += 34
    assert flags(c, "n3") == "IDLE+POWERED_DOWN"


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_asap_drains_the_node_until_it_goes_down(tmp_path: Path, release: str) -> None:
    c = made(tmp_path, release)
    c.text("scontrol update nodename=n4 state=power_down_asap")
    assert flags(c, "n4") == "IDLE+DRAIN+POWER_DOWN"
    assert "Reason=POWER_DOWN_ASAP [4294967294@" in c.text("scontrol show node n4")
    c.now += 3
    assert (flags(c, "n4"), c.text("sinfo -h -n n4 -o %E").strip()) == ("IDLE+POWERING_DOWN", "POWER_DOWN_ASAP")
    c.now += 26
    assert flags(c, "n4") == "IDLE+POWERED_DOWN"


def test_an_idle_node_that_goes_down_takes_no_job(tmp_path: Path) -> None:
    c = made(tmp_path, "22.05")
    c.text("scontrol update nodename=n3 state=power_down")
    c.text("sbatch -w n3 -t 60 --wrap=true")
    assert flags(c, "n3") == "IDLE+POWER_DOWN"
    c.now += 5
    assert flags(c, "n3") == "IDLE+POWERING_DOWN"
    assert c.text("squeue -h -o '%t %r'").strip() == "PD ReqNodeNotAvail, UnavailableNodes:n3"


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_a_count_of_nodes_stays_up(tmp_path: Path, release: str) -> None:
    c = made(tmp_path, release)
    c.now += 180
    assert states(c) == "idle idle~ idle~ idle~"


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_drained_nodes_stay_up_and_count(tmp_path: Path, release: str) -> None:
    """n1 is the first idle one of two, so n2 goes down although it is DOWN."""
    c = made(tmp_path, release)
    c.text("scontrol update nodename=n1 state=drain reason=x")
    c.text("scontrol update nodename=n2 state=down reason=y")
    c.now += 90
    assert states(c) == "drain down~ idle~ idle~"


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_a_partition_powers_nodes_down_when_its_jobs_have_left(tmp_path: Path, release: str) -> None:
    c = made(tmp_path, release)
    assert c.text("scontrol show partition pdoi").count("PowerDownOnIdle=YES") == 1
    c.text("scontrol update partition=main PowerDownOnIdle=YES")
    assert c.text("scontrol show partition main").count("PowerDownOnIdle=YES") == 1
    c.text("scontrol update partition=main PowerDownOnIdle=NO")
    c.text("sbatch -p pdoi -n1 -t 60 --wrap 'sleep 30'")
    c.now += 3
    assert states(c) == "idle idle idle mix!"
    c.text("sbatch -p main -w n4 -n1 -t 60 --wrap 'sleep 40'")
    c.now += 32
    assert (states(c), c.text("squeue -h -o %i,%t").strip()) == ("idle idle idle mix!", "2,R")
    c.now += 16
    assert flags(c, "n4") == "IDLE+POWERING_DOWN"


def test_a_node_reboots_at_the_next_look(tmp_path: Path) -> None:
    """26.05, with 22.05 of a job's end as in `test_rules_nodes`."""
    conf = CONF.format(more="RebootProgram=/sbin/r\n", partitions="")
    c = Cluster(tmp_path, conf, release="26.05")
    c.text("scontrol reboot n3")
    assert (flags(c, "n3"), c.text("sinfo -h -n n3 -o %t").strip()) == ("IDLE+REBOOT_REQUESTED", "boot")
    c.now += 1
    assert (flags(c, "n3"), c.text("sinfo -h -n n3 -o %t").strip()) == ("DOWN+REBOOT_ISSUED", "boot^")
    c.text("sbatch -w n4 -t 60 --wrap 'sleep 6'")
    c.now += 3
    c.text("scontrol reboot asap n4")
    assert flags(c, "n4") == "MIXED+DRAIN+REBOOT_REQUESTED"
    c.now += 8
    assert flags(c, "n4") == "DOWN+DRAIN+REBOOT_ISSUED"


@pytest.mark.parametrize("text", ["n[1-2]:", "n[1-2]:x", ":2", "n1:0"])
def test_what_is_no_count_is_refused_in_a_line(tmp_path: Path, text: str) -> None:
    conf = CONF.format(more="", partitions="").replace("SuspendExcNodes=n[1-2]:1", f"SuspendExcNodes={text}")
    with pytest.raises(ConfigError, match="no count of nodes"):
        Cluster(tmp_path, conf)


def test_a_node_has_a_time_of_its_own(tmp_path: Path) -> None:
    """26.05: the node's, else the longest of its partitions, else the cluster's."""
    conf = CONF.format(more="", partitions="PartitionName=p1 Nodes=n2 SuspendTime=105\n")
    conf += "PartitionName=p3 Nodes=n1 SuspendTime=INFINITE\n"
    conf = conf.replace("SuspendExcNodes=n[1-2]:1\n", "").replace(
        "NodeName=n[1-4] ", "NodeName=n4 SuspendTime=109 Sockets=1 CoresPerSocket=4 RealMemory=8000\nNodeName=n[1-3] "
    )
    c = Cluster(tmp_path, conf, release="26.05")
    shown = [c.text(f"scontrol show node n{k}").split("SuspendTime=")[1].split()[0] for k in (1, 2, 3, 4)]
    assert shown == ["INFINITE", "105", "60", "109"]
    document = json.loads(c.text("scontrol show node n1 --json"))["nodes"][0]
    assert document["suspend_time"] == {"set": False, "infinite": True, "number": 0}
    c.now += 80
    assert states(c) == "idle idle idle% idle"
    c.now += 35
    assert states(c) == "idle idle% idle~ idle%"
