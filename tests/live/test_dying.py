"""Jobs whose processes take time to die: they are COMPLETING, and nobody gets their nodes before they are gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from processes import daemons, wait_until

import slurmsim
from slurmsim.live import daemon
from slurmsim.slurmctld.processes import job_termination

CONF = """\
ClusterName=tux
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/slurmdbd
KillWait=10
NodeName=n1 CPUs=4
PartitionName=batch Nodes=ALL Default=YES DefaultTime=10
"""
START = "2026-01-05T08:00:00Z"
TRAPS = "trap 'exec 3< go; exit 7' TERM; touch began; while :; do sleep 0.05; done"
IGNORES = "trap '' TERM; touch began; while :; do sleep 0.05; done"
QUEUE = "squeue -h -S i -o '%i %t %N %r'"
NODES = "sinfo -h -N -o '%N %t'"
STEPS = "sacct -n -P -o jobid,state,exitcode,end"


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    (tmp_path / "slurm.conf").write_text(CONF)
    os.mkfifo(tmp_path / "go")  # a script that traps TERM is over when somebody has written there
    return tmp_path / "slurm.conf"


def begun(folder: Path) -> Callable[[], bool]:
    return (folder / "began").exists


def let_go(folder: Path) -> None:
    with open(folder / "go", "w"):
        pass


@pytest.fixture
def cluster(conf: Path) -> Iterator[slurmsim.Cluster]:
    with slurmsim.cluster(conf=conf, jobs="run", frozen=True, start=START) as c:
        yield c


@pytest.fixture
def run(cluster: slurmsim.Cluster, tmp_path: Path) -> Callable[[str], str]:
    """What commands print in the folder of the scripts."""
    return lambda command: cluster.run(command, cwd=tmp_path, check=True).stdout


def test_a_script_that_traps_term(cluster: slurmsim.Cluster, run: Callable[[str], str], tmp_path: Path) -> None:
    run(f'sbatch --wrap "{TRAPS}"')
    cluster.step(3)
    wait_until(begun(tmp_path))
    cluster.step(2)
    run("scancel 1")
    run("sbatch -J next --wrap true; sbatch -H -J after -d afterany:1 --wrap true")
    cluster.step(5)
    assert run(QUEUE).splitlines()[:2] == ["1 CG n1 None", "2 PD  Resources"]
    assert run(NODES) == "n1 comp\n"
    assert "JobState=COMPLETING" in (shown := run("scontrol show job 1")) and "ExitCode=0:0" in shown
    let_go(tmp_path)
    wait_until(lambda: "1.batch|FAILED|" in run(STEPS))
    assert run(QUEUE).startswith("1 CG")  # until slurmd looks the next time
    cluster.step(1)
    assert not run(QUEUE).startswith("1 ")
    assert run(STEPS).splitlines()[:2] == [
        "1|CANCELLED by 0|0:0|2026-01-05T08:00:05", "1.batch|FAILED|7:0|2026-01-05T08:00:10",
    ]  # fmt: skip
    cluster.step(3)
    wait_until(lambda: cluster.job(2).state == "COMPLETED")


def test_a_script_that_ignores_term_and_a_requeue(
    cluster: slurmsim.Cluster, run: Callable[[str], str], tmp_path: Path
) -> None:
    run(f'sbatch --wrap "{IGNORES}"')
    cluster.step(3)
    wait_until(begun(tmp_path))
    run("scontrol requeue 1")
    cluster.step(9)
    assert run(QUEUE) == "1 CG n1 None\n"
    cluster.step(1)  # KillWait is over
    wait_until(lambda: run(QUEUE) == "1 PD  BeginTime\n")
    assert run(NODES) == "n1 idle\n"
    assert "1.batch|CANCELLED|0:9|2026-01-05T08:00:13" in run(f"{STEPS} -D")


MANY = CONF.replace("NodeName=n1", "NodeName=n[1-3]")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Where there are tasks that ignore TERM, and some that go when somebody has written to ``go``."""
    (tmp_path / "slurm.conf").write_text(MANY)
    os.mkfifo(tmp_path / "go")
    for name, text in (("ignores", IGNORES.replace("began", "began1")), ("traps", TRAPS.replace("began", "began2"))):
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def both(folder: Path) -> Callable[[], bool]:
    return lambda: (folder / "began1").exists() and (folder / "began2").exists()


