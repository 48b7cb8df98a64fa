"""May it start? One test, and one table of rules in order, for all who start jobs.

Slurm asks in several places and not in one order: _schedule (job_scheduler.c), _attempt_backfill (backfill.c),
job_allocate (job_mgr.c), and in all of them select_nodes (node_scheduler.c, 22.05). The table are the `Asker`s below:
each names its rules in its order, and what is special about its look for nodes. `StartTest.refusal` is the only code
that walks them; who asks decides what is shown and who is held up by the answer. Then `StartTest.find` looks for nodes.

Behind an entry stands what shows it: Slurm's function, and a test that fails without it (of tests/golden, or of
tests/unit/core: "unit"). "Not shown": of those tests only the one of this table (unit test_may_start) would notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from slurmsim.bitmap import Bitmap
from slurmsim.core.accounting.limit_reasons import LIMIT_REASONS
from slurmsim.core.placement.compiled_request import CompiledRequest
from slurmsim.core.placement.free_state import FreeState
from slurmsim.core.placement.layout import lay_out
from slurmsim.core.placement.units import units_of
from slurmsim.core.records.allocation import Allocation
from slurmsim.core.records.job import Job
from slurmsim.core.records.job_queue import Record
from slurmsim.core.reservations.jobs import usable_at
from slurmsim.data_classes import dataclass
from slurmsim.states import NODES_REQUIRED_TEXT, Reason

if TYPE_CHECKING:
    from slurmsim.core.accounting.controller_accounting import AccountingParts
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

MAY: Final = 0  # no rule forbids the start
PARTITION: Final = 1  # a limit of the partition, or its state
BAR: Final = 2  # the partition does not take the job's account or QOS
AHEAD: Final = 3  # a job ahead waits there
DEADLINE: Final = 4  # it cannot end before its deadline any more, and has ended by being asked
SHOWN: Final = 5  # a limit of accounts or QOS it shows already
NAMED: Final = 6  # nodes it names are not usable, as it says already
ENOUGH: Final = 7  # fewer usable nodes than it needs, busy or not
LICENSES: Final = 8  # licenses that are not free
INSIDE: Final = 9  # its reservation may not be used yet, or no more
LIMITS: Final = 10  # a limit of accounts or QOS that forbids to look for nodes


@dataclass(slots=True)  # no named tuple: mypyc asks those for their attributes by name, at every look
class Asker:
    """Who tries to start a job: its rules in order, and what is special about its look for nodes."""

    rules: tuple[int, ...]  # the first of them that is broken forbids the start
    time_min: bool = False  # of a job with --time-min only that counts against MaxTime
    # a limit is asked also when no nodes were found, of what the job asks for: the main pass and a submission do; a
    # policy only where others could make room
    judges_request: bool = False
    learns: bool = False  # the CPUs found for a job that a limit holds are remembered (`queue.found_cpus`)
    makes_room: bool = False  # others may have to go for it


# A main pass: _schedule, then select_nodes.
MAIN: Final = Asker(
    (
        PARTITION,  # job_limits_check: test_rule_recordings.test_limits_of_a_partition, test_states_of_a_partition
        AHEAD,  # _schedule alone keeps partitions to itself for who waits: test_worked_examples, test_rules_queue
        DEADLINE,  # deadline_ok: unit test_core_licenses.test_a_deadline_that_cannot_be_kept_ends_the_job
        SHOWN,  # _schedule alone asks before the rules of nodes, and only those it held before; not shown
        NAMED,  # _schedule alone; before ENOUGH: test_rules_nodes.test_down_drained_failing_and_back
        ENOUGH,  # _schedule alone: test_group_limits.test_drained_nodes_and_a_pulled_plug
        LICENSES,  # license_job_test: test_rules_resv.test_licenses
        BAR,  # so late that it blocks no other job: test_rules_accounts.test_later_looks
        LIMITS,  # select_nodes: test_rules_limits.test_limits_of_associations
    ),
    judges_request=True, learns=True, makes_room=True,
)  # fmt: skip

# A start that backfill has decided: select_nodes. LOOK and the plan come before; what has changed since is asked again.
BACKFILL: Final = Asker(
    (
        PARTITION,  # asked again; not shown
        BAR,  # a plan minds a list of QOS, a start one of accounts, too: test_rules_accounts.test_later_looks
        LICENSES,  # asked again, as others may have started; not shown
        DEADLINE,  # deadline_ok, of who came into the queue since the cycle began; not shown
        LIMITS,  # test_rules_limits.test_a_limit_that_stops_the_queue
    ),
    time_min=True,  # unit test_core_licenses.test_backfill_takes_the_minimum_where_the_limit_is_too_long
    learns=True, makes_room=True,
)  # fmt: skip

# Whether a cycle of backfill looks for nodes: _attempt_backfill asks limits first, then license_job_test; not shown.
LOOK: Final = Asker((PARTITION, BAR, LIMITS, LICENSES), time_min=True)

# A policy that is the scheduler itself: no rule of Slurm's. Its queue holds who has licenses (`Licenses.enter`).
POLICY: Final = Asker(
    (
        PARTITION,
        BAR,
        DEADLINE,  # unit test_core_licenses.test_a_deadline_that_cannot_be_kept_ends_the_job
        LIMITS,
    ),
    time_min=True, learns=True, makes_room=True,
)  # fmt: skip

# Beside such a policy: a job that may use its reservation, with the reservation's licenses.
RESERVED: Final = Asker((LICENSES, PARTITION, BAR, INSIDE, LIMITS))

# srun or salloc, which wait: job_allocate. It ends no job at a deadline and preempts none. The order after
# PARTITION is not shown: the session srun-salloc of tests/conformance is the same in any.
SUBMISSION: Final = Asker(
    (
        PARTITION,  # unit/slurmctld/test_job_control.test_an_immediate_allocation_in_a_partition_that_is_down
        BAR,
        AHEAD,  # _top_priority: a job in any partition, not only in one of its own
        LIMITS,
        LICENSES,
    ),
    judges_request=True,
)  # fmt: skip


def mute(record: Record) -> bool:
    """Return True if only the submission tells that the record's partition does not take the job."""
    bars = record.job.bars
    return bars is not None and (bar := bars.get(record.partition.index)) is not None and bar.mute


