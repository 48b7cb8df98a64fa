"""One advance reservation while the cluster runs: its nodes, its users, and its next period."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from slurmsim.bitmap import Bitmap
from slurmsim.model.reservation import REPEATING, ReservationSpec

if TYPE_CHECKING:
    from slurmsim.core.records.partition import Partition
    from slurmsim.core.records.release_rules import ReleaseRules

DAY: Final = 86_400
HOUR: Final = 3_600
WEEK_DAYS: Final = 7
FRIDAY, SATURDAY, SUNDAY = 4, 5, 6


class Reservation:
    """A reservation Slurm has accepted."""

    __slots__ = (
        "accounts", "allowed_partitions", "began", "core_bits", "cores", "end", "flags", "idle_since", "licenses",
        "name", "nodes", "opened", "order", "over", "partition", "purge_comp_s", "qos", "spec", "start", "users",
    )  # fmt: skip

    def __init__(
        self, spec: ReservationSpec, name: str, order: int, nodes: Bitmap, cores: dict[int, int] | None,
        flags: frozenset[str], partition: Partition | None,
    ) -> None:  # fmt: skip
        # order: order of creation
        self.spec, self.name, self.order = spec, name, order
        # nodes: its nodes; 0 for one of licenses only
        # cores: CPUs kept on each node (by index) where it has only part of the nodes, else None
        self.nodes, self.cores, self.flags, self.partition = nodes, cores, flags, partition
        # start, end: of the present period
        self.start, self.end = spec.start, spec.end
        self.users, self.accounts, self.licenses = spec.users, spec.accounts, spec.licenses
        self.qos, self.allowed_partitions = spec.qos, spec.allowed_partitions
        self.purge_comp_s = spec.purge_comp_s
        # opened, began, over: it may be used; its begin has been noticed (by the look every 5 s); its end has passed
        self.opened = self.began = self.over = False
        self.idle_since: int | None = None  # with PURGE_COMP: since when no job has used or named it
        # which cores of each node these are, as bits, where partitions share cores: it matters there
        self.core_bits: dict[int, int] = {}

    @property
    def full(self) -> bool:
        """True if it has whole nodes."""
        return self.cores is None

    @property
    def repeats(self) -> bool:
        """True if it comes again after its end."""
        return not REPEATING.isdisjoint(self.flags)

    @property
    def cycle_s(self) -> int:
        """Seconds after which its periods come again alike, 0 for one that does not repeat."""
        if not self.repeats:
            return 0
        return HOUR if "HOURLY" in self.flags else DAY if "DAILY" in self.flags else WEEK_DAYS * DAY

    def covers(self, begin: int, end: int) -> bool:
        """Return True if its period meets [begin, end)."""
        return self.start < end and self.end > begin

    def admits(self, user: str, accounts: Iterable[str]) -> bool:
        """Return True if that user and one of those accounts, a job's own and perhaps those above it, may use it."""
        if not _listed((user,), self.users):
            return False
        if self.users and not self.accounts:
            return True
        return _listed(accounts, self.accounts)

    def lets_start(self, qos: str, partition: str) -> bool:
        """Return True if a job of that QOS may start in it from that partition (_valid_job_access_resv_at_sched)."""
        return _listed((qos,), self.qos) and _listed((partition,), self.allowed_partitions)

    def next_period(self, now: int) -> tuple[int, int] | None:
        """Return start and end of the period after the present one, None for a reservation that does not repeat.

        Weekdays are those of UTC. As in slurmctld, the step depends on the present day, that of `now`.
        """
        step = _step(self.flags, now)
        return (self.start + step, self.end + step) if step else None

    def describe(self) -> str:
        """Name and flags, as the trace keeps them; CORES for one that has only part of its nodes."""
        words = sorted(self.flags | ({"CORES"} if self.cores is not None else set()))
        return f"{self.name} {','.join(words)}".rstrip()

    def __repr__(self) -> str:
        return f"<Reservation {self.name}>"


def _listed(who: Iterable[str], names: tuple[str, ...]) -> bool:
    """Return True if a list lets one of `who` in: no list, on a list of names, or none on one of excluded names."""
    if not names:
        return True
    if names[0].startswith("-"):
        return not any(f"-{name}" in names for name in who)
    return any(name in names for name in who)


def _weekday(now: int) -> int:
    """0 for Monday."""
    return datetime.fromtimestamp(now, UTC).weekday()


