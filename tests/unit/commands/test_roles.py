"""Who may do what in scontrol, scancel and sacctmgr: the table that was recorded from real Slurm, role by role."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from engine_client import Cluster

CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=enable_user_top
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos
PriorityType=priority/multifactor
NodeName=n[1-8] CPUs=8
PartitionName=main Nodes=ALL Default=YES MaxTime=60
PartitionName=off Nodes=n[7-8] MaxTime=INFINITE
"""
ACCOUNTS = """\
add cluster tux
add qos q30,q90
add account acc,other
add account sub parent=acc
add user alice,bob,carol,dave Account=acc,other
add user eve,frank Account=acc
add user gina Account=other
modify user where name=alice,bob,carol,dave set qos=normal,q30,q90 DefaultQOS=normal
modify user bob set adminlevel=operator
modify user dave set adminlevel=administrator
add coordinator account=acc names=carol
"""
JOBS = (
    "-H -A acc", "-H -A other", "-A acc -w n1", "-A other -w n2", "-A acc -b now+3600", "-A other -b now+3600",
)  # fmt: skip
"""Of dave, an administrator: 1, 3 and 5 in the account that carol coordinates, 2, 4 and 6 in another."""
USERS = ("alice", "bob", "carol", "dave")
ROLES = ("alice", "carol", "bob", "dave")
"""A user, a coordinator, an operator, an administrator: the columns of the table."""
TEXTS = {
    "U": "Invalid user id", "D": "Access/permission denied", "N": "Permission denied",
    "P": "user doesn't have privilege to perform this action", "-": "",
}  # fmt: skip
TABLE = [line.split(maxsplit=4) for line in Path(__file__).with_name("roles.txt").read_text("utf-8").splitlines()]
"""For each role + (it may) or how it is refused, and the command; 22.05.8, the last column and all else 26.05.5."""
ELSEWHERE = {
    "scontrol update jobid=1 admincomment=x": {"alice": "U"},
    "scontrol update jobid=2 admincomment=x": {"alice": "U", "carol": "U"},
    "scontrol suspend 3": {"carol": "+"},
    "scontrol resume 3": {"carol": "+"},
    "sacctmgr -i add account mine1": {"alice": "-", "carol": "-"},
    "sacctmgr -i add account mine2 parent=acc": {"alice": "-"},
    "sacctmgr -i add account mine3 parent=sub": {"alice": "-"},
    "sacctmgr -i add user nobody account=other": {"carol": "-"},
    "sacctmgr -i modify account sub set parent=root": {"carol": "P"},
    "sacctmgr -i modify user ME set defaultaccount=other": {"carol": "-"},
    "sacctmgr -i modify user ME set fairshare=9": {"alice": "-"},
    "sacctmgr -i modify user ME where account=acc set maxjobs=9": {"alice": "-"},
}
"""What 26.05 answers otherwise."""


def made(folder: Path, release: str) -> Cluster:
    cluster = Cluster(folder, CONF, accounting=ACCOUNTS, release=release, users=USERS)
    for options in JOBS:
        cluster.run(f"sbatch {options} -t 30 --wrap 'sleep 600'", "dave")
    cluster.text(
        "scontrol create reservation reservationname=res starttime=now+7200 duration=30 users=alice nodes=n[1-2]"
    )
    cluster.now += 5
    return cluster


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("release", ["22.05", "26.05"])
def test_who_may_do_what(tmp_path: Path, release: str, role: str) -> None:
    cluster = made(tmp_path, release)
    wrong = []
    for *marks, command in TABLE:
        mark = marks[ROLES.index(role)]
        if release == "26.05":
            mark = ELSEWHERE.get(command, {}).get(role, mark)
        code, out, error = cluster.run(re.sub(r"\bME\b", role, command), role)
        if (mark == "+") != (code == 0) or TEXTS.get(mark, "") not in error:
            wrong.append((command, mark, code, out, error))
    assert wrong == []


