"""The paper's hypothesis in simulation: a project with jobs of one bin, beside one that draws a bin for each job.

A *way* of submitting is a bin (or `RANDOM`), what the next job follows, and how many sequences of jobs go side by
side. The project's jobs are drawn from those of another year of the synthetic Titan; all other users' jobs are the
load. It begins `LEAD_H` hours after them, so that the machine is not empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from slurmsim.experiments.simulation import RunOptions, prepare
from slurmsim.metrics.estimate import Estimate
from slurmsim.papers.titan.allocation import probability
from slurmsim.papers.titan.cells import CPUS, HOUR_S, NODES, QUARTER_H, VARIANTS, bin_ranges, hours_of
from slurmsim.papers.titan.strategy.loop import PROJECT, SampledStream, closed_loop
from slurmsim.workload import Workload
from slurmsim_workloads import write_workload
from slurmsim_workloads.generators import generate

RANDOM = 0  # in place of a bin: drawn anew for each job, each as likely
LEAD_H = 24
SHORTER = 30  # three days of three months: there are many ways
POOL_SEED = 1_000_003  # of the year of which the project's jobs are
MOST_DRAWN = 10_000  # jobs that stand for each bin where one is drawn for each job
FOLLOWS, STREAMS = ("start", "end"), (1, 4)
ALLOCATIONS = (1e5, 3e5, 1e6, 3e6)  # node-hours in three months
Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Way:
    """One run: a way of submitting, and the seed and number of the other users' jobs."""

    name: str
    bin: int
    follows: str
    streams: int
    seed: int
    jobs: int


def way_name(bin_number: int, follows: str, streams: int, seed: int) -> str:
    """Return what the run is called among the results."""
    return f"hypothesis-{f'bin{bin_number}' if bin_number else 'random'}-{follows}-{streams}-{seed}"