def _step(flags: frozenset[str], day: int) -> int:
    """Return the seconds from a period to the next, as seen on the day of the instant `day`; 0 if there is none."""
    if "HOURLY" in flags:
        return HOUR
    if "DAILY" in flags:
        return DAY
    if "WEEKDAY" in flags:
        return DAY * {FRIDAY: 3, SATURDAY: 2}.get(_weekday(day), 1)
    if "WEEKEND" in flags:
        today = _weekday(day)
        return DAY * {SUNDAY: 6, SATURDAY: 1}.get(today, SATURDAY - today)
    return DAY * WEEK_DAYS if "WEEKLY" in flags else 0


class _Slot:
    """A period of a reservation, which can be moved on to later ones."""

    def __init__(self, start: int, end: int, flags: frozenset[str]) -> None:
        self.start, self.end, self.flags = start, end, flags
        self.recurs = bool(_step(flags, start))

    def meets(self, other: _Slot) -> bool:
        return self.start < other.end and other.start < self.end

    def advance(self) -> None:
        step = _step(self.flags, self.start)
        self.start, self.end = self.start + step, self.end + step

    def advance_until(self, instant: int) -> None:
        """Move on to the last period that begins before `instant`."""
        whole = DAY * WEEK_DAYS  # periods of every kind come again alike after it
        weeks = max((instant - self.start) // whole - 1, 0)
        self.start, self.end = self.start + weeks * whole, self.end + weeks * whole
        while self.start + _step(self.flags, self.start) < instant:
            self.advance()


def collide(spec: ReservationSpec, flags: frozenset[str], other: Reservation, rules: ReleaseRules, now: int) -> bool:
    """Return True if a period of a new reservation meets one of another's, whenever it is (_resv_time_overlap).

    As in slurmctld the periods beside the last of the one that ends later are looked at, no others.
    """
    if not rules.all_periods_collide:
        return _collide_within_a_week(spec, flags, other)
    earlier, later = _Slot(spec.start, spec.end, flags), _Slot(other.start, other.end, other.flags)
    if later.end < earlier.end:
        earlier, later = later, earlier
    if earlier.meets(later):
        return True
    if not earlier.recurs:
        return False
    maintenance = rules.far_maintenance_apart and "MAINT" in later.flags and not later.recurs
    if maintenance and later.start - max(now, earlier.start) > WEEK_DAYS * DAY:
        return False
    earlier.advance_until(later.end)
    if earlier.meets(later):
        return True
    earlier.advance()
    if earlier.meets(later):
        return True
    if later.recurs:
        later.advance_until(earlier.end)
    return later.meets(earlier)


def _collide_within_a_week(spec: ReservationSpec, flags: frozenset[str], other: Reservation) -> bool:
    """Return True if two reservations meet within the coming week, as seen by 22.05.

    Only HOURLY and DAILY are looked at more than once.
    """
    i_step, i_count = (HOUR, 7 * 24) if "HOURLY" in flags else (DAY, 7)
    j_step, j_count = (HOUR, 7 * 24) if "HOURLY" in other.flags else (DAY, 7)
    if flags.isdisjoint({"HOURLY", "DAILY"}) or i_count == j_count:
        i_count = 1
    if other.flags.isdisjoint({"HOURLY", "DAILY"}):
        j_count = 1
    return any(
        spec.start + i * i_step < other.end + j * j_step and spec.end + i * i_step > other.start + j * j_step
        for i in range(i_count)
        for j in range(j_count)
    )


class ReservationLists:
    def __init__(self) -> None:
        self.all: list[Reservation] = []  # in order of creation
        # partial, magnetic: those of cores; those jobs join unasked
        self.partial: list[Reservation] = []
        self.magnetic: list[Reservation] = []

    def find(self, name: str) -> Reservation | None:
        return next((r for r in self.all if r.name == name), None)

    def partition_of(self, name: str) -> Partition | None:
        """Return the partition of a job in this reservation that names none; None: the default one (_get_job_parts)."""
        found = self.find(name) if name else None
        return None if found is None else found.partition

    def active(self, now: int, *, maintenance: bool = False) -> Bitmap:
        """Return nodes reserved whole now; with `maintenance` only those under MAINT."""
        mask = 0
        for r in self.all:
            if r.full and r.covers(now, now + 1) and ("MAINT" in r.flags or not maintenance):
                mask |= r.nodes
        return mask
