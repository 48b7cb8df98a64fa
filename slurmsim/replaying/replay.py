"""The main job: simulate a prepared run and leave a trace. The composition root of ``slurmsim run``."""

from __future__ import annotations

import gc
import shutil
import tempfile
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from slurmsim import long_lived
from slurmsim.config.findings import warnings_among
from slurmsim.core.records.messages import CreateReservation
from slurmsim.replaying.counting import is_counted
from slurmsim.replaying.inputs import input_columns
from slurmsim.replaying.instances import InstanceSaver
from slurmsim.replaying.jobs import FRAME
from slurmsim.replaying.manifest import manifest, predictor_named
from slurmsim.replaying.options import RunKeywords, RunOptions, with_run_keywords
from slurmsim.replaying.preparation import Prepared, prepare
from slurmsim.replaying.signals import of_signal
from slurmsim.replaying.simulating import simulation_of
from slurmsim.sim.checkpoints import Checkpoints
from slurmsim.sim.counted import CountedRun
from slurmsim.sim.recorder import Recorder
from slurmsim.sim.shares import SharesRecorder
from slurmsim.sim.simulation import Simulation, Timed
from slurmsim.trace.staging import most_resident

if TYPE_CHECKING:
    import pandas as pd

    from slurmsim.trace.reader import Trace

_ran = False  # whether this process made a run before
GC_THRESHOLD = 200_000  # allocations between collections of young objects: a run makes few cycles
Progress = Callable[[Simulation], None]


def run(
    workload: str | Path | pd.DataFrame, *, out: str | Path | None = None, report: bool | None = None,
    **options: Unpack[RunKeywords],
) -> Trace:  # fmt: skip
    """Replay a workload, as ``slurmsim run`` does, and return its trace.

    Parameters are those of the command under the same names: `set` and `option` are mappings, `accounting` and
    `groups` one path or several. `workload` may be a pandas DataFrame with the columns of docs/workloads.md, of which
    ``job_id`` and ``submit`` have to be there. `policy` may also be a subclass of `slurmsim.policy.Policy` or an
    instance of one, of which the run has a copy. Without `out` the trace is in a temporary folder, which is removed
    when nothing refers to the trace any more; then there is no report unless `report` is true. Warnings of the command
    are Python warnings; errors raise `slurmsim.errors.SlurmSimError` with the same one line.
    """
    from slurmsim.trace.reader import read_trace

    if out is None:
        scratch = tempfile.mkdtemp(prefix="slurmsim-run-")
        try:
            trace = run(workload, out=Path(scratch) / "trace", report=bool(report), **options)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        weakref.finalize(trace, shutil.rmtree, scratch, ignore_errors=True)
        return trace
    frame = None if isinstance(workload, str | Path) else workload
    file = workload if isinstance(workload, str | Path) else FRAME
    prepared = prepare(RunOptions.of(file, out, **options), frame)
    for warning in warnings_among(prepared.findings):
        warnings.warn(warning, stacklevel=2)
    folder, summary, interrupted = execute(prepared, report=report is None or report)
    if summary["refused"]:
        warnings.warn(refused_warning(summary["refused"]), stacklevel=2)
    for note in prepared.notes:
        warnings.warn(note, stacklevel=2)
    if interrupted:
        raise KeyboardInterrupt
    return read_trace(folder)


run.__signature__ = with_run_keywords(run)  # type: ignore[attr-defined]


def execute(
    prepared: Prepared, *, report: bool = True, progress: Progress | None = None
) -> tuple[Path, dict[str, Any], bool]:
    """Simulate and write the trace; returns the folder, the summary, and whether it was cut short by Ctrl-C.

    Raises OutputError when something cannot be written; what was in the folder before is then untouched.
    """
    from slurmsim.metrics.unstarted import COLUMNS, unstarted
    from slurmsim.trace.reader import read_trace
    from slurmsim.trace.writer import ROW_GROUP, TraceWriter

    began = time.perf_counter()
    every = prepared.options.shares
    power = prepared.cluster.power is not None
    saves = Checkpoints.configured(prepared.cluster.scheduler_parameters) is not None
    wanted = {"shares": every is not None, "phases": power, "inputs": True, "checkpoints": saves}
    optional = tuple(name for name, is_wanted in wanted.items() if is_wanted)
    with few_collections(), TraceWriter(Path(prepared.options.out), optional=optional) as writer:

        def flush() -> None:
            writer.flush_if_full()
            if progress is not None:
                progress(simulation)

        if writer.inputs is not None:
            writer.inputs.add_columns(input_columns(prepared.workload, power))
        recorder = Recorder(
            writer.jobs.append, writer.events.extend, writer.usage.extend, writer.requeued.append, flush,
            writer.phases.append if writer.phases is not None else None,
        )  # fmt: skip
        simulation = simulate(prepared, recorder)
        if writer.checkpoints is not None:
            simulation.keep_progress = writer.checkpoints.append
        saver = _saving(prepared.options, simulation)
        if every is not None and writer.shares is not None:
            SharesRecorder(simulation.controller, every, writer.shares.append)
        counted, interrupted = simulated(prepared, simulation, flush)
        for name, arrays in counted.tables(ROW_GROUP) if counted is not None else ():
            getattr(writer, name).add_columns(arrays)
        recorder.unfinished()
        dropped = sum(prepared.workload.quality.dropped.values())  # of what was left out before it began
        for sub, text in simulation.refused:
            prepared.workload.quality.drop(f"refused at submission: {text}", 1, f"job {sub.job_id}")
        for name, n in simulation.dropped.items():
            prepared.workload.quality.drop(f"stream {name}: the queue was full", n)
        for name, text in simulation.refused_reservations:
            prepared.notes.append(f"warning: reservation {name}: refused as Slurm would: {text}")
        prepared.notes += _never_begun(prepared.timed, int(simulation.env.now))
        if saver is not None:
            prepared.notes += saver.notes()
        writer.write_json("run.json", manifest(prepared))
        folder = writer.seal(partial=interrupted)
        wall = time.perf_counter() - began
        trace = read_trace(folder)
        found = _figures(prepared, trace)
        at = list(found).index("refused") + 1
        items = list(found.items())
        summary: dict[str, Any] = dict([*items[:at], ("dropped", dropped), *items[at:]])
        controller = simulation.controller
        summary |= unstarted(trace.read("jobs", COLUMNS))
        summary |= {
            "stopped": interrupted or simulation.stopped,
            "wall_s": round(wall, 3),
            "jobs_per_s": round(simulation.n_done / wall, 1) if wall > 0 else None,
            "passes": controller.main.passes + controller.host.passes,
            "backfilled": controller.life_cycle.backfilled,
            "peak_rss_bytes": most_resident(),
            "policy": prepared.policy_name,
            **predictor_named(prepared.policy),
            "seed": prepared.options.seed,
        }
        if prepared.options.fair_start and not interrupted:
            from slurmsim.replaying.fair_start import figures

            summary |= figures(prepared, read_trace(folder))
        writer.write_json("summary.json", summary)
        if report:
            from slurmsim.report.build import build_report

            build_report(folder, formats=())
        folder = writer.close(partial=interrupted)
    return folder, summary, interrupted


