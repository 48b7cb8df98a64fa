"""The configurations of the recordings of real Slurm all read without an error."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from slurmsim.config.load import load_cluster, parse_cluster

GOLDEN = os.environ.get("SLURMSIM_GOLDEN", "")
needs_recordings = pytest.mark.skipif(not GOLDEN, reason="set SLURMSIM_GOLDEN to the folder with the recordings")


@needs_recordings
def test_files() -> None:
    paths = sorted(Path(GOLDEN).rglob("slurm.conf"))
    assert paths
    for path in paths:
        cluster, findings = load_cluster(path)
        assert cluster.nodes and cluster.partitions
        assert {finding.severity for finding in findings} <= {"warning", "note"}


@needs_recordings
def test_configurations_inside_recordings() -> None:
    paths = sorted(path for path in Path(GOLDEN, "replay").glob("*.json") if "workload" not in path.name)
    assert paths
    for path in paths:
        lines = json.loads(path.read_text("utf-8"))["slurm_conf"]
        cluster, findings = parse_cluster(lines, path.name)
        assert len(cluster.nodes) == 24
        assert {finding.severity for finding in findings} <= {"warning", "note"}
