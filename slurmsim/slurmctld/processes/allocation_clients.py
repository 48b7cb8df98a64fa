"""Clients that hold an allocation: when one is gone, it is given back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from slurmsim.slurmctld.engine.live_cluster import LiveCluster
from slurmsim.slurmctld.processes.real_jobs import END_ROOM
from slurmsim.states import JobState

GRACE_S = 1.0  # real seconds an allocation outlives its client, so that one that calls again finds it
RETURN_S = 60.0  # and after a restart of the daemon


class Holders:
    """Which connections look after which allocation. One that nobody looks after any more is given back.

    Parameters
    ----------
    cluster
        Whose allocations they are.
    release
        Gives a job back, by the id that is shown.
    """

    def __init__(self, cluster: LiveCluster, release: Callable[[int], None]) -> None:
        self.cluster, self._release = cluster, release
        self._held: dict[int, int] = {}

    @property
    def room(self) -> int:
        """Bytes of the journal that are kept for giving allocations back."""
        return END_ROOM * len(self._held)

    def take(self, message: Mapping[str, Any], pending: Mapping[str, Any], held: set[int]) -> None:
        """A connection waits for a job it holds; `held` is what it holds so far."""
        arguments = message.get("args") or {}
        job_id = arguments.get("job_id")
        # only calls that are for the job's own user: an allocation goes with whoever holds it
        if arguments.get("hold") and message.get("call") in _HOLD and isinstance(job_id, int):
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
        for live in self.cluster.jobs.values():
            if live.asked.get("allocate") and live.asked.get("held") and not live.over:
                self._look_after(live.id, RETURN_S)

    def _look_after(self, job_id: int, seconds: float) -> None:
        asyncio.get_running_loop().call_later(seconds, self._check, job_id)

    def _check(self, job_id: int) -> None:
        live = self.cluster.shown(job_id)
        if job_id not in self._held and live is not None and live.core.state in _ALIVE:
            self._release(job_id)


_HOLD = ("wait_allocation", "wait_mail")
_ALIVE = (JobState.PENDING, JobState.RUNNING, JobState.SUSPENDED)