def _figures(prepared: Prepared, trace: Trace) -> dict[str, Any]:
    """Return the figures of the summary that follow from the trace and the cluster."""
    from slurmsim.metrics.fairness import by_user
    from slurmsim.metrics.gpus import of_trace as of_gpus
    from slurmsim.metrics.summary import summarize_trace
    from slurmsim.metrics.work import OF_RUNS, of_trace

    nodes, options = prepared.cluster.nodes, prepared.options
    cpus = sum(node.cpus for node in nodes)
    found: dict[str, Any] = dict(summarize_trace(trace, cpus=cpus))
    work = of_trace(trace, cpus)
    found |= {name: work[name] for name in OF_RUNS if name in work} | by_user(trace)
    found |= of_gpus(trace, sum(g.count for node in nodes for g in node.gres if g.name == "gpu"))
    if prepared.cluster.power is not None:
        found["energy_j"] = work["energy_j"]
    if options.carbon is not None:
        found |= of_signal(trace, options.carbon, prepared.workload)
    if options.prices is not None:
        from slurmsim.replaying.node_prices import of_prices, read_prices

        found |= of_prices(trace, read_prices(Path(options.prices), prepared.cluster), prepared.cluster)
    return found


def simulated(prepared: Prepared, simulation: Simulation, flush: Callable[[], None]) -> tuple[CountedRun | None, bool]:
    """Run to the end or to Ctrl-C; return the run on rows if it is one, and True if it was cut short."""
    counted = CountedRun(simulation) if is_counted(prepared) else None
    interrupted = False
    try:
        if counted is None:
            simulation.run()
        else:
            counted.run(flush)
    except KeyboardInterrupt:
        interrupted = True
    return counted, interrupted


def simulate(prepared: Prepared, recorder: Recorder) -> Simulation:
    """Return the simulation of a prepared run, with `recorder` attached, not yet run."""
    simulation = simulation_of(prepared, recorder, Simulation)
    recorder.attach(simulation.controller)
    return simulation


def _saving(options: RunOptions, simulation: Simulation) -> InstanceSaver | None:
    """Has what the solver of `simulation` is asked for saved, if that is wanted."""
    if options.save_instances is None:
        return None
    saver = InstanceSaver(Path(options.save_instances), options.max_instances)
    simulation.solve = saver.around(simulation.solve)
    return saver


def refused_warning(n: int) -> str:
    """Return what to say about `n` refused submissions."""
    return f"warning: Slurm would refuse {n} submissions: they are the rows in state REFUSED of jobs.parquet"


def _never_begun(timed: Sequence[Timed], end: int) -> list[str]:
    """Return what to say of reservations that lie after the `end` of the run, which no job could meet."""
    specs = [item.fact.spec for item in timed if isinstance(item.fact, CreateReservation)]
    return [
        f"warning: reservation {spec.name or 'without a name'}: starts at {spec.start}, after the run ended ({end})"
        for spec in specs if spec.start > end
    ]  # fmt: skip


@contextmanager
def few_collections() -> Iterator[None]:
    """Look for cycles of dead objects seldom: a run and its report make few, and what is there before stays anyway.

    A process that makes many runs freezes what they share itself, and that is not looked through for each of them.
    """
    global _ran
    old = gc.get_threshold()
    frozen = long_lived.freezing()
    if _ran:
        gc.collect()  # what the run before left; before the first there is next to nothing
    _ran = True
    if not frozen:
        gc.freeze()
    gc.set_threshold(GC_THRESHOLD, 50, 50)
    try:
        yield
    finally:
        if not frozen:
            gc.freeze()  # what is new counts as looked at, or the next allocation would look through all of it
            gc.unfreeze()
        gc.set_threshold(*old)
