"""The plans of a cycle as sets of atoms (`slurmsim.kernel.cycle`): where jobs take whole equal nodes by
runs, or shares of nodes and have no other wishes."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from slurmsim.bitmap import Bitmap, runs, span
from slurmsim.kernel import compiled, load
from slurmsim.policy import RequestView, SharedNodes, SlurmRecord, SlurmView, WholeNodes
from slurmsim_policies.slurm_backfill.search import Found

Runs = Sequence[tuple[int, int]]
MOST_SETS = 256  # node sets that are remembered from cycle to cycle
MOST_REQUESTS = 8192
FEW_NODES = 500  # up to so many, each is an atom from the start where plans take nodes one by one
COMPILED = compiled("cycle")
kernel = load("cycle")
ASKS, UNSEEN, SEEN, BARRED = kernel.ASKS, kernel.UNSEEN, kernel.SEEN, kernel.BARRED


class KnownShapes:
    """What stays from cycle to cycle: what requests take of which nodes, and the memory of the kernel.

    Attributes
    ----------
    numbers
        The shape of a request. Shape k takes nodes of the set ``reaches[k]`` among ``bases[k]``, its partition's, at
        least ``needs[k]`` and at most ``mosts[k]`` of them; sets by their numbers.
    """

    def __init__(self) -> None:
        self.atoms = kernel.Atoms()
        self.cycle = kernel.Cycle(self.atoms)
        self.forget()

    def __reduce__(self) -> tuple[type[KnownShapes], tuple[()]]:
        return KnownShapes, ()  # a copy knows nothing yet

    def forget(self) -> None:
        """No request is known."""
        self._runs: list[Runs] = []
        self._sets: dict[Bitmap, int] = {}
        self.numbers: dict[RequestView, int] = {}
        self.bases: list[int] = []
        self.reaches: list[int] = []
        self.needs: list[int] = []
        self.mosts: list[int] = []

    def tidy(self) -> None:
        """Forget everything before it becomes too much."""
        if len(self._runs) > MOST_SETS or len(self.numbers) > MOST_REQUESTS:
            self.forget()

    def learn(self, record: SlurmRecord) -> int:
        """The shape of the record's request, which is new."""
        request = record.request
        most = request.most_needed
        shape = self.numbers[request] = len(self.needs)
        self.bases.append(self._set(record.partition.mask))
        self.reaches.append(self._set(request.candidates))
        self.needs.append(request.node_need if most >= 0 else -1)
        self.mosts.append(most)
        return shape

    def runs(self, number: int) -> Runs:
        """The set of that number."""
        return self._runs[number]

    def _set(self, mask: Bitmap) -> int:
        number = self._sets.get(mask)
        if number is None:
            number = self._sets[mask] = len(self._runs)
            self._runs.append(runs(mask))
        return number


