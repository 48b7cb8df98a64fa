"""Clients that wait for news, and clients that hold an allocation: when to ask again, and when one is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from heapq import heappop, heappush
from typing import Any

from slurmsim.slurmctld.engine import Engine
from slurmsim.slurmctld.live_job import LiveJob
from slurmsim.states import JobState

GRACE_S = 1.0  # real seconds an allocation outlives its client, so that one that calls again finds it
RETURN_S = 60.0  # and after a restart of the daemon


class Waits:
    """Who waits for a job, and who for an instant."""

    def __init__(self) -> None:
        self._jobs: dict[int, set[asyncio.Event]] = {}
        self._instants: list[tuple[int, int, asyncio.Event]] = []
        self._count = 0

    def changed(self, live: LiveJob) -> None:
        """There may be news of `live`."""
        for event in self._jobs.get(live.core.id, ()):
            event.set()

    def next(self) -> float:
        """The first instant somebody waits for; infinity for none."""
        while self._instants and self._instants[0][2].is_set():
            heappop(self._instants)
        return self._instants[0][0] if self._instants else float("inf")

    def time_is(self, now: int) -> None:
        """Tell those who wait for an instant that has come."""
        while self._instants and self._instants[0][0] <= now:
            heappop(self._instants)[2].set()

    @contextmanager
    def news(self, pending: Mapping[str, Any]) -> Iterator[asyncio.Event]:
        """An event that is set when what `pending` waits for may have come."""
        event = asyncio.Event()
        for core_id in pending["wait"]:
            self._jobs.setdefault(core_id, set()).add(event)
        if pending.get("until") is not None:
            self._count += 1
            heappush(self._instants, (int(pending["until"]), self._count, event))
        try:
            yield event
        finally:
            event.set()  # forgotten by the heap when its turn comes
            for core_id in pending["wait"]:
                others = self._jobs.get(core_id)
                if others is not None:
                    others.discard(event)
                    if not others:
                        del self._jobs[core_id]


class Holders:
    """Which connections look after which allocation. One that nobody looks after any more is given back.

    Parameters
    ----------
    engine
        Of this cluster.
    release
        Gives a job back, by the id that is shown.
    """

    def __init__(self, engine: Engine, release: Callable[[int], None]) -> None:
        self._engine, self._release = engine, release
        self._held: dict[int, int] = {}

    def take(self, message: Mapping[str, Any], pending: Mapping[str, Any], held: set[int]) -> None:
        """A connection waits for a job it holds; `held` is what it holds so far."""
        arguments = message.get("args") or {}
        job_id = arguments.get("job_id")
        if arguments.get("hold") and isinstance(job_id, int):
            self._hold(job_id, held)

    def asked(self, message: Mapping[str, Any], answer: Mapping[str, Any], held: set[int]) -> None:
        """A call was answered: who gets an allocation it wants to hold, holds it from the start."""
        if message.get("call") == "submit" and "ok" in answer:
            job = message["args"]["job"]
            if job.get("allocate") and job.get("held"):
                self._hold(int(answer["ok"]["job_id"]), held)

    def _hold(self, job_id: int, held: set[int]) -> None:
        if job_id not in held:
            held.add(job_id)
            self._held[job_id] = self._held.get(job_id, 0) + 1

    def leave(self, held: set[int]) -> None:
        """A connection is gone."""
        for job_id in held:
            self._held[job_id] -= 1
            if not self._held[job_id]:
                del self._held[job_id]
                self._look_after(job_id, GRACE_S)

    def expect(self) -> None:
        """After a restart: allocations whose clients do not come back are given back."""
        for live in self._engine.jobs.values():
            if live.asked.get("allocate") and live.asked.get("held") and not live.over:
                self._look_after(live.id, RETURN_S)

    def _look_after(self, job_id: int, seconds: float) -> None:
        asyncio.get_running_loop().call_later(seconds, self._check, job_id)

    def _check(self, job_id: int) -> None:
        live = self._engine.shown(job_id)
        if job_id not in self._held and live is not None and live.core.state in _ALIVE:
            self._release(job_id)


_ALIVE = (JobState.PENDING, JobState.RUNNING, JobState.SUSPENDED)
