"""PCP'20 and its relatives: the paper's numbers beside ours (docs/systems/pcp20.md).

Four kinds of parts. *instances*: contested problems saved from a run, given to every model. *variables*: sizes of the
models while jobs arrive at several paces. *systems*: CPU time of a dispatch in whole runs. *quality*: waits, slowdown
and queues beside ordinary schedulers on windows of logs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slurmsim.errors import ConfigError
from slurmsim.experiments.names import parse_names
from slurmsim.experiments.runs import Progress, work_all
from slurmsim.metrics.estimate import Estimate
from slurmsim.papers.eurora.data import LOG as EURORA_LOG
from slurmsim.papers.pcp20.cells import PREDICTORS, InstanceCell, RunCell, predictors, work
from slurmsim.papers.pcp20.data import FIRST, KIT_FILE, LOGS, WITHOUT_USERS

FILES = {
    "eurora": EURORA_LOG,
    "mixed": EURORA_LOG,
    "kit": KIT_FILE,
    **{name: file for name, (file, _, _) in LOGS.items()},
}
PARTS = tuple(f"{kind}-{name}" for kind, names in (
    ("instances", ("eurora", "kit")), ("variables", ("eurora", "mixed")), ("systems", ("eurora", "kit", "theta")),
    ("quality", (*LOGS, "mix")),
) for name in names)  # fmt: skip
PACES = {"eurora": (0.5, 1.0, 1.5, 2.0, 3.0), "mixed": (1.0, 30.0, 50.0, 70.0, 100.0)}
"""How much faster jobs arrive than in the log, for the sizes of models; of short jobs the machine bears many more."""
JOBS = {"kit": 1000}
"""Jobs of a system's run unless it is asked for; `MOST_JOBS` of the others."""
MOST_JOBS = 400
DISPATCHERS = ("hcp19", "pcp19", "pcp20", "cp_classes")
SCHEDULERS = {
    "easy": "easy", "conservative": "conservative", "backfill": "backfill",
    "list": "list:order=slowdown,scheme=serial", "pcp20": "pcp20", "cp_classes": "cp_classes",
    "easy.L2": "easy:predictor=last_two", "list.L2": "list:order=slowdown,scheme=serial,predictor=last_two",
    "pcp20.L2": "pcp20:predictor=last_two", "pcp20.R": "pcp20:predictor=real",
    "easy.D": "easy:predictor=data_driven", "list.D": "list:order=slowdown,scheme=serial,predictor=data_driven",
    "pcp20.D": "pcp20:predictor=data_driven",
}  # fmt: skip
"""By the name in the tables; behind the dot the paper's letter for how durations are predicted."""
SAVED_BY = {"eurora": "pcp19", "kit": "pcp20"}
"""The policy that the instances are saved from: PCP'19 as in the paper, but not on the system on which it stalls."""


def schedulers(part: str) -> dict[str, str]:
    """Return the schedulers of a part on quality, without predictors that need fields its jobs do not have."""
    without = _without(part.partition("-")[2])
    return {name: policy for name, policy in SCHEDULERS.items() if name.partition(".")[2] not in without}


def parse_parts(text: str) -> tuple[str, ...]:
    """``instances-eurora,quality-kth`` or ``all``. Raises ConfigError."""
    return parse_names(text, PARTS, "--parts", "part")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is run."""

    instances: int = 16  # at most so many a system
    jobs: int | None = None  # of a system's run, from its first job on; None: `JOBS`
    # window, first, seeds: jobs of a window of a log, where it begins, and its replicates: the window itself and
    # jittered ones
    window: int = 150
    first: int | None = None  # None: `FIRST`
    seeds: int = 3

    def __post_init__(self) -> None:
        for name in ("instances", "jobs", "window", "seeds"):
            given = getattr(self, name)
            if given is not None and given < 1:
                raise ConfigError(f"{given} is too few", field=f"--{name}", expected="at least 1")
        if self.first is not None and self.first < 0:
            raise ConfigError(f"{self.first} is negative", field="--first", expected="at least 0")

    def jobs_of(self, system: str) -> int:
        """Return how many jobs a run of a system has."""
        return JOBS.get(system, MOST_JOBS) if self.jobs is None else self.jobs

    def first_of(self, log: str) -> int:
        """Return the number of the first job of a log's window."""
        return self.first if self.first is not None else FIRST.get(log, 1000)


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of every cell by its name, and the parts they are of."""

    sizes: Sizes
    parts: list[str]
    left_out: list[str]
    cells: dict[str, dict[str, Any]] = field(default_factory=dict)

    def of(self, part: str) -> dict[str, dict[str, Any]]:
        """Return the cells of a part, by the rest of their names."""
        return {name[len(part) + 1 :]: found for name, found in self.cells.items() if name.startswith(part + "-")}

    def instances(self, part: str) -> list[dict[str, Any]]:
        """Return the figures of a part's instances."""
        return [found for name, found in self.of(part).items() if name != "saved"]

    def values(self, part: str, scheduler: str, measure: str) -> list[float]:
        """One figure of all replicates of a scheduler in a part on quality."""
        return [float(self.cells[f"{part}-{scheduler}-{k + 1}"][measure]) for k in range(self.sizes.seeds)]

    def estimate(self, part: str, scheduler: str, measure: str) -> Estimate:
        """Mean and interval of a figure."""
        return Estimate.of(self.values(part, scheduler, measure))

    def change(self, part: str, scheduler: str, other: str, measure: str) -> Estimate:
        """Mean and interval of the paired difference to `other`."""
        pairs = zip(self.values(part, scheduler, measure), self.values(part, other, measure), strict=True)
        return Estimate.of([a - b for a, b in pairs])


