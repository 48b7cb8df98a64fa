"""Jobs of a log that this cluster could not even take: partitions it does not have, sizes beyond the whole cluster.

A log of some years names partitions that are gone; a made-up or shrunk cluster is too small for some jobs of its log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.model.cluster import ClusterSpec
from slurmsim.workload import Workload

CHOICES = ("stop", "drop")


class Misfit(NamedTuple):
    """Jobs that cannot be taken for one `reason`: `asked` says of a row what it asks for."""

    rows: npt.NDArray[np.intp]
    field: str
    asked: Callable[[int], str]
    reason: str
    expected: str


def settle_impossible(workload: Workload, cluster: ClusterSpec, choice: str, file: str) -> Workload:
    """The jobs of `workload` that `cluster` can take.

    Parameters
    ----------
    choice
        ``stop``: an error if there are others. ``drop``: leave those out and count them in the quality report.
    file
        Name of the log, for messages.

    Raises
    ------
    WorkloadError
        With ``stop``: names the first such job, what it asks for, and how many there are.
    """
    if choice not in CHOICES:
        raise ConfigError(f"{choice!r}", field="--impossible-jobs", expected=", ".join(CHOICES))
    keep = np.ones(len(workload), np.bool_)
    ids = workload.ints["job_id"]
    for misfit in _misfits(workload, cluster):
        rows = misfit.rows[keep[misfit.rows]]
        if not len(rows):
            continue
        first = int(rows[0])
        if choice == "stop":
            more = len(rows) - 1
            others = f", and {more} other job{'s' * (more > 1)} likewise" if more else ""
            raise WorkloadError(f"job {ids[first]} {misfit.asked(first)}{others}", file=file, field=misfit.field,
                                expected=f"{misfit.expected}; or --impossible-jobs drop")  # fmt: skip
        workload.quality.drop(misfit.reason, len(rows), f"job {ids[first]}")
        keep[rows] = False
    if keep.all():
        return workload
    if not keep.any():
        raise WorkloadError("the cluster can take none of its jobs", file=file, field="partition")
    return workload.take(np.flatnonzero(keep))


def _misfits(workload: Workload, cluster: ClusterSpec) -> Iterator[Misfit]:
    """Jobs that cannot be taken, by kind."""
    known = sorted(p.name for p in cluster.partitions)
    column = workload.texts["partition"]
    default = any(p.default for p in cluster.partitions)
    for code in np.unique(column.codes).tolist():
        text = column.values[code]
        unknown = next((name for name in text.split(",") if name and name not in known), "")
        if unknown:
            message = f"wants partition {unknown!r}, which the cluster does not have"
        elif not text and not default:
            message = "names no partition and the cluster has no default one"
        else:
            continue
        rows = np.flatnonzero(column.codes == code)
        yield Misfit(rows, "partition", partial(_same, message), message, ", ".join(known))
    cpus = sum(node.cpus for node in cluster.nodes)
    need = np.maximum(workload.ints["tasks"], 1) * workload.ints["cpus_per_task"]
    for needs, have, what in ((need, cpus, "CPUs"), (workload.ints["nodes"], len(cluster.nodes), "nodes")):
        field = "processors" if what == "CPUs" else "nodes"
        asked = partial(_too_many, needs, what, have)
        reason = f"asks for more {what} than the cluster has"
        yield Misfit(np.flatnonzero(needs > have), field, asked, reason, "jobs no larger than the cluster")


def _same(message: str, _row: int) -> str:
    return message


def _too_many(needs: npt.NDArray[np.int64], what: str, have: int, row: int) -> str:
    return f"asks for {needs[row]} {what}, the cluster has {have}"
