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


@pytest.mark.parametrize(
    ("words", "default", "like"),
    [([], None, "26.05"), ([], "22.05", "22.05"), (["--release", "22.05"], None, "22.05"),
     (["--release", "24.11"], "22.05", "24.11")],
)  # fmt: skip
def test_defaults_of_a_check(tmp_path: Path, words: list[str], default: str | None, like: str) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(CONF + GONE)
    assert checked(conf, words, default) == checked(conf, ["--release", like], None)
    assert checked(conf, ["--release", "22.05"], None) != checked(conf, ["--release", "26.05"], None)
