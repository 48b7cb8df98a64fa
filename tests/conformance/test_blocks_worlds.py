"""Replays on blocks of nodes: every policy of nodes keeps jobs and their segments in blocks, by a count of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conformance_support import jobs

from slurmsim.hostlist import expand
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.replaying.replay import execute
from slurmsim.trace.reader import read_trace
from slurmsim.validate import validate_trace
from slurmsim_workloads import write_workload

BASE, BLOCKS = 4, 4
CONF = """ClusterName=blocks
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
TopologyPlugin=topology/block
NodeName=n[01-16] CPUs=4 CoresPerSocket=4
PartitionName=batch Nodes=ALL Default=YES MaxTime=1-0
"""
TOPOLOGY = "".join(f"BlockName=b{k} Nodes=n[{BASE * k + 1:02d}-{BASE * k + BASE:02d}]\n" for k in range(BLOCKS))


def rows(seed: int, count: int = 70) -> list[dict[str, int | str]]:
    random = np.random.default_rng(seed)
    found: list[dict[str, int | str]] = []
    submit = 0
    for _ in range(count):
        submit += int(random.integers(0, 90))
        segment = int(random.choice([0, 0, 1, 2, 3, 4]))
        nodes = int(random.choice([1, 2, 3, 4, 6, 8, 12, 16]))
        if segment:
            nodes = segment * int(random.integers(1, BLOCKS * (BASE // segment) + 1))
        options = f"--segment={segment}" if segment else ""
        if segment and random.random() < 0.3 and nodes // segment <= BLOCKS:
            options += " --spread-segments"
        found.append({
            "submit": submit, "nodes": nodes, "tasks": nodes * int(random.integers(1, 5)),
            "run_time": int(random.integers(30, 900)), "exclusive": int(random.random() < 0.4), "options": options,
        })  # fmt: skip
    return found


@pytest.mark.parametrize("policy", ["backfill", "easy", "conservative"])
def test_jobs_and_segments_are_in_blocks(policy: str, tmp_path: Path) -> None:
    asked = rows(7)
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "topology.conf").write_text(TOPOLOGY + "BlockSizes=4,8,16\n")
    write_workload(jobs(list(asked)), str(tmp_path / "log.parquet"))
    options = RunOptions(
        str(tmp_path / "log.parquet"), str(tmp_path / "out"), str(tmp_path / "slurm.conf"), policy=policy,
    )  # fmt: skip
    execute(prepare(options), report=False)
    report = validate_trace(tmp_path / "out")
    assert report.valid, report.to_text()
    assert next(check for check in report.checks if check.name == "network_kept").subjects == len(asked)
    frame = read_trace(tmp_path / "out").jobs_frame()
    assert len(frame) == len(asked) and frame["start"].notna().all()
    straddled = 0
    for one in frame.itertuples():
        given = asked[one.job_id - 1]
        places = sorted((int(name[1:]) - 1) // BASE for name in expand(one.node_list))
        counts = [places.count(k) for k in range(BLOCKS)]
        assert sum(counts) >= int(given["nodes"])
        size = str(given["options"]).partition("--segment=")[2].partition(" ")[0]
        if size:
            assert all(count % int(size) == 0 for count in counts), one
            assert "spread" not in str(given["options"]) or max(counts) <= int(size), one
        else:
            needed = int(given["nodes"])
            width = BASE if needed <= BASE else 2 * BASE if needed <= 2 * BASE else BLOCKS * BASE
            assert len({place * BASE // width for place in places}) == 1, one
            straddled += len(set(places)) > 1
    assert straddled > 2
