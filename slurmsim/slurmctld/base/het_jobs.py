"""Heterogeneous jobs: which components an id names, and what may be asked of one of them.

``N`` is the job of which N leads, and for most requests all of it; ``N+K`` and the id of its own name a component.
Mirrors het_job_* of job_mgr.c, and what a recorded 22.05 answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from slurmsim.slurmctld.base.submit_request import job_number

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.slurmctld.base.live_job import LiveJob

NOT_WHOLE = ("Operation not permitted on individual component of heterogeneous job", 2108)
NOT_LEADER = ("Job not heterogeneous job leader", 2107)  # what is refused of one component: Slurm's text and number


class ShownJobs(Protocol):
    """Who has the jobs by the ids that are shown."""

    def shown(self, number: int) -> LiveJob | None:
        """Return the job with this id of its own."""


def place(core: Job) -> tuple[int, int, int] | None:
    """(id of the leader, place among the components, their number) of a component; None: it is none."""
    het = core.sub.het
    return None if het is None else (het[0], core.id - het[0], het[1])


def id_set(core: Job) -> str | None:
    """Return the ids of all components: ``4-6``."""
    het = core.sub.het
    return None if het is None else f"{het[0]}-{het[0] + het[1] - 1}"


def component(jobs: ShownJobs, text: str) -> LiveJob | None:
    """Return the component ``N+K`` of the job that N leads, or N itself if it is component K; None if it is gone."""
    base, plus, text = text.partition("+")
    number, offset = job_number(base), job_number(text)
    if not plus or not text.isascii() or not text.isdecimal():
        return None
    named = jobs.shown(number)
    if named is None or (at := place(named.core)) is None:
        return None
    if at[1] == offset:
        return named
    live = jobs.shown(number + offset) if not at[1] else None
    return live if live is not None and live.core.sub.het == named.core.sub.het else None


def whole(jobs: ShownJobs, found: Sequence[LiveJob]) -> list[LiveJob]:
    """`found`, and behind a leader the other components of its job that slurmctld still has."""
    if len(found) != 1 or (at := place(found[0].core)) is None or at[1]:
        return list(found)
    others = (jobs.shown(at[0] + offset) for offset in range(1, at[2]))
    return [found[0], *(live for live in others if live is not None and live.core.sub.het == found[0].core.sub.het)]


def leads(live: LiveJob) -> bool:
    """Return True if it is no component, or the first of its job."""
    at = place(live.core)
    return at is None or not at[1]
