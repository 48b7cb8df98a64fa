"""Which part of a cycle is the kernel's: its plans, and the walk as well. This is the one place that says so.

Decision 0020 says for each case that is left to sets of nodes, or to the walk in Python, how often it comes.
"""

from __future__ import annotations

from collections.abc import Sequence

from slurmsim.policy import ReservedNodes, SharedNodes, SlurmRecord, SlurmView, WholeNodes
from slurmsim_policies.slurm_backfill.atom_plans import Known


class KernelPart:
    """What the kernel does of one cycle, which is a question of the cluster, of limits and of options.

    Parameters
    ----------
    counts
        Some bf_max_job_* or bf_min_* makes the cycle count its tests, or tests some jobs for a start now only.
    """

    __slots__ = ("plans", "reserved", "shares", "walks", "whole")

    def __init__(
        self, view: SlurmView, known: Known, parts: Sequence[Sequence[SlurmRecord]], *, wanted: bool, counts: bool
    ) -> None:
        # the reservations; None where there are none
        self.reserved: ReservedNodes | None = view.reserved_nodes() if wanted and view.reserved else None
        plain = wanted and not view.tests_from_try and (self.reserved is not None or not view.reserved)
        whole, shares = _known_nodes(view, known, parts) if plain else (None, None)
        # whole, shares: the nodes as the kernel knows them: one of the two, if it plans
        self.whole: WholeNodes | None = whole
        self.shares: SharedNodes | None = shares
        # True if plans are made on atoms. They are not by the future test of 24.11, beside reservations of parts of
        # nodes, and where neither whole nodes nor shares are what the kernel knows.
        self.plans = whole is not None or shares is not None
        limits = view.limits
        limited = limits is not None and (limits.stop or shares is not None)
        # True if the kernel passes over records. It does not where tests are counted, jobs may preempt others, or
        # limits stop the cycle (`assoc_limit_stop`) or hold jobs that share nodes.
        self.walks = self.plans and not (counts or view.preempts or limited)


def _known_nodes(
    view: SlurmView, known: Known, parts: Sequence[Sequence[SlurmRecord]]
) -> tuple[WholeNodes | None, SharedNodes | None]:
    """Return the nodes as the kernel knows them: all taken whole, or plain shares of them; both None if neither."""
    whole = view.whole_nodes()
    if whole is not None and (view.only_whole or known.all_whole(parts)):
        return whole, None
    shares = view.shared_nodes()
    if shares is None or not any(shares.serves(record.request) for records in parts for record in records):
        return None, None
    return None, shares
