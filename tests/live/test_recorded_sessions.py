"""Sessions recorded in a file and asked again of a fresh cluster (`slurmsim record`, `slurmsim replay`)."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import slurmsim
from slurmsim.cli import main
from slurmsim.commands import recorded
from slurmsim.live.cluster import Cluster
from slurmsim.protocol import Refusal
from slurmsim.sessions import clock_programs
from slurmsim.sessions.session_file import read

MORNING = "2026-01-05T08:00:00Z"


def record(c: Cluster, path: Path) -> None:
    assert main(["record", "--state", str(c.folder), str(path)]) == 0


def stop(c: Cluster) -> None:
    assert main(["record", "--stop", "--state", str(c.folder)]) == 0


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session of a cluster whose scripts seem to run."""
    path, work = tmp_path / "session.rec", tmp_path / "work"
    work.mkdir()
    (work / "job.sh").write_text("#!/bin/sh\n#SBATCH -J mine -N2\nsleep 300\n")
    with slurmsim.cluster(nodes=3, frozen=True, start=MORNING, users={"alice": 2001}) as c:
        record(c, path)
        c.run(["sbatch", "job.sh"], cwd=work, check=True)
        c.step(40)
        c.run("sbatch -N2 --exclusive", input="#!/bin/sh\nsleep 60\n", user="alice", check=True)
        c.run("squeue -o '%i %j %u %t %N %r'", check=True)
        c.run(["scontrol", "show", "job", "1"], check=True)
        c.step(400)
        c.run("sacct -X -o jobid,jobname,state,elapsed; sbatch -p nowhere --wrap true", user="alice")
        stop(c)
        c.run("sinfo", check=True)
    return path


def test_what_is_kept(session: Path) -> None:
    assert stat.S_IMODE(session.stat().st_mode) == 0o600
    found = read(session)
    assert [one.argv[0] for one in found.commands] == ["sbatch", "sbatch", "squeue", "scontrol", "sacct", "sbatch"]
    first, second = found.commands[:2]
    assert (first.user, first.cwd) == (found.owner, str(session.parent / "work"))
    assert list(first.files.values()) == ["#!/bin/sh\n#SBATCH -J mine -N2\nsleep 300\n"]
    assert (second.user, second.stdin, second.began - first.began) == ("alice", "#!/bin/sh\nsleep 60\n", 40)
    assert found.commands[5].answer.code == 1
    assert "Invalid partition name" in found.commands[5].answer.stderr
    assert "slurm.conf" in found.files


def test_asked_again_it_answers_alike(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["replay", str(session), "--check"]) == 0
    assert capsys.readouterr().out == "6 of 6 commands answered alike\n"


