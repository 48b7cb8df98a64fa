"""The cores that jobs share: which of them are taken, in up to OverSubscribe's number of rows a partition.

Mirrors the rows of part_data.c (select/cons_tres, 22.05). A core here is the smallest share of a node a job can get
(`NodeColumns.grain`). A job gets the lowest free cores, as the default distribution does on one socket.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from slurmsim.bitmap import Bitmap, from_indices
from slurmsim.core.records.allocation import Allocation, IntArray, Share
from slurmsim.core.records.node_columns import NodeColumns
from slurmsim.core.records.partition import Partition
from slurmsim.errors import InvariantError

Taken = dict[int, int]  # node -> cores that count as taken, as bits; nodes without are all free


NO_ROW: Final = -1


def both(one: Taken, other: Taken) -> Taken:
    """Cores of either."""
    if not other:
        return one
    return one | {node: one.get(node, 0) | cores for node, cores in other.items()}


class SharedCores:
    """Which cores are taken, by partition and row.

    Parameters
    ----------
    by_tier
        Jobs of higher tiers keep their cores from those of lower ones, and those of partitions with PreemptMode=OFF
        from all (preempt/partition_prio).
    size
        Cores of each node, if they are known already.
    """

    def __init__(
        self, table: NodeColumns, partitions: Sequence[Partition], *, by_tier: bool, size: list[int] | None = None
    ) -> None:
        self.table, self.by_tier = table, by_tier
        self.partitions = list(partitions)
        self.n_rows = [p.spec.oversubscribe_max if p.spec.oversubscribe in ("YES", "FORCE") else 1 for p in partitions]
        self.size: list[int] = (-(-table.cpus // table.grain)).tolist() if size is None else size
        self.rows: dict[int, list[Taken]] = {}
        self.sole_jobs: dict[int, int] = {}  # node -> jobs there that share no core
        self.sole: Bitmap = 0
        self.kept: Taken = {}  # cores that are not to be given, in use or not

    def copy(self) -> SharedCores:
        """Return the same state, to be changed on its own."""
        new = self.emptied()
        new.rows = {index: [row.copy() for row in rows] for index, rows in self.rows.items()}
        new.sole_jobs, new.sole = self.sole_jobs.copy(), self.sole
        new.kept = self.kept
        return new

    def keeping(self, kept: Taken) -> SharedCores:
        """Return a copy in which no job gets the cores `kept` either."""
        new = self.copy()
        new.kept = both(self.kept, kept)
        return new

    def taken_by(self, a: Allocation) -> Taken:
        if a.share is not None:
            return a.share.cores
        return {node: (1 << self.size[node]) - 1 for node in a.indices().tolist()}

    def hold(self, a: Allocation, partition: int, *, runs: bool) -> None:
        """Put allocation `a` of a job of `partition` into a row, as after a change of partitions, if it `runs`.

        A job that started where no cores were shared shares none with later jobs: slurmctld keeps how a job was
        started (node_req), and lets others in by what partitions are now (select_p_reconfigure, _is_node_busy). The
        cores of such a job were not known before; it gets the lowest free ones.
        """
        if a.share is None:
            taken = self.taken(range(len(self.n_rows)))
            enough = (self.left(a.indices(), taken) >= a.cpus).all()
            a.share = Share(self.pick(a, taken if enough else {}), partition, sole=True)
        a.share.row = NO_ROW
        if runs:
            self.add(a.share, crowd=True)

    def emptied(self) -> SharedCores:
        """Return the state without any job."""
        return SharedCores(self.table, self.partitions, by_tier=self.by_tier, size=self.size)

    # -- what is left ---------------------------------------------------------------------------------------------

    def taken(self, indices: Sequence[int] | range | dict[int, list[Taken]]) -> Taken:
        """Cores that jobs of the partitions `indices` use."""
        found: Taken = {}
        for index in indices:
            for row in self.rows.get(index, ()):
                for node, cores in row.items():
                    found[node] = found.get(node, 0) | cores
        return found

    def shared_beside(self, own: int) -> Bitmap:
        """Return nodes where jobs of other partitions than `own` that share cores run."""
        found: list[int] = []
        for index, rows in self.rows.items():
            if index != own and self.n_rows[index] > 1:
                found += [node for row in rows for node, cores in row.items() if cores]
        return from_indices(sorted(set(found)))

    def left(self, idx: IntArray, busy: Taken) -> IntArray:
        """CPUs of the nodes `idx` that `busy` leaves; shape (len(idx),)."""
        cpus, grain = self.table.cpus, self.table.grain
        free = cpus[idx].copy()
        if busy:
            for k, node in enumerate(idx.tolist()):
                cores = busy.get(node)
                if cores:
                    free[k] -= cores.bit_count() * int(grain[node])
        return free

    def pick(self, a: Allocation, busy: Taken) -> Taken:
        """Return the cores allocation `a` takes on its nodes: the lowest ones that `busy` leaves."""
        cpus = a.cpus if not isinstance(a.cpus, int) else np.full(a.n_nodes, a.cpus, np.int64)
        picked: Taken = {}
        for node, n_cpus in zip(a.indices().tolist(), cpus.tolist(), strict=True):
            need = -(-n_cpus // int(self.table.grain[node]))
            free = ((1 << self.size[node]) - 1) & ~busy.get(node, 0)
            cores = 0
            for _ in range(need):
                lowest = free & -free
                cores |= lowest
                free ^= lowest
            if cores.bit_count() != need:
                raise InvariantError(f"node {self.table.names[node]} has no {need} cores left")
            picked[node] = cores
        return picked

    # -- bookkeeping ----------------------------------------------------------------------------------------------

    def add(self, share: Share, *, crowd: bool = False) -> None:
        """Take the cores of `share`, in the first row of its partition where they are free.

        A job that is resumed (`crowd`) goes on where others have taken them meanwhile, and is then in no row: slurmctld
        logs a "job overflow" (job_res_add_job).
        """
        rows = self.rows.setdefault(share.partition, [])
        for at in range(self.n_rows[share.partition]):
            if at == len(rows):
                rows.append({})
            row = rows[at]
            if not any(row.get(node, 0) & cores for node, cores in share.cores.items()):
                break
        else:
            if not crowd:
                raise InvariantError("no row has these cores free")
            share.row = NO_ROW
            return
        share.row = at
        self.put(share)

    def put(self, share: Share) -> None:
        """Take the cores of `share` in the row it says."""
        if share.row == NO_ROW:
            return
        rows = self.rows.setdefault(share.partition, [])
        rows += [{} for _ in range(share.row + 1 - len(rows))]
        row = rows[share.row]
        if any(row.get(node, 0) & cores for node, cores in share.cores.items()):
            raise InvariantError("two jobs have a core in one row")
        for node, cores in share.cores.items():
            row[node] = row.get(node, 0) | cores
            if share.sole:
                self.sole_jobs[node] = self.sole_jobs.get(node, 0) + 1
                self.sole |= 1 << node

    def remove(self, share: Share) -> None:
        """Give the cores of `share` back."""
        if share.row == NO_ROW:
            return
        row = self.rows[share.partition][share.row]
        for node, cores in share.cores.items():
            row[node] &= ~cores
            if not row[node]:
                del row[node]
            if share.sole:
                self.sole_jobs[node] -= 1
                if not self.sole_jobs[node]:
                    del self.sole_jobs[node]
                    self.sole &= ~(1 << node)

    def free_on(self, nodes: Sequence[int]) -> list[int]:
        """CPUs of each node that no job has."""
        free = []
        for node in nodes:
            used = 0
            for rows in self.rows.values():
                for row in rows:
                    used |= row.get(node, 0)
            free.append((self.size[node] - used.bit_count()) * int(self.table.grain[node]))
        return free
