"""bf_licenses: licenses over time beside the node space, so that backfill plans with them.

Source: Slurm src/slurmctld/licenses.c, 22.05 (bf_licenses_*). Running jobs hold theirs to their limits rounded down to
bf_resolution (up, where `view.tests_from_try`), reservations theirs over their periods. A job in a reservation takes
that reservation's first.
"""

from __future__ import annotations

from collections.abc import Hashable

from slurmsim.capacity import CapacityProfile
from slurmsim.policy import SlurmRecord, SlurmView


class PlannedLicenses:
    """What is left of each license over time.

    Parameters
    ----------
    begin, resolution
        The node space's begin and bf_resolution, seconds.
    """

    def __init__(self, view: SlurmView, begin: int, resolution: int) -> None:
        totals, held = view.license_holds()
        self.begin = begin
        self.left = {name: CapacityProfile(begin, total) for name, total in totals.items()}
        self.kept: dict[Hashable, dict[str, CapacityProfile]] = {}
        for owner, start, end, name, count in held:
            first, last = start // resolution * resolution, end // resolution * resolution
            if view.tests_from_try:
                last = -(-end // resolution) * resolution
            self.left[name].add(first, last, -count)
            if owner is not None:
                own = self.kept.setdefault(owner, {}).setdefault(name, CapacityProfile(begin, 0))
                own.add(first, last, count)

    def short_until(self, record: SlurmRecord, start: int, end: int) -> int:
        """Return the end of the last stretch of [start, end] with too few licenses for the record's job, or 0."""
        latest = 0
        for name, count in record.job.licenses:
            if name not in self.left:
                continue  # of layers
            profiles = [self.left[name]]
            own = self.kept.get(record.reservation, {}).get(name) if record.reservation is not None else None
            if own is not None:
                profiles.append(own)
            marks = sorted({start, *(t for p in profiles for t in p.times if start < t <= end)})
            for mark in marks:
                if sum(p.least(mark, mark + 1) for p in profiles) < count:
                    later = [t for p in profiles for t in p.times if t > mark]
                    latest = max(latest, min(later, default=1 << 62))
        return latest

    def take(self, record: SlurmRecord, begin: int, end: int) -> None:
        """Take the licenses of the record's job, which is planned or started, over [begin, end)."""
        for name, count in record.job.licenses:
            if name not in self.left:
                continue
            rest = count
            own = self.kept.get(record.reservation, {}).get(name) if record.reservation is not None else None
            if own is not None:
                inside = min(rest, max(own.least(max(begin, self.begin), end), 0))
                own.add(begin, end, -inside)
                rest -= inside
            self.left[name].add(begin, end, -rest)
