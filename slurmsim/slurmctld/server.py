"""The daemon's loop: a Unix socket, the clock, the journal and one engine.

Requests of one turn of the loop are carried out in order, what they change is written to the journal with one sync,
and only then are they answered (group commit). Between requests the network runs on by itself when the clock says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
from pathlib import Path
from typing import Any

from slurmsim.errors import OutputError
from slurmsim.protocol import MAX_REQUEST, SOCKET, Refusal, length_of, pack, unpack
from slurmsim.slurmctld.allocations import NO_STATUS
from slurmsim.slurmctld.clock import FAST, FROZEN, RUNNING, Clock
from slurmsim.slurmctld.engine import DENIED, Engine
from slurmsim.slurmctld.journal import Journal
from slurmsim.slurmctld.people import Person
from slurmsim.slurmctld.real_jobs import is_real
from slurmsim.slurmctld.waits import Holders, Waits
from slurmsim.states import JobState

IDLE_S = 3600.0
BATCH = 512  # requests carried out before they are written and answered
SLOW_READER = 64 << 20  # bytes a client may leave unread before it is hung up on
_PEER = struct.Struct("3i")


class Server:
    """One running cluster.

    Parameters
    ----------
    folder
        The cluster's: socket and journal are in there.
    engine, clock, journal
        Restored already.
    """

    def __init__(self, folder: Path, engine: Engine, clock: Clock, journal: Journal) -> None:
        self.folder, self.engine, self.clock, self.journal = folder, engine, clock, journal
        self._waiting: list[tuple[dict[str, Any], Person, asyncio.Future[dict[str, Any]]]] = []
        self._work = asyncio.Event()
        self._stop = asyncio.Event()
        self.waits = Waits()
        self.holders = Holders(engine, self._release)
        engine.changed = self.waits.changed
        self.log: list[dict[str, Any]] = []
        self._own = {"clock": self._set_clock, "down": self._down, "log_call": self._log_call, "calls": self._calls}

    async def run(self) -> None:
        """Serve until somebody asks to stop."""
        path = self.folder / SOCKET
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        mask = os.umask(0o177)
        try:
            server = await asyncio.start_unix_server(self._client, sock=_bound(path))
        finally:
            os.umask(mask)
        async with server:
            self._collect()
            self.holders.expect()
            pacer = asyncio.create_task(self._pace())
            pacer.add_done_callback(lambda _: self._stop.set())  # a fault in there is the daemon's end, and is shown
            await self._stop.wait()
            pacer.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await pacer
        self.journal.close()
        with contextlib.suppress(FileNotFoundError):
            path.unlink()

    def _collect(self) -> None:
        """Take in what happened to running jobs while the daemon was away."""
        if self.engine.real is None:
            return
        owner = self.engine.people.by_uid(self.engine.owner)
        for live in list(self.engine.jobs.values()):
            if live.core.state == JobState.RUNNING and is_real(live.asked):
                self.engine.real.launch(live)  # only if it was not before
        self.engine.real.flush()
        for arguments in self.engine.real.news():
            self._execute({"call": "ended", "args": arguments}, owner)
        self.journal.sync()

    # -- clients ----------------------------------------------------------------------------------------------------

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        uid = _peer(writer.get_extra_info("socket"))
        held: set[int] = set()
        try:
            while not self._stop.is_set():
                size = length_of(await reader.readexactly(4))
                if size > MAX_REQUEST:
                    break  # garbage, or a script nobody may send
                message = unpack(await reader.readexactly(size))
                answer = await self._ask(message, uid)
                if "wait" in answer.get("ok", ()):
                    self.holders.take(message, answer["ok"], held)
                    answer = await self._wait(message, uid, answer["ok"], reader)
                self.holders.asked(message, answer, held)
                writer.write(pack(answer))
                await asyncio.wait_for(writer.drain(), IDLE_S)
        except (asyncio.IncompleteReadError, ConnectionError, ValueError, KeyError, TypeError, TimeoutError):
            pass  # it hung up, or talks something else
        finally:
            writer.close()
            self.holders.leave(held)

    async def _wait(
        self, message: Any, uid: int, pending: dict[str, Any], reader: asyncio.StreamReader
    ) -> dict[str, Any]:
        """Ask again whenever there may be news, until there is an answer. Raises ConnectionError when nobody waits."""
        hung_up = asyncio.ensure_future(reader.read(1))
        try:
            while True:
                with self.waits.news(pending) as news:
                    if pending.get("until") is not None:
                        self._work.set()  # the pacer has another instant to think of
                    ready = asyncio.ensure_future(news.wait())
                    done, _ = await asyncio.wait({ready, hung_up}, return_when=asyncio.FIRST_COMPLETED)
                    ready.cancel()
                if hung_up in done:
                    raise ConnectionError
                answer = await self._ask(message, uid)
                if "wait" not in answer.get("ok", ()):
                    return answer
                pending = answer["ok"]
        finally:
            hung_up.cancel()

    def _release(self, job_id: int) -> None:
        """Nobody looks after that allocation any more."""
        owner = self.engine.people.by_uid(self.engine.owner)
        message = {"call": "complete_job", "args": {"job_id": job_id, "status": NO_STATUS}}
        self._waiting.append((message, owner, asyncio.get_running_loop().create_future()))
        self._work.set()

    async def _ask(self, message: Any, uid: int) -> dict[str, Any]:
        person = self.engine.people.by_uid(uid)
        if message.get("user"):
            if uid != self.engine.owner:
                return {"refused": [0, DENIED]}
            person = self.engine.people.by_name(str(message["user"]))
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting.append((message, person, future))
        self._work.set()
        return await future

    # -- the one thread of control ----------------------------------------------------------------------------------

    async def _pace(self) -> None:
        while True:
            self._catch_up()
            self._work.clear()
            if not self._waiting:
                wait = self.clock.real_seconds_until(min(self.engine.next_event(), self.waits.next()))
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._work.wait(), min(wait, IDLE_S) if wait is not None else None)
                    await asyncio.sleep(0)  # let whoever else has something ready add it
            self._turn()

    def _catch_up(self) -> None:
        """Let the network run on to the present."""
        if self.clock.mode == FAST and not self._waiting:
            following = min(self.engine.next_event(), self.waits.next())
            if following != float("inf") and (self.engine.busy or self.waits.next() <= following):
                self.clock.jump(following)
        self.engine.network.advance(max(self.clock.now(), self.engine.now))
        self.waits.time_is(self.engine.now)

    def _turn(self) -> None:
        """Carry out what is waiting, write it down, answer."""
        batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
        answers = [self._execute(message, person) for message, person, _ in batch]
        try:
            self.journal.sync()
        except OutputError as error:
            # what was not written must not be: the state is ahead of the journal, so stop here rather than lie
            answers = [{"refused": [0, f"Unable to save state: {error}"]} for _ in batch]
            self._stop.set()
        if self.engine.real is not None and not self._stop.is_set():
            self.engine.real.flush()
        for (_, _, future), answer in zip(batch, answers, strict=True):
            if not future.done():
                future.set_result(answer)

    def _execute(self, message: dict[str, Any], person: Person) -> dict[str, Any]:
        call, arguments = str(message.get("call")), message.get("args") or {}
        own, last_id = self._own.get(call), self.engine.last_id
        now = max(self.clock.now(), self.engine.now)
        try:
            if own is not None:
                return {"ok": own(arguments, person)}
            found = self.engine.execute(now, call, arguments, person)
        except Refusal as refusal:
            if self.engine.last_id != last_id:  # it used an id up
                owner = self.engine.people.by_uid(self.engine.owner)
                self.journal.append([now, "last_id", owner.uid, owner.name, {"id": self.engine.last_id}])
            return {"refused": [refusal.number, refusal.text]}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            return {"refused": [0, f"Invalid RPC: {error}"]}
        if call in self.engine.changes and "wait" not in found:
            self.journal.append([now, call, person.uid, person.name, arguments])
        return {"ok": found}

    # -- calls about the daemon itself --------------------------------------------------------------------------------

    def _owner_only(self, person: Person) -> None:
        if person.uid != self.engine.owner:
            raise Refusal(DENIED)

    def _set_clock(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        action = arguments.get("action", "show")
        if action != "show":
            self._owner_only(person)
        if action == "freeze":
            self.clock.set_mode(FROZEN)
        elif action == "rate":
            self.clock.set_mode(RUNNING, float(arguments["rate"]))
        elif action == "fast":
            self.clock.set_mode(FAST)
        elif action == "step":
            self.clock.jump(self.clock.now() + int(arguments["seconds"]))
            self._catch_up()
        elif action == "until-idle":
            self._until_idle(int(arguments.get("limit_s", 366 * 86400)))
        if action != "show":
            self.journal.append([self.clock.now(), "clock", person.uid, person.name, {"now": self.clock.now()}])
        return {"now": self.clock.now(), "mode": self.clock.mode, "rate": self.clock.rate}

    def _until_idle(self, limit_s: int) -> None:
        """Step from event to event until nothing runs and nobody can start."""
        last = self.clock.now() + limit_s
        while self.engine.busy and (following := self.engine.next_event()) <= last:
            self.clock.jump(following)
            self.engine.network.advance(max(self.clock.now(), self.engine.now))

    def _down(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        self._owner_only(person)
        asyncio.get_running_loop().call_later(0.02, self._stop.set)
        return {}

    def _log_call(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        self.log.append({"user": person.name, "at": self.clock.now(), **arguments})
        return {}

    def _calls(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        wanted = arguments.get("command")
        return {"calls": [one for one in self.log if wanted is None or one["argv"][:1] == [wanted]]}


def _bound(path: Path) -> socket.socket:
    """A listening socket at `path`; a path too long for its name is reached through the folder's descriptor."""
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    if len(os.fsencode(path)) < 100:
        found.bind(str(path))
    else:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            found.bind(f"/proc/self/fd/{folder}/{path.name}")
        finally:
            os.close(folder)
    found.listen(1024)
    found.setblocking(False)
    return found


def _peer(connection: socket.socket) -> int:
    """The uid at the other end."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    return int(_PEER.unpack(credentials)[1])
