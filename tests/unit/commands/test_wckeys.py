"""WCKeys of users in sacctmgr: made with the user, listed, and gone with the user."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine_client import Cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    made = Cluster(tmp_path, release="26.05")
    made.text("sacctmgr -i add account physics")
    return made


def rows(cluster: Cluster, words: str = "") -> list[str]:
    return cluster.text(f"sacctmgr -nP list wckey {words}").splitlines()


def test_a_user_may_have_a_wckey_and_no_account(cluster: Cluster) -> None:
    told = cluster.text("sacctmgr -i create user alice cluster=tux wckey=blue")
    assert told.startswith(" Adding User(s)\n  alice\n Settings\n")
    assert told.endswith(" Wckey(s)\n  C = tux        W = blue       U = alice    \n")
    assert rows(cluster) == ["blue|tux|alice"]
    assert cluster.text("sacctmgr -nP list user alice format=user,defaultaccount") == "alice|\n"


def test_the_default_wckey_is_one_of_them(cluster: Cluster) -> None:
    cluster.text("sacctmgr -i add user alice account=physics wckey=blue,red defaultwckey=green")
    assert rows(cluster, "format=users,names") == ["alice|blue", "alice|green", "alice|red"]
    assert cluster.text("sacctmgr -nP list user alice format=user,defaultwckey,defaultaccount") == (
        "alice|green|physics\n"
    )


def test_known_wckeys_are_nothing_new(cluster: Cluster) -> None:
    cluster.text("sacctmgr -i add user alice wckey=blue")
    code, told, _ = cluster.run("sacctmgr -i add user alice wckey=blue")
    assert (code, "affect anything" in told) == (1, True)
    cluster.text("sacctmgr -i add user alice,bob wckey=blue")
    assert rows(cluster, "users=bob") == ["blue|tux|bob"]


def test_columns_of_the_list(cluster: Cluster) -> None:
    cluster.text("sacctmgr -i add user alice wckey=blue")
    assert cluster.text("sacctmgr list wckey format=w,cl,id,u%6 name=blue").splitlines()[0] == (
        "     WCKey    Cluster     ID   User "
    )
    assert rows(cluster, "name=red") == []


def test_wckeys_as_a_document(cluster: Cluster) -> None:
    cluster.text("sacctmgr -i add user alice wckey=blue")
    found = json.loads(cluster.text("sacctmgr --json show wckeys"))["wckeys"]
    assert [(one["name"], one["user"], one["cluster"]) for one in found] == [("blue", "alice", "tux")]


def test_others_see_an_empty_document_and_an_error(cluster: Cluster) -> None:
    code, told, error = cluster.run("sacctmgr --json show wckeys", "alice")
    assert (code, json.loads(told)["wckeys"]) == (0, [])
    assert "privilege" in error
    assert cluster.run("sacctmgr show wckeys", "alice")[0] == 1


def test_operators_alone_make_wckeys(cluster: Cluster) -> None:
    assert cluster.run("sacctmgr -i add user bob wckey=blue", "alice")[0] == 1
    assert rows(cluster) == []


def test_wckeys_are_made_again_by_the_journal(cluster: Cluster) -> None:
    cluster.text("sacctmgr -i add user alice wckey=blue defaultwckey=red")
    assert cluster.again().database.wckeys == cluster.engine.database.wckeys
    assert set(cluster.engine.database.wckeys) == {("blue", "alice"), ("red", "alice")}


def test_a_wckey_is_deleted_and_its_user_stays(cluster: Cluster) -> None:
    """As 26.05.5 did in a recording."""
    cluster.text("sacctmgr -i add user alice,bob account=physics wckey=blue")
    title, line = " Deleting user WCKeys...\n", "  C = tux        W = blue                 U = {:<9}\n"
    assert cluster.run("sacctmgr -i del user alice wckey=none") == (1, " Nothing deleted\n", "")
    assert cluster.text("sacctmgr -i del user alice wckey=blue") == title + line.format("alice")
    assert rows(cluster) == ["blue|tux|bob"]
    assert cluster.text("sacctmgr -nP list assoc where user=alice format=account") == "physics\n"
    assert "W = blue       U = alice" in cluster.text("sacctmgr -i add user alice wckey=blue")
    assert cluster.text("sacctmgr -i del user wckey=blue") == title + line.format("alice") + line.format("bob")
    assert rows(cluster) == []
