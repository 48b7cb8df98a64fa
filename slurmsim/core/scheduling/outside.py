"""Which policies and predictors come from outside, and are shown facades."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slurmsim.policy.registry import OURS

if TYPE_CHECKING:
    from slurmsim.core.scheduling.read_only import Guard


def guard_of(plugin: object) -> Guard | None:
    """Return a guard for a policy or predictor from outside; None for one that is distributed with slurmsim."""
    if type(plugin).__module__.partition(".")[0] in OURS:
        return None
    from slurmsim.core.scheduling.read_only import Guard  # few runs need it

    return Guard()


def shown_to(plugin: object) -> Callable[[Any], Any] | None:
    """Return what turns an object of the core into what `plugin` may see; None: it sees the object itself."""
    guard = guard_of(plugin)
    return None if guard is None else guard.shown
