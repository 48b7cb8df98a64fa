"""A policy's solver beside the daemon: asked in a process of its own, so that no request waits for a solve."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
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
        Told the number of a request and the JSON text of its answer, `NOTHING` where the solver failed or died.
    """

    def __init__(self, answered: Callable[[int, str], None]) -> None:
        self._answered = answered
        self._process: Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._number: int | None = None
        self._closed = False

    def tend(self, awaited: AskSolver | None) -> None:
        """Have `awaited` solved, unless it is being solved already. One that is superseded is told all the same."""
        busy = self._task is not None and not self._task.done()
        if awaited is not None and not busy and awaited.number != self._number and not self._closed:
            self._number = awaited.number
            self._task = asyncio.get_running_loop().create_task(self._solve(awaited))

    async def _solve(self, asked: AskSolver) -> None:
        answer = NOTHING
        try:
            told = await self._ask(asked)
            answer = told.get("answer", NOTHING)
            if "error" in told:
                print(f"slurmsim: solver: {told['error']}", file=sys.stderr)
        except (OSError, ValueError) as error:
            if self._closed:
                return
            print(f"slurmsim: solver: {error or 'ended by itself'}", file=sys.stderr)
            self._process = None
        if not self._closed:
            self._answered(asked.number, answer)

    async def _ask(self, asked: AskSolver) -> dict[str, Any]:
        if self._process is None:
            command = (sys.executable, "-m", WORKER)
            self._process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, limit=LONGEST_LINE)
        source, sink = self._process.stdout, self._process.stdin
        assert source is not None and sink is not None
        line = json.dumps({"number": asked.number, "solver": asked.solver, "request": asked.request})
        sink.write(line.encode() + b"\n")
        await sink.drain()
        told: dict[str, Any] = json.loads(await source.readline())
        return told

    def again(self) -> None:
        """The answer could not be taken in: the request is asked again."""
        self._number = None

    async def close(self) -> None:
        """End the worker, whatever it is doing: what is awaited is asked again after a restart."""
        self._closed = True
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
