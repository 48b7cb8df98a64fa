"""Replays with several topologies: every policy keeps jobs on runs of a ring and in boxes of a torus."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conformance_support import jobs

pytest.importorskip("yaml", reason="NOT TESTED: topology.yaml: PyYAML is not installed")

from slurmsim.hostlist import expand
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.replaying.replay import execute
from slurmsim.trace.reader import read_trace
from slurmsim.validate import validate_trace
from slurmsim_workloads import write_workload

CONF = """ClusterName=networks
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[01-16] CPUs=4 CoresPerSocket=4
PartitionName=ring Nodes=ALL Default=YES MaxTime=1-0 Topology=r
PartitionName=torus Nodes=ALL MaxTime=1-0 Topology=x
PartitionName=plain Nodes=ALL MaxTime=1-0
"""
YAML = """- topology: f
  cluster_default: true
  flat: true
- topology: r
  ring: {rings: [{ring: r1, nodes: "n[01-08]"}, {ring: r2, nodes: "n[09-16]"}]}
- topology: x
  torus3d: {toruses: [{name: t, dims: {x: 4, y: 2, z: 2}, nodes: "n[01-16]",
    placements: [{dims: {x: 2, y: 1, z: 1}}, {dims: {x: 2, y: 2, z: 1}}, {dims: {x: 2, y: 2, z: 2}}]}]}
"""


def rows(seed: int, count: int = 90) -> list[dict[str, int | str]]:
    random = np.random.default_rng(seed)
    found: list[dict[str, int | str]] = []
    submit = 0
    for _ in range(count):
        submit += int(random.integers(0, 90))
        partition = str(random.choice(["ring", "torus", "plain"]))
        sizes = {"ring": [1, 2, 3, 5, 8], "torus": [2, 4, 8], "plain": [1, 3, 10]}[partition]
        nodes = int(random.choice(sizes))
        found.append({
            "submit": submit, "nodes": nodes, "tasks": nodes * int(random.integers(1, 5)), "partition": partition,
            "run_time": int(random.integers(30, 900)), "exclusive": int(random.random() < 0.4),
        })  # fmt: skip
    return found


@pytest.mark.parametrize("policy", ["backfill", "easy", "conservative"])
def test_jobs_are_where_their_partition_has_them(policy: str, tmp_path: Path) -> None:
    asked = rows(7)
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "topology.yaml").write_text(YAML)
    write_workload(jobs(list(asked)), str(tmp_path / "log.parquet"))
    options = RunOptions(
        str(tmp_path / "log.parquet"), str(tmp_path / "out"), str(tmp_path / "slurm.conf"), policy=policy,
        release="26.05",
    )  # fmt: skip
    execute(prepare(options), report=False)
    report = validate_trace(tmp_path / "out")
    assert report.valid, report.to_text()
    judged = next(check for check in report.checks if check.name == "network_kept")
    assert judged.subjects == sum(one["partition"] != "plain" for one in asked)
    frame = read_trace(tmp_path / "out").jobs_frame()
    assert len(frame) == len(asked) and frame["start"].notna().all()
    scattered = 0
    for one in frame.itertuples():
        given = asked[one.job_id - 1]
        places = sorted(int(name[1:]) - 1 for name in expand(one.node_list))
        n = len(places)
        if given["partition"] == "ring":
            assert n == given["nodes"], one
            ring = places[0] // 8
            assert any(sorted(8 * ring + (start + k) % 8 for k in range(n)) == places for start in range(8)), one
        elif given["partition"] == "torus":
            spans = [len({axis(place) for place in places}) for axis in AXES]
            assert spans == {2: [2, 1, 1], 4: [2, 2, 1], 8: [2, 2, 2]}[n], one
            assert min(AXES[0](place) for place in places) % 2 == 0, one
        else:
            scattered += places != list(range(places[0], places[0] + n))
    assert scattered


AXES = (lambda place: place % 4, lambda place: place // 4 % 2, lambda place: place // 8)


@pytest.mark.parametrize("policy", ["backfill", "conservative"])
def test_no_job_enters_a_block_that_another_has_to_itself(policy: str, tmp_path: Path) -> None:
    asked = [{"submit": 7 * k, "nodes": 1 + k % 3, "tasks": 1 + k % 3, "run_time": 60 + 40 * (k % 7),
              "options": "--exclusive=topo" if k % 4 == 0 else "", "partition": "own" if k % 9 == 0 else "all"}
             for k in range(80)]  # fmt: skip
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=c\nSlurmctldHost=h\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
        "TopologyPlugin=topology/block\nNodeName=n[01-16] CPUs=4 CoresPerSocket=4\n"
        "PartitionName=all Nodes=ALL Default=YES MaxTime=1-0\n"
        "PartitionName=own Nodes=ALL MaxTime=1-0 ExclusiveTopo=YES\n"
    )
    (tmp_path / "topology.conf").write_text("".join(f"BlockName=b{k} Nodes=n[{4 * k + 1:02d}-{4 * k + 4:02d}]\n"
                                                    for k in range(4)))  # fmt: skip
    write_workload(jobs(list(asked)), str(tmp_path / "log.parquet"))
    options = RunOptions(
        str(tmp_path / "log.parquet"), str(tmp_path / "out"), str(tmp_path / "slurm.conf"), policy=policy,
        release="26.05",
    )  # fmt: skip
    execute(prepare(options), report=False)
    assert validate_trace(tmp_path / "out").valid
    frame = read_trace(tmp_path / "out").jobs_frame()
    assert frame["start"].notna().all()
    rows = [(one.job_id, one.start, one.end, {(int(name[1:]) - 1) // 4 for name in expand(one.node_list)})
            for one in frame.itertuples()]  # fmt: skip
    own = {k + 1 for k, one in enumerate(asked) if one["options"] or one["partition"] == "own"}
    together = 0
    for number, start, end, blocks in rows:
        for other, began, ended, where in rows:
            if other != number and began < end and start < ended and blocks & where:
                assert not {number, other} & own, (number, other)
                together += 1
    assert together
