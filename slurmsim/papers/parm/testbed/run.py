"""PARM on the paper's testbed, made up by its rules: versions, baselines and what each step brings.

38 nodes under 3,300 W (28 at full power), sets of ten jobs of two mixes of applications, arrivals at two paces. The
grid is fixed here; replicates are seeds, differences are paired by seed (docs/systems/parm.md).
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import slurmsim
from slurmsim import Trace
from slurmsim.errors import ConfigError, InvariantError
from slurmsim.experiments.runs import Progress, work_all
from slurmsim.metrics.estimate import Estimate
from slurmsim.model.power import PowerSpec
from slurmsim.papers.parm.data import OURS, Open
from slurmsim.trace.columns import NULL

if TYPE_CHECKING:
    import pandas as pd

BUDGET_W = 3300
NODES, FULL_NODES = 38, 28  # installed; as many as the budget bears at full power
LEVELS = "30/32/34/39/45/55"
SETS = {
    "SetL": ("Jacobi2D",) * 8 + ("Wave2D",) * 2,
    "SetH": ("LeanMD",) * 3 + ("Wave2D",) * 3 + ("Lulesh",) * 2 + ("Jacobi2D", "AMR"),
}
GAMMAS = (1.0, 0.5)
MEAN_GAP_S, SHORTEST_S, LONGEST_S = 2000, 1800, 5400


@dataclass(frozen=True, slots=True)
class System:
    """A policy on so many nodes; `asks` is what jobs ask for: their most nodes, or the fewest."""

    policy: str
    nodes: int
    asks: str = "max"
    cap: str | None = None
    budget: bool = False


def parm_on(nodes: int, levels: str, **options: str) -> System:
    """PARM under a budget, with the paper's alpha and knowledge of run times unless `options` say otherwise."""
    words = {"levels": levels, "alpha": "0.28", "predictor": "real", **options}
    text = ",".join(f"{key}={value}" for key, value in words.items())
    return System(f"parm:{text}", nodes, budget=True)


_parm = partial(parm_on, NODES, LEVELS)

SYSTEMS = {
    "baseline": System("backfill", FULL_NODES),
    "fewest nodes": System("backfill", FULL_NODES, "min"),
    "30 W": System("easy", NODES, cap="30", budget=True),
    "selection": parm_on(NODES, "60", sizes="max"),
    "moldable": parm_on(NODES, "60", version="nose"),
    "noMM": _parm(version="nomm"),
    "noSE": _parm(version="nose"),
    "wSE": _parm(version="wse"),
}
STEPS = ("baseline", "selection", "moldable", "noSE", "wSE")
"""Each changes one thing: who starts, on how many nodes, at which cap, and both while it runs."""


@dataclass(frozen=True, slots=True)
class ParmCell:
    """One run."""

    name: str
    jobs: str
    gamma: float
    system: str
    policy: str
    seed: int


def testbed(jobs: str, gamma: float, seed: int, most: int = FULL_NODES, chosen: Open = OURS) -> pd.DataFrame:
    """Ten jobs: run times uniform from half an hour to one and a half, exponential gaps times gamma.

    Fewest nodes uniform from 4 to 10, most nodes `chosen` times that, at most `most`, so that each job can start at
    full power. Limits are the run times. The draws are the same whatever is `chosen`.
    """
    import pandas as pd

    rng = np.random.default_rng([seed, 0x9A53])
    rows, now = [], 0.0
    for number, app in enumerate(rng.permutation(SETS[jobs]).tolist(), 1):
        least = int(rng.integers(4, 11))
        wide = min(most, round(chosen.ratio * least))
        run_time = int(rng.uniform(SHORTEST_S, LONGEST_S))
        times, spread = 4 ** rng.uniform(), rng.uniform()
        parallelism = wide * (times if chosen.parallelism is None else chosen.parallelism)
        sigma = spread if chosen.sigma is None else chosen.sigma
        rows.append({
            "job_id": number, "submit": int(now * gamma), "run_time": run_time, "time_limit": run_time, "nodes": wide,
            "min_nodes": least, "max_nodes": wide, "malleable": 1,
            "app": f"{app}:parallelism={parallelism:.3f}:sigma={sigma:.3f}",
        })  # fmt: skip
        now += rng.exponential(MEAN_GAP_S)
    return pd.DataFrame(rows)


def measure(trace: Trace) -> dict[str, Any]:
    """Return the figures of one run: completion is the end less the submission, as the paper adds it up.

    Weighted by nodes it is by the fewest a job may have, which are the same under every system.
    """
    submit, start, end, nodes, joules = trace.ints("jobs", "submit", "start", "end", "req_nodes", "energy_j")
    if (end == NULL).any() or (start == NULL).any():
        raise InvariantError(f"{trace.path}: jobs have not ended")
    completion = end - submit
    span = int(end.max() - submit.min())
    phases = trace.ints("phases", "job_id", "start", "end", "nodes", "charged_mw")
    job, begin, until, held, charged = phases
    busy = float((held * (until - begin)).sum())
    return {
        "mean_s": float(completion.mean()), "max_s": int(completion.max()),
        "node_weighted_s": float(np.average(completion, weights=nodes)), "makespan_s": span,
        "nodes": busy / span, "energy_j": int(joules.sum()),
        "watts": float((charged * (until - begin)).sum()) / 1000 / span, **_resizes(job, begin, held, span, busy),
    }  # fmt: skip


