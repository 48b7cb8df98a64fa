"""Looks at one cluster for all pages that are open, when something happens there, and tells them what is new."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from slurmsim.protocol import Refusal, Unreachable
from slurmsim.shown import all_shown
from slurmsim.web import tables
from slurmsim.web.daemon_line import Line

_SHARE = 4.0
"""A look that took s seconds is followed by as many times s without one, so that watching costs a fifth at most."""
_LEAST_S, _MOST_S, _AGAIN_S, _ALIVE_S = 0.15, 10.0, 1.0, 15.0
_BEHIND = 8  # messages a page may not have read; then it gets everything anew
_PAST = 5_000  # jobs that are over and forgotten, kept for the chart of nodes
_FORGOTTEN_S = 240
"""Cluster seconds after which jobs may have come and gone unseen: less than Slurm's MinJobAge unless a site's is."""


class Watch:
    """The look of a cluster, kept up to date while any page is open.

    Parameters
    ----------
    may_change
        Whether pages may change anything, which they are told.
    """

    def __init__(self, folder: Path, *, may_change: bool) -> None:
        self._folder, self._may_change = folder, may_change
        self._pages: set[asyncio.Queue[str]] = set()
        self._task: asyncio.Task[None] | None = None
        self._seen = 0
        self._reset()

    def _reset(self) -> None:
        self._about: dict[str, Any] = {}
        self._clock: dict[str, Any] = {}
        self._nodes = tables.Nodes(())
        self._tables: dict[str, dict[Any, tuple[Any, ...]]] = {"jobs": {}, "nodes": {}}
        self._whole: dict[str, Any] = {}
        self._past: deque[tuple[Any, ...]] = deque(maxlen=_PAST)
        self._there = False

    async def pages(self) -> AsyncIterator[str]:
        """Messages for one page, JSON each, as long as it listens; None of them lost: who is slow starts anew."""
        mine: asyncio.Queue[str] = asyncio.Queue(_BEHIND)
        if self._there:
            mine.put_nowait(self._everything())
        self._pages.add(mine)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())
        try:
            while True:
                try:
                    yield await asyncio.wait_for(mine.get(), _ALIVE_S)
                except TimeoutError:
                    yield ""  # only writing shows that a page has gone
        finally:
            self._pages.discard(mine)
            if not self._pages and self._task is not None:
                self._task.cancel()

    def _tell(self, message: dict[str, Any]) -> None:
        text = json.dumps(all_shown(message), separators=(",", ":"))
        for page in self._pages:
            if page.full():
                while not page.empty():
                    page.get_nowait()
                page.put_nowait(self._everything() if self._there else text)
            else:
                page.put_nowait(text)

    def _everything(self) -> str:
        return json.dumps(
            all_shown({"all": True, **self._about, "clock": self._clock, **self._whole, "past": list(self._past),
                       "jobs": {"set": list(self._tables["jobs"].values())},
                       "nodes": {"set": list(self._tables["nodes"].values())}}),
            separators=(",", ":"),
        )  # fmt: skip

    async def _watch(self) -> None:
        """Look whenever there is news, until no page is left."""
        line, waiting = Line(self._folder), Line(self._folder)
        self._reset()
        self._seen = 0
        try:
            while True:
                try:
                    clock = await waiting.call("news", since=self._seen)
                    began = time.monotonic()
                    await self._look(line, clock)
                    took = time.monotonic() - began
                    await asyncio.sleep(min(max(_LEAST_S, _SHARE * took), _MOST_S))
                except (Unreachable, Refusal) as error:
                    self._tell({"away": getattr(error, "text", str(error))})
                    self._reset()
                    self._seen = 0
                    await asyncio.sleep(_AGAIN_S)
        finally:
            line.close()
            waiting.close()

    async def _look(self, line: Line, clock: dict[str, Any]) -> None:
        first = not self._there
        before = self._clock.get("now", 0)
        if first:
            about = await line.call("ping")
            self._about = {"cluster": about["cluster"], "release": about["slurm_version"], "host": about["host"],
                           "version": about["version"], "may_change": self._may_change,
                           "columns": list(tables.SHOWN), "node_columns": list(tables.NODE_FIELDS),
                           "accounting": about["accounting"]}  # fmt: skip
        nodes = await line.call("nodes", fields=list(tables.NODE_FIELDS), show_all=True)
        if tuple(nodes["columns"]["name"]) != self._nodes.names:
            self._nodes = tables.Nodes(nodes["columns"]["name"])
            first = True
        jobs = await line.call("jobs", fields=list(tables.JOB_FIELDS), show_all=True)
        found: dict[str, dict[Any, tuple[Any, ...]]] = {
            "jobs": tables.job_rows(jobs, self._nodes),
            "nodes": {row[0]: row for row in tables.rows_of(nodes, tables.NODE_FIELDS)},
        }
        whole = await self._small(line)
        over = [one for key, row in self._tables["jobs"].items() if key not in found["jobs"]
                if (one := tables.gone(row)) is not None]  # fmt: skip
        # so long after the last look jobs may have come, ended and been forgotten unseen
        if first or clock["now"] - before > _FORGOTTEN_S:
            told = await line.call("every_job", fields=list(tables.HISTORY_FIELDS), newest=_PAST)
            known = [*found["jobs"], *(row[0] for row in self._past)]
            over = tables.history_rows(told, self._nodes, known)
        self._past += over
        self._clock = {name: clock[name] for name in ("now", "exact", "mode", "rate")}
        message: dict[str, Any] = {"clock": self._clock}
        for name, table in found.items():
            if told := tables.news(self._tables[name], table):
                message[name] = told
        message |= {name: value for name, value in whole.items() if self._whole.get(name) != value}
        message |= {"past": over} if over else {}
        self._tables, self._whole, self._there = found, whole, True
        self._seen = clock["news"]
        if first:
            text = self._everything()
            for page in self._pages:
                # all there is contains the news that a page has not read yet
                while not page.empty():
                    page.get_nowait()
                page.put_nowait(text)
        else:
            self._tell(message)

    async def _small(self, line: Line) -> dict[str, Any]:
        """Tables that are told as a whole when anything in them changes."""
        partitions = await line.call("partitions", fields=list(tables.PARTITION_FIELDS), show_all=True)
        reservations = await line.call("reservations", fields=list(tables.RESERVATION_FIELDS))
        shares = (await line.call("shares"))["rows"] if self._about["accounting"] else []
        kept = ("account", "user", "shares", "norm_shares", "usage", "effective", "factor")
        return {
            "partitions": tables.rows_of(partitions, tables.PARTITION_FIELDS),
            "reservations": tables.rows_of(reservations, tables.RESERVATION_FIELDS),
            "shares": [[row.get(name) for name in kept] for row in shares],
            "faults": (await line.call("faults"))["faults"],
        }  # fmt: skip
