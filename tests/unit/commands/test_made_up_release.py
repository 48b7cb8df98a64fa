"""A release that has no rule of its own answers as the newest one does, in every command that was recorded.

It failed before: ``squeue --json`` and ``sinfo --json`` ended in KeyError, and no configuration of it was read.
"""

from __future__ import annotations

import gzip
import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_client import Cluster

from slurmsim import releases
from slurmsim.commands import MODULES
from slurmsim.config.daemon_values import Takes
from slurmsim.config.option import check_release
from slurmsim.releases import RELEASES
from slurmsim.rest import openapi, routes

MADE_UP, NEWEST = "27.05", releases.RELEASES[-1]
VERSION = "27.05.5"
SESSIONS = sorted((Path(__file__).parents[2] / "conformance" / "commands" / NEWEST).glob("*.json.gz"))
SHELL = set("$;|<>`&*?~(){}\\\n")
WAITING = {"salloc", "sattach", "sbcast", "srun", "strigger"}
"""Commands that wait for processes, which an engine alone does not have."""
REPEATING = ("-W", "--wait", "-i", "--it")
CONF = """\
ClusterName=tux
AccountingStorageType=accounting_storage/slurmdbd
HealthCheckNodeState=ANY
NodeName=n[1-4] CPUs=4 RealMemory=8000
PartitionName=main Nodes=n[1-4] Default=YES MaxTime=60
PartitionName=big Nodes=n[1-4] MinNodes=2
"""


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row more in the table of releases, and nothing else."""
    monkeypatch.setitem(releases.VERSIONS, MADE_UP, VERSION)


def lines(path: Path) -> Iterator[str]:
    """Each line that was typed in a session and needs neither a shell nor processes."""
    steps = json.loads(gzip.decompress(path.read_bytes()))["steps"]
    for line in dict.fromkeys(str(step.get("cmd") or "") for step in steps):
        words = [] if set(line) & SHELL else shlex.split(line)
        if words and words[0] in MODULES.keys() - WAITING and not any(word.startswith(REPEATING) for word in words):
            yield line


def answer(cluster: Cluster, line: str) -> str:
    """Exit code, output and errors, in the words of the newest release."""
    cluster.now += 1
    try:
        told = str(cluster.run(line))
    except SystemExit as left:
        told = f"exit {left.code}"
    newest = releases.VERSIONS[NEWEST].split(".")
    for name, ours, theirs in zip(("major", "minor", "micro"), VERSION.split("."), newest, strict=True):
        told = told.replace(f'"{name}": "{ours}"', f'"{name}": "{theirs}"')
    return told.replace(VERSION, releases.VERSIONS[NEWEST])


def test_it_is_a_release() -> None:
    assert releases.short(f"{MADE_UP}.1") == MADE_UP
    assert releases.version_line(MADE_UP, "debian") == f"slurm-wlm {VERSION}"
    check_release(MADE_UP)
    assert set(releases.RECORDED_RELEASES) < set(RELEASES)


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name.partition(".")[0])
def test_it_inherits_every_answer(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    clusters = []
    for release in (NEWEST, MADE_UP):
        (tmp_path / release).mkdir()
        clusters.append(Cluster(tmp_path / release, CONF, release=release))
    different = [line for line in lines(path) if len({answer(cluster, line) for cluster in clusters}) > 1]
    assert not different


def test_it_inherits_the_paths_of_rest() -> None:
    assert routes.served(MADE_UP) == routes.served(NEWEST) != ()
    made, newest = (openapi.specification(name, routes.PLUGINS, routes.served(name)) for name in (MADE_UP, NEWEST))
    assert made.keys() == newest.keys() and made["paths"] == newest["paths"] != {}


def test_it_inherits_the_words_of_the_newest_configuration() -> None:
    takes = Takes("X", "old@-24.11 new@24.11- always", "x")
    assert list(takes.allowed(MADE_UP)) == list(takes.allowed(NEWEST)) == ["x/new", "x/always"]
