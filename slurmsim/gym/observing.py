"""What an agent is shown: the first jobs of the queue and the state of the cluster, as arrays.

It is read from the policy port alone, so an agent sees the same in its environment and as a policy. How long a job
really runs is not in it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from slurmsim.policy import PoolsView, RecordView

SLOTS: Final = 128
JOB_FEATURES: Final = ("waited_h", "limit_h", "share", "fits", "there")
"""Of each job: hours since its submission, its limit in hours, its part of all CPUs, 1 if it could start now, and 1."""
CLUSTER_FEATURES: Final = ("free", "queued", "next_end_h")
"""Part of all CPUs that is free, jobs in the queue over the slots, hours until the first running job is at its limit.

The hours are 0 where no job runs.
"""
Mask = npt.NDArray[np.int8]


class Question(NamedTuple):
    """One decision to make: the jobs to choose from, what is known of them, and which actions are possible."""

    records: list[RecordView]
    jobs: npt.NDArray[np.float32]  # (slots, features of a job); rows behind the last job are 0
    cluster: npt.NDArray[np.float32]  # (features of the cluster,)
    mask: Mask  # (slots + 1,): 1 for a job that could start now; the last action is to wait


def fitting(view: PoolsView, records: list[RecordView]) -> list[bool]:
    """Return for each of `records` if it could start now; nothing if none could."""
    first = view.pools[0]
    if len(view.pools) == 1 and first.counts:
        needs, free = [record.need for record in records], first.free_units
        return [need <= free for need in needs] if needs and min(needs) <= free else []
    found = [view.fits(record.job) for record in records]
    return found if any(found) else []


def waiting(view: PoolsView, slots: int) -> list[RecordView]:
    """Return the first `slots` jobs of the queue, each in one of its partitions."""
    if len(view.pools) == 1:
        return list(view.pools[0].pending[:slots])
    return list(view.records())[:slots]


def ask(view: PoolsView, now: int, slots: int) -> Question | None:
    """Return what is to be decided at `now`; None where no job could start."""
    records = waiting(view, slots)
    fits = fitting(view, records)
    if not fits:
        return None
    n = len(records)
    jobs = np.zeros((slots, len(JOB_FEATURES)), np.float32)
    mask = np.zeros(slots + 1, np.int8)
    mask[-1] = 1
    n_cpus = view.n_cpus
    jobs[:n] = [
        ((now - (job := record.job).submit_time) / 3600, job.time_limit_s / 3600, record.n_cpus / n_cpus, fit, 1.0)
        for record, fit in zip(records, fits, strict=True)
    ]
    mask[:n] = fits
    running = view.running
    end = running[0].end_limit if running else None
    left = 0.0 if end is None else max(0, end - now) / 3600
    cluster = np.array([view.free_cpus / n_cpus, view.n_queued / slots, left], np.float32)
    return Question(records, jobs, cluster, mask)
