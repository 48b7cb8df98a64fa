"""A solver for tests of live clusters: slow, then as a list schedule has it (its process is the worker's own)."""

from __future__ import annotations

import time
from typing import Any

from slurmsim_policies.cp.boards import CapacityBoard
from slurmsim_policies.cp.listing import by_arrival, serial
from slurmsim_policies.cp.plain import instance_from

SLEEP_S = 3.0


def slow(request: dict[str, Any]) -> dict[str, Any]:
    """The list schedule by arrival, after a while."""
    time.sleep(SLEEP_S)
    instance = instance_from(request["instance"])
    plan = serial(instance, CapacityBoard(instance), by_arrival(instance))
    return {
        "starts": plan.starts,
        "layout": {name: {str(node): n for node, n in layout.items()} for name, layout in plan.layout.items()},
    }
