"""``slurmsim run --check-repeat``: a run that does not follow from its inputs alone is told of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slurmsim.cli import main

LOG = "; MaxProcs: 4\n" + "".join(f"{i} {i} -1 {60 * i} 2 -1 -1 2 3600 -1 1 {i} 1 1 1 1 -1 -1\n" for i in range(1, 30))
POLICY = """
import os
from slurmsim.policy import Policy, Start


class Sorted(Policy):
    def schedule(self, view, now):
        for job in sorted(view.pending, key=lambda job: job.id):
            if not (yield Start(job)):
                break


class BySet(Policy):
    def schedule(self, view, now):
        waiting = {job.user + "x": job for job in view.pending}
        for name in set(waiting):
            yield Start(waiting[name])


class Fails(Sorted):
    def schedule(self, view, now):
        if os.environ.get("PYTHONHASHSEED") in ("1", "2"):
            raise ValueError("second time")
        return super().schedule(view, now)
"""


@pytest.mark.parametrize(
    ("policy", "code", "said"),
    [
        ("Sorted", 0, ""),
        ("BySet", 1, r"the same run again gave another result: \w+.parquet differs first in row \d+ \(job \d+\)"),
        ("Fails", 1, r"the run could not be made again: policy Fails: ValueError: second time \(mine.py:\d+\)"),
    ],
)
def test_a_policy_that_depends_on_more_than_its_run_is_found(
    policy: str, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "mine.py").write_text(POLICY)
    (tmp_path / "log.swf").write_text(LOG)
    words = ["run", "--workload", str(tmp_path / "log.swf"), "--out", str(tmp_path / "out"), "--check-repeat"]
    assert main([*words, "--policy", f"{tmp_path / 'mine.py'}:{policy}", "--set", "MaxJobCount=5000"]) == code
    printed = capsys.readouterr()
    assert ("gives the same tables" in printed.out) == (code == 0)
    if said:
        assert re.search(said, printed.err) and "Traceback" not in printed.err
    assert (tmp_path / "out" / "jobs.parquet").exists()


def test_instances_are_saved_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second run compares; it saves nothing beside what the first has saved."""
    (tmp_path / "log.swf").write_text(LOG)
    words = ["run", "--workload", str(tmp_path / "log.swf"), "--out", str(tmp_path / "out"), "--check-repeat"]
    saved = tmp_path / "instances"
    assert main([*words, "--policy", "fcfs", "--save-instances", str(saved)]) == 0, capsys.readouterr().err
    assert "gives the same tables" in capsys.readouterr().out
