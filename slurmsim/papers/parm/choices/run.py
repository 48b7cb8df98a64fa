"""The testbed's SetL at its first pace, with what the paper leaves open of its jobs varied, one thing at a time.

How many times the fewest nodes the most nodes are decides whether noMM completes sooner than a baseline; average
parallelism and its variation decide what fewer nodes cost. The grid is fixed here (docs/systems/parm.md).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slurmsim.errors import ConfigError
from slurmsim.experiments.runs import Progress, work_all
from slurmsim.papers.parm.data import FEWEST, MOST, Open
from slurmsim.papers.parm.testbed.run import BUDGET_W, SYSTEMS, simulated, testbed

SET, GAMMA = "SetL", 1.0
RATIOS = (1.5, 2.0, 3.0)
SHAPES = {
    "drawn": Open(), "σ = 0": Open(sigma=0.0), "σ = 1": Open(sigma=1.0), "A = most": Open(parallelism=1.0),
    "A = 4 × most": Open(parallelism=4.0),
}  # fmt: skip
"""Parallelism and its variation: both drawn, or one of them fixed."""
COMPARED = (MOST, FEWEST, "noMM", "noSE", "wSE")


@dataclass(frozen=True, slots=True)
class ChoiceCell:
    """One run."""

    name: str
    ratio: float
    shape: str
    chosen: Open
    system: str
    policy: str
    seed: int


def run_cell(cell: ChoiceCell, *, scratch: str) -> dict[str, Any]:
    frame = testbed(SET, GAMMA, cell.seed, chosen=cell.chosen)
    return simulated(cell.name, frame, SYSTEMS[cell.system], BUDGET_W, scratch)


def cells(seeds: int) -> list[ChoiceCell]:
    """All runs of the grid."""
    return [
        ChoiceCell(
            f"choices-{ratio:g}-{k}-{system.replace(' ', '_')}-{seed}", ratio, shape,
            Open(ratio, one.parallelism, one.sigma), system, SYSTEMS[system].policy, seed,
        )
        for ratio in RATIOS for k, (shape, one) in enumerate(SHAPES.items()) for system in COMPARED
        for seed in range(1, seeds + 1)
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChoiceResult:
    """Figures of every run, by ratio, shape, system and seed."""

    seeds: int
    runs: dict[tuple[float, str, str, int], dict[str, Any]]

    def values(self, ratio: float, shape: str, system: str, figure: str = "mean_s") -> list[float]:
        return [float(self.runs[ratio, shape, system, seed][figure]) for seed in range(1, self.seeds + 1)]


def experiment(
    folder: Path, *, seeds: int = 10, workers: int = 0, fresh: bool = False, progress: Progress | None = None
) -> ChoiceResult:
    """Run what is not in `folder` yet. Raises SlurmSimError."""
    if seeds < 1:
        raise ConfigError(f"{seeds} seeds", field="--seeds", expected="at least 1")
    wanted = cells(seeds)
    made = work_all(wanted, run_cell, folder, workers=workers, fresh=fresh, progress=progress)
    return ChoiceResult(seeds, {(one.ratio, one.shape, one.system, one.seed): made[one.name] for one in wanted})
