"""Carry a journal out again: requests anew, decisions compared, or followed where another version made them.

The version that wrote an entry decides the same again, and the first difference is a defect, which is said. After an
upgrade other rules may hold, and yet what has happened has happened: nothing is scheduled then, each recorded start,
requeue and end is made as it was, and one that cannot be stops the start. Where the entries end the rules are in force.
"""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from slurmsim.bitmap import from_indices
from slurmsim.core.controller.job_decisions import CHANGES
from slurmsim.core.placement.layout import lay_out, malformed
from slurmsim.core.placement.units import units_of
from slurmsim.core.records.allocation import Allocation
from slurmsim.core.records.job import Job
from slurmsim.core.records.job_queue import Record
from slurmsim.core.records.messages import Reshaped, Resume, Suspend
from slurmsim.data_classes import dataclass
from slurmsim.errors import InvariantError, OutputError
from slurmsim.hostlist import expand
from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.clock import REAL
from slurmsim.slurmctld.base.decisions import DECIDED, Decision, outcome, text_of
from slurmsim.slurmctld.base.ending import end
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.history.salvage import SALVAGED
from slurmsim.slurmctld.processes.real_jobs import ended
from slurmsim.states import JobState
from slurmsim.version import __version__

WRITER, CONF, OVER, MET = "writer", "conf", "over", "met"
"""Calls of entries that are no requests: another version goes on, another configuration holds, a run was over that our
rules had not begun, a simulated user has that uid.
"""
OURS = f"slurmsim {__version__}"
Entry = Sequence[Any]
Adopt = Callable[[Engine, Mapping[str, str]], Engine]


@dataclass(slots=True)
class Restored:
    """What a journal leaves."""

    engine: Engine  # it may be another one than that of the beginning, after a reconfiguration
    # now, mode, rate: the clock's
    now: int
    mode: str
    rate: float
    upgraded: bool = False  # the last entries are another version's: ours goes on from here


def replay(
    engine: Engine, entries: Iterable[tuple[int, Entry]], mode: str = REAL, rate: float = 1.0, *,
    writer: str = OURS, journal: str = "journal", first: int = 0, adopt: Adopt | None = None,
) -> Restored:  # fmt: skip
    """Carry out numbered entries; what they leave.

    Parameters
    ----------
    mode, rate
        The clock's at first.
    writer
        Who decided at first.
    journal, first
        The file's name and the number of its header, to say where something is.
    adopt
        Makes an engine go on under other texts of its configuration.

    Raises
    ------
    InvariantError
        The same version decides otherwise now.
    OutputError
        What another version decided cannot be followed.
    """
    found = Restored(engine, engine.now, mode, rate)
    followed = _Followed(engine) if writer != OURS else None
    if followed is not None:
        engine.network.follow()
    for number, entry in entries:
        now, call, _, _, arguments = entry[:5]
        found.now, engine = max(found.now, int(now)), found.engine
        where = f"{journal}: line {number - first + 1}"
        if call == "clock":
            found.mode, found.rate = arguments.get("mode", found.mode), arguments.get("rate", found.rate)
            engine.network.advance(found.now)
        elif call == DECIDED:
            if followed is not None:
                # before the clock moves on: a decision cannot be carried out after its own second
                followed.carry_out(where, arguments)
            engine.network.advance(int(now))
            _compare(where, engine, arguments, followed is not None)
        elif call == WRITER:
            if arguments["writer"] == OURS and followed is not None:
                engine.network.decide(int(now))
                followed = None
            elif arguments["writer"] != OURS and followed is None:
                followed = _Followed(engine)
                engine.network.follow()
        elif call == CONF:
            engine.network.advance(int(now))
            if adopt is not None:
                found.engine = adopt(engine, arguments["texts"])
                if followed is not None and found.engine is not engine:
                    followed = _Followed(found.engine)
                    found.engine.network.follow()
        elif call == OVER:
            engine.network.advance(int(now))
            enforce_end(engine, arguments, int(now))
        elif call == MET:
            engine.exchange(engine.people.met(str(entry[3]), int(entry[2])))
        elif call == SALVAGED:
            engine.job_table.last_id = max(engine.job_table.last_id, int(arguments["last_id"]))
        else:
            _request(where, engine, entry, followed is not None)
    if followed is not None:
        found.engine.network.decide(found.now)
        found.upgraded = True
    return found


def carry_out(engine: Engine, entry: Entry) -> dict[str, Any]:
    """One request as it was asked for then; what came of it."""
    now, call, uid, name, arguments = entry[:5]
    person = engine.people.bound(str(name), int(uid))
    engine.network.advance(int(now))
    before, answer = engine.job_table.last_id, None
    with suppress(Refusal):  # as it was refused then, having taken an id
        answer = engine.execute(int(now), str(call), arguments, person)
    return outcome(before, engine.job_table.last_id, answer)


