"""Writes of the database over REST and by ``sacctmgr load`` last; allocations that wait hold up no other request."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from live.processes import daemons, wait_until

import slurmsim
from slurmsim.rest.messages import Request
from slurmsim.rest.server import application, make_service
from slurmsim.rest.service import Service

pytest.importorskip("jwt")
CONF = """\
ClusterName=tiny
AccountingStorageType=accounting_storage/slurmdbd
NodeName=n[1-2] CPUs=4 RealMemory=1000
PartitionName=p Nodes=n[1-2] Default=YES MaxTime=60
"""
LOADED = """\
Cluster - 'tiny'
Parent - 'root'
Account - 'sea':Fairshare=4
Parent - 'sea'
User - 'bob':DefaultAccount='sea':MaxJobs=2
"""


def ask(service: Service, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Status and document."""
    answer = service.answer(Request(method, path, body=b"" if body is None else json.dumps(body).encode()))
    return answer.status, json.loads(answer.body) if answer.body else None


def test_what_was_answered_is_there_after_a_kill(tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(CONF)
    (tmp_path / "more.cfg").write_text(LOADED)
    folder = tmp_path / "cluster"

    def command(*words: str) -> None:
        done = subprocess.run([sys.executable, "-m", "slurmsim", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    command("up", "--state", str(folder), "--conf", str(conf), "--frozen", "--slurm-version", "26.05",
            "--user", "alice=2001", "--user", "bob=2002")  # fmt: skip
    try:
        service = make_service(str(folder))
        base = "/slurmdb/v0.0.45"
        limits = {"max": {"jobs": {"active": {"set": True, "number": 3}}}, "shares_raw": 7}
        for path, body in (
            ("accounts", {"accounts": [{"name": "alone", "description": "d", "organization": "o"}]}),
            ("accounts_association", {"association_condition": {"accounts": ["geo"]}, "account": {}}),
            ("associations", {"associations": [{"account": "geo", "cluster": "tiny", "user": "alice", **limits}]}),
            ("qos", {"qos": [{"name": "fast", "priority": {"set": True, "number": 9}}]}),
            ("wckeys", {"wckeys": [{"name": "key", "cluster": "tiny", "user": "alice"}]}),
        ):
            assert ask(service, "POST", f"{base}/{path}", body)[0] == 200
        command("as", "--state", str(folder), "root", "--", "sacctmgr", "-i", "load", str(tmp_path / "more.cfg"))
        before = [ask(service, "GET", f"{base}/{path}")[1] for path in ("accounts", "associations", "qos", "wckeys")]
        [pid] = daemons(folder)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not daemons(folder))
        command("up", "--state", str(folder))
        after = [ask(service, "GET", f"{base}/{path}")[1] for path in ("accounts", "associations", "qos", "wckeys")]
        assert after == before
        assert {"alone", "geo", "sea"} <= {one["name"] for one in after[0]["accounts"]}
        [alice] = [one for one in after[1]["associations"] if one["user"] == "alice" and one["account"] == "geo"]
        assert (alice["shares_raw"], alice["max"]["jobs"]["active"]["number"]) == (7, 3)
        [bob] = [one for one in after[1]["associations"] if one["user"] == "bob" and one["account"] == "sea"]
        assert bob["max"]["jobs"]["active"]["number"] == 2
        service.close()
    finally:
        command("down", "--state", str(folder))


def test_an_allocation_that_waits_keeps_nobody_waiting() -> None:
    job = {"name": "wide", "current_working_directory": "/tmp", "environment": ["A=b"], "minimum_nodes": 2, "tasks": 2}
    with slurmsim.cluster(nodes=2, frozen=True, slurm_version="26.05", users={"alice": 2001}) as c:
        c.run(["sbatch", "-N2", "--exclusive", "-t5", "--wrap", "sleep 60"])
        c.step(5)
        service = make_service(str(c.folder), user="alice")
        found: list[tuple[int, Any]] = []

        def allocate() -> None:
            found.append(ask(service, "POST", "/slurm/v0.0.45/job/allocate", {"job": job}))

        waiting = threading.Thread(target=allocate)
        waiting.start()
        last = time.monotonic() + 30
        while len(ask(service, "GET", "/slurm/v0.0.45/jobs/state")[1]["jobs"]) < 2 and time.monotonic() < last:
            time.sleep(0.05)
        assert ask(service, "GET", "/slurm/v0.0.45/ping")[0] == 200 and not found
        c.step(120)
        waiting.join(120)
        [(status, document)] = found
        assert status == 200 and document["job_id"] == 2
        assert c.job(2).state == "RUNNING"
        assert ask(service, "DELETE", "/slurm/v0.0.45/job/2")[0] == 200
        service.close()


def test_dozens_of_allocations_that_wait_leave_threads_for_others() -> None:
    """AnyIO has 40 threads unless told otherwise, and each allocation that waits has one."""
    httpx = pytest.importorskip("httpx")
    job = {"name": "wide", "current_working_directory": "/tmp", "environment": ["A=b"], "minimum_nodes": 2, "tasks": 2}
    with slurmsim.cluster(nodes=2, frozen=True, slurm_version="26.05", users={"alice": 2001}) as c:
        c.run(["sbatch", "-N2", "--exclusive", "-t5", "--wrap", "sleep 60"])
        c.step(5)
        service = make_service(str(c.folder), user="alice")

        async def asks() -> tuple[int, list[int]]:
            transport = httpx.ASGITransport(application(service), client=("", 0))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
                path = "/slurm/v0.0.45/job/allocate"
                waiting = [asyncio.create_task(client.post(path, json={"job": job})) for _ in range(45)]
                while len(await asyncio.to_thread(c.jobs)) < 46:
                    await asyncio.sleep(0.05)
                ping = await asyncio.wait_for(client.get("/slurm/v0.0.45/ping/"), 20)
                assert not any(one.done() for one in waiting)
                await asyncio.to_thread(c.run, ["scancel", "-n", "wide"])
                return ping.status_code, [one.status_code for one in await asyncio.gather(*waiting)]

        ping, allocated = asyncio.run(asyncio.wait_for(asks(), 90))
        assert ping == 200 and len(allocated) == 45
        service.close()


@pytest.mark.parametrize("path", ["/metrics", "/metrics/jobs", "/metrics/scheduler"])
def test_metrics_of_a_daemon_that_is_away(path: str) -> None:
    """A gateway's error in one line, and the numbers again once the daemon is back."""
    with slurmsim.cluster(nodes=1, frozen=True, slurm_version="26.05") as c:
        service = make_service(str(c.folder))
        assert service.answer(Request("GET", path)).status == 200
        c.stop()
        away = service.answer(Request("GET", path))
        assert away.status == 502 and away.body.count(b"\n") == 1 and b"internal error" not in away.body
        c.start()
        assert service.answer(Request("GET", path)).status == 200
        service.close()
