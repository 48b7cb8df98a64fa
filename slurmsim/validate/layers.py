"""Hierarchical resources: no layer gives more than it has, by the manifest's facts and the jobs' nodes alone.

Of a resource in mode 1 a job has its count in the layer its licenses name, which must have a node of the job. In mode 2
it has it in every layer with a node of it, and in mode 3 once for each such node.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.errors import WorkloadError
from slurmsim.hostlist import HostlistError, expand
from slurmsim.validate.columns import BoolArray, Table
from slurmsim.validate.report import ValidationReport
from slurmsim.validate.reservations import in_excess
from slurmsim.validate.runs import JobRuns

_ITEM = re.compile(r"([^,;:(]+)(?:\(([^)]*)\))?(?::(\d+))?")


@dataclass(slots=True)
class _Layer:
    """One layer: its nodes as they are named, whether each known node is in it, and how many there are."""

    resource: str
    mode: int
    shown: str
    nodes: BoolArray
    count: int | None


def check_layers(report: ValidationReport, jobs: Table, runs: JobRuns, facts: Any, names: list[str]) -> None:
    """Check that at no instant running jobs have more of a layer than it has.

    Parameters
    ----------
    facts
        The manifest's ``cluster.layers``: a list of ``[resource, mode, nodes, count]``, count null for any number.
    names
        The nodes in the order of the manifest.
    """
    if not facts:
        return
    if not jobs.has("licenses"):
        report.skip("layers_not_overused", "no column licenses")
        return
    layers = [_layer(one, names) for one in facts]
    wanted = [_asked(text) for text in jobs.texts["licenses"].values]
    code_of = jobs.texts["licenses"].codes[runs.row]
    known = {one.resource for one in layers}
    held: list[list[tuple[int, int]]] = [[] for _ in layers]
    check = report.new("layers_not_overused", 0)
    for run in np.flatnonzero(runs.known).tolist():
        for resource, place, count in wanted[int(code_of[run])] if wanted else ():
            if resource not in known:
                continue
            check.subjects += 1
            given = _given(layers, resource, place, count, runs, run)
            if not given:
                number = int(jobs.ints["job_id"][runs.row[run]])
                check.add(f"job {number} has {resource} of no layer that its nodes are in")
            for k, n in given:
                held[k].append((run, n))
    for layer, pairs in zip(layers, held, strict=True):
        if pairs and layer.count is not None:
            for time, used in in_excess(runs, pairs, layer.count):
                check.add(f"at {time}: {used} of {layer.count} {layer.resource} on {layer.shown} in use")


def _layer(facts: Any, names: list[str]) -> _Layer:
    try:
        resource, mode, shown, count = facts
        mine = set(expand(shown))
        within = np.array([name in mine for name in names], np.bool_)
        return _Layer(str(resource), int(mode), str(shown), within, None if count is None else int(count))
    except (TypeError, ValueError, HostlistError):
        raise WorkloadError(f"{facts!r}", field="cluster.layers", expected="[resource, mode, nodes, count]") from None


def _asked(text: str) -> list[tuple[str, str | None, int]]:
    """Return names, the nodes of the layer where one is named, and counts."""
    return [(one[1], one[2], int(one[3] or 1)) for one in _ITEM.finditer(text)]


def _given(
    layers: list[_Layer], resource: str, place: str | None, count: int, runs: JobRuns, run: int
) -> list[tuple[int, int]]:
    """Return what a run has of which layers."""
    mine = runs.pieces.owner == run
    ranges = list(zip(runs.pieces.low[mine].tolist(), runs.pieces.high[mine].tolist(), strict=True))
    found = []
    for k, layer in enumerate(layers):
        if layer.resource != resource or (layer.mode == 1 and layer.shown != place):
            continue
        n = sum(int(layer.nodes[low : high + 1].sum()) for low, high in ranges)
        if n:
            found.append((k, count * n if layer.mode == 3 else count))
    return found
