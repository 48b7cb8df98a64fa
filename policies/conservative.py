"""Conservative backfill: every job gets a planned start when it arrives, and no other job may delay it.

A job is planned at the earliest instant from which its units are free for its whole limit, given the limits of the
running jobs and all plans before it. When a job ends early, or a waiting one is cancelled, the schedule is compressed
once: the waiting jobs, in queue order, are lifted out and put back at their earliest start, which is never later.
Jobs without a limit count with one year. Option: ``predictor``, who says how long jobs will run instead of their
limits; then a planned start is no promise, as jobs may run longer than predicted. ``early=replan`` plans everything
anew, in queue order, instead of compressing: then it is none either, as who moves forward may take another's place.
Source: Mu'alem and Feitelson 2001, section 2.2; Feitelson and Weil 1998.
"""

from collections.abc import Mapping
from typing import ClassVar

from slurmsim.policy import PREDICTOR, PolicyOption
from slurmsim_policies.backfill import ReservationBackfill
from slurmsim_policies.choices import one_of


class Conservative(ReservationBackfill):
    """Backfill with a reservation for every waiting job."""

    name = "conservative"
    summary = "conservative backfill: every job has a planned start that no other job may delay"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {
        "predictor": PREDICTOR,
        "early": PolicyOption(
            one_of("compress", "replan"), "compress", "what follows when a job ends early: compress, or replan"
        ),
    }
    depth = None

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        super().__init__(options)
        self.anew = self.options["early"] == "replan"
