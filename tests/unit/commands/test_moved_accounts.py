"""An account that is put below one of its own: as 22.05.8, 24.11.5 and 26.05.5 move it."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import CONF, Cluster

from slurmsim.releases import RECORDED_RELEASES

ACCOUNTS = "top root, mid top, low mid, low2 low, side mid"


@pytest.fixture(params=RECORDED_RELEASES)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Cluster:
    conf = "AccountingStorageType=accounting_storage/slurmdbd\n" + CONF
    cluster = Cluster(tmp_path, conf, storage="slurmdbd", release=request.param)
    for one in ACCOUNTS.split(", "):
        name, parent = one.split()
        cluster.text(f"sacctmgr -i add account {name} parent={parent}")
    return cluster


def parents(cluster: Cluster) -> str:
    rows = cluster.text("sacctmgr -nP show assoc where user= format=account,parentname").splitlines()
    found = dict(row.split("|") for row in rows)
    return ", ".join(f"{name} {found[name]}" for name in ("top", "mid", "low", "low2", "side"))


def test_the_new_parent_takes_the_place_of_the_account_first(cluster: Cluster) -> None:
    told = cluster.text("sacctmgr -i modify account mid set parent=low")
    if cluster.release == "26.05":
        assert "is a child of mid on cluster" in told
        assert parents(cluster) == ACCOUNTS
        return
    assert parents(cluster) == "top root, mid low, low top, low2 low, side mid"
    lines = [line.split(" A = ")[1].split() for line in told.splitlines() if " A = " in line]
    others = [["low"], ["side"], ["side"]] if cluster.release == "24.11" else []
    assert lines == [["mid", "of", "top"], *others]


def test_what_is_below_the_new_parent_goes_with_it(cluster: Cluster) -> None:
    if cluster.release == "26.05":
        assert "is a child of top" in cluster.text("sacctmgr -i modify account top set parent=low")
        return
    cluster.text("sacctmgr -i modify account top set parent=low")
    assert parents(cluster) == "top low, mid top, low root, low2 low, side mid"