def test_what_differs_is_told(session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = tmp_path / "other.conf"
    conf.write_text(read(session).files["slurm.conf"].replace("n[1-3]", "n[1-4]"))
    capsys.readouterr()
    assert main(["replay", str(session), "--conf", str(conf), "--check"]) == 1
    out = capsys.readouterr().out
    assert "-2 sbatch alice PD  Resources\n+2 sbatch alice PD  None\n" in out
    assert main(["replay", str(session), "--release", "26.05"]) == 0
    assert "--- 4: " in capsys.readouterr().out  # its show job has other fields


def test_scripts_that_run_and_their_tasks_are_heard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "session.rec"
    with slurmsim.cluster(nodes=2, frozen=True, jobs="run", start=MORNING) as c:
        record(c, path)
        c.run("srun -N2 sh -c 'echo task $SLURM_PROCID; echo wrong >&2'", cwd=tmp_path, check=True)
        c.run("salloc -N1 squeue -h -o %i", cwd=tmp_path, check=True)  # the inner one is the outer one's
        stop(c)
    srun = read(path).commands[0].answer
    assert sorted(srun.stdout.splitlines()) == ["task 0", "task 1"]
    assert srun.stderr.count("wrong\n") == 2
    capsys.readouterr()
    for words in ([], ["--jobs", "run"], ["--jobs", "simulate"]):
        assert main(["replay", str(path), *words]) == 2
        assert "--allow-code, if you trust" in capsys.readouterr().err
    assert main(["replay", str(path), "--allow-code"]) == 0
    assert capsys.readouterr().out.endswith("of 2 commands answered alike; 1 from within jobs not asked\n")


def test_no_secrets_of_the_environment(tmp_path: Path) -> None:
    path = tmp_path / "session.rec"
    with slurmsim.cluster(nodes=1, frozen=True, start=MORNING) as c:
        record(c, path)
        more = {
            "SECRET": "s3cret",
            "NAMED": "n4med",
            "SLURM_JWT": "t0ken",
            "SQUEUE_FORMAT": "%i",
            "SBATCH_COMMENT": "c",
        }
        c.run("squeue; sbatch --export=NAMED,GIVEN=1 --wrap true", env=more, check=True)
        stop(c)
    text = path.read_text()
    assert "s3cret" not in text
    assert "t0ken" not in text
    squeue, sbatch = read(path).commands
    assert squeue.environ["SQUEUE_FORMAT"] == "%i"
    assert "NAMED" not in squeue.environ
    assert (sbatch.environ["NAMED"], sbatch.environ["SBATCH_COMMENT"]) == ("n4med", "c")


def test_a_killed_recorder_leaves_a_readable_file_and_another_goes_on(tmp_path: Path) -> None:
    path, folder = tmp_path / "session.rec", tmp_path / "cluster"
    up = ["up", "--state", str(folder), "--frozen", "--start", MORNING]
    assert main(up) == 0
    try:
        assert main(["record", "--state", str(folder), str(path)]) == 0
        environ = {**os.environ, "SLURMSIM_CLUSTER_DIR": str(folder)}
        subprocess.run([str(folder / "bin" / "sinfo")], env=environ, check=True, capture_output=True)
        with open(path, "a") as file:
            file.write('{"n": 2, "argv": ["squ')  # cut off by the kill
        pid = int((folder / "lock").read_text())
        os.kill(pid, signal.SIGKILL)
        while (
            os.path.exists(f"/proc/{pid}")
            and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        ):
            time.sleep(0.02)
        assert [one.argv for one in read(path).commands] == [("sinfo",)]
        assert main(up[:3]) == 0
        subprocess.run([str(folder / "bin" / "squeue")], env=environ, check=True, capture_output=True)
        assert [one.argv[0] for one in read(path).commands] == ["sinfo", "squeue"]
    finally:
        main(["down", "--state", str(folder)])
    assert main(["replay", str(path), "--check"]) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"format": 9, "slurmsim": "9.0", "made_of": {}}\n', "up to 1; a newer slurmsim wrote it (9.0)"),
        ("", "a JSON object a line"), ("[1]\n", "a JSON object a line"), ("\x00\xff", "a JSON object a line"),
        ('{"format": 1}\n', "what slurmsim record wrote"),
        ('{"format": 1, "made_of": {}}\n{"argv": ["x"], "n": 1}\n', "a command without"),
        ('{"format": 1, "made_of": {}}\n', "does not say what its cluster was made of"),
    ],
)  # fmt: skip
def test_bad_files(text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.rec"
    path.write_text(text)
    assert main(["replay", str(path)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


def test_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with slurmsim.cluster(nodes=1, frozen=True, users={"alice": 2001}) as c:
        state = ["--state", str(c.folder)]
        assert main(["record", "--stop", *state]) != 0
        (tmp_path / "there").write_text("mine")
        assert main(["record", *state, str(tmp_path / "there")]) != 0
        assert (tmp_path / "there").read_text() == "mine"
        c.run("sbatch --wrap 'sleep 1'", check=True)
        record(c, tmp_path / "one")
        assert "the cluster has had 1 jobs" in capsys.readouterr().err
        assert main(["record", *state, str(tmp_path / "two")]) != 0
        alice = slurmsim.protocol.Client(str(c.folder), "alice")
        with pytest.raises(Refusal):
            alice.call("record", action="stop")
        assert main(["record", str(tmp_path / "two"), "--keep", *state]) == 2
        assert "record: --keep (expected --state DIR, --stop, -- COMMAND)" in capsys.readouterr().err
        assert main(["record", *state]) == 0
        assert capsys.readouterr().out == f"{tmp_path / 'one'}: 0 commands\n"


def test_for_as_long_as_a_command_runs(tmp_path: Path) -> None:
    path = tmp_path / "session.rec"
    with slurmsim.cluster(nodes=1, frozen=True) as c:
        assert main(["record", "--state", str(c.folder), str(path), "--", "sh", "-c", "sinfo -h -o %D; exit 3"]) == 3
        c.run("squeue", check=True)
    assert [one.argv for one in read(path).commands] == [("sinfo", "-h", "-o", "%D")]


def test_the_folder_may_stand_behind_the_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """argparse leaves what is behind a positional word to the command that follows."""
    path = tmp_path / "session.rec"
    with slurmsim.cluster(nodes=1, frozen=True) as c:
        state = str(c.folder)
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv(slurmsim.protocol.FOLDER_VARIABLE, raising=False)
            patch.setenv("XDG_STATE_HOME", str(tmp_path / "nothing"))
            assert main(["record", str(path), "--state", state, "--", "sinfo", "-h", "-o", "%D"]) == 0
            assert main(["record", str(tmp_path / "more"), f"--state={state}"]) == 0
            assert main(["record", "--stop", "--state", state]) == 0
            assert main(["fork", "--state", state, "--", "squeue", "-h"]) == 0
            c.run("sbatch -H --wrap true", check=True)
            assert main(["why", "--state", state, "1", "--no-offers"]) == 0
            assert main(["why", "1", "--state", state, "--no-offers"]) == 0
    assert [one.argv for one in read(path).commands] == [("sinfo", "-h", "-o", "%D")]
    assert "JobHeldUser" in capfd.readouterr().out


def test_a_recording_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("slurmsim.slurmctld.server.recorder.MOST", 4000)
    path = tmp_path / "session.rec"
    with slurmsim.cluster(nodes=1, frozen=True) as c:
        record(c, path)
        for _ in range(20):
            c.run("sinfo", check=True)
        assert c.client.call("record", action="show")["path"] is None
    assert path.stat().st_size < 4100
    found = read(path)
    assert found.full
    assert 0 < len(found.commands) < 20
    capsys.readouterr()
    assert main(["replay", str(path)]) == 0
    assert "the recording is full" in capsys.readouterr().err


def test_a_full_disk_loses_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        """A disk without room for what `squeue` answers but for a part."""

        def __getattr__(self, name: str) -> Any:
            return getattr(os, name)

        def write(self, fd: int, line: bytes) -> int:
            return os.write(fd, line[: len(line) // 2] if b'"squeue"' in line else line)

    path = tmp_path / "session.rec"
    with slurmsim.cluster(nodes=1, frozen=True) as c:
        record(c, path)
        monkeypatch.setattr("slurmsim.slurmctld.server.recorder.os", Full())
        for command in ("sinfo", "squeue", "sacct"):
            c.run(command, check=True)
    assert [one.argv for one in read(path).commands] == [("sinfo",), ("sacct",)]
    assert len(path.read_text().splitlines()) == 3


def test_streams_pass_while_they_are_heard() -> None:
    """Much output, a reader that goes away, and a process left behind that still writes."""
    script = f"""
import os, sys
sys.path.insert(0, {str(Path(recorded.__file__).parents[2])!r})
from slurmsim.commands.recorded import MOST, Tee
tee = Tee([1, 2])
os.write(2, b"error\\n")
for _ in range(3000):
    os.write(1, b"x" * 1000)
if not os.fork():
    import time; time.sleep(0.5); os.write(1, b"late"); os._exit(0)
kept = tee.close()
os.write(2, f"{{len(kept[1]) > MOST}} {{len(kept[1]) < 3000000}} {{kept[2]!r}}".encode())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"x" * 3_000_000 + b"late"
    assert done.stderr == b"error\nTrue True 'error\\n'"


def test_lines_hold_nothing_but_what_the_page_says(session: Path) -> None:
    lines: list[dict[str, Any]] = [json.loads(line) for line in session.read_text().splitlines()]
    assert set(lines[0]) == {"format", "slurmsim", "at", "folder", "owner", "jobs", "made_of", "files"}
    assert set(lines[1]) == {
        "n", "began", "ended", "user", "cwd", "umask", "argv", "environ", "files", "stdin", "stdout", "stderr", "rc",
        "cut", "faults",
    }  # fmt: skip


def test_date_goes_by_the_clock_of_the_cluster() -> None:
    with slurmsim.cluster(frozen=True, start="2026-01-05T08:00:00Z") as c:
        clock_programs.install(c.folder / "bin")
        assert c.run("date -u +%FT%T").stdout == "2026-01-05T08:00:00\n"
        c.step(90)
        assert "08:01:30" in c.run("date -u").stdout
        assert c.run("date -u -d @7 +%s").stdout == "7\n"
