"""Faults in a live cluster: what commands, jobs and nodes go through, that it is counted, and that it lasts."""

from __future__ import annotations

import json
import shutil
import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from other_release import OTHER, written_by

import slurmsim
from slurmsim.cli import main
from slurmsim.commands.faulty import FaultyClient
from slurmsim.commands.io import Io
from slurmsim.commands.submit import sbatch
from slurmsim.errors import ConfigError
from slurmsim.live.cluster import Cluster

MORNING = "2026-01-05T08:00:00Z"
MORNING_S = 1_767_600_000
AWAY = "Unable to contact slurm controller (connect failure)"
SLOW = "Socket timed out on send/recv operation"
NO_DATABASE = {
    "unreachable": (
        "slurm_persist_conn_open_without_init: failed to open persistent connection to host:localhost:6819: "
        "Connection refused",
        "Connection refused",
    ),
    "timeout": ("slurm_persist_conn_open: No response to persist_init", "Resource temporarily unavailable"),
}
SAID = {
    "squeue": (1, "slurm_load_jobs error: {}\n\n"),
    "sinfo": (1, "slurm_load_partitions: {}\n\n"),
    "sbatch --wrap=true": (1, "sbatch: error: Batch job submission failed: {}\n"),
    "scancel -u root": (1, "slurm_load_jobs error: {}\n\n"),
    "scontrol show job 1": (1, "slurm_load_jobs error: {}\n"),
    "scontrol show nodes": (1, "slurm_load_node error: {}\n"),
    "scontrol hold 1": (1, "Unexpected message received for job 1\nslurm_suspend error: Unexpected message received\n"),
    "sprio": (255, "Couldn't get priority factors from controller: {}\n"),
    "sshare": (255, "Couldn't get shares from controller: {}\n"),
    "sdiag": (255, "slurm_get_statistics: {}\n"),
    "srun true": (1, "srun: error: Unable to allocate resources: {}\n"),
    "salloc true": (1, "salloc: error: Job submit/allocate failed: {}\n"),
    "scancel 1": (-1, "scancel: error: Kill job error on job id 1: {}\n"),
    "sacct": (1, "sacct: error: {1}\nsacct: error: Sending PersistInit msg: {2}\n"
                 "sacct: error: Problem talking to the database: {2}\n"),
    "sacctmgr -n show qos": (1, "sacctmgr: error: {1}\nsacctmgr: error: Sending PersistInit msg: {2}\n"),
    "sreport cluster utilization": (1, "sreport: error: {1}\nsreport: error: Sending PersistInit msg: {2}\n"
                                       "sreport: fatal: Problem connecting to the database: {2}\n"),
}  # fmt: skip
"""What commands of 22.05.8 say while slurmctld or slurmdbd is stopped or killed (recorded), and their exit codes."""
OF_SCANCEL = {"unreachable": 8, "timeout": 140}


def frozen(**more: Any) -> Cluster:
    return slurmsim.cluster(**{"nodes": 2, "frozen": True, "start": MORNING, **more})


def submit(c: Cluster, name: str, seconds: int = 100, *words: str) -> int:
    command = ["sbatch", "--parsable", "-J", name, *words, "--wrap", f"sleep {seconds}"]
    return int(c.run(command, check=True).stdout)


# -- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("what", "text"), [("unreachable", AWAY), ("timeout", SLOW)])
def test_commands_say_what_slurms_say(what: str, text: str) -> None:
    with frozen() as c, c.inject(what) as fault:
        for command, (code, said) in SAID.items():
            done = c.run(command)
            assert (done.stdout, done.stderr.strip()) == ("", said.format(text, *NO_DATABASE[what]).strip()), command
            assert done.returncode == (code if code >= 0 else OF_SCANCEL[what]), command
        ping = c.run("scontrol ping")
        assert (ping.returncode, ping.stdout) == (1, "Slurmctld(primary) at localhost is DOWN\n")
        assert fault.met == len(SAID) + 1
        assert c.jobs() == []


def test_the_database_is_there_while_slurmctld_is_away() -> None:
    with frozen() as c:
        submit(c, "a")
        with c.inject("away", for_=60):
            assert AWAY in c.run("squeue").stderr
            assert c.run("sacct -n -X -o jobname").stdout.split() == ["a"]
            c.step(61)
            assert c.run("squeue -h -o %j").stdout == "a\n"


def test_an_answer_that_is_lost() -> None:
    with frozen() as c, c.inject("timeout", lost="answer", times=2) as fault:
        for command in ("sbatch -J a --wrap true", "scancel 1"):
            assert SLOW in c.run(command).stderr
        assert [(job.name, job.state) for job in c.jobs()] == [("a", "CANCELLED")]
        assert fault.met == 2 and c.run("squeue").returncode == 0


