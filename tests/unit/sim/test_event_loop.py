"""The loop over events: SimPy's own order and ends."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest
import simpy

from slurmsim.sim.event_loop import run_until
from slurmsim.sim.timers import TURN, Timers


def told(run: Callable[[Any, Any], Any]) -> tuple[list[Any], float, float]:
    """What is heard, and when and before what it ends, where a timer, a timeout and a process take turns."""
    env = simpy.Environment(initial_time=10)
    over, heard = env.event(), []

    def work() -> Generator[Any, Any, None]:
        for _ in range(3):
            yield env.timeout(2)
            heard.append(("process", env.now))
        over.succeed()
        Timers(env).after(0, lambda timer: heard.append("after the end"))
        yield env.timeout(100)

    env.process(work())
    Timers(env).after(4, lambda timer: heard.append((timer.value, env.now)), "turn", TURN)
    Timers(env).after(4, lambda timer: heard.append((timer.value, env.now)), "timer")
    run(env, over)
    return heard, env.now, env.peek()


def test_it_goes_and_ends_as_simpys_own() -> None:
    found = told(run_until)
    assert found == told(lambda env, over: env.run(until=over))
    assert found[1:] == (16, 16) and len(found[0]) == 5


def test_where_nothing_is_left_it_ends() -> None:
    env = simpy.Environment()
    Timers(env).after(7, lambda timer: None)
    run_until(env, env.event())
    assert env.now == 7


def test_what_a_process_fails_with_is_raised() -> None:
    env = simpy.Environment()

    def fail() -> Generator[Any, Any, None]:
        yield env.timeout(1)
        raise LookupError("lost")

    env.process(fail())
    with pytest.raises(LookupError, match="lost"):
        run_until(env, env.event())