def _request(where: str, engine: Engine, entry: Entry, following: bool) -> None:
    """Carry a request out, and hold what comes of it against what came of it then."""
    told = entry[5] if len(entry) > 5 else None
    if following and told:
        engine.network.advance(int(entry[0]))
        if entry[1] == "submit" and "last_id" in told:  # the id that was given is the job's, whatever we would give
            engine.job_table.last_id = int(told.get("job_id", told["last_id"])) - 1
    found = carry_out(engine, entry)
    if told is None or found == told:
        return
    what = f"{where}: job {told.get('job_id', found.get('job_id', '?'))}: {entry[1]} at {entry[0]}"
    if not following:
        raise _defect(f"{what} led to {told}, and leads to {found} now")
    if found.get("refused") != told.get("refused"):
        now = "refused" if "refused" in found else "accepted"
        raise _not_followed(f"{what} would be {now} by this version's rules")
    engine.job_table.last_id = int(told.get("last_id", engine.job_table.last_id))


def _compare(where: str, engine: Engine, recorded: Sequence[Decision], following: bool) -> None:
    """Compare what was decided since the last comparison with what was recorded; report a difference."""
    made = engine.network.decided
    for k in range(max(len(recorded), len(made))):
        ours = made[k] if k < len(made) else None
        theirs = recorded[k] if k < len(recorded) else None
        if ours != theirs and not (following and _same_start(ours, theirs)):
            what = f"{where}: recorded: {text_of(theirs)}; found: {text_of(ours)}"
            raise _not_followed(what) if following else _defect(what)
    made.clear()
    engine.controller.state.events.clear()


def _same_start(ours: Decision | None, theirs: Decision | None) -> bool:
    """Up to 0.5.0 the id shown of a job that started within the turn it came in was not written down."""
    if ours is None or theirs is None or ours[1] != "start":
        return False
    return theirs[4] == 0 and [*theirs[:4], ours[4], *theirs[5:]] == ours


def _defect(what: str) -> InvariantError:
    return InvariantError(f"{what}; this is a defect of slurmsim, please report it. Nothing was changed")


def _not_followed(what: str) -> OutputError:
    return OutputError(f"{what}; this version cannot go on with what another one decided. Nothing was changed: go on "
                       "with that version, or begin another cluster with --state")  # fmt: skip


