"""Replays beside hierarchical resources in all modes: every job runs, and no layer gives more than it has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("yaml", reason="NOT TESTED: resources.yaml: PyYAML is not installed")

from conformance_support import jobs

from slurmsim.errors import ConfigError
from slurmsim.hostlist import expand
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.replaying.replay import execute
from slurmsim.trace.reader import read_trace
from slurmsim.validate import validate_trace
from slurmsim_workloads import write_workload

CONF = """ClusterName=layers
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
Licenses=plain:5
{more}
NodeName=n[01-16] CPUs=4 CoresPerSocket=4
PartitionName=batch Nodes=ALL Default=YES MaxTime=1-0
"""
RESOURCES = """
- resource: flat
  mode: MODE_2
  layers: [{nodes: "n[01-16]", count: 10}, {nodes: "n[01-08]", count: 6}, {nodes: "n[09-16]", count: 6}]
- resource: natural
  mode: MODE_1
  layers: [{nodes: "n[01-16]", count: 8}, {nodes: "n[01-08]", count: 5}, {nodes: "n[09-16]", count: 5}]
- resource: power
  mode: MODE_3
  variables: [{name: node, value: 100}]
  layers: [{nodes: "n[01-08]", count: 450}, {nodes: "n[09-16]", count: 500}, {nodes: "n[01-16]", count: 750}]
"""
KINDS = ("", "flat:1", "flat:4", "natural:3", "natural:6", "power:60", "power:node", "plain:2", "flat:2,plain:1",
         "natural:1,power:20")  # fmt: skip


def rows(seed: int, count: int = 80) -> list[dict[str, int | str]]:
    random = np.random.default_rng(seed)
    found: list[dict[str, int | str]] = []
    submit = 0
    for _ in range(count):
        submit += int(random.integers(0, 90))
        licenses, nodes = str(random.choice(KINDS)), int(random.choice([1, 1, 2, 3, 4, 6, 8]))
        nodes = min(nodes, 4) if "power" in licenses else nodes
        found.append({
            "submit": submit, "nodes": nodes, "tasks": nodes * int(random.integers(1, 5)), "licenses": licenses,
            "run_time": int(random.integers(30, 900)), "exclusive": int(random.random() < 0.3),
        })  # fmt: skip
    return found


def options(folder: Path, asked: list[dict[str, int | str]], policy: str, more: str = "") -> RunOptions:
    (folder / "slurm.conf").write_text(CONF.format(more=more))
    (folder / "resources.yaml").write_text(RESOURCES)
    write_workload(jobs(list(asked)), str(folder / "log.parquet"))
    return RunOptions(str(folder / "log.parquet"), str(folder / "out"), str(folder / "slurm.conf"), policy=policy,
                      release="26.05")  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "more"),
    [("backfill", ""), ("backfill", "SchedulerParameters=bf_licenses"), ("builtin", ""),
     ("backfill", "SchedulerParameters=bf_licenses\nSelectTypeParameters=CR_LLN,CR_Core")],
)  # fmt: skip
def test_no_layer_gives_more_than_it_has(policy: str, more: str, tmp_path: Path) -> None:
    asked = rows(7)
    execute(prepare(options(tmp_path, asked, policy, more)), report=False)
    report = validate_trace(tmp_path / "out")
    assert report.valid, report.to_text()
    checked = next(check for check in report.checks if check.name == "layers_not_overused")
    of_layers = [row for row in asked if str(row["licenses"]).startswith(("flat", "natural", "power"))]
    assert checked.subjects == sum(
        str(row["licenses"]).count(":") - ("plain" in str(row["licenses"])) for row in of_layers
    )
    frame = read_trace(tmp_path / "out").jobs_frame()
    assert len(frame) == len(asked) and frame["start"].notna().all()
    for one in frame.itertuples():
        if "natural" in one.licenses:  # it says which layer gave it
            within = one.licenses.partition("natural(")[2].partition(")")[0]
            assert set(expand(one.node_list)) & set(expand(within)), one


def test_policies_of_events_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"resources.yaml.*policy easy does not plan with hierarchical resources"):
        execute(prepare(options(tmp_path, rows(3, 4), "easy")), report=False)
