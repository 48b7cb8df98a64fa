"""The bare controller under random facts at random times, watched by a naive model of what may happen.

The machine drives `Controller.step` by itself, without a simulation. The model knows the submissions, who is held,
which nodes are up, and what each fact does to a job's state; it decides nothing about schedules. After every step all
counts are recounted, and everything that started is checked against what the model knows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from random_worlds import (
    EVENT_DRIVEN,
    POLICIES,
    conf_lines,
    facts_of,
    meets_request,
    nodes_of,
    read_conf,
    recount,
    requests,
)

from slurmsim.core.controller import Controller
from slurmsim.core.messages import (
    Cancel,
    Fact,
    Finished,
    Hold,
    JobEnded,
    Kill,
    Launch,
    NodesDown,
    NodesDrain,
    NodesResume,
    Refused,
    Release,
    Requeue,
    SetPartitionState,
    SetTimeLimit,
    Submit,
)  # fmt: skip
from slurmsim.model.submission import Submission
from slurmsim.policy import load_policy
from slurmsim.states import FINAL_STATES

START = 1_000
REQUEUE_DELAY_S = 121
SCAN_S = 30
PARAMETERS = ("", "", "bf_interval=60,bf_resolution=30", "defer,batch_sched_delay=0", "default_queue_depth=1",
              "bf_max_job_test=3", "bf_window=10", "bf_max_job_user=2", "sched_max_job_start=1")  # fmt: skip
DELAYS = st.sampled_from((0, 1, 1, 2, 7, 29, 30, 31, 60, 61, 119, 300, 1200))


@dataclass
class Known:
    """What the model knows of one job."""

    sub: Submission
    submitted: int
    held: bool
    begin: int
    state: str = "PENDING"  # PENDING, RUNNING or the final one
    instance: int = 0
    nodes: tuple[int, ...] = ()
    started_once: bool = False
    ended: int = -1


@dataclass
class Model:
    """States of jobs, nodes and partitions as facts alone determine them."""

    up: set[int]
    partitions: dict[str, str]
    index: dict[str, int]
    jobs: dict[int, Known] = field(default_factory=dict)
    expected_end: dict[int, str] = field(default_factory=dict)

    def tell(self, now: int, fact: Fact) -> None:
        """Apply one fact; facts of one instant come in the controller's order."""
        if isinstance(fact, Submit):
            sub = fact.sub
            self.jobs[sub.job_id] = Known(sub, now, sub.hold, sub.begin or 0)
        elif isinstance(fact, SetPartitionState):
            self.partitions[fact.partition] = fact.state
        elif isinstance(fact, NodesDown | NodesDrain | NodesResume):
            self._nodes(now, fact)
        else:
            job = self.jobs.get(fact.job_id)
            if job is not None and job.state in ("PENDING", "RUNNING"):
                self._job(now, fact, job)

    def waits_for(self, sub: Submission) -> tuple[str, list[Known]]:
        """Kind of its dependency, and the job or the array's tasks it names."""
        kind, _, target = sub.dependency.partition(":")
        others = [job for job in self.jobs.values() if target and int(target) in (job.sub.job_id, job.sub.array_job_id)]
        return kind, others

    def _nodes(self, now: int, fact: NodesDown | NodesDrain | NodesResume) -> None:
        which = {self.index[name] for name in fact.nodes}
        self.up = self.up | which if isinstance(fact, NodesResume) else self.up - which
        if isinstance(fact, NodesDown):
            for job in self.jobs.values():
                if job.state == "RUNNING" and which & set(job.nodes):
                    if job.sub.requeue:
                        self._requeue(now, job)
                    else:
                        self._end(now, job, "NODE_FAIL")

    def _job(self, now: int, fact: Fact, job: Known) -> None:
        if isinstance(fact, JobEnded):
            if job.state == "RUNNING" and job.instance == fact.restarts:
                self._end(now, job, fact.state)
        elif isinstance(fact, Cancel):
            self._end(now, job, "CANCELLED")
        elif isinstance(fact, Requeue) and job.state == "RUNNING":
            self._requeue(now, job)
        elif isinstance(fact, Hold) and job.state == "PENDING":
            job.held = True
        elif isinstance(fact, Release):
            job.held = False

    def _end(self, now: int, job: Known, state: str) -> None:
        job.state, job.ended, job.nodes = state, now, ()
        self.expected_end[job.sub.job_id] = state

    def _requeue(self, now: int, job: Known) -> None:
        job.state, job.nodes, job.begin = "PENDING", (), now + REQUEUE_DELAY_S
        job.instance += 1