def test_a_full_disk_of_one_user() -> None:
    with frozen() as c, c.inject("disk-full", user="alice"):
        full = c.run("sbatch --wrap true", user="alice")
        assert full.stderr.endswith("Batch job submission failed: I/O error writing script/environment to file\n")
        assert c.run("sbatch --wrap true", user="bob").stdout == "Submitted batch job 1\n"


def test_tries_of_a_submission_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As while slurmctld says so: sbatch waits and tries again."""
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    with frozen() as c, c.inject("busy", tries=3):
        err, told = StringIO(), list[str]()
        world = Io(FaultyClient(c.client, "sbatch", told), stdout=StringIO(), stderr=err, cwd="/")
        world.client.meet()
        assert sbatch.run(["--wrap", "true"], world) == 0
        assert (slept, told) == ([1, 2, 3], ["busy #1"])
        assert err.getvalue() == "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n"


def test_squeue_and_sacct_are_behind() -> None:
    with frozen() as c:
        with c.inject("late", seconds=60):
            submit(c, "a", 90)
            look = "squeue -h -o %T; sacct -n -X -P -o state,elapsed,nodelist"
            assert c.run(look).stdout == ""
            assert c.run("squeue -j 1").stderr == "slurm_load_jobs error: Invalid job id specified\n"
            c.step(60)
            assert c.run(look).stdout == "RUNNING\nPENDING|00:00:00|None assigned\n"
            c.step(10)
            assert c.run(look).stdout == "RUNNING\nRUNNING|00:01:07|n1\n"
            c.step(30)  # over, and accounting has not heard of it
            assert c.run(f"squeue -h -t all -o %T; {look}").stdout == "COMPLETED\nRUNNING|00:01:37|n1\n"
            assert c.run("sacct -n -X -s completed").stdout == ""
            assert c.run("sacct -n -P -o jobid,state -j 1").stdout == "1|RUNNING\n1.batch|RUNNING\n"
            c.step(60)
            assert c.run(look).stdout == "COMPLETED|00:01:30|n1\n"
        assert c.run("sacct -n -X -P -o state").stdout == "COMPLETED\n"


def test_outputs_are_hurt() -> None:
    with frozen() as c:
        submit(c, "a")
        submit(c, "b")
        whole = c.run("squeue -o '%i %j'").stdout
        with c.inject("cut", keep=0.5):
            assert c.run("squeue -o '%i %j'").stdout == whole[: len(whole) // 2]
        with c.inject("malformed", text="???"):
            assert c.run("squeue -o '%i %j'").stdout.splitlines() == ["JOBID NAME", "???", "1 a", "2 b"]
        with c.inject("warning", text="be quick"):
            assert c.run("squeue -o '%i %j'").stdout == f"be quick\n{whole}"
        with c.inject("warning", text="be quick", stream="stderr"):
            done = c.run("squeue -o '%i %j'")
            assert (done.stdout, done.stderr) == (whole, "be quick\n")


def test_a_clock_that_jumps_shows_other_times_and_the_same_order() -> None:
    with frozen() as c:
        look = "squeue -h -t all -S i -o '%j %V %S'; sacct -n -X -P -o jobname,submit,start,end"
        submit(c, "a", 30)
        c.step(100)
        before = c.run(look, env={"TZ": "UTC"}).stdout
        with c.inject("clock-jump", seconds=-3600):
            assert c.run(look, env={"TZ": "UTC"}).stdout == before  # it jumped after all that
            submit(c, "b", 30)
            c.step(100)
            shown = c.run(look, env={"TZ": "UTC"}).stdout.splitlines()
            assert "b 2026-01-05T07:01:40 2026-01-05T07:01:41" in shown
            assert "b|2026-01-05T07:01:40|2026-01-05T07:01:41|2026-01-05T07:02:11" in shown
        assert c.job(2).start_time > c.job(1).end_time == MORNING_S + 33
        assert "b 2026-01-05T08:01:40" in c.run(look, env={"TZ": "UTC"}).stdout


def test_answers_are_scripted_and_calls_tell_of_it() -> None:
    with frozen() as c:
        with c.answer("sacct", stdout="1|DONE\n", rc=3, times=2):
            for _ in range(2):
                done = c.run("sacct -j 1")
                assert (done.stdout, done.returncode) == ("1|DONE\n", 3)
            assert c.run("sacct -n").stdout == ""
        assert [call.get("faults") for call in c.calls("sacct")] == [["answer #1"], ["answer #1"], None]


def test_commands_about_jobs_of_some_names() -> None:
    with frozen() as c, c.inject("timeout", job="x*") as fault:
        submit(c, "a")
        assert SLOW in c.run("sbatch -J x1 --wrap true").stderr
        assert c.run("scontrol hold 1").returncode == 0
        submit(c, "b")
        assert c.run("squeue -h").returncode == 0  # it asks for no job
        assert (fault.met, fault.rule["seen"]) == (1, 1)
        with c.inject("timeout", job="b"):
            assert SLOW in c.run("scancel 1 2").stderr
        assert [job.state for job in c.jobs()] == ["CANCELLED", "PENDING"]


def test_a_slow_command_takes_its_seconds() -> None:
    with frozen() as c, c.inject("slow", seconds="uniform:0.05:0.1"):
        c.run("squeue")
        assert c.calls("squeue")[0].seconds >= 0.05


def test_no_rule_no_file() -> None:
    """Commands look for it before they ask: what is not at fault costs them nothing more."""
    with frozen() as c:
        assert not (c.folder / "faults").exists()
        with c.inject("timeout", command="sinfo"):
            assert (c.folder / "faults").exists()
            c.stop()
            (c.folder / "faults").unlink()
            c.start()
            assert (c.folder / "faults").exists()
        assert not (c.folder / "faults").exists()
        with c.inject("TIMEOUT"):
            assert not (c.folder / "faults").exists()  # it is no matter of commands


# -- jobs and nodes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "state", "code", "reason"),
    [
        ("OUT_OF_MEMORY", "OUT_OF_MEMORY", "0:125", "OutOfMemory"),
        ("TIMEOUT", "TIMEOUT", "0:15", "TimeLimit"),
        ("PREEMPTED", "PREEMPTED", "0:15", "None"),
        ("BOOT_FAIL", "BOOT_FAIL", "0:15", "None"),
        ("DEADLINE", "DEADLINE", "0:15", "DeadLine"),
        ("NODE_FAIL", "NODE_FAIL", "0:15", "NodeDown"),
    ],
)
def test_jobs_end_as_they_are_told(what: str, state: str, code: str, reason: str) -> None:
    with frozen() as c, c.inject(what, job="a", seconds=20, user="alice") as fault:
        for name, user in (("a", "alice"), ("b", "alice"), ("a", "bob")):
            c.run(["sbatch", "--no-requeue", "--exclusive", "-J", name, "--wrap", "sleep 100"], user=user, check=True)
        c.until_idle()
        first, other, bobs = c.jobs()
        assert (first.state, first.exit_code, first.reason) == (state, code, reason)
        assert first.end_time - (first.submit_time if what == "DEADLINE" else first.start_time) == 20
        assert (other.state, bobs.state, fault.met) == ("COMPLETED", "COMPLETED", 1)
        assert c.run("sacct -n -X -P -j 1 -o state").stdout.strip() == state
        c.step(120)
        assert {node.state for node in c.nodes()} == {"IDLE"}


def test_jobs_that_run_are_struck_as_well() -> None:
    """`met 0 of 0`: a fault of jobs passed over all that ran when it was injected."""
    with frozen() as c:
        for name in ("a", "b", "a"):
            submit(c, name)
        c.step(10)
        with c.inject("OUT_OF_MEMORY", job="a", seconds=20, times=1) as fault, c.inject("BOOT_FAIL", job="b") as late:
            assert (fault.met, late.met) == (1, 0)  # what runs has booted
            struck = c.now
            c.until_idle()
        assert [job.state for job in c.jobs()] == ["OUT_OF_MEMORY", "COMPLETED", "COMPLETED"]
        assert c.job(1).end_time == struck + 20


def test_jobs_wait_again() -> None:
    with frozen() as c:
        with c.inject("PREEMPTED", requeue="yes", times=1), c.inject("LAUNCH_FAILED", job="b"):
            submit(c, "a")
            c.step(10)
            submit(c, "b")
            c.step(10)
            shown = c.run("squeue -h -S i -o '%j|%T|%r|%Q'").stdout.splitlines()
        assert shown[0].startswith("a|PENDING|BeginTime|")
        assert shown[1] == "b|PENDING|launch failed requeued held|0"
        c.step(200)
        assert c.job(1).state == "COMPLETED" or c.job(1).restarts == 1
        c.run("scontrol release 2", check=True)
        c.until_idle()
        assert [(job.state, job.restarts) for job in c.jobs()] == [("COMPLETED", 1), ("COMPLETED", 1)]


def test_a_deadline_is_missed_by_who_waits() -> None:
    with frozen(nodes=1) as c, c.inject("DEADLINE", job="b", seconds=50):
        submit(c, "a", 100, "--exclusive")
        submit(c, "b", 100, "--exclusive")
        c.until_idle()
        assert [(job.state, job.start_time) for job in c.jobs()][1] == ("DEADLINE", 0) or c.job(2).nodes == []


@pytest.mark.parametrize("seconds", range(18, 26))
def test_a_deadline_in_the_instant_in_which_a_job_starts_and_ends(seconds: int) -> None:
    with frozen(nodes=1) as c, c.inject("DEADLINE", job="b", seconds=seconds):
        submit(c, "a", 20, "--exclusive")
        submit(c, "b", 0, "--exclusive")
        c.until_idle()
        assert [job.state for job in c.jobs()][1] in ("DEADLINE", "COMPLETED")


def test_a_job_that_really_runs_is_killed(tmp_path: Path) -> None:
    """Its script is told to go as by a time limit."""
    with slurmsim.cluster(nodes=1, folder=tmp_path / "c") as c, c.inject("OUT_OF_MEMORY", seconds=1):
        c.run(["sbatch", "-o", str(tmp_path / "out"), "--wrap", "sleep 30"], check=True)
        c.until_idle()
        assert c.job(1).state == "OUT_OF_MEMORY"


def test_nodes_flap_until_they_may_stop() -> None:
    with frozen() as c:
        with c.inject("flap", nodes="n1", up=100, down=50) as fault:
            states = []
            for _ in range(6):
                c.step(50)
                states.append(c.nodes()[0].state)
            assert states == ["IDLE", "DOWN", "IDLE", "IDLE", "DOWN", "IDLE"]
            c.step(100)
            assert (c.nodes()[0].state, c.nodes()[0].reason, fault.met) == ("DOWN", "Not responding", 3)
        assert [(node.state, node.reason) for node in c.nodes()] == [("IDLE", None)] * 2
        c.step(1000)
        assert c.nodes()[0].state == "IDLE"


def test_nodes_drain_for_a_while() -> None:
    with frozen() as c:
        c.inject("drain", nodes="n[1-2]", reason="fan", for_="10m")
        assert [(node.state_flags, node.reason) for node in c.nodes()] == [(["DRAIN"], "fan")] * 2
        submit(c, "a", 1)
        c.step(599)
        assert c.job(1).state == "PENDING"
        c.step(60)
        assert c.job(1).state == "COMPLETED" and c.nodes()[0].reason is None


def test_a_boot_takes_longer(tmp_path: Path) -> None:
    def seconds() -> int:
        c.run("scontrol reboot n1", check=True)
        begun = c.now
        c.step(10)
        while "REBOOT_ISSUED" in c.nodes()[0].state_flags:
            assert c.step(10) < begun + 1000
        return c.now - begun

    (tmp_path / "slurm.conf").write_text(
        "ClusterName=c\nSlurmctldHost=h\nRebootProgram=/bin/true\nNodeName=n1 CPUs=1\nPartitionName=p Nodes=n1\n"
    )
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", frozen=True) as c:
        usual = seconds()
        with c.inject("slow-boot", nodes="n1", seconds=300):
            assert seconds() == usual + 300


# -- what lasts -------------------------------------------------------------------------------------------------------


def rules(c: Cluster) -> list[dict[str, Any]]:
    return [dict(one) for one in c.faults()]


def met(c: Cluster, n: int) -> list[int]:
    return [c.run("sinfo").returncode for _ in range(n)]


def test_a_killed_daemon_counts_on(tmp_path: Path) -> None:
    """What the journal holds at any moment is the rules with their counts."""
    with frozen(folder=tmp_path / "c") as c:
        c.inject("unreachable", command="sinfo", probability=0.5, seed=7)
        c.inject("OUT_OF_MEMORY", every=2, seconds=50)
        c.inject("flap", nodes="n2", up=60, down=10)
        met(c, 5)
        for name in "abc":
            submit(c, name)
        c.step(30)
        shutil.copytree(tmp_path / "c", tmp_path / "killed", ignore=shutil.ignore_patterns("*.sock", "lock"))
        before, following = rules(c), met(c, 8)
        c.until_idle("5m")
        ended = [(job.name, job.state, job.end_time, job.restarts) for job in c.jobs()]
    assert len(set(following)) == 2
    with slurmsim.cluster(folder=tmp_path / "killed") as c:
        assert rules(c) == before
        assert met(c, 8) == following
        c.until_idle("5m")
        assert [(job.name, job.state, job.end_time, job.restarts) for job in c.jobs()] == ended


@pytest.mark.parametrize(
    ("what", "given"),
    [
        ("OUT_OF_MEMORY", {"seconds": 20}),
        ("NODE_FAIL", {"down": 10}),
        ("PREEMPTED", {"requeue": "yes"}),
        ("LAUNCH_FAILED", {}),
        ("flap", {"nodes": "n1", "up": 20, "down": 5}),
    ],
)
def test_another_release_follows_what_they_brought_about(what: str, given: dict[str, Any], tmp_path: Path) -> None:
    def story() -> list[tuple[Any, ...]]:
        return [(job.state, job.reason, job.start_time, job.end_time, job.restarts) for job in c.jobs()]

    with frozen(nodes=1, folder=tmp_path / "c") as c:
        c.inject(what, **given)
        submit(c, "a", 60)
        c.step(30)
        shutil.copytree(tmp_path / "c", tmp_path / "old", ignore=shutil.ignore_patterns("*.sock", "lock"))
        before = story()
        c.step(300)
        after = story()
    written_by(OTHER, tmp_path / "old" / "journal")
    with slurmsim.cluster(folder=tmp_path / "old") as c:
        assert story() == before
        c.step(300)
        assert story() == after


def test_a_snapshot_has_them(tmp_path: Path) -> None:
    with frozen(folder=tmp_path / "c") as c:
        c.inject("OUT_OF_MEMORY", job="a", seconds=90)
        submit(c, "a")
        c.inject("drain", nodes="n2")
        for _ in range(60):
            c.step(1)
        before = rules(c)
        c.stop()
        assert list((tmp_path / "c").glob("snapshot-*"))
        c.start()
        assert rules(c) == before
        assert c.job(1).state == "RUNNING"
        c.until_idle()
        assert (c.job(1).state, c.job(1).end_time - c.job(1).start_time) == ("OUT_OF_MEMORY", 90)
        assert c.inject("cut").id == 3
        for fault in c.faults():
            c.client.call("end_fault", id=fault.id)
        assert c.nodes()[1].state_flags == []


# -- doors ------------------------------------------------------------------------------------------------------------


def test_only_the_owner_injects() -> None:
    with frozen() as c:
        c.client.user = "alice"
        with pytest.raises(ConfigError, match="Access/permission denied"):
            c.inject("cut")
        c.client.user = None
        with pytest.raises(ConfigError, match="no such nodes: 'n7'"):
            c.inject("drain", nodes="n7")
        assert c.faults() == []


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["inject", *words]) == 0
    return capsys.readouterr().out


def test_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    with frozen():
        line = "  1 timeout command=sbatch every=3 lost=answer seconds=1:2 (met 0 of 0"
        words = ("timeout", "command=sbatch", "every=3", "lost=answer", "seconds=uniform:1:2", "for=10m")
        assert said(capsys, *words).startswith(line.replace("1:2", "uniform:1:2") + ", until 20")
        assert said(capsys, "flap", "nodes=n1", "up=2h") == "  2 flap nodes=n1 up=7200 down=60 (met 0 of 0)\n"
        assert len(said(capsys, "--list").splitlines()) == 2
        assert json.loads(said(capsys, "--list", "--json").splitlines()[1])["parameters"]["up"] == 7200
        assert main(["status"]) == 0 and "faults   2 injected, which met 0\n" in capsys.readouterr().out
        assert said(capsys, "--remove", "2").startswith("  2 flap")
        assert said(capsys, "--remove", "all").startswith("  1 timeout")
        assert said(capsys, "--list") == "no faults\n"
        assert "seconds" in said(capsys, "slow", "--help-settings")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "inject: one of them is needed (expected WHAT, --list or --remove ID)"),
        (["cut", "--list"], "inject: one of them is needed (expected WHAT, --list or --remove ID)"),
        (["cut", "often"], "inject: bad setting 'often' (expected NAME=VALUE)"),
        (["cut", "every=2", "every=3"], "every: given twice (expected it once)"),
        (["cut", "probability=1.2"], "probability: bad value '1.2' (expected a number from 0 to 1)"),
        (["flap", "nodes=n1", "up=1x"], "step: bad step '1x' (expected seconds, or 10m, 2h, 1d12h)"),
        (["--remove", "x"], "--remove: bad fault 'x' (expected a number, or all)"),
        (["--remove", "4"], "no such fault: 4"),
        (["drain", "nodes=n[1-"], "nodes: no such nodes: 'n[1-' (expected a list of nodes there are)"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with frozen():
        assert main(["inject", *words]) == 2
        assert capsys.readouterr().err == f"slurmsim: error: {text}\n"