def _resizes(job: Any, begin: Any, held: Any, span: int, busy: float) -> dict[str, Any]:
    """Return the changes of size and what they cost at most: all of one instant as if they were one decision."""
    spec = PowerSpec()
    order = np.lexsort((begin, job))
    changes: dict[int, list[tuple[int, int]]] = {}
    for a, b in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        if job[a] == job[b] and held[a] != held[b]:
            changes.setdefault(int(begin[b]), []).append((int(held[a]), int(held[b])))
    lost = lost_nodes = 0.0
    for sizes in changes.values():
        each = 2 * max(spec.resize_s(a, b) for a, b in sizes)
        lost += each * len(sizes)
        lost_nodes += each * sum(b for _, b in sizes)
    return {
        "resizes": sum(map(len, changes.values())), "overhead": lost / len(set(job.tolist())) / span,
        "node_overhead": lost_nodes / busy,
    }  # fmt: skip


def run_cell(cell: ParmCell, *, scratch: str) -> dict[str, Any]:
    system = SYSTEMS[cell.system]
    frame = testbed(cell.jobs, cell.gamma, cell.seed)
    return simulated(cell.name, frame, system, BUDGET_W, scratch)


def simulated(name: str, frame: pd.DataFrame, system: System, budget_w: int, scratch: str) -> dict[str, Any]:
    """Return the figures of `frame` under a system; the validator has nothing against the run."""
    from slurmsim.validate import validate_trace

    if system.asks == "min":
        frame = frame.assign(nodes=frame["min_nodes"])
    with tempfile.TemporaryDirectory(dir=scratch) as place:
        trace = slurmsim.run(
            frame, out=f"{place}/run", nodes=system.nodes, policy=system.policy, power_cap=system.cap,
            power_budget=budget_w if system.budget else None, report=False,
        )  # fmt: skip
        report = validate_trace(f"{place}/run")
        if not report.valid:
            raise InvariantError(f"{name}: {report.failed[0]}")
        return {**measure(trace), "wall_s": trace.summary["wall_s"]}


def cells(seeds: int) -> list[ParmCell]:
    """All runs of the grid."""
    return [
        ParmCell(f"{jobs}-{gamma:g}-{name.replace(' ', '_')}-{k + 1}", jobs, gamma, name, system.policy, k + 1)
        for jobs in SETS for gamma in GAMMAS for name, system in SYSTEMS.items() for k in range(seeds)
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of every run by its name."""

    seeds: int
    runs: dict[str, dict[str, Any]]

    def values(self, jobs: str, gamma: float, system: str, figure: str) -> list[float]:
        name = system.replace(" ", "_")
        return [float(self.runs[f"{jobs}-{gamma:g}-{name}-{k + 1}"][figure]) for k in range(self.seeds)]

    def estimate(self, jobs: str, gamma: float, system: str, figure: str) -> Estimate:
        """Mean and interval of a figure."""
        return Estimate.of(self.values(jobs, gamma, system, figure))

    def gain(self, jobs: str, gamma: float, one: str, other: str, figure: str = "mean_s") -> Estimate:
        """By how many per cent `one` is lower than `other`, paired."""
        pairs = self.pairs(jobs, gamma, one, other, figure)
        return Estimate.of([100 * (b - a) / b for a, b in pairs])

    def speedup(self, jobs: str, gamma: float, system: str) -> Estimate:
        """Return the baseline's mean completion over that of `system`, seed by seed."""
        return Estimate.of([b / a for a, b in self.pairs(jobs, gamma, system, "baseline", "mean_s")])

    def steps(self, jobs: str, gamma: float) -> list[Estimate]:
        """Return what each step of `STEPS` adds to the logarithm of the speed-up; they sum to the whole."""
        return [
            Estimate.of([float(np.log(b / a)) for a, b in self.pairs(jobs, gamma, after, before, "mean_s")])
            for before, after in pairwise(STEPS)
        ]

    def pairs(self, jobs: str, gamma: float, one: str, other: str, figure: str) -> list[tuple[float, float]]:
        """Return a figure of two systems, seed by seed."""
        first, second = (self.values(jobs, gamma, system, figure) for system in (one, other))
        return list(zip(first, second, strict=True))


def experiment(
    folder: Path, *, seeds: int = 10, workers: int = 0, fresh: bool = False, progress: Progress | None = None
) -> Result:
    """Run what is not in `folder` yet.

    Raises
    ------
    SlurmSimError
        Less than one seed, or from a run.
    """
    if seeds < 1:
        raise ConfigError(f"{seeds} seeds", field="--seeds", expected="at least 1")
    wanted: Sequence[ParmCell] = cells(seeds)
    return Result(seeds, work_all(wanted, run_cell, folder, workers=workers, fresh=fresh, progress=progress))
