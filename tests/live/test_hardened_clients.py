"""What the page on faults does not show: the rest of them breaks its naive client, and its careful one stands it."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import slurmsim
from slurmsim.live.cluster import Cluster

FILE = re.compile(r"<!-- file: mine/(\w+)\.py -->\n```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
Case = Callable[[ModuleType, Cluster], bool]


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ModuleType]:
    """The two clients of the page."""
    folder, found = tmp_path_factory.mktemp("clients"), {}
    files = dict(FILE.findall(PAGE.read_text("utf-8")))
    for name in ("naive", "careful"):
        (folder / f"{name}.py").write_text(files[name])
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
        assert spec is not None and spec.loader is not None
        found[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found[name])
    return found


def finished(what: str, **said: object) -> Case:
    """The work is done, or the client knows that it is not: what it says is what the last job of it came to."""

    def case(client: ModuleType, c: Cluster) -> bool:
        with c.inject(what, **said):
            told = client.finish("a", "sleep 60", lambda: c.step(30))
        return told is (c.jobs()[-1].state == "COMPLETED")

    return case


def done(what: str, **said: object) -> Case:
    """The work is done in spite of all."""

    def case(client: ModuleType, c: Cluster) -> bool:
        with c.inject(what, **said):
            told = client.finish("a", "sleep 60", lambda: c.step(30))
        return told is True and c.jobs()[-1].state == "COMPLETED"

    return case


def submitted(what: str, **said: object) -> Case:
    """There is one job, and the client knows which."""

    def case(client: ModuleType, c: Cluster) -> bool:
        with c.inject(what, **said):
            job = client.submit("a", "sleep 60")
        return [one.job_id for one in c.jobs()] == [job]

    return case


def listed(what: str, **said: object) -> Case:
    """The client knows the queue."""

    def case(client: ModuleType, c: Cluster) -> bool:
        client.submit("a", "sleep 60")
        with c.inject(what, **said):
            return bool(client.jobs() == {1: "PENDING"})

    return case


CASES: dict[str, Case] = {
    "away": done("away", command="squeue", times=1),
    "timeout": submitted("timeout", command="sbatch", times=1),
    "busy": submitted("busy", command="sbatch"),
    "disk-full": submitted("disk-full", times=1),
    "malformed": listed("malformed", command="squeue", times=1),
    "warning": listed("warning", command="squeue", times=1),
    "answer": listed("answer", command="squeue", stdout="try again later\n", times=1),
    "TIMEOUT": finished("TIMEOUT"),
    "DEADLINE": finished("DEADLINE", seconds=20),
    "PREEMPTED": done("PREEMPTED", times=1),
    "BOOT_FAIL": done("BOOT_FAIL", times=1),
    "flap": done("flap", nodes="n1", up=20, down=3600),
}


@pytest.mark.parametrize("what", CASES)
def test_naive_breaks_and_careful_stands(what: str, clients: dict[str, ModuleType]) -> None:
    stands = {}
    for name, client in clients.items():
        with slurmsim.cluster(nodes=2, frozen=True, start="2026-01-05T08:00:00Z", slurm_version="26.05") as c:
            try:
                stands[name] = CASES[what](client, c)
            except (subprocess.SubprocessError, ValueError, TimeoutError):
                stands[name] = False
    assert stands == {"naive": False, "careful": True}
