"""Programs other people wrote for Slurm, unmodified, against a live cluster.

Their packages are an extra: ``pip install .[clients]``. Each script in `scripts/` says ``OK NAME`` when every check
of it held; another folder with such scripts is named with SLURMSIM_CLIENTS.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(os.environ.get("SLURMSIM_CLIENTS") or Path(__file__).with_name("scripts"))


@pytest.mark.parametrize(
    ("module", "script", "words", "environ"),
    [
        # all its checks, and one more: the job that asks to be queued again waits two minutes of the cluster's clock
        ("submitit", "submitit_smoke.py", ["--requeue"], ["--rate", "10"]),
        ("cfut", "clusterfutures_smoke.py", [], []),
        ("dask_jobqueue", "dask_jobqueue_smoke.py", [], []),
        pytest.param("parsl", "parsl_smoke.py", [], [], marks=pytest.mark.slow),
    ],
    ids=["submitit", "clusterfutures", "dask-jobqueue", "parsl"],
    indirect=["environ"],
)
def test_a_real_client(module: str, script: str, words: list[str], environ: dict[str, str], tmp_path: Path) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed: pip install .[clients]")
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / script), *words], env=environ, cwd=tmp_path, capture_output=True, text=True,
        timeout=int(environ["SMOKE_TIMEOUT"]) + 20, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout.splitlines()[-1].startswith("OK ")
