"""What a sweep will take: from cells of the same kind that have been run, else from the number of jobs."""

from collections import defaultdict

from slurmsim.campaign.cells import Cell
from slurmsim.campaign.store import Store
from slurmsim.campaign.sweep import CELL_BYTES, Plan
from slurmsim.data_classes import dataclass
from slurmsim.errors import OutputError, SlurmSimError
from slurmsim.replaying.jobs import jobs_of

JOBS_PER_S = 2_500
"""Of one process, where nothing is known yet: sched/backfill with 1,000 jobs on 64 nodes in pure Python did 2,600; long
queues do fewer, compiled cores and simpler policies more."""
JOB_BYTES = 20  # of a row of jobs.parquet, and of the cell's own copy of it: measured with cells of 1,000 jobs
SAMPLES = 20  # cells of a kind that are looked at


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cells to run, seconds of one process they need, and bytes they leave; `known` of them are like ones that ran.

    `failing` names the cells with a workload that cannot be read, and why: one line for all cells of a workload, a
    window and a setting.
    """

    cells: int
    known: int
    seconds: float
    n_bytes: int
    failing: tuple[str, ...]


def estimate(planned: Plan, store: Store) -> Estimate:
    """Return what is still to do. Reads each workload once in each of its windows and settings."""
    ran: dict[str, list[float]] = defaultdict(list)
    missing: list[Cell] = []
    for key, cell in planned.cells.items():
        if not store.has(key, per_job=planned.grid.per_job):
            missing.append(cell)
        elif len(ran[cell.kind]) < SAMPLES:
            try:
                ran[cell.kind].append(float(store.read(key)["spent"]["wall_s"]))
            except (OutputError, KeyError):
                continue
    sizes: dict[tuple[str, str, str], int] = {}
    failing: list[str] = []
    seconds, n_bytes, known = 0.0, 0, 0
    for cell in missing:
        which = (cell.workload, cell.window, cell.settings)
        if which not in sizes:
            try:
                sizes[which] = _jobs(cell)
            except SlurmSimError as error:
                sizes[which] = 0
                failing.append(f"{', '.join(filter(None, which))}: {error}")
        like = ran.get(cell.kind)
        known += bool(like)
        seconds += sum(like) / len(like) if like else sizes[which] / JOBS_PER_S
        n_bytes += CELL_BYTES + (2 * JOB_BYTES * sizes[which] if planned.grid.per_job else 0)
    return Estimate(len(missing), known, seconds, n_bytes, tuple(failing))


def _jobs(cell: Cell) -> int:
    workload = jobs_of(cell.options, dict(cell.options.option))
    streams = workload.streams.streams if workload.streams is not None else ()
    return len(workload) + sum(stream.jobs or 0 for stream in streams)
