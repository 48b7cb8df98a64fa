"""Solvers for tests of live clusters; their process is the worker's own."""

from __future__ import annotations

import os
import time
from pathlib import Path
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


def _asked() -> None:
    with Path(os.environ["SLURMSIM_TEST_ASKED"]).open("a", encoding="utf-8") as said:
        said.write(".")


def endless(request: dict[str, Any]) -> dict[str, Any]:
    """Takes longer than any test."""
    _asked()
    time.sleep(3600)
    return request


def senseless(request: dict[str, Any]) -> dict[str, Any]:
    """Plain data that is no answer."""
    _asked()
    return {"starts": 7, "for": request["dispatcher"]}


def raising(request: dict[str, Any]) -> dict[str, Any]:
    """Fails."""
    _asked()
    raise KeyError(request["dispatcher"])


def dying(request: dict[str, Any]) -> dict[str, Any]:
    """Ends its process."""
    _asked()
    os._exit(len(request))


def rambling(request: dict[str, Any]) -> object:
    """Gives what is no plain data."""
    _asked()
    return {request["dispatcher"]}
