"""srun and salloc get an allocation of nodes that are powered down: what they wait for, as real Slurm had it."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

import slurmsim

CONF = """\
ClusterName=c
SlurmctldHost=localhost
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SuspendProgram=/bin/true
ResumeProgram=/bin/true
SuspendTime=60
SuspendTimeout=20
ResumeTimeout=120
SuspendExcNodes=n1
NodeName=n[1-3] CPUs=4
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
"""
GRANTED, LEFT = "salloc: Granted job allocation 2\n", "salloc: Relinquishing job allocation 2\n"
WAITED = "salloc: Waiting for resource configuration\nsalloc: Nodes n2 are ready for job\n"


def until(what: str, cluster: slurmsim.Cluster, job: int) -> None:
    """Wait until squeue shows the job in that state."""
    for _ in range(100):
        if cluster.run(["squeue", "-h", "-j", str(job), "-o", "%t"]).stdout.strip() == what:
            return
        time.sleep(0.05)
    raise AssertionError(f"job {job} is never {what}")


def outcome(process: subprocess.Popen[str], cluster: slurmsim.Cluster, seconds: int) -> tuple[int, str]:
    """Let time pass until the command ends; its exit code, and what it printed on both streams."""
    cluster.step(seconds)
    out, _ = process.communicate(timeout=20)
    return process.returncode, out


def started(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.mark.parametrize("release", ["22.05", "26.05"])
def test_a_program_starts_when_its_nodes_have_booted(tmp_path: Path, release: str) -> None:
    """salloc of 22.05 waits for no node; srun says nothing meanwhile, in any release."""
    (tmp_path / "slurm.conf").write_text(CONF, "utf-8")
    options = {"conf": tmp_path / "slurm.conf", "frozen": True, "slurm_version": release}
    with slurmsim.cluster(start="2026-01-05T08:00:00", **options) as cluster:
        cluster.step(110)
        assert cluster.run(["sinfo", "-h", "-N", "-o", "%t"]).stdout.split() == ["idle", "idle~", "idle~"]
        srun = started("srun", "-w", "n3", "-N1", "-t5", "echo", "ran")
        until("CF", cluster, 1)
        assert outcome(srun, cluster, 60) == (0, "ran\n")
        salloc = started("salloc", "-w", "n2", "-N1", "-t5", "echo", "ran")
        if release == "22.05":
            assert outcome(salloc, cluster, 0) == (0, f"{GRANTED}ran\n{LEFT}")
        else:
            until("CF", cluster, 2)
            assert outcome(salloc, cluster, 60) == (0, f"{GRANTED}{WAITED}ran\n{LEFT}")
        shown = cluster.run(["sacct", "-n", "-X", "-o", "start"]).stdout.split()
        assert shown == sorted(shown)
        assert shown[0] > "2026-01-05T08:01:50"  # the run begins with the boot


def test_a_cancelled_job_does_not_wait_for_its_nodes(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF, "utf-8")
    options = {"conf": tmp_path / "slurm.conf", "frozen": True, "slurm_version": "24.11"}
    with slurmsim.cluster(start="2026-01-05T08:00:00", **options) as cluster:
        cluster.step(110)
        srun = started("srun", "-w", "n3", "-N1", "-t5", "echo", "ran")
        until("CF", cluster, 1)
        cluster.run(["scancel", "1"], check=True)
        wrong = (
            "srun: error: Nodes n3 are still not ready\nsrun: error: Something is wrong with the boot of the nodes.\n"
        )
        assert outcome(srun, cluster, 60) == (1, wrong)


def test_a_node_that_does_not_come_up_ends_its_srun(tmp_path: Path) -> None:
    """The job is not requeued, as only batch jobs are."""
    (tmp_path / "slurm.conf").write_text(CONF, "utf-8")
    options = {"conf": tmp_path / "slurm.conf", "frozen": True, "slurm_version": "22.05"}
    with slurmsim.cluster(start="2026-01-05T08:00:00", **options) as cluster:
        cluster.step(110)
        with cluster.inject("slow-boot", nodes="n3", seconds=1000):
            srun = started("srun", "-w", "n3", "-N1", "-t5", "echo", "ran")
            until("CF", cluster, 1)
            assert "Requeue=1 " in cluster.run(["scontrol", "show", "job", "1"]).stdout
            wrong = (
                "Node failure on n3",
                "Nodes n3 are still not ready",
                "Something is wrong with the boot of the nodes.",
            )
            assert outcome(srun, cluster, 130) == (1, "".join(f"srun: error: {line}\n" for line in wrong))
        assert cluster.run(["squeue", "-h", "-t", "all", "-o", "%t %r"]).stdout == "NF NodeDown\n"


@pytest.mark.parametrize(
    ("release", "suspended"), [("22.05", 44), pytest.param("24.11", 59, marks=pytest.mark.slow), ("26.05", 59)]
)
def test_time_until_nodes_are_powered_down_begins_with_slurmctld(tmp_path: Path, release: str, suspended: int) -> None:
    """As recorded: since 24.11 reconfigure starts slurmctld, which looks every 11 s; waiting jobs lose their nodes."""
    (tmp_path / "slurm.conf").write_text(CONF.replace("Time=60", "Time=40\nSchedulerParameters=bf_interval=5"), "utf-8")
    options = {"conf": tmp_path / "slurm.conf", "frozen": True, "slurm_version": release}
    with slurmsim.cluster(start="2026-01-05T08:00:00", **options) as cluster:
        cluster.run(["sbatch", "-n4", "-wn1", "-t30", "--wrap", "sleep 900"])
        cluster.run(["sbatch", "-n4", "-wn1", "-t30", "--wrap", "sleep 900"])
        cluster.step(15)
        cluster.run(["scontrol", "reconfigure"], check=True)
        job = cluster.run(["scontrol", "show", "job", "2"]).stdout
        assert ("SchedNodeList=n1" in job) == (release == "22.05")
        states = {}
        for second in range(16, 66):
            cluster.step(1)
            states[second] = cluster.run(["sinfo", "-h", "-n", "n3", "-o", "%t"]).stdout.strip()
        first = min(second for second, state in states.items() if state != "idle")
        assert first == suspended
