"""Clusters in this process: what ``slurmsim.cluster`` offers, and that several do not see each other."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

import slurmsim
from slurmsim.errors import ConfigError, OutputError
from slurmsim.live.settings import made_up_conf, seconds_of
from slurmsim.protocol import FOLDER_VARIABLE, USER_VARIABLE

MORNING = "2026-01-05T08:00:00Z"
MORNING_S = 1_767_600_000


def test_a_day_at_a_frozen_cluster() -> None:
    with slurmsim.cluster(nodes=4, frozen=True, start=MORNING) as c:
        subprocess.run(["sbatch", "-J", "first", "--wrap", "sleep 600"], check=True, capture_output=True)
        c.run(["sbatch", "-J", "next", "-d", "afterok:1", "--wrap", "exit 3"], check=True)
        c.run(["sbatch", "-J", "held", "-H", "--wrap", "true"], check=True)
        assert c.step("5m") == MORNING_S + 300 == c.now
        assert [(job.name, job.state) for job in c.jobs()] == [
            ("first", "RUNNING"), ("next", "PENDING"), ("held", "PENDING")
        ]  # fmt: skip
        assert c.until_idle() < MORNING_S + 700  # the held job is not waited for
        first, following, held = c.jobs()
        assert (first["state"], first["nodes"], first["end_time"] - first["start_time"]) == ("COMPLETED", ["n1"], 600)
        assert (following.state, following.exit_code, held.reason) == ("FAILED", "3:0", "JobHeldUser")
        c.step("1d")
        assert c.run(["squeue", "-h", "-t", "all", "-o", "%i"]).stdout == "3\n"  # the others are forgotten
        assert len(c.jobs()) == 3  # but not here
        assert c.job(2).name == "next"
        with pytest.raises(KeyError):
            c.job(17)


def test_until_idle_ends_behind_the_pass_that_says_why_the_rest_waits() -> None:
    """The last job ends in this second, and with it the hope of the one that depends on it."""
    with slurmsim.cluster(nodes=1, frozen=True, start=MORNING) as c:
        c.run(["sbatch", "--wrap", "sleep 10; exit 3"], check=True)
        c.run(["sbatch", "-d", "afterok:1", "--wrap", "true"], check=True)
        assert c.until_idle() == c.job(1).end_time + 1
        assert [job.reason for job in c.jobs()] == ["NonZeroExitCode", "DependencyNeverSatisfied"]
        assert c.until_idle() == c.now == c.job(1).end_time + 1  # nothing more is to come


def test_the_same_commands_give_the_same_twice() -> None:
    def session() -> tuple[str, list[slurmsim.live.cluster.Record]]:
        with slurmsim.cluster(nodes=2, cpus_per_node=2, frozen=True, start=MORNING) as c:
            c.run("sbatch -a 1-9%3 --wrap 'sleep 100'; sbatch -n 4 -t 10 --wrap 'sleep 50'; sbatch -n 1 --wrap true")
            c.step(130)
            c.run(["scancel", "1_7"])
            shown = c.run("squeue -a -t all; sinfo -Nl").stdout
            c.until_idle()
            rows = c.jobs()
            for row in rows:
                row["std_out"] = row["std_err"] = row["work_dir"] = None
            return shown, rows

    assert session() == session()


def test_nodes_fail_and_come_back() -> None:
    with slurmsim.cluster(nodes=2, frozen=True) as c:
        c.run(["sbatch", "-N", "2", "--wrap", "sleep 1000"])
        c.step(10)
        c.fail_node("n1")
        c.drain_node("n2", reason="fan")
        assert {node.name: (node.state, node.state_flags, node.reason) for node in c.nodes()} == {
            "n1": ("DOWN", ["NOT_RESPONDING"], "Not responding"), "n2": ("IDLE", ["DRAIN"], "fan")
        }  # fmt: skip
        assert (c.job(1).state, c.job(1).restarts) == ("PENDING", 1)
        c.resume_node("n[1-2]")
        c.until_idle()
        assert c.job(1).state == "COMPLETED"
        with pytest.raises(ConfigError, match="Invalid node name"):
            c.fail_node("n17")


def test_who_called_what() -> None:
    with slurmsim.cluster(frozen=True, users={"alice": 2001}) as c:
        c.run(["squeue", "-u", "alice"], user="alice")
        assert c.run(["sbatch", "-p", "nowhere", "--wrap", "true"]).returncode == 1
        c.run("squeue -h")
        assert [(call.argv, call.user, call.rc) for call in c.calls("squeue")] == [
            (["squeue", "-u", "alice"], "alice", 0), (["squeue", "-h"], c.calls()[1].user, 0)
        ]  # fmt: skip
        assert [(call.argv[0], call.rc) for call in c.calls()][1] == ("sbatch", 1)
        assert all(0 <= call.seconds < 60 for call in c.calls())


def test_scripts_really_run_and_none_outlives_its_cluster(tmp_path: Path) -> None:
    with slurmsim.cluster(rate=100) as c:
        c.run(["sbatch", "-o", "out", "--wrap", "echo $SLURM_JOB_ID on $SLURMD_NODENAME; exit 4"], cwd=tmp_path)
        c.freeze()
        c.until_idle()
        c.step(10)
        c.until_idle()
        assert (c.job(1).state, c.job(1).exit_code) == ("FAILED", "4:0")
        assert (tmp_path / "out").read_text() == "1 on n1\n"
        c.run(["sbatch", "-o", "pid", "--wrap", "echo $$; exec sleep 1000"], cwd=tmp_path)
        c.step(10)
        last = time.monotonic() + 60
        while not (tmp_path / "pid").is_file() or not (tmp_path / "pid").read_text():
            assert time.monotonic() < last
            time.sleep(0.05)
    pid = int((tmp_path / "pid").read_text())
    while os.path.exists(f"/proc/{pid}") and "sleep" in Path(f"/proc/{pid}/cmdline").read_text():
        assert time.monotonic() < last
        time.sleep(0.05)


def test_the_environment_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(USER_VARIABLE, "somebody")
    before = dict(os.environ)
    with slurmsim.cluster(frozen=True) as c:
        assert shutil.which("squeue") == str(c.folder / "bin" / "squeue")
        assert os.environ[FOLDER_VARIABLE] == str(c.folder)
        assert USER_VARIABLE not in os.environ
        assert c.run(["squeue"], env={FOLDER_VARIABLE: "/nowhere", "PATH": ""}).returncode == 0
        bare = {name: value for name, value in os.environ.items() if name != FOLDER_VARIABLE}
        assert subprocess.run([c.folder / "bin" / "squeue"], env=bare, check=False, capture_output=True).returncode == 0
        # what the release does not have does not lead to a real Slurm's
        assert c.run(["scrontab", "-l"]).stderr == (
            "scrontab: fatal: there is none in release 22.05: --slurm-version 24.11 or later has it\n"
        )
    assert dict(os.environ) == before
    assert not c.folder.exists()


def test_clusters_do_not_see_each_other() -> None:
    def one(n: int) -> list[str]:
        c = slurmsim.live.cluster.cluster(nodes=n, frozen=True)
        with c:
            for k in range(n):
                c.run(["sbatch", "-J", f"c{n}-{k}", "--wrap", "sleep 60"], check=True)
            assert len(c.nodes()) == n
            c.until_idle()
            return [f"{job.job_id} {job.name} {job.state}" for job in c.jobs()]

    before = dict(os.environ)
    expected = {n: [f"{k + 1} c{n}-{k} COMPLETED" for k in range(n)] for n in (1, 2, 3, 4)}
    with ThreadPoolExecutor(4) as pool:
        # PATH is this process's: what runs at the same time here uses each cluster's own environment
        assert dict(zip(expected, pool.map(one, expected), strict=True)) == expected
    assert dict(os.environ) == before
    with slurmsim.cluster(frozen=True) as outer, slurmsim.cluster(frozen=True) as inner:
        subprocess.run(["sbatch", "--wrap", "true"], check=True, capture_output=True)
        assert (len(outer.jobs()), len(inner.jobs())) == (0, 1)


def test_clusters_are_left_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was entered first and left first does not come back with the one that is left last."""
    monkeypatch.setenv(USER_VARIABLE, "ann")
    before = dict(os.environ)
    first, second = slurmsim.cluster(frozen=True), slurmsim.cluster(frozen=True)
    with ExitStack() as later:
        with first:
            later.enter_context(second)
            assert os.environ[FOLDER_VARIABLE] == str(second.folder)
        assert os.environ[FOLDER_VARIABLE] == str(second.folder) and USER_VARIABLE not in os.environ
        assert str(first.folder) not in os.environ["PATH"]
    assert dict(os.environ) == before


