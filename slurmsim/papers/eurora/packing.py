"""Section 4.2: a small job beside a node with GPUs, placed so that the node stays whole for who needs all of it.

These numbers are ours. Two nodes of 16 cores, the first with two GPUs. Job 1 has both for 113 s. Job 2, one core for an
hour, comes next; job 3 needs 16 cores and both GPUs. A scheduler that takes the first node that fits puts job 2 on the
GPU node.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import slurmsim
from slurmsim.experiments.runs import work_all
from slurmsim.papers.eurora.data import MODELS
from slurmsim.report import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONF = """\
ClusterName=packing
SlurmctldHost=localhost
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
NodeName=gpu CPUs=16 Sockets=2 CoresPerSocket=8 Gres=gpu:2
NodeName=plain CPUs=16 Sockets=2 CoresPerSocket=8
PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED
"""
JOBS = {
    "job_id": [1, 2, 3], "submit": [0, 5, 10], "run_time": [113, 3600, 600], "time_limit": [120, 3600, 600],
    "tasks": [2, 1, 1], "cpus_per_task": [16, 1, 16], "options": ["", "", "--tres-per-task=gres/gpu=2"],
}  # fmt: skip
BACKFILLS = ("easy", "conservative", "backfill")
POLICIES = {name: name for name in (*BACKFILLS, "list")} | {model: f"cp_eurora:model={model}" for model in MODELS}


@dataclass(frozen=True, slots=True)
class PackingCell:
    """The example under one policy."""

    name: str
    policy: str


def run_cell(cell: PackingCell, *, scratch: str) -> dict[str, Any]:
    """Return starts, ends and nodes of the three jobs."""
    import pandas as pd

    place = Path(scratch) / cell.name
    place.mkdir()
    (place / "slurm.conf").write_text(CONF, encoding="utf-8")
    trace = slurmsim.run(pd.DataFrame(JOBS), conf=place / "slurm.conf", out=place / "run", policy=cell.policy,
                         report=False)  # fmt: skip
    jobs = trace.jobs_frame().sort_values("job_id")
    return {
        "wait": (jobs["start"] - jobs["submit"]).tolist(), "start": jobs["start"].tolist(), "end": jobs["end"].tolist(),
        "nodes": jobs["node_list"].tolist(),
    }  # fmt: skip


def experiment(folder: Path, **how: Any) -> dict[str, dict[str, Any]]:
    """Return the example under each policy. Raises SlurmSimError."""
    cells = {name: PackingCell(f"packing-{name}", policy) for name, policy in POLICIES.items()}
    made = work_all(list(cells.values()), run_cell, folder, **how)
    return {name: made[cell.name] for name, cell in cells.items()}


def packing_table(found: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Return a row a policy; the first row is a header."""
    rows = [["", "node of job 2", "start of job 3, s", "wait of job 3, s"]]
    for name, one in found.items():
        rows.append([name, one["nodes"][1], f"{one['start'][2]:,}", f"{one['wait'][2]:,}"])
    return rows


@style.styled
def figure(found: dict[str, dict[str, Any]]) -> Figure:
    """Where and when the three jobs run, under EASY and under a dispatcher."""
    shown = [name for name in ("easy", "mks_wt_nl") if name in found]
    fig = style.figure(9, 2.6)
    panels = fig.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    fig.subplots_adjust(left=0.08, right=0.985, top=0.88, bottom=0.2, wspace=0.06)
    colors = style.colors(["job 1", "job 2", "job 3"])
    for ax, name in zip(panels, shown, strict=True):
        one = found[name]
        for k, color in enumerate(colors):
            for node in one["nodes"][k].split(","):
                row = ("gpu", "plain").index(node)
                ax.barh(row, one["end"][k] - one["start"][k], 0.7, one["start"][k], color=color)
                ax.text(one["start"][k] + 20, row, str(k + 1), va="center", color="white")
        ax.set_yticks([0, 1], ["GPUs", "plain"])
        ax.set_xlabel("seconds")
        ax.set_title(f"{name}: job 3 waits {one['wait'][2]:,} s")
    return fig
