"""A live cluster to measure: its daemon as a process, clients, and what a command call costs."""

from __future__ import annotations

import os
import resource
import socket
import statistics
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from measure import SLURMSIM, machine, write

from slurmsim import compiled
from slurmsim.live import daemon
from slurmsim.live.settings import Settings
from slurmsim.protocol import SOCKET, Client, connect

TIMES = 20
CLIENTS = 16
_TICKS = os.sysconf("SC_CLK_TCK")


class Live:
    """One cluster; jobs seem to run."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder / "cluster"
        daemon.start(self.folder, daemon.prepare(self.folder, Settings(jobs="simulate", **settings)))
        self.client = Client(str(self.folder), timeout_s=None)
        with closing(connect(str(self.folder / SOCKET), 10)) as connection:
            peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        self.pid = int(struct.unpack("3i", peer)[0])

    def cpu_s(self) -> float:
        """CPU seconds of the daemon so far."""
        words = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / _TICKS

    def rss_mb(self) -> float:
        """Megabytes the daemon holds."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) * 1024 / 1e6

    def submit(self, count: int, clients: int = CLIENTS, **more: Any) -> float:
        """`count` submissions over so many connections; real seconds."""
        job = {
            "name": "bench", "script": "#!/bin/sh\n#SLURMSIM runtime=60\nsleep 60\n", "work_dir": "/tmp",
            "environment": dict(os.environ), "num_tasks": 1, "time_limit": 10, **more,
        }  # fmt: skip

        def load() -> None:
            client = Client(str(self.folder), timeout_s=None)
            for _ in range(count // clients):
                client.call("submit", job=job)

        threads = [threading.Thread(target=load) for _ in range(clients)]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - began

    def sbatch(self, count: int, clients: int = CLIENTS) -> float:
        """`count` processes of sbatch, so many at a time; real seconds."""
        environ = daemon.environment(self.folder, os.environ)

        def one(_: int) -> None:
            subprocess.run(("sbatch", "--wrap", "true"), env=environ, stdout=subprocess.DEVNULL, check=True)

        began = time.perf_counter()
        with ThreadPoolExecutor(clients) as pool:
            list(pool.map(one, range(count)))
        return time.perf_counter() - began

    def sync_ms(self, times: int = 200) -> float:
        """Median milliseconds of a sync after 300 bytes, on the file system the cluster is on."""
        found = []
        with open(self.folder / "sync", "ab", buffering=0) as file:
            for _ in range(times):
                file.write(b"x" * 300)
                began = time.perf_counter()
                os.fsync(file.fileno())
                found.append(time.perf_counter() - began)
        Path(file.name).unlink()
        return statistics.median(found) * 1000

    def command(self, *words: str, before: Callable[[], object] = lambda: None) -> float:
        """Median milliseconds of a command call, `TIMES` of them; prints the CPU time too, command and daemon.

        `before` is called before each, and its time not counted (the daemon's CPU time is).
        """
        environ = daemon.environment(self.folder, os.environ)
        so_far, mine = self.cpu_s(), resource.getrusage(resource.RUSAGE_CHILDREN)
        found = []
        for _ in range(TIMES):
            before()
            began = time.perf_counter()
            subprocess.run(words, env=environ, stdout=subprocess.DEVNULL, check=True)
            found.append(time.perf_counter() - began)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        own = after.ru_utime + after.ru_stime - mine.ru_utime - mine.ru_stime
        print(f"\n{words[0]}: CPU ms a call: command {own / TIMES * 1000:.0f}, daemon "
              f"{(self.cpu_s() - so_far) / TIMES * 1000:.0f}")  # fmt: skip
        return statistics.median(found) * 1000


@contextmanager
def live(folder: Path, **settings: Any) -> Iterator[Live]:
    """A cluster for the length of a measurement, of the build that its result will name; fails where this is another.

    `python -m pytest` in a checkout imports the checkout, which is not compiled, whatever VENV is.
    """
    if compiled() != machine()["compiled"]:
        pytest.fail(f"this Python runs another build than {SLURMSIM}: PYTHONSAFEPATH=1 VENV/bin/python -m pytest")
    found = Live(folder, **settings)
    try:
        yield found
    finally:
        daemon.stop(found.folder)


def judge(name: str, values: dict[str, tuple[float, str, float]]) -> None:
    """Keep and print what was measured: name -> (value, ``<=`` or ``>=``, target); fail beyond ten per cent."""
    rows = [
        {"what": what, "value": round(value, 3), "bound": bound, "target": target,
         "met": value <= target if bound == "<=" else value >= target}
        for what, (value, bound, target) in values.items()
    ]  # fmt: skip
    write(name, {"live": name, "rows": rows, "machine": machine()})
    for row in rows:
        print(
            f"\n{row['what']}: {row['value']:,g} ({row['bound']} {row['target']:g}) {'met' if row['met'] else 'MISSED'}"
        )
    for what, (value, bound, target) in values.items():
        assert value <= target * 1.1 if bound == "<=" else value >= target / 1.1, what
