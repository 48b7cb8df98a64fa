"""Per-user CPU-hour limits on backfill: the paper's numbers on Lomonosov beside ours (docs/systems/lomonosov.md).

Base backfill against the policy ``cpu_hours`` at several multiples of the default limit, on the synthetic partition
regular4 and on real logs with users; the first week is discarded. Replicates of the synthetic workload are seeds, those
of a log are the log itself and the log with jittered submit times. The paper's machine is saturated: so three logs are
also brought to loads of 0.85 to 0.95, and their replicates are ten windows each. Differences are paired by replicate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from slurmsim import Trace
from slurmsim.errors import ConfigError, SlurmSimError
from slurmsim.experiments.names import parse_names
from slurmsim.experiments.runs import Cell, Progress, run_all
from slurmsim.metrics.columns import BoolArray, IntArray
from slurmsim.metrics.estimate import Estimate
from slurmsim.metrics.packing import EQUAL_WEIGHTS, MEASURES, losses_of_slots
from slurmsim.metrics.utilization import Interval
from slurmsim.metrics.wait import mean
from slurmsim.report.efficiency import height, rectangles
from slurmsim.states import REFUSED
from slurmsim.trace.columns import NULL

DAY_S = 86_400
WEEK_S = 7 * DAY_S
LIMITS = ("inf", "2x", "1x", "0.5x", "0.25x")
PERIODS = ("inf", "7x", "1x", "0.25x")  # an even share of a week, a day, and six hours
BASE, DEFAULT = "inf", "1x"
LOG = "KTH-SP2-1996-2.swf.gz"
SATURATED = {"kth": LOG, "ctc": "CTC-SP2-pyss-easy.swf.gz", "sdsc": "SDSC-SP2-pyss-easy.swf.gz"}
LOADS = (85, 90, 95)  # per cent
WINDOWS = 10
SAMPLE_S = 6 * 3600
SAMPLES = 56  # two weeks
MODEL = "lomonosov-regular4"
LARGE = 16  # a job is large from one such part of the machine on: 125 of 2,000 nodes


@dataclass(frozen=True, slots=True)
class Part:
    """A workload and the base scheduler of both rounds."""

    workload: str  # regular4 or log, or one of SATURATED; or states, the jobs of regular4 without a run
    base: str
    load: int = 0  # per cent, of those

    @property
    def limits(self) -> tuple[str, ...]:
        """The limits that are tried, beside none."""
        return PERIODS if self.load else LIMITS

    def __str__(self) -> str:
        return f"{self.workload}{self.load or ''}-{self.base}" if self.base else self.workload


AT_LOADS = tuple(Part(log, "easy", load) for log in SATURATED for load in LOADS)
STATES = Part("states", "")
"""How many jobs of the synthetic workload end in which state."""
PARTS = (STATES, *(Part(w, b) for w in ("regular4", "log") for b in ("easy", "conservative", "backfill")), *AT_LOADS)
DEFAULT_PARTS = tuple(
    p for p in PARTS if str(p) in ("states", "regular4-easy", "log-easy", "log-backfill") or p in AT_LOADS
)


def parse_parts(text: str) -> tuple[Part, ...]:
    """``regular4-easy,log-backfill`` or ``all``. Raises ConfigError."""
    by_name = {str(part): part for part in PARTS}
    return tuple(by_name[name] for name in parse_names(text, list(by_name), "--parts", "part"))


def measure(trace: Trace) -> dict[str, Any]:
    """Return the figures of one run, over the whole weeks after the first in which jobs come.

    The *first job* of a user is the first he queues in a week; *other* jobs are all but those. Losses are means over
    the weeks.
    """
    high = height(trace)
    submit, start, cpus, run_time = trace.ints("jobs", "submit", "start", "cpus", "run_time_s")
    users, _ = trace.text("jobs", "user")
    codes, states = trace.text("jobs", "state")
    slots = _weeks(submit, trace)
    inside = (submit >= slots[0].begin) & (submit < slots[-1].end) & (start != NULL)
    inside &= codes != (states.index(REFUSED) if REFUSED in states else -1)
    submit, start, cpus, run_time, users = (column[inside] for column in (submit, start, cpus, run_time, users))
    first = _first_of_each(users, (submit - slots[0].begin) // WEEK_S, submit)
    wait = start - submit
    large = LARGE * cpus >= high
    found = losses_of_slots(rectangles(trace), slots, high)
    queued, running = users_over_time(trace, slots[0].begin, slots[-1].end)
    return {
        "users_queued": float(queued.mean()),
        "users_running": float(running.mean()),
        "users_queued_over_time": queued[:SAMPLES].tolist(),
        "users_running_over_time": running[:SAMPLES].tolist(),
        "weeks": len(slots),
        "jobs": len(wait),
        "first_jobs": int(first.sum()),
        "large_jobs": int(large.sum()),
        "first_wait_s": mean(wait[first]),
        "other_wait_s": mean(wait[~first]),
        "all_wait_s": mean(wait),
        "large_wait_s": mean(wait[large]),
        "work_wait_s": float(np.average(wait, weights=np.maximum(cpus * run_time, 1))),
        "fuj_s": float(np.mean([one.first_jobs.raw for one in found])),
        "utilization": 1 - float(np.mean([one.utilization.value for one in found])),
        **{f"loss_{name}": float(np.mean([getattr(one, name).value for one in found])) for name in MEASURES},
        "efficiency": float(np.mean([one.efficiency(EQUAL_WEIGHTS) for one in found])),
    }


def users_over_time(trace: Trace, begin: int, end: int) -> tuple[IntArray, IntArray]:
    """How many users have a job in the queue, and how many have one that runs, every six hours; (n_samples,) each."""
    submit, start, stop = trace.ints("jobs", "submit", "start", "end")
    users, _ = trace.text("jobs", "user")
    ran = start != NULL
    grid = np.arange(begin, end, SAMPLE_S)
    queued, running = (
        covering(users[ran], since[ran], until[ran], grid) for since, until in ((submit, start), (start, stop))
    )
    return queued, running


def covering(keys: IntArray, since: IntArray, until: IntArray, grid: IntArray) -> IntArray:
    """Return how many different keys have an interval [since, until) around each point of the grid."""
    found = np.zeros(len(grid), np.int64)
    first, last = np.searchsorted(grid, since), np.searchsorted(grid, until)
    for key in np.unique(keys):
        of = keys == key
        steps = np.zeros(len(grid) + 1, np.int64)
        np.add.at(steps, first[of], 1)
        np.add.at(steps, last[of], -1)
        found += steps.cumsum()[:-1] > 0
    return found


def _weeks(submit: IntArray, trace: Trace) -> list[Interval]:
    """Return the weeks, from the midnight before the first submit on, with jobs on six days, but for the first."""
    origin = int(submit.min()) // DAY_S * DAY_S if len(submit) else 0
    span = int(submit.max()) + 1 - origin if len(submit) else 0
    count = (span + DAY_S) // WEEK_S
    if count < 2:
        raise SlurmSimError(f"{trace.path}: less than two weeks of jobs")
    return [Interval(origin + k * WEEK_S, origin + (k + 1) * WEEK_S) for k in range(1, count)]


def _first_of_each(users: IntArray, week: IntArray, submit: IntArray) -> BoolArray:
    """Which jobs are the first their user queues in a week; rows are in order of job id where submits are equal."""
    order = np.lexsort((submit, users, week))
    turn = np.stack([week[order], users[order]])
    first = np.zeros(len(users), np.bool_)
    first[order[np.append(True, (turn[:, 1:] != turn[:, :-1]).any(axis=0))]] = True
    return first


def cells(
    parts: Sequence[Part], seeds: int, log: Path | None, model_options: Sequence[tuple[str, str]],
    data: Path | None = None, windows: int = WINDOWS, verdict_seeds: int = 0,
) -> list[Cell]:  # fmt: skip
    """All runs: per part and replicate one a limit, and of the first replicate the base by itself.

    Replicates beyond `seeds`, up to `verdict_seeds`, have the two limits that verdicts compare.
    """
    found = []
    for part in parts:
        for k, where in enumerate(_replicates(part, max(seeds, verdict_seeds), log, model_options, data, windows)):
            limits = part.limits if part.load or k < seeds else (BASE, DEFAULT)
            policies = {limit: f"cpu_hours:base={part.base},limit={limit}" for limit in limits}
            if k == 0:
                policies["base"] = part.base
            found += [Cell(f"{part}-{name}-{k + 1}", policy, **where) for name, policy in policies.items()]
    return found


def _replicates(
    part: Part, seeds: int, log: Path | None, model_options: Sequence[tuple[str, str]], data: Path | None, windows: int
) -> list[dict[str, Any]]:
    """Return the workload of each replicate; none where the log is missing."""
    if part.load:
        file = None if data is None else data / SATURATED[part.workload]
        return [] if file is None or not file.is_file() else windows_of(file, part.load / 100, windows)
    if part.workload == "log":
        return [] if log is None else [{"log": str(log), "seed": k} for k in range(seeds)]
    given = dict(model_options)
    nodes, cpus = int(given.get("nodes", "2000")), int(given.get("cpus_per_node", "8"))
    return [
        {"model": MODEL, "options": tuple(model_options), "seed": k + 1, "nodes": nodes, "cpus_per_node": cpus}
        for k in range(seeds)
    ]


def windows_of(file: Path, load: float, count: int) -> list[dict[str, Any]]:
    """Return equal spans of a log, all with the factor that brings the whole log to `load`."""
    from slurmsim_workloads import read_workload

    workload = read_workload(file, None)
    ints = workload.ints
    first, last = int(ints["submit"].min()), int(ints["submit"].max())
    own = float((ints["tasks"] * ints["cpus_per_task"] * ints["run_time"]).sum())
    own /= workload.header.max_procs * (last - first)
    edges = [first + round(k * (last + 1 - first) / count) for k in range(count + 1)]
    return [{"log": str(file), "seed": 0, "window": f"{a},{b}", "load": load / own, "cpus_per_node": 1,
             "nodes": workload.header.max_procs} for a, b in pairwise(edges)]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of every run, by part, limit and replicate."""

    seeds: int
    parts: list[Part]
    left_out: list[Part]
    runs: dict[str, dict[str, Any]]
    states: dict[str, float] | None = None  # per cent of the jobs, by final state; None if that was not asked for

    def count(self, part: Part, limit: str = BASE) -> int:
        """How many replicates a part has at a limit."""
        return sum(name.startswith(f"{part}-{limit}-") for name in self.runs)

    def values(self, part: Part, limit: str, measure: str) -> list[float]:
        found = [self.runs[f"{part}-{limit}-{k + 1}"][measure] for k in range(self.count(part, limit))]
        return [] if any(value is None for value in found) else [float(value) for value in found]

    def estimate(self, part: Part, limit: str, measure: str) -> Estimate | None:
        """Mean and interval of a figure."""
        values = self.values(part, limit, measure)
        return Estimate.of(values) if values else None

    def change(
        self, part: Part | Sequence[Part], limit: str, measure: str, *, percent: bool = False
    ) -> Estimate | None:
        """Mean and interval of the difference to no limit, in the unit of the figure or in per cent of it.

        Replicates of several parts count together.
        """
        parts = [part] if isinstance(part, Part) else part
        pairs = [
            pair for one in parts
            for pair in zip(self.values(one, limit, measure), self.values(one, BASE, measure), strict=False)
        ]  # fmt: skip
        if not pairs or (percent and any(b == 0 for _, b in pairs)):
            return None
        return Estimate.of([100 * (a - b) / b if percent else a - b for a, b in pairs])

    def of_loads(self) -> dict[int, list[Part]]:
        """Return the parts on logs at a load, by the load, where all logs were run."""
        found = {load: [part for part in self.parts if part.load == load] for load in LOADS}
        return {load: parts for load, parts in found.items() if len(parts) == len(SATURATED)}

    def same_as_base(self, part: Part) -> bool:
        """Return True if an infinite limit left the very bytes of the base scheduler."""
        first = (self.runs[f"{part}-{name}-1"]["jobs_sha256"] for name in (BASE, "base"))
        return len(set(first)) == 1


