"""PARM's own parameters, one at a time, on the synthetic Intrepid: the weight of age and length, and levels of power.

The paper's figures 6 and 7 as far as they can be had: its four values of alpha, and more and more levels. The grid is
fixed here; differences are paired by window and seed (docs/systems/parm.md).
"""

from pathlib import Path

from slurmsim.errors import ConfigError
from slurmsim.experiments.runs import Progress, work_all
from slurmsim.papers.parm.large.run import (
    LEVELS,
    MACHINES,
    LargeCell,
    LargeResult,
    cells,
    checked_size,
    run_cell,
)
from slurmsim.papers.parm.testbed.run import System, parm_on

MACHINE, GAMMA, JOBS = "intrepid", 0.4, 300
ALPHAS = (0.28, 0.98, 1.28, 1.48)
LEVELS_OF = "levels "
STEP_W = {2: 30, 3: 15, 4: 10, 6: 6, 11: 3}
"""Watts between neighbouring levels from 30 to 60 W, by how many levels there are."""


def alpha_name(alpha: float) -> str:
    """Return the system with this weight of age and length."""
    return f"alpha {alpha:g}"


def level_name(count: int) -> str:
    """Return the system with so many levels of power."""
    return f"{LEVELS_OF}{count}"


def points() -> dict[str, System]:
    """Return wSE at each value of alpha with the paper's levels, and at each number of levels with its alpha."""
    most = MACHINES[MACHINE].most
    return {
        **{alpha_name(alpha): parm_on(most, LEVELS, version="wse", alpha=f"{alpha:g}") for alpha in ALPHAS},
        **{level_name(n): parm_on(most, "/".join(map(str, range(30, 61, step))), version="wse")
           for n, step in STEP_W.items()},
    }  # fmt: skip


def sweep_cells(seeds: int, level_seeds: int = 0, count: int | None = None) -> list[LargeCell]:
    """All runs; beyond `seeds`, up to `level_seeds`, those of levels: a large alpha takes ten times as long."""
    made = cells(MACHINE, max(seeds, level_seeds), count or JOBS, compared=points(), gammas=(GAMMA,))
    return [cell for cell in made if cell.seed <= seeds or cell.system.startswith(LEVELS_OF)]


def replicates(found: LargeResult, point: str) -> int:
    """Return how many seeds a point has."""
    return max(found.seeds, found.slow_seeds) if point.startswith(LEVELS_OF) else found.seeds


def experiment(
    folder: Path, *, seeds: int, level_seeds: int = 0, count: int | None = None, workers: int = 0, fresh: bool = False,
    progress: Progress | None = None,
) -> LargeResult:  # fmt: skip
    """Run what is not in `folder` yet. Raises SlurmSimError."""
    checked_size(seeds, count)
    if level_seeds < 0:
        raise ConfigError(f"{level_seeds} seeds", field="--level-seeds", expected="at least 0")
    wanted = sweep_cells(seeds, level_seeds, count)
    runs = work_all(wanted, run_cell, folder, workers=workers, fresh=fresh, progress=progress)
    return LargeResult(MACHINE, seeds, count or JOBS, runs, level_seeds)
