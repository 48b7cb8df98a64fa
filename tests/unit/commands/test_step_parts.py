"""The small parts of srun: file names, environments, programs by task."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmsim.commands.submit.steps.environment import exported
from slurmsim.commands.submit.tasks.files import ALL, EACH, ONE, target
from slurmsim.commands.submit.tasks.multi_prog import BadFile, find_file, read_programs
from slurmsim.path_patterns import filled
from slurmsim.stepd_notices import cancelled


@pytest.mark.parametrize(
    ("text", "kind", "name", "task"),
    [
        (None, ALL, None, -1), ("all", ALL, None, -1), ("none", EACH, "/dev/null", -1), ("1", ONE, None, 1),
        ("7", ALL, "7", -1), ("out-%j", ALL, "out-%j", -1), ("out-%t", EACH, "out-%t", -1), (r"a\%t", ALL, r"a\%t", -1),
    ],
)  # fmt: skip
def test_targets(text: str | None, kind: str, name: str | None, task: int) -> None:
    found = target(text, 4)
    assert (found.kind, found.name, found.task) == (kind, name, task)


def test_patterns() -> None:
    assert filled("%j.%s-%3t-%N-%%-%q", {"j": "12", "s": "0", "t": "7", "N": "head"}) == "12.0-007-head-%-%q"


def test_export() -> None:
    inside = {"SLURM_STEP_ID": "0", "FOO": "step", "HOME": "/h"}
    outside = {"FOO": "own", "HOME": "/h"}
    assert exported(inside, None, outside) == inside
    assert exported(inside, "NONE", outside) == {"SLURM_STEP_ID": "0"}
    assert exported(inside, "FOO,BAR=2", outside) == {"SLURM_STEP_ID": "0", "FOO": "own", "BAR": "2"}
    assert exported(inside, "ALL,BAR='a,b'", outside) == {**inside, "BAR": "a,b"}


def test_programs(tmp_path: Path) -> None:
    path = tmp_path / "programs"
    path.write_text("# tasks\n0 echo first\n1-2 echo 'task %t' at %o\n* true\n")
    found = read_programs(str(path), 4, ["more"], fixed=True)
    assert found[0] == ["echo", "first", "more"]
    assert found[2] == ["echo", "task 2", "at", "1", "more"]
    assert found[3] == ["true", "more"]
    path.write_text("0 true\n")
    with pytest.raises(BadFile, match="no record for task id 1"):
        read_programs(str(path), 2, [], fixed=True)
    path.write_text("5 true\n")
    with pytest.raises(BadFile, match="Invalid task id, 5 >= ntasks"):
        read_programs(str(path), 2, [], fixed=True)
    find_file(str(path))
    with pytest.raises(BadFile, match="Could not open multi_prog config file nosuch"):
        find_file("nosuch")
    path.write_text("#" * 60_001)
    with pytest.raises(BadFile, match="is too large"):
        find_file(str(path))


def test_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    line = cancelled("JOB 9", "n05", 1767600012, "REQUEUED", "22.05")
    assert line.startswith("slurmstepd-n05: error: *** JOB 9 ON n05 CANCELLED AT ")
    assert line.endswith(" DUE TO JOB REQUEUE ***")
    assert cancelled("STEP 9.0", "n05", 0, "CANCELLED", "26.05").endswith(" DUE to SIGNAL Terminated ***")
