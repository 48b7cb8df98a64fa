"""The compiled modules against the very sources they were made from: same bytes, whatever the policy.

Runs where the compiled build is installed (``make fast``); the sources lie beside its modules.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import slurmsim
import slurmsim_policies
import slurmsim_workloads
from slurmsim_workloads.samples import sample_path

RUN = """
import sys
from slurmsim.replay import RunOptions, execute, prepare
conf, workload, out, policy, jobs, failures = sys.argv[1:]
drawn = {"mtbf_s": 400_000, "mttr_s": 3000, "seed": 3} if failures == "True" else {}
execute(prepare(RunOptions(workload, out, conf=conf, policy=policy, jobs=int(jobs), **drawn)), report=False)
"""
TABLES = ("jobs.parquet", "requeued.parquet", "events.parquet", "usage.parquet")

pytestmark = pytest.mark.skipif(
    not slurmsim.compiled(), reason="the core is not compiled here: `make fast` installs the compiled build"
)


@pytest.fixture(scope="module")
def pure(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to import from with links to the installed sources alone."""
    folder = tmp_path_factory.mktemp("pure")
    for package in (slurmsim, slurmsim_policies, slurmsim_workloads):
        assert package.__file__ is not None
        home = Path(package.__file__).parent
        for file in home.rglob("*"):
            if file.is_file() and file.suffix not in (".so", ".pyd", ".pyc"):
                link = folder / package.__name__ / file.relative_to(home)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(file)
    return folder


def run(out: Path, path: str, policy: str, jobs: int, failures: bool) -> dict[str, Any]:
    """The first `jobs` of the sample in a process that imports from `path` first; its manifest."""
    sample = [str(sample_path("sample.conf")), str(sample_path("sample.parquet"))]
    command = [sys.executable, "-P", "-c", RUN, *sample, str(out), policy, str(jobs), str(failures)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    manifest: dict[str, Any] = json.loads((out / "run.json").read_text(encoding="utf-8"))
    return manifest


@pytest.mark.parametrize(
    ("policy", "jobs", "failures"),
    [("backfill", 1500, False), ("easy", 1500, False), ("conservative", 400, False), ("backfill", 800, True)],
)
def test_same_bytes(pure: Path, tmp_path: Path, policy: str, jobs: int, failures: bool) -> None:
    assert run(tmp_path / "compiled", "", policy, jobs, failures)["compiled"] is True
    assert run(tmp_path / "pure", str(pure), policy, jobs, failures)["compiled"] is False
    for table in TABLES:
        assert (tmp_path / "compiled" / table).read_bytes() == (tmp_path / "pure" / table).read_bytes(), table


def test_says_so(pure: Path) -> None:
    for path, kind in (("", "compiled"), (str(pure), "pure Python")):
        command = [sys.executable, "-P", "-m", "slurmsim", "--version"]
        said = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
        )
        assert said.stdout.strip() == f"slurmsim {slurmsim.__version__} ({kind})"
