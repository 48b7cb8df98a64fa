"""Dispatching under a cap: batch 1 with the trace's watts of each job, under budgets from all to three fifths.

All of the budget is the most that list scheduling by arrival ever draws. At each arrival and end a dispatcher is asked
for what starts now, on which nodes, within what the running jobs leave of the budget; starts stay as they are. A job
without watts in the trace gets those of its cores, as a core of the others draws in the mean.

A job counts with the watts of all its units from start to end; idle nodes are not counted, since the trace has no watts
of theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import ceil, floor
from pathlib import Path
from typing import Any

import numpy as np

from slurmsim.experiments.runs import Progress, work_all
from slurmsim.papers.eurora.data import EWT_S, MEMORY_KB, BatchJob, batch, read_log

SHARES = (1.0, 0.9, 0.8, 0.7, 0.6)
CHOICES = {
    "list": {"dispatcher": "list", "options": {"order": "arrival"}},
    "list by wait": {"dispatcher": "list", "options": {"order": "wait"}},
    "CP (wt)": {"dispatcher": "cp_eurora", "options": {"model": "wt"}},
    "PARM": {},
}
"""Who decides: the dispatcher's name and options; PARM's choice is a knapsack of what could start now."""
ALPHA = 0.28  # PARM's weight of long and old jobs
NODES = (
    {"count": 32, "core": 16, "mem": MEMORY_KB, "gpu": 0, "mic": 2},
    {"count": 32, "core": 16, "mem": MEMORY_KB, "gpu": 2, "mic": 0},
)
CORES = 1024
Layouts = dict[str, list[int]]
"""The node of each unit, by job."""


@dataclass(frozen=True, slots=True)
class WattCell:
    """One run: the batch of `log` under a choice with so much of `full_w`; without it there is no budget."""

    name: str
    log: str
    number: int
    choice: str
    share: float
    full_w: int | None


@dataclass(frozen=True, slots=True)
class WattResult:
    """The figures of all runs, by choice and share; `full_w` is the whole budget."""

    full_w: int
    unmeasured: int
    jobs: int
    runs: dict[tuple[str, float], dict[str, Any]]


def watts_of(jobs: Sequence[BatchJob]) -> dict[int, int]:
    """Return the watts of each job, whole and at least one."""
    known = [job for job in jobs if job.watts > 0]
    a_core = sum(job.watts for job in known) / max(1, sum(job.cores * job.units for job in known))
    return {job.id: max(1, ceil(job.watts or a_core * job.cores * job.units)) for job in jobs}


class _Replay:
    """The batch in time: what waits, what runs, and where."""

    def __init__(self, jobs: Sequence[BatchJob], choice: str, budget_w: int | None) -> None:
        self.jobs = {str(job.id): job for job in jobs}
        self.watts = {str(key): watts for key, watts in watts_of(jobs).items()}
        self.choice, self.budget_w = choice, budget_w
        self.waiting: list[str] = []
        self.running: dict[str, tuple[int, list[int]]] = {}
        self.start: dict[str, int] = {}

    def run(self) -> None:
        """Start every job."""
        facts = [(job.q, 1, name) for name, job in self.jobs.items()]
        facts.sort(reverse=True)
        ends: list[tuple[int, str]] = []
        while facts or ends:
            now = min(facts[-1][0] if facts else ends[0][0], ends[0][0] if ends else facts[-1][0])
            while ends and ends[0][0] == now:
                del self.running[heappop(ends)[1]]
            while facts and facts[-1][0] == now:
                self.waiting.append(facts.pop()[2])
            if not self.waiting:
                continue
            for name, nodes in self._chosen(now).items():
                self.waiting.remove(name)
                self.running[name], self.start[name] = (now, nodes), now
                heappush(ends, (now + self.jobs[name].run_s, name))

    def _chosen(self, now: int) -> Layouts:
        """Return what starts: all that waits if the list starts it, else what the choice says, else the list's."""
        plain = self._asked(CHOICES["list"], now, self.waiting)
        if len(plain) in (0, len(self.waiting)) or self.choice == "list":
            return plain
        found = self._parm(now) if self.choice == "PARM" else self._asked(CHOICES[self.choice], now, self.waiting)
        return found or plain

    def _parm(self, now: int) -> Layouts:
        """Take the most valuable of what waits, by cores and watts, and place it; again with the others, until none."""
        from slurmsim_policies.parm.solver import solve

        started: Layouts = {}
        candidates = list(self.waiting)
        while candidates:
            cores = CORES - sum(self._cores(name) for name in (*self.running, *started))
            left_w = self._left_w() - sum(self.watts[name] for name in started)
            if cores < 1 or left_w < 1:
                break
            jobs = [{"id": name, "options": [[self._cores(name), self.watts[name] / self._cores(name),
                                              self._value(name, now)]]} for name in candidates]  # fmt: skip
            instance = {"nodes": cores, "budget_w": left_w, "base_w": 0, "jobs": jobs}
            wanted = solve({"instance": instance})["chosen"]
            if not wanted:
                break
            started |= self._asked(CHOICES["list"], now, [name for name in candidates if name in wanted], started)
            candidates = [name for name in candidates if name not in wanted]
        return started

    def _cores(self, name: str) -> int:
        return self.jobs[name].cores * self.jobs[name].units

    def _value(self, name: str, now: int) -> float:
        job = self.jobs[name]
        return float((job.duration + now - job.q) ** ALPHA)

    def _left_w(self) -> int:
        """Watts that the running jobs leave; without a budget more than all jobs want."""
        whole = sum(self.watts.values()) if self.budget_w is None else self.budget_w
        return whole - sum(self.watts[name] for name in self.running)

    def _asked(self, choice: dict[str, Any], now: int, names: Sequence[str], also: Layouts | None = None) -> Layouts:
        """Return what a dispatcher starts of `names`; those in `also` start now as well."""
        from slurmsim_policies.cp.solve import solve

        jobs = [{**self._about(name, now), "start": start, "nodes": nodes}
                for name, (start, nodes) in self.running.items()]  # fmt: skip
        jobs += [{**self._about(name, now), "start": now, "nodes": nodes} for name, nodes in (also or {}).items()]
        jobs += [self._about(name, now) for name in names]
        instance: dict[str, Any] = {"now": now, "nodes": list(NODES), "jobs": jobs}
        if self.budget_w is not None:
            instance["power"] = self.budget_w
        answer = solve({**choice, "instance": instance})
        return {name: [int(node) for node, units in answer["layout"][name].items() for _ in range(units)]
                for name in answer["start_now"]}  # fmt: skip

    def _about(self, name: str, now: int) -> dict[str, Any]:
        job = self.jobs[name]
        demand = {"core": job.cores, "mem": job.mem_kb, "gpu": job.gpus, "mic": job.mics}
        return {"id": name, "q": min(job.q, now), "rn": job.units, **{key: n for key, n in demand.items() if n},
                "duration": max(1, job.duration), "ewt": EWT_S[job.queue], "power_w": self.watts[name]}  # fmt: skip


