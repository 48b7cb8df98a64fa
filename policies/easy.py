"""EASY backfill, the textbook's.

All facts of one instant first, then one pass: start jobs from the head of the queue while they fit; the first that
does not gets a planned start, the *shadow time*, when running jobs will have given back enough by their limits; a
later job may start now if it fits and either ends by the shadow time at the latest or needs no more than the *extra*
units, those free at the shadow time beyond the head's need (everything that ends by then counts). The shadow is
recomputed at every pass. Jobs without a limit count with one year, so they are never backfilled before a shadow.
Options: none; see `slurmsim_policies.backfill` for the engine.
Source: Lifka 1995; Mu'alem and Feitelson 2001, section 2.2 (EASY is aggressive backfilling).
"""

from __future__ import annotations

from slurmsim_policies.backfill import ReservationBackfill


class Easy(ReservationBackfill):
    """Backfill with a reservation depth of one."""

    name = "easy"
    summary = "EASY (aggressive) backfill: the first blocked job has a planned start nobody may delay"
    depth = 1
