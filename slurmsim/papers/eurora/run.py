"""EURORA 2014: the paper's three batches under its six models, beside PBS, list scheduling, EASY and a model of ours.

The batches are prepared in `eurora_data`, as they are in the public trace and completed to the paper's Table 6. Runs go
on until every job has started; the paper's stopped after the last arrival and counted planned starts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from slurmsim import Trace
from slurmsim.errors import ConfigError, SlurmSimError
from slurmsim.experiments.runs import Cell, Progress, run_all
from slurmsim.metrics.columns import IntArray
from slurmsim.papers.eurora import packing, watts
from slurmsim.papers.eurora.data import (
    BEGINS,
    CORES,
    EWT_S,
    MODELS,
    PBS,
    PBS_CORES,
    SAMPLE_S,
    WINDOW_S,
    BatchJob,
    batch,
    cluster,
    completed,
    read_log,
    workload,
)  # fmt: skip
from slurmsim.papers.eurora.solver_notes import NAME as NOTING
from slurmsim.papers.eurora.solver_notes import taken
from slurmsim.papers.eurora.watts import WattResult
from slurmsim.trace.columns import NULL

_EWT = "ewt=" + "+".join(f"{queue}:{wait}" for queue, wait in EWT_S.items())
POLICIES = {
    **{model: f"cp_eurora:model={model},solver={NOTING},{_EWT}" for model in MODELS},
    **{f"ours_{name}": f"cp_classes:model={name},solver={NOTING},{_EWT}" for name in ("mks", "wt", "nl")},
    "list": "list",
    "list_wait": f"list:order=wait,{_EWT}",
    "easy": "easy",
}
RULED = {f"rules_{name}": policy for name, policy in POLICIES.items() if not name.startswith("ours")}
"""The same dispatchers with the rules that PBS had: nodes kept for debug, longpar jobs at night only."""
POLICIES |= RULED
"""The rows beside PBS's own, by name."""
SOLVING = tuple(name for name, policy in POLICIES.items() if "solver=" in policy)


PARTS = ("batches", "packing", "watts")


@dataclass(frozen=True, slots=True)
class Batch:
    """One of the three, as it is (``seed`` 0) or completed to Table 6."""

    number: int
    seed: int
    jobs: tuple[BatchJob, ...]

    def __str__(self) -> str:
        return f"batch{self.number}" + (f"-full{self.seed}" if self.seed else "")


@dataclass(frozen=True)
class Row:
    """A batch under one dispatcher."""

    batch: Batch
    # starts, ends: of the batch's jobs (s), in their order
    starts: IntArray
    ends: IntArray
    # what was asked of a solver (`solve_notes`), in order of time
    notes: list[dict[str, Any]] = field(default_factory=list)
    cpu_s: float | None = None  # CPU time of the whole run; None for PBS

    @cached_property
    def samples(self) -> IntArray:
        """When the paper looks: every 15 s of the window."""
        begin = BEGINS[self.batch.number]
        return np.arange(begin, begin + WINDOW_S, SAMPLE_S)

    def in_use(self, name: str) -> IntArray:
        """Units of `name` (cores, gpus, mics; jobs counts jobs) in use at each sample; (480,).

        A job runs from its start to its end, both included, and counts with all it asked for (the authors' script).
        """
        held = np.array([1 if name == "jobs" else getattr(job, name) * job.units for job in self.batch.jobs])
        running = (self.starts[:, np.newaxis] <= self.samples) & (self.samples <= self.ends[:, np.newaxis])
        return np.asarray((held[:, np.newaxis] * running).sum(axis=0))

    @cached_property
    def waits(self) -> IntArray:
        """Of each job, s."""
        return np.asarray(self.starts - np.array([job.q for job in self.batch.jobs]))

    def waiting(self) -> IntArray:
        """Jobs that wait at each sample; (480,)."""
        q = np.array([job.q for job in self.batch.jobs])[:, np.newaxis]
        return np.asarray(((q <= self.samples) & (self.samples < self.starts[:, np.newaxis])).sum(axis=0))

    def figures(self) -> dict[str, float]:
        """Tables 4 and 5, true means of the queues beside the paper's, and what the solver did."""
        queues = np.array([job.queue for job in self.batch.jobs])
        found = {"wait": float(self.waits.mean())}
        for queue in EWT_S:
            of_queue = self.waits[queues == queue]
            found[f"wait_{queue}"] = float(of_queue.sum() / len(queues))  # the paper's definition: by all jobs
            found[f"mean_{queue}"] = float(of_queue.mean()) if len(of_queue) else 0.0
        for name in ("cores", "gpus", "mics", "jobs"):
            found[name] = float(self.in_use(name).mean())
        found["cores_percent"] = 100 * found["cores"] / (PBS_CORES if self.cpu_s is None else CORES)
        ewt = np.array([EWT_S[job.queue] for job in self.batch.jobs])
        found["late"] = float((self.waits > ewt).sum())
        found["tardiness"] = float((np.maximum(self.waits - ewt, 0) / ewt).sum())
        if self.cpu_s is not None:
            found["cpu_s"] = self.cpu_s
        if self.notes:
            found |= self._solves()
        return found

    def _solves(self) -> dict[str, float]:
        """Of the contested activations: how the plans compare with the best list schedule in the model's objective."""
        notes = self.notes
        pairs = [(note["objective"], note["hint_objective"]) for note in notes]
        return {
            "contested": len(notes),
            "better": sum(ours < theirs for ours, theirs in pairs),
            "worse": sum(ours > theirs for ours, theirs in pairs),
            "optimal": sum(note["status"] == "optimal" for note in notes),
            "fallback": sum(note["status"] == "fallback" for note in notes),
            "solver_cpu_s": float(sum(note["seconds"] or 0 for note in notes)),
        }


