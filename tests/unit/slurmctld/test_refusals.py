"""What is said of requests no nodes could ever serve (_set_err_msg in node_scheduler.c)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.server.people import Person
from slurmsim.slurmctld.server.start import make_engine, new_header

CONF = """\
ClusterName=tux
SlurmctldHost=head
SelectType=select/cons_tres
DefMemPerCPU=500
NodeName=light[1-2] Sockets=2 CoresPerSocket=4 RealMemory=1000 Weight=1
NodeName=middle Sockets=2 CoresPerSocket=4 RealMemory=9000 Weight=2
NodeName=heavy Sockets=1 CoresPerSocket=16 RealMemory=4000 Weight=3
PartitionName=batch Nodes=ALL Default=YES
PartitionName=costly Nodes=ALL DefMemPerCPU=5000
"""
MEMORY, LAYOUT = "Memory specification", "Socket, core and/or thread specification"
DISK, CPUS = "Temporary disk specification", "CPU count per node"


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"pn_min_memory": 20_000}, MEMORY),
        ({"pn_min_memory": 5_000, "sockets_per_node": 3}, MEMORY),  # of the heaviest node, which lacks both
        ({"pn_min_memory": 2_000, "sockets_per_node": 3}, LAYOUT),  # the light ones lack memory
        ({"sockets_per_node": 3}, LAYOUT),
        ({"sockets_per_node": 3, "partition": "costly"}, MEMORY),  # by default
        ({"pn_min_tmp_disk": 10, "sockets_per_node": 3}, DISK),
        ({"cpus_per_task": 17, "pn_min_memory": 20_000}, CPUS),
    ],
)
def test_the_heaviest_node_that_lacks_something_is_told_of(tmp_path: Path, asked: dict[str, Any], what: str) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    e = make_engine(new_header(start=0, mode="frozen", rate=1.0, conf="slurm.conf", owner=0), tmp_path)
    job = {"name": "j", "script": "#!/bin/sh\n", "work_dir": "/tmp", "time_limit": 10, **asked}
    with pytest.raises(Refusal) as refused:
        e.execute(e.now, "submit", {"job": job}, Person("alice", 2001, "alice", 2001, "/home/alice"))
    assert f"{what} can not be satisfied" in refused.value.text
