"""Tasks of arrays that backfill starts where jobs have whole nodes: their ids are wider than a kernel's numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import CONF, Cluster

WHOLE = CONF.replace("n[1-2]", "n[1-3]").replace("associations,limits,qos", "none").replace(
    "Nodes=ALL", "Nodes=ALL OverSubscribe=EXCLUSIVE"
)  # fmt: skip


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_backfill_starts_tasks_one_after_the_other(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, WHOLE, release=release)
    asked = ("-N2 -t 100 --wrap 'sleep 6000'", "-N3 -t 60 --wrap 'sleep 600'", "-N1 -t 5 -a 1-3 --wrap 'sleep 200'")
    for options in asked:
        assert cluster.run(f"sbatch {options}", "alice")[0] == 0
    for _ in range(100):
        cluster.now += 10
        cluster.engine.network.advance(cluster.now)
    told = cluster.text("sacct -X -n -P -a -o jobid,state,nodelist").splitlines()
    assert told[:2] == ["1|RUNNING|n[1-2]", "2|PENDING|None assigned"]
    assert sorted(told[2:]) == [f"3_{task}|COMPLETED|n3" for task in (1, 2, 3)]
