"""A policy's solver beside the daemon: asked in a process of its own, so that no request waits for a solve."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Collection
from typing import Any

from slurmsim.core.records.messages import AskSolver

WORKER = "slurmsim.slurmctld.processes.solver_worker"
LONGEST_LINE = 1 << 30
NOTHING = "null"


class Solver:
    """One worker process, begun when it is first needed, that has at most one request.

    Parameters
    ----------
    answered
        Told a request and the JSON text of its answer, `NOTHING` where the solver failed or died.
    """

    def __init__(self, answered: Callable[[AskSolver, str], None]) -> None:
        self._answered = answered
        self._process: Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._last: AskSolver | None = None  # whole: an engine made again may ask something else by the same number
        self._closed = False

    def tend(self, awaited: AskSolver | None, known: Collection[str]) -> None:
        """Have `awaited` solved, unless it is being solved already. One that is superseded is told all the same.

        `known` are the solvers the policy may name. The text of another one came with a snapshot: it is not called.
        """
        busy = self._task is not None and not self._task.done()
        if awaited is not None and not busy and awaited != self._last and not self._closed:
            self._last = awaited
            self._task = asyncio.get_running_loop().create_task(self._solve(awaited, awaited.solver in known))

    async def _solve(self, asked: AskSolver, known: bool) -> None:
        answer = NOTHING
        try:
            if not known:
                raise ValueError(f"{asked.solver!r} is no solver of the policy, and was not called")
            told = await self._ask(asked)
            answer = told.get("answer", NOTHING)
            if "error" in told:
                print(f"slurmsim: solver: {told['error']}", file=sys.stderr)
        except (OSError, ValueError) as error:
            if self._closed:
                return
            print(f"slurmsim: solver: {error or 'ended by itself'}", file=sys.stderr)
            await self._end()
        if not self._closed:
            self._answered(asked, answer)

    async def _ask(self, asked: AskSolver) -> dict[str, Any]:
        if self._process is None:
            command = (sys.executable, "-P", "-m", WORKER)
            self._process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, limit=LONGEST_LINE)
        source, sink = self._process.stdout, self._process.stdin
        assert source is not None and sink is not None
        line = json.dumps({"number": asked.number, "solver": asked.solver, "request": asked.request})
        sink.write(line.encode() + b"\n")
        await sink.drain()
        told: dict[str, Any] = json.loads(await source.readline())
        return told

    async def _end(self) -> None:
        """End the worker, whatever it is doing."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            self._process = None

    async def close(self) -> None:
        """End the worker: what is awaited is asked again after a restart."""
        self._closed = True
        await self._end()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
