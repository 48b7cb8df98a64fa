"""The daemon's loop: a Unix socket, the clock, the journal and one engine.

Requests of one turn of the loop are carried out in order, what they change is written to the journal, and they are
answered when that is on the disk (group commit); meanwhile the next turns are carried out. Between requests the
network runs on by itself when the clock says so. A request that waits for something (an allocation, the end of a long
step of the clock) is asked again turn after turn.
"""

import asyncio
import contextlib
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from slurmsim.core.records.messages import AskSolver
from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError, OutputError
from slurmsim.protocol import BAD_NUMBER, BAD_REQUEST, DENIED, Refusal
from slurmsim.slurmctld.base.clock import FAST, FROZEN, REAL, RUNNING, Clock
from slurmsim.slurmctld.base.decisions import outcome
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.history.compaction import Compaction
from slurmsim.slurmctld.history.copies import save
from slurmsim.slurmctld.history.history import History
from slurmsim.slurmctld.history.noting import note_decisions, note_people
from slurmsim.slurmctld.history.state_folder import StateFolder
from slurmsim.slurmctld.processes.allocation_clients import Holders
from slurmsim.slurmctld.processes.solver import NOTHING, Solver
from slurmsim.slurmctld.requests.cluster.nodes import administrators_only
from slurmsim.slurmctld.requests.shapes.requests import check_arguments, check_message
from slurmsim.slurmctld.requests.shapes.values import Malformed
from slurmsim.slurmctld.server import node_changes
from slurmsim.slurmctld.server.command_book import CommandBook
from slurmsim.slurmctld.server.connections import Connections
from slurmsim.slurmctld.server.daemon_status import daemon_status
from slurmsim.slurmctld.server.fault_mark import FaultMark
from slurmsim.slurmctld.server.idle import awaits_a_pass, is_idle, runs_something_real
from slurmsim.slurmctld.server.job_filter import JobFilter
from slurmsim.slurmctld.server.metrics_port import MetricsPort
from slurmsim.slurmctld.server.outgoing import Answer, Outgoing
from slurmsim.slurmctld.server.trouble_log import TroubleLog
from slurmsim.slurmctld.server.who_may_ask import asking, owners_business, runs_as_another

IDLE_S = 3600.0
BATCH = 512  # requests carried out before they are written and answered
TEND_S = 5.0
SNAPSHOT_S = 0.05  # between two looks whether a snapshot is made
SLICE_S = 0.05  # of work on the clock before others are listened to
PLAIN = frozenset({"submit", "kill", "ended", "solved", "node_action"})
"""Calls that change nothing before they tell the controller."""
OUTCOME = 128  # bytes of what came of a request, at most
CLOCK_ROOM = 256
ENDS = frozenset({"ended", "complete_job", "client_gone", "program_ended"})
"""Calls that may use the room which is kept for them."""
UNSPECIFIED = (-1, "Unspecified error")  # SLURM_ERROR: what is told of our own bugs
NO_ROOM = (2019, "I/O error writing script/environment to file")
NEVER = float("inf")


@dataclass(slots=True, eq=False)
class Asked:
    """A request on its way: its user, its message, and where the answer goes.

    `judged` is the uid it is judged by where something would run as the owner; None for a request of the owner.

    A request that has to wait is told so: `future` holds an `Answer` with ``wait``, and the real answer goes to another
    future. It is asked again when there is news of one of `jobs` (core ids; None: at every turn), or at the instant
    `until`.
    """

    message: dict[str, Any]
    person: Person
    future: asyncio.Future[Answer]
    jobs: frozenset[int] | None = None
    until: float = NEVER
    judged: int | None = None


