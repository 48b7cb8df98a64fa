"""May it start? One test for all who start jobs: the main scheduler's pass, a policy, and a submission that waits.

Slurm asks in three places (_schedule and select_nodes, _attempt_backfill, job_allocate; 22.05) and not in one order.
The rules, and which comes when in each:

| rule | main pass | policy | submission |
|---|---|---|---|
| limits of the partition | 1 | 1, of the time only --time-min | 1 |
| a partition that bars account or QOS | 6 | 1 | 1 |
| the deadline | 2 | 3 | |
| the limit the job shows already | 3 | | |
| nodes it names are usable; enough nodes are | 4 | | |
| licenses | 5 | 2 | 3 |
| limits that forbid to look for nodes (`early`) | 7 | 4 | 2 |
| nodes free now (`place_now`) | 8 | 5 | 4 |
| limits of what was found, or of the request | 9 | 6 | 5 |
| others that make room | 10 | 7 | |

What comes before `early` stands with who asks, as the answer decides what is shown and who is held up. From the nodes
on it is one way, `find`, and what differs is a column of `Asker`. A submission looks for its own time limit, the others
for MaxTime where it has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from slurmsim.bitmap import Bitmap
from slurmsim.core.records.job import Job
from slurmsim.core.records.job_queue import Record
from slurmsim.core.records.node_table import Allocation

if TYPE_CHECKING:
    from slurmsim.core.accounting.parts import AccountingParts
    from slurmsim.core.occupancy.completing import Completing
    from slurmsim.core.occupancy.preemption import Preemption
    from slurmsim.core.occupancy.suspension import Suspension
    from slurmsim.core.queue.deadlines import Deadlines
    from slurmsim.core.queue.found_cpus import FoundCpus
    from slurmsim.core.queue.partition_limits import PartitionLimits
    from slurmsim.core.queue.switch_wait import SwitchWait
    from slurmsim.core.reservations.book import Reservations
    from slurmsim.core.reservations.licenses import Licenses
    from slurmsim.core.state.controller_state import ControllerState


class Asker(NamedTuple):
    """Who tries to start a job, and what is special about that.

    Attributes
    ----------
    judges_request
        A limit is asked also when no nodes were found, of what the job asks for: the main pass and a submission do;
        a policy only where others could make room.
    learns
        The CPUs found for a job that a limit holds are remembered (`queue.found_cpus`).
    makes_room
        Others may have to go for it.
    """

    judges_request: bool
    learns: bool
    makes_room: bool


MAIN = Asker(judges_request=True, learns=True, makes_room=True)
POLICY = Asker(judges_request=False, learns=True, makes_room=True)
SUBMISSION = Asker(judges_request=True, learns=False, makes_room=False)


class StartTest:
    """The test, and the parts it asks.

    Attributes
    ----------
    partition_limits, accounting, licenses, deadlines, reservations
        Who may start at all, how much of everything, and until when.
    completing, suspension, preemption
        Which nodes cannot be had yet, or only if others stop; `preemption` is None where nobody makes way.
    switch_wait, found_cpus
        Told of what a look for nodes begins or finds.
    """

    def __init__(
        self, state: ControllerState, *, partition_limits: PartitionLimits, accounting: AccountingParts,
        licenses: Licenses, deadlines: Deadlines, reservations: Reservations, completing: Completing,
        suspension: Suspension, preemption: Preemption | None, switch_wait: SwitchWait, found_cpus: FoundCpus,
    ) -> None:  # fmt: skip
        self.state = state
        self.partition_limits, self.accounting = partition_limits, accounting
        self.licenses, self.deadlines, self.reservations = licenses, deadlines, reservations
        self.completing, self.suspension, self.preemption = completing, suspension, preemption
        self.switch_wait, self.found_cpus = switch_wait, found_cpus

    def find(self, record: Record, nodes: Bitmap, seconds: int, by: Asker) -> tuple[Allocation | None, str | None]:
        """What the record's job could have now of `nodes` for `seconds`, and the limit that forbids it.

        A limit that forbids even to look for nodes has been asked (`early`). Both are None where there are no nodes.
        """
        limits = self.accounting.limits
        alloc = self.place_now(record, nodes, seconds)
        makes_room = self.preemption is not None and by.makes_room
        if limits is not None and (alloc is not None or by.judges_request or makes_room):
            held = limits.after(record, alloc)
            if held is not None:
                if alloc is not None and by.learns:
                    record.job.likely_nodes = alloc.n_nodes
                    self.found_cpus.found(record.job, alloc.n_cpus)
                return None, held
        if alloc is None and makes_room:
            assert self.preemption is not None
            alloc = self.preemption.make_room(record, self.reach(record, nodes, seconds))
        return alloc, None

    def early(self, record: Record) -> str | None:
        """The limit that forbids to look for nodes, None for none."""
        limits = self.accounting.limits
        return None if limits is None else limits.early(record)

    def keeps_out(self, record: Record, *, shortened: bool = False) -> str | None:
        """What keeps the record's job from ever starting there as things are."""
        return self.partition_limits.keeps_out(record.job, record.partition, record.shape, shortened=shortened)

    def licensed(self, record: Record) -> bool:
        """Whether the licenses of the record's job are free now."""
        return not record.job.licenses or self.licenses.free(record.job, record.reservation)

    def looked_at(self, record: Record) -> bool:
        """Whether backfill looks for nodes for the record: no partition limit, account limit or license forbids it."""
        limits = self.accounting.limits
        if self.keeps_out(record, shortened=True) is not None:
            return False
        if limits is not None and (limits.before(record) or limits.too_many_nodes(record)) is not None:
            return False
        return self.licensed(record)

    def time_limit(self, record: Record) -> int:
        """What the record's job may take there, seconds: its own limit, else MaxTime."""
        return self.partition_limits.time_limit(record.job, record.partition)

    def being_made_room_for(self, job: Job) -> bool:
        """Whether others were stopped for `job` in this pass or cycle: it is tried in no other partition."""
        return self.preemption is not None and job.id in self.preemption.in_progress

    def reach(self, record: Record, nodes: Bitmap, limit: int) -> Bitmap:
        """Of `nodes`, those the record's job may use from now for `limit` seconds, whoever has them."""
        nodes = self.state.free_to(record, nodes) & ~self.completing.nodes
        if self.state.reserved.all:
            nodes &= self.reservations.access.examine(record, self.state.now, limit).nodes
        return nodes

    def place_now(self, record: Record, nodes: Bitmap, limit: int) -> Allocation | None:
        """Nodes of `nodes` and shares of them for the record's job, free now for `limit` seconds; None for none."""
        state, limits = self.state, self.accounting.limits
        heavier = 0 if limits is None else limits.heavier(record)
        if self.completing.nodes:
            nodes &= ~self.completing.nodes
        if state.reserved.all:
            alloc = self.reservations.access.place(record, nodes, limit, heavier)
        else:
            alloc = state.selector.place(record.shape, state.table, state.free_to(record, nodes), heavier=heavier)
        if alloc is None and state.suspended:
            alloc = self.suspension.beside(record.shape, self.reach(record, nodes, limit))
        return alloc
