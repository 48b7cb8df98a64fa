"""A run on equal nodes by a kernel: jobs are rows, and the trace is made of columns.

The kernel is `counts` under EASY, and `slurm_run` under Slurm's backfill. SimPy stays the clock: each instant at which
jobs end or arrive, or a pass or cycle is due, is one of its events. The trace has the same bytes as by way of the core.
KTH takes 0.8 s of CPU in all under EASY instead of 2.8, SDSC-BLUE 3.5 instead of 19.7, and KTH under backfill 1.4
instead of 7.3.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from slurmsim.kernel import constants, load
from slurmsim.sim.counted_trace import CountedTrace, states_of
from slurmsim.sim.event_loop import run_until
from slurmsim.sim.simulation import Simulation
from slurmsim.states import JobState
from slurmsim.workload import INT_COLUMNS, TEXT_COLUMNS, TextColumn, Workload

MINUTE_S = 60
TURNS = 256  # between two looks at the time
MAY_VARY = frozenset({
    "job_id", "submit", "run_time", "time_limit", "tasks", "exit_code", "exit_signal", "log_start", "log_end",
    "name", "user", "account", "outcome", "log_state", "log_nodes",
})  # fmt: skip
"""Columns of a workload that say nothing but when jobs come, how many CPUs they want, and how they run and end."""
LINEAR = MAY_VARY | {"nodes", "exclusive"}  # the same where jobs get whole nodes whatever they ask for
OUTCOMES = frozenset({"", "COMPLETED", "FAILED", "CANCELLED"})


def can_be_counted(workload: Workload, n_nodes: int, *, linear: bool = False) -> bool:
    """Return True if nothing is known of the jobs but when they come, their tasks, limits, run times and ends.

    With `linear` jobs have a node to themselves for each task.
    """
    may_vary = LINEAR if linear else MAY_VARY
    if workload.streams is not None or not len(workload):
        return False
    ints, texts = workload.ints, workload.texts
    if any((ints[name] != default).any() for name, (_, default) in INT_COLUMNS.items() if name not in may_vary):
        return False
    if any(_used(texts[name]) != {""} for name in TEXT_COLUMNS if name not in may_vary):
        return False
    if linear and not ((ints["nodes"] == ints["tasks"]) & (ints["exclusive"] == 1)).all():
        return False
    submit, run, limit, tasks, ids = (ints[name] for name in ("submit", "run_time", "time_limit", "tasks", "job_id"))
    sound = (run >= 1).all() and (run <= limit).all() and (tasks >= 1).all() and (tasks <= n_nodes).all()
    # jobs of one second wait in the order of their numbers
    later = (submit[1:] > submit[:-1]) | ((submit[1:] == submit[:-1]) & (ids[1:] > ids[:-1]))
    in_order = np.sort(ids)  # `np.unique` without indices loads numpy.ma, a fiftieth of the time of a run of one job
    apart = in_order[0] > 0 and (in_order[1:] != in_order[:-1]).all()
    return bool(sound and later.all() and apart and _used(texts["outcome"]) <= OUTCOMES)


def _used(column: TextColumn) -> set[str]:
    return {column.values[code] for code in column.used()}


class CountedRun:
    """The run of a simulation that has not begun; the simulation keeps its clock and what it tells of itself."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        ints, controller = simulation.workload.ints, simulation.controller
        asked, event_driven = ints["time_limit"], controller.state.event_driven
        # as `PartitionLimits.set_time_limit` has it: Slurm keeps whole minutes
        self._limits = asked if event_driven else np.maximum(-(-asked // MINUTE_S) * MINUTE_S, MINUTE_S)
        columns = (ints["job_id"], ints["submit"], ints["tasks"], self._limits, ints["run_time"])
        table = controller.state.table
        whole = table.unit == "node" or table.total_cpus == table.n
        units = table.n if whole else table.total_cpus
        self._happens = load("happenings").Happenings(*map(_integers, columns), units, whole)
        # the kernel that decides
        self._rows = load("counts").Counts(self._happens, self._order()) if event_driven else self._slurm_run()
        self._calls: list[Callable[[Any], None]] = [self._turn]
        self._flush: Callable[[], None] | None = None
        self._turns = 0

    def _order(self) -> int:
        """Return how the kernel calls the policy."""
        policy = self._simulation.controller.state.policy
        if policy.options.get("order", "queue") != "queue":
            return constants.EASY_SHORTEST
        return {"fcfs": constants.FCFS, "spf": constants.SHORTEST}.get(policy.name, constants.EASY)

    def _slurm_run(self) -> Any:
        """Return Slurm's main scheduler and backfill, as they are configured."""
        controller, start, kernel = self._simulation.controller, self._simulation.start_time, load("slurm_run")
        main, policy, limits = controller.main, controller.state.policy, controller.state.time_limits
        n_nodes, workload = controller.state.table.n, self._simulation.workload
        sizes, shapes = np.unique(workload.ints["tasks"], return_inverse=True)
        own: Any = policy  # it is `slurmsim_policies.slurm_backfill`
        cycle = load("cycle").Cycle(
            load("atoms").Atoms(), load("queue").Queue(), own.resolution, own.window, own.space_size, own.max_test,
            own.max_array,
        )  # fmt: skip
        cycle.learn_set([(0, n_nodes)])
        for size in sizes.tolist():
            cycle.learn(0, 0, 0, size, size, array("q"))
        codes, names = states_of(workload)
        by_itself = np.array([name in (JobState.COMPLETED, JobState.FAILED) for name in names])
        return kernel.SlurmRun(
            self._happens, _integers(shapes), _integers(by_itself[codes]), cycle,
            load("running").Running(n_nodes), kernel.Rounds(start, main.interval, main.delay, main.walk.depth),
            kernel.Cadence(start, own.interval, own.full_pass), self._priorities(sizes),
            controller.state.selector.window_linear, limits.kill_wait_s + limits.over_limit_s,
        )  # fmt: skip

    def _priorities(self, sizes: Any) -> Any:
        """Return how the queue is put in order, for jobs of so many nodes each."""
        controller = self._simulation.controller
        plugin: Any = controller.priority
        n_nodes, n_cpus = controller.state.table.n, controller.state.table.total_cpus
        asked, tried = (
            array("d", [plugin.w_size * min((n / n_nodes + cpus / n_cpus) / 2, 1.0) for n, cpus in both])
            for both in (zip(sizes, sizes, strict=True), zip(sizes, sizes * (n_cpus // n_nodes), strict=True))
        )
        return load("slurm_run").Priorities(
            self._simulation.start_time, plugin.period_s or 0, plugin.w_age, plugin.max_age, asked, tried
        )

    def run(self, flush: Callable[[], None] | None = None) -> None:
        """Simulate to the end, or to `until`; `flush` is called every 256 instants.

        May be interrupted (KeyboardInterrupt): the trace is then what happened until there. Of the last instant it has
        all with a compiled kernel, and maybe only the first part with one in Python.
        """
        env, until = self._simulation.env, self._simulation.until
        self._flush = flush
        env._queue.clear()
        # told first, so that it comes before what else is due at that instant
        over = env.event() if until is None else env.timeout(max(0, until - self._simulation.start_time))
        self._wait()
        try:
            run_until(env, over)
        finally:
            self._take_note()

    def _turn(self, _: object) -> None:
        self._rows.turn(self._simulation.timers.now)
        self._turns += 1
        if self._turns % TURNS == 0 and self._flush is not None:
            self._take_note()
            self._flush()
        self._wait()

    def _wait(self) -> None:
        timers, at = self._simulation.timers, self._rows.next_time()
        if at != constants.NO_TIME and self._rows.done < self._simulation.n_jobs:
            timers.tell(at - timers.now, self._calls, None)
        else:
            self._simulation.env._queue.clear()  # the rest of the time until `until` is not waited for

    def _take_note(self) -> None:
        controller = self._simulation.controller
        self._simulation.n_done = self._rows.done
        controller.host.passes = self._rows.passes
        if not controller.state.event_driven:
            controller.main.passes = self._rows.main_passes

    def tables(self, rows: int) -> Iterator[tuple[str, list[Any]]]:
        """Yield the trace, `rows` rows at a time: the name of a table, and its columns as Arrow arrays. Once only."""
        yield from self.trace().tables(rows)

    def trace(self) -> CountedTrace:
        """Return what happened. Once only."""
        trace = CountedTrace(self._simulation, self._happens.log, self._limits, *self._of_waiting())
        self._simulation.controller.life_cycle.backfilled = trace.n_backfilled
        del self._rows, self._happens  # the trace has all that is needed of them
        return trace

    def _of_waiting(self) -> tuple[Any, Any]:
        """Return the priority of each job, None if all are 1, and which reason it shows if it waits."""
        rows, said = self._rows, np.full(self._happens.n, constants.SAYS_NONE, np.int64)
        if self._simulation.controller.state.event_driven:
            return None, said
        priorities = np.frombuffer(rows.priority, np.int64)
        slots = np.frombuffer(rows.queue.order, np.int64)[: rows.queue.n]
        jobs, ranks, says = (np.frombuffer(column, np.int64)[slots] for column in (rows.rows, rows.ranks, rows.says))
        priorities[jobs], said[jobs] = ranks, says
        return priorities, said


def _integers(column: Any) -> array[int]:
    return array("q", np.ascontiguousarray(column, np.int64).tobytes())
