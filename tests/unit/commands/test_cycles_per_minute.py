"""sdiag tells cycles per minute once a minute is over, in every release, as recorded."""

from __future__ import annotations

import pytest

import slurmsim
from slurmsim.releases import RECORDED_RELEASES as RELEASES


@pytest.mark.parametrize("release", RELEASES)
def test_cycles_are_told_by_the_minute(release: str) -> None:
    with slurmsim.cluster(nodes=1, frozen=True, slurm_version=release) as cluster:
        cluster.run(["sbatch", "-o", "/dev/null", "--wrap", "sleep 1"], check=True)
        cluster.step(30)
        assert "Cycles per minute" not in cluster.run(["sdiag"]).stdout
        cluster.step(60)
        assert "\tCycles per minute: " in cluster.run(["sdiag"]).stdout
