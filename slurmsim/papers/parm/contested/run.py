"""The large machine at its fastest arrivals, where the paper has its 5.2, with what it leaves open of jobs varied.

The paper says how many nodes a job may have; average parallelism and its variation are ours. Replicates are seeds of
the synthetic log, each its first window (docs/systems/parm.md).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slurmsim.experiments.runs import Progress, work_all
from slurmsim.papers.parm.choices.run import SHAPES
from slurmsim.papers.parm.data import FEWEST, FIRST, MOST, PAPERS_MACHINE
from slurmsim.papers.parm.large.run import MACHINES, LargeCell, checked_size, run_cell, systems

GAMMA = MACHINES[PAPERS_MACHINE].gammas[-1]
TRIED = ("σ = 0", "σ = 1")
"""Of the choices on the testbed the two with results that lie farthest apart."""
COMPARED = (MOST, FEWEST, "wSE")


def cells(seeds: int, count: int | None = None) -> list[LargeCell]:
    """All runs of the grid."""
    machine, jobs = MACHINES[PAPERS_MACHINE], next(iter(FIRST))
    known = systems(machine)
    return [
        LargeCell(
            f"contested-{k}-{name.replace(' ', '_')}-{seed}", PAPERS_MACHINE, jobs, count or machine.jobs, GAMMA, name,
            known[name], seed, chosen=SHAPES[shape],
        )
        for seed in range(1, seeds + 1) for k, shape in enumerate(TRIED) for name in COMPARED
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ContestedResult:
    """Figures of every run, by its name."""

    seeds: int
    count: int
    runs: dict[str, dict[str, Any]]

    def values(self, shape: str, system: str) -> list[float]:
        """Return the mean completion, a seed each."""
        name = f"contested-{TRIED.index(shape)}-{system.replace(' ', '_')}"
        return [float(self.runs[f"{name}-{seed}"]["mean_s"]) for seed in range(1, self.seeds + 1)]


def experiment(
    folder: Path, *, seeds: int = 10, count: int | None = None, workers: int = 0, fresh: bool = False,
    progress: Progress | None = None,
) -> ContestedResult:  # fmt: skip
    """Run what is not in `folder` yet. Raises SlurmSimError."""
    checked_size(seeds, count)
    runs = work_all(cells(seeds, count), run_cell, folder, workers=workers, fresh=fresh, progress=progress)
    return ContestedResult(seeds, count or MACHINES[PAPERS_MACHINE].jobs, runs)
