"""Who enters a model: only jobs that could start now, and of those no more than fit a solve (PCP'20's code, 3.4)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from slurmsim_policies.cp.boards import CapacityBoard
from slurmsim_policies.cp.problem import Instance

Q_LENGTH = 100


def admit(instance: Instance, order: Sequence[int], q_length: int, *, on_fitting_nodes: bool) -> Instance:
    """Return the instance of the running jobs and the first `q_length` in `order` that could start now, each alone.

    Parameters
    ----------
    on_fitting_nodes
        PCP'19: a job may only use nodes that hold a unit of it now.
    """
    free = CapacityBoard(instance).timeline
    chosen: dict[int, tuple[int, ...] | None] = {}
    for i in order:
        if len(chosen) == q_length:
            break
        job = instance.jobs[i]
        if instance.units_that_fit(job, free.free[0]).sum() < job.units:
            continue
        start, fit, _ = next(iter(free.windows(job, instance.now)))
        if start == instance.now:
            chosen[i] = tuple(np.flatnonzero(fit).tolist()) if on_fitting_nodes else job.within
    jobs = tuple(
        replace(job, within=chosen[i]) if i in chosen else job
        for i, job in enumerate(instance.jobs)
        if job.running or i in chosen
    )
    return replace(instance, jobs=jobs)


def next_q_length(q_length: int, planned: int, solved: bool) -> int:
    """Return how many jobs may enter next time: all again once a solve had a solution, else half of what was tried."""
    return Q_LENGTH if solved else max(1, min(q_length, planned) // 2)
