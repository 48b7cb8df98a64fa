"""What operators are answered where releases differ: counts of tasks, new parents, reservations of odd shapes."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster

CONF = """ClusterName=c
SlurmctldHost=head
AccountingStorageType=accounting_storage/slurmdbd
Licenses=matlab:4
NodeName=n[1-4] CPUs=8 RealMemory=8000
PartitionName=p Nodes=ALL Default=YES MaxTime=60
"""
ACCOUNTS = """add cluster c
add account chem
add account below parent=chem
add account deeper parent=below
add account other
add user alice account=chem
add user root account=other
"""
RELEASES = ("22.05", "24.11", "26.05")


def cluster_of(folder: Path, release: str) -> Cluster:
    return Cluster(folder, CONF, accounting=ACCOUNTS, release=release)


@pytest.mark.parametrize(("release", "cpus"), [("22.05", "2"), ("24.11", "5"), ("26.05", "5")])
def test_an_update_of_tasks_reaches_cpus(release: str, cpus: str, tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, release)
    cluster.text("sbatch -H -n2 --mem=100 --wrap true")
    cluster.text("scontrol update job 1 numtasks=5")
    assert cluster.text("squeue -h -o '%C' -j 1").split() == [cpus]
    assert f"cpu={cpus},mem=100M" in cluster.text("scontrol show job 1")


@pytest.mark.parametrize("release", RELEASES)
def test_features_of_clusters_are_shown_and_change_nothing(release: str, tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, release)
    cluster.text("sbatch --cluster-constraint=big --wrap 'sleep 9'")
    assert cluster.text("squeue -h -O clusterfeature").split() == ["big"]
    assert "ClusterFeatures=big" in cluster.text("scontrol show job 1")


@pytest.mark.parametrize(
    ("release", "told"),
    [
        ("22.05", ["chem of root"]),
        ("24.11", ["chem of root", "below", "deeper", "chem U = alice", "below", "deeper"]),
        ("26.05", ["chem of root", "chem U = alice", "below", "deeper"]),
    ],
)
def test_a_moved_account_is_told_with_what_is_below_it(release: str, told: list[str], tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, release)
    head, *lines = cluster.text("sacctmgr -i modify account chem set parent=other").splitlines()
    assert head == " Modified account associations..."
    assert [" ".join(line.partition("A = ")[2].split()) for line in lines] == told
    assert "chem|other" in cluster.text("sacctmgr -nP show assoc format=account,parentname")


@pytest.mark.parametrize(
    ("release", "status", "said"),
    [
        ("22.05", 1, "Parent Account none doesn't exist."),
        ("24.11", 0, "A = chem of root"),
        ("26.05", 0, "Parent account none doesn't exist on cluster c"),
    ],
)
def test_a_parent_that_is_not_there_changes_nothing(release: str, status: int, said: str, tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, release)
    done = cluster.run("sacctmgr -i modify account chem set parent=none")
    assert (done[0], said in done[1] + done[2]) == (status, True)
    assert "chem|root" in cluster.text("sacctmgr -nP show assoc format=account,parentname")


@pytest.mark.parametrize("release", RELEASES)
def test_a_reservation_of_licenses_and_no_nodes(release: str, tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, release)
    create = "scontrol create reservation=r starttime=now+1hour users=alice licenses=matlab:2 duration=60"
    counted = cluster.run(f"{create} nodecnt=0")
    assert ("Requested nodes are busy" in counted[1] + counted[2]) == (release != "22.05")
    assert "Invalid node name specified" in "".join(cluster.run(create)[1:])
    assert "Reservation created: r" in cluster.text(f"{create} nodecnt=0 flags=any_nodes")


@pytest.mark.parametrize("release", RELEASES)
def test_a_group_of_root_alone(release: str, tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, release)
    done = cluster.run("scontrol create reservation=r starttime=now+1hour groups=root nodes=ALL duration=60")
    assert ("Unspecified error" in done[1] + done[2]) == (release == "22.05")
