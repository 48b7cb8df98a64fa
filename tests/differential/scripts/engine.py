"""The same questions asked of an engine in this process: submissions alone, a hundred times faster than a cluster."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from scripts import asker
from scripts.both import RESERVATION, SITE
from slurmsim.commands import MODULES
from slurmsim.commands.io import Io

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "unit" / "commands"))
import engine_client

ALICE = "/home/alice"


def ask_engine(jobs: dict[str, Any], release: str) -> dict[str, Any]:
    """What sbatch and `scontrol show job` say; nothing runs."""
    with tempfile.TemporaryDirectory(prefix="scripts-") as top:
        asker.HOME = Path(top, "home")
        conf = (SITE / "slurm.conf").read_text("utf-8")
        (Path(top) / "gres.conf").write_bytes((SITE / "gres.conf").read_bytes())
        people = (SITE / "sacctmgr.txt").read_text("utf-8")
        cluster = engine_client.Cluster(
            Path(top), conf, storage="slurmdbd", accounting=people, release=release, users=("alice",)
        )
        asker.tell = _teller(cluster, str(asker.HOME))
        asker.until = _waiter(cluster)
        cluster.run(f"scontrol {' '.join(RESERVATION)}")
        return {"answers": {one["name"]: {"submit": asker.submit(one)} for one in jobs["scripts"]}}


def _teller(cluster: engine_client.Cluster, home: str) -> Callable[..., list[Any]]:
    environment = {"PATH": f"{ALICE}/bin", "HOME": ALICE, "USER": "alice", "LOGNAME": "alice", "SHELL": "/bin/bash",
                   "SLURMSIM_USER": "alice", "TZ": "UTC"}  # fmt: skip

    def tell(folder: Path, *words: str) -> list[Any]:
        folder.mkdir(parents=True, exist_ok=True)
        module = import_module(MODULES.get(words[0]) or f"slurmsim.commands.small.{words[0]}")
        out, error = io.StringIO(), io.StringIO()
        client: Any = engine_client._Client(cluster, engine_client.PEOPLE["alice"])
        world = Io(client, stdin=io.StringIO(), stdout=out, stderr=error, environ=environment, cwd=str(folder),
                   now=lambda: cluster.now)  # fmt: skip
        code = module.run(list(words[1:]), world)
        return [code, out.getvalue().replace(home, ALICE), error.getvalue().replace(home, ALICE)]

    return tell


def _waiter(cluster: engine_client.Cluster) -> Callable[[float, Callable[[], bool]], bool]:
    def until(seconds: float, done: Callable[[], bool]) -> bool:
        for _ in range(int(seconds)):
            cluster.now += 1
            if done():
                return True
        return False

    return until