class Server:
    """One running cluster.

    Parameters
    ----------
    folder
        The cluster's, with socket and journal in it; the caller holds its lock, and for longer.
    engine, clock
        Restored already.
    """

    def __init__(
        self, folder: StateFolder, engine: Engine, clock: Clock, history: History, compaction: Compaction
    ) -> None:
        self.folder, self.engine, self.clock, self.journal = folder, engine, clock, history.journal
        self._history, self._compaction = history, compaction
        self._waiting: list[Asked] = []
        self._outgoing = Outgoing()
        self._in_turn = False
        self._judged: int | None = None  # as of `Asked`, of the request that is being carried out
        self._parked: list[Asked] = []  # those that wait for something
        self._changed: set[int] = set()  # jobs of which there is news, by core id
        self._more = False  # there is something to do at once: a step of the clock goes on
        self._work = asyncio.Event()
        self._told_to_stop = threading.Event()  # a fact, whatever the loop does, and also before there is one
        self._loop: asyncio.AbstractEventLoop | None = None
        self._noted = clock.now()  # the last instant the journal speaks of
        self.failed = False
        self.lasting = True  # it may be started again
        self.trouble, self._fault_mark = TroubleLog(), FaultMark(folder)
        self._fault_mark.show(engine.faults.for_commands)
        self._book = CommandBook(folder, clock, history, lambda: self.engine.job_table.last_id)
        self._own = {"clock": self._set_clock, "down": self._down, "log_call": self._log_call, "calls": self._calls,
                     "status": self._status, "snapshot": self._snapshot,
                     "news": self._tell_news, "record": self._record, "record_begin": self._record_begin}  # fmt: skip
        self._earlier_news = 1  # what happened to engines before this one, and to the clock
        self._began = time.monotonic()
        self.holders = Holders(engine, self._client_gone)
        self._solver = Solver(self._solved)
        self._metrics_port = MetricsPort(str(folder.path))
        self._filter = JobFilter()
        engine.changed = self._note_change
        self._socket = folder.listen()

    # -- life -------------------------------------------------------------------------------------------------------

    async def run(self, ready: Callable[[], None] | None = None) -> None:
        """Serve until a stop is asked for; return at once if it has been.

        `ready` is called when requests are answered, before any job starts.
        """
        try:
            await self._serve(ready)
        finally:
            self.close()

    async def _serve(self, ready: Callable[[], None] | None) -> None:
        self._loop = asyncio.get_running_loop()
        if self._told_to_stop.is_set():  # asked after the line above: `stop` sees the loop
            return
        self.journal.told = self._synced
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._loop.add_signal_handler(number, self.stop)
        connections = Connections(self._ask, self._leave, self.holders)
        server = await asyncio.start_unix_server(connections.serve, sock=self._socket)
        async with server:
            if ready is not None:
                ready()
            self._tend()
            self.holders.expect()
            self._metrics_port.tend(self.engine)
            await self._guarded_pace()
            self._told_to_stop.set()
            self._loop.remove_reader(self._socket)  # no new clients; a closed server would lose those on their way in
            if not self._finish_writing():
                self._refuse_lost()
            for one in (*self._waiting, *self._parked):
                one.future.cancel()
            await connections.close()
            await self._solver.close()
            self._metrics_port.close()

    def close(self) -> None:
        """Give everything back: for a server that is not, or no longer, run."""
        with contextlib.suppress(OutputError):
            self._note_clock()
            note_decisions(self.engine, self.journal)
            if self.lasting and not self.failed:  # then what is written counts, not what we have
                self._compaction.at_stop(self.engine, self.clock)
            self.journal.close()
        self.engine.storage.store.close()
        self._book.close()
        self._socket.close()
        self.folder.hang_up()

    @property
    def is_stopping(self) -> bool:
        """True from when it was told to stop, also by a client."""
        return self._told_to_stop.is_set()

    def stop(self) -> None:
        """Stop serving, or never begin; may be called from any thread at any time."""
        self._told_to_stop.set()
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has stopped already
                self._loop.call_soon_threadsafe(self._work.set)

    def _tend(self) -> None:
        """Take in what happened to running jobs without our being told, and look again in a while."""
        if self.engine.real is None:
            return
        self._take_ends(self.engine.real.tend(kept=self._decisions_kept()))
        self._take_ends(self.engine.real.programs.tend(), "program_ended")
        asyncio.get_running_loop().call_later(TEND_S, self._tend)

    def _take_ends(self, ends: Iterable[Mapping[str, int | str]], call: str = "ended") -> None:
        """Take in that runs or programs are over, as if their supervisors had told."""
        owner = self.engine.people.by_uid(self.engine.owner)
        for arguments in ends:
            future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            self._waiting.append(Asked({"call": call, "args": arguments}, owner, future))
            self._work.set()

    def _client_gone(self, job_id: int) -> None:
        """Note that no client waits for that allocation any more."""
        owner = self.engine.people.by_uid(self.engine.owner)
        message = {"call": "client_gone", "args": {"job_id": job_id}}
        self._waiting.append(Asked(message, owner, asyncio.get_running_loop().create_future()))
        self._work.set()

    def _solved(self, asked: AskSolver, answer: str) -> None:
        """Take the answer of the policy's solver as a request."""
        if self.engine.controller.solves.awaited != asked:
            return  # the engine was made again, and asks something else
        owner = self.engine.people.by_uid(self.engine.owner)
        message = {"call": "solved", "args": {"number": asked.number, "answer": answer}}
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        future.add_done_callback(partial(self._told_answer, asked, answer))
        self._waiting.append(Asked(message, owner, future))
        self._work.set()

    def _told_answer(self, asked: AskSolver, answer: str, future: asyncio.Future[Answer]) -> None:
        """Tell an answer again, in a while, if it could not be written down; one that breaks the policy is dropped."""
        if future.cancelled() or "refused" not in future.result():
            return
        if future.result()["refused"] == list(UNSPECIFIED) and answer != NOTHING:
            self._solved(asked, NOTHING)
        else:
            asyncio.get_running_loop().call_later(TEND_S, self._solved, asked, answer)

    @property
    def _solving(self) -> bool:
        """True if an answer of the policy's solver is awaited."""
        return self.engine.controller.solves.awaited is not None

    def _ask(self, message: Any, uid: int) -> Asked:
        """Take in a request of a peer with that uid; its future is the answer.

        Raises for what is no request, and when no answer would come any more.
        """
        if self._told_to_stop.is_set():
            raise ConnectionError
        check_message(message)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        people, user = self.engine.people, message.get("user")
        peer = people.peer(uid)
        asked = Asked(message, peer, future)
        refusal = owners_business(self.engine, message, uid)
        if refusal is not None:
            future.set_result({"refused": [2002, refusal]})
            return asked
        if user:
            asked.person = people.by_name(str(user))
        if not user or message.get("asks"):  # else the owner plays that user, or root does
            asked.judged = asking(self.engine, message, uid)
        try:
            check_arguments(message["call"], message.get("args"))
        except Malformed as error:
            self.trouble.malformed(message["call"], peer, error)
            future.set_result({"refused": [BAD_NUMBER, BAD_REQUEST]})
            return asked
        self._waiting.append(asked)
        self._work.set()
        return asked

    def _leave(self, asked: Asked) -> None:
        """Note that no client waits for that answer any more."""
        if asked in self._parked:
            self._parked.remove(asked)

    def _note_change(self, live: LiveJob) -> None:
        self._changed.add(live.core.id)

    # -- the one thread of control ----------------------------------------------------------------------------------

    async def _guarded_pace(self) -> None:
        try:
            await self._pace()
        except Exception:
            self._break_down()

    def _guarded(self, what: Callable[[], None]) -> None:
        try:
            what()
        except Exception:
            self._break_down()
            self.stop()

    def _break_down(self) -> None:
        traceback.print_exc()  # to the log; a cluster with a clock that stands still would be worse than none
        self.failed = True

    async def _pace(self) -> None:
        while True:
            self._work.clear()
            if self._told_to_stop.is_set():
                return
            self._catch_up()
            if self._waiting or self._more or self._changed & self._awaited() or self._is_watched():
                await asyncio.sleep(0)
            else:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._longest_wait()):
                        await self._work.wait()
                    await asyncio.sleep(0)  # let other clients add the requests that are ready
            self._turn()
            controller = self.engine.controller
            self._solver.tend(controller.solves.awaited, controller.host.policy.solvers | controller.solves.named)

    @property
    def _news(self) -> int:
        """Grows with all that happens, for those who watch."""
        return self._earlier_news + self.engine.network.happened

    def _awaited(self) -> set[int]:
        """Return the jobs that any client waits for news of."""
        return {core_id for one in self._parked for core_id in one.jobs or ()}

    def _is_watched(self) -> bool:
        """Return True if any client that watches has not been told the latest news."""
        return any(one.message["call"] == "news" and one.message["args"]["since"] < self._news for one in self._parked)

    def _next(self) -> float:
        """Return the next instant at which something happens, or that a client waits for."""
        return min([self.engine.next_event(), *(one.until for one in self._parked)])

    def _longest_wait(self) -> float | None:
        """Return the real seconds until there is something to do; None: until a request comes."""
        if self.clock.mode == FAST:
            return None if self._stands_still() else 0.0
        following = self._next()
        wait = self.clock.real_seconds_until(following) if following != NEVER else None
        return None if wait is None else min(wait, IDLE_S)

    def _stands_still(self) -> bool:
        """Return True if a clock that runs only as long as something happens has to stop.

        It does not pass over what really runs, except to an instant that a client waits for.
        """
        if self._solving:
            return True
        if any(one.until != NEVER for one in self._parked):
            return False
        return runs_something_real(self.engine) or is_idle(self.engine)

    def _catch_up(self) -> None:
        """Let the network run on to the present."""
        if self.clock.mode == FAST and not self._waiting:
            self._run_on(NEVER, stop_when_idle=True)
        self._advance()

    def _run_on(self, target: float, *, stop_when_idle: bool) -> bool:
        """Jump from event to event up to `target`; False when there is more to do than a slice of real time allows."""
        engine, last = self.engine, time.monotonic() + SLICE_S
        while True:
            if self._solving:
                return False  # time does not pass over a solve
            if stop_when_idle and self._stands_still():
                idle = is_idle(engine)
                if idle and awaits_a_pass(engine):
                    self._go_to(engine.now + 1)
                return idle
            following = self._next()
            if following > target or following == NEVER:
                if target != NEVER:
                    self._go_to(target)
                return True
            self._go_to(following)
            if time.monotonic() > last or any(one.until <= following for one in self._parked):
                return False

    def _go_to(self, instant: float) -> None:
        self.clock.jump(instant)
        self._advance()

    def _advance(self) -> None:
        """Let pass what has passed."""
        now = max(self.clock.now(), self.engine.now)
        self.engine.network.advance(now)

    def _turn(self) -> None:
        """Carry out what is waiting, write it down, answer."""
        self._mend()
        self._more = False
        batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
        self._in_turn = True
        answered = [(one, self._execute(one.message, one.person, one.judged)) for one in batch]
        for one in self._due():
            if one.until != NEVER:  # the instant it was first told counts
                one.message["args"] = {**(one.message.get("args") or {}), "until": int(one.until)}
            answered.append((one, self._execute(one.message, one.person, one.judged)))
        self._note_people()
        if batch or self.engine.real is not None:
            self._note_clock()
        with contextlib.suppress(OutputError):  # no room: they wait
            note_decisions(self.engine, self.journal)
        real, pending = self.engine.real, None
        if real is not None and not self.engine.network.decided:  # nothing runs that is not known to run
            pending = real.take()
        answers = [(future, answer) for one, answer in answered if (future := self._park(one, answer)) is not None]
        # what came behind in this turn may be what they wait for: a solver's answer, the end of a script
        self._more |= any(one.jobs is None and one in self._parked for one, _ in answered[:-1][: len(batch)])
        self._outgoing.add(self.journal.noted, answers, pending)
        self._in_turn = False
        self._go_on_writing()
        if self._compaction.due:
            self._shorten()
        elif self._compaction.late:
            self._compaction.wait()

    # -- to the disk, and only then to the client ---------------------------------------------------------------------

    def _go_on_writing(self) -> None:
        """Give what waits to the disk if it is free, and carry out what waited for that."""
        with contextlib.suppress(OutputError):
            self.journal.write()
        self._mend()
        self._release()

    def _finish_writing(self) -> bool:
        """Wait until all is on the disk, and carry out what waited for it; False if it cannot be written."""
        with contextlib.suppress(OutputError):
            self.journal.sync()
        if self.journal.failure:
            self._work.set()  # the next turn mends it
            return False
        self._release()
        return True

    def _release(self) -> None:
        """Answer the requests that are on the disk, and start what waited for it."""
        self._fault_mark.show(self.engine.faults.for_commands)
        for pending in self._outgoing.release(self.journal.confirmed):
            if self.engine.real is not None:
                self.engine.real.flush(pending)
                self._take_ends(self.engine.real.unborn())

    def _mend(self) -> None:
        """Make the engine again if the journal could not be written, and refuse the requests that rest on it.

        Room was taken before, so the disk is broken, not full.
        """
        if self.journal.failure:
            self._rebuild()

    def _refuse_lost(self) -> None:
        self._outgoing.refuse(self.journal.failure, in_turn=self._in_turn)
        self.journal.failure = ""

    def _synced(self) -> None:
        """Note, called by a thread, that something is on the disk or cannot be written."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has stopped: closing the journal waits for the thread
                self._loop.call_soon_threadsafe(self._after_sync)

    def _after_sync(self) -> None:
        if not self._told_to_stop.is_set():
            self._guarded(self._go_on_writing)

    def _shorten(self) -> None:
        """Have a snapshot made beside our work."""
        with contextlib.suppress(OutputError):  # no room: later
            self._compaction.begin(self.engine, self.clock)
        if self.journal.failure:
            self._work.set()
        self._await_snapshot()

    def _await_snapshot(self) -> None:
        if self._compaction.poll():
            asyncio.get_running_loop().call_later(SNAPSHOT_S, self._await_snapshot)
            return
        with contextlib.suppress(OutputError):  # it may be a new file, which has no room taken yet
            self.journal.reserve(self._kept())

    def _due(self) -> list[Asked]:
        """Those who wait and are to be asked again."""
        changed, self._changed = self._changed, set()
        now = self.engine.now
        return [one for one in self._parked if one.jobs is None or one.jobs & changed or one.until <= now]

    def _park(self, one: Asked, answer: Answer) -> asyncio.Future[Answer] | None:
        """Where that answer goes, None if that is known there; if there is to be one later, ask again from now on."""
        found, future = answer.get("ok", ()), one.future
        if "wait" not in found:
            if one in self._parked:
                self._parked.remove(one)
            return future
        one.jobs = None if found["wait"] is True else frozenset(found["wait"])
        one.until = NEVER if found.get("until") is None else float(found["until"])
        if one.jobs is not None and one.jobs & self._changed:
            self._more = True  # since it was asked
        if one in self._parked:
            return None
        self._parked.append(one)
        one.future = asyncio.get_running_loop().create_future()
        return future

    def _execute(self, message: dict[str, Any], person: Person, judged: int | None = None) -> Answer:
        call, arguments = str(message.get("call")), message.get("args") or {}
        why = None if judged is None else runs_as_another(self.engine, call, arguments, judged)
        if why is not None:
            return {"refused": [2002, why]}
        self._judged = judged
        own = self._own.get(call)
        now = max(self.clock.now(), self.engine.now)
        self._note_people()
        arguments, said, refused = self._ask_script(call, arguments, person)
        if refused is not None:
            return refused
        request, last_id = [now, call, person.uid, person.name, arguments], self.engine.job_table.last_id
        line, told = b"", self.engine.network.n_told
        half: Refusal | None = None
        try:
            if own is not None:
                return {"ok": own(arguments, person)}
            if call == "reconfigure":
                self._reread(now, person)
            if call in node_changes.CALLS:
                arguments, half = self._change_nodes(call, arguments, now, person)
                request = [now, call, person.uid, person.name, arguments]
            if call in self.engine.changes:
                line = self.journal.text(request)
                self.journal.reserve(len(line) + OUTCOME + (0 if call in ENDS else self._kept()))
                self.engine.network.advance(now)
                last_id = self.engine.job_table.last_id
                note_decisions(self.engine, self.journal)  # so that the journal has them before the request
            found = self.engine.execute(now, call, arguments, person)
        except Refusal as refusal:
            if self.engine.job_table.last_id != last_id and line:  # it used an id up, and may have left a record of it
                self._append(line, outcome(last_id, self.engine.job_table.last_id, None))
                self._noted = now
            if call in ("ended", "program_ended") and person.uid == self.engine.owner:  # that job is forgotten
                self._over(call, arguments)
            return {"refused": [refusal.number, "\n".join([*said, refusal.text])]}
        except OutputError:
            return {"refused": list(NO_ROOM)}
        except Exception as error:
            self.trouble.broke(call, person, error)
            if line and (call not in PLAIN or self.engine.network.n_told != told):  # it may have done half of it
                self._rebuild()
            return {"refused": list(UNSPECIFIED)}
        if line and "wait" not in found:
            self._append(line, outcome(last_id, self.engine.job_table.last_id, found))
            self._noted = now
        if call in ("ended", "program_ended"):
            self._over(call, arguments)
        if half is not None:
            return {"refused": [half.number, half.text]}
        return {"ok": {**found, "job_submit_user_msg": "\n".join(said)} if said else found}

    def _ask_script(
        self, call: str, arguments: dict[str, Any], person: Person
    ) -> tuple[dict[str, Any], list[str], Answer | None]:
        """Return a request as the site's script leaves it, what the user is told, and the answer if it is refused."""
        try:
            changed, said = self._filter.filtered(
                self.engine, self._history.configuration.texts, call, arguments, person
            )
            if changed is not arguments:
                check_arguments(call, changed)  # a script makes what it likes
            return changed, said, None
        except Refusal as refusal:
            return arguments, [], {"refused": [refusal.number, refusal.text]}
        except Malformed as error:
            self.trouble.malformed(call, person, error)
            return arguments, [], {"refused": [BAD_NUMBER, BAD_REQUEST]}
        except ConfigError as error:  # Lua is not there any more
            print(f"job_submit/lua: error: {error}", flush=True)
        except Exception as error:
            self.trouble.broke(call, person, error)
        return arguments, [], {"refused": list(UNSPECIFIED)}

    def _note_people(self) -> None:
        """Have it in the journal which uids users got."""
        with contextlib.suppress(OutputError):  # no room: they wait
            note_people(self.engine, self.journal, self._kept())

    def _append(self, request: bytes, told: dict[str, Any]) -> None:
        """Write a request down, with what came of it; what was decided before it stands before it."""
        self._note_people()
        self.journal.append_text(request[:-1] + b"," + self.journal.text(told) + b"]")

    def _decisions_kept(self) -> bool:
        """Have all decisions on the disk, if there is room."""
        try:
            note_decisions(self.engine, self.journal, durable=True)
        except OutputError:
            return False
        return self._finish_writing()

    def _over(self, call: str, arguments: dict[str, Any]) -> None:
        if self.engine.real is None:
            return
        if call == "program_ended":
            self.engine.real.programs.over(arguments)
        else:
            self.engine.real.over(int(arguments["core_id"]), int(arguments["restarts"]))

    def _kept(self) -> int:
        """Bytes of the journal that are kept for the ends of what runs, whatever else is asked for."""
        real = self.engine.real
        return self.holders.room + (real.room if real is not None else 0)

    def _rebuild(self) -> None:
        """Make the engine again from what is written."""
        if not self._finish_writing():
            self._refuse_lost()
        self._go_on_with(self._history.remade())
        if self.engine.real is not None:
            self._tend()

    def _go_on_with(self, engine: Engine) -> None:
        """Let another engine take the place of ours."""
        real = self.engine.real
        self._earlier_news += self.engine.network.happened + 1
        self.engine = self.holders.cluster = engine
        engine.changed = self._note_change
        if real is not None:
            real.adopt(engine)
        self._metrics_port.tend(engine)

    def _note_clock(self) -> None:
        """Write down how late it is, where the machine's time of day would not tell after a restart."""
        now = self.clock.now()
        if self.clock.mode != REAL and now != self._noted:
            with contextlib.suppress(OutputError):  # a full disk: the next entry tells as well
                self.journal.reserve(CLOCK_ROOM + self._kept())
                self._write_clock(durable=False)

    def _write_clock(self, *, durable: bool) -> None:
        owner = self.engine.people.by_uid(self.engine.owner)
        with contextlib.suppress(OutputError):  # no room: they wait
            note_decisions(self.engine, self.journal)
        self._noted = self.clock.now()
        what = {"now": self._noted, "mode": self.clock.mode, "rate": self.clock.rate}
        self.journal.append([self._noted, "clock", owner.uid, owner.name, what], durable=durable)

    # -- calls about the daemon itself --------------------------------------------------------------------------------

    def _owner_only(self, person: Person) -> None:
        if person.uid not in (self.engine.owner, 0):
            raise Refusal(DENIED)

    def _set_clock(self, arguments: dict[str, Any], person: Person) -> Answer:
        action = arguments.get("action", "show")
        if action != "show":
            self._owner_only(person)
            self.journal.reserve(CLOCK_ROOM + self._kept())
        done = True
        if action == "freeze":
            self.clock.set_mode(FROZEN)
        elif action == "rate":
            rate = float(arguments["rate"])
            if not 0 < rate < 1e9:
                raise Refusal(f"no rate: {rate:g}")
            self.clock.set_mode(RUNNING, rate)
        elif action == "fast":
            self.clock.set_mode(FAST)
        elif action == "step":
            if self.engine.real is not None:
                self.engine.real.end_now()
            target = arguments.setdefault("_to", self.clock.now() + max(0, int(arguments["seconds"])))
            done = self._run_on(target, stop_when_idle=False)
            self.engine.controller.state.triggers.late = bool(arguments.get("late"))
        elif action == "until-idle":
            last = arguments.setdefault("_to", self.clock.now() + int(arguments.get("limit_s") or 366 * 86400))
            done = self._run_on(last, stop_when_idle=True)
            done = done or self.clock.now() >= last or is_idle(self.engine)
        elif action != "show":
            raise Refusal(f"no such action: {action}")
        if action != "show":
            self._earlier_news += 1
            self._write_clock(durable=done)
        found = {"now": self.clock.now(), "mode": self.clock.mode, "rate": self.clock.rate}
        if not done:
            found["wait"] = True
            # a script that really runs will say when it is over
            self._more |= not (self._solving or (action == "until-idle" and self._stands_still()))
        return found

    def _tell_news(self, arguments: dict[str, Any], person: Person) -> Answer:
        """Answered when something has happened since the number `since`: what it is now, and the clock."""
        if int(arguments["since"]) >= self._news:
            return {"wait": True}
        clock = self.clock
        return {"news": self._news, "now": clock.now(), "exact": clock.exact(), "mode": clock.mode, "rate": clock.rate}

    def _reread(self, now: int, person: Person) -> None:
        """Go on under the files as they are now. Raises Refusal where that cannot be."""
        administrators_only(self.engine, person)
        try:
            again = self._history.reread(self.engine, now)
        except OutputError as error:
            raise Refusal(str(error)) from None
        if again is not self.engine:
            self._go_on_with(again)

    def _change_nodes(
        self, call: str, arguments: dict[str, Any], now: int, person: Person
    ) -> tuple[dict[str, Any], Refusal | None]:
        """Go on with other dynamic nodes; return the request to be carried out, and what is refused of it."""
        texts, folder = self._history.configuration.texts, self._history.folder
        text, arguments, half = node_changes.wanted(self.engine, texts, call, arguments, person)
        before = texts.get(node_changes.FILE, "")
        if text == before:
            return arguments, half
        try:
            node_changes.write(folder, text)
            again = self._history.reread(self.engine, now)
        except (OSError, OutputError, ConfigError) as error:
            with contextlib.suppress(OSError):
                node_changes.write(folder, before)
            raise Refusal(f"{error}\n{UNSPECIFIED[1]}") from None
        if again is not self.engine:
            self._go_on_with(again)
        return arguments, half

    def _down(self, arguments: dict[str, Any], person: Person) -> Answer:
        self._owner_only(person)
        asyncio.get_running_loop().call_later(0.02, self.stop)
        return {}

    def _snapshot(self, arguments: dict[str, Any], person: Person) -> Answer:
        """Write the whole cluster into a file, while all clients wait (0.09 ms for each job that slurmctld has)."""
        self._owner_only(person)
        path = Path(arguments["path"])
        if not path.is_absolute() or not path.name:
            raise Refusal("a snapshot goes to a file: its whole path is expected")
        try:
            note_decisions(self.engine, self.journal)
            save(path, self.engine, self._history, self.clock.now(), self.clock.mode,
                 self.clock.rate)  # fmt: skip
        except OutputError as error:
            raise Refusal(str(error)) from None
        return {"now": self.clock.now()}

    def _status(self, arguments: dict[str, Any], person: Person) -> Answer:
        uptime_s = time.monotonic() - self._began
        told = daemon_status(self.folder.path, self.engine, self.clock, self.journal, uptime_s)
        return {**told, "policy_error": self.trouble.policy_error}

    def _log_call(self, arguments: dict[str, Any], person: Person) -> Answer:
        return self._book.log_call(arguments, person, other=self._judged not in (None, 0, self.engine.owner))

    def _record(self, arguments: dict[str, Any], person: Person) -> Answer:
        self._owner_only(person)
        return self._book.record(arguments, person)

    def _record_begin(self, arguments: dict[str, Any], person: Person) -> Answer:
        return self._book.record_begin()

    def _calls(self, arguments: dict[str, Any], person: Person) -> Answer:
        self._owner_only(person)
        return self._book.calls(arguments)


def run_server(server: Server, ready: Callable[[], None] | None = None) -> int:
    """Serve in this thread until a stop is asked for; return the exit code."""
    asyncio.run(server.run(ready))
    if server.failed:
        print("slurmsim: the daemon broke; see above", file=sys.stderr)
    return 1 if server.failed else 0


__all__ = ["Server", "run_server"]
