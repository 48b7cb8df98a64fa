"""The bare controller under random facts at random times: the usual ones on plain clusters, all of them on any."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from controller_machine import ControllerMachine
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from limits_judge import Judge
from random_worlds import POLICIES, conf_lines, requests
from wide_worlds import HOLD_EXIT, REQUEUE_EXIT, Setup, reservations, setups, users_of, wide_requests

from slurmsim.core.records.messages import (
    Cancel,
    CreateReservation,
    DeleteReservation,
    Hold,
    JobEnded,
    LaunchFailed,
    Maintain,
    NodesBooted,
    NodesDown,
    NodesDrain,
    NodesFail,
    NodesPower,
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
    SetTimeLimit,
    Submit,
    Suspend,
    UpdateReservation,
)  # fmt: skip
from slurmsim.model.request import ResourceRequest
from slurmsim.model.submission import Submission

PARAMETERS = ("", "", "bf_interval=60,bf_resolution=30", "defer,batch_sched_delay=0", "default_queue_depth=1",
              "bf_max_job_test=3", "bf_window=10", "bf_max_job_user=2", "sched_max_job_start=1")  # fmt: skip
DELAYS = st.sampled_from((0, 1, 1, 2, 7, 29, 30, 31, 60, 61, 119, 300, 1200))
LIMITS = st.sampled_from((None, 1, 30, 60, 90, 300, 1200, 1201, 7200))
EDITS = st.sampled_from(("delete", "longer", "sooner", "count", "nodes"))
RARELY = st.sampled_from((False, False, False, True))


class UsualFacts(ControllerMachine):
    """Submissions, ends, cancels, requeues, holds, new limits; nodes and partitions that come and go."""

    @initialize(lines=conf_lines(parameters=PARAMETERS), policy=st.sampled_from(POLICIES))
    def boot(self, lines: list[str], policy: str) -> None:
        self.begin(Setup(lines, [], None, policy))

    def request(self, data: st.DataObject) -> ResourceRequest:
        return data.draw(requests(len(self.names)))

    def more(self, data: st.DataObject) -> dict[str, Any]:
        """What else a submission says."""
        return {"user": data.draw(st.sampled_from("uv"))}

    @rule(data=st.data(), together=st.booleans())
    def submit(self, data: st.DataObject, together: bool) -> None:
        draw = data.draw
        sub = Submission(
            self.next_id, self.request(data), time_limit_s=draw(LIMITS), name=draw(st.sampled_from("mn")),
            nice=draw(st.sampled_from((0, 0, 5))), requeue=draw(st.booleans()), hold=draw(RARELY), **self.more(data),
        )  # fmt: skip
        names = sorted(self.model.partitions)
        sub.partitions = tuple(draw(st.sampled_from(((), (names[-1],), tuple(names), tuple(names[::-1])))))
        if draw(RARELY):
            sub.begin = self.now + draw(st.integers(-5, 200))
        if self.model.jobs and draw(RARELY):
            kind = draw(st.sampled_from(("after", "afterany", "afterok", "afternotok")))
            sub.dependency = f"{kind}:{draw(st.sampled_from(sorted(self.model.jobs)))}"
        tasks = draw(st.sampled_from((0, 0, 0, 2, 4)))
        if tasks:
            sub = replace(
                sub, array_job_id=self.next_id, array_task_id=0, array_limit=draw(st.sampled_from((None, 1, 2)))
            )
            self.waiting += [Submit(replace(sub, job_id=self.next_id + k, array_task_id=k)) for k in range(tasks - 1)]
            sub = replace(sub, job_id=self.next_id + tasks - 1, array_task_id=tasks - 1)
        self.next_id = sub.job_id + 1
        self.send(Submit(sub), together)

    @rule(data=st.data(), together=st.booleans())
    @precondition(lambda self: self.ids("RUNNING"))
    def end(self, data: st.DataObject, together: bool) -> None:
        job_id = data.draw(st.sampled_from(self.ids("RUNNING")))
        state = data.draw(st.sampled_from(("COMPLETED", "COMPLETED", "FAILED", "OUT_OF_MEMORY")))
        code = data.draw(st.sampled_from((1, 1, REQUEUE_EXIT, HOLD_EXIT))) if state == "FAILED" else 0
        old = data.draw(st.sampled_from((0, 0, 0, 1)))  # news of an earlier instance change nothing
        known = self.model.jobs[job_id]
        if job_id in self.processes or old:
            self.send(JobEnded(job_id, state, f"{code}:0", known.instance - old), together)

    @rule(data=st.data(), together=st.booleans(), kind=st.sampled_from((Cancel, Requeue, Hold, Release)))
    @precondition(lambda self: self.model.jobs)
    def one_job(self, data: st.DataObject, together: bool, kind: Any) -> None:
        """scancel, or scontrol requeue, hold, release, of any job in any state, ended ones included."""
        live = self.ids("PENDING", "RUNNING", "SUSPENDED")
        wanted = self.ids("RUNNING", "SUSPENDED") if kind is Requeue else live
        self.send(kind(data.draw(st.sampled_from(wanted or sorted(self.model.jobs)))), together)

    @rule(data=st.data(), together=st.booleans(), seconds=st.sampled_from((60, 120, 600, 86400)))
    @precondition(lambda self: self.ids("PENDING", "RUNNING", "SUSPENDED"))
    def limit(self, data: st.DataObject, together: bool, seconds: int) -> None:
        job_id = data.draw(st.sampled_from(self.ids("PENDING", "RUNNING", "SUSPENDED")))
        self.send(SetTimeLimit(job_id, seconds), together)

    @rule(data=st.data(), together=st.booleans(), kind=st.sampled_from((NodesDown, NodesDrain, NodesResume)))
    def nodes(self, data: st.DataObject, together: bool, kind: Any) -> None:
        self.send(kind(self.some_nodes(data)), together)

    def some_nodes(self, data: st.DataObject) -> tuple[str, ...]:
        return tuple(data.draw(st.lists(st.sampled_from(self.names), min_size=1, max_size=3, unique=True)))

    @rule(data=st.data(), state=st.sampled_from(("UP", "UP", "DOWN", "DRAIN", "INACTIVE")))
    def partition(self, data: st.DataObject, state: str) -> None:
        self.send(SetPartitionState(data.draw(st.sampled_from(sorted(self.model.partitions))), state), False)

    @rule(delay=DELAYS)
    def advance(self, delay: int) -> None:
        facts, self.waiting = self.waiting, []
        until = self.now + delay
        if facts:
            self.step(self.now, facts)
        self.wakes(until)
        self.now = until


class AllFacts(UsualFacts):
    """All facts there are, on clusters with all rules there are."""

    @initialize(setup=setups())
    def boot(self, setup: Setup) -> None:
        self.begin(setup)
        self.users = users_of(setup)
        self.judge = None
        if setup.accounting is not None and self.controller.accounting.limits is not None:
            decays = self.controller.state.spec.option("PriorityType") == "priority/multifactor"
            self.judge = Judge(setup.accounting, decays=decays)

    def request(self, data: st.DataObject) -> ResourceRequest:
        return data.draw(wide_requests(len(self.names)))

    def more(self, data: st.DataObject) -> dict[str, Any]:
        draw = data.draw
        found: dict[str, Any] = {"user": draw(st.sampled_from(self.users)), "no_kill": draw(RARELY)}
        if self.setup_.accounting is not None:
            found["qos"] = draw(st.sampled_from(("", "normal", "q1", "q2")))
        if draw(RARELY):
            found["licenses"] = draw(st.sampled_from(("a:2", "a:1,b", "b")))
        if draw(RARELY):
            found["time_min_s"] = 60
        if draw(RARELY):
            found["deadline"] = self.now + draw(st.sampled_from((100, 400, 2000)))
        known = [r.name for r in self.controller.state.reserved.all]
        if known and draw(st.booleans()):
            found["reservation"] = draw(st.sampled_from((known[0], known[-1], ",".join(known))))
        return found

    @rule(data=st.data(), together=st.booleans(), kind=st.sampled_from((Suspend, Resume, RequeueHold)))
    @precondition(lambda self: self.ids("RUNNING", "SUSPENDED"))
    def busy_job(self, data: st.DataObject, together: bool, kind: Any) -> None:
        states = {Suspend: ("RUNNING",), Resume: ("SUSPENDED",)}.get(kind, ("RUNNING", "SUSPENDED"))
        job_id = data.draw(st.sampled_from(self.ids(*states) or self.ids("RUNNING", "SUSPENDED")))
        special = kind is RequeueHold and data.draw(st.booleans())
        self.send(RequeueHold(job_id, special) if special else kind(job_id), together)

    @rule(data=st.data(), together=st.booleans(), resize=st.booleans())
    @precondition(lambda self: self.ids("RUNNING"))
    def change(self, data: st.DataObject, together: bool, resize: bool) -> None:
        """A job gives nodes back, or could not be launched."""
        wide = [i for i in self.ids("RUNNING") if len(self.model.jobs[i].nodes) > 1]
        if resize and wide:
            job_id = data.draw(st.sampled_from(wide))
            self.send(ResizeJob(job_id, data.draw(st.integers(1, len(self.model.jobs[job_id].nodes)))), together)
        else:
            job_id = data.draw(st.sampled_from(self.ids("RUNNING")))
            self.send(LaunchFailed(job_id, self.model.jobs[job_id].instance), together)

    @rule(
        data=st.data(), together=st.booleans(),
        kind=st.sampled_from((NodesDown, NodesFail, NodesResume, NodesUndrain, NodesRegister, NodesReboot, NodesPower)),
    )  # fmt: skip
    def node_states(self, data: st.DataObject, together: bool, kind: Any) -> None:
        some = self.some_nodes(data)
        if kind is NodesPower:
            self.send(NodesPower(some, data.draw(st.booleans())), together)
        elif kind is NodesReboot:
            self.send(NodesReboot(some, data.draw(st.booleans())), together)
        elif kind is NodesDown:
            self.send(NodesDown(some, "broken"), together)
        else:
            self.send(kind(some), together)

    @rule(data=st.data(), together=st.booleans())
    @precondition(lambda self: self.boots)
    def booted(self, data: st.DataObject, together: bool) -> None:
        which = data.draw(st.integers(0, len(self.boots) - 1))
        self.send(NodesBooted(self.boots.pop(which)), together)

    @rule(data=st.data(), together=st.booleans(), maintain=RARELY)
    def reserve(self, data: st.DataObject, together: bool, maintain: bool) -> None:
        draw = data.draw
        if maintain:
            begin = self.now + draw(st.sampled_from((0, 60, 200)))
            self.send(Maintain(self.some_nodes(data), begin, begin + 300), together)
            return
        name = draw(st.sampled_from(("r0", "r1", "r2")))
        spec = draw(reservations(name, self.now, self.names, self.users, not self.controller.state.event_driven))
        self.send(CreateReservation(spec), together)

    @rule(
        data=st.data(), together=st.booleans(), kind=st.sampled_from(("delete", "longer", "sooner", "count", "nodes"))
    )
    @precondition(lambda self: self.controller.state.reserved.all)
    def edit_reservation(self, data: st.DataObject, together: bool, kind: str) -> None:
        name = data.draw(st.sampled_from([r.name for r in self.controller.state.reserved.all]))
        if kind == "delete":
            self.send(DeleteReservation(name), together)
            return
        more: dict[str, Any] = {
            "longer": {"duration_s": 600}, "sooner": {"start": self.now}, "nodes": {"nodes": tuple(self.names[:2])},
            "count": {"node_count": data.draw(st.integers(1, len(self.names)))},
        }[kind]  # fmt: skip
        self.send(UpdateReservation(name, **more), together)

    # -- what is checked beyond the usual --------------------------------------------------------------------------

    def started(self, job: Any, later: set[int]) -> None:
        """No limit is broken by a start."""
        if self.judge is not None and job.branch is not None:
            c = self.controller
            holders = [entry[2] for entry in (*c.state.running, *c.state.suspended) if entry[1] not in later]
            assert self.judge.broken(job, holders) == [], f"job {job.id}"

    def cannot_start(self, job: Any) -> bool:
        c = self.controller
        if super().cannot_start(job) or job.deadline is not None:
            return True
        if c.accounting.limits is not None and c.accounting.limits.stop:
            return True  # whom no limit will ever let start blocks the others
        if self.judge is None:
            return False
        for partition, request in zip(job.partitions, job.requests, strict=True):
            empty = c.state.selector.place(request, c.state.table)
            if empty is not None:
                job.partition, job.alloc, job.nodes = partition, empty, empty.mask
                if not self.judge.broken(job, [job]):
                    return False
        return True


TestController = UsualFacts.TestCase
TestController.settings = settings(stateful_step_count=40)
TestEverything = AllFacts.TestCase
TestEverything.settings = settings(stateful_step_count=50)
