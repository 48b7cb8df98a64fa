"""Reservations for the jobs of a QOS or of a partition (26.05)."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import CONF, Cluster

PARTITIONS = "PartitionName=debug Nodes=ALL\nPartitionName=night Nodes=n2\n"
WHEN = "start=now duration=60 nodecnt=1"


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    made = Cluster(tmp_path, CONF + PARTITIONS, release="26.05")
    made.run("sacctmgr -i add qos short,long,idle")
    made.run("sacctmgr -i add account physics")
    made.run("sacctmgr -i add user alice account=physics qos=short,long,idle,normal")
    return made


def create(cluster: Cluster, words: str, name: str = "kept") -> tuple[int, str, str]:
    return cluster.run(f"scontrol create reservationname={name} {words} {WHEN}")


def update(cluster: Cluster, words: str) -> tuple[int, str, str]:
    return cluster.run(f"scontrol update reservationname=kept {words}")


def shown(cluster: Cluster) -> str:
    """Return the line that names the jobs of the reservation."""
    lines = cluster.text("scontrol show reservation kept").splitlines()
    return next(line.strip() for line in lines if "AllowedPartitions" in line)


def taken(cluster: Cluster, option: str, *names: str) -> list[str]:
    """Return the names with which sbatch's job may go into the reservation."""
    said = {
        name: cluster.run(f"sbatch --reservation=kept -N1 --{option}={name} --wrap=true", "alice") for name in names
    }
    for code, _, error in said.values():
        assert not code or "Problem using reservation\n" in error, error
    return [name for name, (code, *_) in said.items() if not code]


QOS = "short", "long", "idle"


@pytest.mark.parametrize(("words", "line", "takes"), [
    ("qos=short,idle", "QOS=idle,short", ["short", "idle"]),
    ("QOS=-long", "QOS=-long", ["short", "idle"]),
    ("qos-=long,short", "QOS=-long,-short", ["idle"]),
])  # fmt: skip
def test_a_reservation_is_for_jobs_of_its_qos(cluster: Cluster, words: str, line: str, takes: list[str]) -> None:
    assert create(cluster, words)[0] == 0
    assert shown(cluster) == f"AllowedPartitions=(null) {line}"
    assert taken(cluster, "qos", *QOS) == takes


@pytest.mark.parametrize(("words", "line", "takes"), [
    ("AllowedPartitions=night", "AllowedPartitions=night", ["night"]),
    ("allowed=-debug,-night", "AllowedPartitions=-debug,-night", ["batch"]),
    ("allowed-=batch", "AllowedPartitions=-batch", ["debug"]),
])  # fmt: skip
def test_a_reservation_is_for_jobs_of_its_partitions(cluster: Cluster, words: str, line: str, takes: list[str]) -> None:
    assert create(cluster, words)[0] == 0
    assert shown(cluster) == f"{line} QOS=(null)"
    names = ["night", "debug"] if takes == ["night"] else ["batch", "debug"]  # the others have none of its nodes
    assert taken(cluster, "partition", *names) == takes


def test_its_nodes_are_of_the_first_partition_that_it_lets_in(cluster: Cluster) -> None:
    assert create(cluster, "allowedpartitions=night")[0] == 0
    assert "Nodes=n2 " in cluster.text("scontrol show reservation kept")


def test_lists_of_qos_and_partitions_are_altered(cluster: Cluster) -> None:
    create(cluster, "qos=short allowedpartitions=-night")
    assert update(cluster, "qos+=long allowedpartitions-=debug")[0] == 0
    assert shown(cluster) == "AllowedPartitions=-debug,-night QOS=long,short"
    assert update(cluster, "qos-=short allowedpartitions+=night")[0] == 0
    assert shown(cluster) == "AllowedPartitions=-debug QOS=long"
    assert update(cluster, "qos=idle allowedpartitions=batch")[0] == 0
    assert shown(cluster) == "AllowedPartitions=batch QOS=idle"


@pytest.mark.parametrize("words", ["qos=short,-long", "qos=-short,long", "qos=none", "allowedpartitions=batch,-night"])
def test_a_list_that_lets_in_and_keeps_out_is_refused(cluster: Cluster, words: str) -> None:
    code, _, error = create(cluster, words)
    what = "qos specification" if words.startswith("qos") else "partition name specified"
    assert (code, error) == (1, f"Error creating the reservation: Invalid {what}\n")


@pytest.mark.parametrize("words", ["qos-=short", "qos=-short", "qos+=none"])
def test_a_list_cannot_become_empty_or_one_of_who_is_kept_out(cluster: Cluster, words: str) -> None:
    create(cluster, "qos=short")
    assert update(cluster, words)[0] == 1
    assert shown(cluster) == "AllowedPartitions=(null) QOS=short"


def test_a_reservation_is_for_users_accounts_qos_or_partitions(cluster: Cluster) -> None:
    assert create(cluster, "")[2] == (
        "scontrol: error: Either Users/Groups, AllowedPartitions, QOS and/or Accounts must be specified.  "
        "No reservation created.\n"
    )


def test_jobs_of_root_use_a_reservation_whatever_their_qos(cluster: Cluster) -> None:
    create(cluster, "qos=short")
    assert cluster.run("sbatch --reservation=kept -N1 --wrap=true")[0] == 0


def test_earlier_releases_have_neither(tmp_path: Path) -> None:
    old = Cluster(tmp_path, CONF + PARTITIONS, release="24.11")
    for word in ("qos=normal", "allowedpartitions=night"):
        assert f"Unknown parameter {word}" in create(old, f"users=root {word}")[2]