class _Followed:
    """Makes recorded decisions happen on an engine that decides nothing."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.c, self.network = engine.controller, engine.network
        self._makes: dict[str, Callable[[str, Decision, Job, int, list[Any]], None]] = {
            "start": self._start, "end": self._end, "requeue": self._requeue, "resize": self._resize,
            "shape": self._shape, "suspend": self._stop, "resume": self._stop,
            **dict.fromkeys(CHANGES, self._change),
        }  # fmt: skip

    def carry_out(self, where: str, recorded: Sequence[Decision]) -> None:
        """Make happen what has not by itself. Raises OutputError for what cannot."""
        made = self.network.decided
        for k, decision in enumerate(recorded):
            at, kind, core_id, restarts, *more = decision
            is_made = k < len(made) and made[k] == decision
            if at > self.engine.now or not (is_made or kind in self._makes):  # what follows within it comes in its turn
                self.network.advance(int(at))
            if k < len(made) and made[k] == decision:
                continue  # a request, or a timer that is no rule of scheduling
            job = self.c.state.jobs.get(core_id)
            act = self._makes.get(kind)
            if job is None or job.restarts != restarts or act is None:
                raise _not_followed(f"{where}: {text_of(decision)} is not possible")
            self._expect_shape(recorded[k:], job)
            act(where, decision, job, int(at), more)

    def _act(self, at: int, what: Callable[[], None]) -> None:
        self.network.act(at, what, before_others=True)

    def _expect_shape(self, recorded: Sequence[Decision], job: Job) -> None:
        """Have what a decision says of the cap and the standstill of `job` hold for the change that is made next."""
        watts, (at, kind, *_) = self.c.watts, recorded[0]
        if watts is None or kind not in ("start", "resize"):
            return
        for other in recorded[1:]:
            if other[0] == at and other[1] == "shape" and other[2] == job.id:
                if kind == "start":
                    watts.want(job, int(other[5]))
                else:
                    watts.joint_s = float(other[6])
                return

    def _resize(self, where: str, decision: Decision, job: Job, at: int, more: list[Any]) -> None:
        nodes, cpus = more

        def resize() -> None:
            c, index = self.c, self.c.state.table.index
            names = expand(nodes)
            done = set(names) <= index.keys() and c.resizes.onto(job, from_indices(sorted(index[n] for n in names)))
            if not done or job.alloc is None or c.state.cluster.cpus_per_node(job.alloc) != cpus:
                raise _not_followed(f"{where}: {text_of(decision)} is not possible by this version's rules")

        try:
            self._act(at, resize)
        finally:
            if self.c.watts is not None:
                self.c.watts.joint_s = None

    def _shape(self, where: str, decision: Decision, job: Job, at: int, more: list[Any]) -> None:
        nodes, cap_mw, _ = more
        if self.c.watts is None or job.alloc is None or job.n_nodes != nodes:
            raise _not_followed(f"{where}: {text_of(decision)} is not possible")
        watts = self.c.watts

        def shape() -> None:
            watts.set_cap(job, int(cap_mw))
            self.c.state.actions.append(Reshaped(job))

        self._act(at, shape)

    def _start(self, where: str, decision: Decision, job: Job, at: int, more: list[Any]) -> None:
        _, partition, nodes, cpus, *layout = more

        def start() -> None:
            c = self.c
            records = [r for r in c.state.queue.jobs.get(job.id, ()) if r.partition.name == partition]
            alloc = None
            if records and set(names := expand(nodes)) <= c.state.table.index.keys():
                indices = sorted(c.state.table.index[name] for name in names)
                alloc = self._laid_out(records[0], indices, layout[0]) if layout else self._place(records[0], indices)
            if alloc is None or c.state.cluster.cpus_per_node(alloc) != cpus:
                raise _not_followed(f"{where}: {text_of(decision)} is not possible by this version's rules")
            c.life_cycle.start(records[0], alloc, "Main")

        self._act(at, start)

    def _place(self, record: Record, indices: list[int]) -> Allocation | None:
        """Exactly these nodes for a record, if they are free for it."""
        mask, exact = from_indices(indices), copy.copy(record.request)
        exact.required = exact.candidates = mask
        exact.min_nodes = exact.target_nodes = exact.node_need = mask.bit_count()
        exact.max_nodes = max(exact.max_nodes, exact.min_nodes)
        exact.by_count = False
        return self.c.state.selector.place(exact, self.c.state.table, mask)

    def _laid_out(self, record: Record, indices: list[int], counts: list[int]) -> Allocation | None:
        """So many units on each of these nodes, if they are free for the record."""
        table = self.c.state.table
        units, layout = units_of(record.request, table), dict(zip(indices, counts, strict=True))
        if malformed(units, layout, table.n):
            return None
        return lay_out(record.request, units, layout, table, table.everything, self.c.state.selector)

    def _stop(self, where: str, decision: Decision, job: Job, at: int, more: list[Any]) -> None:
        """Suspend or resume a job for a policy; what the gang scheduler did cannot be followed."""
        stop = decision[1] == "suspend"
        if self.c.gang is not None or job.state != (JobState.RUNNING if stop else JobState.SUSPENDED):
            raise _not_followed(f"{where}: {text_of(decision)} is not possible")
        facts = self.c.suspend_facts
        self._act(at, lambda: facts.on_suspend(Suspend(job.id)) if stop else facts.on_resume(Resume(job.id)))

    def _change(self, where: str, decision: Decision, job: Job, at: int, more: list[Any]) -> None:
        self._act(at, lambda: self.c.job_decisions.repeat(decision[1], job, more[0]))

    def _end(self, where: str, decision: Decision, job: Job, at: int, more: list[Any]) -> None:
        state, code = more
        self._act(at, lambda: end(self.c, job, state, code))

    def _requeue(self, where: str, decision: Decision, job: Job, at: int, more: list[Any]) -> None:
        if job.alloc is None:
            raise _not_followed(f"{where}: {text_of(decision)} is not possible")
        self._act(at, lambda: self.c.life_cycle.requeue(job, more[0]))


def not_begun(engine: Engine, arguments: Mapping[str, Any]) -> bool:
    """Return True if news of the end of a real run come of a job that our rules have not let run as often."""
    job, run = engine.controller.state.jobs.get(int(arguments["core_id"])), int(arguments["restarts"])
    return job is not None and (job.restarts < run or (job.restarts == run and job.alloc is None))


def enforce_end(engine: Engine, arguments: Mapping[str, Any], now: int) -> None:
    """News of a real run are facts: a job that our rules would not have running is over all the same."""
    job = engine.controller.state.jobs[int(arguments["core_id"])]
    job.restarts = int(arguments["restarts"])
    fact, _ = ended(job, job.restarts, int(arguments["status"]))
    engine.network.act(now, lambda: end(engine.controller, job, fact.state, fact.exit_code))
