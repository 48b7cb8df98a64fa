"""Usage and fair share of every association as rows of the trace (columns: `slurmsim.trace.schema.SHARES`)."""

from collections.abc import Callable
from typing import Any

from slurmsim.core.controller.controller import Controller

PPM = 1_000_000
Append = Callable[[tuple[Any, ...]], None]


class SharesRecorder:
    """Notes all associations after a run of the priority thread, at most every so often.

    Parameters
    ----------
    controller
        The controller with the associations; it keeps usage (`Controller.book`).
    every_s
        Seconds from one note to the next at least; 0 notes every run.
    append
        Where rows go.

    Notes
    -----
    Nothing is decided by it: the factors it asks for are not kept.
    """

    def __init__(self, controller: Controller, every_s: int, append: Append) -> None:
        assert controller.accounting.book is not None and controller.state.tree is not None
        assert controller.recalculation.shares is not None
        self._c = controller
        self._every, self._append = every_s, append
        self._due = controller.state.start_time
        controller.recalculation.on_period.append(self._run)

    def _run(self, _before: int, now: int) -> None:
        if now < self._due:
            return
        self._due = now + self._every
        c = self._c  # associations may have been replaced since the last time
        assert c.accounting.book is not None and c.state.tree is not None and c.recalculation.shares is not None
        used = c.accounting.book.used
        factors = c.recalculation.shares.preview(used).tolist()
        seconds = used.tolist()
        total = seconds[0]
        for branch, mine in zip(c.state.tree.branches, seconds, strict=True):
            spec = branch.spec
            part = round(mine / total * PPM) if total else 0
            factor = round(factors[branch.row] * PPM) if branch.is_user else None
            self._append((now, spec.account, spec.user, spec.partition, int(mine), part, factor))
