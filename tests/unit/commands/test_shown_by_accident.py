"""What commands show or leave out because of how they are written, as real Slurm does."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster

CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
NodeName=n[1-2] CPUs=4 RealMemory=4000
PartitionName=batch Nodes=ALL Default=YES
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path, CONF)


def test_the_states_of_reasons_are_cut_at_their_first_comma(cluster: Cluster) -> None:
    assert "states      = down\n" in cluster.run("sinfo -v -R")[1]
    assert "states      = down,drain\n" in cluster.run("sinfo -v -t down,drain")[1]


@pytest.mark.parametrize(("release", "arrays"), [("22.05", False), ("24.11", True)])
def test_steps_of_arrays_are_shown_where_no_job_is_named(tmp_path: Path, release: str, arrays: bool) -> None:
    cluster = Cluster(tmp_path, CONF, release=release)
    job, array = cluster.submit(), cluster.submit(array_inx="1-2")
    cluster.now += 10
    shown = cluster.text("scontrol show step")
    assert f"StepId={job}.batch" in shown
    assert (f"StepId={array}_1.batch" in shown) is arrays
    assert f"StepId={array}_1.batch" in cluster.text(f"scontrol show step {array}_1")
