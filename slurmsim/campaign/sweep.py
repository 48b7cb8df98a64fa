"""A sweep: the cells of a grid, each run once, and the tables of what came out."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmsim import __version__, compiled
from slurmsim.campaign.cells import Cell
from slurmsim.campaign.grid import Grid, read_grid
from slurmsim.campaign.keys import RESULTS_VERSION, Keys
from slurmsim.campaign.measure import work
from slurmsim.campaign.results import put_text, write_jobs, write_summaries, write_times
from slurmsim.campaign.store import Store
from slurmsim.campaign.tasks import Done, Task
from slurmsim.campaign.workers import run_tasks
from slurmsim.data_classes import dataclass, field
from slurmsim.errors import ConfigError, OutputError, SlurmSimError
from slurmsim.trace.jsonfile import to_json

if TYPE_CHECKING:
    import pandas as pd

    from slurmsim.campaign.conclusions import Ranking

Progress = Callable[[int, int], None]
Runner = Callable[..., Generator[Done, None, None]]  # (tasks, stopping=…) -> what became of them, as `run_tasks`
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENOTDIR)
"""Errors with which the other cells would meet as well."""
CELL_BYTES = 2 * 4096  # a small file and its log, as file systems count them


@dataclass(frozen=True, slots=True)
class Failure:
    """A cell that could not be run: which, why, and the command that makes it alone."""

    cell: str
    key: str
    error: str
    command: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The cells of a grid by key, in the order of the grid, and what they were made from."""

    grid: Grid
    cells: Mapping[str, Cell]
    inputs: Mapping[str, str]


def fewest_pairs(planned: Plan) -> tuple[int, int]:
    """Return with how few pairs of runs how many policies will be compared, on the workload that has least."""
    blocks: dict[tuple[str, float, str], dict[str, int]] = {}
    for cell in planned.cells.values():
        policies = blocks.setdefault((cell.workload, cell.load, cell.settings), {})
        policies[cell.policy] = policies.get(cell.policy, 0) + 1
    return min((min(policies.values()), len(policies)) for policies in blocks.values())


@dataclass(slots=True)
class Sweep:
    """What a sweep left.

    Attributes
    ----------
    folder
        Where it all is.
    cells, done, ran
        Cells of the grid, those that have results, and those that were run now.
    failed
        Those that could not be run.
    interrupted
        Whether Ctrl-C came before its end.
    baseline
        The policy others are compared with.
    """

    folder: Path
    baseline: str
    cells: int
    done: int
    ran: int
    failed: list[Failure] = field(default_factory=list)
    interrupted: bool = False

    def frame(self) -> pd.DataFrame:
        """One row a cell: its key, its place in the grid and its figures (docs/campaigns.md)."""
        import pandas as pd

        return pd.read_parquet(self.folder / "summaries.parquet")

    def jobs_frame(self) -> pd.DataFrame:
        """One row a job of a cell, where the grid says ``per_job``."""
        import pandas as pd

        return pd.read_parquet(self.folder / "jobs.parquet")

    def _repr_html_(self) -> str:
        """For a notebook."""
        from slurmsim.campaign.pages import snippet

        return snippet(str(self.folder), _lead(self), self.rankings())

    def rankings(self) -> list[Ranking]:
        """Return the policies of each workload, load and setting beside each other, and at last over all of them."""
        from slurmsim.campaign.conclusions import overall, rankings

        frame = self.frame()
        whole = overall(frame, self.baseline)
        return rankings(frame, self.baseline) + ([] if whole is None else [whole])


def sweep(
    grid: str | Path | Mapping[str, Any], *, out: str | Path, workers: int = 0, dask: str | None = None,
    progress: Progress | None = None, allow_code: bool = False,
) -> Sweep:  # fmt: skip
    """Run every cell of `grid` that has no result in the folder `out` yet, and write the tables of all.

    Parameters
    ----------
    grid
        A TOML file or a mapping of the same form (docs/campaigns.md).
    out
        Folder for results; a sweep that was there before goes on.
    workers
        Processes at most; 0 for as many as cores.
    dask
        ``local``, ``slurm`` (with `workers` jobs) or the address of a Dask scheduler; its workers see the same folders.
    progress
        Called with cells done and cells in all.
    allow_code
        Whether options of policies in a file may name code (``solver=package.module:function``).

    Raises
    ------
    SlurmSimError
        Something is wrong with the grid or the folder. Cells that fail do not raise; they are in `Sweep.failed`.
    """
    return make(
        plan(read_grid(grid, allow_code=allow_code)), Path(out), runner(workers, dask, Path(out)), progress=progress
    )


def runner(workers: int = 0, dask: str | None = None, folder: Path = Path()) -> Runner:
    """Return the runner of the sweep's tasks in `folder`: our own processes, or Dask's workers. Raises ConfigError."""
    if workers < 0:
        raise ConfigError(f"{workers} is negative", field="--workers", expected="a number of processes")
    if dask is None:
        return partial(run_tasks, workers=workers)
    from slurmsim.campaign.dask_workers import check_address, run_on_dask

    check_address(dask)
    return partial(run_on_dask, address=dask, workers=workers, folder=folder)


