"""How much of the GPUs of a cluster was in use, and how much was stranded while jobs waited for GPUs.

``gpu_utilization``: GPU-seconds allocated over what all GPUs have from the first submission to the last end.
``gpu_stranded``: GPU-seconds free while a job waits that asks for no more GPUs than are free, over the same. They are
on nodes where they do not fit together, beside CPUs or memory that are taken, or a policy keeps them. A job waits from
when it is eligible until it starts. Fragmentation in the sense of Weng et al. 2023 ("Beware of Fragmentation", USENIX
ATC) is a part of it. Theirs is an expectation over the typical tasks of a workload, ours what really waited.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from slurmsim.metrics.columns import IntArray
from slurmsim.metrics.utilization import Interval, StepSeries
from slurmsim.trace.columns import NULL
from slurmsim.trace.reader import Trace


def of_trace(trace: Trace, gpus: int) -> dict[str, float]:
    """Return both shares of a run on a cluster with so many GPUs; nothing without GPUs or where no job ended."""
    if gpus < 1:
        return {}
    submit, asked, eligible, start, end = trace.ints("jobs", "submit", "req_gpus", "eligible", "start", "end")
    can, ran, ended = (times != NULL for times in (eligible, start, end))
    if not ended.any():
        return {}
    over = Interval(int(submit.min()), int(end[ended].max()))
    time, used = trace.ints_where("usage", ("time", "alloc_gpus"), "partition", "", null=0)
    if over.length_s <= 0:
        return {}
    total = gpus * over.length_s
    begins = np.where(can, eligible, submit)
    until = np.where(ran, start, np.where(ended, end, over.end))
    rows = (asked > 0) & (until > begins)
    stranded = _stranded(StepSeries(time, gpus - used), begins[rows], until[rows], asked[rows], over)
    return {"gpu_utilization": StepSeries(time, used).integral(over) / total, "gpu_stranded": stranded / total}


def _stranded(free: StepSeries, begins: IntArray, until: IntArray, asked: IntArray, over: Interval) -> int:
    """Return GPU-seconds free while the least that a waiting job asks for is no more than that."""
    edges = np.unique(np.concatenate([free.time, begins, until, [over.begin, over.end]]))
    edges = edges[(edges >= over.begin) & (edges <= over.end)]
    at = np.searchsorted(free.time, edges, "right") - 1
    there = np.where(at >= 0, free.value[np.maximum(at, 0)], 0) if len(free.time) else np.zeros(len(edges), np.int64)
    order = np.argsort(begins, kind="stable").tolist()
    waiting: list[tuple[int, int]] = []  # (what it asks for, until when), the least first
    total, nxt = 0, 0
    for k, now in enumerate(edges[:-1].tolist()):
        while nxt < len(order) and begins[order[nxt]] <= now:
            row = order[nxt]
            heappush(waiting, (int(asked[row]), int(until[row])))
            nxt += 1
        while waiting and waiting[0][1] <= now:
            heappop(waiting)
        if waiting and waiting[0][0] <= there[k]:
            total += int(there[k]) * int(edges[k + 1] - now)
    return total
