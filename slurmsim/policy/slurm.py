"""Slurm's own rules: limits of accounts and QOS, reservations, licenses, deadlines. `sched/backfill` needs them."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Mapping, Sequence
from typing import Protocol

from slurmsim.bitmap import Bitmap
from slurmsim.policy.cluster import JobView, RecordView
from slurmsim.policy.layouts import LayoutsView
from slurmsim.policy.plans import PlannedRecord, PlansView
from slurmsim.policy.power import PowerView


class SlurmJob(JobView, Protocol):
    """A job with what Slurm's plugins ask of it.

    Attributes
    ----------
    array_key, array_task_id
        The job id of its array (its own outside of one), and its place there or None.
    licenses
        (name, count) it asks for.
    time_min_s
        --time-min in seconds, None without.
    deadline
        --deadline, None without.
    het
        The id of the leader and the number of components of its heterogeneous job; None: it is none's.
    planned_start, planned_nodes
        As last decided by a `Plan`.
    """

    @property
    def array_key(self) -> int: ...
    @property
    def array_task_id(self) -> int | None: ...
    @property
    def licenses(self) -> Sequence[tuple[str, int]]: ...
    @property
    def time_min_s(self) -> int | None: ...
    @property
    def deadline(self) -> int | None: ...
    @property
    def het(self) -> tuple[int, int] | None: ...
    @property
    def planned_start(self) -> int | None: ...
    @property
    def planned_nodes(self) -> Bitmap: ...


class SlurmRecord(PlannedRecord, Protocol):
    """A job in one of its partitions and, if it asked for some, one of its reservations.

    `unreserved`: its QOS lets backfill keep no place for it (NoReserve). `preferred`: it tries the features its job
    prefers, now or never; another record does without them.
    """

    @property
    def job(self) -> SlurmJob: ...
    @property
    def reservation(self) -> Hashable: ...
    @property
    def unreserved(self) -> bool: ...
    @property
    def preferred(self) -> bool: ...


class LayerView(Protocol):
    """A layer of a hierarchical resource: its nodes, and how many of the resource they share.

    Attributes
    ----------
    mode
        1: a job takes its count from one layer; 2: from each layer its nodes are in; 3: from each, once a node.
    count
        How many jobs may have together; None for any number.
    """

    @property
    def resource(self) -> str: ...
    @property
    def mode(self) -> int: ...
    @property
    def nodes(self) -> Bitmap: ...
    @property
    def count(self) -> int | None: ...


class Access(Protocol):
    """What reservations leave: from `start` on the nodes of `nodes`, unless `verdict` says why nothing.

    `overlap`: some reservation of others touches the partition (or the job's own) then.
    """

    @property
    def verdict(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def nodes(self) -> Bitmap: ...
    @property
    def overlap(self) -> bool: ...


class LimitTests(Protocol):
    """The limits of equal jobs as integers, which sums decide (`slurmsim.kernel.limits`).

    Attributes
    ----------
    rows
        Four integers a limit: column of `LimitsView.gauges`, amount, most, and the number of the reason to show,
        negative where other nodes may do. It is broken if what the column reads and the amount are more than most.
    n_before, n_early, n_asked
        Rows before nodes are looked for, of the least number of nodes, and of what the jobs ask for; the others are
        those of a plan.
    """

    @property
    def rows(self) -> array[int]: ...
    @property
    def n_before(self) -> int: ...
    @property
    def n_early(self) -> int: ...
    @property
    def n_asked(self) -> int: ...


class LimitsView(Protocol):
    """Limits of associations, QOS and partition QOS; each answer is the reason to show, or None."""

    @property
    def stop(self) -> bool:
        """assoc_limit_stop: a limited job blocks its partition."""

    def before(self, record: RecordView) -> str | None:
        """Return the limit that forbids to even look for nodes."""

    def too_many_nodes(self, record: RecordView) -> str | None:
        """Return the node limit below the least number of nodes the job needs."""

    def after(self, record: RecordView, alloc: None, nodes: Bitmap = 0) -> str | None:
        """Return the limit a plan on `nodes` would break."""

    def after_plan(self, record: RecordView) -> str | None:
        """Return what `after` will say of a plan on any nodes: equal whole nodes without a choice."""

    def bars(self, record: RecordView) -> str | None:
        """Return the limit that surely forbids a start now, whatever nodes are free."""

    def verdict(self, record: RecordView) -> str | None:
        """Return the first limit that what the job asks for breaks now."""

    def shown(self, job: JobView) -> bool:
        """Return True if the reason `job` shows is a limit."""

    def blocking_qos(self, record: RecordView) -> str:
        """Return the QOS with the group limit that holds the record's job, or ""."""

    def qos_of(self, record: RecordView) -> tuple[str, str]:
        """QOS of the record's job and partition, "" for none."""

    def min_prio(self, record: RecordView) -> int:
        """MinPrioThreshold: below it a job that must wait reserves nothing; 0 for none."""

    def tests(self, record: RecordView) -> LimitTests | None:
        """Return all of it as integers, of a job that gets equal whole nodes and names none; None: nothing limits it.

        Those of a plan hold where the job's amount is known.
        """

    def gauges(self) -> array[int]:
        """Return what the columns of `tests` read now."""

    def number_shown(self, job: JobView) -> int:
        """Return the number of the limit `job` shows as its reason; 0 where that is none."""

    def named(self, number: int) -> str:
        """Return the limit of that number, as the reason to show."""


class SlurmView(PlansView, LayoutsView, PowerView, Protocol):
    """All a policy may ask: what `schedule` is given, whatever smaller part of it a policy declares."""

    @property
    def running(self) -> Sequence[SlurmJob]: ...
    def records(self) -> Sequence[SlurmRecord]: ...

    @property
    def kill_wait(self) -> int:
        """KillWait, seconds."""

    @property
    def over_limit(self) -> int:
        """OverTimeLimit, seconds."""

    @property
    def untried(self) -> bool:
        """True if a job in the queue has not been `Tested`, where that can matter."""

    @property
    def plans_count(self) -> bool:
        """True if where a job is planned decides its priority or what it is held by, not only who starts before it."""

    @property
    def completing(self) -> Bitmap:
        """The nodes that ended jobs have left and that are not clean yet: no job starts on them."""

    def restated(self) -> tuple[Sequence[SlurmRecord], Sequence[tuple[SlurmRecord, int]]]:
        """Return what changed in the queue since the last call.

        First the records of jobs that have a new request or were tried with other CPUs; then those that only show
        another reason, with its number if it is a limit (`LimitsView.number_shown`).
        """

    def time_limit(self, record: RecordView) -> int:
        """Seconds the record's job may take: its limit, no longer than MaxTime of the partition, or MaxTime itself."""

    def deadline_limit(self, record: RecordView, limit: int) -> int:
        """Return `limit` cut to what is left before the deadline of the record's job."""

    def limit_reason(self, record: RecordView) -> str | None:
        """Return the partition limit that keeps this record from starting; --time-min counts in place of --time."""

    def qos_bar(self, record: RecordView) -> str | None:
        """Why the record's partition does not take the QOS of its job, as the reason to show; None if it does."""

    @property
    def limits(self) -> LimitsView | None:
        """Association and QOS limits, None where none are enforced."""

    def throttled(self, record: RecordView) -> int:
        """Return how many tasks of the array of the record's job wait because of its ``%N``."""

    def free_to(self, record: RecordView, nodes: Bitmap) -> Bitmap:
        """Return those of `nodes` no other user's job closes to the record's job as things are."""

    @property
    def owned(self) -> bool:
        """True if nodes may be closed to others for a time, so that `open_from` must be asked (Slurm 24.11)."""

    def open_from(self, record: RecordView, nodes: Bitmap, when: int) -> tuple[Bitmap, int]:
        """Return those of `nodes` others leave to the record's job from `when` on, and when one more is (0: never)."""

    # -- reservations and licenses

    @property
    def reserved(self) -> bool:
        """True if there are reservations, so that `access` must be asked."""

    def reserved_now(self) -> bool:
        """Return True if a reservation is in force."""

    def access(self, record: RecordView, when: int, limit: int) -> Access:
        """Return what reservations leave the record's job from `when` on, or from a later start."""

    def next_reservation_begin(self, record: RecordView, nodes: Bitmap) -> int | None:
        """Return the first begin to come of a reservation of others that the record's job on `nodes` would meet."""

    def next_reservation_end(self, when: int) -> int:
        """Return the first end of a reservation at or after `when`, 0 for none."""

    def licensed(self, record: RecordView) -> bool:
        """Return True if the licenses of the record's job are free now."""

    def license_holds(self) -> tuple[Mapping[str, int], Sequence[tuple[Hashable, int, int, str, int]]]:
        """Licenses there are, and (owner, begin, end, name, count) held.

        By running jobs (owner None) to their limits, by reservations over their periods (FLEX: always).
        """

    def layer_holds(self) -> tuple[Sequence[LayerView], Sequence[tuple[Hashable, int, int, int, int]]]:
        """Layers of hierarchical resources, and (owner, begin, end, place of the layer, count) held, as of licenses."""

    def asked_of_layers(self, record: RecordView) -> Sequence[tuple[str, int]]:
        """Return the hierarchical resources that the record's job asks for, and the counts."""

    def what_is_left(self, left: Sequence[int | None]) -> None:
        """Let `future` see that much left of each layer (None: any number), until it is told of all again: ()."""