def experiment(
    folder: Path, *, parts: Sequence[Part] = DEFAULT_PARTS, seeds: int = 5, log: Path | None = None,
    data: Path | None = None, windows: int = WINDOWS, verdict_seeds: int = 0,
    model_options: Sequence[tuple[str, str]] = (), workers: int = 0, fresh: bool = False,
    progress: Progress | None = None,
) -> Result:  # fmt: skip
    """Run what is not in `folder` yet. Raises SlurmSimError.

    Parameters
    ----------
    log
        A job log with users; None leaves the parts on a log out, by name in `Result.left_out`.
    data
        The folder of the logs that are brought to higher loads; those that are not there are left out like `log`.
    seeds, windows
        Replicates, at least 1; of those logs so many windows.
    verdict_seeds
        Replicates of the two limits that verdicts compare, where that is more than `seeds`; windows stay as they are.
    model_options
        Of the workload model, to make a small one.
    """
    if seeds < 1:
        raise ConfigError(f"{seeds} seeds", field="--seeds", expected="at least 1")
    if windows < 1:
        raise ConfigError(f"{windows} windows", field="--windows", expected="at least 1")
    if verdict_seeds < 0:
        raise ConfigError(f"{verdict_seeds} seeds", field="--verdict-seeds", expected="at least 0")
    if log is not None and not log.is_file():
        raise ConfigError("no such file", file=str(log), field="--log", expected="a job log with users")
    states = states_of(dict(model_options)) if STATES in parts else None
    parts = [part for part in parts if part != STATES]
    wanted = cells(parts, seeds, log, model_options, data, windows, verdict_seeds)
    made = run_all(wanted, measure, folder, workers=workers, fresh=fresh, progress=progress)
    left_out = [part for part in parts if not any(cell.name.startswith(f"{part}-") for cell in wanted)]
    return Result(seeds, [part for part in parts if part not in left_out], left_out, made, states)


def states_of(model_options: dict[str, str]) -> dict[str, float]:
    """Return how many per cent of the synthetic jobs run into their limit, and how many fail. Raises ConfigError."""
    from slurmsim_workloads.generators import generate

    ints = generate(MODEL, model_options, 1).ints
    late = ints["run_time"] > ints["time_limit"]
    shares = {"timeout": late, "failed": ~late & (ints["exit_code"] != 0)}
    return {state: 100 * float(which.mean()) for state, which in shares.items()}