class StartTest:
    """The test, and the parts it asks."""

    def __init__(
        self, state: ControllerState, *, partition_limits: PartitionLimits, accounting: AccountingParts,
        licenses: Licenses, deadlines: Deadlines, reservations: Reservations, completing: Completing,
        suspension: Suspension, preemption: Preemption | None, switch_wait: SwitchWait, found_cpus: FoundCpus,
    ) -> None:  # fmt: skip
        self.state = state
        # partition_limits, accounting, licenses, deadlines, reservations: who may start at all, how much of everything,
        # and until when
        self.partition_limits, self.accounting = partition_limits, accounting
        self.licenses, self.deadlines, self.reservations = licenses, deadlines, reservations
        # completing, suspension, preemption: nodes that are not free yet, or only if other jobs stop; `preemption` is
        # None if no job can be preempted
        self.completing, self.suspension, self.preemption = completing, suspension, preemption
        # switch_wait, found_cpus: told of what a look for nodes begins or finds
        self.switch_wait, self.found_cpus = switch_wait, found_cpus
        self._counted: tuple[Bitmap, Bitmap, int] = (0, 0, 0)

    def refusal(self, record: Record, by: Asker, usable: Bitmap = 0, ahead: bool = False) -> tuple[int, str]:
        """Return the first rule of `by` that forbids to start the record's job there, and its reason; or (MAY, "").

        Parameters
        ----------
        usable
            For NAMED and ENOUGH: the usable nodes that no job ahead waits for.
        ahead
            For AHEAD: True if another job has to start first.
        """
        job = record.job
        for rule in by.rules:
            if rule == PARTITION:
                parts, where = self.partition_limits, record.partition
                held = parts.limit_reason(job, where, record.request, shortened=by.time_min)
                if held is not None:
                    return PARTITION, held
            elif rule == AHEAD:
                if ahead:
                    return AHEAD, Reason.PRIORITY
            elif rule == BAR:
                if job.bars is not None and record.partition.index in job.bars:
                    return BAR, job.bars[record.partition.index].text
            elif rule == LIMITS:
                limits = self.accounting.limits
                if limits is not None and (held := limits.early(record)) is not None:
                    return LIMITS, held
            elif rule == DEADLINE:
                if job.deadline is not None and self.deadlines.missed(job):
                    return DEADLINE, Reason.DEADLINE
            elif rule == LICENSES:
                if not self.licensed(record):
                    return LICENSES, Reason.LICENSES
            elif rule == SHOWN:
                limits = self.accounting.limits
                if limits is not None and job.reason in LIMIT_REASONS and (held := limits.before(record)) is not None:
                    return SHOWN, held
            elif rule == ENOUGH:
                if self._common(record.partition.mask, usable) < record.request.min_nodes:
                    return ENOUGH, NODES_REQUIRED_TEXT
            elif (held := self._not_usable(rule, record, usable)) is not None:
                return rule, held
        return MAY, ""

    def _not_usable(self, rule: int, record: Record, usable: Bitmap) -> str | None:
        """Return the reason if nodes the job names (NAMED) or its reservation (INSIDE) are not usable now."""
        job, own = record.job, record.reservation
        if rule == NAMED:
            named = record.request.required
            said = named and named & ~usable and job.reason.startswith(Reason.REQ_NODE_NOT_AVAIL)
            return job.reason if said else None
        return Reason.RESERVATION if own is not None and not usable_at(own, self.state.now) else None

    def _common(self, nodes: Bitmap, usable: Bitmap) -> int:
        """Return how many of `nodes` are usable; a pass asks this of the same two sets again and again."""
        before, there, n = self._counted
        if before is not nodes or there is not usable:
            n = (usable & nodes).bit_count()
            self._counted = nodes, usable, n
        return n

    def find(
        self, record: Record, nodes: Bitmap, limit: int | None, by: Asker, layout: Mapping[int, int] | None = None
    ) -> tuple[Allocation | None, str | None]:
        """Return what the record's job could have now of `nodes`, and the limit that forbids it; both None for none.

        For `limit` seconds, or its own time (None), and with `layout` on those nodes. No rule forbids the start
        (`refusal`).
        """
        limits = self.accounting.limits
        # any choice of equal whole nodes gets the same verdict: to ask first saves choosing
        if limits is not None and layout is None and self._amount_known(record.request):
            held = limits.after_plan(record)
            if held is not None and self._are_enough(record, nodes):
                n = record.request.node_need
                self._note_found(record, by, n, n * record.request.cpus_each)
                return None, held
        seconds = limit
        if seconds is None:
            seconds = self.time_limit(record)
        alloc = self._place_for(record, nodes, seconds, layout)
        watts = self.state.watts
        if watts is not None and alloc is not None and not watts.allows(record.job, alloc):
            return None, None
        makes_room = self.preemption is not None and by.makes_room and layout is None
        if limits is not None and (alloc is not None or by.judges_request or makes_room):
            held = limits.after(record, alloc)
            if held is not None:
                if alloc is not None:
                    self._note_found(record, by, alloc.n_nodes, alloc.n_cpus)
                return None, held
        # after the limits, so that no job is stopped for one that a limit holds
        if alloc is None and makes_room:
            assert self.preemption is not None
            alloc = self.preemption.make_room(record, self.reach(record, nodes, seconds))
        return alloc, None

    def _place_for(
        self, record: Record, nodes: Bitmap, seconds: int, layout: Mapping[int, int] | None
    ) -> Allocation | None:
        """Return what the record's job could have now; a limit that moves with its size is kept free in full."""
        watts = self.state.watts
        longest = seconds
        while True:
            if layout is None:
                alloc = self.place_now(record, nodes, longest)
            else:
                alloc = self.lay_out_now(record, nodes, longest, layout)
            if alloc is None or watts is None or not self.state.reserved.all:
                return alloc
            moved = watts.limit_of_start(record.job, alloc.n_nodes, seconds)
            if moved <= longest:
                return alloc
            longest = moved

    def _amount_known(self, request: CompiledRequest) -> bool:
        """Return True if the request gets the same amounts from any free nodes.

        Limits are then tested before nodes are chosen. It is so with equal whole nodes, if no job of its groups can
        have a node already.
        """
        state = self.state
        return request.known_amount and not (state.reserved.all or state.suspended or state.watts is not None)

    def _are_enough(self, record: Record, nodes: Bitmap) -> bool:
        """Return True if `place_now` would find such a request its nodes."""
        free = self.state.free_to(record, nodes)
        if self.completing.nodes:
            free &= ~self.completing.nodes
        return self.state.selector.fits(record.request, free)

    def _note_found(self, record: Record, by: Asker, n_nodes: int, n_cpus: int) -> None:
        """Nodes were found for the record's job, and a limit forbids the start."""
        if by.learns:
            record.job.likely_nodes = n_nodes
            self.found_cpus.found(record.job, n_cpus)

    def granted(self, record: Record, by: Asker) -> int | None:
        """Return the time limit of a start now, seconds: what is left before the job's deadline; None: its own limit.

        Of those who do not ask about the deadline none cuts the limit to it either.
        """
        if record.job.deadline is None or DEADLINE not in by.rules:
            return None
        return self.deadlines.limit(record.job, self.time_limit(record))

    def licensed(self, record: Record) -> bool:
        """Return True if the licenses of the record's job are free now."""
        return not record.job.licenses or self.licenses.free(record.job, record.reservation)

    def looked_at(self, record: Record) -> bool:
        """Return True if backfill looks for nodes for the record."""
        return self.refusal(record, LOOK)[0] == MAY

    def time_limit(self, record: Record) -> int:
        """Return the seconds the record's job may take there: its own limit, else MaxTime."""
        return self.partition_limits.time_limit(record.job, record.partition)

    def being_made_room_for(self, job: Job) -> bool:
        """Return True if others were stopped for `job` in this pass or cycle: it is tried in no other partition."""
        return self.preemption is not None and job.id in self.preemption.in_progress

    def reach(self, record: Record, nodes: Bitmap, limit: int) -> Bitmap:
        """Return those of `nodes` that the record's job may use from now for `limit` seconds, in use or not."""
        nodes = self.state.free_to(record, nodes) & ~self.completing.nodes
        nodes = self.shared_with(record, nodes)
        if self.state.reserved.all:
            nodes &= self.reservations.access.examine(record, self.state.now, limit).nodes
        return nodes

    def shared_with(self, record: Record, nodes: Bitmap) -> Bitmap:
        """Return those of `nodes` that hierarchical resources in modes 1 and 2 let the record's job start on now."""
        layers = self.licenses.layers
        if layers is None or not record.job.licenses:
            return nodes
        return layers.open_to(record.job, record.reservation, nodes)

    def place_now(self, record: Record, nodes: Bitmap, limit: int) -> Allocation | None:
        """Nodes of `nodes` and shares of them for the record's job, free now for `limit` seconds; None for none."""
        layers = self.licenses.layers
        if layers is None or not record.job.licenses:
            return self._place_now(record, nodes, limit)
        nodes = layers.open_to(record.job, record.reservation, nodes)
        layers.table.at_present(layers.used)
        try:
            return self._place_now(record, nodes, limit)
        finally:
            layers.table.all_free()

    def _place_now(self, record: Record, nodes: Bitmap, limit: int) -> Allocation | None:
        state, limits = self.state, self.accounting.limits
        heavier = 0 if limits is None else limits.heavier(record)
        if self.completing.nodes:
            nodes &= ~self.completing.nodes
        if state.reserved.all:
            alloc = self.reservations.access.place(record, nodes, limit, heavier)
        else:
            alloc = state.selector.place(record.request, state.table, state.free_to(record, nodes), heavier=heavier)
        if alloc is None and state.suspended:
            alloc = self.suspension.beside(record.request, self.reach(record, nodes, limit))
        return alloc

    def lay_out_now(self, record: Record, nodes: Bitmap, limit: int, layout: Mapping[int, int]) -> Allocation | None:
        """Return what the nodes of a well-formed `layout` give the job now, for `limit` seconds; None: too little."""
        state = self.state
        free: FreeState = state.table
        if state.reserved.all:
            access = self.reservations.access
            free = access.trim(free, access.caps(record, state.now, limit))
        units = units_of(record.request, state.table)
        usable = self.reach(record, nodes, limit) & record.partition.mask
        return lay_out(record.request, units, layout, free, usable, state.selector)
