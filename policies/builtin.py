"""sched/builtin: slurmctld's main scheduler alone, no backfill.

Strict priority order within a partition; the plugin itself starts nothing (in Slurm it only estimates start times).
No options. Source: Slurm src/plugins/sched/builtin, 22.05.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from slurmsim.policy import Decision, Policy


class Builtin(Policy):
    """Slurm's plain first-in-first-out plugin."""

    name = "builtin"
    summary = "Slurm's main scheduler alone: strict priority order in each partition"
    event_driven = False

    def schedule(self, view: Any, now: int) -> Iterator[Decision]:
        return iter(())
