"""Jobs for a reservation that cannot serve them are refused, as real 22.05.8, 24.11.5 and 26.05.5 refuse them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from slurmsim.releases import RECORDED_RELEASES

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "commands"))
import engine_client

CONF = """\
ClusterName=oracle
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
NodeName=n[1-2] Sockets=2 CoresPerSocket=4 RealMemory=16000
NodeName=g[1-3] Sockets=2 CoresPerSocket=8 RealMemory=64000
PartitionName=cpu Nodes=n[1-2] Default=YES DefaultTime=10
PartitionName=gpu Nodes=g[1-3] DefaultTime=10
PartitionName=more Nodes=g[1-3] DefaultTime=10
"""
REFUSED = "sbatch: error: Batch job submission failed: Requested node configuration is not available\n"
ANSWERS = {
    "-p gpu --reservation=now": REFUSED,
    "-p gpu,more --reservation=now": REFUSED,
    "-N2 --reservation=now": REFUSED,
    "-x n1 --reservation=now": REFUSED,
    "-w n2 --reservation=now": f"sbatch: error: Problem using reservation\n{REFUSED}",
    "--reservation=now": "",
    "-p cpu,gpu --reservation=now": "",
    "-p gpu -H --reservation=now": "",
    "-p gpu --reservation=later": "",
    "-N2 --reservation=later": "",
    "-p gpu --reservation=flex": "",
}


@pytest.mark.parametrize("release", RECORDED_RELEASES)
def test_a_job_that_its_reservation_can_never_serve_is_refused(tmp_path: Path, release: str) -> None:
    cluster = engine_client.Cluster(tmp_path, CONF, release=release, users=("alice",))
    for name, more in (("now", "nodes=n1 starttime=now"), ("later", "nodes=n1 starttime=now+3hours"),
                       ("flex", "nodes=n2 starttime=now+3hours flags=flex")):  # fmt: skip
        assert "Reservation created" in cluster.text(
            f"scontrol create reservation reservationname={name} users=alice duration=60 {more}"
        )
    for _ in ("first", "when others like it have been submitted"):
        found = {options: cluster.run(f"sbatch {options} --wrap 'sleep 9'", "alice")[2] for options in ANSWERS}
        assert found == ANSWERS
