"""A second count of a finished run: what each node gives out at each instant, from the trace and the inputs alone.

It shares nothing with the engine or the validator: hostlists, run-length codes and histories are read here anew. It
says less than the validator on many things, and something else on three: who may share CPUs is taken from slurm.conf
tier by tier, each started job is held against its row of the workload, and histories have a table of their own.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from wild.requests_met import unmet
from wild.texts import expand, gres_counts, pairs, unrun
from wild.world import World

Trouble = tuple[str, str]  # kind, what is wrong
Span = tuple[int, int]
FAR = 1 << 60

# state of a job -> event -> its next state; what is not here may not happen
HISTORY: dict[str, dict[str, str]] = {
    "unknown": {"SUBMIT": "pending"},
    "pending": {"START": "running", "END": "over", "ELIGIBLE": "pending", "PLAN": "pending", "HOLD": "pending",
                "RELEASE": "pending"},
    "running": {"END": "over", "REQUEUE": "pending", "SUSPEND": "suspended", "READY": "running", "RESIZE": "running",
                "PREEMPT": "running", "CAP": "running"},
    "suspended": {"RESUME": "running", "END": "over", "REQUEUE": "pending", "PREEMPT": "suspended", "CAP": "suspended"},
    "over": {"REQUEUE": "pending"},
}  # fmt: skip
ANYWHERE = ("REASON", "PRIORITY", "LIMIT", "CANCEL")  # of a job that is not over


@dataclass(slots=True)
class Run:
    """One run of a job, or one size of it: when and what it holds on each of its nodes."""

    row: dict[str, Any]
    begin: int
    end: int
    nodes: list[str]
    cpus: list[int]
    memory: list[int]
    gres: dict[str, list[int]]
    asleep: list[Span] = field(default_factory=list)


Share = Callable[[list[tuple[Run, int]], set[str]], float]


def count(world: World, folder: Path) -> list[Trouble]:
    """All that is wrong with the run in `folder`."""
    facts = json.loads((folder / "run.json").read_text("utf-8"))
    jobs, again = _rows(folder / "jobs.parquet"), _rows(folder / "requeued.parquet")
    events = _rows(folder / "events.parquet")
    asleep = _suspensions(events)
    runs = [_run(row, asleep) for row in (*jobs, *again) if row["start"] is not None]
    nodes = {name: (cpus, memory, gres) for group, cpus, memory, gres, *_ in facts["cluster"]["nodes"]
             for name in expand(group)}  # fmt: skip
    told: list[Trouble] = []
    told += _histories(jobs, events)
    told += _booked(world, runs, nodes, tracked=facts["cluster"]["memory_tracked"])
    told += _licenses(runs, facts["cluster"]["licenses"])
    told += _lengths(world, jobs, runs)
    told += unmet(world, [run.row for run in runs], nodes, facts)
    return told


def _rows(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return found


def _run(row: dict[str, Any], asleep: dict[int, list[Span]]) -> Run:
    nodes = expand(row["node_list"])
    begin = row["start"] if row["held_since"] is None else row["held_since"]
    end = FAR if row["end"] is None else row["end"]
    stopped = [(max(a, begin), min(b, end)) for a, b in asleep.get(row["job_id"], ()) if a < end and b > begin]
    n = len(nodes)
    cpus, memory = unrun(row["cpus_per_node"], n), unrun(row["mem_per_node_mib"], n)
    return Run(row, begin, end, nodes, cpus, memory, gres_counts(row["gres_per_node"], n), stopped)


def _suspensions(events: Iterable[dict[str, Any]]) -> dict[int, list[Span]]:
    """Job -> when it stands still."""
    found: dict[int, list[Span]] = defaultdict(list)
    since: dict[int, int] = {}
    for event in events:
        job = event["job_id"]
        if event["event"] == "SUSPEND":
            since[job] = event["time"]
        elif event["event"] in ("RESUME", "END", "REQUEUE") and job in since:
            found[job].append((since.pop(job), event["time"]))
    for job, at in since.items():
        found[job].append((at, FAR))
    return found


# -- histories ----------------------------------------------------------------------------------------------------


def _histories(jobs: Iterable[dict[str, Any]], events: Iterable[dict[str, Any]]) -> Iterator[Trouble]:
    """Events that come in a state in which they cannot, and rows that say something else than the events."""
    now: dict[int, str] = defaultdict(lambda: "unknown")
    last = -FAR
    for event in events:
        job, what = event["job_id"], event["event"]
        if event["time"] < last:
            yield "history", f"{what} at {event['time']} after {last}"
        last = event["time"]
        if job is None or what == "REFUSE":
            continue
        if what in ANYWHERE and now[job] not in ("unknown", "over"):
            continue
        following = HISTORY[now[job]].get(what)
        if following is None:
            yield "history", f"{what} of job {job} at {event['time']} while it is {now[job]}"
        now[job] = following or now[job]
    for row in jobs:
        state = now[row["job_id"]]
        ended = row["end"] is not None and row["state"] not in ("PENDING", "RUNNING", "SUSPENDED", "REFUSED")
        if ended != (state == "over") and row["state"] not in ("REFUSED", "CANCELLED"):
            yield "history", f"job {row['job_id']} is {row['state']}, its events leave it {state}"


def _lengths(world: World, jobs: Iterable[dict[str, Any]], runs: Iterable[Run]) -> Iterator[Trouble]:
    """Jobs of fixed size that end by themselves run as long as the workload says, be they stopped in between."""
    asked = {int(job["job_id"]): job for job in world.jobs}
    ready = _rigid(world)
    for run in runs:
        row = run.row
        job = asked.get(row["job_id"])
        if job is None or row["state"] not in ("COMPLETED", "FAILED", "OUT_OF_MEMORY") or job.get("app") or not ready:
            continue
        ran = run.end - row["start"] - sum(b - a for a, b in run.asleep)
        if ran != int(job["run_time"]) and row["exit_code"] != "0:15":
            yield "length", f"job {row['job_id']} ran {ran} s, the workload says {job['run_time']}"


def _rigid(world: World) -> bool:
    """Whether the time from start to end is the run time: no boots, no budget that stops jobs."""
    return not any(line.startswith("SuspendProgram") for line in world.conf) and "power_budget" not in world.options


# -- amounts --------------------------------------------------------------------------------------------------------


def _booked(
    world: World, runs: list[Run], nodes: dict[str, tuple[int, int, dict[str, int]]], *, tracked: bool
) -> Iterator[Trouble]:
    """Nodes that give out more than they have."""
    there: dict[str, list[tuple[Run, int]]] = defaultdict(list)
    for run in runs:
        for at, name in enumerate(run.nodes):
            there[name].append((run, at))
    share = _sharing(world)
    for name, held in there.items():
        cpus, memory, gres = nodes[name]
        busy = [(span, run, run.cpus[at]) for run, at in held for span in _awake(run)]
        for at, present in _instants([(span, (run, n)) for span, run, n in busy]):
            stopped = {run.row["partition"] for run in runs if any(a <= at < b for a, b in run.asleep)}
            if (used := share(present, stopped)) > cpus:
                who = ", ".join(f"{run.row['job_id']} ({n} in {run.row['partition']})" for run, n in present)
                yield "cpus", f"{name} at {at}: {used:g} of {cpus} CPUs: jobs {who}"
                break
        amounts: dict[str, tuple[int, Callable[[Run, int], int]]] = {
            kind: (total, lambda run, at, kind=kind: run.gres[kind][at] if kind in run.gres else 0)
            for kind, total in gres.items()
        }
        if tracked:
            amounts["memory"] = memory, lambda run, at: run.memory[at]
        for kind, (total, amount) in amounts.items():
            yield from _amount(name, kind, total, [((r.begin, r.end), (r, amount(r, at))) for r, at in held])


def _amount(node: str, kind: str, total: int, held: list[tuple[Span, tuple[Run, int]]]) -> Iterator[Trouble]:
    for at, present in _instants([item for item in held if item[1][1]]):
        if (used := sum(n for _, n in present)) > total:
            who = ", ".join(f"{run.row['job_id']} ({n})" for run, n in present)
            yield kind.partition(":")[0], f"{node} at {at}: {used} of {total} {kind}: jobs {who}"
            return


def _awake(run: Run) -> list[Span]:
    """When it has its CPUs."""
    found, since = [], run.begin
    for a, b in run.asleep:
        if a > since:
            found.append((since, a))
        since = max(since, b)
    return [*found, (since, run.end)] if run.end > since else found


def _instants(held: list[tuple[Span, tuple[Run, int]]]) -> Iterator[tuple[int, list[tuple[Run, int]]]]:
    """At each begin: who is there then."""
    for at in sorted({begin for (begin, end), _ in held if end > begin}):
        yield at, [who for (begin, end), who in held if begin <= at < end]


def _sharing(world: World) -> Share:
    """CPUs of a node that jobs need at least which run on it, given the partitions in which jobs are stopped.

    A partition of FORCE:n or YES:n puts n jobs on a CPU, beside what partitions hold that share nothing; several such
    partitions may have the same CPUs. Jobs of YES:n that did not ask to share do not share with each other. Where a
    gang takes turns, one row of each partition runs, and partitions of one tier may run on the same CPUs; tiers may
    not, but a lower tier is not looked at again when the row of a higher one changes. slurmctld 22.05.8, one node of 2
    CPUs, FORCE:2 in p (tier 1) and z (tier 5), PreemptMode=GANG: 1 CPU in p runs on while 1 and 2 CPUs in z take turns.
    """
    partitions = {p["PartitionName"]: p for p in map(pairs, world.conf) if "PartitionName" in p}
    gang = any(line.startswith("PreemptMode=") and "GANG" in line for line in world.conf)
    willing = {int(job["job_id"]) for job in world.jobs if job.get("oversubscribe")}

    def in_turn(present: list[tuple[Run, int]], turning: set[str]) -> float:
        tiers: dict[int, Counter[str]] = defaultdict(Counter)
        for run, n in present:
            name = run.row["partition"]
            tiers[_tier(partitions[name])][name] += n
        most, above = 0, 0
        for tier in sorted(tiers, reverse=True):
            most = max(most, above + (own := max(tiers[tier].values())))
            if not any(_tier(partitions[name]) == tier for name in turning):
                above += own
        return float(most)

    def at_once(present: list[tuple[Run, int]], _turning: set[str]) -> float:
        own, shared, unwilling = 0, Counter[str](), Counter[str]()
        for run, n in present:
            name = run.row["partition"]
            word, _, times = partitions[name].get("OverSubscribe", "NO").partition(":")
            if word in ("FORCE", "YES"):
                shared[name] += Fraction(n, int(times or 4))
                unwilling[name] += n * (word == "YES" and run.row["job_id"] not in willing)
            else:
                own += n
        return float(max(own + max(shared.values(), default=0), *unwilling.values(), 0))

    return in_turn if gang else at_once


def _tier(partition: dict[str, str]) -> int:
    return int(partition.get("PriorityTier", 1))


def _licenses(runs: list[Run], there: dict[str, int]) -> Iterator[Trouble]:
    held: dict[str, list[tuple[Span, tuple[Run, int]]]] = defaultdict(list)
    for run in runs:
        for word in filter(None, re.split("[,;]", run.row["licenses"])):
            name, _, n = word.partition(":")
            held[name].append(((run.begin, run.end), (run, int(n or 1))))
    for name, spans in held.items():
        yield from _amount("the cluster", f"license {name}", there.get(name, 0), spans)
