"""A solver for tests: starts every job it is told of on the first nodes with room, in order, now."""

from __future__ import annotations

from typing import Any

asked: list[Any] = []


def first_fit(request: dict[str, Any]) -> dict[str, Any]:
    """Job id -> [[node, units], …] of those that fit."""
    asked.append(request)
    free = list(request["free"])
    plan: dict[str, list[list[int]]] = {}
    for job_id, units, cpus in request["jobs"]:
        layout, left = [], units
        for node, room in enumerate(free):
            some = min(left, room // cpus)
            if some:
                layout.append([node, some])
                left -= some
        if not left:
            plan[str(job_id)] = layout
            for node, some in layout:
                free[node] -= some * cpus
    return plan


def broken(request: Any) -> Any:
    """Fails."""
    raise RuntimeError("no\nsolution")
