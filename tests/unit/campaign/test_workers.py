"""Worker processes: what comes back, who may run beside whom, and what happens when one dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slurmsim.campaign import workers as workers_module
from slurmsim.campaign.tasks import Task
from slurmsim.campaign.workers import LEAST, Peaks, run_tasks
from slurmsim.errors import ConfigError, SlurmSimError


def double(n: int) -> int:
    print("doubling", n)
    os.write(1, b"directly\n")
    return 2 * n


def complain(what: str) -> None:
    if what == "config":
        raise ConfigError("wrong", field="--x", expected="right")
    raise ValueError(what)


def unpicklable() -> object:
    return lambda: None


def die_once(mark: str) -> str:
    if not os.path.exists(mark):
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "came back"


def die() -> None:
    os._exit(3)


def slow(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def hog(n_bytes: int) -> int:
    return len(bytearray(n_bytes))


def test_values_errors_logs_and_deaths(tmp_path: Path) -> None:
    log = tmp_path / "log"
    mark = str(tmp_path / "mark")
    tasks = [
        Task("double", double, (4,), log=str(log)), Task("config", complain, ("config",)),
        Task("value", complain, ("oh\nno",), log=str(tmp_path / "value.log")), Task("pickle", unpicklable),
        Task("once", die_once, (mark,)), Task("dead", die), Task("hog", hog, (300 << 20,)), Task("small", double, (1,)),
    ]  # fmt: skip
    found = {done.task.name: done for done in run_tasks(tasks, workers=2)}
    assert len(found) == len(tasks)
    assert found["double"].value == 8 and log.read_text() == "directly\ndoubling 4\n"
    assert (
        isinstance(found["config"].error, ConfigError) and str(found["config"].error) == "--x: wrong (expected right)"
    )
    assert isinstance(found["value"].error, ValueError) and "Traceback" in (tmp_path / "value.log").read_text()
    assert isinstance(found["pickle"].error, SlurmSimError)
    assert found["once"].value == "came back"
    assert str(found["dead"].error) == "its process died twice (exit code 3); short of memory, it would be SIGKILL"
    assert found["hog"].spent.peak_bytes > 300 << 20 > found["double"].spent.peak_bytes


def test_no_further_task_begins_once_it_is_told_to_stop() -> None:
    names: list[str] = []
    tasks = (Task(str(i), double, (i,)) for i in range(1000))
    names += (done.task.name for done in run_tasks(tasks, workers=1, stopping=lambda: len(names) == 3))
    assert names == ["0", "1", "2"]


def test_whoever_stops_listening_ends_what_runs() -> None:
    began = time.monotonic()
    tasks = run_tasks([Task("a", slow, (0.01,)), Task("b", slow, (600,))], workers=2)
    next(tasks)
    tasks.close()
    assert time.monotonic() - began < 60


def test_workers_end_with_their_parent() -> None:
    program = (
        f"import sys; sys.path[:0] = [{str(Path(__file__).parent)!r}]\n"
        "from test_workers import run_tasks, Task, slow\n"
        "tasks = run_tasks([Task('pid', slow, (0.0,)), Task('b', slow, (600,))], workers=1)\n"
        "print(next(tasks).value, flush=True)\nnext(tasks)\n"
    )
    with subprocess.Popen([sys.executable, "-P", "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    until = time.monotonic() + 30
    while time.monotonic() < until and Path(f"/proc/{pid}/cmdline").exists():
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return  # nobody has asked for its status yet
        except OSError:
            return
        time.sleep(0.05)
    assert time.monotonic() < until


@pytest.mark.parametrize(
    ("kind", "running", "fits"),
    [
        ("large", [], True), ("large", ["small"], True), ("large", ["large"], False),
        ("small", ["large", "small"], True),
        ("small", ["large", "small", "small"], False), ("new", ["new"], True), ("new", ["large"], False),
    ],
)  # fmt: skip
def test_memory_says_how_many_side_by_side(
    kind: str, running: list[str], fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers_module, "LEAST", 10)
    peaks = Peaks(1000, 2)  # a budget of 900, so one nobody has seen counts 450
    peaks.seen("large", 700)
    peaks.seen("small", 60)
    peaks.seen("small", 100)
    assert peaks.fits(kind, running) is fits
    assert Peaks(None, 2).fits(kind, running)


def test_a_thousand_workers_are_not_begun_at_once_where_there_is_no_memory_for_them() -> None:
    peaks = Peaks(10 * LEAST, 1000)
    running: list[str] = []
    while peaks.fits("new", running):
        running.append("new")
    assert len(running) == 9
