"""Random schedules of jobs that change their shape under a changing budget, told to the network without files.

One schedule is a pure function of its seed and takes a few milliseconds, so that many can be had. The judge shares
nothing with the core but the rows of phases: it adds up what was charged and what was done.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

from slurmsim.config.load import make_cluster
from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import (
    Cancel,
    Fact,
    NodesDown,
    NodesResume,
    Requeue,
    ResizeJob,
    Resume,
    Submit,
    Suspend,
)
from slurmsim.energy.profile import Profile, read_profile
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.power import KEEP, SCALE, PowerSpec
from slurmsim.model.request import ResourceRequest
from slurmsim.model.submission import Submission
from slurmsim.policy import Change, Decisions, Policy, PowerView, Reconfigure, Resize, Start, WakeAt
from slurmsim.sim.network import Behaviour, Network

CALM = 6_000  # from then on nothing fails, and there are watts for everybody
NODES = 12
APPS = (
    "LeanMD:parallelism=24:sigma=0.2",
    "Wave2D:parallelism=9:sigma=0",
    "Jacobi2D:parallelism=3:sigma=1",
    "AMR:parallelism=6:sigma=0.5:points=90",
)
CAPS = (32.0, 37.5, 45.0, 60.0, None)
MOST_MW = NODES * 116_000


class Restless(Policy):
    """Starts jobs in random shapes and changes those that run, several at once, as its random numbers say."""

    name = "restless"

    def __init__(self, rng: Random, reshapes: bool) -> None:
        super().__init__()
        self.rng, self.reshapes = rng, reshapes
        self.taken = self.refused = 0

    def schedule(self, view: PowerView, now: int) -> Decisions:
        rng = self.rng
        if now < CALM and rng.random() < 0.6:
            some = [job for job in view.running if rng.random() < 0.6]
            changes = [self._change(view, job) for job in some]
            self._count((yield Reconfigure(changes)))
        if now < CALM and rng.random() < 0.2:
            for job in view.running[:1]:
                self._count((yield Resize(job, rng.randint(1, NODES))))
        for job in view.pending:
            profile = view.profile(job)
            if profile is None or rng.random() < 0.3 or now >= CALM:
                yield Start(job)
            else:
                yield Start(job, nodes=rng.randint(profile.min_nodes, profile.max_nodes), cap=rng.choice(CAPS))
        if now < CALM and rng.random() < 0.5:
            yield WakeAt(now + rng.randint(1, 400))

    def _change(self, view: PowerView, job: Any) -> Change:
        profile, rng = view.profile(job), self.rng
        if profile is None:
            return Change(job, None, None)
        nodes = rng.randint(profile.min_nodes, profile.max_nodes) if profile.malleable else None
        return Change(job, nodes if rng.random() < 0.7 else None, rng.choice(CAPS))

    def _count(self, done: bool | None) -> None:
        self.taken += bool(done)
        self.refused += not done


class Told(Network):
    """A network that keeps what is told of jobs, and recounts after every turn."""

    def __init__(self, cluster: ClusterSpec, policy: Policy) -> None:
        super().__init__(cluster, policy, 0)
        self.rows: list[tuple[int, int, int | None, int, int, int, int]] = []
        self.ended: dict[int, Job] = {}
        self.ran_again: set[int] = set()
        self.resized: set[int] = set()

    def _turned(self, now: int) -> None:
        self.controller.check()
        assert self._watts is not None
        self.rows += self._watts.phases
        self._watts.phases.clear()

    def _finished(self, job: Job) -> None:
        assert job.id not in self.ended, f"job {job.id} ends twice"
        self.ended[job.id] = job
        super()._finished(job)

    def _requeued(self, run: Job) -> None:
        self.ran_again.add(run.id)
        super()._requeued(run)


@cache
def _machine() -> ClusterSpec:
    return make_cluster(NODES, 1)


@cache
def _profile(app: str, least: int, most: int, malleable: bool) -> Profile:
    return read_profile(app, least, most, malleable)


class Schedule:
    """The schedule of a seed.

    Attributes
    ----------
    seen
        What came to pass in it, so that a test can tell that schedules are not idle: counts by name.
    """

    def __init__(self, seed: int) -> None:
        self.rng = rng = Random(seed)
        idle = rng.choice((0, 0, 7_500))
        times = sorted(rng.sample(range(1, CALM), rng.randint(0, 4)))
        floor = NODES * idle
        steps = [(time, max(floor, rng.choice((250, 400, 800, 1100)) * 1000)) for time in times]
        self.budget = ((0, rng.choice((MOST_MW, MOST_MW // 2))), *steps, (CALM, MOST_MW))
        self.spec = PowerSpec(idle_mw=idle, budget=self.budget, limit=rng.choice((SCALE, SCALE, KEEP)))
        cluster = replace(_machine(), power=self.spec)
        self.policy = Restless(rng, rng.random() < 0.5)
        self.network = network = Told(cluster, self.policy)
        names = [node.name for node in cluster.nodes]
        self.jobs = range(1, rng.randint(2, 7))
        self.profiles = dict[int, Profile | None]()
        self.work = dict[int, int]()
        facts = [(*self._submission(job_id),) for job_id in self.jobs]
        for _ in range(rng.randint(0, 6)):
            facts.append((rng.randint(1, CALM - 1), self._disturbance(names)))
        for at, fact in [*facts, (CALM, NodesResume(tuple(names)))]:
            network.at(at, self._tell, fact)
        network.at(CALM + 1, self._wake_up)
        self.seen = dict.fromkeys(("changed", "refused", "lowered", "suspended", "ended"), 0)

    def _submission(self, job_id: int) -> tuple[int, Fact]:
        rng = self.rng
        least = rng.randint(1, 5)
        most = rng.randint(least, NODES - 2)
        nodes = rng.randint(least, most)
        app = rng.random() < 0.85
        limit = rng.choice((300, 2000, 9000))
        profile = self.profiles[job_id] = _profile(rng.choice(APPS), least, most, rng.random() < 0.8) if app else None
        self.work[job_id] = rng.randint(1, limit * 5 // 4)
        self.network.behaviour[job_id] = Behaviour(self.work[job_id], "COMPLETED", "0:0", -1)
        request = ResourceRequest(min_nodes=nodes, max_nodes=nodes)
        return rng.randint(0, 1500), Submit(Submission(job_id, request, time_limit_s=limit, profile=profile))

    def _disturbance(self, names: list[str]) -> Fact:
        rng = self.rng
        job_id, name = rng.choice(self.jobs), rng.choice(names)
        kind = rng.choice((NodesDown, NodesDown, NodesResume, Cancel, Requeue, Suspend, Resume, ResizeJob))
        if kind in (NodesDown, NodesResume):
            return kind((name,))
        return ResizeJob(job_id, rng.randint(1, NODES)) if kind is ResizeJob else kind(job_id)

    def _tell(self, timer: Any) -> None:
        (fact,) = timer.value
        known = self.network.controller.state.jobs
        if not isinstance(fact, (Cancel, Requeue, Suspend, Resume, ResizeJob)) or fact.job_id in known:
            self.network._tell(fact)

    def _wake_up(self, _: Any) -> None:
        """Whom a user has suspended goes on."""
        for _, job_id, job in list(self.network.controller.state.suspended):
            assert self.network._watts is not None
            if not self.network._watts.shapes[job_id].by_budget:
                self.network._tell(Resume(job.id))

    def run(self) -> dict[str, int]:
        """Play it to its end and judge it; returns `seen`."""
        network = self.network
        while network.env.peek() < 100 * CALM:
            network.env.step()
            for event in network.controller.state.events:
                self.seen["suspended"] += event[1] == "SUSPEND" and event[8] == "Budget"
                self.seen["lowered"] += event[1] == "CAP"
                if event[1] == "RESIZE":
                    network.resized.add(event[2])
            network.controller.state.events.clear()
            if len(network.ended) == len(self.jobs):
                break
        assert set(network.ended) == set(self.jobs), f"never ended: {set(self.jobs) - set(network.ended)}"
        assert network.controller.watts is not None and not network.controller.watts.shapes
        self._budget_kept()
        for job_id, job in network.ended.items():
            self._work_done(job_id, job)
        self.seen["changed"], self.seen["refused"] = self.policy.taken, self.policy.refused
        self.seen["ended"] = len(network.ended)
        return self.seen

    def _budget_kept(self) -> None:
        """No instant is charged more than its budget, nor less than what a job's nodes and cap come to."""
        change = dict[int, tuple[int, int]]()
        for job_id, start, end, nodes, cap, charged, drawn in self.network.rows:
            assert end is not None and start < end
            assert nodes * (cap + self.spec.base_mw) <= charged >= drawn, f"job {job_id} at {start}"
            for at, sign in ((start, 1), (end, -1)):
                mw, busy = change.get(at, (0, 0))
                change[at] = mw + sign * charged, busy + sign * nodes
        now_mw = busy = 0
        times = sorted({*change, *(time for time, _ in self.budget)})
        for at in times:
            mw, nodes = change.get(at, (0, 0))
            now_mw, busy = now_mw + mw, busy + nodes
            budget = [watts for time, watts in self.budget if time <= at][-1]
            idle = (NODES - busy) * self.spec.idle_mw
            assert now_mw + idle <= budget, f"at {at}: {now_mw} + {idle} mW, the budget is {budget}"

    def _work_done(self, job_id: int, job: Job) -> None:
        """Who completes has done all its work, and who changed nothing has done it to the second."""
        if job.state != "COMPLETED" or job_id in self.network.ran_again:
            return
        profile, work = self.profiles[job_id], self.work[job_id]
        mine = [row for row in self.network.rows if row[0] == job_id]
        slow = [1.0 if profile is None else profile.slowdown(row[3], row[4]) for row in mine]
        could = sum((row[2] - row[1]) / each for row, each in zip(mine, slow, strict=True))
        assert could > work - 1e-6, f"job {job_id} completes after {could} s of {work}"
        if job_id not in self.network.resized:  # which costs time
            assert could < work + 1 / slow[-1] + 1e-6, f"job {job_id} goes on after its {work} s: {could}"
