"""Simulated runs of the Titan experiment: which they are, and what is measured of each.

- *queue*: the synthetic Titan under its policy, without boosts, and without the limit on queued jobs.
- *slurm*: the same jobs under Slurm's own rules, where boosts are QOS priorities and the limit is MaxJobsAccruePerUser
  of the partition's QOS; and under Titan's discipline on top of Slurm's backfill.
- *project*: a stand-in for HEP110 beside the others' load. This and *slurm* have a ninth of the jobs.
- *year*: a whole year.

`hypothesis` has the runs of the part of that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from slurmsim import Trace
from slurmsim.experiments.runs import Cell, Measure
from slurmsim.metrics.columns import BoolArray
from slurmsim.trace.columns import NULL

NODES, CPUS = 18_688, 16
JOBS = 140_500  # three months at 64.16 jobs an hour
YEAR_JOBS = 562_079
SHORTER = 9  # ten days: the backfill of Slurm plans anew every few minutes for all that wait
JOBS_PER_HOUR = 64.16
PERFECT = "predictor=real"  # the paper's simulator replays with wall times that are the run times
VARIANTS = {
    "titan": f"titan:{PERFECT}", "no boosts": f"titan:boosts=off,{PERFECT}", "no limit": f"titan:limit=none,{PERFECT}",
}  # fmt: skip
RULES, BASE = "slurm rules", "bins on backfill"
PROJECTS = {"on start": ("start", 1), "on end": ("end", 4)}  # what the next job follows; how many chains
BIN_LOWS = (11_250, 3_750, 313, 126, 1)
HOUR_S = 3600
QUARTER_H = 2190
WARM_UP = 0.1  # of the span of submissions, discarded
GRID_S = 600
PROJECT = "hep110"

MACHINE = """ClusterName=titan
SlurmctldHost=head
SelectType=select/linear
SchedulerType=sched/backfill
SchedulerParameters=bf_continue,bf_interval=300,bf_max_job_test=500,bf_window=2880
NodeName=titan[00001-18688] CPUs=16 CoresPerSocket=16 State=UNKNOWN
"""
PLAIN_CONF = f"{MACHINE}PartitionName=batch Nodes=ALL Default=YES MaxTime=1-0 State=UP\n"
# A second of age counts one; boosts of 15 and 5 days are priorities 3 and 1 of the QOS with a weight of 15 days.
SLURM_CONF = f"""{MACHINE}AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=limits,qos
PriorityType=priority/multifactor
PriorityMaxAge=60-0
PriorityWeightAge=5184000
PriorityWeightQOS=1296000
PartitionName=batch Nodes=ALL Default=YES MaxTime=1-0 State=UP QOS=queue
"""
ACCOUNTING = """cluster = "titan"
[root]
QOS = ["bin1", "bin2", "bin3", "bin4", "bin5"]
DefaultQOS = "bin5"
[qos.queue]
MaxJobsAccruePerUser = 4
[qos.bin1]
Priority = 3
[qos.bin2]
Priority = 1
[qos.bin3]
[qos.bin4]
[qos.bin5]
"""

# Moments of the jobs of ATLAS on Titan in a week of October 2016 (nodes 35.7 ± 55.3, 6,281 ± 521 s); the log of HEP110
# itself is not public. The lognormal distribution has those moments.
PROJECT_NODES, PROJECT_RUN_S = (35.7, 55.3), (6281, 521)
PROJECT_TOML = """[[stream]]
name = "hep110"
next = "{follows}"
chains = {chains}
hours = {hours}
run = {{dist = "norm", loc = 6281, scale = 521, least = 60}}
nodes = {{dist = "lognorm", s = 1.1061, scale = 19.36, least = 1, most = 18688}}
request = 1.1
"""


def hours_of(jobs: int) -> int:
    """In how many hours so many jobs come."""
    return max(1, round(jobs / JOBS_PER_HOUR))


def queue_cells(seeds: int, jobs: int, verdict_seeds: int = 0) -> list[Cell]:
    """Every variant of every seed; beyond `seeds`, up to `verdict_seeds`, Titan's policy alone."""
    return [
        _cell("queue", name, policy, k, jobs)
        for k in range(1, max(seeds, verdict_seeds) + 1) for name, policy in VARIANTS.items()
        if k <= seeds or name == "titan"
    ]  # fmt: skip


def slurm_cells(seeds: int, jobs: int) -> list[Cell]:
    """Slurm's own rules, Titan's, and Titan's on Slurm's backfill; Slurm's requests are run times, up to 5 min more."""
    exact = {"overestimate": "1", "qos": "2"}
    files, short = (("conf", SLURM_CONF), ("accounting", ACCOUNTING)), jobs // SHORTER
    return [
        cell for k in range(1, seeds + 1) for cell in (
            _cell("slurm", "titan", VARIANTS["titan"], k, short),
            _cell("slurm", RULES, "", k, short, exact, files=files),
            _cell("slurm", BASE, "titan:base=backfill", k, short, exact, files=(("conf", PLAIN_CONF),)),
        )
    ]  # fmt: skip


