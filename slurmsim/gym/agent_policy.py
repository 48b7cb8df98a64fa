"""Learned agents as policies: what an agent answers in the environment it answers in runs, sweeps and live clusters.

A policy is a class with the agent inside; it is given to a run as any other is, or installed as a package.
"""

from __future__ import annotations

from slurmsim.gym.observing import SLOTS, Question, ask
from slurmsim.policy import Decisions, Policy, SlurmView, Start


class AgentPolicy(Policy):
    """Base of such policies: `act` is all there is to write.

    Where it chooses to wait nothing more starts at that instant, and it is asked again when something happens.
    """

    name = "agent"
    summary = "a learned agent decides which job starts"
    slots: int = SLOTS

    def act(self, question: Question) -> int:
        """Return the number of the job to start, or `slots` to wait. A job that does not fit waits, too."""
        raise NotImplementedError

    def schedule(self, view: SlurmView, now: int) -> Decisions:
        """Ask the agent until it waits, or nothing fits."""
        while True:
            question = ask(view, now, self.slots)
            if question is None:
                return
            chosen = self.act(question)
            if chosen >= self.slots or not question.mask[chosen] or not (yield Start(question.records[chosen])):
                return
