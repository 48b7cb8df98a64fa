"""squeue --only-job-state lists the tasks of an array one by one, all of them (24.11)."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster


@pytest.mark.parametrize(("array", "listed", "usual"), [
    ("1-100:4", ",".join(map(str, range(1, 101, 4))), "1-97:4"),
    ("0-3,7%2", "0-3,7", "0-3,7%2"),
    (",".join(map(str, range(0, 90, 3))) + ",91", ",".join(map(str, range(0, 90, 3))) + ",91", None),
])  # fmt: skip
def test_lists_of_tasks(tmp_path: Path, array: str, listed: str, usual: str | None) -> None:
    cluster = Cluster(tmp_path, release="26.05")
    cluster.text(f"sbatch -Q -H -a {array} --wrap true")
    told = cluster.run("squeue -h --only-job-state -o %i=%T", SLURM_BITSTR_LEN="0")
    assert told == (0, f"1_[{listed}]=PENDING\n", "")
    assert cluster.text("squeue -h --only-job-state -o %i") == f"1_[{listed}]"[:31] + "\n"
    if usual is not None:
        assert cluster.text("squeue -h -o %i") == f"1_[{usual}]\n"


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_what_is_not_sent_looks_as_in_slurm(release: str, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, release=release)
    cluster.run("sbatch -H -J named -o /dev/null --wrap true", "root")
    assert cluster.text("squeue -h --only-job-state -o '%j %u %P %t'") == "(null) root (null) PD\n"
