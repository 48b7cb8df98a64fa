"""slurmrestd: what Prometheus waits for with 10,000 jobs, and what an idle server costs its daemon and itself."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from statistics import median

import pytest
from measure import SLURMSIM

import slurmsim

pytest.importorskip("jwt")
from slurmsim.rest.messages import Request
from slurmsim.rest.server import make_service

JOBS = 10_000
METRICS_S = 0.2
"""The bar of one scrape; measured 0.03 to 0.09 s a page on two shared cores."""
IDLE_SHARE = 0.01
IDLE_S = 20.0
PAGES = ("/metrics", "/metrics/jobs", "/metrics/nodes", "/metrics/partitions", "/metrics/jobs-users-accts",
         "/metrics/scheduler")  # fmt: skip


def test_metrics_of_ten_thousand_jobs() -> None:
    with slurmsim.cluster(nodes=100, cpus_per_node=64, frozen=True, jobs="simulate", slurm_version="26.05") as cluster:
        users = [f"user{k}" for k in range(20)]
        for k in range(JOBS):
            cluster.client.user = users[k % 20]
            job = {"name": "j", "script": "#!/bin/sh\nsleep 3600\n", "work_dir": "/tmp", "environment": {"A": "b"},
                   "time_limit": 60 + k % 50, "num_tasks": 1 + k % 3, "min_cpus": 1 + k % 3}  # fmt: skip
            cluster.client.call("submit", job=job)
        cluster.client.user = None
        cluster.step(30)
        assert len(cluster.jobs()) == JOBS
        service = make_service(str(cluster.folder))
        for page in PAGES:
            times = []
            for _ in range(7):
                begin = time.perf_counter()
                answer = service.answer(Request("GET", page))
                times.append(time.perf_counter() - begin)
                assert answer.status == 200
            print(f"\n{page}: median {median(times) * 1e3:.1f} ms of {min(times) * 1e3:.1f} to {max(times) * 1e3:.1f}")
            assert median(times) < METRICS_S
        service.close()


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_an_idle_server_costs_next_to_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    up = [str(SLURMSIM), "up", "--state", str(folder), "--slurm-version", "26.05"]
    subprocess.run(up, check=True, capture_output=True)
    environ = {**os.environ, "SLURMSIM_CLUSTER_DIR": str(folder)}
    server = subprocess.Popen([str(folder / "bin" / "slurmrestd")], env=environ, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None and "listening" in server.stderr.readline()
        status = subprocess.run([str(SLURMSIM), "status", "--state", str(folder), "--json"], check=True,
                                capture_output=True, text=True)  # fmt: skip
        daemon = int(json.loads(status.stdout)["pid"])
        time.sleep(3)
        before = {pid: _cpu_s(pid) for pid in (daemon, server.pid)}
        time.sleep(IDLE_S)
        shares = {pid: (_cpu_s(pid) - spent) / IDLE_S for pid, spent in before.items()}
        print(f"\nidle: daemon {shares[daemon]:.2%}, slurmrestd {shares[server.pid]:.2%} of a core")
        assert sum(shares.values()) <= IDLE_SHARE
    finally:
        server.terminate()
        server.wait(20)
        subprocess.run([str(SLURMSIM), "down", "--state", str(folder)], check=False, capture_output=True)
