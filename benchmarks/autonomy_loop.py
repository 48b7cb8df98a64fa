"""The autonomy loop beside its paper: unsaved work at limits on a log in which jobs that met theirs never end.

``python benchmarks/autonomy_loop.py LOG.swf.gz NODES INTERVAL``. The paper (arXiv 2505.05927) has a subset of a
production trace. Here all jobs of a log that ran for 99 % of their limit or more are taken to work on for ever. Every
job writes checkpoints, so the loop cancels some that would have ended in their tails by themselves: the column
`completed` counts those that did. The validator judges every run.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import slurmsim
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.validate import validate_trace
from slurmsim_policies.autonomy import Autonomy
from slurmsim_workloads import write_workload


def main(log: str, nodes: int, interval: str) -> None:
    """Print a row for each policy."""
    workload = prepare(RunOptions(log, "", nodes=nodes)).workload
    run, limit = workload.ints["run_time"], workload.ints["time_limit"]
    endless = (limit > 0) & (run >= 0.99 * limit)
    workload.ints["run_time"] = np.where(endless, 10 * np.maximum(limit, 1), run)
    print(f"{endless.sum()} of {len(run)} jobs meet their limit")
    heads = ("tail CPU h", "% of used", "mean wait s", "weighted wait s", "completed")
    print(f"{'policy':10}", *(f"{head:>15}" for head in heads))
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "log.parquet"
        write_workload(workload, str(file))
        ids = set(workload.ints["job_id"][endless].tolist())
        for name in ("easy", "early", "extend", "hybrid"):
            policy = "easy" if name == "easy" else Autonomy({"mode": name})
            out = Path(scratch) / name
            trace = slurmsim.run(file, nodes=nodes, policy=policy, out=out, checkpoint=interval, report=False)
            report = validate_trace(out)
            assert report.valid, report.to_text()
            rows = trace.checkpoints_frame(dates=False)
            mine = rows[rows["job_id"].isin(ids)]
            tail = (mine["cpus"] * (mine["from_s"] + mine["work_s"] - mine["saved_s"])).sum() / 3600
            used = (rows["cpus"] * (rows["work_s"] + rows["overhead_s"])).sum() / 3600
            jobs = trace.jobs_frame(dates=False)
            weight = jobs["cpus"] * jobs["run_time_s"]
            weighted = (jobs["wait_s"] * weight).sum() / weight.sum()
            wait, done = trace.summary["mean_wait_s"], trace.summary["completed"]
            cells = (f"{tail:,.0f}", f"{100 * tail / used:.2f}", f"{wait:,.0f}", f"{weighted:,.0f}", f"{done:,}")
            print(f"{name:10}", *(f"{cell:>15}" for cell in cells))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
