"""What pictures and pages need of a trace, read once, as NumPy columns."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass
from slurmsim.metrics.columns import IntArray, JobColumns
from slurmsim.metrics.utilization import Interval
from slurmsim.metrics.wait import wait
from slurmsim.report.noderows import NodeRows, spans
from slurmsim.report.series import counts_over_time
from slurmsim.trace.columns import int_values, text_codes
from slurmsim.trace.reader import Trace
from slurmsim.trace.task_ids import task_id

MOST_STEPS = 200_000  # of use over time that a page shows, and that are held at once; of more, means of bins
USAGE = ("time", "alloc_nodes", "idle_nodes", "down_nodes", "alloc_cpus", "running_jobs", "pending_jobs")
Codes = npt.NDArray[np.int64]


class Usage:
    """The usage series of the whole cluster.

    Parameters
    ----------
    column
        Gives one by its name in the schema. Those of a very long run are read each time, so that few are in memory.
    """

    def __init__(self, column: Callable[[str], IntArray]) -> None:
        self.column = column

    @cached_property
    def time(self) -> IntArray:
        return self.column("time")

    @property
    def alloc_nodes(self) -> IntArray:
        return self.column("alloc_nodes")

    @property
    def idle_nodes(self) -> IntArray:
        return self.column("idle_nodes")

    @property
    def down_nodes(self) -> IntArray:
        return self.column("down_nodes")

    @property
    def alloc_cpus(self) -> IntArray:
        return self.column("alloc_cpus")

    @property
    def running(self) -> IntArray:
        return self.column("running_jobs")

    @property
    def pending(self) -> IntArray:
        return self.column("pending_jobs")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Sizes of the cluster in all, and its nodes as hostlist expressions in table order."""

    nodes: int
    cpus: int
    gpus: int
    memory_mib: int
    node_lists: list[str]


@dataclass(frozen=True, slots=True)
class Labels:
    """A class for every job: ``names[codes[i]]``; `what` says what the classes are (``user``)."""

    what: str
    codes: Codes
    names: list[str]


