"""The running jobs as they were at one moment, for plans made later on in the same second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from slurmsim.bitmap import Bitmap
from slurmsim.capacity import CapacityProfile
from slurmsim.core.records.job import Job

if TYPE_CHECKING:
    from slurmsim.core.placement.selector import Forecast, Selector
    from slurmsim.core.records.job_queue import Record


class RunningSnapshot:
    """What running jobs give back when, for requests that counting nodes decides.

    Answers as the view does at the moment it is made, and goes on doing so while jobs start.

    Parameters
    ----------
    selector
        The select plugin; its usable nodes must not change while the outlook is in use.
    running
        (end by limit, id, job), ascending; each job holds whole nodes.
    now
        Seconds.
    """

    __slots__ = ("_now", "_releases", "_selector")

    def __init__(self, selector: Selector, running: Sequence[tuple[int, int, Job]], now: int) -> None:
        self._selector, self._now = selector, now
        self._releases = selector.releases_of(running)

    def future(self, record: Record, within: Bitmap) -> Forecast | None:
        """Slurm's future test: earliest start of the record's job on the nodes of `within`."""
        return self._selector.future_after(record.request, self._releases, self._now, within)

    def too_few_by(self, record: Record, within: Bitmap, time: int) -> bool:
        """Whether counting is enough to tell that `future` would name an instant after `time`."""
        return self._selector.too_few_after(record.request, self._releases, within, time)

    def profile(self) -> CapacityProfile:
        """How many nodes are without a running job from now on; jobs over their limit count as gone."""
        return self._releases.profile(self._now)
