"""Using up an allocation on Titan: the paper's numbers beside ours (docs/systems/titan.md).

*model*: the quantitative model's own figures. *validation*: the second validation, one hundred projects that wait and
run one hour on average for 5,000 h. Its case A draws waits and lets jobs overlap, as the base model assumes; case B is
a single node with a closed loop, simulated. The parts *queue*, *slurm*, *project* and *year* are a synthetic Titan
(`cells`), paired by seed. The part *hypothesis* has fixed bins beside one drawn anew for each job (`hypothesis`). Plans
know run times, as in the replays of the paper's simulator.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slurmsim.errors import ConfigError
from slurmsim.experiments.names import parse_names
from slurmsim.experiments.runs import Progress, run_all, work_all
from slurmsim.metrics.estimate import Estimate
from slurmsim.papers.titan.allocation import (
    Moments,
    expected_use,
    normal_probability,
    probability,
    spread_of_use,
    use_per_job,
)
from slurmsim.papers.titan.cells import (
    HOUR_S,
    JOBS,
    cell_name,
    measures,
    project_cells,
    queue_cells,
    slurm_cells,
    year_cells,
)
from slurmsim.papers.titan.hypothesis import Tried, way_use, ways

PARTS = ("model", "validation", "queue", "slurm", "project", "hypothesis", "year")
PERIOD_H, PROJECTS = 5_000, 100


def parse_parts(text: str) -> tuple[str, ...]:
    """``model,queue`` or ``all``. Raises ConfigError."""
    asked = parse_names(text, PARTS, "--parts", "part")
    return tuple(name for name in PARTS if name in asked)


def model_figures() -> dict[str, float]:
    """Return what the quantitative model says where the paper, or its correction, has a number."""
    rate = {"period_h": 4320, "wait_h": (0.01, 0.01), "per_job": (32, 16)}
    early = {"period_h": 500, "wait_h": (5, 5), "per_job": (10, 3)}
    return {
        "expected_use": expected_use(**rate),  # type: ignore[arg-type]
        "use_variance": use_per_job(Moments(8, math.sqrt(8)), Moments(4, 2)).variance,
        "check": float(probability(900, **early)),  # type: ignore[arg-type]
        "overlapping_more_than_4900": float(probability(4900, PERIOD_H, (1, 1), (1, 1), (1, 0))),
    }


@dataclass(frozen=True, slots=True)
class Projects:
    """Some projects of validation 2, by their seeds."""

    name: str
    variant: str
    seeds: tuple[int, ...]


def project_use(cell: Projects, scratch: str) -> dict[str, Any]:
    """Node-hours each project uses in `PERIOD_H`."""
    one = _overlapping if cell.variant == "A" else _one_node
    return {"use": [one(seed) for seed in cell.seeds]}


def _overlapping(seed: int) -> float:
    """Return the hours used with drawn waits and run times; as many jobs run at a time as come."""
    rng = np.random.default_rng(seed)
    starts = rng.exponential(1.0, 2 * PERIOD_H).cumsum()
    return float(rng.exponential(1.0, int((starts <= PERIOD_H).sum())).sum())


def _one_node(seed: int) -> float:
    """Return a closed loop on one node, simulated: the next job comes an exponential hour after the last one ended."""
    from slurmsim.experiments.simulation import Job, Listener, Simulation, make_cluster
    from slurmsim.policy import load_policy
    from slurmsim_workloads.streams import stream_workload

    hour = {"dist": "expon", "scale": HOUR_S}
    row = {"next": "end", "hours": PERIOD_H, "think": hour, "run": hour}
    use = [0]

    class Adding(Listener):
        def finished(self, job: Job) -> None:
            use[0] += (job.end_time or 0) - (job.start_time or 0)

    workload = stream_workload({"stream": [row]}, "validation 2")
    Simulation(make_cluster(1, 1), workload, load_policy("fcfs")({}), seed=seed, listener=Adding()).run()
    return use[0] / HOUR_S


@dataclass(frozen=True, slots=True)
class Result:
    """Everything measured; a part that was not run is empty."""

    seeds: int
    jobs: int
    model: dict[str, float]
    use: dict[str, list[float]]
    runs: dict[str, dict[str, Any]]
    most_seeds: int = 0  # of runs under Titan's policy in a part, if more than `seeds`

    @property
    def tried(self) -> Tried | None:
        """The simulated hypothesis, where that part was run."""
        return Tried.of(self.runs, self.seeds, self.jobs)

    def run(self, part: str, variant: str, seed: int) -> dict[str, Any]:
        """Return the figures of one run; empty if it was not made."""
        return self.runs.get(cell_name(part, variant, seed), {})

    def values(self, variant: str, figure: str, part: str = "queue", seeds: int | None = None) -> list[float]:
        """Return a figure of all replicates there are, or of the first `seeds`."""
        numbers = range(1, (seeds or max(self.seeds, self.most_seeds)) + 1)
        found = [self.run(part, variant, k).get(figure) for k in numbers]
        return [float(one) for one in found if one is not None]

    def estimate(self, variant: str, figure: str, part: str = "queue") -> Estimate | None:
        """Mean and interval over the seeds; None where the part was not run."""
        values = self.values(variant, figure, part)
        return Estimate.of(values) if values else None

    def change(self, variant: str, figure: str, part: str = "queue") -> Estimate | None:
        """Return what the variant adds to a figure of Titan's policy, paired by seed."""
        a, b = (self.values(name, figure, part, self.seeds) for name in (variant, "titan"))
        return Estimate.of([x - y for x, y in zip(a, b, strict=True)]) if a and len(a) == len(b) else None

    def log_ratio(self, variant: str, figure: str, part: str = "queue") -> Estimate | None:
        """Return the logarithm of a figure over that of Titan's policy, paired by seed; None where it is not known."""
        a, b = (self.values(name, figure, part, self.seeds) for name in (variant, "titan"))
        if len(a) != len(b) or not a or not all(x > 0 for x in (*a, *b)):
            return None
        return Estimate.of([math.log(x / y) for x, y in zip(a, b, strict=True)])

    def moments(self, part: str, variant: str, key: str) -> dict[str, Any] | None:
        """Means over the seeds of the moments kept under `key`; None where there are none."""
        numbers = range(1, max(self.seeds, self.most_seeds) + 1)
        kept = [one for k in numbers if (one := self.run(part, variant, k).get(key))]
        if not kept:
            return None
        return {name: np.mean([one[name] for one in kept], axis=0).tolist() for name in kept[0]}

    def distance(self, variant: str) -> float:
        """Largest distance of the projects' distribution of use from the normal one of the model (variant A or B)."""
        use = np.sort(self.use[variant])
        model = self.spread(variant)
        below = 1 - np.asarray(normal_probability(use, model))
        steps = np.arange(len(use) + 1) / len(use)
        return float(np.maximum(np.abs(below - steps[1:]), np.abs(below - steps[:-1])).max())

    @staticmethod
    def spread(variant: str) -> Moments:
        """Use in the period by renewal theory."""
        one, node = Moments(1, 1), Moments(1, 0)
        return spread_of_use(PERIOD_H, one, one, node, one, after_end=variant == "B")