class AtomPlans:
    """As `NodePlans`, on atoms.

    Parameters
    ----------
    known
        What stays from cycle to cycle.
    whole, shares
        The nodes and who holds them whole, or who places shares of them: one of the two.
    now, begin, end, resolution, window
        Seconds, as the cycle has them.
    space_size, max_test
        bf_node_space_size, bf_max_job_test.
    """

    def __init__(
        self, view: SlurmView, known: KnownShapes, whole: WholeNodes | None, shares: SharedNodes | None, now: int,
        begin: int, end: int, resolution: int, window: int, space_size: int, max_test: int,
    ) -> None:  # fmt: skip
        known.tidy()
        self.view, self.known = view, known
        self.shares = shares
        self.atoms, self.cycle = known.atoms, known.cycle
        self.cycle.clear()
        nodes: Any = whole or shares
        placement: Any = None
        idle = 0
        if shares is None:
            assert whole is not None
            idle = self._whole(whole)
        else:
            placement = shares.placement()
            self.atoms.restart(list(range(shares.n + 1)) if shares.n <= FEW_NODES else [0, shares.n])
        self.up = int(self.atoms.make(runs(nodes.up)))
        too_late = view.kill_wait + view.over_limit
        self.cycle.restart(
            self.up, idle, now, begin, end, resolution, window, nodes.window_linear, too_late, placement, nodes.n
        )
        self.space_size = space_size
        self.cycle.segments, self.cycle.stop_at = space_size, max_test
        self._sets: dict[int, int] = {}  # number of a known set -> the set, of nodes that are up
        self._told: dict[RequestView, int] = {}  # shapes the kernel has been told of

    def _whole(self, nodes: WholeNodes) -> int:
        """The atoms and the running jobs; the set of nodes without a job: as a rule those no running job holds."""
        cuts = {0, nodes.n}
        for _, _, _, held in nodes.holders:
            for first, length in held:
                cuts.add(first)
                cuts.add(first + length)
        self.atoms.restart(sorted(cuts))
        for end, job_id, size, held in nodes.holders:
            self.cycle.runs(end, job_id, size, held)
        idle = int(self.atoms.make_rest(0, len(nodes.holders)))
        if self.atoms.count(idle) == nodes.idle.bit_count():
            return idle
        return int(self.atoms.make(runs(nodes.idle)))

    @property
    def full(self) -> bool:
        """Whether the node space has as many segments as it may."""
        return int(self.cycle.n) >= self.space_size

    @property
    def put_behind(self) -> bool:
        """Whether a plan had to begin later than the future test says, because of another plan."""
        return bool(self.cycle.put_behind)

    def find(
        self, record: SlurmRecord, limit: int, *, begin: int = 0, now_only: bool = False, put_off: int | None = None
    ) -> Found | None:
        """Where the record's job goes (`Search.find`)."""
        cycle = self.cycle
        if self.shares is not None:
            self.shares.placement()
        kind = cycle.find(self._shape(record), limit, begin, now_only, -1 if put_off is None else put_off)
        if kind == kernel.NOTHING:
            return None
        start = int(cycle.start)
        if kind == kernel.START:
            return Found(start, self._nodes(cycle.here))
        if kind == kernel.ESTIMATE:
            return Found(start, 0)
        return Found(start, 0, int(cycle.first), int(cycle.last), self._nodes(cycle.chosen))

    def take(self, begin: int, end: int, nodes: Bitmap) -> None:
        """`nodes` are planned for, or held, over ``[begin, end)``."""
        self.cycle.take(begin, end, self.atoms.make(runs(nodes)))

    def started(self, record: SlurmRecord, begin: int, end: int) -> None:
        """The record's job runs, and holds its nodes over ``[begin, end)``."""
        job = record.job
        if self.shares is not None:
            self.shares.placement()
            if job.holds_whole_nodes:
                self.take(begin, end, job.nodes)
            return
        nodes = self.atoms.make(runs(job.nodes))
        job_end = job.end_limit
        assert job_end is not None
        self.cycle.started(job_end, job.id, nodes)
        self.cycle.take(begin, end, nodes)

    def could_start(self, record: SlurmRecord, limit: int) -> bool:
        """Whether the record's job would fit now, beside what is planned, for `limit` seconds."""
        return bool(self.cycle.could_start(self._shape(record), limit))

    def watch(self, records: Sequence[SlurmRecord], limits: Sequence[int], flags: Sequence[int]) -> None:
        """`records` are walked from now on, each for so many seconds and with these flags of `kernel`."""
        told, tell = self._told, self._tell
        shapes = array("q")
        for record in records:
            shape = told.get(record.request)
            shapes.append(tell(record) if shape is None else shape)
        self.cycle.watch(shapes, array("q", limits), array("q", flags))

    def walk(self, at: int, last: int, tests: int) -> tuple[int, int, int]:
        """Plan on from record `at`, with so many tests made: where it ends, the last to look at, and the tests made."""
        cycle = self.cycle
        if self.shares is not None:
            self.shares.placement()  # what it says holds until something starts
        cycle.tests = tests
        at = int(cycle.walk(at, last))
        return at, int(cycle.end_of_walk), int(cycle.tests)

    def _shape(self, record: SlurmRecord) -> int:
        """The shape of the record's request, of which the kernel knows then."""
        shape = self._told.get(record.request)
        return self._tell(record) if shape is None else shape

    def _tell(self, record: SlurmRecord) -> int:
        """The same, of which the kernel has to be told."""
        known, request = self.known, record.request
        shape = known.numbers.get(request)
        if shape is None:
            shape = known.learn(record)
        self._told[request] = shape
        base, reach = self._set(known.bases[shape]), self._set(known.reaches[shape])
        if self.shares is None:
            self.cycle.knows(shape, base, reach, known.needs[shape], known.mosts[shape])
        else:
            bound = self.view.earliest_possible(record)
            self.cycle.knows_share(shape, base, reach, request.columns, bound)
        return shape

    def _set(self, number: int) -> int:
        """The known set of that number, without nodes that are not up."""
        found = self._sets.get(number)
        if found is None:
            found = self._sets[number] = int(self.atoms.make(self.known.runs(number)))
            self.atoms.keep(found, self.up)
        return found

    def _nodes(self, s: int) -> Bitmap:
        mask = 0
        for first, length in self.atoms.runs(s):
            mask |= span(first, length)
        return mask