def plan(grid: Grid) -> Plan:
    """Return the cells of a grid, checked as far as that is possible without running them. Raises SlurmSimError."""
    keys = Keys()
    cells: dict[str, Cell] = {}
    for cell in grid.cells():
        key = keys.of(cell)
        if key in cells:
            raise ConfigError(f"{cells[key].name} and {cell.name} are the same run", file=grid.file,
                              expected="each cell once")  # fmt: skip
        cells[key] = cell
    return Plan(grid, cells, keys.inputs)


def make(
    planned: Plan, folder: Path, do: Runner, *, progress: Progress | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> Sweep:  # fmt: skip
    """See `sweep`; `do` does the tasks, and once `stopping()` is true no further cell begins."""
    store = Store(folder)
    with store.opened():
        missing = [key for key in planned.cells if not store.has(key, per_job=planned.grid.per_job)]
        _check_room(folder, len(missing))
        found = Sweep(folder, planned.grid.baseline, len(planned.cells), len(planned.cells) - len(missing), 0)
        if progress is not None:
            progress(found.done, found.cells)
        try:
            _run(planned, store, missing, found, do, progress, stopping)
        except KeyboardInterrupt:
            found.interrupted = True
        found.interrupted |= found.done + len(found.failed) < found.cells
        _write(planned, store, found)
    return found


def _run(
    planned: Plan, store: Store, missing: Sequence[str], found: Sweep, do: Runner, progress: Progress | None,
    stopping: Callable[[], bool],
) -> None:  # fmt: skip
    """Run the cells of `missing`; what becomes of them goes into `found`."""
    tasks = map(partial(_task, planned, store), missing)
    with closing(do(tasks, stopping=stopping)) as running:
        for done in running:
            _take(done, planned, store, found)
            if progress is not None:
                progress(found.done + len(found.failed), found.cells)


def _take(done: Done, planned: Plan, store: Store, found: Sweep) -> None:
    """Note what became of one cell. Raises OutputError when nothing can be written any more."""
    if done.error is None:
        found.done += 1
        found.ran += 1
    elif isinstance(done.error, OutputError) or getattr(done.error, "errno", None) in NO_ROOM:
        reason = done.error.strerror if isinstance(done.error, OSError) else str(done.error)
        raise OutputError(f"{store.folder}: cannot write: {reason}; what is done stays")
    else:
        cell = planned.cells[done.task.name]
        said = " ".join(str(done.error).split())
        if not isinstance(done.error, SlurmSimError):
            said = f"{type(done.error).__name__}: {said}; {store.log(done.task.name)}"
        found.failed.append(Failure(cell.name, done.task.name, said, cell.command("failed")))


def _task(planned: Plan, store: Store, key: str) -> Task:
    cell = planned.cells[key]
    arguments = (cell.options, key, cell.command("alone"), str(store.scratch.absolute()),
                 str(store.file(key).absolute()), planned.grid.per_job)  # fmt: skip
    return Task(key, work, arguments, cell.kind, str(store.log(key).absolute()))


def _check_room(folder: Path, cells: int) -> None:
    """Raise OutputError for a disk that is too small for the results, before any cell runs."""
    free = shutil.disk_usage(folder).free
    if cells * CELL_BYTES > free:
        raise OutputError(f"{folder}: {free:,} bytes are free, and {cells:,} cells need {cells * CELL_BYTES:,}")


def _lead(found: Sweep) -> str:
    return f"{found.done:,} of {found.cells:,} cells are done. Baseline: {found.baseline}."


def _write(planned: Plan, store: Store, found: Sweep) -> None:
    """Write the tables and the manifest, in the order of keys."""
    from slurmsim.campaign.conclusions import as_dict
    from slurmsim.campaign.pages import ranking_page
    from slurmsim.campaign.view import as_text

    grid = planned.grid
    keys = sorted(key for key in planned.cells if store.has(key, per_job=grid.per_job))
    found.done = len(keys)  # also those that ended while they were told to stop
    write_summaries(store, [(key, planned.cells[key].labels) for key in keys])
    write_times(store, keys)
    if grid.per_job:
        write_jobs(store, keys)
    found.failed.sort(key=lambda failure: failure.key)
    manifest = {
        "sweep_schema": RESULTS_VERSION,
        "name": grid.name,
        "slurmsim": __version__,
        "compiled": compiled(),
        "baseline": grid.baseline,
        "per_job": grid.per_job,
        "grid": grid.given,
        "inputs": planned.inputs,
        "cells": len(planned.cells),
        "done": found.done,
        "failed": [
            {"cell": f.cell, "key": f.key, "error": f.error, "command": f.command} for f in found.failed
        ],
    }  # fmt: skip
    found_rankings = found.rankings()
    text = as_text(found_rankings) + "\n" if found_rankings else ""
    put_text(store.folder / "ranking.txt", text)
    facts = {"cells": found.cells, "done": found.done, "rankings": [as_dict(one) for one in found_rankings]}
    put_text(store.folder / "ranking.json", to_json(facts))
    put_text(store.folder / "ranking.html", ranking_page(grid.name, _lead(found), found_rankings))
    put_text(store.folder / "sweep.json", to_json(manifest))
