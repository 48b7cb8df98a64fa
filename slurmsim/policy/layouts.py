"""Layouts: nodes with their amounts, and jobs as units, for policies that say which node gets which units of a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from slurmsim.bitmap import Bitmap
from slurmsim.policy.cluster import JobView, PartitionView
from slurmsim.policy.power import PowerView
from slurmsim.policy.units import Holding, JobUnits, Unit


class LayoutsView(PowerView, Protocol):
    """The cluster node by node. Nodes are numbered from 0, as bits of a `Bitmap` are."""

    def units(self, job: JobView, partition: PartitionView | None = None) -> JobUnits:
        """Return `job` as units in one of its partitions, else in the one it runs in or the first it asked for."""

    def waits_in(self, job: JobView) -> Sequence[PartitionView]:
        """Partitions in which `job`, which is pending, may start: the others do not take it as it is."""

    def holdings(self, job: JobView) -> Sequence[Holding]:
        """Return what running `job` holds, node by node."""

    def capacities(self) -> Sequence[Unit]:
        """Return what jobs may have of each node when it is empty."""

    def open_to(self, job: JobView) -> Bitmap:
        """Return nodes `job` may enter now as far as others' ownership goes: up, and not another user's."""

    def closed(self) -> Sequence[tuple[int, int, Bitmap]]:
        """Reservations and maintenance, now and to come: (start, end, nodes)."""
