"""Copies of a cluster: in a file, beside it, and for one command. Parent and copy go on alike, and apart."""

from __future__ import annotations

import json
import subprocess
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import slurmsim
from slurmsim.cli import main
from slurmsim.errors import ConfigError, OutputError, WorkloadError
from slurmsim.live.cluster import Cluster
from slurmsim.protocol import Refusal
from slurmsim.slurmctld.history.copies import make

MORNING = "2026-01-05T08:00:00Z"


@pytest.fixture(name="command")
def _command(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """``slurmsim WORDS``: exit code and what it printed."""

    def run(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        return main(words), *capfd.readouterr()

    return run


# -- the same actions, the same decisions ----------------------------------------------------------------------------

job_ids = st.integers(1, 8)
submissions = st.builds(
    lambda nodes, minutes, seconds, array, after: {"job": {
        "script": f"#!/bin/sh\nsleep {seconds}\n", "min_nodes": nodes, "max_nodes": nodes, "time_limit": minutes,
        "work_dir": "/tmp", "name": "one", **({"array_inx": "0-3%2"} if array else {}),
        **({"dependency": f"afterany:{after}"} if after else {}),
    }},
    st.integers(1, 3), st.integers(1, 20), st.integers(0, 1500), st.booleans(), st.sampled_from([0, 0, 0, 1, 2]),
)  # fmt: skip
actions = st.one_of(
    st.tuples(st.just("submit"), submissions),
    st.tuples(st.just("submit"), submissions),
    st.tuples(st.just("kill"), st.builds(lambda n: {"job_id": n}, job_ids)),
    st.tuples(st.just("hold_job"), st.builds(lambda n, k: {"job_id": n, "kind": k}, job_ids,
                                             st.sampled_from(["hold", "release"]))),
    st.tuples(st.just("node_action"), st.builds(lambda n, a: {"nodes": f"n{n}", "action": a, "reason": "x"},
                                                st.integers(1, 3), st.sampled_from(["fail", "drain", "resume"]))),
    st.tuples(st.just("clock"), st.builds(lambda s: {"action": "step", "seconds": s}, st.integers(1, 900))),
    st.tuples(st.just("clock"), st.builds(lambda s: {"action": "step", "seconds": s}, st.integers(1, 900))),
)  # fmt: skip


def act(c: Cluster, action: tuple[str, dict[str, Any]]) -> Any:
    try:
        return c.client.call(action[0], **action[1])
    except Refusal as refusal:
        return refusal.text


def shown(c: Cluster) -> list[Any]:
    return [c.now, c.jobs(), c.nodes()]


@settings(max_examples=100 if settings().max_examples > 100 else 12, suppress_health_check=list(HealthCheck))
@given(st.lists(actions, min_size=1, max_size=8), st.lists(actions, min_size=1, max_size=8))
def test_parent_and_fork_decide_alike(before: list[Any], after: list[Any]) -> None:
    with slurmsim.cluster(nodes=3, cpus_per_node=2, frozen=True, start=MORNING) as parent:
        for action in before:
            act(parent, action)
        with parent.fork() as fork, fork.fork() as second:
            assert shown(fork) == shown(parent)
            alone = [(act(fork, action), shown(fork)) for action in after]
            untouched = shown(second)
            assert [(act(parent, action), shown(parent)) for action in after] == alone
            assert shown(second) == untouched
            assert any(shown(fork) == state for _, state in alone)


# -- what a copy has --------------------------------------------------------------------------------------------------


def test_whoever_forks_keeps_the_parents_commands() -> None:
    with slurmsim.cluster(nodes=2, frozen=True, start=MORNING) as c:
        subprocess.run(["sbatch", "-N2", "-t10", "--wrap", "sleep 300"], check=True, capture_output=True)
        c.step(10)
        with c.fork() as fork:  # what if I submitted this?
            asked = subprocess.run(["sbatch", "-N1", "-t1", "--wrap", "sleep 5"], capture_output=True, text=True)
            assert asked.stdout == "Submitted batch job 2\n"
            fork.until_idle()
            assert (fork.job(2).state, fork.job(2).start_time - fork.job(1).start_time < 30) == ("COMPLETED", True)
        assert subprocess.run(["squeue", "-h", "-o%i"], capture_output=True, text=True).stdout == "1\n"
        assert c.run(["sbatch", "-H", "--wrap", "true"]).stdout == "Submitted batch job 2\n"


def test_a_file_keeps_ended_jobs_configuration_faults_and_clock(tmp_path: Path) -> None:
    path = tmp_path / "cluster"
    with slurmsim.cluster(nodes=2, gpus_per_node=2, rate=1000, start=MORNING, users={"ann": 4711}) as c:
        c.freeze()
        c.run(["sbatch", "-n3", "--gres=gpu:1", "--wrap", "#SLURMSIM runtime=20 exit=3"], user="ann", check=True)
        c.step("1d")
        c.inject("timeout", command="sinfo")
        first = c.run("sacct -a -S 2026-01-01 -P -o all").stdout
        assert first.count("\n") > 1
        c.rate(7)
        assert c.snapshot(path) == c.now
        assert path.stat().st_mode & 0o777 == 0o600
    with slurmsim.restore(path) as again:
        assert again._call("clock", action="show")["mode"] == "running"
        assert again._call("clock", action="show")["rate"] == 7
        again.freeze()
        assert again.run("sacct -a -S 2026-01-01 -P -o all").stdout == first
        assert again.run("sinfo -N", env={"SLURMSIM_MESSAGE_TIMEOUT": "1"}).returncode == 1
        assert again.run("sbatch --gres=gpu:2 --wrap 'sleep 1'", user="ann").stdout == "Submitted batch job 2\n"
        again.stop()
        again.start()
        assert [job.user for job in again.jobs()] == ["ann", "ann"]
    with slurmsim.restore(path, frozen=True, folder=tmp_path / "stays") as third:
        assert third._call("clock", action="show")["mode"] == "frozen"
        assert len(third.jobs()) == 1
    with pytest.raises(ConfigError, match="there is a cluster"):
        make(path, tmp_path / "stays")


def test_what_really_runs_is_simulated_in_the_copy(tmp_path: Path) -> None:
    said = tmp_path / "said"
    with slurmsim.cluster(nodes=3, cpus_per_node=1, jobs="run") as c:
        script = f"echo once >>{said}; sleep 40 & wait"
        c.run(["sbatch", "-N1", "-t5", "-o", "/dev/null", "--wrap", script], check=True)
        c.run(["sbatch", "-N1", "-t5", "-o", "/dev/null", "--wrap", "sleep 100"], check=True)
        c.run(["sbatch", "-N3", "-t5", "--array=2-3", "--wrap", "sleep 7"], check=True)
        while [job.state for job in c.jobs()[:2]] != ["RUNNING"] * 2 or not said.exists():
            time.sleep(0.02)
        with c.fork() as fork:
            assert fork.run("sbatch -J new --wrap ./program").returncode == 0
            fork.until_idle()
            jobs = fork.jobs()
            ran = sorted((job.name, job.end_time - job.start_time) for job in jobs)
            assert ran == [("new", 60), ("wrap", 7), ("wrap", 7), ("wrap", 100), ("wrap", 300)]
            assert {job.state for job in jobs} == {"COMPLETED"}
        assert [job.state for job in c.jobs()] == ["RUNNING"] * 2 + ["PENDING"] * 2
        c.snapshot(tmp_path / "file")
    assert said.read_text() == "once\n"
    assert make(tmp_path / "file", tmp_path / "again").n_real == 2


def test_allocations_of_clients_that_are_elsewhere_wait_on(tmp_path: Path) -> None:
    with slurmsim.cluster(nodes=1, cpus_per_node=1, frozen=True, start=MORNING) as c:
        asked = subprocess.Popen(["salloc", "-t2", "cat"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        while not c.jobs():
            time.sleep(0.02)
        c.step(5)
        waiting = subprocess.Popen(["salloc", "-t2", "true"], stderr=subprocess.DEVNULL)
        while len(c.jobs()) < 2:
            time.sleep(0.02)
        with c.fork() as fork:
            fork.step(600)
            assert [job.state for job in fork.jobs()] == ["TIMEOUT"] * 2
        asked.communicate()
        c.step(30)
        waiting.wait()


# -- files that cannot be used ----------------------------------------------------------------------------------------


def rewritten(path: Path, line: int, change: Any) -> None:
    """The file with one line changed, under right checksums."""
    rows = [json.loads(text[9:]) for text in path.read_bytes().splitlines()]
    change(rows[line])
    crc, lines = 0, []
    for row in rows:
        text = json.dumps(row, separators=(",", ":")).encode()
        crc = zlib.crc32(text, crc)
        lines.append(b"%08x %s\n" % (crc, text))
    path.write_bytes(b"".join(lines))


def test_files_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "cluster"
    with slurmsim.cluster(nodes=1, frozen=True, start=MORNING) as c:
        c.run("sbatch --wrap true", check=True)
        c.snapshot(path)
        whole = path.read_bytes()
        with pytest.raises(ConfigError, match="cannot write the snapshot"):
            c.snapshot(tmp_path / "nowhere" / "file")
    for content, kind, words in (
        (whole[: len(whole) // 2], WorkloadError, "damaged"), (b"", WorkloadError, "cut short"),
        (whole.replace(b"COMPLETED", b"CANCELLED") + b"x", WorkloadError, "damaged"),
    ):  # fmt: skip
        path.write_bytes(content)
        with pytest.raises(kind, match=words):
            make(path, tmp_path / "new")
    changes: list[tuple[Any, type[Exception], str]] = [
        (lambda row: row["cluster"].update(owner=row["cluster"]["owner"] + 1), ConfigError, "made by uid"),
        (lambda row: row.update(snapshot=99), WorkloadError, "format 99"),
        (lambda row: row.pop("cluster"), WorkloadError, "no copy of a cluster"),
        (lambda row: row["cluster"]["texts"].update({"/nowhere/gres.conf": ""}), OutputError, "No such file"),
        (lambda row: row["cluster"]["texts"].update({"../slurm.conf": ""}), OutputError, "No such file"),
    ]
    for change, kind, words in changes:
        path.write_bytes(whole)
        rewritten(path, 0, change)
        with pytest.raises(kind, match=words):
            make(path, tmp_path / "new")
        assert not (tmp_path / "new" / "journal").exists()
    path.write_bytes(whole)
    make(path, tmp_path / "new")  # the folder serves after all


# -- from the command line --------------------------------------------------------------------------------------------


def test_a_command_in_a_copy_and_copies_of_a_stopped_cluster(tmp_path: Path, command: Any) -> None:
    state, file, other = str(tmp_path / "one"), str(tmp_path / "file"), str(tmp_path / "other")
    with slurmsim.cluster(nodes=2, frozen=True, start=MORNING, folder=state) as c:
        c.run("sbatch -N2 --wrap 'sleep 50'", check=True)
        c.step(5)
        found = command("fork", "--state", state, "--", "sh", "-c", "sbatch --wrap true; squeue -h -o %i; exit 7")
        assert found[:2] == (7, "Submitted batch job 2\n2\n1\n")
        assert [job.job_id for job in c.jobs()] == [1]
        assert command("snapshot", "--state", state, file)[0] == 0
    code, out, _ = command("snapshot", "--state", state, file + "2")
    assert (code, out.split(": ")[0]) == (0, file + "2")
    assert command("restore", file + "2", "--state", other)[0] == 0
    code, _, said = command("restore", file, "--state", other)
    assert (code, said.count("\n")) == (2, 1)
    with slurmsim.cluster(folder=other) as again:
        again.until_idle()
        assert [(job.job_id, job.state) for job in again.jobs()] == [(1, "COMPLETED")]
    assert "one of them is needed" in command("fork", "--state", state)[2]
    code, _, said = command("snapshot", "--state", str(tmp_path / "none"), file)
    assert (code, said.count("\n"), (tmp_path / "none").exists()) == (1, 1, False)


def test_a_copy_that_stays(tmp_path: Path, command: Any) -> None:
    state, copy = str(tmp_path / "one"), str(tmp_path / "copy")
    with slurmsim.cluster(nodes=2, frozen=True, start=MORNING, folder=state) as c:
        c.run("sbatch -N2 --wrap 'sleep 50'", check=True)
        code, _, said = command("fork", "--state", state, "--to", copy)
        try:
            assert (code, said) == (0, "")
            assert command("clock", "--state", copy, "step", "1h")[0] == 0
            assert c.job(1).state == "PENDING"
        finally:
            assert command("down", "--state", copy)[0] == 0
