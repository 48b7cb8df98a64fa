"""Many runs of one experiment: in parallel, each kept in a file of its own, so that an interrupted one goes on."""

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from slurmsim import __version__
from slurmsim.campaign.sources import own_digest, packages_digest, source_digest
from slurmsim.campaign.tasks import Task
from slurmsim.campaign.workers import run_tasks
from slurmsim.data_classes import asdict, dataclass
from slurmsim.errors import SlurmSimError
from slurmsim.input_file import open_input, read_text
from slurmsim.json_text import loads
from slurmsim.trace.reader import Trace

Measure = Callable[[Trace], dict[str, Any]]
Work = Callable[..., dict[str, Any]]
Progress = Callable[[int, int], None]

ROOMS = ("experiments", "papers")  # of slurmsim, which `own_digest` leaves out
LACKS = (
    "jobs", "refused", "never_started", "dropped", "mean_wait_so_far_s", "cancelled_waiting", "ended_waiting",
    "waiting", "stopped",
)  # fmt: skip
"""What of a run's summary says which jobs its means leave out."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of an experiment and what it depends on."""

    name: str  # file name of its result, without suffix
    policy: str  # as ``--policy`` takes it; empty where a slurm.conf says it
    # model, options, seed: the workload: a generator's name, its options and its seed
    seed: int
    model: str = ""
    options: tuple[tuple[str, str], ...] = ()
    # or the path of a job log; with a seed other than 0 its submit times are jittered by up to `jitter_s`
    log: str = ""
    jitter_s: int = 60
    # window, load: which part of the log, and so many times its load; empty and 0 for the log as it is
    window: str = ""
    load: float = 0.0
    # nodes, cpus_per_node: the cluster; None takes it from the log's header
    nodes: int | None = None
    cpus_per_node: int | None = None
    conf: str = ""  # or the path of its slurm.conf
    # texts of files of the run, by their option (``conf``, ``accounting``, ``streams``); the latter two are TOML
    files: tuple[tuple[str, str], ...] = ()


