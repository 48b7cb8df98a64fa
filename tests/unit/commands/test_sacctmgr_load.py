"""sacctmgr load: new users who differ in nothing but their name are one request, and get what they would get alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine_client import Cluster

from slurmsim.commands.sacctmgr.load_records import together
from slurmsim.protocol import MAX_REQUEST

FILE = """\
Cluster - 'tux'
Parent - 'root'
Account - 'physics':Description='p':Organization='o'
Account - 'chem':Description='c':Organization='o'
Parent - 'physics'
User - 'alice':DefaultAccount='chem':Fairshare=2
User - 'bob':DefaultAccount='physics':Fairshare=2
User - 'carol':DefaultAccount='physics':Fairshare=3
User - 'dave':DefaultAccount='physics':Fairshare=3
Parent - 'chem'
User - 'alice':DefaultAccount='chem':Fairshare=3
"""


def add(name: str, account: str = "a", settings: tuple[tuple[str, str, str], ...] = ()) -> dict[str, object]:
    return {
        "action": "add_user", "names": [name], "accounts": [account], "partitions": [""], "settings": list(settings),
    }  # fmt: skip


def test_what_is_one_request() -> None:
    other = {"action": "put_user", "object": "u", "admin_level": "None"}
    asked = [
        add("u"),
        add("v"),
        other,
        add("w"),
        add("x", "b"),
        add("y", "b", (("Fairshare", "", "2"),)),
        add("z", "b"),
    ]
    found = together(asked)
    assert [one.get("names") for one in found] == [["u", "v"], None, ["w"], ["x"], ["y"], ["z"]]
    assert [one["names"] for one in asked if one is not other] == [[name] for name in "uvwxyz"]


def test_hundred_thousands_fit_into_one_message() -> None:
    asked = [add(f"user{k:06}", f"account{k // 500}", (("Fairshare", "", "1"),)) for k in range(400_000)]
    assert len(json.dumps(together(asked))) < MAX_REQUEST


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_what_users_of_a_file_get(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, release=release)
    (tmp_path / "users.cfg").write_text(FILE)
    code, _, error = cluster.run(f"sacctmgr -i load {tmp_path}/users.cfg")
    assert code == 0, error
    (changes,) = [json.loads(text)["changes"] for _, name, _, text in cluster.asked if name == "account_change"]
    assert [one["names"] for one in changes if one["action"] == "add_user"] == [
        ["alice", "bob"], ["carol", "dave"], ["alice"]
    ]  # fmt: skip
    shown = cluster.text("sacctmgr -nP show assoc format=id,account,user,share").split()
    users = sorted(shown, key=lambda line: int(line.split("|")[0]))
    assert [line.split("|", 1)[1] for line in users if line.split("|")[2] not in ("", "root")] == [
        "physics|alice|2", "physics|bob|2", "physics|carol|3", "physics|dave|3", "chem|alice|3"
    ]  # fmt: skip
    defaults = cluster.text("sacctmgr -nP show user format=user,defaultaccount").split()
    assert defaults == ["alice|chem", "bob|physics", "carol|physics", "dave|physics", "root|root"]


# What a user's list of QOS is after `modify user set ...` and a load of a file with the other list, and what is told
# to be added: 22.05.8, 24.11.5 and 26.05.5 alike.
QOS_LOADED = [
    ("qos=high,low", "low,limited", "limited", "limited"),  # what is there already is lost
    ("qos=high,low", "low", None, "high,low"),
    ("qos=", "low,high", "high,low", "high,low"),
    ("qos+=high,low", "low,limited", "limited,low", "limited,low"),
    ("qos+=high,low", "+low,+limited", "+limited", "high,limited,low,normal"),
    ("qos=high,low", "+low,+limited", "+limited,+low", "high,limited,low"),
    ("qos=high,low", "-low,-high", "-high,-low", "normal"),
]


@pytest.mark.parametrize(("before", "loaded", "told", "after"), QOS_LOADED)
def test_qos_of_a_user_who_has_some(tmp_path: Path, before: str, loaded: str, told: str | None, after: str) -> None:
    cluster = Cluster(tmp_path)
    for words in ("qos high,low,limited", "account bio", "user dave account=bio"):
        cluster.text(f"sacctmgr -i add {words}")
    assert cluster.run(f"sacctmgr -i modify user dave set {before}")[2] == ""
    (tmp_path / "users.cfg").write_text(
        "Cluster - 'tux'\nParent - 'root'\nAccount - 'bio'\nParent - 'bio'\n"
        f"User - 'dave':DefaultAccount='bio':QOS='{loaded}'\n"
    )
    out = cluster.run(f"sacctmgr -i load {tmp_path}/users.cfg")[1]
    assert [line.split()[-1] for line in out.splitlines() if line.startswith(" Added QOS")] == ([told] if told else [])
    assert cluster.text("sacctmgr -nP show assoc user=dave format=qos") == f"{after}\n"


GPUS = """\
ClusterName=tux
SlurmctldHost=head
SelectType=select/cons_tres
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageTRES=gres/gpu,gres/gpu:a100
GresTypes=gpu
NodeName=n1 CPUs=4 Gres=gpu:a100:2
PartitionName=batch Nodes=ALL Default=YES
"""


@pytest.mark.parametrize(("release", "code", "limit"), [("26.05", 0, "gres/gpu:a100=1"), ("24.11", 1, "")])
def test_types_of_tres_in_a_file(tmp_path: Path, release: str, code: int, limit: str) -> None:
    cluster = Cluster(tmp_path, GPUS, release=release)
    (tmp_path / "qos.cfg").write_text(
        "QOS - 'q':Description='q':MaxTRESPerUser=gres/gpu:a100=1:Priority=7\nCluster - 'tux'\nParent - 'root'\n"
    )
    assert cluster.run(f"sacctmgr -i load {tmp_path}/qos.cfg")[0] == code
    shown = cluster.text("sacctmgr -nP show qos q format=maxtrespu,priority")
    assert shown == (f"{limit}|7\n" if limit else "")
