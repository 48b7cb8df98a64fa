"""Limits of QOS with the flag Relative become numbers: those that slurmctld 24.11.5 told of this cluster."""

from __future__ import annotations

from dataclasses import replace

from golden.oracle_cluster import COMMANDS, CONF, accounting
from unit.core.world import World

from slurmsim.core.accounting.relative_limits import OF_A_PARTITION
from slurmsim.core.records.messages import AlterPartition, ReplaceAccounting
from slurmsim.model.accounting import Qos

RELATIVE = """
add qos half Flags=Relative GrpTRES=cpu=50
add qos peruser Flags=Relative MaxTRESPerUser=cpu=10
add qos perjob Flags=Relative MaxTRESPerJob=node=20
add qos least Flags=Relative MinTRESPerJob=cpu=5
add qos over Flags=Relative GrpTRES=cpu=150,node=13
add qos memq Flags=Relative GrpTRES=mem=25
add qos owed Flags=Relative GrpTRESRunMins=cpu=50 MaxTRESMinsPerJob=billing=75
add qos partrel Flags=Relative GrpTRES=cpu=50
modify user where name=alice,bob,carol set qos+=half,peruser,perjob,least,over,memq,owed,partrel"""
CLUSTER = CONF.replace("PartitionName=fast", "PartitionName=fast QOS=partrel")


def world() -> World:
    return World(CLUSTER, "backfill", plan_all=True, start=120, accounting=accounting(COMMANDS + RELATIVE))


def qos(w: World, name: str) -> Qos:
    tree = w.controller.state.tree
    assert tree is not None
    return tree.qos[name]


def tell(w: World, fact: AlterPartition | ReplaceAccounting) -> None:
    w.tell(fact)
    w.until(w.now + 1)


def test_numbers_of_the_cluster_and_of_a_partition() -> None:
    w = world()
    assert qos(w, "half").limits.grp_tres == {"cpu": 64}
    assert qos(w, "peruser").max_tres_pu == {"cpu": 12}
    assert qos(w, "perjob").limits.max_tres == {"node": 3}
    assert qos(w, "least").min_tres == {"cpu": 6}
    assert qos(w, "over").limits.grp_tres == {"cpu": 128, "node": 2}
    assert qos(w, "memq").limits.grp_tres == {"mem": 96000}
    assert qos(w, "owed").limits.grp_tres_run_mins == {"cpu": 64}
    assert qos(w, "owed").limits.max_tres_mins == {"billing": 96}
    assert qos(w, "partrel").limits.grp_tres == {"cpu": 8}
    assert OF_A_PARTITION in qos(w, "partrel").flags
    assert qos(w, "limited").limits.grp_tres == {"node": 6}


def test_other_nodes_and_other_partitions() -> None:
    w = world()
    spec = w.controller.state.cluster.by_name["scav"].spec
    tell(w, AlterPartition(replace(spec, qos="half")))
    assert qos(w, "half").limits.grp_tres == {"cpu": 64}
    tell(w, AlterPartition(replace(spec, qos="half", nodes=("n01", "n02", "n03", "n04"))))
    assert qos(w, "half").limits.grp_tres == {"cpu": 16}
    tell(w, AlterPartition(replace(spec, nodes=("n01", "n02", "n03", "n04"))))
    assert qos(w, "half").limits.grp_tres == {"cpu": 64}


def test_a_flag_that_comes_later_waits_for_the_next_count() -> None:
    w = world()
    told = f"""{RELATIVE}
modify qos where name=high set Flags=Relative GrpTRES=cpu=10
add qos fresh Flags=Relative GrpTRES=cpu=10"""
    tell(w, ReplaceAccounting(accounting(COMMANDS + told)))
    assert qos(w, "high").limits.grp_tres == {"cpu": 10}
    assert qos(w, "fresh").limits.grp_tres == {"cpu": 12}
    tell(w, AlterPartition(w.controller.state.cluster.by_name["batch"].spec))
    assert qos(w, "high").limits.grp_tres == {"cpu": 12}