def test_an_operator_gives_no_level_that_is_not_his(tmp_path: Path) -> None:
    cluster = made(tmp_path, "22.05")
    assert cluster.run("sacctmgr -i add user games account=acc adminlevel=administrator", "bob")[0] == 1
    told = cluster.run("sacctmgr -i modify user eve set adminlevel=operator", "bob")
    super_user = "sacctmgr: error: You must be a super user to modify a users admin level\n"
    assert told == (1, "", f"{super_user} Error with request: Access/permission denied\n")


@pytest.mark.parametrize("role", ROLES)
def test_only_administrators_dump_a_cluster(tmp_path: Path, role: str) -> None:
    cluster = made(tmp_path, "22.05")
    code, _, error = cluster.run(f"sacctmgr dump tux file={tmp_path}/dump", role)
    refused = " Your user does not have sufficient privileges to dump clusters.\n"
    assert (code, error == refused, (tmp_path / "dump").exists()) == (
        (0, False, True) if role == "dave" else (1, True, False)
    )


def test_a_coordinator_deletes_what_is_below_his_accounts(tmp_path: Path) -> None:
    cluster = made(tmp_path, "22.05")
    code, out, error = cluster.run("sacctmgr -i delete user gina account=other", "carol")
    assert (code, out) == (1, " Nothing deleted\n")
    assert error == "sacctmgr: accounting_storage/slurmdbd: acct_storage_p_remove_assocs: No error\n"
    code, out, _ = cluster.run("sacctmgr -i delete user frank account=acc", "carol")
    assert (code, out.splitlines()[1]) == (0, "  C = tux        A = acc        U = frank    ")


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_a_coordinator_who_names_no_association_changes_nothing(tmp_path: Path, release: str) -> None:
    cluster = made(tmp_path, release)
    nothing = {
        "22.05": (1, " Nothing modified\n", ""),
        "24.11": (1, "", "sacctmgr: error: Request didn't affect anything\n"
                  " Error with request: Data has not changed since time specified\n"),
        "26.05": (1, " Modified user associations...\n  Nothing modified\n", ""),
    }[release]  # fmt: skip
    for where in ("user alice where account=nope", "user nobody where account=acc"):
        assert cluster.run(f"sacctmgr -i modify {where} set maxjobs=4", "carol") == nothing
        assert cluster.run(f"sacctmgr -i delete {where.replace(' where', '')}", "carol") == (
            1,
            " Nothing deleted\n",
            "",
        )


def test_ping_is_answered_since_24_11(tmp_path: Path) -> None:
    cluster = made(tmp_path, "22.05")
    assert cluster.run("sacctmgr ping") == (1, "", "invalid keyword: ping\n")
    cluster.release = "24.11"
    assert cluster.run("sacctmgr ping", "alice") == (0, "slurmdbd(primary) at localhost is UP\n", "")
    assert cluster.run("sacctmgr --json ping")[0] == 1  # refused by name


def test_associations_of_users_come_by_name_before_24_11(tmp_path: Path) -> None:
    """Down the tree that the rows make alone; those of one user as in the database's tree, the last account first."""
    cluster = made(tmp_path, "22.05")
    cluster.text("sacctmgr -i add account zoo")
    for user in ("alice", "bob"):
        cluster.text(f"sacctmgr -i add user {user} account=zoo")
    by_name = "".join(f"{account}|{user}\n" for user in ("alice", "bob") for account in ("zoo", "other", "acc"))
    rows = cluster.text("sacctmgr -n -P show assoc where user=bob,alice format=account,user")
    assert rows == by_name
    rows = cluster.text("sacctmgr -n -P show user where name=bob,alice withassoc format=account,user")
    assert rows == by_name
    rows = cluster.text("sacctmgr -n -P show assoc where account=zoo,root format=account,user")
    assert rows.splitlines()[-3:] == ["zoo|", "zoo|alice", "zoo|bob"]
    cluster.text("sacctmgr -i modify qos normal set maxjobs=4")  # of a user
    assert cluster.text("sacctmgr -n -P show qos normal format=maxjobspu") == "4\n"
