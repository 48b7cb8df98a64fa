"""One cell: simulated in a folder that does not stay, and what is kept of it."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmsim.campaign.memory import peak_bytes
from slurmsim.errors import SlurmSimError
from slurmsim.replaying.options import RunOptions
from slurmsim.trace.reader import Trace

if TYPE_CHECKING:
    import pyarrow as pa

OF_THE_HOST = ("wall_s", "jobs_per_s", "peak_rss_bytes")
"""What a summary says that differs from run to run."""
LABELS = ("policy", "seed", "predictor")
"""What it says that the cell's place in the grid says, too."""


def work(options: RunOptions, command: str, scratch: str, result: str, per_job: bool) -> None:
    """Simulate one cell and leave its results in the file `result` (and its jobs beside it); called by workers.

    The result is there as a whole or not at all, and the last thing written.

    Raises
    ------
    SlurmSimError
        What `slurmsim run` would say.
    """
    from slurmsim.replaying.preparation import prepare
    from slurmsim.replaying.replay import execute, refused_warning
    from slurmsim.trace.jsonfile import to_json
    from slurmsim.trace.reader import read_trace

    print(command, flush=True)
    began, cpu = time.time(), time.process_time()
    with tempfile.TemporaryDirectory(dir=scratch) as place:
        prepared = prepare(replace(options, out=f"{place}/run"))
        for finding in prepared.findings:
            if finding.severity == "warning":
                print(finding)
        made, summary, interrupted = execute(prepared, report=False)
        if interrupted:
            raise SlurmSimError("interrupted")
        if summary["refused"]:
            print(refused_warning(summary["refused"]))
        for note in prepared.notes:
            print(note)
        trace = read_trace(made)
        cpus = sum(node.cpus for node in prepared.cluster.nodes)
        figures = figures_of(summary, trace, cpus)
        if per_job:
            import pyarrow.parquet as pq

            staged = Path(place) / "jobs.parquet"
            pq.write_table(jobs_of(trace), staged, compression="zstd")
            put(staged, Path(result).with_suffix(".parquet"))
        spent = {
            "began": round(began, 3), "wall_s": round(time.time() - began, 3), "cpu_s": time.process_time() - cpu,
            "peak_bytes": peak_bytes(), "host": os.uname().nodename, "python": sys.version.split()[0],
        }  # fmt: skip
        staged = Path(place) / "cell.json"
        staged.write_text(to_json({"figures": figures, "spent": spent}), encoding="utf-8")
        put(staged, Path(result))


def figures_of(summary: Mapping[str, Any], trace: Trace, cpus: int) -> dict[str, Any]:
    """The summary without what differs from run to run, with the offered load, how fairly users fared, and classes.

    ``offered_load``: CPU-seconds of the jobs that ran, over what the cluster has between first and last submission.
    ``jain_users``: Jain's index of the users' mean bounded slowdowns, 1 if all are equal, 1/n if one has it all (R.
    Jain, D.-M. Chiu, W. Hawe, DEC-TR-301, 1984, equation 1); None where nobody finished.
    """
    import numpy as np

    from slurmsim.metrics.classes import by_class
    from slurmsim.metrics.columns import JobColumns
    from slurmsim.metrics.slowdown import bounded_slowdown

    kept = {key: value for key, value in summary.items() if key not in (*OF_THE_HOST, *LABELS)}
    everything = JobColumns.of(trace.read("jobs", ("submit", "start", "end", "cpus", "nodes", "state", "run_time_s")))
    ran = everything.started & everything.ended
    work_s = float((everything.cpus[ran] * everything.run[ran]).sum())
    span = int(np.ptp(everything.submit)) if len(everything) else 0
    kept["offered_load"] = work_s / (cpus * span) if span else None
    users, _ = trace.text("jobs", "user")
    done = everything.finished
    slowdowns = bounded_slowdown(everything.end[done] - everything.submit[done], everything.run[done])
    kept["jain_users"] = None
    if len(slowdowns):
        counts = np.bincount(users[done])
        means = np.bincount(users[done], slowdowns)[counts > 0] / counts[counts > 0]
        kept["jain_users"] = float(means.sum() ** 2 / (len(means) * (means**2).sum()))
    return kept | by_class(trace, cpus)


def jobs_of(trace: Trace) -> pa.Table:
    """Measures of each job that was accepted, in order of its id: times in seconds on the workload's clock."""
    columns = ("job_id", "user", "submit", "start", "end", "nodes", "cpus", "state", "wait_s")
    return trace.read("jobs", columns).sort_by("job_id")


def put(staged: Path, target: Path) -> None:
    """Move a file that is complete to its place, where it stays also if the machine stops now."""
    with open(staged, "rb+") as file:
        os.fsync(file.fileno())
    target.parent.mkdir(exist_ok=True)
    os.replace(staged, target)
