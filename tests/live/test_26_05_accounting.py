"""What 26.05 has in accounting that releases before it have not. Answers as real Slurm 26.05.5 gave them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import slurmsim
from slurmsim.live.cluster import Cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster with an empty database."""
    with slurmsim.cluster(nodes=4, frozen=True, slurm_version="26.05", accounting=[""]) as found:
        yield found


def test_limits_of_tres_change_by_an_amount(cluster: Cluster) -> None:
    cluster.run("sacctmgr -i add qos q", check=True)
    told = []
    for change in ("billing=10,cpu=5,mem=1000", "billing-=3,cpu-=1,mem-=500", "cpu+=50000000000,mem+=2000",
                   "billing-=4000", "cpu=-1", "node+=4", "node-=4", "node-=4", "mem-=500,node=3"):  # fmt: skip
        ran = cluster.run(f"sacctmgr -i mod qos q set MaxTRES={change}")
        assert (ran.returncode, ran.stdout) == (0, " Modified qos...\n  q\n")
        told.append(cluster.run("sacctmgr -nP show qos q format=MaxTRES").stdout.strip())
    assert told == [
        "billing=10,cpu=5,mem=1000M", "billing=7,cpu=4,mem=500M", "billing=7,cpu=50000000004,mem=2500M",
        "billing=0,cpu=50000000004,mem=2500M", "billing=0,mem=2500M", "billing=0,mem=2500M,node=4",
        "billing=0,mem=2500M,node=0", "billing=0,mem=2500M,node=0", "billing=0,mem=2000M,node=3",
    ]  # fmt: skip
    for change, why in (
        ("foo+=3", "no TRES known by type foo"), ("gres/gpu+=3", "no TRES known by type gres/gpu"),
    ):  # fmt: skip
        ran = cluster.run(f"sacctmgr -i mod qos q set MaxTRES={change}")
        assert (ran.returncode, ran.stderr) == (1, f"sacctmgr: error: slurmdb_format_tres_str: {why}\n")
    with slurmsim.cluster(nodes=1, frozen=True, slurm_version="24.11", accounting=[""]) as older:
        older.run("sacctmgr -i add qos q", check=True)
        assert "no TRES known by type cpu+" in older.run("sacctmgr -i mod qos q set MaxTRES=cpu+=5").stderr


def test_sacct_tells_how_jobs_shared_their_nodes(cluster: Cluster) -> None:
    options = ("", "--exclusive", "--exclusive=user", "--oversubscribe", "--exclusive=mcs", "--exclusive=topo")
    for option in options:
        cluster.run(f"sbatch {option} -o /dev/null --wrap 'sleep 5'", check=True)
    cluster.step(60)
    shown = cluster.run("sacct -n -P -X -S 00:00 -o oversubscribe,exclusive").stdout.split()
    assert shown == ["NO|NO", "NO|NODE", "NO|USER", "YES|NO", "NO|MCS", "NO|TOPO"]


def test_ping_of_no_controller_answers_at_once(cluster: Cluster) -> None:
    with slurmsim.cluster(nodes=1, frozen=True, slurm_version="26.05") as other:
        other.stop()
        ran = other.run(["scontrol", "ping"], env={"SLURMSIM_MESSAGE_TIMEOUT": "600"})
        assert (ran.returncode, ran.stdout) == (1, "Slurmctld(primary) at localhost is DOWN\n")
