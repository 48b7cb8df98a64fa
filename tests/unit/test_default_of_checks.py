"""The release of `slurmsim check` and `slurmsim diff` is that of a new cluster, unless it is named (decision 0025)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONF = "ClusterName=c\nNodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL Default=YES\n"
GONE = "SelectType=select/cons_res\n"  # which 24.05 and later do not start with


def checked(conf: Path, words: list[str], default: str | None) -> str:
    environ = {name: value for name, value in os.environ.items() if name != "SLURMSIM_DEFAULT_RELEASE"}
    if default is not None:
        environ["SLURMSIM_DEFAULT_RELEASE"] = default
    command = [sys.executable, "-m", "slurmsim", "check", "--json", str(conf), *words]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False).stdout


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A slurm.conf, and what a check of it for each release prints."""
    conf = tmp_path_factory.mktemp("check") / "slurm.conf"
    conf.write_text(CONF + GONE)
    return conf, {release: checked(conf, ["--release", release], None) for release in ("22.05", "26.05")}


def test_releases_differ(named: tuple[Path, dict[str, str]]) -> None:
    assert named[1]["22.05"] != named[1]["26.05"]


@pytest.mark.parametrize(
    ("words", "default", "like"),
    [([], None, "26.05"), ([], "22.05", "22.05"), (["--release", "26.05"], "22.05", "26.05")],
)
def test_defaults_of_a_check(
    named: tuple[Path, dict[str, str]], words: list[str], default: str | None, like: str
) -> None:
    conf, printed = named
    assert checked(conf, words, default) == printed[like]