def run_cells(parts: Sequence[str], sizes: Sizes, data: Path, folder: Path) -> list[RunCell]:
    found = []
    for part in parts:
        kind, name = part.split("-")
        file = str(data / FILES[name]) if name in FILES else ""
        on_system: dict[str, Any] = {"system": name, "file": file, "jobs": sizes.jobs_of(name)}
        if name in LOGS:
            on_system["first"] = sizes.first_of(name)
        if kind == "instances":
            policy = SAVED_BY[name]
            saved = str(folder / "instances" / name)
            found.append(RunCell(f"{part}-saved", policy=policy, save=saved, most=sizes.instances, **on_system))
        elif kind == "variables":
            found += [
                RunCell(f"{part}-{pace:g}", policy="pcp20", pace=pace, count=True, **on_system) for pace in PACES[name]
            ]
        elif kind == "systems":
            without = _without(name)
            for letter, option in predictors().items():
                if letter in without:
                    continue
                for policy in DISPATCHERS:
                    words = f"{policy}:{option}" if option else policy
                    found.append(RunCell(f"{part}-{policy}{letter and '.' + letter}", policy=words, **on_system))
        else:
            first = sizes.first_of(name) if file else 0
            for scheduler, policy in schedulers(part).items():
                for k in range(sizes.seeds):
                    found.append(
                        RunCell(f"{part}-{scheduler}-{k + 1}", name, policy, file, sizes.window, first, seed=k)
                    )
    return found


def _without(workload: str) -> frozenset[str]:
    """Letters of the predictors that need what jobs of a system or log do not have: D their names, L2 their users."""
    if workload == "mix":
        return frozenset()
    return frozenset({"D", "L2"} if workload in WITHOUT_USERS else {"D"})


def experiment(
    folder: Path, data: Path | None, *, parts: Sequence[str] = PARTS, sizes: Sizes | None = None, workers: int = 1,
    fresh: bool = False, progress: Progress | None = None,
) -> Result:  # fmt: skip
    """Run what is not in `folder` yet.

    Parameters
    ----------
    data
        Folder of the logs, with ``seeds/``; a part without its file is left out, and `Result.left_out` names it.
    workers
        Processes; several disturb each other's CPU times.

    Raises
    ------
    ConfigError
        The numbers make no sense, or there is no such folder.
    SlurmSimError
        From a run.
    """
    sizes = sizes or Sizes()
    if data is not None and not data.is_dir():
        raise ConfigError("no such folder", file=str(data), field="--data", expected="a folder of job logs")
    absent = {system for system, name in FILES.items() if data is None or not (data / name).is_file()}
    here = [part for part in parts if part.split("-")[1] not in absent]
    left_out = [part for part in parts if part not in here]
    runs = run_cells(here, sizes, data or Path(), folder)
    missing = [cell.name for cell in runs if cell.save and not Path(cell.save).is_dir()]
    for name in missing:
        (folder / "runs" / f"{name}.json").unlink(missing_ok=True)  # its instances are gone
    more = sum(sizes.instances for cell in runs if cell.save)
    grown = None if progress is None else (lambda done, total: progress(done, total + more))
    found = work_all(runs, work, folder, workers=workers, fresh=fresh, progress=grown)
    cells = [
        InstanceCell(f"{name.removesuffix('-saved')}-{Path(file).stem}", file)
        for name, figures in found.items() for file in figures.get("files", ())
    ]  # fmt: skip
    before = None if progress is None else (lambda done, total: progress(len(runs) + done, len(runs) + total))
    found |= work_all(cells, work, folder, workers=workers, fresh=fresh, progress=before)
    return Result(sizes, here, left_out, found)


__all__ = ["PARTS", "PREDICTORS", "Result", "Sizes", "experiment", "parse_parts"]
