"""sbatch against recordings of real Slurm: all that does not depend on the controller must be equal.

The fake daemon answers what the recorded one answered (the job id, or its refusal). Where the recording shows that
sbatch itself refused, being asked at all is a failure.
"""

from __future__ import annotations

import calendar
import io
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from recorded_shell import Handed, Outcome, replay

from slurmsim.commands.io import Io
from slurmsim.commands.submit import sbatch, submission
from slurmsim.protocol import Refusal

GOLDEN = os.environ.get("SLURMSIM_GOLDEN")
FILES = {
    "22.05": ("sbatch-errors.json", "enforce/sbatch-errors-enforced.json", "sbatch-options.json"),
    "24.11": tuple(
        f"slurm-24.11/{name}"
        for name in ("sbatch-errors.json", "enforce/sbatch-errors-enforced.json", "sbatch-options.json")
    ),
    "26.05": tuple(
        f"slurm-26.05/{name}"
        for name in ("sbatch-errors.json", "enforce/sbatch-errors-enforced.json", "sbatch-options.json")
    ),
}
REFUSED = re.compile(r"(?:sbatch: error: Batch job submission failed|allocation failure): (.*)\n")
SELF_CHECKED = "sbatch: error: Invalid generic resource (gres) specification\n"
START = re.compile(
    r"sbatch: Job (\d+) to start at (\S+) (?:a )?using (\d+) processors on nodes (\S+) in partition (\S+)"
)
NOISE = bytes(range(255, 0, -1))
SUBMITTED = re.compile(r"^(?:Submitted batch job )?(\d+)(?:;\S+| on cluster \S+)?$", re.MULTILINE)


class Recorded:
    """The controller of one recorded step."""

    patience_s = 0.0

    def __init__(self, step: dict[str, Any], release: str, start: int) -> None:
        self.step, self.release = step, release
        self.now = start + int(step["t"])
        self.asked: list[dict[str, Any]] = []

    def patient(self) -> Recorded:
        return self

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        if name == "wait_over":
            return {"over": True}
        if name == "hello":
            return {
                "slurm_version": self.release, "flavour": "debian", "cluster": "oracle", "now": self.now, "uid": 2001,
                "user": "alice",
            }  # fmt: skip
        if name == "config":
            values = {"AccountingStorageType": "accounting_storage/slurmdbd", "SelectTypeParameters": "CR_CORE_MEMORY"}
            return {"values": values}
        if name == "jobs":
            code = self.step["rc"]
            return {"columns": {"job_state": ["COMPLETED"], "exit_code": [code << 8]}}
        assert name == "submit", name
        self.asked.append(arguments)
        return self._submitted(bool(arguments["will_run"]))

    def _submitted(self, will_run: bool) -> dict[str, Any]:
        step = self.step
        stderr = step["stderr"]
        if found := REFUSED.search(stderr):
            notes = [line.removeprefix("sbatch: error: ") for line in stderr[: found.start()].splitlines()]
            raise Refusal("\n".join([*[note for note in notes if note], found[1]]))
        if stderr == SELF_CHECKED:
            raise Refusal("Invalid generic resource (gres) specification")
        if will_run:
            found = START.match(stderr)
            assert found, f"asked for a start although the recording has none: {step}"
            when = calendar.timegm(time.strptime(found[2], "%Y-%m-%dT%H:%M:%S"))
            return {
                "job_id": int(found[1]), "start_time": when, "proc_cnt": int(found[3]),
                "node_list": found[4], "part_name": found[5],
            }  # fmt: skip
        accepted = step["rc"] == 0 or SUBMITTED.search(step["stdout"])
        assert accepted, f"sbatch refused this itself, ours submitted it: {step['cmd']}"
        return {"job_id": int(found[1]) if (found := SUBMITTED.search(step["stdout"])) else 1}


def steps_of(path: str) -> tuple[list[dict[str, Any]], int]:
    assert GOLDEN
    recording = json.loads((Path(GOLDEN) / path).read_text())
    start = calendar.timegm(time.strptime(recording["start"], "%Y-%m-%dT%H:%M:%S"))
    return recording["steps"], start


def replayed(step: dict[str, Any], release: str, start: int, home: Path, scratch: Path) -> tuple[Outcome | None, Any]:
    daemon = Recorded(step, release, start)

    def run(handed: Handed) -> Outcome:
        out, err = io.StringIO(), io.StringIO()
        world = Io(
            daemon, stdin=io.StringIO(handed.stdin), stdout=out, stderr=err, environ=handed.environ, cwd=str(home)
        )  # type: ignore[arg-type]
        code = sbatch.run(handed.argv, world)
        return Outcome(out.getvalue(), err.getvalue(), code)

    user = step.get("user", "alice")
    environ = {"HOME": str(home), "USER": user, "LOGNAME": user}
    # A file of random bytes that begins with a NUL (one of 256) is refused in other words.
    noise = home.parent / "noise"
    noise.write_bytes(NOISE)
    return replay(step["cmd"].replace("/dev/urandom", str(noise)), "sbatch", home, scratch, environ, run), daemon


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr(submission.time, "sleep", lambda seconds: None)
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(("release", "path"), [(r, p) for r, paths in FILES.items() for p in paths])
@pytest.mark.usefixtures("utc")
def test_equal_to_the_recording(release: str, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not GOLDEN:
        pytest.skip("set SLURMSIM_GOLDEN to the folder with the recordings")
    if not (Path(GOLDEN) / path).exists():
        pytest.skip(f"SLURMSIM_GOLDEN has no {path}")
    steps, start = steps_of(path)
    different: list[str] = []
    left: list[str] = []
    compared = 0
    for step in steps:
        home = tmp_path / step.get("user", "alice")
        home.mkdir(exist_ok=True)
        if "file" in step:
            (home / step["file"]).write_text(step["text"])
        if "cmd" not in step or step["cmd"].startswith(("scontrol", "squeue", "srun", "salloc", "timeout")):
            continue
        found, daemon = replayed(step, release, start, home, tmp_path / "scratch")
        if found is None:
            continue
        compared += 1
        if daemon.asked:
            left.append(step["cmd"])
        if found != Outcome(step["stdout"], step["stderr"], step["rc"]):
            different.append(
                f"{step['cmd']}\n  recorded {step['stdout']!r} {step['stderr']!r} {step['rc']}\n  ours {found}"
            )
    with capsys.disabled():
        print(f"\n{path}: {compared - len(different)}/{compared} equal, {len(left)} of them asked the controller")
    assert compared >= 20
    assert not different, "\n".join(different)
