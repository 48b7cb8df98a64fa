"""Tools of `slurmsim mcp`, asked by the protocol's own client over standard input and output."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from slurmsim.assistant.answers import MOST_ROWS, MOST_TEXT, Answers, answers, bounded
from slurmsim.errors import ConfigError, SlurmSimError
from slurmsim.live.cluster import Cluster
from slurmsim.live.settings import Settings

sys.path.insert(0, str(Path(__file__).parent / "twin"))
import small_dump as small
from test_questions import past

Ask = Callable[..., Coroutine[Any, Any, tuple[bool, Any]]]


def asked(words: list[str], ask: Callable[[Ask, list[str]], Coroutine[Any, Any, None]]) -> None:
    """Start the server with `words`, and let `ask` call its tools."""
    pytest.importorskip("mcp", reason="the package mcp is not installed: pip install '.[mcp]'")

    async def talk() -> None:
        from mcp import ClientSession, StdioServerParameters
        from mcp.client.stdio import stdio_client

        server = StdioServerParameters(command=sys.executable, args=["-m", "slurmsim", "mcp", *words])
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            tools = [tool.name for tool in (await session.list_tools()).tools]

            async def call(name: str, **arguments: Any) -> tuple[bool, Any]:
                found = await session.call_tool(name, arguments)
                text = found.content[0].text
                return bool(found.is_error), text if found.is_error else json.loads(text)

            await ask(call, tools)

    asyncio.run(asyncio.wait_for(talk(), 120))


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    jobs = small.JOBS.replace("JobName=j2", "JobName=\x1b[2J" + "x" * 5000)
    return small.write(tmp_path / "dump", sacct=past(), job=jobs)


def test_a_dump_is_asked_over_stdio(dump: Path) -> None:
    async def ask(call: Ask, tools: list[str]) -> None:
        assert tools == ["queue", "nodes", "why", "when", "whatif"]  # none that writes
        _, queue = await call("queue", user="ann")
        assert [job["job"] for job in queue["jobs"]] == ["2", "3", "4", "1"]
        _, nodes = await call("nodes", state="down")
        assert [node["name"] for node in nodes["nodes"]] == ["a2"]
        _, why = await call("why", job="3")
        assert (why["reason"], why["ahead"][0]) == ("Priority", "2")
        _, when = await call("when", job="2")
        assert when["start"]["low80"] <= when["start"]["median"] <= when["start"]["high80"]
        _, whatif = await call("whatif", drain=["a1"], span="1:00:00")
        assert whatif["accounts"][0]["changed_wait_s"] >= whatif["accounts"][0]["wait_s"]

    asked(["--from", str(dump)], ask)


def test_wrong_questions_are_clear_errors(dump: Path) -> None:
    wrong = [
        ("why", {"job": "99"}, "no such job"), ("why", {"job": "x" * 5000}, "up to 200 signs"),
        ("why", {}, "job"), ("when", {"job": "1"}, "no waiting job"), ("queue", {"state": "ASLEEP"}, "no state"),
        ("queue", {"most": 10**9}, "1 to 200"), ("nodes", {"state": "up"}, "idle"),
        ("whatif", {}, "nothing is changed"),
        ("whatif", {"drain": ["z[1-9]"]}, "z"), ("whatif", {"drain": ["a1"], "span": "soon"}, "soon"),
        ("command", {"line": "scancel 1"}, "command"), ("whatif", {"drain": "a1"}, "drain"),
    ]  # fmt: skip

    async def ask(call: Ask, tools: list[str]) -> None:
        for name, arguments, said in wrong:
            is_error, text = await call(name, **arguments)
            assert is_error, (name, arguments, text)
            assert said in text
            assert len(text) < 2000
            assert "Traceback" not in text

    asked(["--from", str(dump)], ask)


def test_a_live_cluster_is_changed_only_where_that_is_allowed(tmp_path: Path) -> None:
    with Cluster(Settings(nodes=2, mode="frozen"), tmp_path / "state") as cluster:
        cluster.run("sbatch -N2 --exclusive -t 10 --wrap 'sleep 60'", check=True)
        cluster.step(5)
        cluster.run("sbatch -N1 -t 10 --wrap 'sleep 60'", check=True)

        async def reads(call: Ask, tools: list[str]) -> None:
            assert "command" not in tools
            _, queue = await call("queue", state="PENDING")
            assert [job["job"] for job in queue["jobs"]] == ["2"]

        async def writes(call: Ask, tools: list[str]) -> None:
            _, done = await call("command", line="scancel 2")
            assert done["exit_code"] == 0
            assert (await call("command", line="rm -r /"))[0]
            _, queue = await call("queue", state="PENDING")
            assert queue["jobs"] == []

        asked(["--state", str(tmp_path / "state")], reads)
        asked(["--state", str(tmp_path / "state"), "--allow-write"], writes)


def test_tasks_of_the_sandbox_are_begun_solved_and_graded() -> None:
    async def ask(call: Ask, tools: list[str]) -> None:
        assert tools == ["tasks", "begin", "command", "wait", "give_answer", "grade"]
        _, known = await call("tasks")
        assert len(known) >= 50
        assert (await call("grade"))[0]  # nothing is begun
        assert (await call("begin", task="nothing"))[0]
        _, task = await call("begin", task="drain-node")
        assert (task["kind"], task["user"]) == ("operate", "root")
        _, failed = await call("grade")
        assert not failed["solved"]
        await call("begin", task="drain-node")
        _, done = await call("command", line="scontrol update nodename=n3 state=drain reason=fan")
        assert done["exit_code"] == 0
        _, later = await call("wait", seconds=60)
        assert later["now"] == done["now"] + 60
        assert (await call("command", line="rm -r /"))[0]
        _, solved = await call("grade")
        assert solved == {"task": "drain-node", "solved": True, "missing": []}
        await call("begin", task="why-failed")
        await call("give_answer", text="TIMEOUT")
        _, solved = await call("grade")
        assert solved["solved"]

    asked(["--sandbox"], ask)


def test_answers_are_bounded() -> None:
    found = bounded({"a": ["\x1b" * 10_000] * 10_000, "b" * 10_000: 1})
    assert len(found["a"]) == MOST_ROWS
    assert all(len(text) < MOST_TEXT + 40 and text.isprintable() for text in [*found, *found["a"]])


def test_a_dump_without_records_has_no_forecast(tmp_path: Path) -> None:
    small.write(tmp_path / "dump")
    with answers(tmp_path / "dump", tmp_path) as found, pytest.raises(ConfigError, match="too few jobs have ended"):
        found.when("2")


def test_no_cluster_is_said(tmp_path: Path) -> None:
    with pytest.raises(SlurmSimError, match="no cluster is there"), answers(None, tmp_path) as found:
        assert isinstance(found, Answers)
