"""The usage table against a recount from the runs."""

from __future__ import annotations

import numpy as np

from slurmsim.validate.columns import BoolArray, IntArray, Table
from slurmsim.validate.facts import ClusterFacts
from slurmsim.validate.history import PENDING, History
from slurmsim.validate.report import Check, ValidationReport
from slurmsim.validate.runs import CPUS, MEMORY, JobRuns

_AMOUNTS = ("alloc_cpus", "alloc_gpus", "alloc_mem_mib")


def node_classes(cluster: ClusterFacts) -> tuple[IntArray, BoolArray]:
    """Nodes that belong to the same partitions, as classes.

    Returns
    -------
    node_class
        (n_nodes,) class of each node.
    members
        (n_partitions + 1, n_classes) bool: classes of the whole cluster, then of each partition in order.
    """
    if not cluster.partitions:
        return np.zeros(cluster.n, np.int64), np.ones((1, 1), bool)
    table = np.stack([p.nodes for p in cluster.partitions.values()])
    kinds, node_class = np.unique(table, axis=1, return_inverse=True)
    return node_class.reshape(-1), np.concatenate([np.ones((1, kinds.shape[1]), bool), kinds])


def check_usage(
    report: ValidationReport,
    usage: Table,
    jobs: Table,
    runs: JobRuns,
    cluster: ClusterFacts,
    classes: tuple[IntArray, BoolArray],
    busy: IntArray,
    history: History | None,
) -> None:
    """Each row of the usage table, or the last of those of one instant and partition, against the runs."""
    node_class, members = classes
    time, partition = usage.ints["time"], usage.texts["partition"]
    names = ["", *cluster.partitions]
    order = np.lexsort((np.arange(usage.n), time, partition.codes))
    last = np.append((np.diff(time[order]) != 0) | (np.diff(partition.codes[order]) != 0), True)[: usage.n]
    rows = order[last]
    index = {name: i for i, name in enumerate(names)}
    place = np.array([index.get(value, -1) for value in partition.values] + [-1], np.int64)[partition.codes[rows]]

    check = report.new("usage_rows", usage.n)
    bad = np.flatnonzero(time[1:] < time[:-1]) + 1
    check.flag(len(bad), (f"row {i}: time {time[i]} after {time[i - 1]}" for i in bad))
    strange = rows[place < 0]
    check.flag(len(strange), (f"row {i}: unknown partition {partition[i]!r}" for i in strange))
    rows, place = rows[place >= 0], place[place >= 0]
    size = np.array([cluster.n, *(int(p.nodes.sum()) for p in cluster.partitions.values())], np.int64)
    total = usage.ints["alloc_nodes"][rows] + usage.ints["idle_nodes"][rows] + usage.ints["down_nodes"][rows]
    bad = np.flatnonzero(total != size[place])
    text = "{} at {}: allocated, idle and down nodes are {} of {}"
    check.flag(
        len(bad), (text.format(names[place[k]] or "cluster", time[rows[k]], total[k], size[place[k]]) for k in bad)
    )

    # column of the step tables that holds at each row; 0 before the first run
    at = np.searchsorted(runs.times, time[rows], "right")
    expected = {"alloc_nodes": members @ busy, "running_jobs": _running(runs, names)}
    amounts, unsure = _amounts(runs, node_class, members.shape[1])
    expected |= {name: members @ table for name, table in amounts.items()}
    for name, table in expected.items():
        told = usage.ints[name][rows]
        counted = np.concatenate([np.zeros((len(names), 1), np.int64), table], axis=1)[place, at]
        judged = np.ones(len(rows), bool) if name not in _AMOUNTS else ~np.append(False, unsure)[at]
        _compare(report.new(f"usage_{name}", int(judged.sum())), usage, names, rows, place, judged, told, counted)
    if history is None:
        report.skip("usage_pending_jobs", "no events table")
        return
    whole = place == 0
    check = report.new("usage_pending_jobs", int(whole.sum()))
    told = usage.ints["pending_jobs"][rows]
    _compare(check, usage, names, rows, place, whole, told, _pending(history, time[rows]))


