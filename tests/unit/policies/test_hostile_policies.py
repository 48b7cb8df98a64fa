"""Policies that write to what they are shown, or decide what cannot be: one clear line each, and nothing changes."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import slurmsim.core.scheduling.read_only
import slurmsim.policy
from slurmsim.errors import PolicyError
from slurmsim.policy import Plan, Policy, Reconfigure, Reject, Resize, Solve, Start, StartTogether, WakeAt
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.replaying.replay import execute

Schedule = Callable[[Any, int], Any]
LOG = """; MaxProcs: 4
1  0 -1  600 4 -1 -1 4  600 -1 1 1 1 1 1 1 -1 -1
2 10 -1 3600 2 -1 -1 2 3600 -1 1 2 1 1 1 1 -1 -1
3 20 -1  600 2 -1 -1 2  600 -1 1 3 1 1 1 1 -1 -1
4 30 -1  900 3 -1 -1 3  900 -1 1 4 1 1 1 1 -1 -1
5 40 -1  300 1 -1 -1 1  300 -1 1 5 1 1 1 1 -1 -1
"""


class Mischief(Policy):
    """Does what the test says before it does what first come, first served does."""

    summary = "mischief"
    script: Schedule

    def schedule(self, view: Any, now: int) -> Any:
        yield from (decision for decision in type(self).script(view, now) or ())  # a list takes no outcomes
        queue = view.pools[0].pending
        while queue and (yield Start(queue[0])):
            pass


@pytest.fixture
def replay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., bytes]:
    """Replay the five jobs under a policy that runs `script`; the bytes of the jobs' table."""

    def run(script: Schedule, policy: str = "mischief") -> bytes:
        if policy == "mischief":
            point = EntryPoint("mischief", f"{__name__}:Mischief", slurmsim.policy.GROUP)
            monkeypatch.setattr("slurmsim.policy.registry.entry_points", lambda group: [point])
            monkeypatch.setattr(Mischief, "script", staticmethod(script), raising=False)
        (tmp_path / "five.swf").write_text(LOG, encoding="utf-8")
        execute(prepare(RunOptions(str(tmp_path / "five.swf"), str(tmp_path / "out"), policy=policy)), report=False)
        return (tmp_path / "out/jobs.parquet").read_bytes()

    return run


def halve(job: Any) -> None:
    job.time_limit_s //= 2


def first(view: Any) -> Any:
    return view.pending[0]


def running(view: Any) -> Any:
    return view.running[0]


WRITES: dict[str, Callable[[Any], Any]] = {
    "limit": lambda view: halve(first(view)),
    "priority": lambda view: setattr(first(view), "priority", 1 << 30),
    "submit time": lambda view: setattr(first(view), "submit_time", 0),
    "user": lambda view: setattr(first(view), "user", "root"),
    "nodes": lambda view: setattr(running(view), "nodes", 0),
    "end": lambda view: setattr(running(view), "end_limit", 0),
    "new attribute": lambda view: setattr(first(view), "mine", 1),
    "deleted attribute": lambda view: delattr(first(view), "priority"),
    "class of a job": lambda view: setattr(first(view), "__class__", Mischief),
    "partition": lambda view: setattr(first(view).partition, "max_time_s", 1),
    "mask of a partition": lambda view: setattr(first(view).partition, "mask", 0),
    "partitions": lambda view: first(view).partitions.clear(),
    "record": lambda view: setattr(view.records()[0], "need", 0),
    "job of a record": lambda view: halve(view.records()[0].job),
    "request": lambda view: setattr(view.records()[0].request, "min_nodes", 0),
    "jobs in the queue": lambda view: view.pending.clear(),
    "order of the queue": lambda view: view.pending.sort(key=lambda job: -job.id),
    "running jobs": lambda view: view.running.pop(),
    "pool's queue": lambda view: view.pools[0].pending.clear(),
    "order of a pool's queue": lambda view: view.pools[0].pending.reverse(),
    "item of a pool's queue": lambda view: view.pools[0].pending.__setitem__(0, None),
    "new records of a pool": lambda view: view.pools[0].new.append(None),
    "pool": lambda view: setattr(view.pools[0], "free_units", 100),
    "pools": lambda view: view.pools.clear(),
    "time": lambda view: setattr(view, "now", 0),
    "method of the view": lambda view: setattr(view, "fits", lambda job: True),
    "state behind the view": lambda view: view.state.jobs.clear(),
    "test behind a pool": lambda view: view.pools[0]._test,
    "object behind a job": lambda view: first(view)._real,
    "specification of a job": lambda view: setattr(first(view).sub, "time_limit_s", 1),
    "copy of a job": lambda view: copy.copy(first(view)),
    "pickle of a job": lambda view: pickle.dumps(first(view)),
}


def ready(view: Any) -> bool:
    return bool(view.pending and view.running)


@pytest.mark.parametrize("kind", WRITES)
def test_a_write_ends_the_run_with_the_line_of_the_policy(replay: Callable[..., bytes], kind: str) -> None:
    def script(view: Any, now: int) -> None:
        if ready(view):
            WRITES[kind](view)

    with pytest.raises(PolicyError) as error:
        replay(script)
    text = str(error.value)
    assert text.startswith("policy mischief: ") and "\n" not in text
    assert "(test_hostile_policies.py:" in text


