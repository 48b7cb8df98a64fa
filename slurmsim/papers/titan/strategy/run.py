"""The whole search: a log read on a site's configuration, categories, ranking, checks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.experiments.simulation import FRAME, RunOptions, prepare
from slurmsim.papers.titan.strategy.applications import application_shapes
from slurmsim.papers.titan.strategy.categories import FEWEST, Category, categories, drawn_anew
from slurmsim.papers.titan.strategy.check import Check, Progress, check
from slurmsim.papers.titan.strategy.data import History, history_of, node_hours, read_log
from slurmsim.papers.titan.strategy.ranking import Candidate, Goal, rank

MONTH_H = 730.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked, as the command line says it."""

    log: str
    allocation: str
    months: float = 3.0
    by: str = "bins"  # ``bins`` or ``shapes``
    streams: tuple[int, ...] = (1,)
    checks: int = 3  # how many of the best are simulated
    seed: int = 0
    conf: str | None = None
    nodes: int | None = None
    cpus_per_node: int | None = None
    format: str | None = None
    policy: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found."""

    wanted: Wanted
    goal: Goal
    history: History
    categories: list[Category]
    few: int  # categories with too few jobs to be judged
    ranked: list[Candidate]  # all candidates, best first
    checks: list[Check]
    policy: str
    drawn: list[Candidate]  # the same ways of submitting with a category drawn anew for each job, best first


def search(wanted: Wanted, progress: Progress | None = None) -> Answer:
    """Rank the ways of using up an allocation.

    Raises
    ------
    ConfigError, WorkloadError
        Bad input; an allocation the machine does not have; no category with enough jobs.
    """
    if not 0 < wanted.months <= 1200:
        raise ConfigError(f"{wanted.months:g} months", field="--months", expected="more than 0")
    if wanted.checks < 0:
        raise ConfigError(f"{wanted.checks} checks", field="--check", expected="at least 0")
    policy = wanted.policy if wanted.policy is not None or wanted.conf is not None else "easy"
    trace = Path(wanted.log).is_dir()
    options = RunOptions(
        FRAME if trace else wanted.log, "", wanted.conf, wanted.nodes, wanted.cpus_per_node,
        None if trace else wanted.format, policy, impossible_jobs="drop", seed=wanted.seed,
    )  # fmt: skip
    if trace and wanted.format is not None:
        raise ConfigError("a trace has no format", field="--format", expected="none beside a folder")
    prepared = prepare(options, _frame(Path(wanted.log)) if trace else None)
    if prepared.workload.streams is not None:
        raise WorkloadError("streams have no history", file=wanted.log, expected="a log of jobs that ran")
    nodes = prepared.cluster.nodes
    history = history_of(prepared.workload, wanted.log, max(node.cpus for node in nodes), len(nodes))
    discipline = prepared.policy.discipline
    goal = Goal(
        node_hours(wanted.allocation, history.cpus_per_node), wanted.months * MONTH_H, len(nodes),
        discipline.limit if discipline is not None else None,
    )  # fmt: skip
    goal.check()
    table = getattr(discipline, "table", None)
    edges = tuple(sorted((one.low, one.high) for one in table.bins)) if table is not None else ()
    found, few = categories(history, wanted.by, edges)
    whole = history
    if wanted.by == "shapes" and history.applied:
        whole, more, too_few = application_shapes(history, wanted.seed)
        found, few = found + more, few + too_few
    if not found:
        raise WorkloadError(f"no category has had {FEWEST} jobs ({few} have had fewer)", file=wanted.log,
                            field="--by", expected="a longer log, or --by bins")  # fmt: skip
    ranked, checks = rank(found, goal, wanted.streams, wanted.seed), list[Check]()
    drawn = rank([drawn_anew(whole, found)], goal, wanted.streams, wanted.seed)
    if wanted.checks:
        drawn, tried = check(drawn, goal, whole, prepared, best=1, seed=wanted.seed)
        ranked, checks = check(ranked, goal, whole, prepared, best=wanted.checks, seed=wanted.seed, progress=progress)
        checks += tried
    return Answer(wanted, goal, history, found, few, ranked, checks, prepared.policy_name, drawn)


def _frame(folder: Path) -> Any:
    """Return the jobs of a trace as a DataFrame that is a workload."""
    import pandas as pd

    log = read_log(folder, None)
    columns: dict[str, object] = dict(log.ints)
    for name in ("user", "account"):
        column = log.texts[name]
        columns[name] = [column.values[code] for code in column.codes.tolist()]
    return pd.DataFrame(columns)
