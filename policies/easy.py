"""EASY backfill, the textbook's.

All facts of one instant come first, then one pass. Jobs start from the head of the queue while they fit. The first job
that does not fit gets a planned start, the *shadow time*: by then running jobs will have given back enough, by their
limits. A later job may start now if it fits and does not delay the head. It must end by the shadow time, or need no
more than the *extra* units: those free at the shadow time beyond the head's need. All that ends by then counts as free.

The shadow is recomputed at every pass. Jobs without a limit count with one year, so they are never backfilled before a
shadow. Options: ``predictor`` expects run times in place of the limits; ``order`` tries jobs behind the head in queue
order or the shortest expected first. Both together are Tsafrir's EASY++, which predicts by `last_two`. ``ties=event``
gives each thing that happens in one second a pass of its own: arrivals by job id, then ends in the order in which the
jobs started. So does the simulator pyss, and all its published starts come out. See `slurmsim_policies.backfill` for
the engine.
Source: Lifka 1995; Mu'alem and Feitelson 2001, section 2.2 (EASY is aggressive backfilling); Tsafrir, Etsion and
Feitelson 2007 (EASY++).
"""

from collections.abc import Mapping
from typing import ClassVar

from slurmsim.policy import PREDICTOR, PolicyOption
from slurmsim_policies.backfill import SHORTEST, ReservationBackfill
from slurmsim_policies.choices import one_of

EACH = "event"


class Easy(ReservationBackfill):
    """Backfill with a reservation depth of one."""

    name = "easy"
    summary = "EASY (aggressive) backfill: the first blocked job has a planned start that no other job may delay"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {
        "predictor": PREDICTOR,
        "order": PolicyOption(
            one_of("queue", SHORTEST), "queue", "jobs behind the first blocked one are tried by: queue, shortest"
        ),
        "ties": PolicyOption(
            one_of("instant", EACH), "instant", "what happens in one second has one pass, or one each: instant, event"
        ),
    }
    depth = 1

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        super().__init__(options)
        self.pass_each = self.options["ties"] == EACH
