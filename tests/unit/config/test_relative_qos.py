"""QOS with the flag Relative as they are read: which release has them, and how many partitions may."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden.oracle_cluster import accounting

from slurmsim.config.accounting.load import check_partitions
from slurmsim.config.load import load_cluster
from slurmsim.errors import ConfigError

COMMANDS = "add cluster c\nadd qos half Flags=Relative GrpTRES=cpu=50\nadd account a\nadd user u Account=a"
CONF = """ClusterName=c
SlurmctldHost=h
NodeName=n[1-4] CPUs=4
PartitionName=main Nodes=ALL Default=YES QOS=half
"""


def check(tmp_path: Path, release: str, more: str = "") -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(CONF + more)
    check_partitions(accounting(COMMANDS), load_cluster(conf, release=release)[0])


def test_a_release_that_has_them(tmp_path: Path) -> None:
    check(tmp_path, "24.11")


def test_a_release_before_them(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"QOS half has the flag Relative, which Slurm has since 23\.11"):
        check(tmp_path, "22.05")


def test_two_partitions(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="QOS half has the flag Relative and is that of the partition"):
        check(tmp_path, "24.11", "PartitionName=other Nodes=ALL QOS=half\n")
