"""A trigger of strigger: what it waits for, and the program that runs then."""

from __future__ import annotations

from slurmsim.data_classes import dataclass

PENDING, PULLED, DONE = range(3)  # what has become of a trigger: its event has come, its program was started


@dataclass(slots=True)
class EventTrigger:
    """One trigger. `offset` is in seconds; `asked` is what it was set for, `resource` what its program is told of."""

    number: int
    kind: str
    asked: str | None
    events: tuple[str, ...]
    offset: int
    uid: int
    user: str
    permanent: bool
    program: str
    nodes: int | None = None  # which nodes it is about; None: all of them, or none
    job_id: int = 0
    state: int = PENDING
    due: int = 0  # when the program runs, once the event has come
    resource: str | None = None

    def same(self, other: EventTrigger) -> bool:
        """Return True if both would do the same, so slurmctld takes one only."""
        mine, theirs = (
            (one.permanent, one.kind, one.events, one.offset, one.uid, one.program, one.asked) for one in (self, other)
        )
        return mine == theirs