def ways(seeds: int, jobs: int) -> list[Way]:
    return [
        Way(way_name(b, follows, streams, k), b, follows, streams, k, jobs // SHORTER)
        for k in range(1, seeds + 1) for follows in FOLLOWS for streams in STREAMS
        for b in range(len(bin_ranges()) + 1)
    ]  # fmt: skip


def way_use(way: Way, scratch: str) -> dict[str, Any]:
    """Simulate a way; what the project used of the jobs started in its period, and what the formula is fed with."""
    load = f"{scratch}/{way.name}.parquet"
    hours = hours_of(way.jobs)
    # so many more jobs that others keep coming until the project's period is over
    write_workload(generate("titan", {"jobs": str(way.jobs + round(way.jobs * LEAD_H / hours))}, way.seed), load)
    prepared = prepare(RunOptions(load, f"{scratch}/{way.name}", nodes=NODES, cpus_per_node=CPUS,
                                  policy=VARIANTS["titan"], seed=way.seed))  # fmt: skip
    pool = _pool()
    rows = rows_of(pool.ints["nodes"], way.bin)
    run, limit, nodes = (pool.ints[name][rows] for name in ("run_time", "time_limit", "nodes"))
    begin, last = LEAD_H * HOUR_S, (LEAD_H + hours) * HOUR_S
    stream = SampledStream(PROJECT, way.follows, way.streams, begin, last, run, limit, nodes, nodes)
    origin = int(prepared.workload.ints["submit"].min())
    used = closed_loop(stream, prepared, origin + last, way.seed)
    use, cycle = used.nodes * used.runs_h, used.waits_h + (used.runs_h if way.follows == "end" else 0.0)
    return {"use_node_h": used.node_hours, "starts": len(use), "between_h": _moments(cycle), "per_job": _moments(use)}


@cache
def _pool() -> Workload:
    return generate("titan", {}, POOL_SEED)


def rows_of(nodes: Any, bin_number: int) -> Any:
    """Return the rows of jobs of a bin; for `RANDOM` so many of each that they are as likely."""
    bins = [np.flatnonzero((nodes >= low) & (nodes <= high)) for low, high in bin_ranges()]
    if bin_number != RANDOM:
        return bins[bin_number - 1]
    most = min(max(map(len, bins)), MOST_DRAWN)
    return np.concatenate([rows[np.arange(most) * len(rows) // most] for rows in bins if len(rows)])


def _moments(values: Any) -> list[float]:
    return [float(values.mean()), float(values.std())] if len(values) else [0.0, 0.0]


@dataclass(frozen=True, slots=True)
class Case:
    """What became of an allocation in one way of submitting, (seeds,) or a number each."""

    follows: str
    streams: int
    target: float  # node-hours
    best: int  # the bin that used most
    # chances, formula: of more than `target`, by bin; under 0 those of `RANDOM`: shares of the seeds, and by the model
    chances: dict[int, float]
    formula: dict[int, float]

    def above(self) -> tuple[int, int, int]:
        """Return how many bins are above, equal to and below `RANDOM`."""
        signs = [np.sign(self.chances[b] - self.chances[RANDOM]) for b in self.chances if b != RANDOM]
        return signs.count(1), signs.count(0), signs.count(-1)


@dataclass(frozen=True)
class Tried:
    """Uses of all runs, by way and seed."""

    use: dict[tuple[str, int], Any]  # (follows, streams) -> (seeds, 1 + bins), node-hours; column 0 is `RANDOM`
    # the same to what the formula is fed with: between starts, and per job, means over the seeds
    fed: dict[tuple[str, int], list[tuple[Pair, Pair]]]
    hours: int  # of the period

    @classmethod
    def of(cls, runs: dict[str, dict[str, Any]], seeds: int, jobs: int) -> Tried | None:
        """Return what runs of this part there are; None without."""
        numbers = range(len(bin_ranges()) + 1)
        if way_name(RANDOM, FOLLOWS[0], STREAMS[0], 1) not in runs:
            return None
        use, fed = {}, {}
        for how in product(FOLLOWS, STREAMS):
            found = [[runs[way_name(b, *how, k)] for b in numbers] for k in range(1, seeds + 1)]
            use[how] = np.array([[one["use_node_h"] for one in row] for row in found])
            fed[how] = [
                (_mean(row[b]["between_h"] for row in found), _mean(row[b]["per_job"] for row in found))
                for b in numbers
            ]
        return cls(use, fed, hours_of(jobs // SHORTER))

    def targets(self) -> list[float]:
        """Return the allocations, as large for the period as they are for three months."""
        return [one * self.hours / QUARTER_H for one in ALLOCATIONS]

    def cases(self) -> Iterator[Case]:
        """Every way and allocation."""
        for (follows, streams), use in self.use.items():
            best = 1 + int(use[:, 1:].mean(axis=0).argmax())
            for target in self.targets():
                chances = {b: float((use[:, b] > target).mean()) for b in range(use.shape[1])}
                formula = {
                    b: float(probability(target, self.hours, wait_h=between, per_job=each, streams=streams))
                    for b, (between, each) in enumerate(self.fed[follows, streams])
                    if between[0] > 0 and each[0] > 0
                }
                yield Case(follows, streams, target, best, chances, formula)

    def share_above(self, *, best_only: bool) -> Estimate | None:
        """Per cent of the cases that differ in which the allocation was used up by a bin and not by `RANDOM`.

        Paired by seed; the *best* bin of a seed is the one that used most in the other seeds. None where no case of any
        seed differs.
        """
        shares = []
        for k in range(len(next(iter(self.use.values())))):
            won = lost = 0
            for use in self.use.values():
                others = np.delete(use, k, axis=0) if len(use) > 1 else use
                bins = [1 + int(others[:, 1:].mean(axis=0).argmax())] if best_only else range(1, use.shape[1])
                for target, b in product(self.targets(), bins):
                    won += bool(use[k, b] > target >= use[k, RANDOM])
                    lost += bool(use[k, b] <= target < use[k, RANDOM])
            if won + lost:
                shares.append(100 * won / (won + lost))
        return Estimate.of(shares) if shares else None


def _mean(pairs: Any) -> Pair:
    mean, sd = np.mean(list(pairs), axis=0)
    return float(mean), float(sd)


def by_model(waits: Sequence[Pair], uses: Sequence[Pair], period_h: float) -> dict[tuple[int, float], list[float]]:
    """P(U > allocation) by streams and allocation: first that of a bin drawn anew for each job, then of each bin."""
    kinds = [(mixture(waits), mixture(uses)), *zip(waits, uses, strict=True)]
    return {
        (streams, target): [
            float(probability(target, period_h, wait_h=wait, per_job=use, streams=streams)) for wait, use in kinds
        ]
        for streams in STREAMS for target in ALLOCATIONS
    }  # fmt: skip


def mixture(parts: Sequence[Pair]) -> Pair:
    """Return mean and standard deviation of a draw from one of `parts`, each as likely; (mean, sd) each."""
    means, sds = np.array(parts).T
    return float(means.mean()), float(np.sqrt((sds**2 + means**2).mean() - means.mean() ** 2))
