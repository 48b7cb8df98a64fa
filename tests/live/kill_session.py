"""A live cluster under load whose daemon is killed, stopped, frozen and started again and again, also twice at once.

What `test_kill` looks at afterwards.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from processes import daemons, wait_until

from slurmsim.errors import ConfigError
from slurmsim.live import daemon
from slurmsim.live.settings import Settings
from slurmsim.protocol import Client, Refusal, Unreachable
from slurmsim.slurmctld.history.journal_file import read_contents, whole_file
from slurmsim.slurmctld.history.state_folder import holder

FIELDS = ("job_id", "array_job_id", "array_task_id", "name", "job_state", "state_reason", "exit_code", "priority",
          "submit_time", "eligible_time", "start_time", "end_time", "nodes", "restart_cnt", "time_limit", "user_name",
          "account", "partition", "dependency", "num_cpus")  # fmt: skip
FINAL = ("COMPLETED", "FAILED", "CANCELLED")
RATE = 20.0
PAUSE_S = 0.6
MOVES = ("restart", "freeze", "kill and start twice", "stop and start twice", "interrupt the start", "kill the start")
"""What is done to the daemon beside killing it."""
NO_STOP = tuple(move for move in MOVES if move not in ("restart", "stop and start twice"))
"""Those among which no daemon ever stops by itself."""


@dataclass
class Acknowledged:
    """What clients were told."""

    jobs: dict[int, str] = field(default_factory=dict)  # id -> name
    cancelled: set[int] = field(default_factory=set)
    twice: list[int] = field(default_factory=list)
    unanswered: int = 0

    def job(self, job_id: int, name: str) -> None:
        if job_id in self.jobs:
            self.twice.append(job_id)
        self.jobs[job_id] = name


class Session:
    """One cluster in `folder`, and the threads that load it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random = folder / "c", random.Random(seed)
        self.ran = folder / "ran"
        self.ran.touch()
        self.told = Acknowledged()
        self.moves: Counter[str] = Counter()
        self.longest, self.snapshots = 0, set[int]()
        self._lock = threading.Lock()
        self._over = threading.Event()
        conf = folder / "slurm.conf"
        conf.write_text(
            "ClusterName=kill\nSlurmctldHost=h\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
            "PriorityType=priority/multifactor\nPriorityWeightAge=1000\nPriorityWeightFairshare=10000\n"
            "AccountingStorageType=accounting_storage/slurmdbd\nPriorityCalcPeriod=1\nPriorityDecayHalfLife=1-0\n"
            "MinJobAge=1000000\nNodeName=n[1-4] CPUs=8 CoresPerSocket=8\n"
            "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE\n"
        )
        (folder / "sacctmgr").write_text(
            "Cluster - kill:Fairshare=1\nParent - root\nAccount - a:Fairshare=10\nAccount - b:Fairshare=20\n"
            "Parent - a\nUser - alice:DefaultAccount=a:Fairshare=1\nUser - root:DefaultAccount=a:Fairshare=1\n"
            "Parent - b\nUser - bob:DefaultAccount=b:Fairshare=1\n"
        )
        settings = Settings(
            conf=str(conf),
            accounting=(str(folder / "sacctmgr"),),
            mode="running",
            rate=RATE,
            jobs="run",
            users={"alice": "2001", "bob": "2002"},
        )
        daemon.start(self.folder, daemon.prepare(self.folder, settings))
        self._threads = [threading.Thread(target=self._load, args=(self.random.random(),)) for _ in range(3)]

    # -- load -------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()

    def _load(self, seed: float) -> None:
        mine = random.Random(seed)
        client = Client(str(self.folder), timeout_s=30)
        while not self._over.is_set():
            time.sleep(mine.uniform(0, 0.1))
            try:
                self._one(client, mine)
            except (Unreachable, Refusal):
                self.told.unanswered += 1
                client.close()
                time.sleep(0.05)

    def _one(self, client: Client, mine: random.Random) -> None:
        kind = mine.random()
        with self._lock:
            known = list(self.told.jobs)
        if kind < 0.15 and known:
            job_id = mine.choice(known)
            client.call("kill", job_id=str(job_id))
            with self._lock:
                self.told.cancelled.add(job_id)
            return
        name = f"job-{mine.getrandbits(60):x}"
        job: dict[str, Any] = {"name": name, "work_dir": str(self.folder.parent), "time_limit": 600, "num_tasks": 1,
                               "std_out": "/dev/null", "environment": {"PATH": "/usr/bin:/bin"}}  # fmt: skip
        client.user = mine.choice([None, "alice", "bob"])
        code = mine.randrange(4)
        if kind < 0.4:  # really runs
            job["script"] = (
                f"#!/bin/sh\necho {name} $SLURM_JOB_ID $SLURM_RESTART_COUNT >> {self.ran}\n"
                f"sleep {mine.uniform(0, 1):.2f}\nexit {code}\n"
            )
            job["name"] = f"{name}:real:{code}"
        else:
            job["script"] = f"#!/bin/sh\n#SLURMSIM runtime={mine.randrange(60)} exit={code}\n"
            job["name"] = f"{name}:seems:{code}"
        if kind > 0.85:
            job["array_inx"] = "1-5%2"
        elif kind > 0.8 and known:
            job["dependency"] = f"afterany:{mine.choice(known)}"
        elif kind > 0.78:
            job["hold"] = True
        answer = client.call("submit", job=job)
        client.user = None
        with self._lock:
            self.told.job(int(answer["job_id"]), job["name"])

    # -- the daemon -------------------------------------------------------------------------------------------------

    def pid(self) -> int:
        """The one daemon there is, which holds the folder."""
        (found,) = daemons(self.folder)
        assert holder(self.folder) == found
        return found

    def kill(self, *, start: bool = True) -> None:
        """kill -9, and start again at once."""
        self.moves["kill"] += 1
        pid = self.pid()
        os.kill(pid, signal.SIGKILL)
        self._wait_for(pid)
        self._look()
        if start:
            self.start()

    def _look(self) -> None:
        """Remember what a killed daemon leaves: the journal's bytes, and which snapshot it stands on."""
        found = read_contents(whole_file(self.folder / "journal"), "journal")
        self.longest = max(self.longest, found.good)
        if "snapshot" in found.header:
            self.snapshots.add(int(found.header["after"]))

    def stop(self) -> None:
        pid = self.pid()
        daemon.stop(self.folder)
        self._wait_for(pid)

    def start(self) -> None:
        daemon.start(self.folder, daemon.prepare(self.folder, Settings()))
        self.pid()

    def _wait_for(self, pid: int) -> None:
        """Wait until that daemon is gone; it may be a child of this process."""
        wait_until(lambda: pid not in daemons(self.folder))
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)

    def move(self, kind: str) -> None:
        """One of `MOVES`; one daemon runs afterwards."""
        self.moves[kind] += 1
        if kind == "restart":
            self.stop()
            self.start()
        elif kind == "freeze":
            self._freeze()
        elif kind.endswith("twice"):
            if kind.startswith("kill"):
                self.kill(start=False)
            else:
                self.stop()
            self._twice()
        else:
            self.kill(start=False)
            self._half_started(signal.SIGINT if kind.startswith("interrupt") else signal.SIGKILL)
        self.pid()

    def _freeze(self) -> None:
        """A daemon that does nothing for a while is still there."""
        pid = self.pid()
        os.kill(pid, signal.SIGSTOP)
        try:
            daemon.prepare(self.folder, Settings())
        except ConfigError as refused:
            assert f"(process {pid})" in str(refused)
        else:
            raise AssertionError("there would be two daemons")
        finally:
            os.kill(pid, signal.SIGCONT)

    def _twice(self) -> None:
        """Two who start at once: one does."""
        starting = [self._up() for _ in range(2)]
        said = [one.communicate(timeout=120)[1] for one in starting]
        assert sorted(one.returncode for one in starting) == [0, 2], said
        assert sum("a cluster is running there (process " in text for text in said) == 1, said

    def _half_started(self, number: int) -> None:
        """Whoever starts it is ended at some moment; then somebody else starts it, unless it runs."""
        starting = self._up()
        self._over.wait(self.random.uniform(0.1, 1.0))
        starting.send_signal(number)
        starting.communicate(timeout=120)
        # one that was ready runs on; any other ends as soon as it sees that nobody waits
        wait_until(lambda: daemon.is_alive(self.folder) or not daemons(self.folder))
        if not daemon.is_alive(self.folder):
            self.start()

    def _up(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "slurmsim", "up", "--state", str(self.folder)]
        environ = {**os.environ, "XDG_STATE_HOME": str(self.folder.parent / "state")}
        return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        return daemon.call(self.folder, name, timeout_s=None, **arguments)

    def rows(self) -> list[dict[str, Any]]:
        found = self.call("every_job", fields=list(FIELDS))["columns"]
        return [
            dict(zip(FIELDS, values, strict=True)) for values in zip(*(found[name] for name in FIELDS), strict=True)
        ]

    # -- judging ----------------------------------------------------------------------------------------------------

    def settle(self, wait_s: float = 120.0) -> list[dict[str, Any]]:
        """Let everything that may end do so; all jobs then. Held jobs stay, and who depends on them."""
        self.call("clock", action="rate", rate=200.0)
        last = time.monotonic() + wait_s
        while True:
            rows = self.rows()
            left = [row for row in rows if row["job_state"] not in FINAL and not row["dependency"]
                    and row["state_reason"] != "JobHeldUser"]  # fmt: skip
            if not left:
                return rows
            assert time.monotonic() < last, left[:3]
            time.sleep(0.3)

    def calm(self) -> None:
        """Wait for the scripts that really run; the clock stands still, so no other one starts."""
        last = time.monotonic() + 60
        while any(row["job_state"] == "RUNNING" and ":real:" in row["name"] for row in self.rows()):
            assert time.monotonic() < last
            time.sleep(0.1)

    def runs(self) -> Counter[str]:
        """How often each job's script ran: by name, id and restart count."""
        return Counter(self.ran.read_text().splitlines())
