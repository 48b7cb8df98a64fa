"""What the changelogs of 25.05 to 26.05 tell of commands, as real 24.11 and 26.05 answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster

CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
AccountingStorageType=accounting_storage/slurmdbd
NodeName=n[1-2] CPUs=2
PartitionName=batch Nodes=n[1-2] Default=YES
PartitionName=debug Nodes=n[1-2]
"""
ACCOUNTS = "Cluster - 'tux'\nParent - 'root'\nUser - 'root':AdminLevel='Administrator'\n"
NEW, OLD = "26.05", "24.11"


@pytest.fixture
def new(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path, CONF, accounting=ACCOUNTS, release=NEW)


@pytest.fixture
def old(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path, CONF, accounting=ACCOUNTS, release=OLD)


def test_files_named_by_sluid_and_restarts(new: Cluster) -> None:
    new.text("sbatch -o /tmp/%S-%r-%3r --wrap true")
    sluid = new.text("squeue -h -O sluid,nodelist").split()[0]
    assert f"StdOut=/tmp/{sluid}-0-000" in new.text("scontrol show job 1")


def test_older_releases_leave_those_patterns(old: Cluster) -> None:
    old.text("sbatch -o /tmp/%S-%r --wrap true")
    assert "StdOut=/tmp/%S-%r" in old.text("scontrol show job 1")


def test_a_wckey_with_a_star_is_refused(new: Cluster) -> None:
    assert new.run("sbatch --wckey='*x' --wrap true")[2] == (
        "sbatch: error: Batch job submission failed: Invalid wckey specification\n"
    )
    assert new.run("sbatch --wckey=x --wrap true")[0] == 0


def test_cancels_may_be_commented(new: Cluster) -> None:
    new.text("sbatch -H --wrap true")
    assert new.run("scancel --admin-comment=abc 1")[0] == 0
    assert " AdminComment=abc" in new.text("scontrol show job 1")
    assert new.text("sacct -nXP -j 1 -o state,admincomment") == "CANCELLED by 0|abc\n"
    new.run("scancel --admin-comment=again 1")
    assert " AdminComment=again" in new.text("scontrol show job 1")


def test_only_administrators_comment(new: Cluster) -> None:
    new.text("sbatch -H --wrap true")
    assert "Invalid user id" in new.run("scancel --admin-comment=abc 1", "alice")[2]
    assert " AdminComment=" not in new.text("scontrol show job 1")


def test_older_ones_know_no_comment(old: Cluster) -> None:
    assert old.run("scancel --admin-comment=abc 1")[2].startswith("scancel: unrecognized option '--admin-comment")
    assert old.run("sdiag --no-trunc")[2].startswith("sdiag: unrecognized option '--no-trunc'")


def test_sdiag_prints_lists_whole(new: Cluster) -> None:
    assert new.text("sdiag --no-trunc") == new.text("sdiag")


def test_quiet_or_verbose(new: Cluster) -> None:
    assert new.run("sacctmgr -Q -v show qos format=name") == (1, "", "conflicting 'quiet' and 'verbose' options\n")


def test_older_ones_are_quiet_and_verbose(old: Cluster) -> None:
    assert old.run("sacctmgr -Q -v show qos format=name")[0] == 0


def test_the_partition_of_a_reservation_stays(new: Cluster) -> None:
    new.text("scontrol create reservation reservation=r users=root start=now duration=10 nodes=n1 partition=debug")
    assert new.run("scontrol update reservation=r partition=") == (
        1, "", "scontrol: error: Reservation partition cannot be removed\n"
        "slurm_update error: Invalid partition name specified\n",
    )  # fmt: skip
    assert "PartitionName=debug" in new.text("scontrol show reservation r")
