"""``slurmsim up --gallery`` shows every state of jobs and nodes that the model has, in each release."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from slurmsim.cli import main
from slurmsim.live import gallery
from slurmsim.live.cluster import Cluster
from slurmsim.live.settings import Settings
from slurmsim.releases import RECORDED_RELEASES
from slurmsim.rest.metrics import Metrics
from slurmsim.states import COMPACT

JOBS = {*COMPACT, "COMPLETING", "CONFIGURING", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
NODES = {
    "idle", "allocated", "mixed", "completing", "planned", "reserved", "maint", "down", "down*", "drained", "draining",
    "fail", "failing", "mixed@", "reboot^", "idle~", "idle#", "idle%", "mixed#",
}  # fmt: skip
REASONS = {
    "Resources", "Priority", "Dependency", "DependencyNeverSatisfied", "BeginTime", "JobHeldUser", "JobHeldAdmin",
    "JobArrayTaskLimit", "Licenses", "PartitionDown", "PartitionTimeLimit",
}  # fmt: skip


DASHBOARD = Path(__file__).resolve().parents[2] / "docs" / "examples" / "grafana.json"


@pytest.mark.parametrize("release", RECORDED_RELEASES)
def test_all_states_are_there(tmp_path: Path, release: str) -> None:
    with Cluster(Settings(**gallery.settings_of(tmp_path), release=release)) as c:
        gallery.fill(c.folder)
        jobs, nodes = gallery.shown(c.folder)
        assert set(jobs) == JOBS and set(nodes) == NODES
        answer = Metrics(c.client).answer("/metrics", release)
        assert answer is not None
        there = set(re.findall(r"^(slurm_\w+)", answer.body.decode(), re.MULTILINE))
        assert {job.reason for job in c.jobs() if job.state == "PENDING"} >= REASONS
    asked = set(re.findall(r"slurm_\w+", " ".join(_expressions())))
    assert len(asked) > 30 and asked <= there, f"names that /metrics does not have: {asked - there}"


def _expressions() -> list[str]:
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def test_a_gallery_is_a_new_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "journal").write_text("")
    assert main(["up", "--gallery", "--nodes", "3", "--state", str(tmp_path)]) == 2
    assert main(["up", "--gallery", "--foreground", "--state", str(tmp_path / "new")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "slurmsim: error: --nodes: it does not go with --gallery (expected one or the other)"
    assert said[1].startswith("slurmsim: error: --gallery: it does not go with --foreground")
