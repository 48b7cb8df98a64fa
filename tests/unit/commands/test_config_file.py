"""``scontrol write config``: byte for byte what real Slurm wrote of the same slurm.conf, by release."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from engine_client import Cluster

RECORDED = Path(__file__).with_name("written_config")
DATE = "2026-01-05T08:00:00"


def _cluster(folder: Path, release: str) -> Cluster:
    conf = (RECORDED / "slurm.conf").read_text("utf-8")
    return Cluster(folder, conf.replace("DenyQos=low ", "") if release == "26.05" else conf, release=release)


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_the_file_is_what_real_slurm_writes(release: str, tmp_path: Path) -> None:
    code, said, error = _cluster(tmp_path, release).run(f"scontrol write config {tmp_path}/out")
    assert (code, said, error) == (0, f"Slurm config saved to {tmp_path}/out.{DATE}\n", "")
    assert (tmp_path / f"out.{DATE}").read_text("utf-8") == (RECORDED / f"{release}.conf").read_text("utf-8")


def test_a_file_that_cannot_be_made_is_told_and_changes_no_exit_code(tmp_path: Path) -> None:
    found = _cluster(tmp_path, "22.05").run("scontrol -Q write config /nowhere/x")
    assert found == (0, "", f"Could not create file /nowhere/x.{DATE}: No such file or directory\n")


def test_without_a_word_the_environment_names_the_file(tmp_path: Path) -> None:
    cluster = _cluster(tmp_path, "24.11")
    name = f"{tmp_path}/named"
    assert cluster.run("scontrol write config", SLURM_CONF_OUT=name)[1] == f"Slurm config saved to {name}.{DATE}\n"
    assert re.search(r"^PartitionName=main ", (tmp_path / f"named.{DATE}").read_text("utf-8"), re.MULTILINE)
