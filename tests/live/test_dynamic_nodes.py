"""Nodes that come and go while the cluster lives, as slurmctld 26.05 had them; and what becomes of them in a restart.

The recordings are of `scontrol create nodename`, `slurmd -Z` and `scontrol delete nodename`, once with partitions that
have none of the new nodes and once with Nodes=ALL and a NodeSet. Times, loads, addresses and versions are left out.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import slurmsim
from slurmsim.config.dynamic_nodes import found_gpus, nodes_of_line, read_lines, with_gres
from slurmsim.config.load import load_cluster

_RECORDED = json.loads(Path(__file__).with_name("recorded_dynamic_nodes.json").read_text("utf-8"))
_VOLATILE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|(?:CPULoad|FreeMem|Version|NodeAddr|NodeHostName|BootTime)=\S+")
_CONF = """\
ClusterName=oracle
SlurmctldHost=head(127.0.0.1)
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
MaxNodeCount=40
"""
_LINES = {
    "apart": "NodeName=n[01-16] Sockets=2 CoresPerSocket=4 RealMemory=16000\n"
    "PartitionName=batch Nodes=n[01-16] Default=YES MaxTime=1-0 DefaultTime=10\n"
    "PartitionName=debug Nodes=n[01-04] MaxTime=30 DefaultTime=5\n",
    "of partitions": "NodeName=n[01-02] Sockets=2 CoresPerSocket=4 RealMemory=16000\nNodeSet=ns Feature=f7\n"
    "PartitionName=fancy Nodes=ns\nPartitionName=batch Nodes=ALL Default=YES MaxTime=1-0 DefaultTime=10\n"
    "PartitionName=debug Nodes=n[01-02] MaxTime=30 DefaultTime=5\n",
}
_SIZES = {"d7": "CPUs=2 Sockets=1 CoresPerSocket=2", "d8": "RealMemory=24105"}  # of the machine it was recorded on
_OTHERWISE = {
    "apart": {
        "scontrol show node d2": "GPUs that GresTypes does not name are shown",
    },
    "of partitions": {
        'squeue -o "%i %t %N %r"': "a job that names a cloud node nothing boots waits; there it is CF for good",
        "scontrol delete nodename=d2": "so that node is not busy",
        "scontrol delete nodename=d7": "a reservation holds its nodes at once; there from the next look on",
        "scontrol delete reservation=r": "its node is still there",
        "scontrol update nodename=d7": "as above",
        "scontrol show node d7": "as above",
        "sinfo -N": "as above, and the order of partitions",
        "scontrol show partition fancy": "as above",
        "alice sbatch -C f7": "a feature that a node had is known until the end",
        "alice sbatch -p fancy": "so there is one job number less",
    },
}
"""What differs, by the beginning of the command, and why."""


@pytest.mark.parametrize("which", sorted(_RECORDED))
def test_nodes_come_and_go_as_recorded(which: str, tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(_CONF + _LINES[which], "utf-8")
    wrong, compared = [], 0
    with slurmsim.cluster(
        conf=tmp_path / "slurm.conf", slurm_version="26.05", frozen=True, start="2026-01-05T08:00:00",
        users={"alice": "2001"},
    ) as cluster:  # fmt: skip
        for step in _RECORDED[which]:
            if not isinstance(step, list):
                cluster.step(step)
                continue
            user, line, is_setup, rc, said, error = step
            for name, sizes in _SIZES.items():
                line = line.replace(f'slurmd -Z -N {name} --conf "', f'slurmd -Z -N {name} --conf "{sizes} ')
            found = _run(line, user)
            if is_setup or _differs(which, user, line):
                continue
            compared += 1
            if _plain(*found) != _plain(rc, said, error):
                wrong.append(f"{line}\n{found}\n{(rc, said, error)}")
    assert not wrong, "\n\n".join(wrong)
    assert compared > 15


def _run(line: str, user: str) -> tuple[int, str, str]:
    import os

    done = subprocess.run(
        line, shell=True, capture_output=True, text=True, env={**os.environ, "SLURMSIM_USER": user}
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def _differs(which: str, user: str, line: str) -> bool:
    return any(line.startswith(begin) or f"{user} {line}".startswith(begin) for begin in _OTHERWISE[which])


def _plain(rc: int, out: str, error: str) -> tuple[int, str, str]:
    return rc, _VOLATILE.sub("T", out), error


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[slurmsim.Cluster]:
    (tmp_path / "slurm.conf").write_text(_CONF + _LINES["of partitions"] + "GresTypes=gpu\n", "utf-8")
    (tmp_path / "gres.conf").write_text("")
    (tmp_path / "fake_gpus.conf").write_text("a100|2|(null)|(null)|/dev/tty0|(null)|nvidia_gpu_env\n")
    with slurmsim.cluster(
        conf=tmp_path / "slurm.conf", slurm_version="26.05", frozen=True, start="2026-01-05T08:00:00"
    ) as one:
        yield one


def test_a_restart_has_them_and_what_ran_on_them(cluster: slurmsim.Cluster) -> None:
    cluster.run("slurmd -Z -N d1 --conf 'CPUs=4 RealMemory=1000 Gres=gpu:2'", check=True)
    cluster.run("sbatch -w d1 -n3 --gpus=1 --mem=300 --wrap 'sleep 100'", check=True)
    cluster.step(10)
    cluster.run("slurmd -Z -N d2 --conf 'CPUs=4 RealMemory=1000 Feature=f7'", check=True)
    cluster.run("sbatch -w d2 -n2 --mem=10 --wrap 'sleep 5'", check=True)
    cluster.step(20)
    cluster.run("scontrol delete nodename=d2", check=True)
    cluster.run("slurmd -Z -N d2 --conf 'CPUs=1 RealMemory=10'", check=True)
    asked = ("sinfo -N -h -o '%N %T %C %m %P'", "squeue -h -o '%i %t %N'", "sacct -X -n -P -o jobid,state,nodelist",
             "scontrol show node d1 -d", "scontrol show partition")  # fmt: skip
    before = [cluster.run(line, check=True).stdout for line in asked]
    assert "d1 mixed 3/1/0/4 1000 batch*" in before[0] and "1|RUNNING|d1\n2|COMPLETED|d2" in before[2]
    cluster.stop()
    cluster.start()
    assert [cluster.run(line, check=True).stdout for line in asked] == before
    cluster.step(200)
    assert "d1 idle 0/4/0/4" in cluster.run("sinfo -N -h -o '%N %T %C'").stdout
    cluster.run("scontrol delete nodename=d1", check=True)
    assert "1|COMPLETED|d1" in cluster.run("sacct -X -n -P -o jobid,state,nodelist").stdout


def test_a_node_that_was_made_is_there_when_its_slurmd_registers(cluster: slurmsim.Cluster) -> None:
    cluster.run("scontrol create nodename=d1 CPUs=3 RealMemory=500 State=FUTURE", check=True)
    assert "d1" not in cluster.run("sinfo -N -h -o %N; scontrol show nodes").stdout
    for words in ("-F show node d1", "show node d1 --future"):
        assert "State=FUTURE+DYNAMIC_NORM " in cluster.run(f"scontrol {words}").stdout
    cluster.run("slurmd -Z -N d1", check=True)
    assert cluster.run("sinfo -N -h -n d1 -o '%T %c %m'").stdout == "idle 3 500\n"
    assert "State=IDLE+DYNAMIC_NORM " in cluster.run("scontrol show node d1").stdout


def test_a_slurmd_finds_gpus_since_26_05(cluster: slurmsim.Cluster) -> None:
    done = cluster.run("slurmd -Z -N d1 --conf 'CPUs=2 RealMemory=10'", check=True)
    assert done.stderr == "slurmd: Autodetected Gres for dynamic node d1: gpu:a100:1\n"
    assert "Gres=gpu:a100:1" in cluster.run("scontrol show node d1").stdout


def test_bad_requests_are_one_clear_line(cluster: slurmsim.Cluster) -> None:
    for line, said in (
        ("slurmd", "slurmd: error: -N NODE says which node it is"),
        ("slurmd -Z -N x --conf Foo=3", "slurmd: error: x: Unspecified error"),
        ("scontrol create nodename=x[1-9999999] state=CLOUD", "Error creating node(s): Unspecified error"),
        ("scontrol create nodename=x[ state=CLOUD", "Error creating node(s): Unspecified error"),
    ):
        done = cluster.run(line)
        assert (done.returncode, done.stderr.splitlines()[-1]) == (1, said)


def test_what_autodetection_finds(tmp_path: Path) -> None:
    fakes = "a100|2|x\n(null)|2|x\na100|2|y\n"
    (line,) = nodes_of_line("NodeName=d1 CPUs=2 State=CLOUD")
    assert found_gpus("d1", line, "", fakes) == found_gpus("d1", line, "AutoDetect=full\n", fakes) == "gpu:a100:2,gpu:1"
    assert found_gpus("d1", line, "NodeName=d[2-3] Name=gpu File=/dev/x\n", fakes) == "gpu:a100:2,gpu:1"
    for conf in (
        "Name=gpu Count=1\n",
        "NodeName=d[1-3] Name=gpu File=/dev/x\n",
        "AutoDetect=off\n",
        "AutoDetect=nvml\n",
    ):
        assert found_gpus("d1", line, conf, fakes) == ""
    (line,) = nodes_of_line("NodeName=d1 Gres=nvme:2 CPUs=2")
    assert with_gres(line, "gpu:1").text() == "+ NodeName=d1 CPUs=2 Gres=nvme:2,gpu:1"
    (line,) = nodes_of_line("NodeName=d1 Gres=gpu:2 CPUs=2")
    assert found_gpus("d1", line, "", fakes) == ""


def test_the_file_of_a_folder_is_read_back(tmp_path: Path) -> None:
    text = "+ NodeName=d1 State=CLOUD CPUs=2\n- NodeName=d2 CPUs=2\n+ NodeName=d2 CPUs=3 Feature=f7\n"
    assert "".join(f"{one.text()}\n" for one in read_lines(text)) == text
    (tmp_path / "slurm.conf").write_text(_CONF + _LINES["of partitions"], "utf-8")
    (tmp_path / "dynamic-nodes.conf").write_text(text, "utf-8")
    spec, _ = load_cluster(tmp_path / "slurm.conf", release="26.05")
    assert [(node.name, node.cpus, node.dynamic) for node in spec.nodes[2:]] == [
        ("d1", 2, "NORM"), ("d2", 2, "GONE"), ("d2", 3, "NORM"),
    ]  # fmt: skip
    assert {p.name: p.nodes for p in spec.partitions}["fancy"] == ("d2",)
