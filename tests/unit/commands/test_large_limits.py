"""Limits of TRES larger than any amount: sacctmgr keeps them, up to the largest that Slurm has."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster

LARGEST = 18446744073709551600
WHAT = {
    "user": ("user alice where account=physics", "assoc user=alice account=physics", "MaxTRES"),
    "qos": ("qos long", "qos long", "GrpTRESMins"),
}


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    made = Cluster(tmp_path, release="26.05")
    for words in ("account physics", "user alice account=physics", "qos long"):
        made.text(f"sacctmgr -i add {words}")
    return made


@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize(("before", "change", "after"), [
    ("cpu=4", f"cpu={LARGEST},mem=2500", f"cpu={LARGEST},mem=2500M"),
    ("cpu=4,mem=2500", "cpu+=99999999999999999999999", f"cpu={LARGEST},mem=2500M"),
    (f"cpu={LARGEST}", "cpu+=1", f"cpu={LARGEST}"),
    (f"cpu={LARGEST}", "cpu-=600", f"cpu={LARGEST - 600}"),
    (f"cpu={LARGEST},node=3", "cpu=-1", "node=3"),
])  # fmt: skip
def test_a_large_limit_is_kept(cluster: Cluster, what: str, before: str, change: str, after: str) -> None:
    target, shown, limit = WHAT[what]
    for words in (before, change):
        cluster.text(f"sacctmgr -i modify {target} set {limit}={words}")
    assert cluster.text(f"sacctmgr -nP show {shown} format={limit}") == f"{after}\n"


def test_jobs_start_below_it(cluster: Cluster) -> None:
    cluster.text(f"sacctmgr -i modify user alice set MaxTRES=cpu={LARGEST} GrpTRESMins=cpu={LARGEST}")
    assert cluster.run("sbatch -n2 --wrap true", "alice")[0] == 0
    cluster.now += 60
    cluster.engine.network.advance(cluster.now)
    assert cluster.text("sacct -nX -o state -S now-1hours", "alice").split() == ["COMPLETED"]


def test_a_number_ends_before_what_is_no_unit(cluster: Cluster) -> None:
    code, _, error = cluster.run("sacctmgr -i modify user alice set MaxTRES=cpu=9e99")
    assert (code, error) == (0, "sacctmgr: error: Invalid unit type 'e'. Possible options are 'KMGTP'\n")
    assert cluster.text("sacctmgr -n -P show assoc user=alice format=maxtres").strip() == "cpu=9"
