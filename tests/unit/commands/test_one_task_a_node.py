"""One task with --ntasks-per-node, and updates of a job that its partition could not take: answers of the oracle."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import CONF, Cluster

SITE = CONF.replace("associations,limits,qos", "none").replace("CPUs=4", "Sockets=1 CoresPerSocket=8")
SITE = SITE.replace("PartitionName=batch", "PartitionName=alone Nodes=ALL OverSubscribe=EXCLUSIVE\nPartitionName=batch")
REFUSED = "sbatch: error: Batch job submission failed: Requested node configuration is not available\n"
NO_COUNT = "sbatch: error: CPU count per node can not be satisfied\n"
ASKED = {
    "-p batch -N1 --ntasks-per-node=4 -n1 -c3": REFUSED,
    "-p alone -N1 --ntasks-per-node=4 -n1 -c3": REFUSED,
    "-p batch --exclusive -N1 --ntasks-per-node=4 -n1 -c3": REFUSED,
    "-p alone -N1 --ntasks-per-node=2 -n1 -c3": "",
    "-p alone --ntasks-per-node=4 -n1 -c3": REFUSED,
    "-p alone -N1 --ntasks-per-node=16 -n1": REFUSED,
    "-p batch -N1 --ntasks-per-node=16 -n1": REFUSED,
    "-p alone -N1 --ntasks-per-node=9 -n1 -O": REFUSED,
    "-p alone -N2 --ntasks-per-node=4 -n2 -c3": NO_COUNT + REFUSED,
    "-p batch -N1 --ntasks-per-node=3 -n2 -c3": NO_COUNT + REFUSED,
}


@pytest.mark.parametrize("options", ASKED)
def test_one_task_needs_a_node_with_room_for_as_many_as_it_may_have(tmp_path: Path, options: str) -> None:
    cluster = Cluster(tmp_path, SITE)
    assert cluster.run(f"sbatch {options} --wrap hostname", "alice")[2] == ASKED[options]


@pytest.mark.parametrize("release", ["22.05", "26.05"])
def test_fewer_cpus_are_asked_for_than_the_partition_lacks(tmp_path: Path, release: str) -> None:
    conf = SITE.replace("PartitionName=batch", "PartitionName=small Nodes=n1\nPartitionName=batch")
    cluster = Cluster(tmp_path, conf, release=release)
    code, _, error = cluster.run("sbatch -p small -n16 --mem-per-cpu=200 --wrap hostname", "alice")
    assert (code, error) == (0, "")
    assert cluster.run("scontrol update jobid=1 numcpus=4", "alice") == (0, "", "")
    assert "NumCPUs=4 " in cluster.text("scontrol show job 1")
    assert cluster.run("scontrol update jobid=1 numcpus=40", "alice")[0] == 1
