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

from slurmsim.campaign.keys import Keys
from slurmsim.campaign.memory import peak_bytes
from slurmsim.config.findings import warnings_among
from slurmsim.errors import SlurmSimError
from slurmsim.replaying.options import RunOptions
from slurmsim.trace.jsonfile import to_json
from slurmsim.trace.reader import Trace, read_trace

if TYPE_CHECKING:
    import pyarrow as pa

OF_THE_HOST = ("wall_s", "jobs_per_s", "peak_rss_bytes")  # what a summary says that differs from run to run
LABELS = ("policy", "seed", "predictor")  # what it says that the cell's place in the grid says, too


def work(options: RunOptions, key: str, command: str, scratch: str, result: str, per_job: bool) -> None:
    """Simulate one cell and leave its results in the file `result` (and its jobs beside it); called by workers.

    The result is there as a whole or not at all, and it is written last. It is written only if the cell still has the
    `key` it was planned with: inputs may have been edited since, and a worker of Dask may run another slurmsim.

    Raises
    ------
    SlurmSimError
        What `slurmsim run` would say.
    """
    print(command, flush=True)
    began, cpu = time.time(), time.process_time()
    with tempfile.TemporaryDirectory(dir=scratch) as place:
        try:
            figures, trace = _simulated(replace(options, out=f"{place}/run"))
        except SlurmSimError:
            _check_unchanged(options, key)
            raise
        _check_unchanged(options, key)
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


def _simulated(options: RunOptions) -> tuple[dict[str, Any], Trace]:
    """Figures and trace of a run; what `slurmsim run` would say of it is printed."""
    from slurmsim.replaying.preparation import prepare
    from slurmsim.replaying.replay import execute, refused_warning

    prepared = prepare(options)
    for warning in warnings_among(prepared.findings):
        print(warning)
    made, summary, interrupted = execute(prepared, report=False)
    if interrupted:
        raise SlurmSimError("interrupted")
    if summary["refused"]:
        print(refused_warning(summary["refused"]))
    for note in prepared.notes:
        print(note)
    trace = read_trace(made)
    return figures_of(summary, trace, sum(node.cpus for node in prepared.cluster.nodes)), trace


def _check_unchanged(options: RunOptions, key: str) -> None:
    """Raise SlurmSimError when the cell is another one by now than when it was planned."""
    try:
        same = Keys().of_options(options) == key
    except SlurmSimError:
        same = False
    if not same:
        raise SlurmSimError("its files, its policy or slurmsim differ, where it ran, from what they were when the "
                            "sweep began; the same command goes on with them as they are")  # fmt: skip


def figures_of(summary: Mapping[str, Any], trace: Trace, cpus: int) -> dict[str, Any]:
    """Return the summary without what differs from run to run, and with more for comparisons (docs/metrics.md)."""
    from slurmsim.metrics.classes import by_class
    from slurmsim.metrics.fairness import by_user
    from slurmsim.metrics.work import of_trace

    kept = {key: value for key, value in summary.items() if key not in (*OF_THE_HOST, *LABELS)}
    return kept | of_trace(trace, cpus) | by_user(trace) | by_class(trace, cpus)


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