class RunData:
    """Columns of one trace, loaded when first used."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._labels: dict[str, Labels] = {}

    @cached_property
    def jobs(self) -> JobColumns:
        return JobColumns.of(self.trace.read("jobs", ("submit", "start", "end", "cpus", "nodes", "state")))

    @cached_property
    def job_id(self) -> IntArray:
        return self.trace.ints("jobs", "job_id")[0]

    @cached_property
    def _tasks(self) -> tuple[IntArray, IntArray]:
        array, task = self.trace.ints("jobs", "array_job_id", "array_task_id", null=-1)
        return array, task

    def shown_id(self, row: int) -> str:
        """Return a job's id as commands show it: ``2218_25`` for a task of an array."""
        array, task = self._tasks
        return task_id(int(self.job_id[row]), int(array[row]), int(task[row]))

    @cached_property
    def gpus(self) -> IntArray:
        return self.trace.ints("jobs", "gpus")[0]

    @cached_property
    def waits(self) -> IntArray:
        """Wait of each job, seconds; only the rows of started jobs mean anything."""
        return wait(self.jobs.submit, self.jobs.start)

    @cached_property
    def ends(self) -> IntArray:
        """End of each started job; jobs still running end with the trace."""
        return np.where(self.jobs.ended, self.jobs.end, self.interval.end)

    @cached_property
    def interval(self) -> Interval:
        """From the first submit to the last thing that happened; at least a second long."""
        jobs = self.jobs
        times = [jobs.submit, jobs.start[jobs.started], jobs.end[jobs.ended], self.logged]
        known = [t for t in times if len(t)]
        if not known:
            return Interval(0, 1)
        begin = int(jobs.submit.min()) if len(jobs) else int(known[0].min())
        return Interval(begin, max(begin + 1, *(int(t.max()) for t in known)))

    @cached_property
    def logged(self) -> IntArray:
        """When the use of the whole cluster changed, as the trace tells."""
        return self.trace.ints_where("usage", ("time",), "partition", "")[0]

    @cached_property
    def epoch(self) -> int | None:
        """Unix time of the trace's second 0, or None when its times are only seconds since a log began."""
        return self.trace.epoch

    def section(self, name: str) -> Mapping[str, Any]:
        """Return a section of the manifest, empty when it has none."""
        found = self.trace.manifest.get(name)
        return found if isinstance(found, Mapping) else {}

    def labels(self, column: str) -> Labels:
        """Return the texts of a column of jobs as classes."""
        if column not in self._labels:
            codes, names = self.trace.text("jobs", column)
            self._labels[column] = Labels(column, codes.astype(np.int64), [n or "(none)" for n in names])
        return self._labels[column]

    @cached_property
    def node_lists(self) -> tuple[npt.NDArray[np.int32], list[str]]:
        return self.trace.text("jobs", "node_list")

    @cached_property
    def usage(self) -> Usage:
        """Usage of the whole cluster; derived from the jobs when the trace has no usage rows."""
        if len(self.logged) > MOST_STEPS:
            return Usage(self._logged_usage)
        if not len(self.logged):
            return self._derived_usage()
        found = self.trace.ints_where("usage", USAGE, "partition", "")
        return Usage(dict(zip(USAGE, found, strict=True)).__getitem__)

    def _logged_usage(self, name: str) -> IntArray:
        return self.logged if name == "time" else self.trace.ints_where("usage", (name,), "partition", "")[0]

    def _derived_usage(self) -> Usage:
        jobs, ran = self.jobs, self.jobs.started
        left = np.where(ran, jobs.start, np.where(jobs.ended, jobs.end, self.interval.end))
        left = np.where(jobs.accepted, left, jobs.submit)  # what was refused never was in the queue
        ones = np.ones(len(jobs), np.int64)
        begin, end = np.append(jobs.start[ran], jobs.submit), np.append(self.ends[ran], left)
        queue = np.append(np.zeros(int(ran.sum()), np.int64), ones)
        time, pending = counts_over_time(begin, end, queue)
        _, running = counts_over_time(begin, end, 1 - queue)
        _, cpus = counts_over_time(begin, end, np.append(jobs.cpus[ran], 0 * ones))
        _, nodes = counts_over_time(begin, end, np.append(jobs.nodes[ran], 0 * ones))
        none = np.zeros(len(time), np.int64)
        found = (time, nodes, none, none, cpus, running, pending)
        return Usage(dict(zip(USAGE, found, strict=True)).__getitem__)

    @cached_property
    def cluster(self) -> Cluster | None:
        """The cluster as the manifest describes it, None when it does not."""
        return described_cluster(self.section("cluster").get("nodes"))

    @cached_property
    def n_nodes(self) -> int | None:
        """Nodes of the cluster, None when the trace does not say."""
        if self.cluster is not None:
            return self.cluster.nodes
        usage = self.usage
        most = int((usage.alloc_nodes + usage.idle_nodes + usage.down_nodes).max(initial=0))
        return most if usage.idle_nodes.any() or usage.down_nodes.any() else None

    @cached_property
    def by_class(self) -> dict[str, float | int | None]:
        """Figures of classes by length and width (`slurmsim.metrics.classes`); nothing where CPUs are not known."""
        from slurmsim.metrics.classes import by_class

        return by_class(self.trace, self.n_cpus) if self.n_cpus else {}

    @cached_property
    def n_cpus(self) -> int | None:
        """CPUs of the cluster, None when the trace does not say."""
        return self.cluster.cpus if self.cluster is not None else None

    @cached_property
    def rows(self) -> NodeRows:
        """Rows of the nodes: in the cluster's order when the manifest has it, else of the nodes jobs ran on."""
        if self.cluster is not None:
            return NodeRows(self.cluster.node_lists, in_order=True)
        codes, lists = self.node_lists
        used = [lists[code] for code in np.unique(codes[self.jobs.started]).tolist()]
        return NodeRows([*used, *(name for name in self.trace.text("requeued", "node_list")[1] if name)])

    @cached_property
    def starts(self) -> tuple[IntArray, IntArray]:
        """Of each START event: job id, and how many jobs it overtook (0 where the event does not say)."""
        job, value = self.trace.ints_where("events", ("job_id", "value"), "event", "START", null=0)
        return job, value

    @cached_property
    def down_spells(self) -> tuple[IntArray, IntArray, IntArray]:
        """Node row, begin and end of each time a node could not be used, from the NODE events."""
        spells: list[tuple[int, int, int]] = []
        since: dict[int, int] = {}
        for group in self.trace.groups("events", ["time", "event", "state", "nodes"]):
            codes, kinds = text_codes(group.column("event"))
            if "NODE" not in kinds:
                continue
            time = int_values(group.column("time"))
            (nodes, lists), (states, names) = text_codes(group.column("nodes")), text_codes(group.column("state"))
            for i in np.flatnonzero(codes == kinds.index("NODE")).tolist():
                now, lost = int(time[i]), unusable(names[states[i]])
                for first, last in self.rows.intervals(lists[nodes[i]]):
                    for row in range(first, last):
                        if lost:
                            since.setdefault(row, now)
                        elif row in since:
                            spells.append((row, since.pop(row), now))
        spells += [(row, begin, self.interval.end) for row, begin in since.items()]
        table = np.array(spells, np.int64).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]


def unusable(state: str) -> bool:
    """Return True if a node in this state takes no job: ``DOWN*``, ``DRAIN``, ``IDLE+DRAIN``."""
    return any(word in state for word in ("DOWN", "DRAIN", "FAIL", "MAINT"))


def described_cluster(nodes: object) -> Cluster | None:
    """Sizes from the manifest's ``cluster.nodes``: a list of ``[hostlist, cpus, memory_mib, gres]``, else None."""
    if not isinstance(nodes, list) or not nodes:
        return None
    lists: list[str] = []
    count = cpus = gpus = memory = 0
    for run in nodes:
        if not (isinstance(run, list) and len(run) >= 2 and isinstance(run[0], str) and isinstance(run[1], int)):
            return None
        n = sum(last - first + 1 for _, first, last in spans(run[0]))
        gres = run[3] if len(run) > 3 and isinstance(run[3], Mapping) else {}
        lists.append(run[0])
        memory += n * run[2] if len(run) > 2 and isinstance(run[2], int) else 0
        count, cpus, gpus = count + n, cpus + n * run[1], gpus + n * int(gres.get("gpu", 0))
    return Cluster(count, cpus, gpus, memory, lists)
