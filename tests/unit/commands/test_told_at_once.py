"""What a submission tells before any pass: sbatch's own test of the partition (_select_nodes_parts, 22.05)."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster

UNKNOWN = "Job's account not known, so it can't use this partition (main allows bio)"


def made(folder: Path, more: str = "", accounting: str = "") -> Cluster:
    conf = (
        "ClusterName=c\nSlurmctldHost=h\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n" + more
        + "NodeName=n[1-2] CPUs=4\nPartitionName=main Nodes=ALL Default=YES MaxTime=60\n"
    )  # fmt: skip
    return Cluster(folder, conf, accounting=accounting)


def shown(cluster: Cluster, job: int, what: str = "%r") -> str:
    return cluster.run(f"squeue -h -a -t all -j {job} -o '{what}'")[1].strip()


def test_without_accounts_nobody_is_on_a_list_of_accounts(tmp_path: Path) -> None:
    cluster = made(tmp_path, "AccountingStorageType=accounting_storage/none\n")
    cluster.run("sbatch -n8 -t5 --wrap 'sleep 100'", "alice")
    cluster.now += 3
    cluster.run("sbatch --wrap true", "alice")
    cluster.run("scontrol update partitionname=main allowaccounts=bio")
    cluster.run("sbatch --wrap true", "alice")
    cluster.run("sbatch -H --wrap true", "alice")
    assert [shown(cluster, 3), shown(cluster, 4)] == [UNKNOWN] * 2
    text = cluster.run("scontrol show job 3")[1]
    assert f"Reason={UNKNOWN.replace(' ', '_')} " in text
    cluster.now += 10
    assert shown(cluster, 2) == UNKNOWN
    cluster.run("scontrol update partitionname=main allowaccounts=ALL")
    cluster.now += 400
    assert shown(cluster, 2, "%T") == "COMPLETED"


@pytest.mark.parametrize(("options", "reason"), [("-d after:1", "None"), ("-b now+60", "None"), ("-H", "JobHeldUser")])
def test_an_array_is_asked_by_a_pass(options: str, reason: str, tmp_path: Path) -> None:
    cluster = made(tmp_path)
    cluster.run("sbatch -H --wrap true", "alice")
    cluster.run(f"sbatch -a 1-3 {options} --wrap true", "alice")
    assert shown(cluster, 2) == reason


def test_the_last_task_left_is_shown_as_itself(tmp_path: Path) -> None:
    cluster = made(tmp_path)
    cluster.run("sbatch -a 1-3%2 -t5 --wrap 'sleep 100'", "alice")
    assert shown(cluster, 1, "%i") == "1_[1-3%2]"
    cluster.now += 5
    assert shown(cluster, 1, "%i %t").splitlines() == ["1_3 PD", "1_2 R", "1_1 R"]
    cluster.run("sbatch -a 7 -H --wrap true", "alice")
    assert shown(cluster, 4, "%i") == "4_[7]"


def test_test_only_counts_what_may_be_submitted(tmp_path: Path) -> None:
    dump = (
        "Cluster - c:Fairshare=1\nParent - root\nAccount - a:Fairshare=1\nParent - a\n"
        "User - alice:DefaultAccount=a:Fairshare=1:MaxSubmitJobs=1\n"
    )
    more = "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageEnforce=associations,limits\n"
    cluster = made(tmp_path, more, dump)
    assert cluster.run("sbatch --test-only -a 1-3 --wrap true", "alice")[0] == 0
    assert cluster.run("sbatch -H --wrap true", "alice")[0] == 0
    code, _, error = cluster.run("sbatch --test-only --wrap true", "alice")
    assert code == 1 and error.splitlines() == [
        "sbatch: error: AssocMaxSubmitJobLimit",
        "allocation failure: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
    ]
