"""A cluster that is told to stop stops, whenever that is, and leaves nothing behind.

``SLURMSIM_STOPS=1000`` for the long version (`make nightly`); times are in `benchmarks`.
"""

from __future__ import annotations

import gc
import os
import random
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

import slurmsim
from slurmsim.errors import SlurmSimError
from slurmsim.live.cluster import Cluster
from slurmsim.protocol import Client, Unreachable

STOPS = int(os.environ.get("SLURMSIM_STOPS", "50"))
SEED = int(os.environ.get("SLURMSIM_STOP_SEED", "1"))
HANG_S = 10.0  # a stop that was lost took 30 s


def left_behind(place: Path) -> tuple[int, int, list[str]]:
    """Threads, open files and clusters' folders of this process."""
    gc.collect()
    return threading.active_count(), len(os.listdir("/proc/self/fd")), sorted(path.name for path in place.iterdir())


def ask_until_it_is_gone(c: Cluster, ready: threading.Event) -> None:
    """Requests of all kinds, one after the other, on connections of its own and on the cluster's."""
    try:
        with_own = Client(str(c.folder))
        try:
            while True:
                ready.set()
                with_own.call("submit", job={"name": "x", "script": "#!/bin/sh\nsleep 30\n", "work_dir": "/"})
                c.step(7)
                c.jobs()
        finally:
            with_own.close()
    except (SlurmSimError, Unreachable):
        ready.set()


def stop_at_random(c: Cluster, chance: random.Random) -> float:
    """Stop it from here, from there, or from two threads at once, with requests on their way or not; how long."""
    asking = []
    if chance.random() < 0.5:
        ready = threading.Event()
        asking = [threading.Thread(target=ask_until_it_is_gone, args=(c, ready)) for _ in range(chance.randint(1, 3))]
        for one in asking:
            one.start()
        ready.wait(HANG_S)
    if chance.random() < 0.6:
        time.sleep(chance.choice([0.0, 0.0005, 0.002, 0.01]) * chance.random())
    others = [threading.Thread(target=c.stop) for _ in range(chance.choice([0, 0, 1, 2]))]
    before = time.monotonic()
    for one in others:
        one.start()
    c.stop()
    took = time.monotonic() - before
    for one in (*others, *asking):
        one.join(HANG_S)
        assert not one.is_alive()
    return took


def test_stops_at_random_moments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    chance = random.Random(SEED)
    with slurmsim.cluster(frozen=True):
        pass  # the engine is loaded
    before = left_behind(tmp_path)
    for k in range(STOPS):
        with slurmsim.cluster(nodes=2, **chance.choice([{"frozen": True}, {"rate": 1000.0}, {"fast": True}])) as c:  # type: ignore[arg-type]
            for _ in range(chance.choice([0, 1, 1, 2])):
                assert stop_at_random(c, chance) < HANG_S, k
                with pytest.raises(Unreachable):
                    Client(str(c.folder)).call("ping")
                if chance.random() < 0.3:
                    c.start()
                    assert c.now
    assert left_behind(tmp_path) == before
    assert caplog.records == []  # asyncio has nothing to complain about


def test_a_stop_before_the_loop_runs_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    from slurmsim.slurmctld.server import server

    begin, run = threading.Event(), server.run_server

    def late(one: server.Server) -> int:
        begin.wait()
        return run(one)

    monkeypatch.setattr(server, "run_server", late)
    with slurmsim.cluster(frozen=True) as c:
        threading.Timer(0.1, begin.set).start()
        before = time.monotonic()
        c.stop()
        assert time.monotonic() - before < HANG_S
        with pytest.raises(Unreachable):
            Client(str(c.folder)).call("ping")
        begin.set()


def test_a_second_start_changes_nothing() -> None:
    with slurmsim.cluster(frozen=True) as c:
        c.run(["sbatch", "--wrap", "sleep 60"], check=True)
        threads = threading.active_count()
        c.start()
        assert (threading.active_count(), len(c.jobs())) == (threads, 1)
        c.client.call("down")  # as `slurmsim down` does
        last = time.monotonic() + HANG_S
        while (c.folder / "slurmctld.sock").exists():
            assert time.monotonic() < last
            time.sleep(0.01)
        c.start()
        assert len(c.jobs()) == 1


def test_one_cluster_is_asked_by_many_threads() -> None:
    with slurmsim.cluster(frozen=True, nodes=3) as c:
        wrong: list[object] = []

        def ask() -> None:
            for _ in range(30):
                found = [row.name for row in c.nodes()], [row.name for row in c.jobs()], type(c.now)
                if found != (["n1", "n2", "n3"], ["one"], int):
                    wrong.append(found)

        c.run(["sbatch", "-J", "one", "--wrap", "sleep 60"], check=True)
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(60)
        assert wrong == []


def test_scripts_that_are_just_starting_end_with_their_cluster(tmp_path: Path) -> None:
    mark = f"3{os.getpid()}"  # no other sleep is that long
    for pause in (0.0, 0.01, 0.03, 0.1):
        with slurmsim.cluster(rate=1) as c:
            for _ in range(4):
                c.client.call("submit", job={"name": "x", "script": f"#!/bin/sh\nexec sleep {mark}\n", "work_dir": "/",
                                             "std_out": "/dev/null"})  # fmt: skip
            time.sleep(pause)
        assert not c.folder.exists()
    last = time.monotonic() + HANG_S
    while subprocess.run(["pgrep", "-f", f"sleep {mark}"], check=False, capture_output=True).stdout:
        assert time.monotonic() < last
        time.sleep(0.05)
