"""ResumeProgram, SuspendProgram and ResumeFailProgram really run, and nodes are up when their slurmd registers."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from processes import until, wait_until

import slurmsim
from slurmsim.errors import ConfigError

CONF = """\
ClusterName=cloud
SlurmctldHost=localhost
ResumeProgram={folder}/resume
SuspendProgram={folder}/suspend
ResumeFailProgram={folder}/failed
SuspendTime=60
SuspendTimeout=30
ResumeTimeout=300
NodeName=n[1-3] CPUs=2 State=CLOUD
PartitionName=all Nodes=ALL Default=YES
"""
PROGRAM = """\
#!/bin/bash
echo "$1" >> {folder}/{name}.nodes
env > {folder}/{name}.environment
cat "$SLURM_RESUME_FILE" > {folder}/{name}.json 2> /dev/null
[ -e {folder}/{name}.starts ] && slurmd -N "$1"
touch {folder}/{name}.done
"""
Made = Callable[..., slurmsim.Cluster]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    """A function that makes the cluster, of a release; programs write down what they are told."""
    monkeypatch.chdir(tmp_path)
    for name in ("resume", "suspend", "failed"):
        (tmp_path / name).write_text(PROGRAM.format(folder=tmp_path, name=name))
        (tmp_path / name).chmod(0o755)
    (tmp_path / "slurm.conf").write_text(CONF.format(folder=tmp_path))
    entered: list[slurmsim.Cluster] = []

    def make(release: str = "26.05") -> slurmsim.Cluster:
        cluster = slurmsim.cluster(
            conf=tmp_path / "slurm.conf",
            slurm_version=release,
            allow_code=True,
            frozen=True,
            jobs="run",
            folder=tmp_path / "state",
        )  # fmt: skip
        entered.append(cluster.__enter__())
        return cluster

    yield make
    for cluster in entered:
        cluster.__exit__(None, None, None)


def said(cluster: slurmsim.Cluster, *words: str) -> str:
    done = cluster.run(words)
    return (done.stdout + done.stderr).strip()


def state_of(cluster: slurmsim.Cluster, node: str) -> str:
    return said(cluster, "sinfo", "-h", "-n", node, "-o", "%t")


def submitted(cluster: slurmsim.Cluster, folder: Path, *words: str) -> None:
    """Submit a job for which the first node boots, and wait until ResumeProgram is over."""
    said(cluster, "sbatch", *words, "--wrap=true")
    cluster.step(30)
    wait_until(lambda: (folder / "resume.done").exists())


def test_a_node_is_up_when_its_slurmd_registers(made: Made, tmp_path: Path) -> None:
    cluster = made()
    submitted(cluster, tmp_path)
    assert (tmp_path / "resume.nodes").read_text() == "n1\n"
    cluster.step(200)
    assert said(cluster, "squeue", "-h", "-o", "%t") == "CF"
    assert state_of(cluster, "n1") == "alloc#"
    assert said(cluster, "slurmd", "-N", "n1") == ""
    until(lambda: said(cluster, "squeue", "-h", "-o", "%t"), "^$")
    assert state_of(cluster, "n1") == "idle"


@pytest.mark.parametrize("words", [("slurmd", "-N", "n1"), ("scontrol", "update", "NodeName=n1", "State=IDLE")])
def test_a_program_starts_the_node_itself(made: Made, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "resume").write_text(f"#!/bin/bash\n{' '.join(words)}\ntouch {tmp_path}/resume.done\n")
    cluster = made()
    submitted(cluster, tmp_path)
    wait_until(lambda: state_of(cluster, "n1") in ("idle", "mix", "alloc"))


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_a_program_is_told_for_which_jobs_nodes_boot(made: Made, tmp_path: Path, release: str) -> None:
    cluster = made(release)
    submitted(cluster, tmp_path, "-N2", "--exclusive")
    told = json.loads((tmp_path / "resume.json").read_text())
    environment = dict(line.partition("=")[::2] for line in (tmp_path / "resume.environment").read_text().splitlines())
    assert environment["SLURM_CONF"].endswith("slurm.conf")
    nodes = {"22.05": "nodes"}.get(release, "nodes_resume")
    assert told["all_nodes" if release == "22.05" else "all_nodes_resume"] == told["jobs"][0][nodes] == "n[1-2]"
    job = told["jobs"][0]
    names = {
        "22.05": {"job_id", "nodes"},
        "24.11": {
            "extra", "job_id", "features", "nodes_alloc", "nodes_resume", "oversubscribe", "partition", "reservation"
        },
    }  # fmt: skip
    names["26.05"] = names["24.11"] | {"priority", "exclusive"}
    assert set(job) == names[release]
    if release != "22.05":
        assert (job["oversubscribe"], job["partition"], job["features"]) == ("NO", "all", None)
    if release == "26.05":
        assert job["exclusive"] == "NODE"


def test_nodes_that_do_not_register_are_down_and_the_program_for_it_is_told(made: Made, tmp_path: Path) -> None:
    cluster = made()
    submitted(cluster, tmp_path)
    cluster.step(330)
    wait_until(lambda: (tmp_path / "failed.done").exists())
    assert (tmp_path / "failed.nodes").read_text() == "n1\n"
    assert state_of(cluster, "n1") == "down~"


def test_idle_nodes_are_given_to_the_suspend_program(made: Made, tmp_path: Path) -> None:
    (tmp_path / "resume.starts").touch()
    cluster = made()
    submitted(cluster, tmp_path)
    until(lambda: state_of(cluster, "n1"), "^idle$")
    cluster.step(80)
    wait_until(lambda: (tmp_path / "suspend.done").exists())
    assert (tmp_path / "suspend.nodes").read_text() == "n1\n"
    assert state_of(cluster, "n1") == "idle%"
    cluster.step(60)
    assert state_of(cluster, "n1") == "idle~"


def test_a_program_that_is_not_there_lets_nodes_boot_by_themselves(made: Made, tmp_path: Path) -> None:
    (tmp_path / "resume").unlink()
    cluster = made()
    said(cluster, "sbatch", "--wrap=true")
    cluster.step(10)
    until(lambda: state_of(cluster, "n1") if cluster.step(10) else "", "^idle$")


def test_a_fault_keeps_nodes_from_booting(made: Made, tmp_path: Path) -> None:
    cluster = made()
    with cluster.inject("no-boot", nodes="n1"):
        submitted(cluster, tmp_path)
        cluster.register_node("n1")
        assert state_of(cluster, "n1") == "mix#" or state_of(cluster, "n1") == "alloc#"
    cluster.register_node("n1")
    assert state_of(cluster, "n1") in ("mix", "alloc", "idle")  # idle when the job has ended already


def test_a_program_that_runs_outlives_the_daemon(made: Made, tmp_path: Path) -> None:
    (tmp_path / "resume").write_text(
        f"#!/bin/bash\nwhile [ ! -e {tmp_path}/go ]; do sleep 0.05; done\nslurmd -N $1\ntouch {tmp_path}/resume.done\n"
    )
    cluster = made()
    said(cluster, "sbatch", "--wrap=true")
    cluster.step(30)
    cluster.stop()
    cluster.start()
    (tmp_path / "go").touch()
    wait_until(lambda: (tmp_path / "resume.done").exists())
    wait_until(lambda: state_of(cluster, "n1") in ("idle", "mix", "alloc"))


def test_a_copy_has_no_programs_and_its_nodes_boot(made: Made, tmp_path: Path) -> None:
    cluster = made()
    submitted(cluster, tmp_path)
    with cluster.fork() as copy:
        copy.step(120)
        assert state_of(copy, "n1") in ("idle", "mix", "alloc")
    assert state_of(cluster, "n1").endswith("#")


def test_users_cannot_register_nodes(made: Made, tmp_path: Path) -> None:
    cluster = made()
    submitted(cluster, tmp_path)
    done = cluster.run(["slurmd", "-N", "n1"], user="alice")
    assert (done.returncode, done.stderr) == (1, "slurmd: error: n1: Access/permission denied\n")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "-N NODE says which node it is"),
        (("-N", "n9"), "n9: Invalid node name specified"),
        (("-F",), "invalid option -- 'F': only what --help names is modelled"),
    ],
)
def test_what_slurmd_cannot_do_is_one_line(made: Made, tmp_path: Path, words: tuple[str, ...], text: str) -> None:
    cluster = made()
    done = cluster.run(["slurmd", *words])
    assert (done.returncode, done.stderr) == (1, f"slurmd: error: {text}\n")


def test_a_node_that_is_switched_on_beside_the_program_is_up(made: Made) -> None:
    cluster = made()
    cluster.register_node("n[2-3]")
    assert [state_of(cluster, name) for name in ("n1", "n2", "n3")] == ["idle~", "idle", "idle"]


def test_slurmd_stays_in_the_foreground_until_it_is_told(made: Made) -> None:
    cluster = made()
    with subprocess.Popen(["slurmd", "-D", "-N", "n2"], env={**os.environ, **cluster.environ}) as process:
        wait_until(lambda: state_of(cluster, "n2") == "idle")
        assert process.poll() is None
        process.terminate()
        assert process.wait(20) == 0


ACTIONS = """\
PowerAction=up Program="{folder}/resume up" Location=slurmctld
PowerAction=down Program={folder}/suspend Location=slurmd
PowerAction=again Program={folder}/again Location=slurmctld
PowerAction=nodes Program={folder}/nodes Location=slurmd
RebootProgram={folder}/nodes
"""
ON_A_NODE = """\
#!/bin/bash
echo "$SLURM_NODE_NAME $*" >> {folder}/{name}.nodes
"""


@pytest.fixture
def acting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[slurmsim.Cluster]:
    """A cluster of 26.05 with actions, whose nodes are powered down by hand alone."""
    monkeypatch.chdir(tmp_path)
    for name in ("resume", "suspend", "again", "nodes"):
        (tmp_path / name).write_text(ON_A_NODE.format(folder=tmp_path, name=name))
        (tmp_path / name).chmod(0o755)
    conf = CONF.replace("SuspendTime=60", "SuspendTime=-1").replace(" State=CLOUD", "") + ACTIONS
    (tmp_path / "slurm.conf").write_text(conf.format(folder=tmp_path))
    with slurmsim.cluster(
        conf=tmp_path / "slurm.conf", slurm_version="26.05", allow_code=True, frozen=True, jobs="run",
        folder=tmp_path / "state",
    ) as cluster:  # fmt: skip
        yield cluster


def noted(folder: Path, name: str, wanted: str) -> None:
    """Wait until a program has noted these lines."""
    file = folder / f"{name}.nodes"
    wait_until(lambda: file.exists() and "|".join(sorted(file.read_text().splitlines())) == wanted)


def test_actions_power_nodes_by_hand(acting: slurmsim.Cluster, tmp_path: Path) -> None:
    assert said(acting, "scontrol", "power", "down", "n[1-2]", "action=down", "reason=hot") == ""
    acting.step(2)
    noted(tmp_path, "suspend", "n1 n1|n2 n2")
    assert [state_of(acting, name) for name in ("n1", "n2", "n3")] == ["idle%", "idle%", "idle"]
    assert said(acting, "scontrol", "update", "NodeName=n[1-2]", "State=RESUME") == ""
    acting.step(2)
    assert state_of(acting, "n1") == "idle~"
    assert said(acting, "scontrol", "power", "up", "n[1-2]", "action=up") == ""
    acting.step(2)
    noted(tmp_path, "resume", " up n[1-2]")
    acting.register_node("n[1-2]")
    assert state_of(acting, "n1") == "idle"


def test_reboots_by_actions(acting: slurmsim.Cluster, tmp_path: Path) -> None:
    assert said(acting, "scontrol", "reboot", "n[1-2]", "action=again") == ""
    acting.step(2)
    noted(tmp_path, "again", " n[1-2]")
    assert state_of(acting, "n1") == "boot^"
    acting.step(500)
    assert state_of(acting, "n1") == "boot^"  # until its slurmd says that it is back
    acting.register_node("n[1-2]")
    assert state_of(acting, "n1") == "idle"
    said(acting, "sbatch", "-w", "n3", "--wrap=sleep 1000")
    acting.step(3)
    assert said(acting, "scontrol", "reboot", "n3", "force") == ""
    acting.step(2)
    noted(tmp_path, "nodes", "n3 ")
    assert said(acting, "squeue", "-h", "-o", "%t") == "PD"


@pytest.mark.parametrize(
    "words",
    [("power", "down", "n1", "action=x"), ("power", "up", "n1", "action=down"), ("reboot", "n1", "action=x")],
)
def test_actions_that_cannot_be_are_refused(acting: slurmsim.Cluster, words: tuple[str, ...]) -> None:
    done = acting.run(["scontrol", *words])
    assert done.returncode == 1 and "Invalid power action" in done.stderr


def test_no_program_ends_this_machine(acting: slurmsim.Cluster, tmp_path: Path) -> None:
    (tmp_path / "nodes").unlink()
    (tmp_path / "poweroff").write_text(ON_A_NODE.format(folder=tmp_path, name="nodes"))
    (tmp_path / "poweroff").chmod(0o755)
    (tmp_path / "nodes").symlink_to(tmp_path / "poweroff")
    said(acting, "scontrol", "reboot", "n1")
    wait_until(lambda: state_of(acting, "n1") == "idle" or not acting.step(30))
    assert not (tmp_path / "nodes.nodes").exists()


def test_a_deleted_node_is_no_node_any_more(made: Made, tmp_path: Path) -> None:
    """Neither programs nor requests know it."""
    conf = (tmp_path / "slurm.conf").read_text().replace("ClusterName", "MaxNodeCount=5\nClusterName")
    (tmp_path / "slurm.conf").write_text(conf.replace(" State=CLOUD", ""))
    cluster = made()
    assert said(cluster, "scontrol", "create", "NodeName=d1", "State=CLOUD", "CPUs=2") == ""
    cluster.register_node("d1")
    assert said(cluster, "scontrol", "delete", "NodeName=d1") == ""
    cluster.step(200)
    wait_until(lambda: (tmp_path / "suspend.done").exists())
    assert (tmp_path / "suspend.nodes").read_text() == "n[1-3]\n"
    for words in (("slurmd", "-N", "d1"), ("scontrol", "create", "partition=x", "Nodes=d1")):
        done = cluster.run(words)
        assert done.returncode == 1 and "Invalid node name specified" in done.stderr
    with pytest.raises(ConfigError, match="no such nodes"):
        cluster.inject("drain", nodes="d1")
