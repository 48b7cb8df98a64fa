"""What a running job of a dump holds: as our own search would give it, or node for node as the dump says."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator

import numpy as np

from slurmsim.bitmap import from_indices
from slurmsim.core.records.allocation import Allocation
from slurmsim.core.records.job_queue import Record
from slurmsim.hostlist import HostlistError, expand
from slurmsim.numerals import is_number
from slurmsim.slurmctld.base.submit_request import MOST_NAMES
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.tres import TresError, parse_gres
from slurmsim.twin.findings import Findings
from slurmsim.twin.jobs import SeenJob

_INDICES = re.compile(r"(\w{1,64}):(?:(\w{1,64}):)?\d{1,9}\(IDX:([\d,-]{1,4096})\)", re.ASCII)


class Allocations:
    """Makes allocations on one engine."""

    def __init__(self, engine: Engine, findings: Findings) -> None:
        self._engine, self._findings = engine, findings
        self._table = engine.controller.state.table

    def of(self, record: Record, job: SeenJob) -> Allocation | None:
        """Return what `job` holds; None where other jobs of the dump have it already."""
        indices = self._indices(job.nodes)
        if not indices:
            return None
        seen = self._seen(job)
        placed = self._placed(record, indices)
        if seen is None:
            return placed
        if placed is None or not self._same(placed, seen):
            placed = self._made(record, indices, seen)
        if placed is not None:
            self._number(record, placed, job)
        return placed

    def _indices(self, text: str) -> list[int]:
        index = self._table.index
        try:
            names = expand(text, MOST_NAMES)
        except HostlistError:
            return []
        return sorted({index[name] for name in names if name in index})

    def _placed(self, record: Record, indices: list[int]) -> Allocation | None:
        """Return what our own search gives of exactly these nodes."""
        mask, exact = from_indices(indices), copy.copy(record.request)
        exact.required = exact.candidates = mask
        exact.min_nodes = exact.target_nodes = exact.node_need = len(indices)
        exact.max_nodes = max(exact.max_nodes, exact.min_nodes)
        exact.by_count, exact.switches = False, 0
        return self._engine.controller.state.selector.place(exact, self._table, mask)

    def _seen(self, job: SeenJob) -> dict[int, tuple[int, int, dict[tuple[str, str], int]]] | None:
        """Return CPUs, MiB and GRES by node, where the dump has the details of all of its nodes."""
        found: dict[int, tuple[int, int, dict[tuple[str, str], int]]] = {}
        for held in job.held:
            gres = _counts(held.gres)
            for node in self._indices(held.nodes):
                found[node] = (len(numbers(held.cpus)), held.memory_mib, gres)
        return found if found and set(found) == set(self._indices(job.nodes)) else None

    def _same(self, alloc: Allocation, seen: dict[int, tuple[int, int, dict[tuple[str, str], int]]]) -> bool:
        nodes = alloc.indices().tolist()
        cpus = [alloc.cpus] * len(nodes) if isinstance(alloc.cpus, int) else alloc.cpus.tolist()
        memory = [alloc.mem] * len(nodes) if isinstance(alloc.mem, int) else alloc.mem.tolist()
        if alloc.whole:
            memory = [seen[node][1] for node in nodes]
        same = all((seen[node][0], seen[node][1]) == (c, m) for node, c, m in zip(nodes, cpus, memory, strict=True))
        if not any(seen[node][2] for node in nodes):
            return same  # of a job that is over no devices are told
        return same and all(dict(self._of_node(alloc, k)) == self._kinds(seen[node][2]) for k, node in enumerate(nodes))

    def _of_node(self, alloc: Allocation, at: int) -> list[tuple[int, int]]:
        each = [(kind, counts if isinstance(counts, int) else int(counts[at])) for kind, counts in alloc.gres]
        return [(kind, count) for kind, count in each if count]

    def _kinds(self, gres: dict[tuple[str, str], int]) -> dict[int, int]:
        """Return counts by our number of the kind."""
        known = {kind: k for k, kind in enumerate(self._table.gres_kinds)}
        return {known[kind]: count for kind, count in gres.items() if kind in known and count}

    def _made(
        self, record: Record, indices: list[int], seen: dict[int, tuple[int, int, dict[tuple[str, str], int]]]
    ) -> Allocation | None:
        """Return the very amounts of the dump, if they are free."""
        table = self._table
        idx = np.array(indices, np.int64)
        cpus = np.array([seen[node][0] for node in indices], np.int64)
        mem = np.array([seen[node][1] for node in indices], np.int64)
        kinds = sorted({kind for node in indices for kind in self._kinds(seen[node][2])})
        gres = tuple(
            (kind, np.array([self._kinds(seen[node][2]).get(kind, 0) for node in indices], np.int64)) for kind in kinds
        )
        if (table.free_cpus[idx] < cpus).any() or table.cores is not None:
            return None
        if not self._memory_counts():
            mem = np.zeros_like(mem)
        if (table.free_mem[idx] < mem).any() or any((table.free_gres[k][idx] < counts).any() for k, counts in gres):
            return None
        return Allocation(
            from_indices(indices), False, len(indices), int(cpus.sum()), cpus, mem, gres, idx,
            quota=getattr(record.request, "quota", -1),
        )  # fmt: skip

    def _memory_counts(self) -> bool:
        return "MEMORY" in str(self._engine.spec.option("SelectTypeParameters")).upper()

    def _number(self, record: Record, alloc: Allocation, job: SeenJob) -> None:
        """Note which CPUs and devices these are."""
        run, nodes = (record.job.id, record.job.restarts), set(alloc.indices().tolist())
        for held in job.held:
            cpus = tuple(numbers(held.cpus))
            for node in self._indices(held.nodes):
                if node in nodes and cpus:
                    self._engine.given_cpus[run, node] = cpus
                for kind, devices in self._devices(node, held.gres):
                    self._engine.given_gres[run, node, kind] = devices

    def _devices(self, node: int, text: str) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield the devices of ``gpu:a100:2(IDX:1-2)`` by our number of the kind; they count from its first one on."""
        known = {kind: k for k, kind in enumerate(self._table.gres_kinds)}
        for name, of_type, indices in _INDICES.findall(text):
            kind = known.get((name, of_type))
            if kind is not None:
                first = sum(int(self._table.gres[k][node]) for k in range(kind) if self._table.gres_kinds[k][0] == name)
                yield kind, tuple(number - first for number in numbers(indices) if number >= first)


def numbers(text: str) -> list[int]:
    """Return the numbers of ``0-3,8``; none for what is no such list.

    >>> numbers("0-3,8"), numbers("x")
    ([0, 1, 2, 3, 8], [])
    """
    found: list[int] = []
    for part in text.split(",") if text else ():
        low, dash, high = part.partition("-")
        if not is_number(low) or (dash and not is_number(high)):
            return []
        last = int(high) if dash else int(low)
        if not 0 <= int(low) <= last <= 1 << 16:
            return []
        found += range(int(low), last + 1)
    return found


def _counts(text: str) -> dict[tuple[str, str], int]:
    """Return the counts of ``gpu:a100:2(IDX:0-1)`` by name and type."""
    try:
        items = parse_gres(text) if text else ()
    except TresError:
        return {}
    return {(item.name, item.type): item.count for item in items}
