"""A run of EASY on equal nodes of one CPU by the kernel `counts`: jobs are rows, and the trace is made of columns.

SimPy stays the clock: each instant at which jobs end or arrive is one of its events. The kernel decides how the policy
would; which nodes a job gets the core's own placement says, from the log of starts and ends. The trace has the same
bytes as by way of the core. KTH takes 0.8 s of CPU in all instead of 2.8, SDSC-BLUE 3.5 instead of 19.7.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.core.placement.cluster_state import compile_request
from slurmsim.core.records.job import ONE_YEAR_S
from slurmsim.kernel import constants, load
from slurmsim.sim.event_loop import run_until
from slurmsim.sim.simulation import Simulation
from slurmsim.sim.submissions import request_of
from slurmsim.states import JobState, Reason
from slurmsim.trace.columns import NULL, coded_array, known_integers
from slurmsim.trace.schema import TABLES
from slurmsim.workload import INT_COLUMNS, TEXT_COLUMNS, TextColumn, Workload

Numbers = npt.NDArray[np.int64]
Texts = tuple[npt.NDArray[np.integer[Any]], Sequence[str]]
"""Numbers, (n,), and the texts they stand for."""
TURNS = 256  # between two looks at the time
MAY_VARY = frozenset({
    "job_id", "submit", "run_time", "time_limit", "tasks", "exit_code", "exit_signal", "log_start", "log_end",
    "name", "user", "account", "outcome", "log_state", "log_nodes",
})  # fmt: skip
"""Columns of a workload that say nothing but when jobs come, how many CPUs they want, and how they run and end."""
OUTCOMES = frozenset({"", "COMPLETED", "FAILED", "CANCELLED"})


def can_be_counted(workload: Workload, n_nodes: int) -> bool:
    """Return True if nothing is known of the jobs but when they come, their tasks, limits, run times and ends."""
    if workload.streams is not None or not len(workload):
        return False
    ints, texts = workload.ints, workload.texts
    if any((ints[name] != default).any() for name, (_, default) in INT_COLUMNS.items() if name not in MAY_VARY):
        return False
    if any(_used(texts[name]) != {""} for name in TEXT_COLUMNS if name not in MAY_VARY):
        return False
    submit, run, limit, tasks, ids = (ints[name] for name in ("submit", "run_time", "time_limit", "tasks", "job_id"))
    sound = (run >= 1).all() and (run <= limit).all() and (tasks >= 1).all() and (tasks <= n_nodes).all()
    # jobs of one second wait in the order of their numbers
    later = (submit[1:] > submit[:-1]) | ((submit[1:] == submit[:-1]) & (ids[1:] > ids[:-1]))
    apart = (ids > 0).all() and len(np.unique(ids)) == len(ids)
    return bool(sound and later.all() and apart and _used(texts["outcome"]) <= OUTCOMES)


def _used(column: TextColumn) -> set[str]:
    return {column.values[code] for code in column.used()}


class CountedRun:
    """The run of a simulation that has not begun; the simulation keeps its clock and what it tells of itself."""

    def __init__(self, simulation: Simulation, label: str) -> None:
        self._simulation, self._label = simulation, label
        workload = simulation.workload
        self._ints, self._texts = workload.ints, workload.texts
        columns = (self._ints[name] for name in ("job_id", "submit", "tasks", "time_limit", "run_time"))
        self._counts = load("counts").Counts(
            *(array("q", np.ascontiguousarray(column, np.int64).tobytes()) for column in columns),
            simulation.controller.state.table.n,
        )
        self._calls: list[Callable[[Any], None]] = [self._turn]
        self._flush: Callable[[], None] | None = None
        self._turns = 0

    def run(self, flush: Callable[[], None] | None = None) -> None:
        """Simulate to the end; `flush` is called every 256 instants. May be interrupted, and has no trace then."""
        simulation = self._simulation
        self._flush = flush
        simulation.env._queue.clear()
        self._wait()
        run_until(simulation.env, simulation.env.event())
        self._take_note()
        starts = np.frombuffer(self._counts.kinds, np.int64)[: self._counts.n_log] == constants.LOG_START
        ahead = np.frombuffer(self._counts.values, np.int64)[: self._counts.n_log][starts]
        simulation.controller.life_cycle.backfilled = int(np.count_nonzero(ahead))

    def _turn(self, _: object) -> None:
        self._counts.turn(self._simulation.timers.now)
        self._turns += 1
        if self._turns % TURNS == 0 and self._flush is not None:
            self._take_note()
            self._flush()
        self._wait()

    def _wait(self) -> None:
        timers, at = self._simulation.timers, self._counts.next_time()
        if at != constants.NO_TIME:
            timers.tell(at - timers.now, self._calls, None)

    def _take_note(self) -> None:
        self._simulation.n_done = self._counts.done
        self._simulation.controller.host.passes = self._counts.passes

    def tables(self, rows: int) -> Iterator[tuple[str, list[Any]]]:
        """Yield the trace, `rows` rows at a time: the name of a table, and its columns as Arrow arrays. Once only."""
        state = self._simulation.controller.state
        cells = _Cells(self._simulation.workload, self._counts, self._label, state.cluster.partitions[0].name)
        self._counts = None  # the log is all that is needed of it
        cells.node_list = self._nodes(cells)
        for name, n_rows, make in (
            ("jobs", len(self._ints["job_id"]), cells.jobs), ("events", len(cells.rows), cells.events),
            ("usage", 2 * len(cells.turns), cells.usage(state.table.n)),
        ):  # fmt: skip
            for begin in range(0, n_rows, rows):
                found = make(slice(begin, min(begin + rows, n_rows)))
                yield name, [_array(found[column], about.kind) for column, about in TABLES[name].items()]

    def _nodes(self, cells: _Cells) -> Texts:
        """Return which nodes each job gets: what the core's placement chooses, start by start."""
        state, workload = self._simulation.controller.state, self._simulation.workload
        _, first, kind_of = np.unique(self._ints["tasks"], return_index=True, return_inverse=True)
        partition = state.cluster.partitions[0]
        requests = [compile_request(state.cluster, request_of(workload, int(row)), partition) for row in first]
        kind_of_row, choose, name = kind_of.tolist(), state.selector.choose_whole, state.cluster.node_list
        free, held, n_free = state.table.everything, {}, state.table.n
        index: dict[str, int] = {}
        codes = np.zeros(len(workload), np.int32)
        ran = (cells.kinds == constants.LOG_START) | (cells.kinds == constants.LOG_END)
        starts = cells.kinds[ran] == constants.LOG_START
        for row, starting in _pairs(cells.rows[ran], starts):
            if starting:
                found = choose(requests[kind_of_row[row]], free, n=n_free)
                assert found is not None
                held[row] = found
                free ^= found.mask
                n_free -= found.n_nodes
                codes[row] = index.setdefault(name(found), len(index))
            else:
                found = held.pop(row)
                free |= found.mask
                n_free += found.n_nodes
        return codes, list(index)


