"""Reservations that shut an account out, and users who have it beside another."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import CONF, Cluster


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_who_has_an_account_that_is_shut_out_does_not_see_the_reservation(tmp_path: Path, release: str) -> None:
    """Though jobs in another account of the same user may go into it, as in real Slurm up to 26.05."""
    cluster = Cluster(tmp_path, f"{CONF}PrivateData=reservations\n", release=release)
    for command in (
        "add account physics,chem", "add user alice account=physics,chem", "add user bob account=physics",
    ):  # fmt: skip
        assert cluster.run(f"sacctmgr -i {command}")[0] == 0
    cluster.text("scontrol create reservation reservationname=r starttime=now duration=60 nodes=n1 accounts=-chem")
    assert cluster.run("sbatch -A physics --reservation=r --wrap true", "alice")[0] == 0
    assert cluster.run("sbatch -A chem --reservation=r --wrap true", "alice")[0] == 1
    assert "ReservationName=r " in cluster.text("scontrol show reservation", "bob")
    assert "ReservationName=r " not in cluster.text("scontrol show reservation", "alice")