def project_cells(seeds: int, jobs: int) -> list[Cell]:
    """Return the project beside all other users."""
    short = jobs // SHORTER
    return [
        _cell("project", name, VARIANTS["titan"], k, short,
              files=(("streams", PROJECT_TOML.format(follows=follows, chains=chains, hours=hours_of(short))),))
        for k in range(1, seeds + 1) for name, (follows, chains) in PROJECTS.items()
    ]  # fmt: skip


def year_cells(years: int = 1) -> list[Cell]:
    """Return so many years under Titan's policy, each of a seed of its own."""
    return [_cell("year", "titan", VARIANTS["titan"], k, YEAR_JOBS) for k in range(1, years + 1)]


def cell_name(part: str, variant: str, seed: int) -> str:
    """Return what the run is called among the results."""
    return f"{part}-{variant.replace(' ', '_')}-{seed}"


def _cell(
    part: str, variant: str, policy: str, seed: int, jobs: int, more: Mapping[str, str] | None = None,
    files: tuple[tuple[str, str], ...] = (),
) -> Cell:  # fmt: skip
    options = tuple({"jobs": str(jobs), **(more or {})}.items())
    own = any(name == "conf" for name, _ in files)
    return Cell(cell_name(part, variant, seed), policy, seed=seed, model="titan", options=options,
                nodes=None if own else NODES, cpus_per_node=None if own else CPUS, files=files)  # fmt: skip


def measures(jobs: int) -> dict[str, Measure]:
    """Return what to keep of a run of each part."""
    return {"queue": measure, "slurm": measure, "year": measure,
            "project": partial(measure_project, period_h=hours_of(jobs // SHORTER))}  # fmt: skip


def measure(trace: Trace) -> dict[str, Any]:
    """Return the figures of one run of the queue, of the jobs that came after the first tenth of the time."""
    submit, start, end, nodes, limit = trace.ints("jobs", "submit", "start", "end", "req_nodes", "time_limit_s")
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
    run = (end - start)[inside] / HOUR_S
    size, asked = nodes[inside], limit[inside] / HOUR_S
    for number, (low, high) in enumerate(bin_ranges(), 1):
        of_bin = (size >= low) & (size <= high)
        if of_bin.any():
            found[f"bin{number}"] = {"jobs": int(of_bin.sum()), **_moments(of_bin, wait, run, size, asked)}
            found[f"bin{number}_wait_h"] = float(wait[of_bin].mean())
    boosted = size >= BIN_LOWS[1]
    found["large_wait_h"] = float(wait[boosted].mean()) if boosted.any() else 0.0
    return found


def bin_ranges() -> list[tuple[int, int]]:
    """Fewest and most nodes of each bin."""
    return list(zip(BIN_LOWS, (NODES, *(low - 1 for low in BIN_LOWS[:-1])), strict=True))


def _moments(of: BoolArray, wait: Any, run: Any, nodes: Any, asked: Any) -> dict[str, list[float]]:
    """Means and standard deviations: hours, nodes, node-hours used and requested; a cycle is a wait and a run."""
    kinds = {"wait": wait, "run": run, "asked": asked, "nodes": nodes, "use": nodes * run,
             "asked_use": nodes * asked, "cycle": wait + run}  # fmt: skip
    return {name: [float(column[of].mean()), float(column[of].std())] for name, column in kinds.items()}


def measure_project(trace: Trace, period_h: int) -> dict[str, Any]:
    """Return the project's waits, node-hours of its jobs started within the period, the load, and others' waits."""
    submit, start, end, nodes, limit = trace.ints("jobs", "submit", "start", "end", "req_nodes", "time_limit_s")
    codes, users = trace.text("jobs", "user")
    own = codes == users.index(PROJECT)
    first, last = int(submit.min()), int(submit[~own].max())
    ran = start != NULL
    counted = own & ran & (start < first + period_h * HOUR_S)
    wait, run, asked = (start - submit) / HOUR_S, (end - start) / HOUR_S, limit / HOUR_S
    small = ran & ~own & (nodes < BIN_LOWS[3])
    return {
        "starts": int(counted.sum()), "use_node_h": float((nodes * run)[counted].sum()),
        "asked_node_h": float((nodes * asked)[counted].sum()),
        "load": float(_busy(start[ran], end[ran], nodes[ran], first, last).mean() / NODES),
        "others_wait_h": float(wait[ran & ~own].mean()),
        "own": _moments(counted, wait, run, nodes, asked), "others": _moments(small, wait, run, nodes, asked),
    }  # fmt: skip


def _busy(begin: Any, end: Any, amount: Any, first: int, last: int) -> Any:
    """How much is between `begin` and `end` at each point of a grid from `first` to `last`."""
    grid = np.arange(first, max(last, first + 1), GRID_S)
    up, down = np.argsort(begin, kind="stable"), np.argsort(end, kind="stable")
    rise, fall = np.append(0, amount[up].cumsum()), np.append(0, amount[down].cumsum())
    return rise[np.searchsorted(begin[up], grid, "right")] - fall[np.searchsorted(end[down], grid, "right")]
