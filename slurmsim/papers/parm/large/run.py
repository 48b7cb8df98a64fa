"""PARM on large machines: windows of a synthetic Intrepid and of Theta's log, at ever faster arrivals.

The grid is fixed here. Replicates of a point are its windows and seeds together; differences are paired
(docs/systems/parm.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from slurmsim.errors import ConfigError
from slurmsim.experiments.runs import Progress, work_all
from slurmsim.metrics.estimate import Estimate
from slurmsim.papers.parm.data import FIRST, MOST, OURS, PAIRS, Open, intrepid, logged, window
from slurmsim.papers.parm.testbed.run import STEPS, System, parm_on, simulated

FULL_W, LOWEST_W, BASE_W = 116, 86, 56
LEVELS = "30/33/36/44/50/60"
LOG = "ALCF-Theta-2022.swf.gz"


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that its budget bears at full power; overprovisioned it has as many nodes as at 30 W."""

    nodes: int  # at full power
    gammas: tuple[float, ...]  # factors on arrival times, from slow to fast
    jobs: int  # Successive jobs of a window unless said otherwise

    @property
    def budget_w(self) -> int:
        """What all nodes draw at full power."""
        return self.nodes * FULL_W

    @property
    def most(self) -> int:
        """Nodes that the budget bears at 30 W."""
        return self.budget_w // LOWEST_W


MACHINES = {
    "intrepid": Machine(40_960, (0.8, 0.2), 1000),
    "theta": Machine(4_360, (0.8, 0.4, 0.2), 200),
}
CAPS_W = (30, 33, 36, 44, 50, 60)
"""Caps of all jobs alike, the paper's naive strategies."""


def cap_name(cap: int) -> str:
    """Return the system with one cap for all jobs."""
    return f"{cap} W"


