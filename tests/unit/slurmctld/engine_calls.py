"""What one asks of an engine without a daemon around it."""

from __future__ import annotations

from typing import Any

from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.server.people import Person

ROOT, ALICE = Person("root", 0, "root", 0, "/root"), Person("alice", 2001, "alice", 2001, "/home/alice")


def do(e: Engine, call: str, person: Person = ROOT, **arguments: Any) -> dict[str, Any]:
    """A request now."""
    return e.execute(e.now, call, arguments, person)


def show(e: Engine, job_id: str, *fields: str) -> list[Any]:
    """Fields of a job, as commands get them."""
    found = do(e, "jobs", job_id=job_id, fields=list(fields))["columns"]
    return [found[name][0] for name in fields]


def wait(e: Engine, seconds: int) -> None:
    """Time passes."""
    e.execute(e.now + seconds, "ping", {}, ROOT)