def test_a_controller_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURMSIM_MESSAGE_TIMEOUT", "1")
    with slurmsim.cluster(frozen=True, start=MORNING) as c:
        c.run(["sbatch", "--wrap", "sleep 60"], check=True)
        c.step(10)
        c.stop()
        away = "Unable to contact slurm controller (connect failure)"
        assert c.run(["squeue"]).stderr == f"slurm_load_jobs error: {away}\n"
        refused = c.run(["sbatch", "--wrap", "true"])
        assert (refused.returncode, refused.stdout) == (1, "")
        assert refused.stderr == f"sbatch: error: Batch job submission failed: {away}\n"
        with pytest.raises(OutputError, match="no daemon answers"):
            c.jobs()
        monkeypatch.setenv("SLURMSIM_MESSAGE_TIMEOUT", "30")
        waiting = subprocess.Popen(["sbatch", "--parsable", "--wrap", "true"], stdout=subprocess.PIPE, text=True)
        time.sleep(0.5)
        c.start()
        assert waiting.communicate(timeout=60)[0] == "2\n"  # it tried again every second
        assert c.now == MORNING_S + 10
        assert c.job(1).state == "RUNNING"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"nodes": 0}, "--nodes"), ({"gpus_per_node": -1}, "--gpus-per-node"), ({"rate": 0}, "--rate"),
        ({"jobs": "perhaps"}, "--jobs"), ({"frozen": True, "fast": True}, "exclude each other"),
        ({"start": "tomorrow"}, "--start"), ({"slurm_version": "20.02"}, "--release"),
        ({"conf": "/nowhere/slurm.conf"}, "no such file"), ({"users": {"bob": "x"}}, "--user"),
    ],
)  # fmt: skip
def test_wrong_arguments(arguments: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint), slurmsim.cluster(**arguments):  # type: ignore[arg-type]
        pass


