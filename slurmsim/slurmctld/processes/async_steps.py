"""Steps of ``srun --async``: they wait in their job for room, and no srun waits with them.

Mirrors stepmgr.c of 26.05 and a recording of it. Such a step has its number from the start and is PENDING until it has
a place. Of one that has waited accounting never learns when it began. ``swait`` waits until a job has neither steps
that run nor such that wait; steps that an ordinary srun waits for do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.step import Step
from slurmsim.slurmctld.base.stepmgr import has_stepmgr
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

DRAINED = "drained"
_NO_STEP = -1  # no srun reads letters to that step
_INVALID = "Invalid feature specification"


def check(cluster: LiveCluster, live: LiveJob) -> None:
    """Refuse an asynchronous step of a job without a step manager. Raises Refusal."""
    if not has_stepmgr(cluster, live):
        raise Refusal(_INVALID)


def queued(number: int, now: int, members: Sequence[int], run: int, asked: Mapping[str, Any]) -> Step:
    """Return a step without a place: it is shown with all nodes of its job, and a CPU for each task."""
    counts = (int(asked["num_tasks"]), *(0 for _ in members[1:]))
    return Step(
        number, str(asked.get("name") or ""), now, tuple(members), counts, counts, tuple(0 for _ in members), run,
        dict(asked), state=JobState.PENDING,
    )  # fmt: skip


def is_drained(live: LiveJob) -> bool:
    """Return True if a job has neither steps of srun that run nor asynchronous ones that wait."""
    return not any(step.asked for step in live.running_steps)


def note_drained(live: LiveJob) -> None:
    """Leave a letter for those who wait for the steps of a job, if there is none left."""
    if is_drained(live):
        live.mail.append({"kind": DRAINED, "step": _NO_STEP})


def drained_since(live: LiveJob, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether a job has no steps, or had none at any time since its letter number ``after``."""
    after = arguments.get("after")
    letters = live.mail if after is None or int(after) > len(live.mail) else live.mail[int(after) :]
    told = after is not None and any(letter["kind"] == DRAINED for letter in letters)
    return {"drained": told or is_drained(live), "after": len(live.mail)}
