"""Clusters that do not hand out memory, as recorded from real Slurm 22.05, 24.11 and 26.05: it is asked and shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster

CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PriorityType=priority/basic
NodeName=n[1-2] Sockets=1 CoresPerSocket=4
NodeName=n[3-4] Sockets=1 CoresPerSocket=4 RealMemory=8000
PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefaultTime=10
PartitionName=bare Nodes=n[1-2] MaxTime=60 DefaultTime=10
PartitionName=dm Nodes=ALL MaxTime=60 DefMemPerCPU=500
"""
ASKED = {
    "--mem=6000": ("6000M", "mem=6000M,", "n3"),
    "--mem-per-cpu=3000 -n2": ("3000M", "mem=6000M,", "n3"),
    "--mem=0": ("0", "mem=1M,", "n3"),
    "": ("0", "mem=1M,", "n4"),
    "-p bare --mem=1": ("1M", "mem=1M,", "n1"),
    "-p dm": ("500M", "mem=500M,", "n4"),
}
"""Options, MIN_MEMORY, memory of ReqTRES, and where the job runs: nodes with too little memory are left out."""


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_memory_is_shown_and_looked_at_but_not_given(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, CONF, release=release)
    refused = "sbatch: error: Memory specification can not be satisfied\n"
    for options in ("--mem=999G", "--mem=9000 -w n3", "-p bare --mem=2"):
        code, _, error = cluster.run(f"sbatch {options} --wrap 'sleep 60'", "alice")
        assert (code, error.startswith(refused)) == (1, True), options
    for options in ASKED:
        assert cluster.run(f"sbatch {options} --wrap 'sleep 60'", "alice")[0] == 0
        waiting = cluster.text("scontrol show job").split("\n\n")[-2]
        assert f"TRES=cpu={2 if '-n2' in options else 1},{ASKED[options][1]}node=1" in waiting
    cluster.now += 10
    shown = cluster.text("squeue -h -S i -o '%m %N'").splitlines()
    assert shown == [f"{memory} {node}" for memory, _, node in ASKED.values()]
    assert "mem=" not in "".join(cluster.text("squeue -h -O tres-alloc:60").split("billing")[0])
