"""What squeue, sinfo, sacct and sacctmgr show in states one rarely sees (recorded from 22.05)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import slurmsim
from slurmsim.live.cluster import Cluster

CONF = """ClusterName=rare
AccountingStorageType=accounting_storage/slurmdbd
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=a[1-2] CPUs=4 RealMemory=4000 Feature=slow
NodeName=b1 CPUs=4 RealMemory=4000 Feature=fast
PartitionName=one Nodes=a[1-2] Default=YES MaxTime=60
PartitionName=two Nodes=b1 MaxTime=60
"""


@pytest.fixture
def rare(tmp_path: Path) -> Iterator[Cluster]:
    conf = tmp_path / "slurm.conf"
    conf.write_text(CONF, "utf-8")
    with slurmsim.cluster(conf=conf, frozen=True, users={"alice": "2001:crew:3001"}) as cluster:
        yield cluster


def out(cluster: Cluster, command: str) -> str:
    done = cluster.run(command)
    return str(done.stdout)


def test_a_drained_node_with_some_cpus_taken_is_allocated(rare: Cluster) -> None:
    rare.run("sbatch -w a1 --wrap 'sleep 900'")
    rare.step(5)
    assert out(rare, "sinfo -h -N -n a1 -O statecomplete:30").split() == ["allocated"]  # none asked for all nodes yet
    rare.drain_node("a1")
    assert out(rare, "sinfo -h -N -n a1 -O statecomplete:30").split() == ["allocated+drain"]
    assert "a1" not in out(rare, "sinfo -h -t mix -o %N")


def test_an_unknown_cluster_is_not_known_by_the_database(rare: Cluster) -> None:
    done = rare.run("squeue -M nosuch", check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("squeue: error: No cluster 'nosuch' known by database.\n")


def test_verbose_displays_name_the_plugins(rare: Cluster) -> None:
    for command in ("squeue", "sinfo"):
        assert f"{command}: select/cons_tres: common_init" in rare.run(f"{command} -v").stderr


def test_a_task_named_by_its_own_id_is_shown_by_it(rare: Cluster) -> None:
    rare.run("sbatch -a 1-2 --wrap 'sleep 900'")
    rare.step(5)
    rare.run("sbatch -J dep -H -d afterok:2,afterany:1_2 --wrap true")
    assert out(rare, "squeue -h --name=dep -o %E").strip() == "afterok:2(unfulfilled),afterany:1_2(unfulfilled)"


def test_tasks_per_node_tell_the_tasks_of_a_range_of_nodes(rare: Cluster) -> None:
    rare.run("sbatch -N 1-2 --ntasks-per-node=1 --wrap 'sleep 900'")
    rare.step(5)
    assert out(rare, "squeue -h -O NumNodes:10,MaxNodes:10").split() == ["1", "1"]


def test_of_several_partitions_nodes_are_looked_at_over_a_limit_too(rare: Cluster) -> None:
    done = rare.run("sbatch -p one,two -t 120 -C 'slow&fast' --wrap true", check=False)
    assert "Requested node configuration is not available" in done.stderr
    assert rare.run("sbatch -p one -t 120 -C 'slow&fast' --wrap true", check=False).returncode == 0


def test_sacct_knows_groups_of_simulated_users(rare: Cluster) -> None:
    rare.run("sacctmgr -i add account lab")
    rare.run("sacctmgr -i add user alice account=lab")
    rare.run("sbatch --wrap true", user="alice")
    rare.step(5)
    assert out(rare, "sacct -a -X -n -o group%10 -g crew").split() == ["crew"]


def test_sacct_without_fields_has_two_blank_lines_for_a_heading(rare: Cluster) -> None:
    assert out(rare, "sacct -a -o ''") == "\n\n"


def test_sacctmgr_calls_a_setting_unknown_whose_value_it_cannot_read(rare: Cluster) -> None:
    done = rare.run("sacctmgr -i modify account root set maxjobs=abc", check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "sacctmgr: error: Invalid value for MaxJobs (abc)\n Unknown option: maxjobs=abc\n"
        " Use keyword 'where' to modify condition\n"
    )
    done = rare.run("sacctmgr -i modify account root set maxtrespn=cpu=3", check=False)
    assert done.stderr.startswith(" Unknown option: maxtrespn=cpu=3\n")


def test_sacctmgr_says_who_may_not_modify(rare: Cluster) -> None:
    rare.run("sacctmgr -i add account lab")
    done = rare.run("sacctmgr -i modify account lab set fairshare=3", user="alice", check=False)
    assert done.stderr == (
        "sacctmgr: error: Your user doesn't have privilege to perform this action\n"
        " Error with request: Access/permission denied\n"
    )
