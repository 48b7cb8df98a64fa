"""The trace of a run on rows, made of the kernel's log: see `slurmsim.sim.recorder` for what each cell is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from slurmsim.core.records.job import ONE_YEAR_S
from slurmsim.core.scheduling.main_pass import SCHEDULER as MAIN
from slurmsim.kernel import constants
from slurmsim.sim.counted_places import Numbers, Texts, shared_places, whole_places
from slurmsim.states import JobState, Reason
from slurmsim.trace.columns import NULL, coded_array, known_integers
from slurmsim.trace.schema import TABLES
from slurmsim.workload import Workload

if TYPE_CHECKING:
    from slurmsim.sim.simulation import Simulation


class CountedTrace:
    """Tables of a run, as columns of the rows that are asked for.

    Parameters
    ----------
    log
        What happened (`slurmsim.kernel.happenings.Log`).
    limits, priorities
        The limit of each job, seconds, and its priority, the one it started with if it has; None where that is 1.
    said
        The reason each job shows while it waits (``SAYS_…`` of `constants`).
    """

    def __init__(self, simulation: Simulation, log: Any, limits: Numbers, priorities: Any, said: Numbers) -> None:
        workload, state = simulation.workload, simulation.controller.state
        self._ints, self._texts = workload.ints, workload.texts
        self._label, self._partition = state.policy.label or state.policy.name, state.cluster.partitions[0].name
        self._n_nodes, self._limits = state.table.n, limits
        self._priorities: Any = 1 if priorities is None else priorities
        self._linear = state.table.unit == "node"
        whats, self.rows, self.times, self.values = (
            np.frombuffer(column, np.int64)[: log.n] for column in (log.whats, log.rows, log.times, log.values)
        )
        self.kinds = (whats % constants.LOG_KINDS).astype(np.int8)
        self._notes = (whats // constants.LOG_KINDS % constants.LOG_NOTES).astype(np.int8)
        n, started = len(workload), self.kinds == constants.LOG_START
        self._sign = started.astype(np.int8) - (self.kinds == constants.LOG_END)  # jobs that run more or less
        if log.n_runs:
            n_runs = (whats // (constants.LOG_KINDS * constants.LOG_NOTES)).astype(np.int32)
            self._places = whole_places(workload, state, log, n_runs, self._sign)
        else:
            self._places = shared_places(workload, state, self.kinds, self.rows)
        ended = self.rows[self.kinds == constants.LOG_END]
        # of each job: when it starts and ends, the entry of its start (else the first, which is about no nodes)
        self._start, self._end, self._begun = np.full(n, NULL), np.full(n, NULL), np.zeros(n, np.int64)
        self._end[ended] = self.times[self.kinds == constants.LOG_END]
        self._start[self.rows[started]] = self.times[started]
        self._begun[self.rows[started]] = np.flatnonzero(started)
        self.n_backfilled = int(np.count_nonzero(started & (self._notes == constants.BY_POLICY) & (self.values != 0)))
        came = self.rows[self.kinds == constants.LOG_SUBMIT]
        left = came[self._end[came] == NULL]
        # the jobs in the order in which they ended, and what is left by number
        self._jobs = np.concatenate([ended, left[np.argsort(self._ints["job_id"][left])]])
        self._state = states_of(workload)
        failed = np.array([name == JobState.FAILED for name in self._state[1]])
        self._reason: Texts = failed[self._state[0]].astype(np.int64), [str(Reason.NONE), str(Reason.NON_ZERO_EXIT)]
        self._exit_code = _exit_codes(workload)
        if len(left):
            waits, begun = left[self._start[left] == NULL], left[self._start[left] != NULL]
            self._state = _changed(self._state, left, _BEGUN, (self._start[left] != NULL).astype(np.int64))
            self._reason = _changed(_changed(self._reason, waits, _SAID, said[waits]), begun, _SAID[:1], 0)
            self._exit_code = _changed(self._exit_code, left, ["0:0"], 0)
            asked, places = self._ints["tasks"][waits], self._places
            places.cpus_each = _changed(places.cpus_each, waits, [""], 0)
            places.cpus = _with(places.cpus, waits, asked)
            places.nodes = _with(places.nodes, waits, asked if self._linear else 1)

    def tables(self, rows: int) -> Iterator[tuple[str, list[Any]]]:
        """Yield the trace, `rows` rows at a time: the name of a table, and its columns as Arrow arrays."""
        turns = self._turns()
        for name, n_rows, make in (
            ("jobs", len(self._jobs), self.jobs), ("events", len(self.rows), self.events),
            ("usage", 2 * len(turns), self.usage(turns)),
        ):  # fmt: skip
            for begin in range(0, n_rows, rows):
                found = make(slice(begin, min(begin + rows, n_rows)))
                yield name, [_array(found[column], about.kind) for column, about in TABLES[name].items()]

    def all_jobs(self) -> tuple[Numbers, Numbers, Numbers, Numbers, Numbers, Texts]:
        """Return submit, start, end, CPUs, nodes and states of the jobs; `NULL` is where it has not come to that."""
        rows, (codes, states) = self._jobs, self._state
        return (
            self._ints["submit"][rows], self._start[rows], self._end[rows], self._places.cpus[rows],
            self._places.nodes[rows], (codes[rows], states),
        )  # fmt: skip

    def _turns(self) -> Numbers:
        """Return the last entry of each instant in which jobs come, start or end."""
        there: Numbers = np.flatnonzero(np.isin(self.kinds, _CHANGES))
        times = self.times[there]
        last: Numbers = there[np.diff(times, append=times[-1:] + 1) != 0]
        return last

    def jobs(self, part: slice) -> dict[str, Any]:
        """Cells of `part` of the jobs."""
        rows = self._jobs[part]
        ints = self._ints
        need, limit, submit = ints["tasks"][rows], self._limits[rows], ints["submit"][rows]
        start, end, begun = self._start[rows], self._end[rows], self._begun[rows]
        ran, over = start != NULL, end != NULL
        rank = self._priorities if isinstance(self._priorities, int) else self._priorities[rows]
        places = self._places
        sizes, size_of = np.unique(places.nodes[rows], return_inverse=True)
        nothing: dict[str, Any] = dict.fromkeys(
            ("array_job_id", "array_task_id", "req_mem_mib", "begin", "arrived", "threads_per_core")
        )
        empty = dict.fromkeys(("qos", "gres_per_node", "reservation", "licenses", "layout"), "")
        names = {
            name: (self._texts[name].codes[rows], self._texts[name].values) for name in ("name", "user", "account")
        }
        found = nothing | empty | names | {
            "job_id": ints["job_id"][rows], "partition": self._partition, "nodes": places.nodes[rows],
            "cpus": places.cpus[rows], "gpus": 0, "mem_mib": 0, "cpus_per_node": _at(places.cpus_each, rows),
            "mem_per_node_mib": (
                np.where(ran, size_of, len(sizes)),
                [*[f"0(x{size})" if size > 1 else "0" for size in sizes.tolist()], ""],
            ),
            "req_nodes": need if self._linear else 1, "req_cpus": need,
            "req_gpus": 0, "time_limit_s": np.where(limit == ONE_YEAR_S, NULL, limit), "submit": submit,
            "last_submit": submit, "eligible": submit, "start": start, "end": end, "state": _at(self._state, rows),
            "exit_code": _at(self._exit_code, rows), "node_list": places.lists(begun),
            "reason": _at(self._reason, rows), "priority": rank, "restarts": 0,
            "run_time_s": np.where(over, end - start, NULL), "wait_s": np.where(ran, start - submit, NULL),
            "scheduler": (np.where(ran, self._notes[begun], 2), [self._label, MAIN, ""]), "held_since": start,
            "cpus_per_task": 1,
        }  # fmt: skip
        return {name: _filled(value, len(rows)) for name, value in found.items()}

    def events(self, part: slice) -> dict[str, Any]:
        """Cells of `part` of all events."""
        kinds, rows, notes = self.kinds[part], self.rows[part], self._notes[part]
        ended, started, planned = (
            kinds == kind for kind in (constants.LOG_END, constants.LOG_START, constants.LOG_PLAN)
        )
        state, states = self._state
        reason, reasons = self._reason
        lists = self._places.lists(np.arange(part.start, part.stop))
        decided, says = started | planned, planned | (kinds == constants.LOG_REASON)
        found = {
            "time": self.times[part], "event": (kinds, _EVENTS), "job_id": self._ints["job_id"][rows],
            "state": (np.where(ended, state[rows] + len(_BEGUN), started), [*_BEGUN, *states]),
            "reason": (np.where(ended, reason[rows] + len(_SAID), np.where(says, notes, 0)), [*_SAID, *reasons]),
            "partition": self._partition, "nodes": lists,
            "value": np.where(decided, self.values[part], NULL),
            "scheduler": (np.where(decided, np.where(started, notes, 0) + 1, 0), ["", self._label, MAIN]),
        }  # fmt: skip
        return {name: _filled(value, len(kinds)) for name, value in found.items()}

    def usage(self, turns: Numbers) -> Callable[[slice], dict[str, Any]]:
        """Return what makes cells of the table usage: of each instant a row of the cluster and one of the partition."""
        sign, places = self._sign, self._places
        busy, running = np.cumsum(places.moved)[turns], np.cumsum(sign, dtype=np.int64)[turns]
        total = places.cpus[self.rows]
        total *= sign
        cpus = np.cumsum(total, out=total)[turns]
        came, started = self.kinds == constants.LOG_SUBMIT, self.kinds == constants.LOG_START
        waiting = np.cumsum(came.view(np.int8) - started.view(np.int8), dtype=np.int64)[turns]
        times, n_nodes = self.times[turns], self._n_nodes

        def make(part: slice) -> dict[str, Any]:
            row = np.arange(part.start, part.stop)
            at = row // 2
            found = {
                "time": times[at], "partition": (row % 2, ["", self._partition]), "alloc_nodes": busy[at],
                "idle_nodes": n_nodes - busy[at], "down_nodes": 0, "alloc_cpus": cpus[at], "alloc_gpus": 0,
                "alloc_mem_mib": 0, "running_jobs": running[at], "pending_jobs": waiting[at], "off_nodes": 0,
                "powering_nodes": 0,
            }  # fmt: skip
            return {name: _filled(value, len(row)) for name, value in found.items()}

        return make


_EVENTS = ["SUBMIT", "START", "END", "PLAN", "REASON"]  # in the order of their numbers
_SAID = [str(Reason.NONE), str(Reason.RESOURCES), str(Reason.PRIORITY)]
_CHANGES = [constants.LOG_SUBMIT, constants.LOG_START, constants.LOG_END]
_BEGUN = [str(JobState.PENDING), str(JobState.RUNNING)]


def states_of(workload: Workload) -> Texts:
    """Return how each job ends: what its log says, else by its exit code."""
    said = workload.texts["outcome"]
    failed = (workload.ints["exit_code"] != 0) | (workload.ints["exit_signal"] != 0)
    values = [str(JobState.COMPLETED), str(JobState.FAILED), *said.values]
    return np.where(said.said(), said.codes + np.int64(2), failed), values


def _exit_codes(workload: Workload) -> Texts:
    both = workload.ints["exit_code"].astype(np.int64) * 1000 + workload.ints["exit_signal"]
    values, codes = np.unique(both, return_inverse=True)
    return codes, [f"{value // 1000}:{value % 1000}" for value in values.tolist()]


def _changed(texts: Texts, rows: Numbers, others: Sequence[str], which: Any) -> Texts:
    """Return texts with those of `rows` replaced: by which of `others`."""
    return _with(texts[0], rows, len(texts[1]) + which), [*texts[1], *others]


def _with(column: npt.NDArray[np.integer[Any]], rows: Numbers, values: Any) -> Numbers:
    """Return a column with those `values` in `rows`."""
    changed = column.astype(np.int64)
    changed[rows] = values
    return changed


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
