"""A state machine that drives one controller by random facts, watched by a naive model of what may happen.

It drives `Controller.step` by itself, without a simulation. After every instant all counts are recounted, and
everything that started, stopped or ended is checked against what the model knows. At the end all obstacles are removed
and what can run must run; the independent validator judges the whole; and a second controller told the same facts must
answer with the same actions.
"""

from __future__ import annotations

from copy import copy
from dataclasses import fields
from typing import Any

import numpy as np
from hypothesis import note
from hypothesis.stateful import RuleBasedStateMachine
from naive_model import Allowed, Change, Model, Nodes
from random_worlds import facts_of, meets_request, nodes_of, recount
from verdict import approve
from wide_worlds import Setup

from slurmsim.bitmap import Bitmap
from slurmsim.core.records.messages import (
    Action,
    Boot,
    Cancel,
    Continue,
    DeleteReservation,
    Fact,
    Finished,
    JobEnded,
    Kill,
    Launch,
    NodesBooted,
    NodesResume,
    Pause,
    Refused,
    Release,
    Requeued,
    Resized,
    Resume,
    SetPartitionState,
)  # fmt: skip
from slurmsim.states import SPECIAL_EXIT

START = 1_000
SCAN_S = 30
IDLE_STEPS = 60


class ControllerMachine(RuleBasedStateMachine):
    """The machine without its rules."""

    broken = True
    setup_: Setup

    # -- driving --------------------------------------------------------------------------------------------------

    def begin(self, setup: Setup) -> None:
        """Make the controller and the model."""
        self.setup_ = setup
        self.controller = c = setup.controller(START)
        cluster = c.state.spec
        self.facts = facts_of(cluster)
        self.names = [n.name for n in cluster.nodes]
        allowed = Allowed(
            preemption=c.preemption is not None, gang=c.gang is not None, power=c.power is not None,
            limits=c.accounting.limits is not None, by_exit=bool(cluster.option("RequeueExit")),
        )  # fmt: skip
        states = {p.name: "UP" for p in cluster.partitions}
        self.model = Model(states, self.facts.index, allowed, Nodes(int(cluster.option("ReturnToService"))))
        self.max_time = {p.name: p.max_time_s for p in cluster.partitions}
        self.slack = 0 if c.state.event_driven else SCAN_S
        self.slack += max(cluster.option("OverTimeLimit") or 0, *[p.over_time_limit_s or 0 for p in cluster.partitions])
        # whether one CPU may have several jobs that run: by configuration, or from a resume without looking
        self.crowded = c.gang is not None or any(p.oversubscribe in ("YES", "FORCE") for p in cluster.partitions)
        self.now, self.next_id = START, 1
        self.waiting: list[Fact] = []
        self.log: list[tuple[int, list[Fact], list[str]]] = []
        self.events: list[tuple[Any, ...]] = []
        self.ended: list[Any] = []
        self.runs: list[Any] = []
        self.processes: dict[int, str] = {}  # as the actions leave them: on or paused
        self.boots: list[tuple[str, ...]] = []
        self.clean_at: dict[int, int] = {}  # node -> when what ended there is gone
        self.broken = False

    def step(self, now: int, facts: list[Fact]) -> None:
        """One step of the controller and of the model; then everything the actions say is checked."""
        note(f"at {now}: {facts}")
        self.now = now
        self.broken = True
        controller, model = self.controller, self.model
        model.foretell(now, facts)
        for fact in facts:
            if isinstance(fact, JobEnded) and fact.job_id in model.jobs:
                job = model.jobs[fact.job_id]
                if job.holds and job.instance == fact.restarts:
                    self.processes.pop(fact.job_id, None)
            self.crowded = self.crowded or isinstance(fact, Resume)
        at = len(facts)
        actions = controller.step(now, facts)
        self.log.append((now, facts[:at], [shown(action) for action in actions]))
        events, controller.state.events = controller.state.events[:], []
        self.events += events
        note(f"   {[e[1:5] for e in events if e[1] not in ('REASON', 'PRIORITY')]}")
        self._act(actions)
        self._settle(events)
        self._processes_are_what_jobs_are()
        wake = controller.wake_at()
        assert wake is None or wake > now, f"asks at {now} to be woken at {wake}"
        self.counts_equal_a_recount()
        self.limits_hold()
        self.broken = False

    def _act(self, actions: list[Action]) -> None:
        """What the processes do; and what happened to jobs put before the model."""
        changes: list[tuple[int, Change, Any]] = []
        processes, model = self.processes, self.model
        for action in actions:
            if isinstance(action, Refused):
                del model.jobs[action.sub.job_id]
                model.foretold.pop(action.sub.job_id, None)
            elif isinstance(action, Launch):
                assert action.job.id not in processes, f"job {action.job.id} launched twice"
                processes[action.job.id] = "on"
            elif isinstance(action, Kill):
                processes.pop(action.job.id, None)
            elif isinstance(action, Pause):
                assert processes[action.job.id] == "on", f"job {action.job.id} paused twice"
                processes[action.job.id] = "paused"
            elif isinstance(action, Continue):
                assert processes[action.job.id] == "paused", f"job {action.job.id} told to go on while it runs"
                processes[action.job.id] = "on"
            elif isinstance(action, Boot):
                self.boots.append(action.nodes)
            elif isinstance(action, Finished):
                changes.append((action.job.id, ("END", action.job.state), action.job))
                self.ended.append(action.job)
            elif isinstance(action, Requeued | Resized):
                run = copy(action.run)
                if isinstance(action, Requeued):
                    changes.append((run.id, ("REQUEUE", run.state), run))
                if run.start_time is not None and run.held_since is not None:
                    run.start_time = max(run.start_time, run.held_since)  # its present size began later
                self.runs.append(run)
        model.happened(changes)

    def _settle(self, events: list[tuple[Any, ...]]) -> None:
        """Let the model adopt what happened, in the order in which it did."""
        for place, (_, kind, job_id, state, reason, _, nodes, _, _) in enumerate(events):
            if job_id not in self.model.jobs:
                continue
            if kind == "START":
                rest = events[place + 1 :]
                later = {e[2] for e in rest if e[1] == "START"}
                self._started(job_id, later, last=not any(e[2] == job_id and e[1] in _MOVES for e in rest))
            if kind in ("END", "REQUEUE"):
                self._left(job_id)
            if state == SPECIAL_EXIT:
                self.model.jobs[job_id].special = True
            if kind in ("START", "SUSPEND", "RESUME", "END", "REQUEUE", "HOLD", "RELEASE"):
                self.model.settle(job_id, kind, state, reason.endswith(" was deleted"))
            if kind in ("START", "RESIZE"):
                self.model.jobs[job_id].nodes = frozenset(self.facts.index[n] for n in _expand(nodes))

    def _left(self, job_id: int) -> None:
        """A run of the job ended: its state says how long its nodes take to be clean."""
        for run in (*self.ended, *self.runs):
            if run.id == job_id and run.end_time == self.now and run.state not in ("NODE_FAIL", "RESIZING"):
                killed = run.state not in ("COMPLETED", "FAILED")
                seconds = self.setup_.epilog_s + (min(self.setup_.term_s, 5) if killed else 0)  # KillWait=5
                for node in nodes_of(run.nodes) if run.start_time is not None else ():
                    self.clean_at[node] = max(self.clean_at.get(node, 0), self.now + seconds)

    def _started(self, job_id: int, later: set[int], last: bool) -> None:
        known, now = self.model.jobs[job_id], self.now
        assert not known.held, f"job {job_id} started while held"
        assert now >= max(known.submitted, known.begin), f"job {job_id} started too early"
        self._dependency_allows(known)
        job = self.controller.state.jobs.get(job_id)
        if job is None or not last or job.alloc is None:
            return  # gone again, or changed, in this very instant
        assert job.start_time == now
        assert job.eligible_time is not None and job.eligible_time <= now
        assert self.model.partitions[job.partition.name] in ("UP", "DRAIN")
        assert job.restarts == known.instance
        held = nodes_of(job.alloc.mask)
        closed = [n for n in held if not self.model.nodes.usable(n)]
        assert not closed, f"job {job_id} started on nodes that are not up: {closed}"
        unclean = [n for n in held if self.clean_at.get(n, 0) > now]
        assert not unclean, f"job {job_id} started on nodes that are completing: {unclean}"
        assert held == nodes_of(job.nodes)
        meets_request(self.facts, job)
        most = self.max_time[job.partition.name]
        assert most is None or job.time_limit_s <= most, f"job {job_id} started beyond MaxTime"
        if job.deadline is not None and not self.controller.state.event_driven:
            assert now + (job.time_min_s or job.time_limit_s) <= job.deadline or not job.limit_fixed
        self.started(job, later)

    def started(self, job: Any, later: set[int]) -> None:
        """`job` has just started, and the jobs `later` after it in the same instant; for more checks."""

    def _dependency_allows(self, known: Any) -> None:
        kind, others = self.model.waits_for(known.sub)
        if kind == "after":
            assert all(other.started_once or other.ended >= 0 for other in others)
        elif others and not any(other.special for other in others):
            assert all(other.ended >= 0 for other in others), f"started before {known.sub.dependency} was met"
            remembered = not known.was_held and all(other.ended >= known.submitted for other in others)
            if kind in ("afterok", "afternotok") and remembered:
                good = all(other.state == "COMPLETED" for other in others)
                assert good == (kind == "afterok"), f"started although {known.sub.dependency} failed"

    def _processes_are_what_jobs_are(self) -> None:
        """The driver, who sees actions only, has processes of exactly those jobs that should have some."""
        c = self.controller
        wanted = {job.id: "on" for _, _, job in c.state.running} | {job.id: "paused" for _, _, job in c.state.suspended}
        booting = set(c.power._booting_for) if c.power is not None else set()
        wanted = {job_id: how for job_id, how in wanted.items() if job_id not in booting}
        assert self.processes == wanted, f"processes {self.processes}, jobs {wanted}, booting {booting}"

    def send(self, fact: Fact, together: bool) -> None:
        """Tell `fact` now, or together with what comes next."""
        self.waiting.append(fact)
        if not together:
            facts, self.waiting = self.waiting, []
            self.step(self.now, facts)

    def wakes(self, until: int) -> None:
        """Let the controller have what it asks for up to that instant."""
        while (wake := self.controller.wake_at()) is not None and wake <= until:
            self.step(wake, [])

    def ids(self, *states: str) -> list[int]:
        """Jobs in those states, as the model has them."""
        return [i for i, job in self.model.jobs.items() if job.state in states]

    # -- invariants -----------------------------------------------------------------------------------------------

    def counts_equal_a_recount(self) -> None:
        """All counts the controller keeps are those of the jobs it has."""
        controller = self.controller
        controller.check()
        running = [job for _, _, job in controller.state.running]
        stopped = [job for _, _, job in controller.state.suspended]
        if not self.crowded:
            recount(self.facts, running)
        assert sorted(job.id for job in running) == self.ids("RUNNING")
        assert sorted(job.id for job in stopped) == self.ids("SUSPENDED")
        assert sorted(controller.state.jobs) == self.ids("PENDING", "RUNNING", "SUSPENDED")
        queued = {record.job.id for pool in controller.state.queue.pools for record in pool.records}
        assert queued == set(controller.state.queue.jobs) == {j.id for j in controller.state.jobs.values() if j.queued}
        assert not any(self.model.jobs[i].held or self.model.jobs[i].state != "PENDING" for i in queued)
        tables = controller.state.usage
        for total, mask in [(tables.whole, -1), *((t, t.mask) for t in ([] if tables._alone else tables.parts))]:
            expected = _use(running, stopped, mask, tables)
            found = {name: getattr(total, name) for name in expected}
            assert found == expected, f"totals of {total.name!r}"
            of = [
                j for j in controller.state.jobs.values() if mask == -1 or total.name in [p.name for p in j.partitions]
            ]
            assert total.pending == sum(job.state == "PENDING" for job in of)
            of = [job for job in running if mask == -1 or job.partition.name == total.name]
            assert total.running == len(of)

    def limits_hold(self) -> None:
        """No job runs beyond its limit, no array beyond its throttle."""
        controller = self.controller
        tasks: dict[int, int] = {}
        for _, _, job in (*controller.state.running, *controller.state.suspended):
            if job.state == "RUNNING":
                lasts = job.end_limit - job.start_time - job.suspended_s
                assert lasts == job.time_limit_s or job.preempt_time is not None
                assert controller.state.now < job.end_limit + max(self.slack, 1), f"job {job.id} runs past its limit"
            if job.sub.array_limit:
                tasks[job.array_key] = tasks.get(job.array_key, 0) + 1
                assert tasks[job.array_key] <= job.sub.array_limit, "array throttle exceeded"

    # -- the end --------------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        """All obstacles removed and jobs ending one after the other, everything that can run does."""
        if self.broken:
            return
        self._remove_obstacles()
        controller, idle = self.controller, 0
        while controller.state.jobs and idle < IDLE_STEPS:
            wake = controller.wake_at()
            if self.boots:
                self.step(self.now + 1, [NodesBooted(self.boots.pop(0))])
            elif on := [job for _, _, job in controller.state.running if job.id in self.processes]:
                idle = 0
                self.step(self.now + 1, [JobEnded(on[0].id, "COMPLETED", "0:0", on[0].restarts)])
            elif controller.node_states.down:  # by power saving, whose boots were not answered in time
                self.step(self.now + 1, [NodesResume(tuple(self.names))])
            elif wake is None:
                break
            else:
                idle += 1
                self.step(wake, [])
        stuck = [job for job in controller.state.jobs.values() if not self.may_stay(job)]
        assert not stuck, f"never started: {[(job.id, job.state, job.reason) for job in stuck]}"
        approve(controller, self.ended, self.events, self.runs)
        self._replays()

    def _remove_obstacles(self) -> None:
        facts = [*self.waiting, NodesResume(tuple(self.names))]
        facts += [SetPartitionState(name, "UP") for name in sorted(self.model.partitions)]
        self.waiting = []
        self.step(self.now, facts)
        self.step(self.now, [Resume(job_id) for job_id in self.ids("SUSPENDED")])
        while self.boots:
            self.step(self.now + 1, [NodesBooted(self.boots.pop(0))])
        book = self.controller.state.reserved
        for patience in range(30, -1, -1):  # whoever runs in one or waits for one goes on when it is over
            if not book.all:
                break
            if not patience:  # it repeats, and is in use
                self.step(
                    self.now + 1, [Cancel(j.id) for j in self.controller.state.jobs.values() if j.reservation_name]
                )
            self.step(self.now + 1, [DeleteReservation(r.name) for r in book.all])
            until = self.now + 60
            self.wakes(until)
            self.now = until
        self.step(self.now, [Release(job_id) for job_id, job in self.model.jobs.items() if job.held])

    def may_stay(self, job: Any) -> bool:
        """Whether this job need not start however long one waits."""
        mates = [j for j in self.controller.state.jobs.values() if j.array_key == job.array_key and j is not job]
        if job.reason == "JobArrayTaskLimit":  # a task that can never start keeps its place among the active ones
            return any(self.cannot_start(mate) for mate in mates)
        turn = {record.job.id: at for at, record in enumerate(self.controller.state.queue.records())}
        ahead = [mate for mate in mates if turn.get(mate.id, len(turn)) < turn.get(job.id, -1)]
        if not self.controller.state.event_driven and any(self.cannot_start(mate) for mate in ahead):
            return True  # the main scheduler tries no task of an array of which it has just rejected one
        return self.cannot_start(job)

    def cannot_start(self, job: Any) -> bool:
        """Whether nothing can ever let this job start."""
        if job.reason in ("DependencyNeverSatisfied", "BadConstraints"):
            return True
        if job.reason == "Dependency" and any(other.ended < 0 for other in self.model.waits_for(job.sub)[1]):
            return True
        pairs = zip(job.partitions, job.requests, strict=True)
        possible = self.controller.state.selector.possible
        return not any(
            self.controller.partition_limits.limit_reason(job, p, r) is None and possible(r) for p, r in pairs
        )

    def _replays(self) -> None:
        """The facts told to a bare controller give the same actions."""
        other = self.setup_.controller(START)
        for now, facts, answers in self.log:
            assert [shown(action) for action in other.step(now, list(facts))] == answers, f"at {now}"
            other.state.events.clear()


