"""``scontrol show config``: values that are more than what slurm.conf says. Recorded from 22.05, 24.11 and 26.05."""

from __future__ import annotations

import pytest

from slurmsim.commands.scontrol.config_text import config_text

EVERY = "cpu,mem,energy,node,billing,fs/disk,vmem,pages"


def shown(release: str, name: str, **given: str) -> str:
    answer = {"now": 0, "given": given, "facts": {}, "uids": {}}
    lines = dict(line.split(" = ", 1) for line in config_text(answer, release, str).splitlines() if " = " in line)
    return {key.strip(): value for key, value in lines.items()}[name]


@pytest.mark.parametrize(
    ("release", "listed"),
    [
        ("22.05", "gres/gpu,license/matlab"),
        ("24.11", "gres/gpu,gres/gpumem,gres/gpuutil,license/matlab"),
        ("26.05", "gres/gpu,gres/gpumem,gres/gpuutil,license/matlab"),
    ],
)
def test_what_slurm_conf_counts_is_added_to_the_tres_of_every_cluster(release: str, listed: str) -> None:
    """AccountingStorageTRES=gres/gpu,cpu,license/matlab,Billing: cpu and billing are there already."""
    given = "gres/gpu,cpu,license/matlab,Billing"
    assert shown(release, "AccountingStorageTRES", AccountingStorageTRES=given) == f"{EVERY},{listed}"
    assert shown(release, "AccountingStorageTRES") == EVERY
