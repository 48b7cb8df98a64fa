"""The plans of a cycle as sets of atoms (`slurmsim.kernel.cycle`).

The kernel itself tells where jobs go that take whole equal nodes by runs, or shares of nodes, and have no other wishes.
Of all others (`AtomPlans.knows`) `Search` does, beside the same plans.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from slurmsim.bitmap import Bitmap, runs
from slurmsim.kernel import compiled, constants, load
from slurmsim.policy import (
    LimitsView,
    LimitTests,
    RequestView,
    ReservedNodes,
    SharedNodes,
    SlurmJob,
    SlurmRecord,
    SlurmView,
    WholeNodes,
)
from slurmsim_policies.slurm_backfill.atom_space import AtomSpace, Nodes
from slurmsim_policies.slurm_backfill.search import Found, Search
from slurmsim_policies.slurm_backfill.walked_queue import WalkedQueue, Watched
from slurmsim_policies.slurm_backfill.who_runs import WhoRuns, in_order

Runs = Sequence[tuple[int, int]]
MOST_SETS: Final = 256  # node sets that are remembered from cycle to cycle
MOST_REQUESTS: Final = 8192
SPARE_RECORDS: Final = 1000  # ended ones may be so many before they are forgotten
FEW_NODES: Final = 500  # up to so many, each is an atom from the start where plans take nodes one by one
COMPILED: Final = compiled("cycle")
kernel, atoms_kernel, queue_kernel = load("cycle"), load("atoms"), load("queue")
limits_kernel = load("limits")


class Known:
    """What stays from cycle to cycle: what requests take of which nodes, the memory of the kernel, and the records.

    Parameters
    ----------
    resolution, window
        bf_resolution and bf_window, seconds.
    space_size, max_test, max_array
        bf_node_space_size, bf_max_job_test, bf_max_job_array_resv.
    """

    def __init__(self, resolution: int, window: int, space_size: int, max_test: int, max_array: int) -> None:
        self._options = resolution, window, space_size, max_test, max_array
        self.atoms = atoms_kernel.Atoms()
        queue = queue_kernel.Queue()
        self.cycle = kernel.Cycle(self.atoms, queue, resolution, window, space_size, max_test, max_array)
        self.runs = WhoRuns()  # who runs, where all is whole nodes
        # the queue as the kernel walks it, or each of its parts that a cycle plans on their own, as long as nothing is
        # edited
        self.queues: list[WalkedQueue] = []
        self.whole: set[SlurmRecord] = set()  # the records that get whole nodes only, as long
        self._sets: dict[Bitmap, int] = {}
        self._up: tuple[Bitmap, Runs] = (0, [])
        self._cuts = array("q", [0])
        self.numbers: dict[RequestView, int] = {}  # the shape of a request, as the kernel has learned it
        self.rules = limits_kernel.Limits()  # the kernel's limits, of which it has learned the `tests` by number
        self.tests: dict[LimitTests, int] = {}
        self._edits: Hashable = None
        self._in_whole = True

    def __reduce__(self) -> tuple[type[Known], tuple[int, ...]]:
        return Known, self._options  # a copy knows nothing yet

    def tidy(self, edits: Hashable, parts: Sequence[Sequence[SlurmRecord]]) -> None:
        """Forget the records if something was edited, and everything before it becomes too much for this queue."""
        full = len(self._sets) > MOST_SETS or max(len(self.numbers), len(self.tests)) > MOST_REQUESTS
        if full:
            self._sets.clear()
            self.numbers.clear()
            self.cycle.forget()
        if full or edits != self._edits:
            self.tests.clear()
            self.rules.forget()
            self.leave_queues()
        over = len(self.whole) - SPARE_RECORDS
        if full or edits != self._edits or (over > 0 and over > 2 * sum(map(len, parts))):
            self.whole.clear()
            self._edits = edits

    def all_whole(self, parts: Sequence[Sequence[SlurmRecord]]) -> bool:
        """Return True if all of these get whole nodes only."""
        for records in parts:
            if not self.whole.issuperset(records):
                new = [record for record in records if record not in self.whole]
                found = [record for record in new if record.request.whole]
                self.whole.update(found)
                if len(found) < len(new):
                    return False
        return True

    def tell_in(self, whole: bool) -> None:
        """Plans are made for whole nodes, or for shares: what the queues know was told for one of them."""
        if whole != self._in_whole:
            self._in_whole = whole
            self.leave_queues()

    def shape(self, record: SlurmRecord) -> int:
        """Return the shape of the record's request; the kernel knows it from then on."""
        request = record.request
        shape = self.numbers.get(request)
        if shape is None:
            shape = self.numbers[request] = len(self.numbers)
            most, asked = request.most_needed, request.columns
            need = request.node_need if most >= 0 else -1
            base, reach = self._set(record.partition.mask), self._set(request.candidates)
            self.cycle.learn(record.partition.index, base, reach, need, most, array("q") if asked is None else asked)
        return shape

    def limited(self, record: SlurmRecord, limits: LimitsView) -> int:
        """Return the number of a record's limits if it gets equal whole nodes without a choice; else that of none."""
        tests = limits.tests(record)
        if tests is None:
            return constants.UNLIMITED
        number = self.tests.get(tests)
        if number is None:
            number = self.tests[tests] = len(self.tests)
            self.rules.learn(tests.rows, tests.n_before, tests.n_early, tests.n_asked)
        return number

    def read(self, limits: LimitsView) -> Any:
        """Return the kernel's limits, which know what counts now."""
        self.rules.know(limits.gauges())
        return self.rules

    def restated(self, view: SlurmView) -> None:
        """Of who says or asks for something else, what is known holds no more."""
        edited, said = view.restated()
        for queue in self.queues:
            queue.restated(edited, said)

    def renew(self, queue: WalkedQueue, view: SlurmView, look_at: Callable[[SlurmRecord], Watched]) -> None:
        """Hear what the last decision changed: what was found for a record, others of its job or array show as well."""
        self.restated(view)
        queue.renew(look_at)

    def queue(self, number: int, n: int) -> WalkedQueue:
        """Return what is known of part `number` of the queue, which has `n` parts."""
        if n != len(self.queues):
            self.queues = [WalkedQueue(queue_kernel.Queue()) for _ in range(n)]
        return self.queues[number]

    def leave_queues(self) -> None:
        """Plans are made of which the queues do not hear."""
        self.queues.clear()

    def runs_of_up(self, up: Bitmap) -> Runs:
        """Return the runs of the usable nodes, as a rule those of the cycle before."""
        if up != self._up[0]:
            self._up = (up, runs(up))
        return self._up[1]

    def cuts_of(self, n: int) -> array[int]:
        """Return where the atoms of `n` nodes begin that are shared, as many as there are."""
        if self._cuts[-1] != n:
            self._cuts = array("q", range(n + 1) if n <= FEW_NODES else (0, n))
        return self._cuts

    def _set(self, mask: Bitmap) -> int:
        number = self._sets.get(mask)
        if number is None:
            number = self._sets[mask] = len(self._sets)
            self.cycle.learn_set(runs(mask))
        return number


