"""The compiled modules against the very sources they were made from: same bytes, whatever the policy.

Runs where the compiled build is installed (``make fast``); the sources lie beside its modules.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import slurmsim
import slurmsim_policies
import slurmsim_workloads
from slurmsim_workloads.samples import sample_path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "properties"))
from wild.generator import wild_world

RUN = """
import json, sys
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.replaying.replay import execute
execute(prepare(RunOptions(**json.loads(sys.argv[1]))), report=False)
"""
TABLES = ("jobs.parquet", "requeued.parquet", "events.parquet", "usage.parquet")
CONF = {"workload": str(sample_path("sample.parquet")), "conf": str(sample_path("sample.conf"))}
EQUAL = {"workload": str(sample_path("sample.parquet")), "nodes": 120, "cpus_per_node": 32}  # counting decides
FAILURES = {"mtbf": 400_000, "mttr": 3000, "seed": 3}
CASES = {
    "backfill": {**CONF, "policy": "backfill", "jobs": 1500},
    "backfill, nodes fail": {**CONF, **FAILURES, "policy": "backfill", "jobs": 800},
    "backfill, equal nodes": {**EQUAL, "policy": "backfill"},
    "easy": {**CONF, "policy": "easy", "jobs": 1500},
    "easy, equal nodes": {**EQUAL, "policy": "easy"},
    "cpu_hours, equal nodes": {**EQUAL, "policy": "cpu_hours:limit=0.5x", "jobs": 1500},
    "conservative": {**CONF, "policy": "conservative", "jobs": 400},
    "conservative, equal nodes": {**EQUAL, "policy": "conservative"},
}

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


def started(out: Path, path: str, options: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """One case in a process that imports from `path` first."""
    command = [sys.executable, "-P", "-c", RUN, json.dumps({**options, "out": str(out)})]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)


def run(out: Path, path: str, options: dict[str, Any]) -> dict[str, Any]:
    """The manifest of such a case, which ends well."""
    done = started(out, path, options)
    assert done.returncode == 0, done.stderr
    manifest: dict[str, Any] = json.loads((out / "run.json").read_text(encoding="utf-8"))
    return manifest


@pytest.mark.parametrize("case", CASES)
def test_same_bytes(pure: Path, tmp_path: Path, case: str) -> None:
    assert run(tmp_path / "compiled", "", CASES[case])["compiled"] is True
    assert run(tmp_path / "pure", str(pure), CASES[case])["compiled"] is False
    for table in TABLES:
        assert (tmp_path / "compiled" / table).read_bytes() == (tmp_path / "pure" / table).read_bytes(), table


WILD = int(os.environ.get("SLURMSIM_WILD_COMPILED", "6"))
WILD_SEED = int(os.environ.get("SLURMSIM_WILD_SEED", "42"))


@pytest.mark.parametrize("seed", range(WILD_SEED, WILD_SEED + WILD))
def test_same_bytes_of_wild_worlds(pure: Path, tmp_path: Path, seed: int) -> None:
    world = wild_world(seed)
    options = asdict(world.run_options(world.write(tmp_path / "world"), tmp_path / "out"))
    compiled = started(tmp_path / "compiled", "", options)
    plain = started(tmp_path / "pure", str(pure), options)
    said = [done.stderr.splitlines()[-1:] if done.returncode else [] for done in (compiled, plain)]
    assert said[0] == said[1]
    if compiled.returncode:
        assert "slurmsim.errors." in said[0][0], compiled.stderr  # refused by name: no tables
        return
    for table in TABLES:
        assert (tmp_path / "compiled" / table).read_bytes() == (tmp_path / "pure" / table).read_bytes(), table


def test_says_so(pure: Path) -> None:
    for path, kind in (("", "compiled"), (str(pure), "pure Python")):
        command = [sys.executable, "-P", "-m", "slurmsim", "--version"]
        environment = {**os.environ, "PYTHONPATH": path}
        said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert said.stdout.strip() == f"slurmsim {slurmsim.__version__} ({kind})"


def test_classes_stay_open() -> None:
    """Whoever extends or copies a class of the core may go on doing so."""
    from copy import deepcopy

    from slurmsim.capacity import CapacityProfile

    class Mine(CapacityProfile):
        def least(self, begin: int, end: int) -> int:
            return -1

    profile = Mine(0, 4)
    profile.add(10, 20, -3)
    copied = deepcopy(profile)
    copied.add(0, None, 5)
    assert (profile.times, profile.free) == ([0, 10, 20], [4, 1, 4])
    assert (copied.free, copied.least(0, 5), type(copied)) == ([9, 6, 9], -1, Mine)
