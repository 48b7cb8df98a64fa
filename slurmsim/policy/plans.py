"""Plans and node spaces: what a policy needs that plans jobs on nodes (`slurmsim.capacity.NodeSpace`)."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, Protocol

from slurmsim.bitmap import Bitmap
from slurmsim.policy.cluster import JobView, RecordView
from slurmsim.policy.pools import Forecast, PoolsView


class RequestView(Protocol):
    """What a job asks for, as one partition's nodes and limits make of it; equal requests are one object.

    Attributes
    ----------
    units
        "node" or "cpu" where only a number of interchangeable ones matters, else None.
    min_nodes, min_cpus
        The least it takes.
    node_need
        Nodes it takes where it gets whole ones.
    required
        Nodes it names (--nodelist).
    elastic
        Whether it takes more nodes than it must when they are free.
    by_runs
        Whether it gets equal whole nodes, those of the tightest run that has enough: `node_need`, or, of a job that
        takes more when they are free, up to `most_needed`, which is -1 where it may not have as many as it needs.
    known_amount
        Whether it gets the same of any nodes that suffice: equal whole ones, of which nothing else is asked.
    candidates
        Nodes of the partition that could serve it, whatever runs on them.
    whole
        Whether it gets whole nodes only.
    columns
        What it asks of shares of nodes, as `slurmsim.kernel.placement` has it; None where it has other wishes.
    """

    @property
    def by_runs(self) -> bool: ...
    @property
    def known_amount(self) -> bool: ...
    @property
    def most_needed(self) -> int: ...
    @property
    def columns(self) -> array[int] | None: ...
    @property
    def candidates(self) -> Bitmap: ...
    @property
    def whole(self) -> bool: ...

    @property
    def units(self) -> str | None: ...
    @property
    def min_nodes(self) -> int: ...
    @property
    def min_cpus(self) -> int: ...
    @property
    def node_need(self) -> int: ...
    @property
    def required(self) -> Bitmap: ...
    @property
    def elastic(self) -> bool: ...


class PlannedRecord(RecordView, Protocol):
    """A record and its `request`; `shape` is what that was called up to release 0.5, warns, and goes with the next one.

    `single`: its job has no other record and asks for nothing but nodes and what is on them; it may be a task of an
    array. `alone`: it is `single`, is of no array, and counting nodes decides whether it fits.
    """

    @property
    def request(self) -> RequestView: ...
    @property
    def shape(self) -> RequestView: ...
    @property
    def single(self) -> bool: ...
    @property
    def alone(self) -> bool: ...


class WholeNodes(Protocol):
    """Who holds which nodes, where all is whole nodes.

    Attributes
    ----------
    n
        Nodes of the cluster.
    up, idle, asleep
        Those that are neither down nor drained, those without a job, and those that are powered down.
    running
        (end it is planned with, id, job) of the running jobs, ascending; the same object as long as it runs so.
    window_linear
        bf_window_linear, seconds.
    """

    @property
    def n(self) -> int: ...
    @property
    def up(self) -> Bitmap: ...
    @property
    def idle(self) -> Bitmap: ...
    @property
    def asleep(self) -> Bitmap: ...
    @property
    def running(self) -> Sequence[tuple[int, int, JobView]]: ...
    @property
    def window_linear(self) -> int: ...
    def runs_of(self, job: JobView) -> Sequence[tuple[int, int]]:
        """Return the nodes of a running job as runs (first, length)."""


class SharedNodes(Protocol):
    """The nodes where jobs have shares of them.

    Attributes
    ----------
    n, up, window_linear
        As `WholeNodes` has them.
    """

    @property
    def n(self) -> int: ...
    @property
    def up(self) -> Bitmap: ...
    @property
    def window_linear(self) -> int: ...

    def placement(self) -> Any:
        """`slurmsim.kernel.placement.Nodes` as things are now: ask again after a start."""

    def serves(self, request: Any) -> bool:
        """Return True if it can say where a request goes."""


class ReservedNodes(Protocol):
    """Reservations of whole nodes, as those who are in none see them.

    Attributes
    ----------
    periods
        (start, end, nodes) of those that have nodes.
    effects
        What each does to jobs of each partition (`slurmsim.kernel.constants.UNTOUCHED`, …), partition by partition.
    ends
        When reservations end, of nodes or not.
    """

    @property
    def periods(self) -> Sequence[tuple[int, int, Bitmap]]: ...
    @property
    def effects(self) -> array[int]: ...
    @property
    def ends(self) -> array[int]: ...


class PlansView(PoolsView, Protocol):
    """The cluster and what will come of it."""

    def available(self) -> Bitmap:
        """Return nodes that are neither down nor drained."""

    @property
    def free_nodes_or_mixed(self) -> int:
        """Usable nodes that are not taken whole."""

    def next_limit(self, now: int) -> int | None:
        """Return the next instant after `now` at which a running job reaches its limit, None if there is none."""

    def closed(self) -> Sequence[tuple[int, int, Bitmap]]:
        """Reservations and maintenance, now and to come: (start, end, nodes)."""

    def could_start(self, record: RecordView, within: Bitmap) -> bool:
        """Return True if the record's job would fit now on the nodes of `within`."""

    def last_fitting(self, records: Sequence[RecordView]) -> int:
        """Index of the last of `records` that would fit into what is free now, as `pools` say, and that no limit bars.

        -1 if none would.
        """

    def earliest_possible(self, record: RecordView) -> int:
        """Return an instant before which no plan can let the record's job start, as far as counting nodes tells."""

    def too_few_by(self, record: RecordView, within: Bitmap, time: int) -> bool:
        """Return True if counting is enough to tell that `future` would name an instant after `time`."""

    def future(
        self, record: RecordView, within: Bitmap, when: int = 0, limit: int = 0, following: int = 0
    ) -> Forecast | None:
        """Slurm's future test: earliest start on the nodes of `within`, running jobs taken away in order of end.

        A start at `when` is tried, for `limit` seconds, and after it one at `following` (0: none): that says which
        reservations of parts of nodes matter, and, where it `tests_from_try`, all that is asked.
        """

    @property
    def tries_arrays_twice(self) -> bool:
        """True if tasks of an array are tried without what they prefer once none was found with it (Slurm 23.02)."""

    @property
    def tests_from_try(self) -> bool:
        """True if the future test is about the instant it tries (Slurm 24.11), and not about any later one."""

    def marks(self, kept: Bitmap) -> bool:
        """Return True if a cycle that has `kept` nodes for plans marks one of them: that is news to the next cycle."""

    @property
    def minimum_extended(self) -> bool:
        """True if what is started with a minimum time gets as long a limit as the plans leave it (26.05)."""

    def whole_nodes(self) -> WholeNodes | None:
        """Return who holds which nodes, where all is whole nodes that jobs take by runs; None elsewhere.

        As it is now; it does not change as jobs start.
        """

    @property
    def only_whole(self) -> bool:
        """True if every job gets whole nodes: because of the configuration, or because no job asks for less."""

    def shared_nodes(self) -> SharedNodes | None:
        """Return the nodes if the kernel places shares of them; else None."""

    @property
    def changes(self) -> int:
        """How often who runs, until when, or which nodes are usable has changed: what was known of them is old then."""

    def reserved_nodes(self) -> ReservedNodes | None:
        """Return the reservations as jobs in none of them see them; None if some are of parts of nodes."""

    # -- who must make way

    @property
    def preempts(self) -> bool:
        """True if jobs may have to make way for others."""

    def displaces(self, record: RecordView) -> bool:
        """Return True if preempting running jobs would let the record's job start now."""

    def preempting(self, record: RecordView) -> bool:
        """Return True if others were stopped for the record's job in this pass: it is tried in no other partition."""

    def keeps_nodes(self, job: JobView) -> bool:
        """Return True if the node space of backfill leaves out the nodes of running `job`."""
