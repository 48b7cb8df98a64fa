"""A cluster from the outside: up, commands on PATH, a job that really runs, a kill of the daemon, down."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import slurmsim
from slurmsim.protocol import Client


class Up:
    """One running cluster."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {
            **os.environ, "XDG_STATE_HOME": str(folder / "state"), "SLURMSIM_CLUSTER_DIR": str(folder / "c"),
            "PATH": f"{folder / 'c' / 'bin'}:{os.environ['PATH']}",
        }  # fmt: skip

    def slurmsim(self, *words: str) -> str:
        command = [sys.executable, "-m", "slurmsim", *words, "--state", str(self.folder / "c")]
        done = subprocess.run(command, env=self.environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self, command: str) -> str:
        done = subprocess.run(
            command, shell=True, env=self.environ, cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def wait_for(self, command: str, text: str) -> None:
        last = time.monotonic() + 60
        while (found := self.run(command).strip()) != text:
            assert time.monotonic() < last, found
            time.sleep(0.2)


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    found = Up(tmp_path)
    yield found
    subprocess.run([sys.executable, "-m", "slurmsim", "down", "--state", str(tmp_path / "c")],
                   env=found.environ, capture_output=True, check=False)  # fmt: skip
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_a_script_really_runs(up: Up) -> None:
    up.slurmsim("up")
    assert up.run("sbatch -J hello --parsable --wrap 'echo I am $SLURM_JOB_ID; exit 3'") == "1\n"
    up.wait_for("squeue -h -t all -o '%i %j %T'", "1 hello FAILED")
    assert (up.folder / "slurm-1.out").read_text() == "I am 1\n"


def test_what_was_acknowledged_survives_a_kill(up: Up) -> None:
    up.slurmsim("up", "--rate", "20")
    assert up.run("sbatch -J lives --wrap 'sleep 2; echo done'") == "Submitted batch job 1\n"
    assert up.run("sbatch -J waits -H --wrap true") == "Submitted batch job 2\n"
    up.wait_for("squeue -h -j 1 -o %T", "RUNNING")
    (daemon,) = subprocess.run(["pgrep", "-f", f"slurmctld {up.folder / 'c'}"], capture_output=True, text=True,
                               check=True).stdout.split()  # fmt: skip
    os.kill(int(daemon), signal.SIGKILL)
    up.slurmsim("up")
    up.wait_for("squeue -h -t all -S i -o '%i %T'", "1 COMPLETED\n2 PENDING")
    assert (up.folder / "slurm-1.out").read_text() == "done\n"
    assert up.run("sbatch --parsable --wrap true") == "3\n"


@pytest.mark.parametrize("given", [(), ("acc.txt",)])
def test_a_database_for_a_slurm_conf_that_has_none(up: Up, given: tuple[str, ...]) -> None:
    """`--accounting` without FILE was refused, and with one sacctmgr knew of no database."""
    conf = up.folder / "slurm.conf"
    conf.write_text("ClusterName=tux\nSlurmctldHost=h\nNodeName=n1\nPartitionName=p Nodes=ALL Default=YES\n")
    (up.folder / "acc.txt").write_text("add account a\nadd user ann Account=a\n")
    files = [str(up.folder / name) for name in given]
    up.slurmsim("up", "--frozen", "--conf", str(conf), "--accounting", *files)
    shown = up.run("sacctmgr -nP show assoc format=account,user").split()
    assert shown == ["root|", "root|root"] + (["a|", "a|ann"] if given else [])
    assert up.run("sacctmgr -nP show qos format=name") == "normal\n"
    assert up.run("sreport -nP cluster utilization") == ""


def test_a_frozen_clock_is_stepped(up: Up) -> None:
    up.slurmsim("up", "--frozen", "--start", "2026-01-05T08:00:00Z", "--jobs", "simulate")
    up.run("sbatch --wrap 'sleep 3600'")
    up.slurmsim("clock", "step", "10")
    assert up.run("TZ=UTC squeue -h -o '%T %S'") == "RUNNING 2026-01-05T08:00:03\n"
    up.slurmsim("clock", "until-idle")
    assert up.run("squeue -h -t all -o '%T'") == "COMPLETED\n"
    calls = Client(str(up.folder / "c")).call("calls", command="squeue")["calls"]
    assert [one["rc"] for one in calls] == [0, 0]


def test_srun_and_salloc(up: Up) -> None:
    up.slurmsim("up", "--nodes", "2", "--cpus-per-node", "4")
    assert (
        up.run("srun -N2 -n3 -l bash -c 'echo $SLURMD_NODENAME $SLURM_LOCALID' | sort") == "0: n1 0\n1: n1 1\n2: n2 0\n"
    )
    assert up.run("srun bash -c 'exit 7' 2>&1; echo $?") == "srun: error: n1: task 0: Exited with exit code 7\n7\n"
    assert up.run("echo in | srun -n2 cat") == "in\nin\n"
    inside = "salloc -n2 bash -c 'srun -n1 --exact sh -c \"echo step \\$SLURM_STEP_ID\"; squeue -h -o %j' 2>&1"
    assert up.run(inside).split("\n")[1:4] == ["step 0", "interactive", "salloc: Relinquishing job allocation 4"]


def test_of_a_client_that_is_killed_nobody_learns(up: Up) -> None:
    up.slurmsim("up", "--nodes", "1", "--cpus-per-node", "1", "--rate", "5")
    with contextlib.ExitStack() as clients:
        for words, shown in ((["srun", "sleep", "600"], "1 RUNNING"), (["salloc", "true"], "2 PENDING")):
            client = clients.enter_context(subprocess.Popen(words, env=up.environ, stderr=subprocess.PIPE))
            clients.callback(client.kill)
            up.wait_for(f"squeue -h -t {shown[2:]} -o '%i %T'", shown)
    time.sleep(2)  # it would be missed after one
    assert up.run("squeue -h -S i -o '%i %T'") == "1 RUNNING\n2 PENDING\n"
    up.run("scancel 1")
    up.wait_for("squeue -h -t all -j 2 -o '%i %T %r'", "2 FAILED NonZeroExitCode")


def test_a_step_is_signalled_and_cancelled(up: Up) -> None:
    up.slurmsim("up", "--nodes", "1", "--cpus-per-node", "2")
    script = "trap 'echo got it' USR1; while :; do sleep 0.1; done"
    up.run(f'sbatch -o out.txt --wrap "srun -n1 bash -c \\"{script}\\"; echo ended \\$?"')
    up.wait_for("squeue -h -s -j 1 -o %i | grep -c 1.0 || true", "1")
    up.run("sleep 0.5; scancel -s USR1 1")
    up.wait_for("grep -c 'got it' out.txt || true", "1")
    up.run("scancel 1.0")
    up.wait_for("squeue -h -t all -o %T", "COMPLETED")
    lines = (up.folder / "out.txt").read_text().splitlines()
    assert lines[-1] == "ended 137"
    assert any("*** STEP 1.0 ON n1 CANCELLED AT " in line for line in lines)


def test_status_for_people_and_programs(up: Up) -> None:
    up.slurmsim("up", "--frozen", "--nodes", "3", "--start", "2026-01-05T08:00:00Z")
    before = json.loads(up.slurmsim("status", "--json"))
    up.run("sbatch -N 1 -a 0-4 --wrap 'sleep 60'; sbatch -N 3 --exclusive --wrap 'sleep 60'; sbatch -H --wrap true")
    up.slurmsim("clock", "step", "10")
    found = json.loads(up.slurmsim("status", "--json"))
    assert found["pid"] == before["pid"] != os.getpid() and os.path.exists(f"/proc/{found['pid']}")
    assert found["clock"] == {"now": 1_767_600_010, "mode": "frozen", "rate": 1.0}
    assert found["queue"] == {"pending": 2, "running": 5, "suspended": 0, "ended": 0}
    assert found["nodes"]["total"] == 3
    journal = Path(found["journal"]["path"])
    assert found["journal"]["entries"] == journal.read_bytes().count(b"\n") - 1 > before["journal"]["entries"]
    assert found["journal"]["bytes"] == len(journal.read_bytes().rstrip(b"\0")) > before["journal"]["bytes"]
    assert 10e6 < found["memory_bytes"] < 1e9
    assert found["uptime_s"] > before["uptime_s"] >= 0
    assert found["version"] == slurmsim.__version__
    shown = dict(line.split(maxsplit=1) for line in up.slurmsim("status").splitlines())
    assert list(shown) == ["cluster", "daemon", "clock", "nodes", "jobs", "journal"]
    assert f"process {found['pid']}, up 0" in shown["daemon"] and "frozen" in shown["clock"]
    assert shown["jobs"] == "2 pending, 5 running; scripts are simulated"
    up.slurmsim("clock", "until-idle")
    assert json.loads(up.slurmsim("status", "--json"))["queue"] == {
        "pending": 1, "running": 0, "suspended": 0, "ended": 6
    }  # fmt: skip
