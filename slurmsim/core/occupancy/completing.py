"""Nodes that are COMPLETING: a job has ended there, and its processes or its epilog have not.

How long that takes is no decision of slurmctld; whoever drives the controller states it. Processes of a job that ended
by itself are gone; of one that was ended from outside they have until KillWait after SIGTERM. The epilog follows. Until
it is done no job starts on any part of these nodes, and whoever depends on the job waits (node_scheduler.c,
job_mgr.c, 22.05). Limits, licenses and fair share let go of the job when it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from slurmsim.bitmap import Bitmap
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.state.controller_state import ControllerState

_BY_THEMSELVES = (JobState.COMPLETED, JobState.FAILED, JobState.OUT_OF_MEMORY)


class Completing:
    """The nodes jobs have left but not yet cleared.

    Parameters
    ----------
    state
        Whose nodes.
    epilog_s
        Seconds the epilog takes on every node.
    term_s
        Seconds processes take to die once they are told to; KillWait ends them.

    Attributes
    ----------
    nodes
        Those that are completing now.
    """

    def __init__(self, state: ControllerState, epilog_s: int, term_s: int) -> None:
        self.state = state
        self.epilog_s = epilog_s
        self.term_s = min(term_s, int(state.spec.option("KillWait")))
        self._wait_s = int(state.spec.option("CompleteWait"))
        self.nodes: Bitmap = 0
        self._left: list[tuple[int, int, Bitmap]] = []  # until, since, nodes

    def seconds(self, state: str) -> int:
        """How long the nodes of a job that ends in `state` take to be clean; of nodes that are down, not at all."""
        if state == JobState.NODE_FAIL:
            return 0
        return self.epilog_s + (0 if state in _BY_THEMSELVES else self.term_s)

    def leave(self, nodes: Bitmap, seconds: int, then: Callable[[], None]) -> None:
        """A job ends on `nodes` now; call `then` when they are clean."""
        now = self.state.now
        self._left.append((now + seconds, now, nodes))
        self.nodes |= nodes
        self.state.timers.set(now + seconds, self._clean, then)

    def _clean(self, then: Callable[[], None]) -> None:
        self._left = [entry for entry in self._left if entry[0] > self.state.now]
        self.nodes = 0
        for _, _, nodes in self._left:
            self.nodes |= nodes
        self.state.selector.forget_future()
        self.state.generation += 1
        then()

    def held_until(self) -> int:
        """CompleteWait: no job starts anywhere before this instant; the present or one that is past for no wait."""
        return max((min(until, since + self._wait_s) for until, since, _ in self._left), default=0)
