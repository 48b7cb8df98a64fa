"""A sweep on Dask's workers in jobs of a live cluster: real processes, TLS, and the bytes that other ways give."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

import slurmsim

needed = [name for name in ("dask_jobqueue", "cryptography") if find_spec(name) is None]
pytestmark = pytest.mark.skipif(needed != [], reason=f"NOT TESTED: {' and '.join(needed)} not installed")
GRID = """
policies = ["easy", "fcfs"]
workloads = ["generate:lublin:jobs=30,nodes=8"]
seeds = {seeds}
per_job = true
"""
SAME = ("summaries.parquet", "jobs.parquet", "sweep.json", "ranking.txt", "ranking.json", "ranking.html")
UP: list[str] = []
QUICK = {"DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT": "1s"}  # until a worker that is gone is given up


def command(tmp_path: Path, out: str, workers: int) -> list[str]:
    words = ["sweep", str(tmp_path / "grid.toml"), "--out", str(tmp_path / out), "--quiet"]
    return [sys.executable, "-P", "-m", "slurmsim", *words, "--dask", "slurm", "--workers", str(workers)]


def told(environ: dict[str, str], *words: str) -> str:
    return subprocess.run(words, env=environ, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize("environ", [UP], indirect=True)
def test_the_same_bytes_also_when_a_job_is_cancelled(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(GRID.format(seeds=10))
    slurmsim.sweep(tmp_path / "grid.toml", out=tmp_path / "own", workers=1)
    out, pages = tmp_path / "out", []
    with subprocess.Popen(
        command(tmp_path, "out", 1), env=environ | QUICK, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            while process.poll() is None and len(list(out.glob("cells/*/*.json"))) < 2:
                time.sleep(0.02)
            keys = out / "scratch" / "tls.key"
            assert keys.stat().st_mode & 0o777 == 0o600
            first = told(environ, "squeue", "--noheader", "--format=%A").split()
            told(environ, "scancel", *first)
            said = process.communicate(timeout=240)[1]
        finally:
            process.kill()
    assert process.returncode == 0, said
    for name in SAME:
        assert (tmp_path / "own" / name).read_bytes() == (out / name).read_bytes(), name
    assert not list((out / "scratch").iterdir())
    last = time.monotonic() + 30  # a cancelled job's script takes its time to end
    while left := told(environ, "squeue", "--noheader"):
        assert time.monotonic() < last, left
        time.sleep(0.1)
    jobs = told(environ, "sacct", "-X", "--noheader", "--parsable2", "--format=jobid,ncpus").splitlines()
    assert len(first) == 1 and len(jobs) == 2 and all(job.endswith("|1") for job in jobs)
    for log in (out / "logs" / "dask").glob("*.err"):
        pages += re.findall(r"(?:Listening to|Registered to|Start worker at): +(\S+)", log.read_text())
    assert pages and all(address.startswith("tls://") for address in pages)


@pytest.mark.slow  # five commands with libraries of a second each
@pytest.mark.parametrize("environ", [UP], indirect=True)
def test_jobs_that_cannot_work(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(GRID.format(seeds=1))

    def said(workers: int = 1, **more: str) -> tuple[int, str]:
        words = command(tmp_path, "out", workers)
        done = subprocess.run(
            words, env=environ | QUICK | more, capture_output=True, text=True, timeout=100, check=False
        )
        return done.returncode, done.stderr

    assert said(0) == (2, "slurmsim: error: --workers: 0 jobs (expected with --dask slurm, how many jobs to submit)\n")
    code, text = said(DASK_JOBQUEUE__SLURM__QUEUE="nowhere")
    assert code == 2 and "invalid partition specified: nowhere" in text and text.count("\n") == 1
    code, text = said(PATH=str(tmp_path))
    assert code == 2 and "sbatch: No such file" in text and text.count("\n") == 1
    code, text = said(2, DASK_JOBQUEUE__SLURM__PYTHON="/bin/false")
    assert code == 1 and "ended before their workers came" in text and text.count("\n") == 1
