"""What a job may use in view of the reservations: which nodes, which part of them, and from when on.

Mirrors reservation.c job_test_resv (22.05), which both the main pass and backfill ask. A job outside may not use whole
reserved nodes if the reservation begins before its limit is reached; of nodes reserved in part it gets the rest. A job
inside gets the reservation's nodes and nothing else (FLEX: any nodes, at any time, its own preferred).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import TYPE_CHECKING, Final

from slurmsim.bitmap import Bitmap
from slurmsim.core.placement.free_state import FreeState, Supposed
from slurmsim.core.records.allocation import Allocation
from slurmsim.core.records.job_queue import Record
from slurmsim.core.records.partition import Partition
from slurmsim.core.records.reservation import Reservation
from slurmsim.data_classes import dataclass
from slurmsim.kernel.constants import CLOSED, TOUCHED, UNTOUCHED
from slurmsim.states import Reason

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.core.reservations.licenses import Licenses
    from slurmsim.core.state.controller_state import ControllerState

# why nothing may be used
OPEN: Final = ""
MAINTENANCE: Final = "maintenance"
BUSY: Final = "busy"
NOT_USABLE: Final = "not usable"
INVALID: Final = "invalid"
MAINTENANCE_TEXT: Final = f"{Reason.REQ_NODE_NOT_AVAIL}, Reserved for maintenance"
MAX_MOVES: Final = 10  # how often a start is moved behind a reservation before slurmctld gives up


@dataclass(slots=True)
class Access:
    """An answer: from `start` on the nodes of `nodes`, unless `verdict` says why not.

    `overlap`: some reservation of others touches the partition (or the job's own) then.
    """

    verdict: str
    start: int
    nodes: Bitmap
    overlap: bool


def effect_on(partition: Partition, r: Reservation) -> int:
    """Return what a reservation of nodes does, while it lasts, to jobs of `partition` that are not in it.

    `slurmsim.kernel.constants.UNTOUCHED`, `TOUCHED`: they do without its nodes, or `CLOSED`: they wait for its end.
    """
    all_of_it = "PART_NODES" in r.flags and r.partition is partition
    if "ALL_NODES" in r.flags or all_of_it or ("MAINT" in r.flags and not partition.mask & ~r.nodes):
        return CLOSED
    return TOUCHED if r.nodes & partition.mask else UNTOUCHED


class ReservationAccess:
    """Answers for one controller."""

    def __init__(self, state: ControllerState, licenses: Licenses, privileged: Container[str]) -> None:
        self.state, self._licenses, self._privileged = state, licenses, privileged

    def examine(self, record: Record, when: int, limit: int, *, move: bool = False) -> Access:
        """Return what `record`'s job may use over [when, when + limit); `move` lets the start come later if it must."""
        if record.reservation is not None:
            return self._inside(record, record.reservation, when, limit)
        start = when
        for _ in range(MAX_MOVES + 1):
            found, later = self._outside(record, start, limit)
            if found.verdict == OPEN and move:
                found, later = self._wait_for_licenses(record, found, limit)
            if found.verdict == OPEN or not move or later <= start:
                return found
            start = later
        return found

    def _outside(self, record: Record, start: int, limit: int) -> tuple[Access, int]:
        request, partition = record.request, record.partition
        nodes, overlap = self.state.table.everything, False
        for r in self.state.reserved.all:
            if not r.nodes or not r.covers(start, start + limit):
                continue
            effect = effect_on(partition, r)
            if effect == CLOSED:
                return Access(MAINTENANCE, start, 0, True), r.end
            if request.whole and request.required & r.nodes:
                return Access(BUSY, start, 0, True), r.end
            if r.full or request.whole:
                nodes &= ~r.nodes
            if effect == TOUCHED:
                overlap = True
        return Access(OPEN, start, nodes, overlap), 0

    def left_to(self, job: Job, until: int) -> Bitmap:
        """Nodes reservations leave to running `job` for its own from now until then."""
        if not self.state.reserved.all:
            return self.state.table.everything
        record = Record(job, job.partition, job.request, job.priority, False, job.reservation)
        return self.examine(record, self.state.now, max(until - self.state.now, 1)).nodes

    def next_begin(self, record: Record, nodes: Bitmap) -> int | None:
        """Return the first begin to come of a reservation of others with some of `nodes`, or of the job's licenses.

        Flags and cores do not matter (job_time_adj_resv).
        """
        names = {name for name, _ in record.job.licenses}
        begins = [
            r.start for r in self.state.reserved.all
            if r is not record.reservation and r.start > self.state.now
            and (r.nodes & nodes or any(name in names for name, _ in r.licenses))
        ]  # fmt: skip
        return min(begins, default=None)

    def _wait_for_licenses(self, record: Record, found: Access, limit: int) -> tuple[Access, int]:
        """Licenses reservations keep: not before the first of those reservations ends."""
        job, state = record.job, self.state
        if not job.licenses or "bf_licenses" in state.spec.scheduler_parameters or self._licenses.free(job):
            return found, 0
        names = {name for name, _ in job.licenses}
        ends = [
            r.end for r in state.reserved.all
            if r.covers(found.start, found.start + limit) and any(name in names for name, _ in r.licenses)
        ]  # fmt: skip
        return Access(BUSY, found.start, 0, found.overlap), min(ends, default=0)

    def _lets_start(self, record: Record, own: Reservation) -> bool:
        """Return True if its own reservation takes jobs of its QOS from its partition; SlurmUser's are always taken."""
        job = record.job
        return own.lets_start(job.qos, record.partition.name) or job.user in self._privileged

    def _inside(self, record: Record, own: Reservation, when: int, limit: int) -> Access:
        if not self._lets_start(record, own):
            return Access(INVALID, when, 0, False)
        anywhere = not own.flags.isdisjoint(("FLEX", "ANY_NODES"))
        if "FLEX" not in own.flags:
            attracted = own not in record.job.reservations
            if attracted and self.state.rules.attracts_what_fits and when + limit > own.end:
                return Access(INVALID, when, 0, False)
            # a reservation that has lost all its nodes counts as one still to begin
            if when < own.start or not (own.nodes or anywhere):
                return Access(NOT_USABLE, own.start, 0, False)
            if when > own.end or (record.request.required & ~own.nodes and not anywhere):
                return Access(INVALID, when, 0, False)
        nodes = self.state.table.everything if anywhere else own.nodes
        overlap = False
        if "MAINT" not in own.flags:
            for r in self.state.reserved.all:
                if r is own or not r.full or not r.nodes & nodes or not r.covers(when, when + limit):
                    continue
                if "OVERLAP" in own.flags and "MAINT" not in r.flags:
                    continue
                overlap = True
                nodes &= ~r.nodes
        if own.cores is not None and record.request.whole and "FLEX" not in own.flags:
            nodes = 0  # a whole node is more than there is
        return Access(OPEN, when, nodes, overlap)

    # -- parts of nodes -------------------------------------------------------------------------------------------

    def caps(self, record: Record, when: int, limit: int) -> list[tuple[Reservation, bool]]:
        """Reservations of cores that matter to `record`'s job then, and whether it is the job's own."""
        own = record.reservation
        if own is not None:
            return [(own, True)] if own.cores is not None and "FLEX" not in own.flags else []
        return [(r, False) for r in self.state.reserved.partial if r.covers(when, when + limit)]

    def trim(self, free: FreeState, caps: list[tuple[Reservation, bool]], gone: int = 0) -> FreeState:
        """`free` with its free CPUs reduced to what reservations of cores leave; `gone` running jobs are not there."""
        if not caps:
            return free
        state = free.copy() if isinstance(free, Supposed) else Supposed(self.state.table)
        state.free_cpus = state.free_cpus.copy()
        cpus = state.free_cpus
        if state.cores is not None:
            state.cores = state.cores.keeping(self._kept_cores(caps))
        for r, inside in caps:
            held = self._held(r, gone)
            assert r.cores is not None
            for node, reserved in r.cores.items():
                unused = max(reserved - held.get(node, 0), 0)
                cpus[node] = min(cpus[node], unused) if inside else max(cpus[node] - unused, 0)
        return state

    def _kept_cores(self, caps: list[tuple[Reservation, bool]]) -> dict[int, int]:
        """Return the cores that reservations keep from a job if cores are shared; its own leaves it no others there."""
        assert self.state.table.cores is not None
        size = self.state.table.cores.size
        kept: dict[int, int] = {}
        for r, inside in caps:
            for node, cores in r.core_bits.items():
                kept[node] = kept.get(node, 0) | ((1 << size[node]) - 1 & ~cores if inside else cores)
        return kept

    def _held(self, r: Reservation, gone: int) -> Mapping[int, int]:
        """CPUs its jobs hold, by node."""
        held: dict[int, int] = {}
        for _, _, job in self.state.holders.occupants()[gone:]:
            if job.reservation is r and job.alloc is not None:
                a = job.alloc
                counts = [a.cpus] * a.n_nodes if isinstance(a.cpus, int) else a.cpus.tolist()
                for node, count in zip(a.indices().tolist(), counts, strict=True):
                    held[node] = held.get(node, 0) + count
        return held

    def trimmer(self, record: Record, when: int, limit: int) -> Callable[[FreeState, int], FreeState] | None:
        """Return how the future test must trim its suppositions, None if not at all."""
        caps = self.caps(record, when, limit)
        if not caps:
            return None
        return lambda free, gone: self.trim(free, caps, gone)

    def too_small(self, record: Record) -> bool:
        """Return True if a main pass skips the record: it would join a reservation by itself, and cannot fit there."""
        own = record.reservation
        if own is None or not own.nodes or ("FLEX" not in own.flags and record.job.reservations):
            return False
        return (own.nodes & record.partition.mask).bit_count() < record.request.target_nodes

    def could_serve(self, record: Record) -> bool:
        """Return False if nothing that the job may use in its reservation, if that is active, could ever serve it.

        A job is refused then when it is submitted (job_test_resv and select_nodes).
        """
        state, own = self.state, record.reservation
        if own is not None and not self._lets_start(record, own):
            return False
        if own is None or not own.start <= state.now < own.end:
            return True
        found = self.examine(record, state.now, record.job.time_limit_s)
        if found.verdict != OPEN or found.overlap:
            return found.verdict != INVALID
        return self._on_empty(record, found.nodes, state.now) is not None

    def _on_empty(self, record: Record, reach: Bitmap, now: int) -> Allocation | None:
        """Nodes and shares inside `reach` if no job ran."""
        state = self.state
        caps = self.caps(record, now, record.job.time_limit_s)
        empty = self.trim(Supposed.empty(state.table), caps, len(state.running))
        return state.selector.place(record.request, empty, reach)

    # -- now ------------------------------------------------------------------------------------------------------

    def place(self, record: Record, within: Bitmap, limit: int, heavier: Bitmap = 0) -> Allocation | None:
        """Nodes and shares for `record`'s job inside `within`, started now with that limit; None if there are none."""
        state, own = self.state, record.reservation
        found = self.examine(record, state.now, limit)
        if found.verdict != OPEN:
            return None
        free: FreeState = state.table
        if own is not None and state.event_driven:
            free = Supposed(state.table)
            free.up = state.table.everything & ~state.unusable
        free = self.trim(free, self.caps(record, state.now, limit))
        prefer = own.nodes if own is not None and "FLEX" in own.flags else 0
        within = state.free_to(record, found.nodes & within)
        return state.selector.place(record.request, free, within, prefer=prefer, heavier=heavier)

    def classify(self, record: Record, usable: Bitmap, judge: Callable[[Record, Bitmap], str]) -> str:
        """Return why `place` found nothing, as the reason to show; `judge` does that for a set of nodes."""
        state, own = self.state, record.reservation
        now, limit = state.now, record.job.time_limit_s
        found = self.examine(record, now, limit)
        if found.verdict == NOT_USABLE:
            return Reason.RESERVATION
        if found.verdict == INVALID:
            return Reason.BAD_CONSTRAINTS
        if own is not None and found.overlap and not found.nodes:
            return MAINTENANCE_TEXT
        reach = found.nodes if own is not None else state.table.everything
        if self._on_empty(record, reach, now) is None:
            if found.overlap:  # whether other nodes could ever serve it is not asked (_pick_best_nodes)
                return Reason.RESERVATION
            if state.selector.possible(record.request):
                return Reason.BAD_CONSTRAINTS
        outcome = judge(record, found.nodes & usable)
        if found.verdict == MAINTENANCE and outcome.startswith(Reason.REQ_NODE_NOT_AVAIL):
            return MAINTENANCE_TEXT
        return outcome
