"""Cells on Dask's workers give the bytes that our own give."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

import slurmsim
from slurmsim.campaign.dask_workers import _done, check_address
from slurmsim.campaign.tasks import Spent, Task
from slurmsim.errors import ConfigError

pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="NOT TESTED: Dask is not installed")
GRID = {
    "workloads": ["generate:lublin:jobs=30,nodes=8"], "policies": ["easy", "fcfs"], "seeds": 3, "per_job": True,
}  # fmt: skip
SAME = ("summaries.parquet", "jobs.parquet", "sweep.json", "ranking.txt", "ranking.json", "ranking.html")


def test_the_same_bytes(tmp_path: Path) -> None:
    import distributed

    slurmsim.sweep(GRID, out=tmp_path / "own", workers=1)
    found = slurmsim.sweep(GRID, out=tmp_path / "local", dask="local", workers=1)
    assert (found.done, found.failed) == (6, [])
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
    with cluster:
        slurmsim.sweep(GRID, out=tmp_path / "address", dask=cluster.scheduler_address)
    for name in SAME:
        own = (tmp_path / "own" / name).read_bytes()
        assert own == (tmp_path / "local" / name).read_bytes() == (tmp_path / "address" / name).read_bytes(), name
    logs = {p.name: p.read_text() for p in (tmp_path / "own" / "logs").iterdir()}
    assert logs == {p.name: p.read_text() for p in (tmp_path / "local" / "logs").iterdir()}


def test_an_answer_whose_worker_is_gone_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was told as finished, and a job ended before anybody had fetched it: nobody may wait for it for good."""
    import distributed

    monkeypatch.setattr("slurmsim.campaign.dask_workers.ANSWER_S", 0.3)
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        future = client.submit(pickle.dumps, (5, None, Spent(1.0, 1.0, 1)))
        assert distributed.wait([future], timeout=30).done
        cluster.scale(0)
        while client.nthreads():
            time.sleep(0.02)
        task = Task("one", len, ())
        assert _done(task, future) is None
        cluster.scale(1)
        until = time.monotonic() + 60
        while (done := _done(task, future)) is None and time.monotonic() < until:
            pass
        assert done is not None and (done.value, done.error) == (5, None)


@pytest.mark.parametrize("address", ["tcp://10.0.0.1:8786", "tcp://somewhere:8786", "http://127.0.0.1", "nowhere", ""])
def test_addresses_that_are_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="--dask"):
        check_address(address)
    for good in ("local", "tcp://127.0.0.1:1", "tcp://localhost:1", "tcp://[::1]:1", "tls://somewhere:8786"):
        check_address(good)


def test_nobody_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slurmsim.campaign.dask_workers.WAIT_S", "0.3s")
    with pytest.raises(ConfigError, match="no scheduler answers at tcp"):
        slurmsim.sweep(GRID, out=tmp_path / "own", dask="tcp://127.0.0.1:9")


@pytest.mark.slow
def test_ctrl_c_at_a_terminal_finishes_what_runs(tmp_path: Path) -> None:
    """All processes of a terminal get the signal; Dask's workers must not die of it."""
    file, out = tmp_path / "grid.toml", tmp_path / "out"
    file.write_text('seeds = 500\npolicies = ["easy"]\nworkloads = ["generate:lublin:jobs=40,nodes=8"]\n')
    words = ["sweep", str(file), "--out", str(out), "--dask", "local", "--workers", "1", "--quiet"]
    program = [sys.executable, "-P", "-m", "slurmsim", *words]
    with subprocess.Popen(program, start_new_session=True, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and len(list(out.glob("cells/*/*.json"))) < 3:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        try:
            said = process.communicate(timeout=60)[1]
        finally:
            process.kill()
    assert process.returncode == 130, said
    assert "goes on with the" in said
