"""What a log's jobs ask for that this cluster may not have: reservations and licenses that are not defined."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import numpy as np

from slurmsim.core.records.messages import CreateReservation
from slurmsim.model.cluster import ClusterSpec
from slurmsim.sim.simulation import Timed
from slurmsim.tres import Words, parse_licenses, resource_of
from slurmsim.workload import TextColumn, Workload

NO_RESERVATION = "names a reservation that is not defined, replayed without"
NO_LICENSE = "asks for a license the cluster does not have, replayed without it"


def drop_unknown_claims(workload: Workload, timed: Iterable[Timed], cluster: ClusterSpec) -> None:
    """Leave out, and count in the quality report, what no input defines.

    A real log names reservations of its own time and licenses slurmdbd knew; a replay without them keeps the job.
    """
    licenses = {name for name, _ in cluster.option("Licenses")} | {one.name for one in cluster.hierarchies}
    words = {one.name: dict(one.variables) for one in cluster.hierarchies}
    names = {timed.fact.spec.name for timed in timed if isinstance(timed.fact, CreateReservation)}
    _clean(workload, "reservation", lambda text: ",".join(n for n in text.split(",") if n in names), NO_RESERVATION)
    _clean(workload, "licenses", lambda text: _known(text, licenses, words), NO_LICENSE)


def _known(text: str, licenses: Collection[str], words: Words) -> str:
    try:
        found = [(resource_of(name), count) for name, count in parse_licenses(text, words, layers=True)]
        return ",".join(f"{name}:{count}" for name, count in found if name in licenses)
    except ValueError:
        return ""


def _clean(workload: Workload, name: str, clean: Callable[[str], str], reason: str) -> None:
    column = workload.texts[name]
    if len(column.values) == 1:
        return
    cleaned = [clean(value) if value else "" for value in column.values]
    lost = np.array([_items(a) != _items(b) for a, b in zip(column.values, cleaned, strict=True)], np.bool_)
    rows = np.flatnonzero(lost[column.codes])
    if len(rows):
        first = int(workload.ints["job_id"][rows[0]])
        workload.quality.repair(reason, len(rows), f"job {first}: {column[int(rows[0])]}")
    index: dict[str, int] = {"": 0}
    remap = np.array([index.setdefault(value, len(index)) for value in cleaned], np.int32)
    workload.texts[name] = TextColumn(remap[column.codes], list(index))


def _items(text: str) -> int:
    return len([item for item in text.split(",") if item])
