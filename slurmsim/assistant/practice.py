"""The sandbox as a server of the Model Context Protocol: its tasks are listed, begun, solved and graded by tools."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from slurmsim.assistant.answers import as_json
from slurmsim.assistant.server import MOST_ERROR, READS, WRITES
from slurmsim.assistant.tasks import Attempt, Sandbox, listed
from slurmsim.errors import ConfigError, SlurmSimError, clipped
from slurmsim.shown import shown

PRACTICE = """A Slurm cluster to practise on, simulated. List the tasks and begin one. Solve it with commands, with time
that you let pass, and with an answer. Then have it graded. A task that is begun again starts from the same state."""


def make_practice(sandbox: Sandbox) -> MCPServer:
    """Return a server that gives and grades the tasks of `sandbox`."""
    server = MCPServer("slurmsim-sandbox", instructions=PRACTICE)
    one_at_a_time = threading.Lock()
    begun: list[Attempt] = []

    def answer(ask: Callable[[], Any]) -> str:
        try:
            with one_at_a_time:
                return as_json(ask())
        except SlurmSimError as error:
            raise ToolError(shown(clipped(str(error), MOST_ERROR))) from None

    def attempt() -> Attempt:
        if not begun:
            raise ConfigError("no task is begun", field="task", expected="begin first")
        return begun[0]

    def start(name: str) -> dict[str, Any]:
        begun[:] = [sandbox.begin(name)]
        task = begun[0].task
        return {"task": task.name, "kind": task.kind, "user": task.user, "text": task.text, "now": begun[0].copy.now}

    def carried_out(line: str) -> dict[str, Any]:
        code, lines = attempt().command(line)
        return {"exit_code": code, "lines": lines, "now": attempt().copy.now}

    def passed(seconds: int) -> dict[str, Any]:
        attempt().copy.wait(seconds)
        return {"now": attempt().copy.now}

    def told(text: str) -> dict[str, Any]:
        attempt().answer(text)
        return {"answer": text}

    def graded() -> dict[str, Any]:
        one = attempt()
        begun.clear()
        found = one.grade()
        return {"task": one.task.name, "solved": found.solved, "missing": found.missing}

    def tasks() -> str:
        """List all tasks: name, kind, and what is asked."""
        return answer(listed)

    def begin(task: str) -> str:
        """Begin a task, or begin it again, on a fresh copy of its cluster."""
        return answer(lambda: start(task))

    def command(line: str) -> str:
        """Run one of Slurm's commands in the task's cluster, such as: squeue -o '%i %T'."""
        return answer(lambda: carried_out(line))

    def wait(seconds: int) -> str:
        """Let time pass in the task's cluster."""
        return answer(lambda: passed(seconds))

    def give_answer(text: str) -> str:
        """Give the answer that a task of the kind diagnose asks for; the last one counts."""
        return answer(lambda: told(text))

    def grade() -> str:
        """Grade the task: whether it is solved, and what is missing. This ends it."""
        return answer(graded)

    for tool in (tasks, begin, command, wait, give_answer, grade):
        server.add_tool(tool, annotations=READS if tool is tasks else WRITES)
    return server