def measure(trace: Trace) -> dict[str, Any]:
    """Return starts and ends by job id, the solver's notes and the CPU time of a run; for `run_all`."""
    job_id, start, end = trace.ints("jobs", "job_id", "start", "end")
    order = np.argsort(job_id)
    return {
        "job_id": job_id[order].tolist(), "start": start[order].tolist(), "end": end[order].tolist(), "notes": taken(),
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """All rows: by batch, then by dispatcher, PBS first; the example on packing, and budgets of watts."""

    batches: list[Batch]
    rows: dict[str, dict[str, Row]]
    packing: dict[str, dict[str, Any]] = field(default_factory=dict)
    watts: WattResult | None = None

    def row(self, number: int, name: str) -> Row | None:
        """Return that of the batch as the trace has it; None if it was not asked for."""
        return self.rows.get(f"batch{number}", {}).get(name)

    def completed(self, number: int, name: str) -> list[Row]:
        """Those of the completed batches."""
        return [rows[name] for key, rows in self.rows.items() if key.startswith(f"batch{number}-") and name in rows]


def experiment(
    folder: Path, log: Path, *, numbers: Sequence[int] = (1, 2, 3), seeds: int = 1,
    names: Sequence[str] = tuple(POLICIES), parts: Sequence[str] = ("batches",), workers: int = 0, fresh: bool = False,
    progress: Progress | None = None,
) -> Result:  # fmt: skip
    """Run what is not in `folder` yet. Raises SlurmSimError.

    Parameters
    ----------
    log
        The public trace (`eurora_data.LOG`).
    seeds
        How many completed batches beside each; 0 for none.
    parts
        Of `PARTS`: the batches, the example on packing, batch 1 under budgets of watts.
    """
    if seeds < 0:
        raise ConfigError(f"{seeds} seeds", field="--seeds", expected="at least 0")
    trace, columns = log, read_log(log)
    batches = [
        Batch(number, seed, tuple(completed(columns, number, seed) if seed else batch(columns, number)))
        for number in (numbers if "batches" in parts else ())
        for seed in range(seeds + 1)
    ]
    for one in batches:
        if not one.jobs:
            raise ConfigError(f"no jobs of {one}", file=str(log), field="--log", expected="the public EURORA trace")
    cells = {}
    for one in batches:
        for ruled in (False, True):
            log, conf = _inputs(folder, one, ruled)
            for name in _of_batch(one, names):
                if (name in RULED) == ruled:
                    cells[str(one), name] = Cell(f"{one}-{name}", POLICIES[name], 0, log=str(log), conf=str(conf))
    made = run_all(list(cells.values()), measure, folder, workers=workers, fresh=fresh, progress=progress)
    rows: dict[str, dict[str, Row]] = {}
    for one in batches:
        starts, ends = (np.array([getattr(job, name) for job in one.jobs]) for name in ("pbs_start", "pbs_end"))
        rows[str(one)] = {PBS: Row(one, starts, ends)}
        for name in _of_batch(one, names):
            rows[str(one)][name] = _row(one, name, made[cells[str(one), name].name])
    how: dict[str, Any] = {"workers": workers, "fresh": fresh, "progress": progress}
    return Result(
        batches, rows,
        packing.experiment(folder, **how) if "packing" in parts else {},
        watts.experiment(folder, trace, **how) if "watts" in parts else None,
    )  # fmt: skip


def _of_batch(one: Batch, names: Sequence[str]) -> list[str]:
    """Return the dispatchers a batch is run under; a completed one has no night of its own."""
    return [name for name in names if not (one.seed and name in RULED)]


def _inputs(folder: Path, one: Batch, ruled: bool) -> tuple[Path, Path]:
    """Write the workload and the slurm.conf of a batch."""
    from slurmsim.experiments.results import write_file
    from slurmsim_workloads import write_workload

    name = f"{one}-rules" if ruled else str(one)
    log, conf = folder / "inputs" / f"{name}.parquet", folder / "inputs" / f"{name}.conf"
    log.parent.mkdir(parents=True, exist_ok=True)
    write_file(conf, cluster(one.jobs, ruled).encode())
    write_workload(workload(one.jobs, BEGINS[one.number] if ruled else None), log)
    return log, conf


def _row(one: Batch, name: str, figures: dict[str, Any]) -> Row:
    at = {job_id: k for k, job_id in enumerate(figures["job_id"])}
    rows = [at[job.id] for job in one.jobs]
    starts, ends = np.array(figures["start"], np.int64)[rows], np.array(figures["end"], np.int64)[rows]
    never = np.flatnonzero(starts == NULL)
    if len(never):
        job_ids = ", ".join(str(one.jobs[k].id) for k in never[:5])
        raise SlurmSimError(f"{one}-{name}: {len(never)} jobs never started, of them {job_ids}")
    return Row(one, starts, ends, figures["notes"], float(figures["cpu_s"]))
