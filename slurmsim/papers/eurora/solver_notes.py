"""A solver that keeps notes: what a run asked for, what came of it, and what it cost in CPU time.

Policies that have an option `solver` are given the name of `noting`; who runs them calls `taken` afterwards. A process
makes one run at a time.
"""

from __future__ import annotations

import time
from typing import Any

NAME = f"{__name__}:noting"
KEPT = (
    "criterion", "status", "asked", "objective_integer", "scale", "variables", "solver_variables", "deterministic_time",
    "repeatable", "seconds", "cuts",
)  # fmt: skip
_notes: list[dict[str, Any]] = []


def noting(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of this project's dispatchers to `request`."""
    from slurmsim_policies.cp.solve import solve

    answer = solve(request, time.process_time)
    jobs = request["instance"]["jobs"]
    note = {name: answer[name] for name in KEPT}
    note["now"] = request["instance"]["now"]
    note["waiting"] = sum("start" not in job for job in jobs)
    for name in ("objective", "hint_objective", "first_objective", "bound"):
        note[name] = answer[name]
    _notes.append(note)
    return answer


def taken() -> list[dict[str, Any]]:
    """Return the notes since the last call."""
    found = list(_notes)
    _notes.clear()
    return found
