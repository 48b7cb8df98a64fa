"""PrivateData, word by word: what a user, a coordinator, an operator and root see, as recorded of real Slurm.

Recordings of all words at once are in `tests/differential/test_asked` (`private`, `privateacts`, `privateusage`).
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "commands"))
from engine_client import PEOPLE, Cluster

from slurmsim.protocol import Refusal

CONF = """ClusterName=tux
SlurmctldHost=head
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations
PriorityType=priority/multifactor
PriorityWeightAge=1000
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-4] CPUs=4
PartitionName=batch Nodes=ALL Default=YES MaxTime=1-0
PrivateData=
"""
ACCOUNTS = """add cluster tux
add account physics,chem
add account sub parent=chem
add user alice account=physics
add user bob account=sub
add user carol account=chem
add user dave account=chem adminlevel=operator
add coordinator account=chem name=carol
"""
USERS = ("alice", "bob", "carol", "dave")
DENIED = "Access/permission denied"
JOBS = ("jobs", "steps", "sprio", "sacct", "every_job")
ALL_JOBS = {"alice", "bob", "carol"}


def private(folder: Path, words: str, release: str = "26.05") -> Cluster:
    """A cluster with a job of alice, bob and carol each that runs, and one that waits."""
    cluster = Cluster(folder, CONF.replace("PrivateData=", f"PrivateData={words}"), accounting=ACCOUNTS,
                      release=release, users=USERS)  # fmt: skip
    for n_nodes, shared in ((1, "ok"), (4, "none")):
        for name in ("alice", "bob", "carol"):
            person = cluster.engine.people.by_name(name)
            job = {"name": "j", "script": "#!/bin/sh\nsleep 99\n", "work_dir": "/tmp", "time_limit": 10,
                   "min_nodes": n_nodes, "shared": shared}  # fmt: skip
            cluster.call("submit", person, {"job": job})
    cluster.now += 60
    cluster.engine.network.advance(cluster.now)
    return cluster


def seen(cluster: Cluster, what: str, user: str) -> set[str]:
    """The users of the jobs, records or associations that `user` sees."""
    if what == "every_job":
        person = cluster.engine.people.by_name(user)
        return set(
            cluster.call("every_job", PEOPLE.get(user, person), {"fields": ["user_name"]})["columns"]["user_name"]
        )
    command = {
        "jobs": "squeue -h -o %u", "steps": "squeue -s -h -o %u", "sprio": "sprio -h -o %u",
        "sacct": "sacct -a -X -n -P -o user", "sshare": "sshare -a -h -P -o user",
        "assoc": "sacctmgr -n -P show assoc format=user", "users": "sacctmgr -n -P show user format=user",
        "assoc_mgr": "scontrol -o show assoc_mgr flags=assoc",
    }[what]  # fmt: skip
    _, out, _ = cluster.run(command, user)
    if what == "assoc_mgr":
        return {name for name in USERS if f"UserName={name}(" in out}
    return {word for line in out.splitlines() for word in [line.strip(" |")] if word and word != "root"}


@pytest.mark.parametrize("release", ["22.05", "26.05"])
def test_jobs_are_seen_by_their_owner_coordinator_and_operators(tmp_path: Path, release: str) -> None:
    cluster = private(tmp_path, "jobs", release)
    for what in JOBS:
        assert seen(cluster, what, "alice") == {"alice"}, what
        assert seen(cluster, what, "carol") == {"bob", "carol"}, what  # bob's account is below hers
        for user in ("dave", "root"):
            assert seen(cluster, what, user) == ALL_JOBS, what
    assert cluster.run("squeue -h -j 2", "alice")[2] == "slurm_load_jobs error: Invalid job id specified\n"
    assert cluster.run("scontrol show job 2", "alice")[2] == "slurm_load_jobs error: Invalid job id specified\n"
    assert "JobId=2" in cluster.text("scontrol show job 2", "carol")
    assert "not found" in cluster.run("scontrol show step 2.batch", "alice")[1]
    assert len(cluster.text("sinfo -h -N", "alice").splitlines()) == 4
    with pytest.raises(Refusal, match=DENIED):
        cluster.call("job_counts", PEOPLE["alice"], {})
    with pytest.raises(Refusal, match=DENIED):
        cluster.call("step_layout", PEOPLE["alice"], {"job_id": 2, "step_id": 0})


@pytest.mark.parametrize("words", ["none", "cloud", "users", "usage", "nodes", "events,accounts"])
def test_other_words_hide_no_jobs(tmp_path: Path, words: str) -> None:
    cluster = private(tmp_path, words)
    for what in JOBS:
        assert seen(cluster, what, "alice") == ALL_JOBS, what


def test_nodes_and_partitions_are_refused_as_a_whole(tmp_path: Path) -> None:
    for words, command, error in (
        ("nodes", "scontrol show node n1", f"slurm_load_node error: {DENIED}\n"),
        ("nodes", "sinfo", f"slurm_load_node: {DENIED}\n"),
        ("nodes", "squeue -w n1", f"slurm_load_node error: {DENIED}\n"),
        ("nodes", "scontrol --json show nodes", f"slurm_load_node error: {DENIED}\n"),
        ("partitions", "scontrol show partition", f"slurm_load_partitions error: {DENIED}\n"),
        ("partitions", "sinfo", f"slurm_load_partitions: {DENIED}\n"),
        ("partitions", "scontrol show node n1", f"slurm_load_partitions error: {DENIED}\n"),
    ):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        cluster = private(folder, words)
        for user in ("alice", "carol"):  # a coordinator is no operator
            assert cluster.run(command, user)[::2] == (1, error), command
        assert cluster.run(command, "dave")[0] == 0, command
        assert cluster.run("sbatch --wrap true", "alice")[0] == 0
    code, out, error = cluster.run("squeue -h -o %i", "alice")
    assert (code, error) == (0, f"slurm_load_partitions: {DENIED}\n") and out


def test_addresses_of_nodes_are_told_to_everyone(tmp_path: Path) -> None:
    assert private(tmp_path, "nodes").text("scontrol getaddrs n1", "alice").startswith("n1: ")


@pytest.mark.parametrize(
    ("words", "what", "user", "expected"),
    [
        ("usage", "sshare", "alice", {"physics|alice"}), ("usage", "assoc_mgr", "alice", {"alice"}),
        ("usage", "assoc_mgr", "carol", {"bob", "carol", "dave"}), ("usage", "assoc_mgr", "dave", set(USERS)),
        ("usage", "assoc", "alice", set(USERS)), ("usage", "users", "alice", set(USERS)),
        ("users", "assoc", "alice", {"alice"}), ("users", "assoc", "carol", {"bob", "carol", "dave"}),
        ("users", "assoc", "dave", set(USERS)), ("users", "users", "alice", {"alice"}),
        ("users", "users", "carol", {"carol"}), ("users", "users", "root", set(USERS)),
        ("users", "assoc_mgr", "alice", set(USERS)),
    ],
)  # fmt: skip
def test_users_and_usage(tmp_path: Path, words: str, what: str, user: str, expected: set[str]) -> None:
    found = seen(private(tmp_path, words), what, user)
    if what == "sshare":
        found, expected = {one for one in found if "alice" in one or "bob" in one}, {"alice"}
    assert found == expected


@pytest.mark.parametrize(
    ("words", "kind", "alice", "carol"),
    [("accounts", "account format=account", None, "chem\nsub\n"), ("events", "event format=nodename", None, None),
     ("reservations", "reservation format=name", None, None)],
)  # fmt: skip
def test_lists_of_the_database(tmp_path: Path, words: str, kind: str, alice: str | None, carol: str | None) -> None:
    cluster = private(tmp_path, words)
    said = f"sacctmgr: error: {DENIED}\n"
    for user, expected in (("alice", alice), ("carol", carol)):
        code, out, error = cluster.run(f"sacctmgr -n -P show {kind}", user)
        assert (code, out) == ((1, "") if expected is None else (0, expected))
        assert error.startswith(said) if expected is None else not error
    for user in ("dave", "root"):
        assert cluster.run(f"sacctmgr -n -P show {kind}", user)[0] == 0


def test_accounts_above_ones_own_are_hidden_since_24_11(tmp_path: Path) -> None:
    asked = "sacctmgr -n -P show assoc format=account,user"
    for release, expected in (("22.05", "root|\nphysics|\nphysics|alice\n"), ("24.11", "physics|alice\n")):
        (tmp_path / release).mkdir()
        assert private(tmp_path / release, "users", release).text(asked, "alice") == expected
