"""What is said of requests no nodes could ever serve (_set_err_msg in node_scheduler.c)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.people import Person
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
PartitionName=meager Nodes=ALL MaxMemPerCPU=200
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
        ({"pn_min_memory": 4_000, "mem_per_cpu": True, "partition": "meager"}, CPUS),  # 20 CPUs with 200 MiB each
    ],
)
def test_the_heaviest_node_that_lacks_something_is_told_of(tmp_path: Path, asked: dict[str, Any], what: str) -> None:
    assert f"{what} can not be satisfied" in refusal(tmp_path, CONF, asked)


def test_what_one_node_has_enough_of_is_not_told_of(tmp_path: Path) -> None:
    """Each of three tasks fits on some node, all three nowhere."""
    asked = {"num_tasks": 30, "min_cpus": 30, "pn_min_memory": 5_000, "mem_per_cpu": True}
    assert refusal(tmp_path, CONF, asked) == "Requested node configuration is not available"


UNTRACKED = """\
ClusterName=tux
SlurmctldHost=head
SelectType={}
NodeName=n[1-2] Sockets=2 CoresPerSocket=4 RealMemory=8000
NodeName=unknown Sockets=2 CoresPerSocket=4
PartitionName=batch Nodes=n[1-2] Default=YES
PartitionName=any Nodes=ALL
"""
CORES, CPU_UNITS = "select/cons_tres\nSelectTypeParameters=CR_Core", "select/cons_tres\nSelectTypeParameters=CR_CPU"


@pytest.mark.parametrize("select", [CORES, CPU_UNITS, "select/linear"])
@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        ({"pn_min_memory": 102_398_976}, False),  # --mem=99999G
        ({"pn_min_memory": 8_001}, False),
        ({"pn_min_memory": 8_000}, True),
        ({"pn_min_memory": 8_001, "mem_per_cpu": True}, False),
        # one CPU's memory is looked at, however many CPUs there are to be
        ({"pn_min_memory": 2_000, "mem_per_cpu": True, "num_tasks": 8, "min_cpus": 8}, True),
        ({"pn_min_memory": 2_000, "mem_per_cpu": True, "cpus_per_task": 8}, True),
        ({"pn_min_memory": 102_398_976, "partition": "any"}, False),  # a node without RealMemory has 1 MB
        ({"pn_min_memory": 1, "partition": "any"}, True),
    ],
)
def test_memory_that_is_not_tracked_is_still_looked_at(
    tmp_path: Path, select: str, asked: dict[str, Any], fits: bool
) -> None:
    """Asked of 22.05 (CR_Core, linear), 24.11 and 26.05 (CR_Core), nodes of 8000 MB: the same answers in all."""
    conf = UNTRACKED.format(select)
    if not fits:
        assert f"{MEMORY} can not be satisfied" in refusal(tmp_path, conf, asked)
        return
    with pytest.raises(pytest.fail.Exception):  # nothing is refused
        refusal(tmp_path, conf, asked)


def refusal(folder: Path, conf: str, asked: dict[str, Any]) -> str:
    """What alice is told when she submits that."""
    (folder / "slurm.conf").write_text(conf)
    e = make_engine(new_header(start=0, mode="frozen", rate=1.0, conf="slurm.conf", owner=0), folder)
    job = {"name": "j", "script": "#!/bin/sh\n", "work_dir": "/tmp", "time_limit": 10, **asked}
    with pytest.raises(Refusal) as refused:
        e.execute(e.now, "submit", {"job": job}, Person("alice", 2001, "alice", 2001, "/home/alice"))
    return refused.value.text


NO_DEFAULT = "No partition specified or system default partition"
UNKNOWN = "invalid partition specified: nono\nInvalid partition name specified"
WRONG_AS_WELL = (
    {"sockets_per_node": 99}, {"pn_min_tmp_disk": 99_999_999}, {"time_min": 20}, {"deadline": 1}, {"min_nodes": 0},
    {"pn_min_memory": 99_999_999}, {"reservation": "r", "sockets_per_node": 99}, {"features": "bogus"},
)  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG_AS_WELL, ids=lambda wrong: "-".join(wrong))
def test_where_a_job_goes_is_asked_before_what_it_wants(tmp_path: Path, wrong: dict[str, Any]) -> None:
    """As 22.05 was seen to answer; without any partition there are no nodes to tell of."""
    assert refusal(tmp_path, CONF.replace(" Default=YES", ""), wrong) == NO_DEFAULT
    assert refusal(tmp_path, CONF, {**wrong, "partition": "batch,nono"}) == UNKNOWN


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"nice": -5}, "Invalid --nice value"),
        ({"tres_per_node": "gres:nono:1"}, "Invalid generic resource (gres) specification"),
        ({"req_nodes": "zzz"}, "Invalid node name specified"),
    ],
)
def test_but_some_things_are_asked_even_before(tmp_path: Path, wrong: dict[str, Any], said: str) -> None:
    assert refusal(tmp_path, CONF, {**wrong, "partition": "nono"}) == said


def test_sbatch_looks_at_gres_before_anybody_asks_who_may_run_where(tmp_path: Path) -> None:
    """salloc asks first (22.05)."""
    conf, bad = CONF.replace("Default=YES", "Default=YES RootOnly=YES"), {"tres_per_job": "gres:gpu:1"}
    denied = refusal(tmp_path, conf, {})
    assert refusal(tmp_path, conf, bad) == "Invalid generic resource (gres) specification"
    assert refusal(tmp_path, conf, {**bad, "allocate": True}) == denied
