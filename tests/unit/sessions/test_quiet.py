"""When the processes of a cluster rest: told by what they do, never by how long it takes."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from slurmsim.sessions import quiet
from slurmsim.sessions.quiet import Quiet

FOLDER = Path("/somewhere/cluster")


def process(proc: Path, pid: int, states: str, ticks: int = 0, marker: str = str(FOLDER), start: int = 77) -> None:
    """A process as the system shows it, a state for each of its threads."""

    def stat(state: str) -> str:
        words = [state, *["0"] * 10, str(ticks), "0", *["0"] * 4, str(len(states)), "0", str(start), *["0"] * 20]
        return f"{pid} (a ) b) {' '.join(words)}\n"

    place = proc / str(pid)
    place.mkdir(exist_ok=True)
    (place / "cmdline").write_text(f"python\0{marker}\0")
    (place / "environ").write_text("")
    (place / "new").write_text(stat(states[0]))
    (place / "new").rename(place / "stat")  # at once, as the system shows it
    for number, state in enumerate(states):
        (place / "task" / str(pid + number)).mkdir(parents=True, exist_ok=True)
        (place / "task" / str(pid + number) / "stat").write_text(stat(state))


def rests(proc: Path, most_s: float = 20.0) -> bool:
    """Whether a wait ends within a moment."""
    waiting = threading.Thread(target=Quiet(FOLDER, str(proc)).wait, args=(most_s,), daemon=True)
    waiting.start()
    waiting.join(0.5)
    ended = not waiting.is_alive()
    for place in proc.iterdir():
        process(proc, int(place.name), "S")
    waiting.join(30)
    assert not waiting.is_alive()
    return ended


@pytest.mark.parametrize(
    ("states", "expected"),
    [("S", True), ("R", False), ("D", False), ("SSS", True), ("SSD", False), ("SRS", False), ("Z", True)],
)
def test_a_cluster_works_while_a_thread_does(tmp_path: Path, states: str, expected: bool) -> None:
    """``SD``: the daemon's first thread waits for requests, another one for the disk; a script starts behind that."""
    process(tmp_path, 100, states)
    process(tmp_path, 200, "R", marker="/another/program")
    assert rests(tmp_path) is expected


def test_patience_is_processor_time_of_the_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that may run and gets no processor is waited for; one that computes without end is not."""
    monkeypatch.setattr(quiet, "_LOOK_S", 0.001)
    process(tmp_path, 100, "R")
    assert not rests(tmp_path, most_s=0.1)  # five times that, and it has had none
    over = threading.Event()

    def compute() -> None:
        ticks = 0
        while not over.is_set():
            process(tmp_path, 100, "R", ticks := ticks + 1)
            time.sleep(0.001)

    computing = threading.Thread(target=compute)
    computing.start()
    try:
        Quiet(FOLDER, str(tmp_path)).wait(0.1)
    finally:
        over.set()
        computing.join()


def test_a_wait_reads_others_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine has hundreds of processes that are of no cluster; reading all in each look took a third of a replay."""
    read: list[str] = []
    stat, belongs = quiet._stat, Quiet._belongs

    def asked(self: Quiet, name: str) -> bool:
        read.append(name)
        return belongs(self, name)

    monkeypatch.setattr(quiet, "_stat", lambda place: read.append(place.rpartition("/")[2]) or stat(place))
    monkeypatch.setattr(Quiet, "_belongs", asked)
    process(tmp_path, 100, "S")
    process(tmp_path, 200, "S", marker="/another/program")
    found = Quiet(FOLDER, str(tmp_path))
    found.wait()
    assert read.count("200") == 2 and read.count("100") > 3
    found.wait()
    assert read.count("200") == 3  # it is older than `found`, and looked at again as its number may be another's


def test_a_young_process_may_become_one_of_the_cluster(tmp_path: Path) -> None:
    """Between two looks, a shell that has just begun is replaced by a command of the cluster."""
    process(tmp_path, 100, "S")
    process(tmp_path, 200, "R", marker="/another/program", start=quiet._boot_ticks() + 10)
    found = Quiet(FOLDER, str(tmp_path))
    assert found._pids(again=False) == [100]
    process(tmp_path, 200, "R", start=quiet._boot_ticks() + 10)
    assert sorted(found._pids(again=True)) == [100, 200]