def run_all(
    cells: Sequence[Cell], measure: Measure, folder: Path, **how: Any
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """`work_all` for cells that are simulated runs; `measure` is what to keep of a trace.

    It is a function at the top of a module, because other processes call it.
    """
    return work_all(cells, partial(_run, measure=measure), folder, **how)


def work_all(
    cells: Sequence[Any], work: Work, folder: Path, *, workers: int = 0, fresh: bool = False,
    progress: Progress | None = None,
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """Return the figures of every cell by its name, from its file where that is there.

    Parameters
    ----------
    cells
        Dataclasses with a `name`; all their other fields say what their figures depend on, those that name a file by
        what is in it.
    work
        (cell, scratch=folder) -> figures; a function at the top of a module, because other processes call it.
    folder
        Gets ``runs/NAME.json``, one whole file as soon as its run is done.
    workers
        Processes; 0 for as many as cores.
    fresh
        Run again what has a file already.

    Raises
    ------
    SlurmSimError
        The first error of a run. What was done before stays.
    """
    found: dict[str, dict[str, Any]] = {}
    missing = []
    for cell in cells:
        kept = None if fresh else _kept(cell, work, folder)
        if kept is None:
            missing.append(cell)
        else:
            found[cell.name], cpu_s = kept
            _earlier.append(cpu_s)
    if progress is not None:
        progress(len(found), len(cells))
    if missing:
        by_name = {cell.name: cell for cell in missing}
        # the folder is ours, so that it goes with all that killed runs leave in it
        with tempfile.TemporaryDirectory(prefix="slurmsim-") as scratch:
            do = partial(_timed, work=work, scratch=scratch)
            tasks = (Task(cell.name, do, (cell,)) for cell in missing)
            with closing(run_tasks(tasks, workers=workers)) as running:
                for done in running:
                    if done.error is not None:
                        raise done.error
                    cell = by_name[done.task.name]
                    found[cell.name], cpu_s = done.value
                    _keep(cell, work, folder, found[cell.name], cpu_s)
                    if progress is not None:
                        progress(len(found), len(cells))
    return {cell.name: found[cell.name] for cell in cells}


def earlier_cpu_s() -> float:
    """Return the CPU seconds of what this process has read from files since the last call; they were spent before."""
    found = sum(_earlier)
    _earlier.clear()
    return found


_earlier: list[float] = []


def _timed(cell: Any, *, work: Work, scratch: str) -> tuple[dict[str, Any], float]:
    began = time.process_time()
    return work(cell, scratch=scratch), time.process_time() - began


def _file(cell: Any, folder: Path) -> Path:
    return folder / "runs" / f"{cell.name}.json"


def _definition(cell: Any, work: Work) -> dict[str, Any]:
    """Return what the figures of `cell` depend on, as it is when read back."""
    fields = asdict(cell)
    content = {
        name: _digest(value) for name, value in fields.items() if isinstance(value, str) and os.path.isfile(value)
    }
    sources = [__version__, own_digest(), packages_digest("slurmsim_policies"), *_sources(work)]
    found: dict[str, Any] = json.loads(json.dumps({**fields, "content": content, "slurmsim": sources}))
    return found


def _sources(work: Work) -> list[str]:
    """Digests of what an experiment brings: the sources of `work`, of what it is given as `measure`, and ours.

    A source counts with all it imports. None of them imports goals, tables and views: a word there makes no run anew.
    """
    found: list[Callable[..., Any]] = [work_all]
    given: Any = work
    while isinstance(given, partial):
        found += [one for one in (*given.args, *given.keywords.values()) if callable(one)]
        given = given.func
    return [source_digest(str(getattr(one, "__module__", "")), *ROOMS) for one in (*found, given)]


def _digest(path: str) -> str:
    with open_input(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _kept(cell: Any, work: Work, folder: Path) -> tuple[dict[str, Any], float] | None:
    """Return figures and CPU seconds of a run that is there."""
    try:
        text = loads(read_text(_file(cell, folder)))
        found = text["figures"], float(text["cpu_s"])
        return found if text["cell"] == _definition(cell, work) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(cell: Any, work: Work, folder: Path, figures: dict[str, Any], cpu_s: float) -> None:
    from slurmsim.report.build import write_file
    from slurmsim.trace.jsonfile import to_json

    write_file(
        _file(cell, folder), to_json({"cell": _definition(cell, work), "cpu_s": cpu_s, "figures": figures}).encode()
    )


def _run(cell: Cell, *, measure: Measure, scratch: str) -> dict[str, Any]:
    """Simulate one cell in a folder of its own below `scratch`, which does not stay."""
    from slurmsim.replaying.options import RunOptions
    from slurmsim.replaying.preparation import prepare
    from slurmsim.replaying.replay import execute
    from slurmsim.trace.reader import read_trace
    from slurmsim_workloads import write_workload
    from slurmsim_workloads.generators import generate

    with tempfile.TemporaryDirectory(dir=scratch) as place:
        log = cell.log
        if cell.model:
            log = f"{place}/workload.parquet"
            write_workload(generate(cell.model, dict(cell.options), cell.seed), log)
        files: dict[str, str] = {"conf": cell.conf} if cell.conf else {}
        for name, text in cell.files:
            files[name] = f"{place}/{name}.{'conf' if name == 'conf' else 'toml'}"
            Path(files[name]).write_text(text, encoding="utf-8")
        accounting = (files["accounting"],) if "accounting" in files else ()
        prepared = prepare(
            RunOptions(
                log,
                f"{place}/run",
                nodes=cell.nodes,
                cpus_per_node=cell.cpus_per_node,
                policy=cell.policy or None,
                conf=files.get("conf"),
                accounting=accounting,
                unknown_accounts="add" if accounting else "stop",
                streams=files.get("streams"),
                seed=cell.seed if "streams" in files or cell.log else 0,
                jitter=cell.jitter_s if cell.log and cell.seed else 0,
                window=cell.window or None,
                load=cell.load or None,
            )
        )
        began = time.process_time()
        made, summary, interrupted = execute(prepared, report=False)
        cpu_s = time.process_time() - began
        if interrupted:
            raise KeyboardInterrupt
        figures = measure(read_trace(made))
        jobs = hashlib.sha256((made / "jobs.parquet").read_bytes()).hexdigest()
    if summary["unfinished"]:
        raise SlurmSimError(f"{cell.name}: {summary['unfinished']} jobs have not ended")
    lacks = {key: summary[key] for key in LACKS}
    return {
        **figures, "summary": lacks, "jobs_sha256": jobs, "wall_s": summary["wall_s"], "cpu_s": cpu_s,
        "passes": summary["passes"],
    }  # fmt: skip
