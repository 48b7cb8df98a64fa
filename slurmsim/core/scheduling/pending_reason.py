"""Why no nodes were found for a job: busy ones, missing ones, or an impossible request (select_nodes, 22.05)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slurmsim.bitmap import Bitmap, runs
from slurmsim.core.accounting.limit_reasons import LIMIT_REASONS
from slurmsim.core.queue.partition_limits import by_tier
from slurmsim.core.records.job import AS_ASKED
from slurmsim.core.records.job_queue import Record
from slurmsim.core.reservations.access import MAINTENANCE, MAINTENANCE_TEXT, OPEN
from slurmsim.states import NO_UNIT_OF_SEGMENTS_TEXT, NO_UNIT_TEXT, Reason, is_held

if TYPE_CHECKING:
    from slurmsim.core.occupancy.node_states import NodeStates
    from slurmsim.core.placement.compiled_request import CompiledRequest
    from slurmsim.core.queue.partition_limits import PartitionLimits
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.partition import Partition
    from slurmsim.core.reservations.access import Access, ReservationAccess
    from slurmsim.core.state.controller_state import ControllerState


_BEFORE_THE_TEST: Final = (Reason.NONE, Reason.PRIORITY, Reason.DEPENDENCY, Reason.BEGIN_TIME)
_AFTER_THE_TEST: Final = LIMIT_REASONS | {
    Reason.RESOURCES, Reason.PARTITION_CONFIG, Reason.PARTITION_DOWN, Reason.RESERVATION
}  # fmt: skip


MOST_REMEMBERED: Final = 4096


class PendingReasons:
    """Names what stands between a job and its nodes."""

    def __init__(
        self, state: ControllerState, partition_limits: PartitionLimits, node_states: NodeStates,
        reserved: ReservationAccess,
    ) -> None:  # fmt: skip
        self.state, self._partition_limits, self._node_states = state, partition_limits, node_states
        self.reserved = reserved
        self._enough: dict[tuple[CompiledRequest, Bitmap], bool] = {}  # whether nodes could serve a request if free
        # nodes of exclusive jobs, and when they were computed
        self._taken: Bitmap = 0
        self._taken_at = -1
        self._watched = state.spec.watched
        self._hidden: dict[int, str] = {}  # what jobs say that wait for no nodes, but were found to lack them at first

    def classify(self, record: Record, usable: Bitmap, left: Bitmap) -> str:
        """Return why nothing was found: busy, not available, or impossible (select_nodes' second look).

        `left` are the nodes that jobs ahead in the pass do not wait for, reserved ones too: before 24.11 the others are
        named like nodes that are down.
        """
        state, request = self.state, record.request
        table = state.table
        group = request.candidates & usable & table.up
        if request.required and request.required & ~usable:
            return self._not_available(record.partition, request, left)
        if self._would_serve(request, group):
            return Reason.RESOURCES
        if not state.selector.possible(request):
            return Reason.BAD_CONSTRAINTS
        in_the_way = group & self._in_the_way(request)
        return Reason.RESOURCES if in_the_way else self._not_available(record.partition, request, left)

    def lacking(self, request: CompiledRequest, usable: Bitmap) -> str:
        """Return what a job says that finds busy nodes only: its network may be all that is in the way (26.05)."""
        state, tree = self.state, request.tree
        if tree is None or not tree.comes_first or request.required or not state.rules.names_network:
            return Reason.RESOURCES
        request.tree = None
        found = state.selector.place(request, state.table, usable)
        request.tree = tree
        if found is None:
            return Reason.RESOURCES
        return NO_UNIT_OF_SEGMENTS_TEXT if request.segments is not None else NO_UNIT_TEXT

    def _would_serve(self, request: CompiledRequest, group: Bitmap) -> bool:
        """Return True if the nodes `group` could serve `request` if no job had them."""
        key = request, group
        found = self._enough.get(key)
        if found is None:
            if len(self._enough) >= MOST_REMEMBERED:
                self._enough.clear()
            found = self._enough[key] = self.state.selector.could_serve(request, group)
        return found

    def _in_the_way(self, request: CompiledRequest) -> Bitmap:
        """Return the nodes closed to `request` by their jobs: exclusive jobs, or any job if the request is exclusive.

        With preemption there are none. Cores in use do not matter here (_pick_best_nodes, 22.05).
        """
        state = self.state
        if state.spec.option("PreemptType") != "preempt/none":
            return 0
        if request.exclusive:
            return state.table.everything & ~state.table.idle
        if self._taken_at != state.generation:
            self._taken_at, self._taken = state.generation, 0
            for _, _, job in (*state.running, *state.suspended):
                if job.request.exclusive:
                    self._taken |= job.nodes
        return self._taken

    def show_unavailable(self, job: Job) -> None:
        """Set the reason if no usable, unreserved node could ever run `job`, as sbatch's own test does.

        Nodes that are down are named, reserved ones are not, but for maintenance of the whole partition. Nothing is
        said about jobs in the way, or of a limit that is named already. A job that waits for another job or a time is
        asked as well. Of several partitions `show_busy` tells where anybody looks.
        """
        state = self.state
        if self._watched and len(job.partitions) > 1:
            return
        partition, request = by_tier(job)[0]
        limited = self._partition_limits.limit_reason(job, partition, request) is not None
        if limited or job.reason not in _BEFORE_THE_TEST:
            return
        access = self._access(job, partition, request)
        if access is not None and access.verdict == MAINTENANCE:
            self.show_until_a_pass(job, MAINTENANCE_TEXT)
            return
        usable = state.table.up & self._open_to(job, partition, request)
        if request.candidates & ~usable and state.selector.possible(request) and not self._would_serve(request, usable):
            self.show_until_a_pass(job, self._not_available(partition, request))

    def _open_to(self, job: Job, partition: Partition, request: CompiledRequest) -> Bitmap:
        """Nodes no reservation of others keeps from `job` for its time in `partition`; all where it has its own."""
        access = self._access(job, partition, request)
        return access.nodes if access is not None and access.verdict == OPEN else self.state.table.everything

    def _access(self, job: Job, partition: Partition, request: CompiledRequest) -> Access | None:
        """Return what reservations of others leave `job` for its time in `partition`; None where it has its own."""
        if not self.state.reserved.all:
            return None
        records = self.state.queue.jobs.get(job.id, ())
        record = next((one for one in records if one.partition is partition), None)
        if record is None:  # not in the queue
            own = job.reservations[0] if job.reservations else None
            record = Record(job, partition, request, job.priority, False, own)
        if record.reservation is not None:
            return None
        return self.reserved.examine(record, self.state.now, self._partition_limits.time_limit(job, partition))

    def watch(self, watched: bool) -> None:
        """Show from now on, or do not show, what the tests of submissions find."""
        self._watched = watched

    def show_busy(self, job: Job) -> None:
        """Set the pending reason that sbatch's own test of `job` finds.

        The test fails if exclusive jobs and reservations leave too few nodes, or not all nodes that the job names. It
        also fails if other users' jobs run on nodes that one user has to himself. If too few nodes are usable and
        unreserved, that is the reason instead; named nodes are tested before running jobs are. The queue ahead does not
        matter. A job that waits for another job or a begin time gets such a reason too, until the next pass.

        With several partitions, the one of the highest tier is tested first, whatever its time limit. The next one is
        tested only if the job could never run in the first (_select_nodes_parts, _select_nodes_parts_resvs,
        select_nodes). The reason found for an earlier partition stays.
        """
        if not self._watched or job.reason not in _BEFORE_THE_TEST:
            return
        said = ""
        for partition, request in by_tier(job):
            if len(job.partitions) > 1:
                never = self._never(job, partition, request)
                if never is not None:
                    said = never or said
                    continue
            if partition.state != "UP":
                if len(job.partitions) == 1:
                    return
                outcome = Reason.PARTITION_DOWN
            else:
                outcome = self._looked(job, partition, request)
            job.foremost = AS_ASKED if outcome else partition.index
            if outcome or said:
                self.show_until_a_pass(job, outcome or said)
            return
        if said:
            job.foremost = AS_ASKED
            self.show_until_a_pass(job, Reason.PARTITION_CONFIG if said == Reason.PARTITION_NODE_LIMIT else said)

    def _never(self, job: Job, partition: Partition, request: CompiledRequest) -> str | None:
        """Return the reason if `job`, of several partitions, could never run in this one; None if it could."""
        if request.required & ~partition.mask or (job.bars is not None and partition.index in job.bars):
            return ""
        limit = self._partition_limits.limit_reason(job, partition, request)
        if limit in self.state.rules.but_limits:
            return ""
        most = request.part_max_nodes
        if limit == Reason.PARTITION_NODE_LIMIT and (
            request.max_nodes < request.min_nodes or (most is not None and request.min_nodes > most)
        ):
            return limit
        if request.min_nodes > partition.total_nodes or limit in (Reason.PARTITION_CONFIG, Reason.MAX_MEM_PER_LIMIT):
            return Reason.RESOURCES
        if _enough(request, request.candidates):
            return None
        return Reason.RESOURCES if request.candidates else ""

    def _looked(self, job: Job, partition: Partition, request: CompiledRequest) -> str:
        """Return the reason that the nodes of `partition`, which is up, do not serve; "" if they do."""
        state = self.state
        available = state.table.up & self._open_to(job, partition, request)
        if request.required and request.required & ~available:
            return self._not_available(partition, request)
        nodes, in_the_way = request.candidates & available, self._in_the_way(request)
        if not nodes & in_the_way and not self._would_serve(request, nodes) and _enough(request, request.candidates):
            return self._not_available(partition, request)
        closed = state.exclusive_users.closed_to(job, partition) if state.exclusive_users is not None else 0
        if request.required & nodes & (closed | ~state.table.idle & in_the_way):
            return Reason.RESOURCES
        nodes &= ~closed
        for some in (nodes & state.table.idle, nodes & ~in_the_way):
            if self._would_serve(request, some):
                return ""
        return Reason.RESOURCES if _enough(request, request.candidates) else ""

    def show_limit(self, job: Job) -> None:
        """Set the reason to a limit of the only partition, where sbatch's own test ends (_select_nodes_parts).

        Whichever it is, but that since 24.11 it goes on at most of them. The next pass names the limit; that the
        partition is down it names itself.
        """
        rules = self.state.rules
        if not self._watched or len(job.partitions) > 1:
            return
        limit = self._partition_limits.limit_reason(job, job.partition, job.request)
        if limit in (None, Reason.PARTITION_DOWN) or (rules.tries_over_limits and limit not in rules.but_limits):
            return
        self.show_until_a_pass(job, Reason.PARTITION_CONFIG)

    def show_until_a_pass(self, job: Job, reason: str) -> None:
        """Show the reason of sbatch's own test; if `job` waits for a job or a time, only until the next pass."""
        if not job.queued:
            self.again_in_a_pass(job, job.reason)
        self.state.set_reason(job, reason)

    def again_in_a_pass(self, job: Job, reason: str) -> None:
        """In the next pass `job` says `reason` again, which it said before sbatch's own test."""
        if self._watched and reason != Reason.NONE:
            self._hidden.setdefault(job.id, reason)

    def show_down(self, job: Job) -> None:
        """Set the reason if sbatch's own test ends at a partition that is down, even if the job waits for another."""
        if job.queued or job.reason in (Reason.NONE, Reason.BEGIN_TIME, Reason.DEPENDENCY):
            self.show_until_a_pass(job, Reason.PARTITION_DOWN)

    def show_as_before(self, job: Job, reason: str) -> None:
        """`job`, which had ended and was requeued, says what it said at its end until a pass looks at it."""
        if self._watched and not job.queued and reason != Reason.NONE:
            self.show_until_a_pass(job, reason)

    def show_hidden(self) -> None:
        """Show again, as a pass begins, that jobs wait for a job or a time."""
        if not self._hidden:
            return
        state = self.state
        for job_id, reason in self._hidden.items():
            job = state.jobs.get(job_id)
            if job is None or job.queued or is_held(job.reason):
                continue
            of_the_test = job.reason in _AFTER_THE_TEST or job.reason.startswith(Reason.REQ_NODE_NOT_AVAIL)
            if of_the_test or job.restarts:  # it may be what sbatch's own test found
                state.set_reason(job, reason)
        self._hidden.clear()

    def _not_available(self, partition: Partition, request: CompiledRequest, left: Bitmap = -1) -> str:
        state = self.state
        missing = partition.mask & ~(state.table.up & left)
        if request.required:
            missing &= request.required
        if state.rules.drained_unnamed:
            missing &= self._node_states.down
        if not missing:
            return f"{Reason.REQ_NODE_NOT_AVAIL}, May be reserved for other job"
        names = state.cluster.namer.runs(runs(missing))
        return f"{Reason.REQ_NODE_NOT_AVAIL}, UnavailableNodes:{names}"


def _enough(request: CompiledRequest, nodes: Bitmap) -> bool:
    """Return True if `nodes` are as many as `request` needs, side by side if it wants them so."""
    if not request.contiguous:
        return nodes.bit_count() >= request.min_nodes
    return any(length >= request.min_nodes for _, length in runs(nodes))
