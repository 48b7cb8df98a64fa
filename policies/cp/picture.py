"""A cluster as an instance: what a policy sees, in the plain form of `plain`.

Nodes that are up, those of no partition left out; what runs, as it holds its nodes; what waits, in the order of the
queue. A job no node can hold while others are down waits outside. Jobs that units cannot describe are named.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slurmsim.bitmap import to_indices
from slurmsim.data_classes import dataclass
from slurmsim.policy import Holding, JobUnits, JobView, LayoutsView, Unit
from slurmsim_policies.cp.instance_data import DEFAULT_EWT_S
from slurmsim_policies.cp.plain import instance_from
from slurmsim_policies.cp.problem import Instance
from slurmsim_policies.cp.watts import budget_of

CORE, MEMORY = "core", "mem"
LONGEST_S = 10 * 365 * 86400  # as long as reservations and limits without an end are taken to be


@dataclass(frozen=True)
class Picture:
    """An instance of a cluster."""

    plain: dict[str, Any]  # the instance (`plain`); jobs go by the text of their ids
    machine: list[int]  # the cluster's number of each of its nodes
    waiting: dict[str, JobView]  # its waiting jobs by that text, in the order of the queue
    refused: list[tuple[JobView, str]]  # jobs units cannot describe, and why

    @cached_property
    def instance(self) -> Instance:
        """The same, checked."""
        return instance_from(self.plain)


def picture_of(view: LayoutsView, now: int, ewt: Mapping[str, int]) -> Picture:
    """Return what `view` shows at `now`; `ewt` has the waits thought fit by partition, seconds."""
    return _Painter(view, now, ewt).picture()


class _Painter:
    def __init__(self, view: LayoutsView, now: int, ewt: Mapping[str, int]) -> None:
        self.view, self.now, self.ewt = view, now, ewt
        up = 0
        for pool in view.pools:
            up |= pool.available()
        self.machine: list[int] = to_indices(up).tolist() if up else []
        self.index = {node: k for k, node in enumerate(self.machine)}
        self.up = up
        capacities = view.capacities()
        self.capacities = [capacities[node] for node in self.machine]
        names = sorted({name for unit in self.capacities for name, _ in unit.gres})
        memory = any(unit.mem_mib for unit in self.capacities)
        self.resources = [CORE, *([MEMORY] if memory else []), *names]
        self.amounts = np.array([self._row(unit) for unit in self.capacities], np.int64)
        self.amounts = self.amounts.reshape(len(self.machine), len(self.resources))
        self.budget = budget_of(view)

    def picture(self) -> Picture:
        running = [entry for job in self.view.running for entry in self._running(job)]
        self._fit_what_runs(running)
        waiting: dict[str, JobView] = {}
        jobs: list[dict[str, Any]] = []
        refused: list[tuple[JobView, str]] = []
        for job in self.view.pending:
            units = self._units(job)
            if units.refusal:
                refused.append((job, units.refusal))
            elif self.machine and (entry := self._waiting(job, units)) is not None:
                waiting[entry["id"]] = job
                jobs.append(entry)
        plain: dict[str, Any] = {"now": self.now, "nodes": self._groups(), "jobs": [*running, *jobs]}
        reservations = list(self._reservations())
        if reservations:
            plain["reservations"] = reservations
        if self.budget is not None:
            drawn = sum(entry.get("power_w", 0) for entry in running)
            plain["power"] = max(1, drawn, self.budget.power)  # it may just have fallen
        return Picture(plain, self.machine, waiting, refused)

    # -- nodes --------------------------------------------------------------------------------------------------------

    def _row(self, unit: Unit) -> list[int]:
        gres = dict(unit.gres)
        return [unit.cpus if name == CORE else unit.mem_mib if name == MEMORY else gres.get(name, 0)
                for name in self.resources]  # fmt: skip

    def _groups(self) -> list[dict[str, int]]:
        rows = [tuple(row) for row in self.amounts.tolist()]
        return [
            {"count": len(list(same)), **dict(zip(self.resources, row, strict=True))} for row, same in groupby(rows)
        ]

    def _reservations(self) -> Iterator[dict[str, Any]]:
        for start, end, nodes in self.view.closed():
            inside = self._indices(nodes & self.up)
            if inside and end > self.now:
                yield {"start": start, "duration": min(end - start, max(0, self.now - start) + LONGEST_S),
                       "nodes": inside}  # fmt: skip

    def _indices(self, nodes: int) -> list[int]:
        return [self.index[node] for node in to_indices(nodes).tolist()] if nodes else []

    # -- jobs ---------------------------------------------------------------------------------------------------------

    def _running(self, job: JobView) -> Iterator[dict[str, Any]]:
        """One entry for each demand of a unit: a job that was not laid out may hold different shares of its nodes."""
        entries: dict[tuple[int, ...], list[int]] = {}
        for held in self.view.holdings(job):
            if held.node in self.index:
                entries.setdefault(self._share(held), []).extend([self.index[held.node]] * held.units)
        for k, (demand, nodes) in enumerate(entries.items()):
            start = self.now if job.start_time is None else min(job.start_time, self.now)
            yield {
                **self._about(job, f"{job.id}/{k}" if k else str(job.id), demand), "rn": len(nodes),
                "start": start, "nodes": nodes,
                **({"power_w": self.budget.running(job)} if self.budget is not None and not k else {}),
            }  # fmt: skip

    def _share(self, held: Holding) -> tuple[int, ...]:
        return tuple(amount // held.units for amount in self._row(held.total))

    def _about(self, job: JobView, name: str, demand: Sequence[int]) -> dict[str, Any]:
        ready = job.submit_time if job.eligible_time is None else job.eligible_time
        return {
            "id": name, "q": min(ready, self.now),
            **{r: amount for r, amount in zip(self.resources, demand, strict=True) if amount},
            "duration": max(1, min(job.expected_s, LONGEST_S)), "ewt": self._ewt(job),
        }  # fmt: skip

    def _ewt(self, job: JobView) -> int:
        known = self.ewt.get(job.partition.name)
        return known or job.partition.max_time_s or DEFAULT_EWT_S

    def _units(self, job: JobView) -> JobUnits:
        """In the first of its partitions that has room now, else in the first that can hold it."""
        if len(job.partitions) == 1:
            return self.view.units(job)
        tried = [self.view.units(job, partition) for partition in self.view.waits_in(job)]
        known = [units for units in tried if not units.refusal]
        for units in known:
            allowed = self._indices(units.nodes & self.up & self.view.open_to(job))
            room = _room(self.free, self._row(units.unit), units.per_node or units.count)
            if int(room[allowed].sum()) >= units.count:
                return units
        return known[0] if known else tried[0]

    def _waiting(self, job: JobView, units: JobUnits) -> dict[str, Any] | None:
        """None where the nodes that are up, or the watts there are, would not do for it alone."""
        demand = self._row(units.unit)
        allowed = units.nodes & self.up & self.view.open_to(job)
        if any(name not in self.resources for name, _ in units.unit.gres):
            return None  # no node that is up has such GRES
        room = _room(self.amounts, demand, units.per_node or units.count)
        within = None if allowed == self.up else self._indices(allowed)
        if within is not None:
            room = room[within]
        if int(room.sum()) < units.count:
            return None
        entry = {**self._about(job, str(job.id), demand), "rn": units.count}
        if within is not None:
            entry["within"] = within
        if units.per_node:
            entry["per_node"] = units.per_node
        if self.budget is not None:
            entry["power_w"] = self.budget.waiting(job, units.count, room)
            if entry["power_w"] > self.budget.power:
                return None
        return entry

    def _fit_what_runs(self, running: Sequence[Mapping[str, Any]]) -> None:
        """Nodes hold what is on them, also where an operator resumed jobs beside others."""
        used = np.zeros_like(self.amounts)
        for entry in running:
            demand = np.array([entry.get(name, 0) for name in self.resources], np.int64)
            for node in entry["nodes"]:
                used[node] += demand
        np.maximum(self.amounts, used, out=self.amounts)
        self.free = self.amounts - used


def _room(free: NDArray[np.int64], demand: Sequence[int], most: int) -> NDArray[np.int64]:
    """Units of that demand each node has room for, at most `most`; `free` is (n_nodes, n_resources)."""
    room = np.full(len(free), most, np.int64)
    for r, amount in enumerate(demand):
        if amount:
            np.minimum(room, free[:, r] // amount, out=room)
    return room