@pytest.mark.parametrize("kind", WRITES)
def test_a_write_that_the_policy_hides_changes_nothing(replay: Callable[..., bytes], kind: str) -> None:
    tried = []

    def script(view: Any, now: int) -> None:
        if ready(view):
            try:
                WRITES[kind](view)
            except (AttributeError, TypeError) as error:
                tried.append(error)

    found = replay(script)
    assert tried
    assert found == replay(lambda view, now: None)


def test_what_is_a_copy_may_be_changed(replay: Callable[..., bytes]) -> None:
    """Lists that the port calls the policy's own, and what it makes of sequences itself."""

    def script(view: Any, now: int) -> None:
        for rows in (view.records(), list(view.pending), sorted(view.running, key=lambda job: -job.id)):
            rows.clear()
        both = view.running + view.pending
        both.clear()

    assert replay(script) == replay(lambda view, now: None)


def wrong(text: str) -> None:
    raise ValueError(text)


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)
NONSENSE: dict[str, tuple[Callable[[Any, int], Any], str]] = {
    "nothing": (lambda view, now: [None], "yielded None, which is no decision"),
    "text": (lambda view, now: ["Start"], "yielded 'Start', which is no decision"),
    "class": (lambda view, now: [Start], "which is no decision"),
    "job": (lambda view, now: list(view.pending), "which is no decision"),
    "job of a number": (lambda view, now: [Start(1)], "started 1, which is no job of the view"),  # type: ignore[arg-type]
    "running job": (lambda view, now: [Start(job) for job in view.running], "not waiting in the queue"),
    "twice": (lambda view, now: [Start(first(view))] * 2 if now == 0 else [], "not waiting in the queue"),
    "together": (lambda view, now: [StartTogether([Start(job) for job in view.running])] if view.running else [],
                 "not waiting in the queue"),
    "past": (lambda view, now: [WakeAt(now - 1)], "yielded WakeAt for -1"),
    "now": (lambda view, now: [WakeAt(now)], "yielded WakeAt for 0"),
    "fraction": (lambda view, now: [WakeAt(now + 0.5)], "yielded WakeAt for 0.5"),  # type: ignore[arg-type]
    "plan in the past": (lambda view, now: [Plan(first(view), -5)] if view.pending else [], "yielded Plan for -5"),
    "resize of a number": (lambda view, now: [Resize(1, 1)], "resized 1, which is no job of the view"),  # type: ignore[arg-type]
    "exit": (lambda view, now: sys.exit(0), "SystemExit: 0 (test_hostile_policies.py:"),
    "exception": (lambda view, now: {}["key"], "KeyError: 'key' (test_hostile_policies.py:"),
    "lines": (lambda view, now: int("a\nb"), "ValueError: invalid literal"),
    "lines of its own": (lambda view, now: wrong("a\nb"), "ValueError: a b ("),
    "request that holds itself": (lambda view, now: [Solve(ENDLESS, "os:system")], "no plain data"),
    "starts that hold themselves": (lambda view, now: [StartTogether(ENDLESS)], "expected a sequence of Start"),
    "recursion": (lambda view, now: NONSENSE["recursion"][0](view, now), "RecursionError"),
    "solver of its own": (lambda view, now: [Solve({}, "os:system")], "os:system"),
    "changes of none": (lambda view, now: [Reconfigure(None)], "expected a sequence of Change"),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize("kind", NONSENSE)
def test_what_cannot_be_decided_is_one_line(replay: Callable[..., bytes], kind: str) -> None:
    script, expected = NONSENSE[kind]
    with pytest.raises(PolicyError) as error:
        replay(script)
    assert expected in str(error.value) and "\n" not in str(error.value)


class Forgetful(Policy):
    """Has a schedule without a yield."""

    summary = "forgetful"

    def schedule(self, view: Any, now: int) -> Any:
        Start(view.pending[0])


def test_a_schedule_that_returns_nothing_is_told(replay: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("forgetful", f"{__name__}:Forgetful", slurmsim.policy.GROUP)
    monkeypatch.setattr("slurmsim.policy.registry.entry_points", lambda group: [point])
    with pytest.raises(PolicyError, match=r"returned None \(expected decisions"):
        replay(lambda view, now: None, "forgetful")


def test_a_pass_that_never_ends_is_ended(replay: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurmsim.core.scheduling.read_only, "PASS_LIMIT", 1000)

    def script(view: Any, now: int) -> Any:
        while view.pending:
            yield Reject(first(view), "again")

    with pytest.raises(PolicyError, match="goes on deciding at 0: its last decision was Reject"):
        replay(script)


@pytest.mark.parametrize("kept", [0, 4096])
def test_a_job_is_one_object_as_long_as_it_is_held(
    replay: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(slurmsim.core.scheduling.read_only, "_KEPT", kept)
    known: dict[int, Any] = {}

    def script(view: Any, now: int) -> None:
        for job in (*view.pending, *view.running):
            assert known.setdefault(job.id, job) is job
            assert job in {job: 1}

    replay(script)
    assert len(known) == 5