def test_steps_that_take_time_to_die_keep_their_nodes(programs: Path) -> None:
    with slurmsim.cluster(conf=programs / "slurm.conf", jobs="run", frozen=True, start=START) as c:
        run = lambda command: c.run(command, cwd=programs, check=True).stdout  # noqa: E731
        of = lambda node, program: f"srun -N1 -n1 -w {node} ./{program} & "  # noqa: E731
        run(f"sbatch -N3 -n3 -o out --wrap '{of('n1', 'ignores')}{of('n2', 'traps')}wait'")
        c.step(3)
        wait_until(both(programs))
        one, two = sorted(run("squeue -h -s -o '%i %N'").splitlines()[:2], key=lambda line: line[-1])
        assert (one[-2:], two[-2:]) == ("n1", "n2")
        ignores, traps = one.split()[0], two.split()[0]
        run("scancel 1")
        wait_until(lambda: "1.batch|CANCELLED|0:15|" in run(STEPS))
        assert run(QUEUE).split()[:3] == ["1", "CG", "n[1-2]"]
        assert run(NODES).splitlines() == ["n1 comp", "n2 comp", "n3 idle"]  # there was nothing of it on n3
        assert sorted(run("squeue -h -s -o %i").split()) == ["1.0", "1.1"]
        assert "1|CANCELLED by 0|0:0|" in run(STEPS) and f"{ignores}|CANCELLED|0:0|" in run(STEPS)
        c.step(2)
        let_go(programs)
        wait_until(lambda: f"{traps}|FAILED|7:0|2026-01-05T08:00:05" in run(STEPS))
        assert run(NODES).splitlines()[:2] == ["n1 comp", "n2 comp"]  # slurmd looks once a second
        c.step(1)
        assert run(NODES).splitlines()[:2] == ["n1 comp", "n2 idle"]
        assert run(QUEUE).split()[:3] == ["1", "CG", "n1"]
        c.step(7)  # KillWait is over
        wait_until(lambda: run(QUEUE) == "")
        assert f"{ignores}|CANCELLED|0:9|2026-01-05T08:00:13" in run(STEPS)
        said = (programs / "out").read_text().splitlines()
        assert {"srun: error: n1: task 0: Killed", "srun: error: n2: task 0: Exited with exit code 7"} <= set(said)
        assert sum(" JOB 1 ON n1 CANCELLED AT " in line for line in said) == 1
        assert sum(f" STEP {ignores} ON n1 CANCELLED AT " in line for line in said) == 1


def test_a_step_the_script_has_not_waited_for(programs: Path) -> None:
    with slurmsim.cluster(conf=programs / "slurm.conf", jobs="run", frozen=True, start=START) as c:
        run = lambda command: c.run(command, cwd=programs, check=True).stdout  # noqa: E731
        run("sbatch -o out --wrap 'srun -N1 -n1 ./ignores & while [ ! -e began1 ]; do sleep 0.05; done; exit 4'")
        c.step(3)
        wait_until(lambda: "1|FAILED|4:0|" in run(STEPS))
        assert "1.batch|FAILED|4:0|" in run(STEPS) and "1.0|FAILED|0:0|" in run(STEPS)
        assert run(QUEUE) == "1 CG n1 NonZeroExitCode\n"
        c.step(10)
        wait_until(lambda: run(QUEUE) == "")
        assert "1.0|CANCELLED|0:9|" in run(STEPS)
        assert " STEP 1.0 ON n1 FAILED (non-zero exit code or other failure mode) ***" in (programs / "out").read_text()


