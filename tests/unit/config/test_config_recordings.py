"""The configurations of the recordings of real Slurm all read without an error."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from slurmsim.config.accounting.load import load_accounting
from slurmsim.config.load import load_cluster, parse_cluster
from slurmsim.duration import format_duration
from slurmsim.tres import format_tres

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


@needs_recordings
def test_accounting_of_the_recordings() -> None:
    """What the commands of conf/sacctmgr.txt set up is what sshare and sacctmgr then show."""
    accounting = load_accounting([Path(GOLDEN, "conf", "sacctmgr.txt")], cluster="oracle")
    steps = json.loads(Path(GOLDEN, "accounting.json").read_text("utf-8"))["steps"]
    printed = {step["cmd"]: step["stdout"].splitlines() for step in steps if "stdout" in step}
    shares = [line.split("|")[:3] for line in printed["sshare -o account,user,rawshares,fairshare -a -P"][1:]]
    found = sorted([a.account, a.user, str(a.shares)] for a in accounting.associations)
    assert sorted([account.strip(), user, raw or "1"] for account, user, raw in shares) == found
    rows = printed["sacctmgr -P -n show qos format=name,priority,maxwall,maxjobspu,maxsubmitpu,maxtrespu,grptres"]
    assert rows == [
        "|".join([
            q.name, str(q.priority), "" if q.limits.max_wall_s is None else format_duration(q.limits.max_wall_s),
            *("" if n is None else str(n) for n in (q.max_jobs_pu, q.max_submit_pu)),
            format_tres(q.max_tres_pu), format_tres(q.limits.grp_tres),
        ])
        for q in accounting.qos
    ]  # fmt: skip
