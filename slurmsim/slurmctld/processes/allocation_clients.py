"""Clients that hold an allocation: when one is gone without a word, slurmctld learns of it as it would."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from slurmsim.slurmctld.base.live_cluster import LiveCluster
from slurmsim.slurmctld.processes.real_jobs import END_ROOM
from slurmsim.states import JobState

GRACE_S = 1.0  # real seconds before a client is missed, so that one that calls again is not
RETURN_S = 60.0  # and after a restart of the daemon


class Holders:
    """Which connections look after which allocation.

    A client that gives an allocation back says so. If it is gone otherwise (KILL), slurmctld learns that only when it
    has something to tell: that the pending job has started. A job that runs already goes on to its time limit.

    Parameters
    ----------
    missed
        Called with the shown id of a job if its client went while the job was pending.
    """

    def __init__(self, cluster: LiveCluster, missed: Callable[[int], None]) -> None:
        self.cluster, self._missed = cluster, missed
        self._held: dict[int, int] = {}

    @property
    def room(self) -> int:
        """Bytes of the journal that are kept for what is told of these clients."""
        return END_ROOM * len(self._held)

    def take(self, message: Mapping[str, Any], pending: Mapping[str, Any], held: set[int]) -> None:
        """Note that a connection waits for a job it holds; `held` is what it holds so far."""
        arguments = message.get("args") or {}
        job_id = arguments.get("job_id")
        # only calls of the job's own user: an allocation ends with its holder
        if arguments.get("hold") and message.get("call") in _HOLD and isinstance(job_id, int):
            self._hold(job_id, held)

    def asked(self, message: Mapping[str, Any], answer: Mapping[str, Any], held: set[int]) -> None:
        """Note that a call was answered: a client that wants to hold its allocation holds it from the start."""
        if message.get("call") == "submit" and "ok" in answer:
            job = message["args"]["job"]
            if job.get("allocate") and job.get("held"):
                self._hold(int(answer["ok"]["job_id"]), held)

    def _hold(self, job_id: int, held: set[int]) -> None:
        if job_id not in held:
            held.add(job_id)
            self._held[job_id] = self._held.get(job_id, 0) + 1

    def leave(self, held: set[int]) -> None:
        """Note that a connection is gone."""
        for job_id in held:
            self._held[job_id] -= 1
            if not self._held[job_id]:
                del self._held[job_id]
                self._look_after(job_id, GRACE_S)

    def expect(self) -> None:
        """After a restart: clients that do not come back are missed."""
        for live in self.cluster.jobs.values():
            if live.asked.get("allocate") and live.asked.get("held") and not live.over:
                self._look_after(live.id, RETURN_S)

    def _look_after(self, job_id: int, seconds: float) -> None:
        live = self.cluster.job_table.shown(job_id)
        if live is not None and live.core.state == JobState.PENDING:
            asyncio.get_running_loop().call_later(seconds, self._check, job_id)

    def _check(self, job_id: int) -> None:
        live = self.cluster.job_table.shown(job_id)
        if job_id not in self._held and live is not None and not live.over:
            self._missed(job_id)


_HOLD = ("wait_allocation", "wait_ready", "wait_mail")
