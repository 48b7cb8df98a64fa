"""Prolog, Epilog and their kin really run, and jobs and nodes fare as under 26.05 in a recording."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import slurmsim

CONF = """\
ClusterName=programs
SlurmctldHost=localhost
Prolog={folder}/prolog
Epilog={folder}/epilog*
TaskProlog={folder}/task-prolog
TaskEpilog={folder}/task-epilog
PrologEpilogTimeout=10
SlurmctldParameters=enable_expedited_requeue
SchedulerParameters=requeue_delay=0
NodeName=n[1-3] CPUs=2
PartitionName=all Nodes=ALL Default=YES
"""
TELLS = "#!/bin/sh\nenv > {folder}/told.$SLURM_SCRIPT_CONTEXT.$SLURM_JOB_ID.$SLURMD_NODENAME\n"
FAILS = "[ -e {folder}/fail.$SLURM_SCRIPT_CONTEXT ] && exit 3\nexit 0\n"
WAITS = "while [ -e {folder}/wait.$SLURM_SCRIPT_CONTEXT ]; do sleep 0.05; done\n"
PATIENCE_S = 20.0


class Site:
    """A live cluster with programs, and switches that let them fail or wait."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in (
            ("prolog", TELLS + WAITS + FAILS), ("epilog", TELLS + WAITS + FAILS),
            ("task-prolog", "#!/bin/sh\necho export FROM_PROLOG=yes\necho print hello\n"),
            ("task-epilog", "#!/bin/sh\ntouch {folder}/task-epilog-ran\nexit 0\n"),
        ):  # fmt: skip
            (folder / name).write_text(text.format(folder=folder))
            (folder / name).chmod(0o755)
        (folder / "slurm.conf").write_text(CONF.format(folder=folder))

    def switch(self, what: str, which: str, *, on: bool = True) -> None:
        path = self.folder / f"{what}.{which}_slurmd"
        path.touch() if on else path.unlink()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def live(site: Site) -> Iterator[slurmsim.Cluster]:
    with slurmsim.cluster(conf=site.folder / "slurm.conf", slurm_version="26.05", allow_code=True) as cluster:
        yield cluster


def said(cluster: slurmsim.Cluster, *words: str) -> str:
    return cluster.run(words, check=False).stdout


def submit(cluster: slurmsim.Cluster, *options: str) -> str:
    return said(cluster, "sbatch", "--parsable", "-o", "/dev/null", *options).strip()


def state(cluster: slurmsim.Cluster, job: str) -> str:
    found = re.search(r"JobState=(\S+) Reason=(\S+)", said(cluster, "scontrol", "show", "job", job))
    assert found is not None
    return f"{found[1]} {found[2]}"


def until(found: Callable[[], str], wanted: str) -> None:
    last = time.monotonic() + PATIENCE_S
    while (told := found()) != wanted:
        assert time.monotonic() < last, told
        time.sleep(0.1)


def reasons(cluster: slurmsim.Cluster) -> str:
    return said(cluster, "sinfo", "-h", "-R", "-o", "%E|%N|%T").strip()


def told(site: Site, which: str, job: str, node: str) -> dict[str, str]:
    path = site.folder / f"told.{which}_slurmd.{job}.{node}"
    return dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)


def test_they_are_told_of_the_job_and_run_where_its_processes_do(site: Site, live: slurmsim.Cluster) -> None:
    job = submit(live, "-N2", "--wrap", "exit 3")
    until(lambda: state(live, job), "FAILED NonZeroExitCode")
    before, after = told(site, "prolog", job, "n1"), told(site, "epilog", job, "n2")
    wanted = {
        "SLURM_JOB_ID": job, "SLURMD_NODENAME": "n1", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_PARTITION": "all",
        "SLURM_JOB_CPUS_PER_NODE": "1(x2)", "SLURM_JOB_RESTART_COUNT": "0", "SLURM_SCRIPT_CONTEXT": "prolog_slurmd",
    }  # fmt: skip
    assert before.items() >= wanted.items()
    assert (
        after.items() >= {"SLURM_JOB_EXIT_CODE": "768", "SLURM_JOB_EXIT_CODE2": "3:0", "SLURMD_NODENAME": "n2"}.items()
    )
    assert "SLURM_JOB_EXIT_CODE" not in before
    assert not (site.folder / f"told.prolog_slurmd.{job}.n2").exists()  # no step ran there
    assert (site.folder / f"told.epilog_slurmd.{job}.n1").exists()


def test_a_prolog_that_fails_drains_its_node_and_holds_the_job(site: Site, live: slurmsim.Cluster) -> None:
    site.switch("fail", "prolog")
    job = submit(live, "--wrap", "true")
    until(lambda: state(live, job), "PENDING launch_failed_requeued_held")
    until(lambda: reasons(live), "Prolog error|n1|drained")
    done = live.run(["srun", "-N1", "true"], check=False)
    assert done.returncode != 0
    until(lambda: reasons(live), "Prolog error|n[1-2]|drained")
    assert "CANCELLED" in said(live, "squeue", "-h", "-t", "all", "-o", "%T")


