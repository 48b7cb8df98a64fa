"""Where the jobs of a run on rows are: whole nodes, which the kernel's log has, or shares of nodes, found here.

Where CPUs count, a start depends on how many are free and not on where. So the nodes of all jobs are found after the
run, by the core's own placement: 30 µs a job of Curie's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.core.placement.cluster_state import compile_request
from slurmsim.core.records.allocation import Allocation
from slurmsim.core.state.controller_state import ControllerState
from slurmsim.data_classes import dataclass
from slurmsim.kernel import constants
from slurmsim.sim.submissions import request_of
from slurmsim.workload import Workload

Numbers = npt.NDArray[np.int64]
Texts = tuple[npt.NDArray[np.integer[Any]], Sequence[str]]
"""Numbers, (n,), and the texts they stand for."""
AT_ONCE = 65536  # entries of the log that are Python's numbers at a time


@dataclass(slots=True)
class Places:
    """The nodes of jobs, by row of the workload or by entry of the log."""

    lists: Callable[[Numbers], Texts]  # the nodes that entries are about, as Slurm prints them
    moved: npt.NDArray[np.int32]  # by entry: how many nodes have a job now that had none, or fewer
    nodes: Numbers  # by row: how many it has
    cpus: Numbers  # by row
    cpus_each: Texts  # by row: CPUs of each node, as Slurm prints them


def whole_places(
    workload: Workload, state: ControllerState, log: Any, n_runs: npt.NDArray[np.int32], sign: npt.NDArray[np.int8]
) -> Places:
    """Return the places where each job has as many whole nodes as it has tasks.

    `n_runs` is how many of the log's runs each entry has. `sign` is 1 for starts, -1 for ends, and 0 for other entries.
    """
    need, rows = workload.ints["tasks"], np.frombuffer(log.rows, np.int64)[: log.n]
    each = state.table.total_cpus // state.table.n
    sizes, size_of = np.unique(need, return_inverse=True)
    texts = [f"{each}(x{size})" if size > 1 else str(each) for size in sizes.tolist()]
    lists = _lists_of_runs(log, n_runs, state.cluster.namer.runs)
    return Places(lists, (sign * need[rows]).astype(np.int32), need, need * each, (size_of, texts))


def _lists_of_runs(
    log: Any, n_runs: npt.NDArray[np.int32], name: Callable[[list[tuple[int, int]]], str]
) -> Callable[[Numbers], Texts]:
    """Return what tells the nodes of entries of the log; `n_runs` of its runs are about each, and `name` names runs.

    They are named when they are asked for: all names at once took 150 MB in a year like Titan's.
    """
    begins, sizes = (
        np.frombuffer(column, np.int64)[: log.n_runs].astype(np.int32) for column in (log.begins, log.sizes)
    )
    until = np.cumsum(n_runs)

    def lists(entries: Numbers) -> Texts:
        many = n_runs[entries]
        ends = np.cumsum(many)
        at = np.repeat(until[entries] - ends, many) + np.arange(ends[-1])
        both = np.stack([begins[at], sizes[at]], axis=1)
        raw, size, begin = both.tobytes(), both.itemsize * 2, 0
        index: dict[bytes, int] = {}
        codes = []
        for end in (ends * size).tolist():
            codes.append(index.setdefault(raw[begin:end], len(index)))
            begin = end
        runs = (np.frombuffer(key, np.int32).reshape(-1, 2).tolist() for key in index)
        return np.array(codes, np.int32), [name([(first, n) for first, n in some]) for some in runs]

    return lists


def shared_places(workload: Workload, state: ControllerState, kinds: npt.NDArray[np.int8], rows: Numbers) -> Places:
    """Return the places where jobs share nodes; `kinds` and `rows` are those of the log's entries."""
    n, cluster, table = len(workload), state.cluster, state.table
    _, first, kind_of = np.unique(workload.ints["tasks"], return_index=True, return_inverse=True)
    partition = cluster.partitions[0]
    requests = [compile_request(cluster, request_of(workload, int(row)), partition) for row in first]
    kind_of_row, held = kind_of.tolist(), dict[int, Allocation]()
    lists, each = {"": 0}, dict[str, int]()
    codes, moved = np.zeros(len(rows), np.int32), np.zeros(len(rows), np.int32)
    nodes, cpus, each_of = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int32)
    for entry, row, starting in _starts_and_ends(kinds, rows):
        if not starting:
            moved[entry] = -table.release(held.pop(row)).bit_count()
            continue
        found = state.selector.place(requests[kind_of_row[row]], table, table.up)
        assert found is not None  # so many CPUs are free
        held[row] = found
        moved[entry] = table.allocate(found).bit_count()
        codes[entry] = lists.setdefault(cluster.node_list(found), len(lists))
        nodes[row], cpus[row] = found.n_nodes, found.n_cpus
        each_of[row] = each.setdefault(cluster.cpus_per_node(found), len(each))
    names = list(lists)
    return Places(lambda entries: (codes[entries], names), moved, nodes, cpus, (each_of, list(each)))


def _starts_and_ends(kinds: npt.NDArray[np.int8], rows: Numbers) -> Iterator[tuple[int, int, bool]]:
    """Yield the entries that are one or the other: their number, the row, and whether it starts."""
    there = np.flatnonzero((kinds == constants.LOG_START) | (kinds == constants.LOG_END))
    for begin in range(0, len(there), AT_ONCE):
        part = there[begin : begin + AT_ONCE]
        starts = kinds[part] == constants.LOG_START
        yield from zip(part.tolist(), rows[part].tolist(), starts.tolist(), strict=True)