_MOVES = ("START", "SUSPEND", "END", "REQUEUE", "RESIZE", "LIMIT")


def _expand(nodes: str) -> list[str]:
    from slurmsim.hostlist import expand

    return list(expand(nodes))


def _use(running: list[Any], stopped: list[Any], mask: Bitmap, tables: Any) -> dict[str, int]:
    """Nodes and CPUs of running jobs on the nodes of `mask`, memory and GPUs of the suspended ones, too."""
    busy = cpus = mem = gpus = 0
    for job in (*running, *stopped):
        a = job.alloc
        inside = (
            np.array([mask >> i & 1 for i in a.indices().tolist()], bool) if mask != -1 else np.ones(a.n_nodes, bool)
        )
        mem += int(np.broadcast_to(a.mem, a.n_nodes)[inside].sum())
        gpus += sum(int(np.broadcast_to(n, a.n_nodes)[inside].sum()) for k, n in a.gres if k in tables._gpu_kinds)
        if job.state == "RUNNING":
            busy |= a.mask & mask
            cpus += int(np.broadcast_to(a.cpus, a.n_nodes)[inside].sum())
    return {"nodes": busy.bit_count(), "cpus": cpus, "mem": mem, "gpus": gpus}


def shown(action: Action) -> str:
    """All an action says, as text: it holds jobs, which change later."""
    words = [type(action).__name__]
    for field in fields(action):
        value = getattr(action, field.name)
        if isinstance(value, str | tuple):
            words.append(str(value))
        elif isinstance(action, Refused):
            words.append(str(value.job_id))
        else:
            words.append(f"{value.id} {value.state} {value.reason} {value.nodes:x} {value.start_time} {value.restarts} "
                         f"{value.end_limit} {value.partition.name} {value.suspended_s}")  # fmt: skip
    return " ".join(words)