def run_cell(cell: WattCell, *, scratch: str) -> dict[str, Any]:
    """Replay one cell; `scratch` is not needed."""
    jobs = batch(read_log(Path(cell.log)), cell.number)
    replay = _Replay(jobs, cell.choice, None if cell.full_w is None else floor(cell.share * cell.full_w))
    replay.run()
    starts = np.array([replay.start[str(job.id)] for job in jobs])
    ends = starts + np.array([job.run_s for job in jobs])
    watts = np.array([replay.watts[str(job.id)] for job in jobs])
    waits = starts - np.array([job.q for job in jobs])
    ewt = np.array([EWT_S[job.queue] for job in jobs])
    drawn = _drawn(starts, ends, watts)
    span = int(ends.max() - starts.min())
    return {
        "wait": float(waits.mean()), "late": int((waits > ewt).sum()), "longest": int(waits.max()),
        "most_w": int(drawn.max()), "mean_w": float((watts * (ends - starts)).sum() / span), "makespan": span,
    }  # fmt: skip


def _drawn(starts: Any, ends: Any, watts: Any) -> Any:
    """Return the watts drawn after each start and end; (2 n,)."""
    times, signed = np.concatenate([ends, starts]), np.concatenate([-watts, watts])
    order = np.argsort(times, kind="stable")  # ends first
    return np.cumsum(signed[order])


def experiment(
    folder: Path, log: Path, *, number: int = 1, workers: int = 0, fresh: bool = False, progress: Progress | None = None
) -> WattResult:
    """Run what is not in `folder` yet: first without a budget, to know what all of it is. Raises SlurmSimError."""
    how: dict[str, Any] = {"workers": workers, "fresh": fresh, "progress": progress}
    free = WattCell(f"watts{number}-free", str(log), number, "list", 1.0, None)
    full_w = int(work_all([free], run_cell, folder, **how)[free.name]["most_w"])
    cells = {
        (choice, share): WattCell(f"watts{number}-{k}-{100 * share:.0f}", str(log), number, choice, share, full_w)
        for k, choice in enumerate(CHOICES) for share in SHARES
    }  # fmt: skip
    made = work_all(list(cells.values()), run_cell, folder, **how)
    jobs = batch(read_log(log), number)
    runs = {key: made[cell.name] for key, cell in cells.items()}
    return WattResult(full_w, sum(job.watts <= 0 for job in jobs), len(jobs), runs)