def systems(machine: Machine) -> dict[str, System]:
    """Return the baselines and PARM's versions, as on the testbed; uniform caps as naive strategies."""
    most = machine.most
    parm = partial(parm_on, most, LEVELS)
    return {
        "baseline": System("backfill", machine.nodes),
        "fewest nodes": System("backfill", machine.nodes, "min"),
        **{cap_name(cap): System("easy", machine.budget_w // (cap + BASE_W), cap=str(cap), budget=True)
           for cap in CAPS_W},
        "selection": parm_on(most, "60", sizes="max"),
        "moldable": parm_on(most, "60", version="nose"),
        "noMM": parm(version="nomm"),
        "noSE": parm(version="nose"),
        "wSE": parm(version="wse"),
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class LargeCell:
    """One run of a system, `how`; `log` is a file, else the synthetic log of the seed."""

    name: str
    machine: str
    jobs: str
    count: int
    gamma: float
    system: str
    how: System
    seed: int
    log: str = ""
    chosen: Open = OURS


def run_cell(cell: LargeCell, *, scratch: str) -> dict[str, Any]:
    machine = MACHINES[cell.machine]
    log = logged(cell.log, machine.nodes) if cell.log else intrepid(cell.seed)
    frame = window(log, cell.jobs, cell.gamma, cell.count, cell.seed, cell.chosen)
    return simulated(cell.name, frame, cell.how, machine.budget_w, scratch)


def cells(
    name: str, seeds: int, count: int | None = None, log: Path | None = None,
    compared: Mapping[str, System] | None = None, gammas: Sequence[float] = (), slow_seeds: int = 0,
) -> list[LargeCell]:  # fmt: skip
    """All runs on one machine, of its `systems` and paces unless others are given.

    Replicates beyond `seeds`, up to `slow_seeds`, are of what `PAIRS` compares at the slowest arrivals. The fastest
    arrivals come last: they take longest.
    """
    machine = MACHINES[name]
    chosen = compared or systems(machine)
    paired = {system: chosen[system] for pair in PAIRS for system in pair if system in chosen}
    paces = gammas or machine.gammas
    return [
        LargeCell(
            f"{name}-{jobs}-{gamma:g}-{system.replace(' ', '_')}-{k + 1}", name, jobs, count or machine.jobs, gamma,
            system, how, k + 1, str(log) if name == "theta" else "",
        )
        for gamma in paces for k in range(max(seeds, slow_seeds) if gamma == paces[0] else seeds) for jobs in FIRST
        for system, how in (chosen if k < seeds else paired).items()
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class LargeResult:
    """The figures of every run on one machine."""

    machine: str
    seeds: int
    count: int
    runs: dict[str, dict[str, Any]]
    slow_seeds: int = 0  # of what `PAIRS` compares at the slowest arrivals, if more than `seeds`

    @property
    def gammas(self) -> tuple[float, ...]:
        return MACHINES[self.machine].gammas

    @property
    def windows(self) -> tuple[str, ...]:
        return tuple(FIRST)

    def values(self, gamma: float, system: str, figure: str, seeds: int | None = None) -> list[float]:
        """One figure of all windows and seeds."""
        name = system.replace(" ", "_")
        return [float(self.runs[f"{self.machine}-{jobs}-{gamma:g}-{name}-{k + 1}"][figure])
                for jobs in FIRST for k in range(seeds or self.seeds)]  # fmt: skip

    def estimate(self, gamma: float, system: str, figure: str) -> Estimate:
        """Mean and interval of a figure."""
        return Estimate.of(self.values(gamma, system, figure))

    def gains(
        self, gamma: float, one: str, other: str, figure: str = "mean_s", seeds: int | None = None
    ) -> list[float]:
        """Return the logarithm by which `one` is lower than `other`, for each window and seed."""
        first, second = (self.values(gamma, system, figure, seeds) for system in (one, other))
        return [float(np.log(b / a)) for a, b in zip(first, second, strict=True)]

    def gain(self, gamma: float, one: str, other: str, figure: str = "mean_s") -> Estimate:
        """Their mean."""
        return Estimate.of(self.gains(gamma, one, other, figure))

    def sooner(self, gamma: float, one: str, other: str) -> Estimate:
        """Return the mean gain of a pair of `PAIRS`, over all replicates it has."""
        seeds = max(self.seeds, self.slow_seeds) if gamma == self.gammas[0] else self.seeds
        return Estimate.of(self.gains(gamma, one, other, seeds=seeds))

    def speedup(self, gamma: float, system: str, over: str = MOST) -> Estimate:
        """Return the mean completion of a baseline over that of `system`."""
        first, second = (self.values(gamma, one, "mean_s") for one in (system, over))
        return Estimate.of([b / a for a, b in zip(first, second, strict=True)])

    def of_set(self, gamma: float, jobs: str, system: str) -> float:
        """Return the mean of that speed-up over the seeds of one window."""
        at = self.windows.index(jobs) * self.seeds
        first, second = (self.values(gamma, one, "mean_s")[at : at + self.seeds] for one in (system, MOST))
        return fmean(b / a for a, b in zip(first, second, strict=True))

    def steps(self, gamma: float) -> list[Estimate]:
        """Return what each of `STEPS` adds to the logarithm of the speed-up; they sum to the whole."""
        return [self.gain(gamma, after, before) for before, after in pairwise(STEPS)]

    @property
    def grows(self) -> Estimate:
        """The logarithm of wSE's speed-up at the fastest arrivals over that at the slowest, paired."""
        ends = [self.gains(gamma, "wSE", "baseline") for gamma in (self.gammas[-1], self.gammas[0])]
        return Estimate.of([fast - slow for fast, slow in zip(*ends, strict=True)])


def checked_size(seeds: int, count: int | None) -> None:
    """Raise ConfigError for an experiment of nothing."""
    if seeds < 1:
        raise ConfigError(f"{seeds} seeds", field="--large-seeds", expected="at least 1")
    if count is not None and count < 2:
        raise ConfigError(f"{count} jobs", field="--jobs", expected="at least 2")


def experiment(
    name: str, folder: Path, *, seeds: int, slow_seeds: int = 0, count: int | None = None, log: Path | None = None,
    workers: int = 0, fresh: bool = False, progress: Progress | None = None,
) -> LargeResult:  # fmt: skip
    """Run what is not in `folder` yet. Raises SlurmSimError."""
    checked_size(seeds, count)
    if slow_seeds < 0:
        raise ConfigError(f"{slow_seeds} seeds", field="--slow-seeds", expected="at least 0")
    if name == "theta" and (log is None or not log.is_file()):
        raise ConfigError(f"no log {log or ''}".rstrip(), field="--log", expected=f"{LOG}, or SLURMSIM_DATA")
    wanted = cells(name, seeds, count, log, slow_seeds=slow_seeds)
    runs = work_all(wanted, run_cell, folder, workers=workers, fresh=fresh, progress=progress)
    return LargeResult(name, seeds, count or MACHINES[name].jobs, runs, slow_seeds)