def experiment(
    folder: Path, *, parts: Sequence[str] = PARTS, seeds: int = 5, verdict_seeds: int = 0, years: int = 1,
    jobs: int = JOBS, workers: int = 0, fresh: bool = False, progress: Progress | None = None,
) -> Result:  # fmt: skip
    """Run what is not in `folder` yet; `verdict_seeds` are of `queue_cells`. Raises SlurmSimError."""
    if seeds < 1:
        raise ConfigError(f"{seeds} seeds", field="--seeds", expected="at least 1")
    if verdict_seeds < 0:
        raise ConfigError(f"{verdict_seeds} seeds", field="--verdict-seeds", expected="at least 0")
    if years < 1:
        raise ConfigError(f"{years} years", field="--years", expected="at least 1")
    if jobs < 1000:
        raise ConfigError(f"{jobs} jobs", field="--jobs", expected="at least 1000")
    use: dict[str, list[float]] = {}
    runs: dict[str, dict[str, Any]] = {}
    if "validation" in parts:
        cells = [Projects(f"validation-{variant}-{k}", variant, tuple(range(k, k + 10)))
                 for variant in "AB" for k in range(1, PROJECTS + 1, 10)]  # fmt: skip
        made = work_all(cells, project_use, folder, workers=workers, fresh=fresh, progress=progress)
        use = {v: [one for cell in cells if cell.variant == v for one in made[cell.name]["use"]] for v in "AB"}
    if "hypothesis" in parts:
        runs |= work_all(ways(seeds, jobs), way_use, folder, workers=workers, fresh=fresh, progress=progress)
    wanted = {"queue": queue_cells(seeds, jobs, verdict_seeds), "slurm": slurm_cells(seeds, jobs),
              "project": project_cells(seeds, jobs), "year": year_cells(years)}  # fmt: skip
    for part, measure in measures(jobs).items():
        if part in parts:
            runs |= run_all(wanted[part], measure, folder, workers=workers, fresh=fresh, progress=progress)
    model = model_figures() if "model" in parts else {}
    return Result(seeds, jobs, model, use, json.loads(json.dumps(runs)), max(verdict_seeds, years))
