"""A run without outputs: the figures of its jobs, and no file (``slurmsim run --outputs none``)."""

from __future__ import annotations

import time
from operator import itemgetter
from typing import Any

import numpy as np

from slurmsim.data_classes import fields
from slurmsim.errors import ConfigError
from slurmsim.metrics.columns import ARRIVED, NEEDED, RUN_TIME, JobColumns
from slurmsim.metrics.summary import summarize
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import Prepared
from slurmsim.replaying.replay import Progress, few_collections, simulate, simulated
from slurmsim.sim.counted import CountedRun
from slurmsim.sim.recorder import Recorder
from slurmsim.trace.columns import NULL
from slurmsim.trace.schema import JOBS

OF_A_TRACE = ("shares", "fair_start", "save_instances", "carbon", "prices", "checkpoint")
"""Options with figures that are made of a trace, or with files of their own."""
_OF_REQUEUES = ("requeues", "requeued_cpu_s")  # which are no rows of jobs
_COLUMNS = (*NEEDED, RUN_TIME, ARRIVED)


def figures(prepared: Prepared, progress: Progress | None = None) -> tuple[dict[str, Any], bool]:
    """Simulate; return the summary as far as it follows from the jobs, and whether it was cut short by Ctrl-C.

    Utilization counts the CPUs of jobs alone: neither nodes that were down nor runs that ended in a requeue.
    Raises ConfigError for options that need a trace.
    """
    _refuse(prepared)
    began = time.perf_counter()
    with few_collections():
        columns, simulation, interrupted = _jobs(prepared, progress)
        summary = summarize(columns, cpus=sum(n.cpus for n in prepared.cluster.nodes))
    found: dict[str, Any] = {name: value for name, value in summary.items() if name not in _OF_REQUEUES}
    wall = time.perf_counter() - began
    found |= {
        "dropped": sum(prepared.workload.quality.dropped.values()),
        "stopped": interrupted or simulation.stopped,
        "wall_s": round(wall, 3),
        "jobs_per_s": round(simulation.n_done / wall, 1) if wall > 0 else None,
        "passes": simulation.controller.main.passes + simulation.controller.host.passes,
        "policy": prepared.policy_name,
        "seed": prepared.options.seed,
    }
    return found, interrupted


def _refuse(prepared: Prepared) -> None:
    defaults = {one.name: one.default for one in fields(RunOptions)}
    for name in OF_A_TRACE:
        if getattr(prepared.options, name) != defaults[name]:
            raise ConfigError("--outputs none writes no trace", field=f"--{name.replace('_', '-')}",
                              expected="one of the two")  # fmt: skip
    if prepared.cluster.power is not None:
        raise ConfigError("none writes no trace, which watts are counted from", field="--outputs", expected="all")


def _jobs(prepared: Prepared, progress: Progress | None) -> tuple[JobColumns, Any, bool]:
    """Return the jobs of the run, its simulation, and whether it was cut short."""
    cells: list[tuple[Any, ...]] = []
    chosen = itemgetter(*(list(JOBS).index(name) for name in _COLUMNS))

    def flush() -> None:
        if progress is not None:
            progress(simulation)

    def keep(row: tuple[Any, ...]) -> None:
        cells.append(chosen(row))

    recorder = Recorder(keep, _drop, _drop, _drop, flush)
    simulation = simulate(prepared, recorder)
    counted, interrupted = simulated(prepared, simulation, flush)
    if counted is not None:
        return _counted(counted), simulation, interrupted
    recorder.unfinished()
    return _columns(cells), simulation, interrupted


def _drop(_: Any) -> None:
    """Keep no rows of events, usage and requeues."""


def _columns(cells: list[tuple[Any, ...]]) -> JobColumns:
    """Return rows of cells as columns."""
    columns = dict(zip(_COLUMNS, zip(*cells, strict=True), strict=True)) if cells else dict.fromkeys(_COLUMNS, ())
    ints = {
        name: np.array([NULL if value is None else value for value in column], np.int64)
        for name, column in columns.items() if name != "state"
    }  # fmt: skip
    told = ints[RUN_TIME]
    run = np.where(told != NULL, told, ints["end"] - ints["start"])
    return JobColumns.of({**ints, "state": columns["state"], RUN_TIME: run})


def _counted(counted: CountedRun) -> JobColumns:
    """Return the jobs of a run on rows."""
    submit, start, end, cpus, nodes, (codes, states) = counted.trace().all_jobs()
    return JobColumns(
        submit=submit, start=start, end=end, run=end - start, started=start != NULL, ended=end != NULL, cpus=cpus,
        nodes=nodes, state_codes=codes.astype(np.int32), states=states, buffered=np.full(len(submit), -1),
    )  # fmt: skip
