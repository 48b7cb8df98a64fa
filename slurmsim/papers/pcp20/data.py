"""What PCP'20 is measured on: a Eurora-like system from real jobs, a KIT-like one, windows of job logs, made-up jobs.

Neither of the paper's two workloads is here: Eurora's 400,000 jobs are not public, and KIT's log is not among our data.
So Eurora is 5,930 real jobs of five of its days, and KIT is its machine under the jobs of another one, cut to its size.
No job of either, nor of the logs, has a name; predictions from data are tried on jobs that are made up. Eurora's and
Theta's have no users either.
"""

from dataclasses import dataclass
from math import gcd
from pathlib import Path

import numpy as np

from slurmsim.papers.eurora.data import cluster, read_log, successive, workload
from slurmsim.workload import Workload, WorkloadHeader
from slurmsim_workloads import read_workload
from slurmsim_workloads.generators import generate

LOGS = {
    "kth": ("KTH-SP2-1996-2.swf.gz", 100, 1), "ctc": ("CTC-SP2-pyss-easy.swf.gz", 338, 1),
    "theta": ("ALCF-Theta-2022.swf.gz", 34, 128),
}  # fmt: skip
"""File, nodes, and how many of the machine's nodes are one of them: Theta's smallest job has 128, its machine 4,360."""
FIRST = {"theta": 12_000}
"""Where the window of a log begins, by the number of a job, unless it is asked for; 1,000 of the others.

Theta's queue is long there, and at 1,000 next to no job waits."""
WITHOUT_USERS = frozenset({"eurora", "theta"})
KIT_FILE = "CEA-Curie-2011-sample.swf.gz"
CURIE_CORES = 16
KIT_MOST_NODES = 64
"""Larger jobs are left out: as boxes a job of a thousand nodes is a thousand of them, and CP-SAT needs minutes."""
KIT_GROUPS = ((1152, 20), (21, 48))
"""ForHLR II: nodes and cores of each, cores only as in the authors' code."""

HOUR_S, SHORT_SHARE = 3600, 0.9314
"""Of the paper's Eurora jobs so many are shorter than an hour; of the public ones 72 %."""

MIX_NODES = (8, 16)
MIX = {"load": "1.5", "mem_share": "0", "exclusive": "0", "cancels": "0", "arrays": "0"}
"""The seeded generator that D is measured on: nodes and cores of each, and its options; more comes than can run."""


@dataclass(frozen=True, slots=True)
class System:
    """A cluster as a configuration, and its jobs."""

    conf: str  # text of slurm.conf
    gres: str  # text of gres.conf, "" for none
    workload: Workload
    about: str  # what the workload is, in words of the write-up


def _conf(nodes: str, more: str = "") -> str:
    return (
        "ClusterName=bench\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU_Memory\n"
        f"PriorityType=priority/basic\n{more}{nodes}"
        "PartitionName=all Nodes=ALL Default=YES MaxTime=UNLIMITED State=UP\n"
    )


def eurora(path: Path, *, jobs: int, first: int = 0, mixed: bool = False) -> System:
    """EURORA's 64 nodes and `jobs` of the real jobs, from number `first` on in order of submission (`eurora_data`).

    Jobs that are `mixed` are as often shorter than an hour as the paper's (`as_short`).

    Raises
    ------
    InputError
        From reading the trace.
    """
    log = read_log(path)
    chosen = successive(as_short(log) if mixed else log, jobs, first)
    about = f"{len(chosen):,} real jobs of Eurora, 2014-03-31 to 04-04, from number {first} on"
    if mixed:
        about += f", longer ones left out until {SHORT_SHARE:.2%} are shorter than an hour"
    return System(cluster(chosen), "", workload(chosen), about)


