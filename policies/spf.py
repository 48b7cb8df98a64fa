"""Shortest predicted first: the waiting job that is expected to run for the shortest time starts first.

Jobs of equal expectation go in queue order. The first that does not fit now blocks all behind it, as under `fcfs`:
no job is backfilled, and no job has a planned start. A job with a long expectation may wait for ever if short ones keep
coming. With the default predictor it is shortest *requested* first.
Option: ``predictor``. For EASY in which short jobs are tried first see ``easy:order=shortest``.
Source: shortest job first, as the dispatcher "SJF" of AccaSim (Galleguillos et al. 2017), which blocks likewise.
"""

from collections.abc import Mapping
from typing import ClassVar

from slurmsim.policy import PREDICTOR, Decisions, Policy, PolicyOption, Pool, PoolsView, Start


class Spf(Policy):
    """Strict order of expected run times in each pool."""

    name = "spf"
    summary = "shortest predicted first: strict order of expected run times, no backfill"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {"predictor": PREDICTOR}

    def schedule(self, view: PoolsView, now: int) -> Decisions:
        for pool in view.pools:
            yield from _pass(pool)


def _pass(pool: Pool) -> Decisions:
    started = True
    while started:  # a start may let others into the queue, who then have their turn too
        started = False
        for record in sorted(pool.pending, key=lambda record: record.job.expected_s):
            if not record.job.queued:  # it started in another of its partitions
                continue
            if (yield Start(record)):
                started = True
            elif record.job.queued:  # else a limit of its account forbids it
                return
