"""Using up an allocation on Titan: the paper's numbers beside ours (docs/systems/titan.md).

Three parts. *model*: the quantitative model's own figures. *validation*: the second validation, one hundred projects
that wait and run one hour on average for 5,000 h: A draws waits and lets jobs overlap, as the base model assumes; B is
a single node with a closed loop, simulated. *queue*: a synthetic Titan under its policy, without boosts, and without
the limit on queued jobs, paired by seed; plans know run times, as in the replays of the paper's simulator.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slurmsim.allocation import Moments, expected_use, normal_probability, probability, spread_of_use, use_per_job
from slurmsim.bench.names import parse_names
from slurmsim.bench.runs import Cell, Progress, run_all, work_all
from slurmsim.errors import ConfigError
from slurmsim.metrics.estimate import Estimate
from slurmsim.trace.columns import NULL
from slurmsim.trace.reader import Trace

PARTS = ("model", "validation", "queue")
NODES, CPUS = 18_688, 16
JOBS = 140_500  # three months at 64.16 jobs an hour
PERFECT = "predictor=real"  # the paper's simulator replays with wall times that are the run times
VARIANTS = {
    "titan": f"titan:{PERFECT}", "no boosts": f"titan:boosts=off,{PERFECT}", "no limit": f"titan:limit=none,{PERFECT}",
}  # fmt: skip
BIN_LOWS = (11_250, 3_750, 313, 126, 1)
PERIOD_H, PROJECTS = 5_000, 100
HOUR_S = 3600
WARM_UP = 0.1  # of the span of submissions, discarded
GRID_S = 600


def parse_parts(text: str) -> tuple[str, ...]:
    """``model,queue`` or ``all``. Raises ConfigError."""
    asked = parse_names(text, PARTS, "--parts", "part")
    return tuple(name for name in PARTS if name in asked)


def model_figures() -> dict[str, float]:
    """What the quantitative model says where the paper, or its correction, has a number."""
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
    """Waits and run times are drawn; as many jobs run at a time as come."""
    rng = np.random.default_rng(seed)
    starts = rng.exponential(1.0, 2 * PERIOD_H).cumsum()
    return float(rng.exponential(1.0, int((starts <= PERIOD_H).sum())).sum())


def _one_node(seed: int) -> float:
    """A closed loop on one node, simulated: the next job comes an exponential hour after the last one ended."""
    from slurmsim.config.load import make_cluster
    from slurmsim.core.records.job import Job
    from slurmsim.policy import load_policy
    from slurmsim.sim.listener import Listener
    from slurmsim.sim.simulation import Simulation
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


def measure(trace: Trace) -> dict[str, Any]:
    """The figures of one run of the queue, of the jobs that came after the first tenth of the time."""
    submit, start, end, nodes = trace.ints("jobs", "submit", "start", "end", "req_nodes")
    first, last = int(submit.min()), int(submit.max())
    begin = first + round(WARM_UP * (last - first))
    ran = start != NULL
    busy = _busy(start[ran], end[ran], nodes[ran], begin, last)
    free = NODES - busy
    waiting = _busy(submit[ran], start[ran], np.ones(int(ran.sum()), np.int64), begin, last)
    inside = ran & (submit >= begin)
    wait = (start - submit)[inside] / HOUR_S
    found: dict[str, Any] = {
        "jobs": int(inside.sum()), "load": float(busy.mean() / NODES), "wait_h": float(wait.mean()),
        "wait_sd_h": float(wait.std()), "skew": float(wait.std() / wait.mean()) if wait.any() else 0.0,
        "throughput": float(((end > begin) & (end <= last) & ran).sum() / inside.sum()),
        "waiting_first_half": float(waiting[: len(waiting) // 2].mean()),
        "waiting_second_half": float(waiting[len(waiting) // 2 :].mean()),
        "free_mean": float(free.mean()), "free_median": float(np.median(free)),
        "free_p90": float(np.quantile(free, 0.9)),
    }  # fmt: skip
    highs = (NODES, *(low - 1 for low in BIN_LOWS))
    use = (nodes * (end - start))[inside] / HOUR_S
    for number, (low, high) in enumerate(zip(BIN_LOWS, highs, strict=False), 1):
        of_bin = (nodes[inside] >= low) & (nodes[inside] <= high)
        if of_bin.any():
            found[f"bin{number}"] = {
                "jobs": int(of_bin.sum()), "wait": [float(wait[of_bin].mean()), float(wait[of_bin].std())],
                "use": [float(use[of_bin].mean()), float(use[of_bin].std())],
            }  # fmt: skip
            found[f"bin{number}_wait_h"] = float(wait[of_bin].mean())
    boosted = nodes[inside] >= BIN_LOWS[1]
    found["large_wait_h"] = float(wait[boosted].mean()) if boosted.any() else 0.0
    return found


def _busy(begin: Any, end: Any, amount: Any, first: int, last: int) -> Any:
    """How much is between `begin` and `end` at each point of a grid from `first` to `last`."""
    grid = np.arange(first, max(last, first + 1), GRID_S)
    up, down = np.argsort(begin, kind="stable"), np.argsort(end, kind="stable")
    rise, fall = np.append(0, amount[up].cumsum()), np.append(0, amount[down].cumsum())
    return rise[np.searchsorted(begin[up], grid, "right")] - fall[np.searchsorted(end[down], grid, "right")]


def queue_cells(seeds: int, jobs: int) -> list[Cell]:
    """Every variant of every seed."""
    options = (("jobs", str(jobs)),)
    return [
        Cell(f"queue-{name.replace(' ', '_')}-{k}", policy, seed=k, model="titan", options=options, nodes=NODES,
             cpus_per_node=CPUS)
        for k in range(1, seeds + 1) for name, policy in VARIANTS.items()
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """Everything measured; a part that was not run is empty."""

    seeds: int
    jobs: int
    model: dict[str, float]
    use: dict[str, list[float]]
    runs: dict[str, dict[str, Any]]

    def values(self, variant: str, figure: str) -> list[float]:
        """One figure of all seeds."""
        name = variant.replace(" ", "_")
        found = [self.runs[f"queue-{name}-{k}"].get(figure) for k in range(1, self.seeds + 1)]
        return [float(one) for one in found if one is not None]

    def estimate(self, variant: str, figure: str) -> Estimate | None:
        """Mean and interval over the seeds."""
        values = self.values(variant, figure) if self.runs else []
        return Estimate.of(values) if values else None

    def change(self, variant: str, figure: str) -> Estimate | None:
        """What the variant adds to a figure, paired by seed."""
        a, b = (self.values(name, figure) for name in (variant, "titan")) if self.runs else ([], [])
        return Estimate.of([x - y for x, y in zip(a, b, strict=True)]) if a and len(a) == len(b) else None

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
    folder: Path, *, parts: Sequence[str] = PARTS, seeds: int = 5, jobs: int = JOBS, workers: int = 0,
    fresh: bool = False, progress: Progress | None = None,
) -> Result:  # fmt: skip
    """Run what is not in `folder` yet. Raises SlurmSimError."""
    if seeds < 1:
        raise ConfigError(f"{seeds} seeds", field="--seeds", expected="at least 1")
    if jobs < 1000:
        raise ConfigError(f"{jobs} jobs", field="--jobs", expected="at least 1000")
    use: dict[str, list[float]] = {}
    runs: dict[str, dict[str, Any]] = {}
    if "validation" in parts:
        cells = [Projects(f"validation-{variant}-{k}", variant, tuple(range(k, k + 10)))
                 for variant in "AB" for k in range(1, PROJECTS + 1, 10)]  # fmt: skip
        made = work_all(cells, project_use, folder, workers=workers, fresh=fresh, progress=progress)
        use = {v: [one for cell in cells if cell.variant == v for one in made[cell.name]["use"]] for v in "AB"}
    if "queue" in parts:
        runs = run_all(queue_cells(seeds, jobs), measure, folder, workers=workers, fresh=fresh, progress=progress)
    return Result(seeds, jobs, model_figures() if "model" in parts else {}, use, json.loads(json.dumps(runs)))