def _pairs(rows: Numbers, flags: npt.NDArray[np.bool_]) -> Iterator[tuple[int, bool]]:
    """Yield both side by side, some thousand as Python's numbers at a time."""
    for begin in range(0, len(rows), TURNS * TURNS):
        part = slice(begin, begin + TURNS * TURNS)
        yield from zip(rows[part].tolist(), flags[part].tolist(), strict=True)


class _Cells:
    """The cells of the trace, as columns of the rows that are asked for: see `slurmsim.sim.recorder` for each."""

    node_list: Texts

    def __init__(self, workload: Workload, counts: Any, label: str, partition: str) -> None:
        self._ints, self._texts, self._label, self._partition = workload.ints, workload.texts, label, partition
        logged = (counts.kinds, counts.rows, counts.times, counts.values)
        self.kinds, self.rows, self.times, self.values = (
            np.frombuffer(column, np.int64)[: counts.n_log] for column in logged
        )
        n = len(workload)
        self._start, self._end = np.zeros(n, np.int64), np.zeros(n, np.int64)
        for times, kind in ((self._start, constants.LOG_START), (self._end, constants.LOG_END)):
            mine = self.kinds == kind
            times[self.rows[mine]] = self.times[mine]
        self._ended = self.rows[self.kinds == constants.LOG_END]
        self.turns = np.flatnonzero(np.append(self.times[1:] != self.times[:-1], True))  # the last row of each instant
        self._state = _states(workload)
        failed = np.array([name == JobState.FAILED for name in self._state[1]])
        self._reason: Texts = failed[self._state[0]].astype(np.int64), [str(Reason.NONE), str(Reason.NON_ZERO_EXIT)]
        self._exit_code = _exit_codes(workload)

    def jobs(self, part: slice) -> dict[str, Any]:
        """Cells of the jobs that ended `part` of all."""
        rows = self._ended[part]
        ints = self._ints
        need, limit, submit = ints["tasks"][rows], ints["time_limit"][rows], ints["submit"][rows]
        start, end = self._start[rows], self._end[rows]
        sizes, size_of = np.unique(need, return_inverse=True)
        each = [f"(x{size})" if size > 1 else "" for size in sizes.tolist()]
        nothing: dict[str, Any] = dict.fromkeys(
            ("array_job_id", "array_task_id", "req_mem_mib", "begin", "arrived", "threads_per_core")
        )
        empty = dict.fromkeys(("qos", "gres_per_node", "reservation", "licenses", "layout"), "")
        names = {
            name: (self._texts[name].codes[rows], self._texts[name].values) for name in ("name", "user", "account")
        }
        found = nothing | empty | names | {
            "job_id": ints["job_id"][rows], "partition": self._partition, "nodes": need, "cpus": need, "gpus": 0,
            "mem_mib": 0, "cpus_per_node": (size_of, [f"1{many}" for many in each]),
            "mem_per_node_mib": (size_of, [f"0{many}" for many in each]), "req_nodes": 1, "req_cpus": need,
            "req_gpus": 0, "time_limit_s": np.where(limit == ONE_YEAR_S, NULL, limit), "submit": submit,
            "last_submit": submit, "eligible": submit, "start": start, "end": end, "state": _at(self._state, rows),
            "exit_code": _at(self._exit_code, rows), "node_list": _at(self.node_list, rows),
            "reason": _at(self._reason, rows), "priority": 1, "restarts": 0, "run_time_s": end - start,
            "wait_s": start - submit, "scheduler": self._label, "held_since": start, "cpus_per_task": 1,
        }  # fmt: skip
        return {name: _filled(value, len(rows)) for name, value in found.items()}

    def events(self, part: slice) -> dict[str, Any]:
        """Cells of `part` of all events."""
        kinds, rows = self.kinds[part], self.rows[part]
        n_states, ended, started = len(_BEGUN), kinds == constants.LOG_END, kinds == constants.LOG_START
        pending_or_running = started.astype(np.int64)
        state, states = self._state
        reason, reasons = self._reason
        nodes, lists = self.node_list
        decided = started | (kinds == constants.LOG_PLAN)
        found = {
            "time": self.times[part], "event": (kinds, _EVENTS), "job_id": self._ints["job_id"][rows],
            "state": (np.where(ended, state[rows] + n_states, pending_or_running), [*_BEGUN, *states]),
            "reason": (np.where(ended, reason[rows], 0), reasons), "partition": self._partition,
            "nodes": (np.where(started, nodes[rows] + 1, 0), ["", *lists]),
            "value": np.where(decided, self.values[part], NULL),
            "scheduler": (decided.astype(np.int64), ["", self._label]),
        }  # fmt: skip
        return {name: _filled(value, len(kinds)) for name, value in found.items()}

    def usage(self, n_nodes: int) -> Callable[[slice], dict[str, Any]]:
        """Return what makes cells of the table usage: of each instant a row of the cluster and one of the partition."""
        starts, ends = self.kinds == constants.LOG_START, self.kinds == constants.LOG_END
        sign = starts.astype(np.int64) - ends
        busy = np.cumsum(sign * self._ints["tasks"][self.rows])[self.turns]
        running = np.cumsum(sign)[self.turns]
        waiting = np.cumsum((self.kinds == constants.LOG_SUBMIT).astype(np.int64) - starts)[self.turns]
        times = self.times[self.turns]

        def make(part: slice) -> dict[str, Any]:
            row = np.arange(part.start, part.stop)
            at = row // 2
            found = {
                "time": times[at], "partition": (row % 2, ["", self._partition]), "alloc_nodes": busy[at],
                "idle_nodes": n_nodes - busy[at], "down_nodes": 0, "alloc_cpus": busy[at], "alloc_gpus": 0,
                "alloc_mem_mib": 0, "running_jobs": running[at], "pending_jobs": waiting[at], "off_nodes": 0,
                "powering_nodes": 0,
            }  # fmt: skip
            return {name: _filled(value, len(row)) for name, value in found.items()}

        return make


