"""Rows of a job that gets another size, or is requeued: which row sacct shows, and what it says of the first one."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.commands.engine_client import CONF, Cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """Job 1 runs on two nodes."""
    made = Cluster(tmp_path, CONF, release="26.05")
    for line in ("account phys", "user alice account=phys"):
        made.text(f"sacctmgr -iQ add {line}")
    made.submit(min_nodes=2, seconds=900, requeue=True)
    made.now += 10
    made.text("squeue")
    return made


def rows(cluster: Cluster, fields: str, *more: str) -> list[list[str]]:
    return [line.split("|") for line in cluster.text(f"sacct -nPX -j 1 -o {fields} {' '.join(more)}").splitlines()]


def test_each_size_has_a_row_that_begins_with_it(cluster: Cluster) -> None:
    ((first,),) = rows(cluster, "sluid")
    cluster.text("scontrol update jobid=1 numnodes=1")
    cluster.now += 20
    cluster.text("scancel 1")
    cluster.now += 5
    (resized, last) = rows(cluster, "state,nnodes,submit,start,elapsed,sluid,originalsluid")
    assert resized[:2] == ["RESIZING", "2"] and resized[5:] == [first, first]
    assert last[1:5] == ["1", "2026-01-05T08:00:10", "2026-01-05T08:00:10", "00:00:20"]
    assert last[0].startswith("CANCELLED") and last[5] != first and last[6] == first
    assert cluster.text("sacct -nPX -j 1 -D -o nnodes").split() == ["2", "1"]


def test_a_requeue_begins_anew(cluster: Cluster) -> None:
    ((first,),) = rows(cluster, "sluid")
    cluster.text("scontrol requeue 1")
    cluster.now += 5
    ((now, original),) = rows(cluster, "sluid,originalsluid")
    assert now == original != first