class AtomPlans:
    """As `NodePlans`, on atoms.

    Parameters
    ----------
    search
        The search for jobs that the kernel does not know, with what is the same for all records of a cycle.
    known
        What stays from cycle to cycle.
    whole, shares
        The nodes and who holds them whole, or who places shares of them: one of the two.
    reserved
        The reservations; None where there are none.
    begin, end
        What the node space covers, seconds.
    """

    def __init__(
        self, view: SlurmView, search: Search, known: Known, whole: WholeNodes | None, shares: SharedNodes | None,
        reserved: ReservedNodes | None, begin: int, end: int,
    ) -> None:  # fmt: skip
        self.view, self.search, self.known = view, search, known
        self.shares = shares
        atoms, cycle = known.atoms, known.cycle
        self.cycle = cycle
        self.nodes = Nodes(atoms)
        self.space = AtomSpace(cycle, self.nodes)
        nodes: Any = whole or shares
        placement: Any = None
        idle = 0
        if whole is not None:
            running = known.runs.follow(whole)
            atoms.restart(running.cuts, running.n_cuts - 1)
            idle = self._hold(running, whole.idle)
        elif shares is not None:
            placement = shares.placement()
            cuts = known.cuts_of(shares.n)
            atoms.restart(cuts, len(cuts) - 1)
        self._changes = view.changes  # the kernel knows who runs since then
        # a start on nodes that are clean and may draw what they want fails for no other reason than its limits
        refusing = not view.completing and view.power is None and reserved is None
        cycle.restart(
            known.runs_of_up(nodes.up), idle, search.now, begin, end, nodes.window_linear,
            search.too_late, placement, nodes.n, refusing,
        )  # fmt: skip
        if whole is not None and whole.asleep:
            cycle.asleep = self.nodes.make(whole.asleep)
        if reserved is not None:
            self._reserve(reserved)
        self._searched: SlurmRecord | None = None  # the record the kernel has just searched for
        self._chosen: Bitmap = 0  # what the kernel has just chosen for a plan

    def _hold(self, running: Any, idle: Bitmap) -> int:
        """Tell the kernel the running jobs; return the set of nodes without a job, as a rule those that none holds."""
        made = int(self.cycle.hold(running, idle.bit_count()))
        return made if made >= 0 else self.nodes.make(idle)

    def _reserve(self, reserved: ReservedNodes) -> None:
        """Tell the kernel of the reservations."""
        periods = array("q")
        for start, end, nodes in reserved.periods:
            periods.extend((start, end, self.nodes.make(nodes)))
        self.cycle.reserve(periods, reserved.effects, reserved.ends)

    def walk(self, at: int, last: int) -> int:
        """Let the kernel walk on; return where it ends."""
        self._catch_up()  # what the kernel knows of who runs holds until something starts
        self._chosen, self._searched = 0, None
        return int(self.cycle.walk(at, last))

    def searched(self, record: SlurmRecord) -> None:
        """Take note that the kernel's walk ended with a search for `record`, which needs no second one."""
        self._searched = record

    def _catch_up(self) -> None:
        """Tell the kernel the running jobs if they changed: by preemption, nodes that boot, or started components."""
        if self.shares is not None:
            self.shares.placement()
        elif self._changes != self.view.changes:
            self._changes = self.view.changes
            whole = self.view.whole_nodes()
            assert whole is not None  # every job in this cycle gets whole nodes
            idle = self._hold(self.known.runs.follow(whole), whole.idle)
            self.cycle.renew(idle, self.nodes.make(whole.asleep) if whole.asleep else -1)

    @property
    def full(self) -> bool:
        """True if the node space has as many segments as it may."""
        return int(self.cycle.n) >= int(self.cycle.segments)

    @property
    def put_behind(self) -> bool:
        """True if a plan had to begin later than the future test says, because of another plan."""
        return bool(self.cycle.put_behind) or self.search.put_behind

    def knows(self, record: SlurmRecord) -> bool:
        """Return True if the kernel can tell where the record's job goes."""
        job, search = record.job, self.search
        if job.het is not None or record.reservation is not None:
            return False
        if job.licenses and (search.licenses is not None or search.reserved):
            return False
        if self.view.preempts and self.view.displaces(record):
            return False
        return record.request.by_runs if self.shares is None else self.shares.serves(record.request)

    def find(
        self, record: SlurmRecord, limit: int, *, begin: int = 0, now_only: bool = False, put_off: int | None = None
    ) -> Found | None:
        """Return where the record's job goes (`Search.find`)."""
        cycle = self.cycle
        self._chosen = 0
        if record is self._searched and not (begin or now_only) and put_off is None:
            kind = cycle.kind
        elif not self.knows(record):
            self._searched = None
            return self.search.find(record, limit, self.space, begin=begin, now_only=now_only, put_off=put_off)
        else:
            self._catch_up()
            kind = cycle.find(self.known.shape(record), limit, begin, now_only, -1 if put_off is None else put_off)
        self._searched = None
        if kind == constants.NOTHING:
            return None
        start = int(cycle.start)
        if kind == constants.START:
            return Found(start, self.nodes.of(cycle.here))
        if kind == constants.ESTIMATE:
            return Found(start, 0)
        self._chosen = self.nodes.of(cycle.chosen)
        return Found(start, 0, int(cycle.first), int(cycle.last), self._chosen)

    def take(self, begin: int, end: int, nodes: Bitmap) -> None:
        """`nodes` are planned for, or held, over ``[begin, end)``."""
        as_chosen = self._chosen == nodes and nodes != 0
        self.cycle.take(begin, end, self.cycle.chosen if as_chosen else self.nodes.make(nodes))

    def started(self, job: SlurmJob) -> None:
        """Take note that the job runs now."""
        if self.shares is not None or self.view.preempts or self.cycle.asleep >= 0:
            return  # who runs is told anew: others may have made way, or nodes be powered up
        end = job.end_limit
        assert end is not None
        self.cycle.started(end, in_order(job.id), self.nodes.make(job.nodes))
        self._changes = self.view.changes

    def could_start(self, record: SlurmRecord, limit: int) -> bool:
        """Return True if the record's job would fit now, beside what is planned, for `limit` seconds."""
        if not self.knows(record):
            return self.view.could_start(record, self.nodes.of(self.cycle.free_for(limit)))
        self._catch_up()
        return bool(self.cycle.could_start(self.known.shape(record), limit))