_EVENTS = ["SUBMIT", "START", "END", "PLAN"]  # in the order of their numbers
_BEGUN = [str(JobState.PENDING), str(JobState.RUNNING)]


def _states(workload: Workload) -> Texts:
    """Return how each job ends: what its log says, else by its exit code."""
    said = workload.texts["outcome"]
    failed = (workload.ints["exit_code"] != 0) | (workload.ints["exit_signal"] != 0)
    values = [str(JobState.COMPLETED), str(JobState.FAILED), *said.values]
    silent = np.array([not value for value in said.values])[said.codes]
    return np.where(silent, failed, said.codes + np.int64(2)), values


def _exit_codes(workload: Workload) -> Texts:
    both = workload.ints["exit_code"].astype(np.int64) * 1000 + workload.ints["exit_signal"]
    values, codes = np.unique(both, return_inverse=True)
    return codes, [f"{value // 1000}:{value % 1000}" for value in values.tolist()]


def _at(texts: Texts, rows: Numbers) -> Texts:
    return texts[0][rows], texts[1]


def _filled(value: Any, n: int) -> Any:
    """Return a column: what is the same in all rows, n times; None is null."""
    if isinstance(value, str):
        return np.zeros(n, np.int64), [value]
    if value is None or isinstance(value, int):
        return np.full(n, NULL if value is None else value, np.int64)
    return value


def _array(value: Any, kind: str) -> Any:
    """Return the Arrow array of a column, the texts of a dictionary in the order in which they come."""
    if kind == "text":
        return coded_array(*_in_order(*value))
    known = value != NULL if kind == "int64?" else None
    return known_integers(np.where(known, value, 0) if known is not None and not known.all() else value, known)


def _in_order(codes: Numbers, values: Sequence[str]) -> tuple[npt.NDArray[np.int32], list[str]]:
    """Return the same texts with each one once, numbered in the order in which they come."""
    if (codes == codes[0]).all():
        return np.zeros(len(codes), np.int32), [values[int(codes[0])]]
    used, first, number = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    index: dict[str, int] = {}
    place = np.zeros(len(used), np.int32)
    for k in order.tolist():
        place[k] = index.setdefault(values[int(used[k])], len(index))
    return place[number], list(index)