def test_a_step_waits_for_the_prolog_of_its_node(site: Site, live: slurmsim.Cluster) -> None:
    site.switch("wait", "prolog")
    job = submit(live, "-N2", "-n2", "--wrap", f"srun touch {site.folder}/task.ran")
    until(lambda: str((site.folder / f"told.prolog_slurmd.{job}.n1").exists()), "True")
    assert state(live, job) == "RUNNING None"
    assert not (site.folder / "task.ran").exists()
    site.switch("wait", "prolog", on=False)
    until(lambda: state(live, job), "COMPLETED None")
    assert (site.folder / "task.ran").exists()
    assert (site.folder / f"told.prolog_slurmd.{job}.n2").exists()


def test_a_job_completes_until_its_epilog_is_over_also_over_a_restart(site: Site) -> None:
    site.switch("wait", "epilog")
    folder = site.folder / "state"
    with slurmsim.cluster(
        conf=site.folder / "slurm.conf", slurm_version="26.05", folder=folder, allow_code=True
    ) as cluster:
        job = submit(cluster, "-w", "n1", "--wrap", "true")
        until(lambda: state(cluster, job), "COMPLETING None")
        again = submit(cluster, "-w", "n1", "--wrap", "true")
        assert state(cluster, again).startswith("PENDING")
    with slurmsim.cluster(folder=folder) as cluster:
        assert state(cluster, job) == "COMPLETING None"
        site.switch("wait", "epilog", on=False)
        until(lambda: state(cluster, job), "COMPLETED None")
        until(lambda: state(cluster, again), "COMPLETED None")


@pytest.mark.slow
def test_an_epilog_has_its_time_and_drains_its_node_where_it_fails(site: Site, live: slurmsim.Cluster) -> None:
    site.switch("wait", "epilog")
    job = submit(live, "--wrap", "true")
    begin = time.monotonic()
    until(lambda: state(live, job), "COMPLETED None")
    assert 5 < time.monotonic() - begin < 19  # PrologEpilogTimeout=10
    until(lambda: reasons(live), "Epilog error|n1|drained")


@pytest.mark.slow
def test_jobs_that_broke_nodes_go_first_and_others_are_held(site: Site, live: slurmsim.Cluster) -> None:
    well = submit(live, "--requeue=expedite", "--wrap", "true")
    until(lambda: state(live, well), "COMPLETED None")
    own = submit(live, "--requeue=expedite", "--wrap", "false")
    until(lambda: state(live, own), "REQUEUE_HOLD job_requeued_in_held_state")
    assert "ExpeditedRequeue=Yes" in said(live, "scontrol", "show", "job", own)
    site.switch("fail", "epilog")
    broken = submit(live, "--requeue=expedite", "-w", "n1", "--wrap", "false")
    until(lambda: state(live, broken).split()[0], "EXPEDITING")
    until(lambda: reasons(live), "Epilog error|n1|drained")
    lost = submit(live, "--requeue=expedite", "-w", "n2", "--wrap", "sleep 60")
    until(lambda: state(live, lost), "RUNNING None")
    said(live, "scontrol", "update", "nodename=n2", "state=down", "reason=x")
    until(lambda: state(live, lost).split()[0], "EXPEDITING")
    said(live, "scontrol", "update", "nodename=n2", "state=resume")
    until(lambda: state(live, lost), "RUNNING None")  # without the delay of other requeues


def test_programs_of_tasks_are_those_of_the_file_beside_the_users(site: Site, live: slurmsim.Cluster) -> None:
    own = site.folder / "own-epilog"
    own.write_text(f"#!/bin/sh\nsleep 100 & echo $! > {site.folder}/left\n")
    own.chmod(0o755)
    told = said(live, "srun", "-n1", f"--task-epilog={own}", "sh", "-c", "echo $FROM_PROLOG")
    assert told == "hello\nyes\n"
    assert (site.folder / "task-epilog-ran").exists()
    left = (site.folder / "left").read_text().strip()
    until(lambda: str(_runs(left)), "False")


def _runs(pid: str) -> bool:
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def test_nothing_runs_that_was_not_allowed(site: Site) -> None:
    """A slurm.conf of others may name any program of the machine."""
    with slurmsim.cluster(conf=site.folder / "slurm.conf", slurm_version="26.05") as cluster:
        job = submit(cluster, "-n1", "--wrap", "srun true")
        until(lambda: state(cluster, job), "COMPLETED None")
        assert "Prolog" in said(cluster, "scontrol", "show", "config")
    assert not list(site.folder.glob("told.*")) and not (site.folder / "task-epilog-ran").exists()


def test_a_copy_waits_for_no_program(site: Site, live: slurmsim.Cluster, tmp_path: Path) -> None:
    """No epilog runs in a copy of the cluster, so none could tell of its end."""
    site.switch("wait", "epilog")
    job = submit(live, "-w", "n1", "--wrap", "true")
    until(lambda: state(live, job), "COMPLETING None")
    live.snapshot(tmp_path / "copy")
    site.switch("wait", "epilog", on=False)
    with slurmsim.restore(tmp_path / "copy") as copy:
        assert state(copy, job) == "COMPLETED None"
        assert "COMPLETING" not in said(copy, "scontrol", "show", "node", "n1")