def as_short(log: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the log with all jobs shorter than an hour, and so many longer ones that the share is the paper's.

    Those that stay are evenly spread over the longer ones, in order of submission.
    """
    order = np.lexsort((log["job_id"], log["submit_utc"]))
    short = (log["end_utc"] - log["start_utc"] < HOUR_S)[order]
    longer = np.flatnonzero(~short)
    stay = min(len(longer), round(short.sum() * (1 - SHORT_SHARE) / SHORT_SHARE))
    kept = short.copy()
    kept[longer[np.linspace(0, len(longer) - 1, stay).round().astype(int)]] = True
    return {name: column[order][kept] for name, column in log.items()}


def kit(path: Path, *, jobs: int, first: int = 0) -> System:
    """KIT's 1,173 nodes, cores only, and `jobs` of Curie's log, mapped as KIT's. Raises ConfigError or WorkloadError.

    C processors are taken for C / 16 nodes, which Curie's were, and those for nodes of 20 cores: KIT's own rule
    (`mapped`) would make hundreds of units of four cores of nearly every job. What is below a node stays below one.
    Jobs of more than 64 nodes are left out.
    """
    log = read_workload(str(path), None, {})
    thin, each = KIT_GROUPS[0]
    given = log.ints
    procs = np.maximum(given["tasks"], 1)
    procs = np.where(procs < CURIE_CORES, procs, -(-procs // CURIE_CORES) * each)
    fits = (procs <= KIT_MOST_NODES * each) & (given["run_time"] > 0)
    rows = np.flatnonzero(fits)[first : first + jobs]
    units, cores = np.array([mapped(int(c), each, thin) for c in procs[rows]], np.int64).reshape(-1, 2).T
    limit = np.maximum(given["time_limit"][rows], 60)
    submit = given["submit"][rows]
    workload = Workload(
        {
            "job_id": np.arange(1, len(rows) + 1), "submit": submit - int(submit.min(initial=0)),
            "run_time": np.minimum(given["run_time"][rows], limit), "time_limit": limit, "tasks": units,
            "cpus_per_task": cores,
        },
        {"user": log.texts["user"].take(rows)}, WorkloadHeader(source=str(path), format="swf"),
    )  # fmt: skip
    nodes = "".join(
        f"NodeName={name}[1-{count}] CPUs={cpus}\n"
        for name, (count, cpus) in zip(("thin", "fat"), KIT_GROUPS, strict=True)
    )
    text = _conf(nodes).replace("CR_CPU_Memory", "CR_CPU")
    about = (
        f"{len(workload):,} jobs of {path.name}, from number {first} on, on KIT's nodes, none of more than "
        f"{KIT_MOST_NODES}"
    )
    return System(text, "", workload, about)


def window(path: Path, nodes: int, block: int, *, jobs: int, first: int = 0) -> tuple[Workload, str]:
    """`jobs` of a log from number `first` on, on `nodes` nodes of one CPU, each of which stands for `block` of its own.

    Raises
    ------
    ConfigError, WorkloadError
        From reading the log.
    """
    log = read_workload(str(path), None, {})
    size = -(-np.maximum(log.ints["tasks"], 1) // block)
    rows = np.flatnonzero((size <= nodes) & (log.ints["run_time"] > 0))[first : first + jobs]
    submit, limit = log.ints["submit"][rows], log.ints["time_limit"][rows]
    limit = np.where(limit > 0, limit, log.ints["run_time"][rows])
    found = Workload(
        {
            "job_id": np.arange(1, len(rows) + 1), "submit": submit - int(submit.min(initial=0)), "time_limit": limit,
            "run_time": np.minimum(log.ints["run_time"][rows], limit), "tasks": size[rows],
        },
        {"user": log.texts["user"].take(rows)}, WorkloadHeader(source=str(path), format="swf"),
    )  # fmt: skip
    blocks = f", in blocks of {block} nodes" if block > 1 else ""
    return found, f"{len(found):,} jobs of {path.name}, from number {first} on{blocks}"


def synthetic(*, jobs: int, seed: int) -> tuple[Workload, str]:
    """`jobs` of the generator ``mix`` on nodes of `MIX_NODES`: made up, but with users and names, as D needs."""
    nodes, cpus = MIX_NODES
    options = {**MIX, "nodes": str(nodes), "cpus_per_node": str(cpus), "jobs": str(jobs)}
    told = ", ".join(f"{key}={value}" for key, value in MIX.items())
    return generate("mix", options, seed), f"{jobs:,} synthetic jobs (generator mix, {told}) on {nodes} nodes of {cpus}"


def mapped(procs: int, each: int, most: int) -> tuple[int, int]:
    """Units and cores of a unit for `procs` processors on nodes of `each` cores, of which there are `most`.

    The authors' code: on one node if they are fewer than a node's; whole nodes if `each` divides them; else the
    greatest common divisor on each unit.

    >>> mapped(7, 20, 1152), mapped(40, 20, 1152), mapped(50, 20, 1152)
    ((1, 7), (2, 20), (5, 10))
    """
    if procs < each:
        return 1, procs
    cores = each if procs % each == 0 else gcd(procs, each)
    return min(procs // cores, most), cores