def test_a_wrong_conf_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("ClusterName=c\nSlurmctldHost=h\nNodeName=n1 CPUs=many\n")
    with pytest.raises(ConfigError, match=r"slurm.conf:3"), slurmsim.cluster(conf=tmp_path / "slurm.conf"):
        pass


def test_a_conf_with_its_parts(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "nodes.conf").write_text("NodeName=a[1-3] CPUs=2\n")
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=mine\nSlurmctldHost=h\nInclude parts/nodes.conf\nPartitionName=p Nodes=ALL Default=YES\n"
    )
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", frozen=True) as c:
        shutil.rmtree(tmp_path / "parts")
        c.stop()
        c.start()
        assert [node.name for node in c.nodes()] == ["a1", "a2", "a3"]


def test_gpus() -> None:
    with slurmsim.cluster(nodes=2, gpus_per_node=4, frozen=True) as c:
        c.run("for k in 1 2 3; do sbatch --gres=gpu:3 --wrap 'sleep 100'; done")
        c.step(10)
        assert [job.state for job in c.jobs()] == ["RUNNING", "RUNNING", "PENDING"]
        assert c.run(["sinfo", "-h", "-p", "batch", "-o", "%G"]).stdout == "gpu:4\n"


@pytest.mark.parametrize("text", ["", "h", "1x", "-5", "1h-", "1 h"])
def test_no_step(text: str) -> None:
    with pytest.raises(ConfigError):
        seconds_of(text)


def test_made_up_conf_of_one_node() -> None:
    from slurmsim.live.settings import Settings

    assert "NodeName=n1 " in made_up_conf(Settings(nodes=1))
    assert "NodeName=n[01-12] " in made_up_conf(Settings(nodes=12))