def test_a_step_whose_srun_was_killed_is_over(programs: Path) -> None:
    with slurmsim.cluster(conf=programs / "slurm.conf", jobs="run", frozen=True, start=START) as c:
        srun = subprocess.Popen(["srun", "-N1", "-n1", "./ignores"], cwd=programs, stderr=subprocess.DEVNULL)
        c.step(5)
        wait_until((programs / "began1").exists)
        srun.kill()
        srun.wait()
        wait_until(lambda: "1.0|CANCELLED|0:9|" in c.run(STEPS).stdout)
        c.run("scancel 1", check=True)
        assert c.run(QUEUE).stdout == ""


def test_when_slurmd_looks() -> None:
    assert [job_termination.seen_after(s, 30) for s in (0, 1, 9, 10, 11, 20, 21, 29, 30, 35)] == [
        0, 2, 10, 11, 21, 21, 30, 30, 30, 35
    ]  # fmt: skip
    assert [job_termination.seen_after(s, 5) for s in (0, 3, 4, 5)] == [0, 4, 5, 5]


def test_a_script_that_is_signalled_says_so_once(
    cluster: slurmsim.Cluster, run: Callable[[str], str], tmp_path: Path
) -> None:
    run(f'sbatch -o out --wrap "{IGNORES}"')
    cluster.step(3)
    wait_until(begun(tmp_path))
    run("scancel -b -s CONT 1; scancel -b -s TERM 1; scancel -b -s TERM 1")
    assert (tmp_path / "out").read_text().count("*** JOB 1 ON n1 CANCELLED AT 2026-01-05T08:00:03 ***") == 1


@pytest.mark.parametrize(("term", "seconds"), [("4", 4), ("1:00", 10)])  # KillWait ends it
def test_a_simulated_job_takes_its_time(conf: Path, term: str, seconds: int) -> None:
    with slurmsim.cluster(conf=conf, jobs="simulate", frozen=True, start=START) as c:
        c.run(["sbatch"], input=f"#!/bin/sh\n#SLURMSIM term={term}\nsleep 1000\n", check=True)
        c.step(3)
        c.run(["scancel", "1"])
        c.run(["sbatch", "--wrap", "sleep 5"])
        c.step(seconds - 1)
        assert c.run(QUEUE).stdout.splitlines()[0] == "1 CG n1 None" and c.job(2).state == "PENDING"
        c.step(3)
        assert (c.job(2).state, c.job(2).start_time - c.job(1).end_time) == ("RUNNING", seconds)


def test_a_misspelt_time_to_die_is_refused() -> None:
    with slurmsim.cluster(frozen=True) as c:
        refused = c.run(["sbatch"], input="#!/bin/sh\n#SLURMSIM term=soon\nsleep 10\n")
        assert refused.returncode == 1 and "Invalid #SLURMSIM term=soon" in refused.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "c"
    if daemon.is_alive(tmp_path / "c"):
        daemon.stop(tmp_path / "c")


def test_the_daemon_dies_before_the_script(conf: Path, folder: Path, tmp_path: Path) -> None:
    def slurmsim_(*words: str) -> None:
        command = [sys.executable, "-m", "slurmsim", *words, "--state", str(folder)]
        subprocess.run(command, capture_output=True, check=True)

    def run(command: str) -> str:
        environ = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "SLURMSIM_CLUSTER_DIR": str(folder)}
        done = subprocess.run(
            command, shell=True, env=environ, capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def killed() -> None:
        (pid,) = daemons(folder)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not daemons(folder))

    slurmsim_("up", "--frozen", "--jobs", "run", "--start", START, "--conf", str(conf))
    run(f'sbatch --wrap "{TRAPS}"; sbatch -J next --exclusive --wrap true')
    slurmsim_("clock", "step", "3s")
    wait_until(begun(tmp_path))
    run("scancel 1")
    for _ in range(2):
        killed()
        slurmsim_("up")
        assert run(QUEUE) == "1 CG n1 None\n2 PD  Resources\n"
    killed()
    let_go(tmp_path)  # while nobody listens
    slurmsim_("up")
    wait_until(lambda: not run(QUEUE).startswith("1 "))
    assert "1.batch|FAILED|7:0|" in run(STEPS)
    slurmsim_("clock", "step", "10s")
    wait_until(lambda: "2|COMPLETED|0:0|" in run(STEPS))
