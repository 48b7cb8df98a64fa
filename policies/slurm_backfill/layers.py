"""bf_licenses: layers of hierarchical resources over time beside the node space.

Source: Slurm src/slurmctld/licenses.c, 26.05 (slurm_bf_hres_filter, _foreach_hres_deduct). In modes 1 and 2 layers say
which nodes a job may be planned on; in mode 3 the future test is told what is left as the try begins.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from slurmsim.bitmap import Bitmap
from slurmsim.capacity import CapacityProfile
from slurmsim.policy import LayerView, SlurmRecord, SlurmView

ONE_LAYER, ALL_LAYERS, PER_NODE = 1, 2, 3


class PlannedLayers:
    """What is left of each layer over time.

    Parameters
    ----------
    begin, resolution
        The node space's begin and bf_resolution, seconds.
    """

    def __init__(self, view: SlurmView, begin: int, resolution: int) -> None:
        self.layers, held = view.layer_holds()
        self.view, self.begin = view, begin
        self.left = [None if one.count is None else CapacityProfile(begin, one.count) for one in self.layers]
        self.kept: dict[Hashable, dict[int, CapacityProfile]] = {}  # of a reservation's own, by the layer's place
        for owner, start, end, k, count in held:
            first = start // resolution * resolution
            last = max(-(-end // resolution) * resolution, begin + resolution)  # also of who is over its limit
            self._add(self.left[k], first, last, -count)
            if owner is not None:
                own = self.kept.setdefault(owner, {}).setdefault(k, CapacityProfile(begin, 0))
                own.add(first, last, count)

    def asked(self, record: SlurmRecord) -> Sequence[tuple[str, int]]:
        """Return the resources that the record's job asks for, and the counts."""
        return self.view.asked_of_layers(record) if record.job.licenses and self.layers else ()

    def open_over(self, record: SlurmRecord, nodes: Bitmap, start: int, end: int) -> Bitmap:
        """Return those of `nodes` that layers in modes 1 and 2 leave to the record's job over [start, end]."""
        for resource, count in self.asked(record):
            mine = [(k, one) for k, one in enumerate(self.layers) if one.resource == resource]
            if mine[0][1].mode == PER_NODE:
                continue
            marks = {start}.union(*(
                [t for t in profile.times if start < t <= end] for k, _ in mine for profile in self._profiles(record, k)
            ))  # fmt: skip
            for mark in marks:
                nodes &= self._open_at(record, mine, count, mark)
        return nodes

    def _open_at(self, record: SlurmRecord, mine: list[tuple[int, LayerView]], count: int, mark: int) -> Bitmap:
        enough = short = 0
        for k, one in mine:
            counts = [p.least(mark, mark + 1) for p in self._profiles(record, k)]
            if self.left[k] is None or any(have >= count for have in counts):
                enough |= one.nodes
            if any(have < count for have in counts):
                short |= one.nodes
        return enough & ~short if mine[0][1].mode == ALL_LAYERS else enough

    def next_more(self, record: SlurmRecord, start: int) -> int:
        """Return the first instant after `start` at which a layer of the job's resources has more left, 0 for none."""
        names = {resource for resource, _ in self.asked(record)}
        found = 0
        for k, one in enumerate(self.layers):
            if one.resource not in names:
                continue
            for profile in self._profiles(record, k):
                for i in range(1, len(profile.times)):
                    time = profile.times[i]
                    if time > start and profile.free[i] > profile.free[i - 1] and (not found or time < found):
                        found = time
        return found

    def left_at(self, when: int) -> list[int | None]:
        """Return what is left of each layer then."""
        return [None if p is None else max(p.least(when, when + 1), 0) for p in self.left]

    def take(self, record: SlurmRecord, begin: int, end: int, nodes: Bitmap) -> None:
        """Take what the record's job, planned or started on `nodes`, has of layers over [begin, end)."""
        for resource, count in self.asked(record):
            for k, one in enumerate(self.layers):
                n = (one.nodes & nodes).bit_count()
                if one.resource != resource or not n:
                    continue
                self._add(self.left[k], begin, end, -count * (n if one.mode == PER_NODE else 1))
                if one.mode == ONE_LAYER:
                    break

    def _profiles(self, record: SlurmRecord, layer: int) -> Iterator[CapacityProfile]:
        """Yield what is left of a layer to all, and what the record's own reservation has of it."""
        if (profile := self.left[layer]) is not None:
            yield profile
        own = self.kept.get(record.reservation, {}).get(layer) if record.reservation is not None else None
        if own is not None:
            yield own

    @staticmethod
    def _add(profile: CapacityProfile | None, begin: int, end: int, count: int) -> None:
        if profile is not None:
            profile.add(begin, end, count)