class ControllerMachine(RuleBasedStateMachine):
    """Random facts against one controller."""

    broken = True

    @initialize(lines=conf_lines(parameters=PARAMETERS), policy=st.sampled_from(POLICIES))
    def boot(self, lines: list[str], policy: str) -> None:
        self.policy = policy
        self.broken = False
        cluster = read_conf(lines)
        self.facts = facts_of(cluster)
        self.controller = Controller(cluster, load_policy(policy)(), START)
        self.names = [n.name for n in cluster.nodes]
        self.model = Model(set(range(len(self.names))), {p.name: "UP" for p in cluster.partitions}, self.facts.index)
        self.max_time = {p.name: p.max_time_s for p in cluster.partitions}
        self.now = START
        self.next_id = 1
        self.waiting: list[Fact] = []

    # -- driving --------------------------------------------------------------------------------------------------

    def step(self, now: int, facts: list[Fact]) -> None:
        """One step of the controller and of the model; then everything the actions say is checked."""
        note(f"at {now}: {facts}")
        self.now = now
        self.broken = True
        model = self.model
        for fact in sorted(facts, key=lambda f: f.order):
            model.tell(now, fact)
        expected, model.expected_end = model.expected_end, {}
        controller = self.controller
        before = {job.id for _, _, job in controller.running}
        for action in controller.step(now, facts):
            if isinstance(action, Refused):
                del model.jobs[action.sub.job_id]
            elif isinstance(action, Launch):
                self._launched(now, action.job)
            elif isinstance(action, Finished):
                self._finished(now, action.job, expected)
            elif isinstance(action, Kill):
                assert action.job.id in before, "killed a job that was not running"
        assert not expected, f"should have ended: {expected}"
        wake = controller.wake_at()
        assert wake is None or wake > now, f"asks at {now} to be woken at {wake}"
        self.broken = False

    def _launched(self, now: int, job: Any) -> None:
        known = self.model.jobs[job.id]
        assert known.state == "PENDING", f"job {job.id} started while {known.state}"
        assert not known.held, f"job {job.id} started while held"
        assert job.start_time == now >= max(known.submitted, known.begin), f"job {job.id} started too early"
        assert job.eligible_time is not None and job.eligible_time <= now
        assert self.model.partitions[job.partition.name] in ("UP", "DRAIN")
        assert job.restarts == known.instance
        held = nodes_of(job.alloc.mask)
        assert set(held) <= self.model.up, f"job {job.id} started on a node that is not up"
        assert held == nodes_of(job.nodes)
        meets_request(self.facts, job)
        limit, most = job.time_limit_s, self.max_time[job.partition.name]
        assert most is None or limit <= most, f"job {job.id} started beyond MaxTime"
        self._dependency_allows(known)
        known.state, known.nodes, known.started_once = "RUNNING", tuple(held), True

    def _dependency_allows(self, known: Known) -> None:
        kind, others = self.model.waits_for(known.sub)
        if kind == "after":
            assert all(other.started_once or other.ended >= 0 for other in others)
        elif others:
            assert all(other.ended >= 0 for other in others), f"started before {known.sub.dependency} was met"
            if kind in ("afterok", "afternotok") and all(other.ended >= known.submitted for other in others):
                good = all(other.state == "COMPLETED" for other in others)
                assert good == (kind == "afterok"), f"started although {known.sub.dependency} failed"

    def _finished(self, now: int, job: Any, expected: dict[int, str]) -> None:
        known = self.model.jobs[job.id]
        assert job.state in FINAL_STATES
        assert job.end_time == now and (job.start_time is None or job.start_time <= now)
        if job.id in expected:
            assert job.state == expected.pop(job.id)
            return
        assert known.state == "RUNNING", f"job {job.id} ended twice, or without a reason: {known.state}"
        assert job.state == "TIMEOUT" and now >= job.start_time + job.time_limit_s
        known.state, known.ended, known.nodes = "TIMEOUT", now, ()

    def _send(self, fact: Fact, together: bool) -> None:
        """Tell `fact` now, or together with what comes next."""
        self.waiting.append(fact)
        if not together:
            facts, self.waiting = self.waiting, []
            self.step(self.now, facts)

    def _wakes(self, until: int) -> None:
        while (wake := self.controller.wake_at()) is not None and wake <= until:
            self.step(wake, [])

    # -- rules ----------------------------------------------------------------------------------------------------

    def _ids(self, *states: str) -> list[int]:
        return [i for i, job in self.model.jobs.items() if job.state in states]

    @rule(data=st.data(), together=st.booleans())
    def submit(self, data: st.DataObject, together: bool) -> None:
        draw = data.draw
        request = draw(requests(len(self.names)))
        tasks = draw(st.sampled_from((0, 0, 0, 2, 4)))
        common: dict[str, Any] = {
            "time_limit_s": draw(st.sampled_from((None, 1, 30, 60, 90, 300, 1200, 1201, 7200))),
            "user": draw(st.sampled_from("uv")), "name": draw(st.sampled_from("mn")),
            "nice": draw(st.sampled_from((0, 0, 5))), "requeue": draw(st.booleans()),
            "hold": draw(st.sampled_from((False, False, False, True))),
        }  # fmt: skip
        names = sorted(self.model.partitions)
        common["partitions"] = tuple(draw(st.sampled_from(((), (names[-1],), tuple(names), tuple(names[::-1])))))
        if draw(st.sampled_from((False, False, True))):
            common["begin"] = self.now + draw(st.integers(-5, 200))
        if self.model.jobs and draw(st.sampled_from((False, False, True))):
            kind = draw(st.sampled_from(("after", "afterany", "afterok", "afternotok")))
            common["dependency"] = f"{kind}:{draw(st.sampled_from(sorted(self.model.jobs)))}"
        if tasks:
            throttle = draw(st.sampled_from((None, 1, 2)))
            for k in range(tasks):
                self.waiting.append(Submit(Submission(
                    self.next_id + k, request, array_job_id=self.next_id, array_task_id=k, array_limit=throttle,
                    **common)))  # fmt: skip
            self.next_id += tasks - 1
            last = self.waiting.pop()
        else:
            last = Submit(Submission(self.next_id, request, **common))
        self.next_id += 1
        self._send(last, together)

    @rule(data=st.data(), together=st.booleans())
    @precondition(lambda self: self._ids("RUNNING"))
    def end(self, data: st.DataObject, together: bool) -> None:
        job_id = data.draw(st.sampled_from(self._ids("RUNNING")))
        state = data.draw(st.sampled_from(("COMPLETED", "COMPLETED", "FAILED", "OUT_OF_MEMORY")))
        old = data.draw(st.sampled_from((0, 0, 0, 1)))  # news of an earlier instance change nothing
        known = self.model.jobs[job_id]
        self._send(JobEnded(job_id, state, "0:0", known.instance - old), together)

    @rule(data=st.data(), together=st.booleans(), kind=st.sampled_from((Cancel, Requeue, Hold, Release)))
    @precondition(lambda self: self.model.jobs)
    def one_job(self, data: st.DataObject, together: bool, kind: Any) -> None:
        """scancel, or scontrol requeue, hold, release, of any job in any state, ended ones included."""
        live = self._ids("PENDING", "RUNNING")
        wanted = self._ids("RUNNING") if kind is Requeue else live
        job_id = data.draw(st.sampled_from(wanted or sorted(self.model.jobs)))
        self._send(kind(job_id), together)

    @rule(data=st.data(), together=st.booleans(), seconds=st.sampled_from((60, 120, 600, 86400)))
    @precondition(lambda self: self._ids("PENDING", "RUNNING"))
    def limit(self, data: st.DataObject, together: bool, seconds: int) -> None:
        job_id = data.draw(st.sampled_from(self._ids("PENDING", "RUNNING")))
        self._send(SetTimeLimit(job_id, seconds), together)

    @rule(data=st.data(), together=st.booleans(), kind=st.sampled_from((NodesDown, NodesDrain, NodesResume)))
    def nodes(self, data: st.DataObject, together: bool, kind: Any) -> None:
        some = data.draw(st.lists(st.sampled_from(self.names), min_size=1, max_size=3, unique=True))
        self._send(kind(tuple(some)), together)

    @rule(data=st.data(), state=st.sampled_from(("UP", "UP", "DOWN", "DRAIN", "INACTIVE")))
    def partition(self, data: st.DataObject, state: str) -> None:
        self._send(SetPartitionState(data.draw(st.sampled_from(sorted(self.model.partitions))), state), False)

    @rule(delay=DELAYS)
    def advance(self, delay: int) -> None:
        facts, self.waiting = self.waiting, []
        until = self.now + delay
        if facts:
            self.step(self.now, facts)
        self._wakes(until)
        self.now = until

    # -- invariants -----------------------------------------------------------------------------------------------

    @invariant()
    def counts_equal_a_recount(self) -> None:
        controller = self.controller
        self.broken = True
        controller.check()
        running = [job for _, _, job in controller.running]
        recount(self.facts, running)
        assert sorted(job.id for job in running) == self._ids("RUNNING")
        waiting = {fact.sub.job_id for fact in self.waiting if isinstance(fact, Submit)}
        assert sorted(controller.jobs) == [i for i in self._ids("PENDING", "RUNNING") if i not in waiting]
        queued = {record.job.id for pool in controller.queue.pools for record in pool.records}
        assert queued == set(controller.queue.jobs) == {j.id for j in controller.jobs.values() if j.queued}
        assert not any(self.model.jobs[i].held or self.model.jobs[i].state != "PENDING" for i in queued)
        tables = controller.usage
        for total, mask in [(tables.whole, -1), *((t, t.mask) for t in tables.parts)]:
            busy = 0
            for job in running:
                busy |= job.alloc.mask & mask
            assert total.nodes == busy.bit_count()
        self.broken = False

    @invariant()
    def limits_hold(self) -> None:
        controller = self.controller
        slack = 0 if EVENT_DRIVEN[self.policy] else SCAN_S
        tasks: dict[int, int] = {}
        for _, _, job in controller.running:
            assert job.end_limit == job.start_time + job.time_limit_s
            assert controller.now < job.end_limit + max(slack, 1), f"job {job.id} runs past its limit"
            if job.sub.array_limit:
                tasks[job.array_key] = tasks.get(job.array_key, 0) + 1
                assert tasks[job.array_key] <= job.sub.array_limit, "array throttle exceeded"

    # -- the end --------------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        """All obstacles removed and jobs ending one after the other, everything that can run does."""
        if self.broken:
            return
        controller = self.controller
        facts = [*self.waiting, NodesResume(tuple(self.names))]
        facts += [SetPartitionState(name, "UP") for name in sorted(self.model.partitions)]
        self.waiting = []
        self.step(self.now, facts)
        self.step(self.now, [Release(job_id) for job_id, job in self.model.jobs.items() if job.held])
        idle = 0
        while controller.jobs and idle < 40:
            wake = controller.wake_at()
            if controller.running:
                job, idle = controller.running[0][2], 0
                self.step(self.now + 1, [JobEnded(job.id, "COMPLETED", "0:0", job.restarts)])
            elif wake is None:
                break
            else:
                idle += 1
                self.step(wake, [])
        self.counts_equal_a_recount()
        stuck = [job for job in controller.jobs.values() if not self._may_stay(job)]
        assert not stuck, f"never started: {[(job.id, job.reason) for job in stuck]}"

    def _may_stay(self, job: Any) -> bool:
        """Whether this job need not start however long one waits."""
        mates = [j for j in self.controller.jobs.values() if j.array_key == job.array_key and j is not job]
        if job.reason == "JobArrayTaskLimit":  # a task that can never start keeps its place among the active ones
            return any(self._cannot_start(mate) for mate in mates)
        if not EVENT_DRIVEN[self.policy] and any(mate.id < job.id and self._cannot_start(mate) for mate in mates):
            return True  # the main scheduler tries no task of an array of which it has just rejected one
        return self._cannot_start(job)

    def _cannot_start(self, job: Any) -> bool:
        if job.reason in ("DependencyNeverSatisfied", "BadConstraints"):
            return True
        if job.reason == "Dependency" and any(other.ended < 0 for other in self.model.waits_for(job.sub)[1]):
            return True
        pairs = zip(job.partitions, job.shapes, strict=True)
        possible = self.controller.selector.possible
        return not any(self.controller.limit_reason(job, p, s) is None and possible(s) for p, s in pairs)


TestController = ControllerMachine.TestCase
TestController.settings = settings(stateful_step_count=40)
