"""Jobs of a log that this cluster could not even take: partitions it does not have, sizes beyond the whole cluster.

A log of some years names partitions that are gone; a made-up or shrunk cluster is too small for some jobs of its log.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from slurmsim.core.records.job import ONE_YEAR_S
from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.model.cluster import ClusterSpec
from slurmsim.policy import Discipline, Sight
from slurmsim.sim.applications import Applications
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
    """Return the jobs of `workload` that `cluster` can take.

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
    return _settled(workload, _misfits(workload, cluster), choice, file, "the cluster")


def settle_refused(
    workload: Workload, cluster: ClusterSpec, discipline: Discipline, choice: str, file: str
) -> Workload:  # fmt: skip
    """Return the jobs of `workload` that `discipline` lets in at some time; `choice`, `file` and errors as above."""
    return _settled(workload, _refused(workload, cluster, discipline), choice, file, "the policy")


def settle_overdrawn(workload: Workload, cluster: ClusterSpec, choice: str, file: str) -> Workload:
    """Return the jobs of `workload` for which the power budget is large enough at some time; others as above.

    Of a job with an application its least size and cap count, be it that a policy chooses them.
    """
    spec = cluster.power
    if spec is None or not spec.budget or not len(workload):
        return workload
    if spec.budget[0][0] > int(workload.ints["submit"].min()):
        return workload  # nothing is limited at first
    most = max(watts for _, watts in spec.budget)
    nodes = _nodes(workload, cluster)
    each = np.full(len(workload), spec.base_mw + spec.full_mw)
    applications = Applications(workload, spec)
    for row in range(len(workload)) if applications.told else ():
        profile = applications.of(row)
        if profile is not None:
            nodes[row], each[row] = profile.min_nodes, spec.base_mw + profile.drawn_mw(profile.lowest_mw)
    least = nodes * each + (len(cluster.nodes) - nodes) * spec.idle_mw
    rows = np.flatnonzero(least > most)
    asked = partial(_overdraws, least, most)
    found = Misfit(rows, "nodes", asked, "draws more than the power budget ever is", "--power-budget for every job")
    return _settled(workload, iter([found]), choice, file, "the power budget")


def _overdraws(least: npt.NDArray[np.int64], most: int, row: int) -> str:
    return f"draws {least[row] / 1000:g} W at least, the power budget is never more than {most / 1000:g} W"


def _nodes(workload: Workload, cluster: ClusterSpec) -> npt.NDArray[np.int64]:
    """Return nodes each job needs at least."""
    each = max((node.cpus for node in cluster.nodes), default=1)
    cpus = np.maximum(workload.ints["tasks"], 1) * workload.ints["cpus_per_task"]
    return np.asarray(np.maximum(workload.ints["nodes"], -(-cpus // each)))


def _settled(workload: Workload, misfits: Iterator[Misfit], choice: str, file: str, who: str) -> Workload:
    keep = np.ones(len(workload), np.bool_)
    ids = workload.ints["job_id"]
    for misfit in misfits:
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
        raise WorkloadError(f"{who} can take none of its jobs", file=file, field="partition")
    return workload.take(np.flatnonzero(keep))


def _misfits(workload: Workload, cluster: ClusterSpec) -> Iterator[Misfit]:
    """Yield jobs that cannot be taken, by kind."""
    known = sorted(p.name for p in cluster.partitions)
    column = workload.texts["partition"]
    default = any(p.default for p in cluster.partitions)
    for code in column.used():
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


def _refused(workload: Workload, cluster: ClusterSpec, discipline: Discipline) -> Iterator[Misfit]:
    """Yield jobs `discipline` never lets in, by reason."""
    nodes = _nodes(workload, cluster)
    limit = np.where(workload.ints["time_limit"] == -2, ONE_YEAR_S, workload.ints["time_limit"])
    shapes, shape_of = np.unique(np.stack([nodes, limit]), axis=1, return_inverse=True)
    reasons = [discipline.refusal(Sight(n, at, "")) for n, at in shapes.T.tolist()]
    for reason in sorted(set(reasons) - {""}):
        which = np.array([one == reason for one in reasons])
        rows = np.flatnonzero(which[shape_of.ravel()])
        asked = partial(_never, nodes, limit, reason)
        yield Misfit(rows, "nodes", asked, f"the policy never lets it in ({reason})", "jobs the policy lets in")


def _never(nodes: npt.NDArray[np.int64], limit: npt.NDArray[np.int64], reason: str, row: int) -> str:
    return f"asks for {nodes[row]} nodes and {limit[row]} s, which the policy never lets in ({reason})"


def _same(message: str, _row: int) -> str:
    return message


def _too_many(needs: npt.NDArray[np.int64], what: str, have: int, row: int) -> str:
    return f"asks for {needs[row]} {what}, the cluster has {have}"
