"""What a log tells of jobs that ran: waits, run times, nodes, requested times, in columns."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slurmsim.energy.profile import Profile, read_profile
from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.workload import Workload

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
HOUR_S = 3600.0
YEAR_S = 365 * 86_400


@dataclass(frozen=True, slots=True)
class Applied:
    """Jobs of one application: their rows, and the sizes they may have."""

    name: str
    rows: IntArray
    profile: Profile

    def slower(self, nodes: int) -> float:
        """Run time on so many nodes over that on the most, at full power."""
        return self.profile.slowdown(nodes, round(self.profile.application.p_high_w * 1000))

    def slower_as_logged(self, nodes: IntArray) -> FloatArray:
        """Return the same for the nodes of each job."""
        sizes, places = np.unique(nodes, return_inverse=True)
        return np.array([self.slower(n) for n in sizes.tolist()])[places.ravel()]


@dataclass(frozen=True, slots=True)
class History:
    """Jobs that ran, one row each; all columns (n_jobs,)."""

    # submit, limit: seconds; the requested time, or the run time where none is known
    submit: IntArray
    limit: IntArray
    nodes: IntArray  # nodes each took
    # wait, run: hours
    wait: FloatArray
    run: FloatArray
    cpus_per_node: int  # what a node counts for in core-hours
    n_nodes: int  # nodes of the machine; 0 where the data do not say
    file: str  # for messages
    applied: tuple[Applied, ...] = ()  # which jobs are of an application the log knows

    @property
    def use(self) -> FloatArray:
        """Node-hours of each job."""
        return self.nodes * self.run

    def __len__(self) -> int:
        return len(self.submit)


def history_of(workload: Workload, file: str, cpus_per_node: int | None, n_nodes: int | None) -> History:
    """Return the jobs of a log that started and ran.

    Raises
    ------
    WorkloadError
        No job has a recorded start.
    """
    ints, header = workload.ints, workload.header
    each = cpus_per_node
    if each is None:
        known = header.max_nodes > 0 and header.max_procs > 0 and header.max_procs % header.max_nodes == 0
        each = header.max_procs // header.max_nodes if known else 1
    size = n_nodes or header.max_nodes or -(-header.max_procs // each)
    ran = (ints["log_start"] >= ints["submit"]) & (ints["run_time"] > 0)
    if not ran.any():
        raise WorkloadError("no job has a recorded start and a run time", file=file, field="wait",
                            expected="a log of jobs that ran: an sacct dump, SWF with waits, a trace")  # fmt: skip
    cpus = np.maximum(ints["tasks"], 1) * ints["cpus_per_task"]
    nodes = np.where(ints["nodes"] > 0, np.maximum(ints["nodes"], -(-cpus // each)), -(-cpus // each))[ran]
    run = ints["run_time"][ran]
    limit = ints["time_limit"][ran]
    limit = np.where(limit > 0, limit, np.where(limit == -2, YEAR_S, run))
    wait = (ints["log_start"] - ints["submit"])[ran] / HOUR_S
    applied = _applied(workload, np.flatnonzero(ran), nodes)
    slower = np.ones(len(run))  # run times and limits of applications are those on the most nodes
    for one in applied:
        slower[one.rows] = one.slower_as_logged(nodes[one.rows])
    limit = np.ceil(np.round(limit * slower, 6)).astype(np.int64)
    return History(ints["submit"][ran], limit, nodes, wait, run * slower / HOUR_S, each, int(size), file, applied)


def _applied(workload: Workload, ran: IntArray, nodes: IntArray) -> tuple[Applied, ...]:
    """Jobs of each application and range of sizes."""
    app, ints = workload.texts["app"], workload.ints
    codes = app.codes[ran]
    if not any(app.values[code] for code in np.unique(codes).tolist()):
        return ()
    low, high = (np.where(ints[name][ran] > 0, ints[name][ran], nodes) for name in ("min_nodes", "max_nodes"))
    kinds, which = np.unique(np.stack([codes, low, high]), axis=1, return_inverse=True)
    found = []
    for k, (code, least, most) in enumerate(kinds.T.tolist()):
        text = app.values[code]
        if text:
            rows = np.flatnonzero(which.ravel() == k)
            found.append(Applied(text, rows, read_profile(text, int(least), int(most), False)))
    return tuple(found)


def read_log(path: Path, format_name: str | None) -> Workload:
    """Return a job log, or the folder of a trace, as a workload with recorded starts."""
    from slurmsim_workloads import read_workload

    return _of_trace(path) if path.is_dir() else read_workload(path, format_name)


def _of_trace(folder: Path) -> Workload:
    from slurmsim import read_trace
    from slurmsim.trace.columns import NULL
    from slurmsim.workload import TextColumn, WorkloadHeader

    trace = read_trace(folder)
    names = ("job_id", "submit", "start", "end", "run_time_s", "time_limit_s", "nodes", "req_cpus")
    columns = dict(zip(names, trace.ints("jobs", *names), strict=True))
    ran = (columns["start"] != NULL) & (columns["end"] != NULL)
    limit = np.where(columns["time_limit_s"] == NULL, -2, columns["time_limit_s"])
    ints = {
        "job_id": columns["job_id"], "submit": columns["submit"], "run_time": columns["run_time_s"],
        "time_limit": limit, "nodes": columns["nodes"], "nodes_max": columns["nodes"],
        "tasks": np.maximum(columns["nodes"], columns["req_cpus"]), "log_start": columns["start"],
        "log_end": columns["end"],
    }  # fmt: skip
    texts = {}
    for name in ("user", "account", "partition"):
        codes, values = trace.text("jobs", name)
        texts[name] = TextColumn.from_list([values[code] if code >= 0 else "" for code in codes.tolist()])
    return Workload(ints, texts, WorkloadHeader(str(folder), "trace")).take(np.flatnonzero(ran)).sorted()


def node_hours(text: str, cpus_per_node: int) -> float:
    """``1M-node-hours``, ``500k-core-hours`` or a plain number of node-hours. Raises ConfigError."""
    number, _, unit = text.partition("-")
    factor = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}.get(number[-1:], 1.0)
    try:
        amount = float(number.rstrip("kKMG")) * factor
    except ValueError:
        amount = 0.0
    if unit not in ("", "node-hours", "core-hours") or not 0 < amount < 1e18:
        raise ConfigError(f"{text!r}", field="--allocation", expected="as 1M-node-hours, 500k-core-hours or 250000")
    return amount / cpus_per_node if unit == "core-hours" else amount
