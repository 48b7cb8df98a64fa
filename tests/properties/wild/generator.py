"""A wild world from a number."""

from __future__ import annotations

import random

from slurmsim.releases import RECORDED_RELEASES
from wild.happenings import BINS, draw_events, draw_options, draw_reservations, draw_watts
from wild.jobs import draw_jobs
from wild.machine import draw_machine
from wild.people import draw_accounts
from wild.world import World


def wild_world(seed: int) -> World:
    """The world of that number, the same on every machine."""
    draw = random.Random(seed)
    machine = draw_machine(draw)
    first = draw.choice((0, 1, 1000))
    reservations = draw_reservations(draw, machine, first, first + draw.choice((200, 1500)))
    jobs = draw_jobs(draw, machine, first, ("r1", "r2") if reservations else ())
    last = max(int(job["submit"]) for job in jobs)
    options = draw_options(draw, machine)
    return World(
        seed, tuple(machine.conf), tuple(jobs), topology=tuple(machine.topology),
        accounts=tuple(draw_accounts(draw, machine)) if machine.accounted else (),
        events=tuple(draw_events(draw, machine, first, last)), reservations=tuple(reservations),
        bins=draw.choice(BINS) if "@bins" in machine.policy else (),
        watts=tuple(draw_watts(draw, machine, first, last)) if options.get("power_budget") == "@watts.csv" else (),
        options=options, release=draw.choice((RECORDED_RELEASES[0], RECORDED_RELEASES[0], *RECORDED_RELEASES[1:])),
    )  # fmt: skip
