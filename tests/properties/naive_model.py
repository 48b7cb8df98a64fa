"""A naive model of jobs, nodes and partitions: what facts alone say of them, and which changes may come unasked.

It decides nothing about schedules. `foretell` works out what the facts of one instant do to each job; `happened` takes
what the controller says has happened, in its order, and fails where that is impossible, unforetold or left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wide_worlds import HOLD_EXIT, REQUEUE_EXIT

from slurmsim.core.records.messages import (
    ORDER,
    Cancel,
    Fact,
    Hold,
    JobEnded,
    LaunchFailed,
    NodesDown,
    NodesDrain,
    NodesFail,
    NodesReboot,
    NodesRegister,
    NodesResume,
    NodesUndrain,
    Release,
    Requeue,
    RequeueHold,
    ResizeJob,
    Resume,
    SetPartitionState,
    Submit,
    Suspend,
)  # fmt: skip
from slurmsim.model.submission import Submission
from slurmsim.states import FINAL_STATES

REQUEUE_DELAY_S = 121

LIVE = ("PENDING", "RUNNING", "SUSPENDED")
Change = tuple[str, str]  # ("END", final state) or ("REQUEUE", state of the run that ended)


@dataclass
class Known:
    """What the model knows of one job."""

    sub: Submission
    submitted: int
    held: bool
    begin: int
    state: str = "PENDING"  # PENDING, RUNNING, SUSPENDED or the final one
    instance: int = 0
    nodes: frozenset[int] = frozenset()
    started_once: bool = False
    was_held: bool = False  # meanwhile slurmctld may forget the jobs it depends on, without looking at them
    marked: bool = False  # held while it runs: it will be held once it is requeued
    special: bool = False  # it was once in SPECIAL_EXIT, which is as good as failed to whoever waits for that
    ended: int = -1

    @property
    def holds(self) -> bool:
        """Whether it has nodes."""
        return self.state in ("RUNNING", "SUSPENDED")


@dataclass
class Allowed:
    """What may happen to jobs without any fact, by configuration."""

    preemption: bool = False
    gang: bool = False
    power: bool = False
    by_exit: bool = False  # RequeueExit and RequeueExitHold are set
    limits: bool = False  # jobs may be ended that have used up their limits


@dataclass
class Nodes:
    """Which nodes take jobs, as facts alone determine it; reboots and power saving may close more."""

    returns: int = 0  # ReturnToService
    down: set[int] = field(default_factory=set)
    silent: set[int] = field(default_factory=set)
    rebooted: set[int] = field(default_factory=set)  # ASAP: when that ends their DRAIN is not known here
    closed: dict[str, set[int]] = field(default_factory=lambda: {"DRAIN": set(), "FAIL": set()})

    def usable(self, node: int) -> bool:
        return node not in self.down and not any(node in those for those in self.closed.values())

    def tell(self, fact: Fact, which: set[int]) -> None:
        """Apply a fact about the nodes `which`."""
        if isinstance(fact, NodesDown):
            self.down |= which
            if fact.reason == "Not responding":
                self.silent |= which
            else:
                self.silent -= which
                if self.returns == 2:  # they answer, which brings them back at once
                    self.down -= which
        elif isinstance(fact, NodesDrain):
            self.closed["DRAIN"] |= which - self.rebooted
        elif isinstance(fact, NodesFail):
            self.closed["FAIL"] |= which
        elif isinstance(fact, NodesReboot) and fact.asap:
            self.rebooted |= which
            self.closed["DRAIN"] -= which
        elif isinstance(fact, NodesUndrain | NodesResume):
            self.closed["DRAIN"] -= which
            if isinstance(fact, NodesResume):
                self.closed["FAIL"] -= which
                self.down -= which
                self.silent -= which
                self.rebooted -= which
        elif isinstance(fact, NodesRegister):
            self.down -= (set(), which & self.silent, which)[self.returns]
            self.silent -= which


@dataclass
class Model:
    """States of jobs, nodes and partitions as facts alone determine them."""

    partitions: dict[str, str]
    index: dict[str, int]
    allowed: Allowed
    nodes: Nodes
    jobs: dict[int, Known] = field(default_factory=dict)
    now: int = 0
    # of this instant: what facts do to jobs, in order; whose nodes or limit were edited; who must be gone at the end
    foretold: dict[int, list[Change]] = field(default_factory=dict)
    asked: dict[int, set[type]] = field(default_factory=dict)

    def waits_for(self, sub: Submission) -> tuple[str, list[Known]]:
        """Kind of its dependency, and the job or the array's tasks it names."""
        kind, _, target = sub.dependency.partition(":")
        others = [job for job in self.jobs.values() if target and int(target) in (job.sub.job_id, job.sub.array_job_id)]
        return kind, others

    # -- facts ----------------------------------------------------------------------------------------------------

    def foretell(self, now: int, facts: Sequence[Fact]) -> None:
        """Apply the facts of one instant, in the controller's order."""
        self.now, self.foretold, self.asked = now, {}, {}
        sketch: dict[int, Known] = {}
        for fact in sorted(facts, key=lambda f: ORDER[type(f)]):
            if isinstance(fact, Submit):
                sub = fact.sub
                self.jobs[sub.job_id] = Known(sub, now, sub.hold, sub.begin or 0, was_held=sub.hold)
            elif isinstance(fact, SetPartitionState):
                self.partitions[fact.partition] = fact.state
            elif names := getattr(fact, "nodes", ()):
                which = {self.index[name] for name in names if name in self.index}
                self.nodes.tell(fact, which)
                if isinstance(fact, NodesDown):
                    self._lost(sketch, which)
            elif (job := self.jobs.get(getattr(fact, "job_id", -1))) is not None:
                job = sketch.setdefault(job.sub.job_id, replace(job))
                self.asked.setdefault(job.sub.job_id, set()).add(type(fact))
                if isinstance(fact, Hold) and job.holds:
                    self.jobs[job.sub.job_id].marked = True
                if job.state in LIVE:
                    self._one(fact, job)

    def _one(self, fact: Fact, job: Known) -> None:
        """A fact about a job that has not ended."""
        if isinstance(fact, JobEnded):
            if job.holds and job.instance == fact.restarts:
                code = int(fact.exit_code.partition(":")[0])
                again = self.allowed.by_exit and fact.state == "FAILED" and code in (REQUEUE_EXIT, HOLD_EXIT)
                self._change(job, "REQUEUE" if again else "END", fact.state)
                job.held = job.held or (again and code == HOLD_EXIT)
        elif isinstance(fact, LaunchFailed):
            if job.holds and job.instance == fact.restarts:
                self._change(job, "REQUEUE", "REQUEUED")
        elif isinstance(fact, Cancel):
            self._change(job, "END", "CANCELLED")
        elif isinstance(fact, Requeue | RequeueHold) and job.holds and job.sub.requeue:
            self._change(job, "REQUEUE", "REQUEUED")
        elif isinstance(fact, ResizeJob) and job.state == "RUNNING" and 1 <= fact.n_nodes < len(job.nodes):
            job.nodes = frozenset(sorted(job.nodes)[: fact.n_nodes])

    def _lost(self, sketch: dict[int, Known], which: set[int]) -> None:
        """Nodes are gone, and with them their jobs."""
        for job_id, known in self.jobs.items():
            job = sketch.get(job_id, known)
            if not (job.holds and job.nodes & which):
                continue
            job = sketch.setdefault(job_id, replace(job))
            self.asked.setdefault(job_id, set()).add(NodesDown)
            if job.sub.no_kill and job.nodes - which and job.state == "RUNNING":
                job.nodes -= which
            else:
                self._change(job, "REQUEUE" if job.sub.requeue else "END", "NODE_FAIL")

    def _change(self, job: Known, kind: str, state: str) -> None:
        self.foretold.setdefault(job.sub.job_id, []).append((kind, state))
        job.nodes = frozenset()
        job.state = state if kind == "END" else "PENDING"
        job.instance += kind == "REQUEUE"

    # -- what the controller says -----------------------------------------------------------------------------------

    def happened(self, changes: Sequence[tuple[int, Change, Any]]) -> None:
        """Ends and requeues of this instant, each with the controller's record as it was then, in their order."""
        per_job: dict[int, list[Change]] = {}
        for job_id, change, job in changes:
            done = per_job.setdefault(job_id, [])
            expected = self.foretold.get(job_id, [])
            if len(done) >= len(expected) or change != expected[len(done)]:
                assert self._by_itself(self.jobs[job_id], change, job), f"job {job_id}: {change} out of {expected}"
            done.append(change)
        for job_id, expected in self.foretold.items():
            done = per_job.get(job_id, [])
            if done[: len(expected)] == expected:
                continue
            # only a preemption may have come before the facts, which then found another job than they would have
            assert self.allowed.gang and any("PREEMPTED" in change for change in done), f"{job_id}: {expected}, {done}"

    def _by_itself(self, known: Known, change: Change, job: Any) -> bool:
        """Whether that may happen to a job though no fact says so."""
        kind, state = change
        if state == "PREEMPTED":
            return (self.allowed.preemption or self.allowed.gang) and known.holds
        if state == "NODE_FAIL":
            return self.allowed.power and known.holds
        if kind == "END" and state == "DEADLINE":
            return known.state == "PENDING" and known.sub.deadline is not None
        if kind == "END" and state == "TIMEOUT":
            lasted = self.now - job.start_time - job.suspended_s
            over = lasted >= job.time_limit_s or job.preempt_time is not None
            return known.holds and (over or bool(job.reservation_name) or self.allowed.limits)
        if kind == "END" and state == "CANCELLED":  # the facts met a job that had been requeued in between
            return Cancel in self.asked.get(known.sub.job_id, ())
        return False

    def settle(self, job_id: int, kind: str, state: str, held: bool) -> None:
        """Adopt what happened to a job: START, SUSPEND, RESUME, END, REQUEUE, HOLD or RELEASE."""
        job = self.jobs[job_id]
        before = {
            "START": ("PENDING",), "SUSPEND": ("RUNNING",), "RESUME": ("SUSPENDED",), "END": LIVE,
            "REQUEUE": ("RUNNING", "SUSPENDED"), "HOLD": ("PENDING",), "RELEASE": LIVE if job.marked else ("PENDING",),
        }[kind]  # fmt: skip
        assert job.state in before, f"job {job_id}: {kind} while {job.state}"
        if kind == "START":
            job.state, job.started_once = "RUNNING", True
        elif kind in ("SUSPEND", "RESUME"):
            wanted = Suspend if kind == "SUSPEND" else Resume
            assert self.allowed.gang or wanted in self.asked.get(job_id, ()), f"job {job_id}: {kind} without a reason"
            job.state = "SUSPENDED" if kind == "SUSPEND" else "RUNNING"
        elif kind == "END":
            assert state in FINAL_STATES
            job.state, job.ended, job.nodes = state, self.now, frozenset()
        elif kind == "REQUEUE":
            job.state, job.nodes, job.begin = "PENDING", frozenset(), self.now + REQUEUE_DELAY_S
            job.instance += 1
        elif kind == "HOLD":
            reasons = {Hold, RequeueHold, JobEnded, LaunchFailed}
            deleted = held and bool(job.sub.reservation)
            wanted = deleted or job.marked or reasons & self.asked.get(job_id, set())
            assert wanted, f"job {job_id} is held without a reason"
            job.held = job.was_held = True
            job.marked = False
        else:
            assert Release in self.asked.get(job_id, ())
            job.held = job.marked = False