def _compare(
    check: Check, usage: Table, names: list[str], rows: IntArray, place: IntArray, judged: BoolArray,
    told: IntArray, counted: IntArray,
) -> None:  # fmt: skip
    bad = np.flatnonzero(judged & (told != counted))
    time, column = usage.ints["time"], check.name.removeprefix("usage_")
    text = "{} at {}: {} is {}, a recount gives {}"
    check.flag(
        len(bad),
        (text.format(names[place[k]] or "cluster", time[rows[k]], column, told[k], counted[k]) for k in bad),
    )


def _running(runs: JobRuns, names: list[str]) -> IntArray:
    """(n_partitions + 1, n_times) running jobs, the whole cluster first."""
    step = len(runs.times)
    index = {name: i for i, name in enumerate(names) if name}
    place = np.array([index.get(value, 0) for value in runs.partition.values] + [0], np.int64)[runs.partition.codes]
    table = np.zeros((len(names), step), np.int64)
    goes = ~runs.stopped
    for sign, instant in ((1, runs.begin), (-1, runs.end)):
        table += sign * np.bincount((place * step + instant)[goes], minlength=table.size).reshape(table.shape)
    whole = table.sum(axis=0)  # jobs of no known partition were counted in row 0
    table[0] = whole
    return np.cumsum(table, axis=1)


def _amounts(runs: JobRuns, node_class: IntArray, n_classes: int) -> tuple[dict[str, IntArray], BoolArray]:
    """(n_classes, n_times) of each amount, and the instants at which runs of unknown amounts were there."""
    pieces, step = runs.pieces, len(runs.times)
    columns = {"alloc_cpus": pieces.amounts[CPUS], "alloc_mem_mib": pieces.amounts[MEMORY]}
    gpu = MEMORY + 1 + runs.gres.index("gpu") if "gpu" in runs.gres else None
    columns["alloc_gpus"] = pieces.amounts[gpu] if gpu is not None else np.zeros(len(pieces.owner), np.int64)
    tables = {name: np.zeros((n_classes, step), np.int64) for name in columns}
    begin, end = runs.begin[pieces.owner], runs.end[pieces.owner]
    for c in range(n_classes):
        before = np.concatenate([[0], np.cumsum(node_class == c)])
        nodes = before[pieces.high + 1] - before[pieces.low]
        for name, amount in columns.items():
            # sums of float64 are exact here: no total comes near 2**53
            change = np.bincount(begin, amount * nodes, step) - np.bincount(end, amount * nodes, step)
            tables[name][c] = np.cumsum(change.astype(np.int64))
    unknown = ~runs.known
    unsure = np.bincount(runs.begin[unknown], minlength=step) - np.bincount(runs.end[unknown], minlength=step)
    return tables, np.cumsum(unsure) > 0


def _pending(history: History, at: IntArray) -> IntArray:
    """Pending jobs of the whole cluster at each of the times `at`, after all that happened then."""
    time = history.time(np.arange(len(history.row)))
    cancel = history.of("CANCEL")
    lone = np.zeros(len(time), bool)  # a pending job that leaves by CANCEL alone
    if len(cancel):
        following = np.minimum(cancel + 1, len(time) - 1)
        is_last = (cancel == len(time) - 1) | (history.job[following] != history.job[cancel])
        lone[cancel[is_last & (history.before[cancel] == PENDING)]] = True
    comes = (history.after == PENDING) & (history.before != PENDING)
    goes = (history.before == PENDING) & (history.after != PENDING) | lone
    arrived, left = np.sort(time[comes]), np.sort(time[goes])
    return np.searchsorted(arrived, at, "right") - np.searchsorted(left, at, "right")
