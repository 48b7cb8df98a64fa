"""While something goes to the disk the daemon carries out what comes, and answers nobody before it is there."""

from __future__ import annotations

import os
import threading
import time

import pytest

import slurmsim
from slurmsim.protocol import Client, Refusal
from slurmsim.slurmctld.history.disk_syncs import MOST
from slurmsim.slurmctld.history.journal import read

JOB = {"name": "n", "script": "#!/bin/sh\n#SLURMSIM runtime=60\n", "work_dir": "/"}


class SlowDisk:
    """`os.fdatasync` that waits for a word; `failing` has it fail from then on, as often as it says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open = threading.Event()
        self.count = self.failing = 0
        self._lock = threading.Lock()
        monkeypatch.setattr(os, "fdatasync", self._sync)

    def _sync(self, descriptor: int) -> None:
        with self._lock:
            self.count += 1
        assert self.open.wait(10)
        with self._lock:
            fails, self.failing = self.failing > 0, max(self.failing - 1, 0)
        if fails:
            raise OSError(5, "Input/output error")


class Asking(threading.Thread):
    """A client with one submission."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._client = Client(folder)
        self.answer: object = None
        self.start()

    def run(self) -> None:
        try:
            self.answer = self._client.call("submit", job=JOB)["job_id"]
        except Refusal as refusal:
            self.answer = refusal.text
        self._client.close()


def wait_for(what: object, value: object) -> None:
    last = time.monotonic() + 10
    while what() != value and time.monotonic() < last:  # type: ignore[operator]
        time.sleep(0.002)
    assert what() == value  # type: ignore[operator]


def test_others_are_carried_out_meanwhile_and_nobody_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    with slurmsim.cluster(nodes=1, frozen=True) as c:
        disk = SlowDisk(monkeypatch)
        clients = []
        for number in range(MOST):
            clients.append(Asking(str(c.folder)))
            wait_for(lambda: disk.count, number + 1)  # its own sync, beside those of the others
        looking = Client(str(c.folder))
        looking.post("jobs", fields=["job_id"])
        time.sleep(0.05)
        assert [one.answer for one in clients] == [None] * MOST
        disk.open.set()
        for one in clients:
            one.join()
        assert sorted(one.answer for one in clients) == [*range(1, MOST + 1)]  # type: ignore[type-var]
        assert looking.receive()["columns"]["job_id"] == [*range(1, MOST + 1)]
        looking.close()


def test_a_sync_that_fails_refuses_all_who_wait_and_the_cluster_goes_on_without_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with slurmsim.cluster(nodes=1, frozen=True) as c:
        c.run(["sbatch", "--wrap", "#SLURMSIM runtime=60"])
        disk = SlowDisk(monkeypatch)
        clients = []
        for number in range(3):
            clients.append(Asking(str(c.folder)))
            wait_for(lambda: disk.count, number + 1)
        disk.failing = 3
        disk.open.set()
        for one in clients:
            one.join()
        assert all("Input/output error" in str(one.answer) for one in clients)
        monkeypatch.undo()
        assert [job.job_id for job in c.jobs()] == [1]
        assert c.run(["sbatch", "--parsable", "--wrap", "#SLURMSIM runtime=60"]).stdout == "2\n"
        folder = c.folder
        names = [call for _, (_, call, *_) in read(folder / "journal").entries]
        assert names.count("submit") == 2
