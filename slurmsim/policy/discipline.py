"""Disciplines: which of the jobs that may start enter the queue, and their places in it.

A policy with a discipline (`Policy.discipline`) sees only the jobs it lets in, in its order; nothing else changes for
the policy. The core keeps the buffers and the places (`core/queue/buffers.py`): a discipline answers questions and
remembers nothing.
"""

from slurmsim.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class Sight:
    """What a discipline judges a job by.

    Attributes
    ----------
    n_nodes
        Nodes it takes at least.
    time_limit_s
        Its limit, seconds; a year if it has none.
    user
        Its user.
    """

    n_nodes: int
    time_limit_s: int
    user: str


class Discipline:
    """Base of disciplines: everybody is let in at once, in the order of coming.

    Attributes
    ----------
    limit
        Jobs a user may have in the queue; the others wait in a buffer, without ageing, until one leaves it. None: any
        number.
    """

    limit: int | None = None

    def refusal(self, job: Sight) -> str:
        """Return why `job` never may be let in, as a reason Slurm has; empty if it may."""
        return ""

    def ahead_s(self, job: Sight) -> int:
        """Return how many seconds of waiting `job` is given when it enters the queue."""
        return 0

    def check(self, n_nodes: int) -> None:
        """Raise ConfigError if it cannot serve a cluster of `n_nodes`."""
