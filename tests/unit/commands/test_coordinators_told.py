"""What sacctmgr says to coordinators, of problems, and in a dump: answers of real slurmdbd 22.05, 24.11 and 26.05."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster
from test_reported import RELEASES, WITH_QOS

ACCOUNTS = """\
add cluster tux
add account physics,chem
add user alice account=physics
add user bob account=chem
add coordinator account=chem name=bob
modify account physics set grptres=cpu=100,mem=2000000
modify user alice set maxtres=mem=4G,node=2
modify qos normal set grptres=mem=1T
"""
USER = " error: Problem adding user associations: Access/permission denied"
HERE = "Your user doesn't have privilege to perform this action\n"
NOBODY = "Only admins/operators/coordinators can add accounts"
LEVEL = "Only admins/operators can add an admin/operator"


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_a_coordinator_is_told_otherwise_than_others(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, WITH_QOS, accounting=ACCOUNTS, release=release)
    asked = {
        "add account s parent=physics": f" error: {HERE}\n",
        "add user zed account=physics": f"{USER} ({HERE})\n" if release == "26.05" else f"{USER}\n",
        "add user zed account=chem adminlevel=operator": f"{USER} ({LEVEL})\n" if release == "26.05" else f"{USER}\n",
    }
    for words, error in asked.items():
        assert cluster.run(f"sacctmgr -i {words}", "bob") == (1, "", error), words
    assert cluster.run("sacctmgr -i add account s parent=physics", "alice") == (1, "", f" error: {NOBODY}\n")
    why = f" ({NOBODY})" if release == "26.05" else ""
    assert cluster.run("sacctmgr -i add user zed account=physics", "alice") == (1, "", f"{USER}{why}\n")


@RELEASES
def test_accounts_without_users(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, WITH_QOS, accounting=ACCOUNTS, release=release)
    cluster.text("sacctmgr -i add account empty parent=physics")
    cluster.text("sacctmgr -i add account nested parent=empty")
    both = ["tux|nested||Account has no users"]
    if release != "22.05":
        both.insert(0, "tux|empty||Account has no users")
    assert cluster.text("sacctmgr -nP show problem").splitlines() == both
    assert cluster.text("sacctmgr -nP show problem account=empty").splitlines() == both[:-1]


@RELEASES
def test_a_dump_tells_memory_in_the_unit_that_divides_it_and_is_loaded_again(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, WITH_QOS, accounting=ACCOUNTS, release=release)
    path = tmp_path / "tux.cfg"
    cluster.run(f"sacctmgr dump tux file={path}")
    text = path.read_text("utf-8")
    assert "GrpTRES=cpu=100,mem=2000000M" in text
    assert "MaxTRESPerJob=mem=4G,node=2" in text
    assert ("GrpTRES=mem=1T" in text) == (release == "26.05")
    cluster.run("sacctmgr -i modify account physics set grptres=mem=-1")
    assert cluster.run(f"sacctmgr -i load {path}")[0] == 0
    assert "mem=2000000M" in cluster.text("sacctmgr -nP show assoc where account=physics format=grptres")


@RELEASES
def test_users_of_an_account_in_the_order_of_the_database(tmp_path: Path, release: str) -> None:
    """Since 24.11 by lineage; before by the tree, in which the last child comes first."""
    users = "add user carol account=chem\n"
    cluster = Cluster(tmp_path, WITH_QOS, accounting=ACCOUNTS + users, release=release, users=("alice", "bob", "carol"))
    rows = cluster.text("sacctmgr -nP show account chem withassoc format=account,user").splitlines()
    assert rows == ["chem|", *(["chem|carol", "chem|bob"] if release == "22.05" else ["chem|bob", "chem|carol"])]
