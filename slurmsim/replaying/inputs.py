"""What the jobs of a workload ask for, as a table of the trace: the judge compares the run with it.

It is made from the workload's own columns before the run, so nothing that happens in a run can change it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from slurmsim.sim.submissions import UNLIMITED_S
from slurmsim.trace.columns import NULL, coded_array, int_array
from slurmsim.trace.schema import fields
from slurmsim.workload import Workload

if TYPE_CHECKING:
    import pyarrow as pa


def input_columns(workload: Workload, power: bool) -> list[pa.Array]:
    """Return the columns of ``inputs.parquet``, in the order of the workload's jobs; `power`: the run knows of it."""
    ints, app = workload.ints, workload.texts["app"]
    follows = (ints["think_after"] >= 0) | (ints["depends_on"] > 0)
    shaped = np.array([bool(one) for one in app.values], bool)[app.codes]  # its policy may choose another shape
    limit = np.where(ints["time_limit"] == -2, UNLIMITED_S, ints["time_limit"])
    found: dict[str, Any] = {
        "job_id": ints["job_id"],
        "submit": np.where(follows, NULL, ints["submit"]),
        "time_limit_s": np.where((limit < 0) | (ints["time_min"] >= 0) | shaped, NULL, limit),
        "nodes": np.where((ints["nodes"] < 0) | shaped, NULL, ints["nodes"]),
        "cpus": np.where((ints["tasks"] < 0) | shaped, NULL, ints["tasks"] * ints["cpus_per_task"]),
        "run_time_s": np.where((ints["run_time"] < 0) | shaped, NULL, ints["run_time"]),
        "log_start": np.where(ints["log_start"] < 0, NULL, ints["log_start"]),
        "log_end": np.where(ints["log_end"] < 0, NULL, ints["log_end"]),
    }
    return [
        coded_array(workload.texts[name].codes, workload.texts[name].values) if column.kind == "text"
        else int_array(found[name], nullable=column.kind == "int64?")
        for name, column in fields("inputs", power).items()
    ]  # fmt: skip
