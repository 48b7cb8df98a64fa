"""What EASY and conservative backfilling promise, checked on a finished schedule from scratch."""

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence

import numpy as np

from slurmsim.validate.columns import NULL, IntArray, Table
from slurmsim.validate.report import Check

Columns = Mapping[str, Sequence[int]]


def easy_guarantee(jobs: Columns, n: int) -> Check:
    """No job of an EASY schedule delays the first blocked job.

    The queue is in order of submit time, then job id. A job is *first blocked* from the moment all jobs before it
    have started while it has not. Its shadow time then is when, by the limits of the running jobs, enough units will
    be free; it must have started by then. Jobs behind it that start at that very moment do not count as running: the
    shadow time is computed before anything is backfilled.

    Parameters
    ----------
    jobs
        Columns ``job_id, submit, start, end, size, limit`` in seconds and units; every job started, ended, and
        none ran past its limit. Without node failures, requeues and edits of limits.
    n
        Units of the one resource.

    Returns
    -------
    Check
        `subjects` counts the jobs that were first blocked at some time.

    Notes
    -----
    O(j (log j + r)) for j jobs of which r run at once.

    References
    ----------
    A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001, section 2.2.
    """
    job_id, submit, start, end, size, limit = (
        np.asarray(jobs[name], np.int64) for name in ("job_id", "submit", "start", "end", "size", "limit")
    )
    order = np.lexsort((job_id, submit))
    job_id, submit, start, end, size, limit = (c[order] for c in (job_id, submit, start, end, size, limit))
    check = Check("easy_guarantee")
    ahead = np.concatenate([submit[:1], np.maximum.accumulate(start)[:-1]])
    head_at = np.maximum(submit, ahead)
    by_start, by_end = np.lexsort((np.arange(len(start)), start)), np.argsort(end, kind="stable")
    begun = over = 0
    running: list[tuple[int, int]] = []  # (end by the limit, position in the queue)
    for k in np.flatnonzero(start > head_at).tolist():
        now = int(head_at[k])
        while begun < len(start) and start[by_start[begun]] <= now:
            j = int(by_start[begun])
            begun += 1
            insort(running, (int(start[j] + limit[j]), j))
        while over < len(start) and end[by_end[over]] <= now:
            j = int(by_end[over])
            over += 1
            del running[bisect_left(running, (int(start[j] + limit[j]), j))]
        check.subjects += 1
        shadow = _shadow(running, start, size, now, k, n)
        if start[k] > shadow:
            check.add(
                f"job {job_id[k]} was first in the queue at {now} and could have started by {shadow}; "
                f"it started at {start[k]}"
            )
    return check


def _shadow(running: list[tuple[int, int]], start: IntArray, size: IntArray, now: int, k: int, n: int) -> int:
    """Earliest time at which queue position `k` fits, by the limits of the jobs that run before any backfilling."""
    there = [(end, j) for end, j in running if start[j] < now or j < k]
    free = n - sum(int(size[j]) for _, j in there)
    if free >= size[k]:
        return now
    for end, j in there:
        free += int(size[j])
        if free >= size[k]:
            return end
    return there[-1][0] if there else now


def conservative_guarantee(jobs: Table, events: Table) -> Check:
    """No job of a conservative schedule starts later than any start that was planned for it, and no plan moves back.

    Parameters
    ----------
    jobs
        Columns ``job_id, start``.
    events
        Columns ``time, event, job_id, value``; PLAN events carry the planned start in `value`. Without node
        failures, requeues and edits of limits, which may break any promise.

    Returns
    -------
    Check
        `subjects` counts the plans.

    References
    ----------
    A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001, section 2.3.
    """
    rows = np.flatnonzero(events.texts["event"].mask(["PLAN"]))
    ids, plan, time = (events.ints[name][rows] for name in ("job_id", "value", "time"))
    order = np.argsort(ids, kind="stable")
    ids, plan, time = ids[order], plan[order], time[order]
    check = Check("conservative_guarantee", len(ids))
    later = np.flatnonzero((ids[1:] == ids[:-1]) & (plan[1:] > plan[:-1])) + 1
    text = "job {}, planned for {}, was put back to {} at {}"
    check.flag(len(later), (text.format(ids[i], plan[i - 1], plan[i], time[i]) for i in later))
    job_ids, start = jobs.ints["job_id"], jobs.ints["start"]
    by_id = np.argsort(job_ids, kind="stable")
    at = np.minimum(np.searchsorted(job_ids, ids, sorter=by_id), max(len(job_ids) - 1, 0))
    began = start[by_id[at]] if len(job_ids) else np.full(len(ids), NULL)
    known = job_ids[by_id[at]] == ids if len(job_ids) else np.zeros(len(ids), bool)
    late = np.flatnonzero(known & (began > plan))
    check.flag(len(late), (f"job {ids[i]}, planned at {time[i]} for {plan[i]}, started at {began[i]}" for i in late))
    return check
