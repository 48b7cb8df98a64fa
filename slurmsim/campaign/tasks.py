"""What goes to a worker process and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slurmsim.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of work."""

    name: str  # what messages call it
    # work, arguments: a function at the top of a module that can be imported, and what it is called with; both are
    # pickled
    work: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    kind: str = ""  # tasks of one kind need about the same memory
    log: str = ""  # file that gets what it prints; empty for nowhere


@dataclass(frozen=True, slots=True)
class Spent:
    """What a task took: seconds of wall-clock and of CPU in its process, and that process's peak memory in bytes."""

    wall_s: float
    cpu_s: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Done:
    """A task that is over: its value, or the error it ended with."""

    task: Task
    value: Any
    error: Exception | None
    spent: Spent
