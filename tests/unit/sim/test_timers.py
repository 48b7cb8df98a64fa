"""Timers beside SimPy's own events: in their order, with their value, and never in the past."""

from __future__ import annotations

from typing import Any

import pytest
import simpy

from slurmsim.sim.timers import NORMAL, TURN, Timer, Timers


def test_timers_and_timeouts_of_one_instant_come_by_priority_and_then_as_they_were_set():
    env = simpy.Environment(initial_time=100)
    heard: list[tuple[float, Any]] = []

    def hear(timer: Any) -> None:
        heard.append((env.now, timer.value))

    Timers(env).after(5, hear, "turn", TURN)
    Timers(env).after(5, hear, "first", NORMAL)
    env.timeout(5, "second").callbacks.append(hear)
    Timers(env).after(5, hear, "third")
    Timers(env).after(0, hear, "now")
    env.run()
    assert heard == [(100, "now"), (105, "first"), (105, "second"), (105, "third"), (105, "turn")]


def test_a_timer_that_has_called_calls_nobody_any_more():
    env = simpy.Environment()
    timers: list[Timer] = []
    Timers(env).after(1, timers.append, "once")
    env.run()
    assert [timer.callbacks for timer in timers] == [None]


def test_the_past_is_refused():
    with pytest.raises(ValueError, match="2 seconds ago"):
        Timers(simpy.Environment()).after(-2, print)
