"""Against starvation: no job may delay the start of the one that has waited longest (``reserve=oldest``).

Dispatchers that plan only jobs which fit now never plan a wide one while narrow ones keep coming. So before they are
asked the oldest waiting job is placed alone beside what runs and what is reserved. If it fits now it starts. Else the
nodes it is placed on are reserved, whole, from its earliest start for as long as it is expected to run; the others are
planned around that as around any reservation, and may use these nodes until then.
Ours, not the papers' (docs/systems/eurora.md).
"""

from collections.abc import Container

from slurmsim.bitmap import Bitmap, from_indices
from slurmsim.data_classes import dataclass, replace
from slurmsim_policies.cp.boards import CapacityBoard
from slurmsim_policies.cp.picture import Picture
from slurmsim_policies.cp.plan import Layout


@dataclass(frozen=True, slots=True)
class Kept:
    """A start that is kept for a job."""

    name: str  # the job, as the picture has it
    # start, duration: when it is to start, and for how long (s)
    start: int
    duration: int
    layout: Layout  # units by node of the picture

    def nodes(self, picture: Picture) -> Bitmap:
        """Return its nodes by the cluster's numbers."""
        return from_indices(sorted(picture.machine[k] for k in self.layout))


def oldest(picture: Picture, passed_over: Container[str]) -> Kept | None:
    """Return the earliest start of the job that has waited longest, as if no other waited; None if no job waits.

    Of equally old ones the first in the queue. Those `passed_over` are not considered.
    """
    instance = picture.instance
    waiting = [instance.jobs[i] for i in instance.waiting if instance.jobs[i].id not in passed_over]
    if not waiting:
        return None
    job = min(waiting, key=lambda job: job.q)
    alone = replace(instance, jobs=(*(instance.jobs[i] for i in instance.running), job))
    slot = CapacityBoard(alone).slot(job, instance.now)
    assert slot.layout is not None
    return Kept(job.id, slot.start, job.duration, slot.layout)


def around(picture: Picture, kept: Kept) -> Picture:
    """Return `picture` as the others are to see it: without the job, its nodes reserved for it."""
    plain = dict(picture.plain)
    plain["jobs"] = [job for job in plain["jobs"] if job["id"] != kept.name]
    own = {"start": kept.start, "duration": kept.duration, "nodes": sorted(kept.layout)}
    plain["reservations"] = [*plain.get("reservations", ()), own]
    waiting = {name: job for name, job in picture.waiting.items() if name != kept.name}
    return Picture(plain, picture.machine, waiting, picture.refused)
