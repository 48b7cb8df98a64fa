"""strigger, sbcast and sacctmgr archive: what real Slurm complains of, it complains of here, before a refusal by name.

``recorded_refusals.txt`` has a line a command: release, command, exit code and what was written.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine_client import Cluster

LINES = (Path(__file__).parent / "recorded_refusals.txt").read_text("utf-8").splitlines()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    made = Cluster(tmp_path_factory.mktemp("refusals"))
    for words in ("account physics", "user alice account=physics"):
        made.run(f"sacctmgr -i add {words}")
    made.submit("alice")
    made.now += 5
    return made


@pytest.mark.parametrize("line", LINES)
def test_wrong_words_are_refused_as_real_slurm_refuses_them(cluster: Cluster, line: str) -> None:
    release, command, code, text = (part.strip() for part in line.split(" | ", 3))
    cluster.release = release
    assert cluster.run(command) == (int(code), "", json.loads(text))


def test_events_of_nodes_that_are_back_are_told(cluster: Cluster) -> None:
    """As real Slurm tells them since the day before."""
    for words in ("state=down reason=disk", "state=resume"):
        assert cluster.run(f"scontrol update nodename=n2 {words}")[0] == 0
        cluster.now += 60
    (event,) = cluster.text("sacctmgr -nP show event event=node").splitlines()
    assert event == "tux|n2|2026-01-05T08:00:05|2026-01-05T08:01:05|DOWN|disk|root(0)"
    assert cluster.text("sacctmgr -nP show event event=node start=2026-01-05T09:00") == ""
