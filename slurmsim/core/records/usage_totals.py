"""Running totals of what is in use, per partition and for the whole cluster; the source of usage.parquet."""

from __future__ import annotations

from collections.abc import Iterable

from slurmsim.bitmap import Bitmap, to_indices
from slurmsim.core.records.job import Job
from slurmsim.core.records.node_table import NodeTable
from slurmsim.core.records.partition import Partition
from slurmsim.core.records.power_states import PowerStates

# Of the trace's table USAGE. A tuple of so many members would be taken apart and put together wherever it is handed on.
Row = tuple[object, ...]


class Totals:
    """Counters of one partition (or of the cluster). `mask` is its nodes."""

    __slots__ = ("cpus", "gpus", "mask", "mem", "name", "nodes", "pending", "running", "size", "touched")

    def __init__(self, name: str, mask: Bitmap) -> None:
        self.name, self.mask, self.size = name, mask, mask.bit_count()
        self.nodes = self.cpus = self.gpus = self.mem = self.running = self.pending = 0
        self.touched = True


class UsageTotals:
    """Totals kept up to date by starts, ends and submissions.

    Node, CPU, GPU and memory totals of a partition are those of its *nodes*, whichever partition's job uses them, as
    sinfo would show them; running and pending count the partition's own jobs.
    """

    def __init__(self, table: NodeTable, partitions: list[Partition], power: PowerStates) -> None:
        self.table, self.power = table, power
        self.whole = Totals("", table.everything)
        self.parts = [Totals(p.name, p.mask) for p in partitions]
        self._gpu_kinds = {k for k, (name, _) in enumerate(table.gres_kinds) if name == "gpu"}
        # one partition over all nodes: its totals are the cluster's, which alone are kept up to date
        self._alone = len(partitions) == 1 and partitions[0].mask == table.everything

    def shared(self) -> None:
        """There is another partition now: totals of each are kept from here on."""
        if self._alone:
            first, whole = self.parts[0], self.whole
            for name in ("nodes", "cpus", "gpus", "mem", "running", "pending"):
                setattr(first, name, getattr(whole, name))
            self._alone = False

    def reshape(self, index: int, mask: Bitmap, running: Iterable[Job]) -> None:
        """Count what is in use on the partition's new nodes."""
        if self._alone and mask == self.parts[index].mask:
            return
        self.shared()
        part = self.parts[index]
        part.mask, part.size, part.touched = mask, mask.bit_count(), True
        part.nodes = part.cpus = part.gpus = part.mem = 0
        for job in running:
            if job.nodes & mask:
                self._change_part(part, job, +1, 0, job.nodes & mask, False)
        part.nodes = (mask & ~self.table.idle).bit_count()

    def pending(self, job: Job, delta: int) -> None:
        """Count a job that became pending (+1) or stopped being so (-1)."""
        whole = self.whole
        whole.pending += delta
        whole.touched = True
        if self._alone:
            return
        for partition in job.partitions:
            part = self.parts[partition.index]
            part.pending += delta
            part.touched = True

    def change(self, job: Job, sign: int, nodes: Bitmap, *, cpus_only: bool = False) -> None:
        """Take note that `job` started (+1) or gave its nodes back (-1); `nodes` went from idle to busy or back.

        `cpus_only`: it was resumed or suspended, its memory and GRES stay in use.
        """
        a = job.alloc
        assert a is not None
        whole = self.whole
        whole.running += sign
        mem = a.mem * a.n_nodes if isinstance(a.mem, int) else int(a.mem.sum())
        gpus = self.gpus_of(job) if a.gres else 0
        if cpus_only:
            mem = gpus = 0
        n_nodes = a.n_nodes if nodes == a.mask else nodes.bit_count()
        if self._alone:
            whole.touched = True
            whole.nodes += sign * n_nodes
            whole.cpus += sign * a.n_cpus
            whole.mem += sign * mem
            whole.gpus += sign * gpus
            return
        self.parts[job.partition.index].running += sign
        for part in (whole, *self.parts):
            inside = a.mask & part.mask
            if not inside:
                continue
            part.touched = True
            if inside == a.mask:
                part.nodes += sign * n_nodes
                part.cpus += sign * a.n_cpus
                part.mem += sign * mem
                part.gpus += sign * gpus
            else:
                self._change_part(part, job, sign, nodes, inside, cpus_only)

    def _change_part(self, part: Totals, job: Job, sign: int, nodes: Bitmap, inside: Bitmap, cpus_only: bool) -> None:
        a = job.alloc
        assert a is not None
        part.nodes += sign * (nodes & part.mask).bit_count()
        here = [k for k, i in enumerate(a.indices().tolist()) if inside >> i & 1]
        part.cpus += sign * (a.cpus * len(here) if isinstance(a.cpus, int) else int(a.cpus[here].sum()))
        if cpus_only:
            return
        part.mem += sign * (a.mem * len(here) if isinstance(a.mem, int) else int(a.mem[here].sum()))
        for kind, count in a.gres:
            if kind in self._gpu_kinds:
                part.gpus += sign * (count * len(here) if isinstance(count, int) else int(count[here].sum()))

    def gpus_of(self, job: Job) -> int:
        """GPUs the job holds."""
        a = job.alloc
        total = 0
        if a is not None:
            for kind, count in a.gres:
                if kind in self._gpu_kinds:
                    total += count * a.n_nodes if isinstance(count, int) else int(count.sum())
        return total

    def touch_all(self) -> None:
        """Nodes went down or came back: every total may show it."""
        for part in (self.whole, *self.parts):
            part.touched = True

    def rows(self, now: int) -> list[Row]:
        """Rows (trace schema USAGE) of all totals changed since the last call."""
        whole = self.whole
        if self._alone:
            if not whole.touched:
                return []
            whole.touched = False
            row = self._row(now, whole)
            mine: Row = (now, self.parts[0].name)
            return [row, mine + row[2:]]
        out: list[Row] = []
        for part in (whole, *self.parts):
            if part.touched:
                part.touched = False
                out.append(self._row(now, part))
        return out

    def _row(self, now: int, part: Totals) -> Row:
        """Return a row of the usage table.

        Busy, idle and down nodes, CPUs, GPUs, memory, running and pending jobs; nodes that are off, powering down, or
        booting. A busy node is not down, nor is one powering down.
        """
        table, power = self.table, self.power
        down, idle = 0, part.size - part.nodes
        if table.down:
            dead = part.mask & table.down & table.idle
            down = (dead & ~power.going).bit_count()
            idle -= down
        moving = power.going | power.coming
        off = (power.off & part.mask).bit_count() if power.off else 0
        powering = (moving & part.mask).bit_count() if moving else 0
        return (
            now, part.name, part.nodes, idle, down, part.cpus, part.gpus, part.mem, part.running, part.pending,
            off, powering,
        )  # fmt: skip

    def recount(self, running: list[Job]) -> tuple[int, int, int]:
        """(busy nodes, CPUs, running jobs) counted from scratch, for checks."""
        mask = 0
        cpus = 0
        for job in running:
            assert job.alloc is not None
            mask |= job.alloc.mask
            cpus += job.alloc.n_cpus
        return len(to_indices(mask)) if mask else 0, cpus, len(running)
