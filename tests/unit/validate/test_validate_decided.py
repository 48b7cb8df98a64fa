"""What a policy decided about a job has to come true: the judge notices each decision that did not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from made_runs import Made, Tables, made, sound
from test_validate_fires import judge


def told(t: Tables, time: int, event: str, value: int | None = None, nodes: str = "", by: str = "mine") -> None:
    """An event of job 4, which is submitted at 20, runs from 100 to 600 on n[1-4] and has a limit of 500 s."""
    state = "PENDING" if time < 100 else "RUNNING"
    t.add_event(time=time, event=event, job_id=4, state=state, reason="None", partition="all", nodes=nodes,
                value=value, scheduler=by)  # fmt: skip


def cancelled_at_its_end(t: Tables) -> None:
    """A cancel in the second of the end, before it."""
    at = t.event(4, "END")
    cells = {name: column[at] for name, column in t.events.items()}
    t.drop_event(at)
    told(t, 600, "CANCEL", 0)
    t.add_event(**cells)


BROKEN: dict[str, tuple[Callable[[Tables], None], str]] = {
    "held": (lambda t: told(t, 30, "HOLD"), "job 4: starts at 100, while it is held"),
    "limit": (lambda t: told(t, 120, "LIMIT", 499), "job 4: has a limit of 500 s, but its last LIMIT says 499"),
    "grace": (lambda t: told(t, 120, "CANCEL", 60), "job 4: runs until 600, but its grace time is over at 180"),
    "nodes": (lambda t: told(t, 30, "MIGRATE", nodes="n[1-3]"), "job 4: starts at 100 on n[1-4], from which it was "
              "migrated"),
    "state": (cancelled_at_its_end, "job 4: is TIMEOUT at 600, when it was cancelled"),
}  # fmt: skip
KEPT: dict[str, Callable[[Tables], None]] = {
    "released": lambda t: (told(t, 30, "HOLD"), told(t, 40, "RELEASE"))[0],
    "an administrator's hold": lambda t: (told(t, 30, "HOLD", by=""), told(t, 31, "PRIORITY"))[0],
    "limit": lambda t: told(t, 120, "LIMIT", 500),
    "grace": lambda t: told(t, 120, "CANCEL", 600),
    "nodes": lambda t: told(t, 30, "MIGRATE", nodes="n[1-4]"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_it_notices(how: str) -> None:
    tables = sound()
    BROKEN[how][0](tables)
    check = judge(tables).check("decisions_kept")
    assert check.examples == [BROKEN[how][1]]


@pytest.mark.parametrize("how", KEPT)
def test_what_is_kept_is_valid(how: str) -> None:
    tables = sound()
    KEPT[how](tables)
    check = judge(tables).check("decisions_kept")
    assert (check.violations, check.skipped) == (0, None)


@pytest.mark.parametrize(("again", "wrong"), [(220, 1), (221, 0)])
def test_a_requeued_job_waits(again: int, wrong: int) -> None:
    tables = made([Made(1, 0, again, again + 50, "n1")])
    tables.jobs["restarts"][0] = 1
    cells = {"job_id": 1, "partition": "all", "reason": "None", "value": None}
    tables.add_event(time=0, event="START", state="RUNNING", nodes="n1", scheduler="mine", **cells)
    tables.add_event(time=100, event="REQUEUE", state="PENDING", nodes="n1", scheduler="mine", **cells)
    check = judge(tables).check("decisions_kept")
    assert check.violations == wrong
