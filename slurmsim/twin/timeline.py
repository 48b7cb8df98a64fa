"""The past of the jobs of a dump, as facts in order of time: submitted, started on their nodes, ended.

Nothing is decided meanwhile (`slurmsim.slurmctld.base.live_network.LiveNetwork.follow`): it has happened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from operator import itemgetter
from typing import Any

from slurmsim.core.records.job_queue import Record
from slurmsim.core.records.messages import AlterJob, Hold, SetArrayLimit, SetDependency, SetNice, Suspend
from slurmsim.errors import SubmitError
from slurmsim.numerals import is_number
from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.ending import end
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.submit_request import array_tasks
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.states import JobState, Reason
from slurmsim.twin.allocations import Allocations
from slurmsim.twin.findings import Findings, Weight
from slurmsim.twin.jobs import SeenJob
from slurmsim.twin.requests import plain_request, request_of
from slurmsim.twin.run_times import RunTimes

_ENDS, _SUBMITS, _STARTS, _SHORT = range(4)
_CUT = "..."
Group = list[SeenJob]


def groups(jobs: Iterable[SeenJob]) -> list[Group]:
    """Return the jobs in groups of one submission, in its order: an array's records are one."""
    found: dict[int, Group] = {}
    for job in jobs:
        found.setdefault(job.array_id or job.id, []).append(job)
    return sorted(found.values(), key=lambda group: (_submit(group), group[0].array_id or group[0].id))


def _submit(group: Group) -> int:
    return min(job.submit for job in group)


class Timeline:
    """Carries the past out on a new engine.

    Attributes
    ----------
    lives
        The jobs that were taken, by record of the dump.
    """

    def __init__(self, engine: Engine, now: int, run_times: RunTimes, findings: Findings) -> None:
        self.engine, self.now, self._run_times, self._findings = engine, now, run_times, findings
        self._allocations = Allocations(engine, findings)
        self.lives: dict[int, LiveJob] = {}
        self.seen: list[SeenJob] = []
        self._together: dict[int, Group] = {}

    def run(self, jobs: list[SeenJob]) -> None:
        """Let all of it happen."""
        self.seen = jobs
        self.engine.network.follow(whole=True)
        self.engine.controller.admission.watch(False)  # the dump has the reasons
        slowly, self.engine.dies_slowly = self.engine.dies_slowly, False
        for _, _, act, what in sorted(self._facts(jobs), key=itemgetter(0, 1)):
            act(what)
        self.engine.network.advance(self.now)
        self.engine.dies_slowly = slowly
        self.engine.controller.admission.watch(True)

    def _facts(self, jobs: list[SeenJob]) -> Iterator[tuple[int, int, Callable[[Any], None], Any]]:
        for group in groups(jobs):
            yield self._at(_submit(group)), _SUBMITS, self._submit_group, group
            for job in group:
                started = job.start is not None and bool(job.nodes) and job.state != JobState.PENDING
                if started and job.start is not None:
                    yield self._at(job.start), _STARTS, self._start, job
                if job.is_over:
                    after = job.start if started and job.start is not None else _submit(group)
                    at = self._at(max(job.end or after, after))
                    yield at, _SHORT if at == self._at(after) else _ENDS, self._end, job

    def _at(self, when: int) -> int:
        """Return the instant within the twin's past that stands for `when`."""
        return max(self.engine.network.start_time, min(when, self.now))

    # -- submissions --------------------------------------------------------------------------------------------------

    def _submit_group(self, group: Group) -> None:
        first = next((job for job in group if job.state == JobState.PENDING), group[0])
        asked = request_of(first, *self._run_times.of(first))
        if first.nice > 0:
            asked["nice"] = first.nice
        else:
            asked.pop("nice", None)
        if first.array_id is not None:
            indices = self._indices(group)
            if not indices:
                return
            asked["array_inx"] = ",".join(map(str, indices))
        number = first.array_id or first.id
        table = self.engine.job_table
        at = self._at(_submit(group))
        before, table.last_id = table.last_id, number - 1
        try:
            if table.next_id() != number:
                raise Refusal("its id is taken")
            answer = self._take(at, asked, first)
        except Refusal as refusal:
            table.last_id = before
            said = refusal.text.splitlines()[-1] if refusal.text else "refused"
            self._findings.add(Weight.HEAVY, f"left out, our rules refuse it ({said})", first.shown_id)
            return
        self._know(group, int(answer["job_id"]), first)

    def _take(self, at: int, asked: dict[str, Any], first: SeenJob) -> dict[str, Any]:
        """Submit; of a job that has nodes, whatever our rules say of its request. Raises Refusal."""
        person, table = self.engine.people.by_name(first.user), self.engine.job_table
        try:
            return self.engine.execute(at, "submit", {"job": asked}, person)
        except Refusal:
            if not first.nodes or first.array_id is not None:
                raise
            table.last_id = first.id - 1
            answer = self.engine.execute(
                at, "submit", {"job": plain_request(first, *self._run_times.of(first))}, person
            )
            self._findings.add(
                Weight.MIDDLE, "our rules refuse its request; it has its nodes all the same", first.shown_id
            )
            return answer

    def _indices(self, group: Group) -> list[int]:
        found: set[int] = set()
        for job in group:
            text = job.tasks.removesuffix(_CUT)
            if text != job.tasks:
                self._findings.add(Weight.HEAVY, "tasks of arrays that are cut off (SLURM_BITSTR_LEN=0 shows all)",
                                   job.shown_id)  # fmt: skip
                text = text.rpartition(",")[0]
            try:
                found |= set(array_tasks(text, int(self.engine.spec.option("MaxArraySize")))[0]) if text else set()
            except SubmitError as error:
                self._findings.add(Weight.HEAVY, f"left out ({error.text})", job.shown_id)
        return sorted(found)

    def _know(self, group: Group, number: int, first: SeenJob) -> None:
        """Note which live job each record is, and give tasks with an id of their own that id when their time comes."""
        table = self.engine.job_table
        array = table.arrays.get(number)
        for job in group:
            live = table.shown(number) if array is None else array.tasks.get(_task(job))
            if live is None:
                continue
            self.lives[id(job)] = live
            live.core.restarts = job.restarts
        for index, live in array.tasks.items() if array is not None else ():
            self.engine.network.behaviour[live.core.id] = self._run_times.behaviour(first, index)

    # -- what happened to them -----------------------------------------------------------------------------------------

    def _start(self, job: SeenJob) -> None:
        live = self.lives.get(id(job))
        if live is None or live.over:
            return
        self._split(live, job)
        core, c = live.core, self.engine.controller
        record = next((r for r in c.state.queue.jobs.get(core.id, ()) if r.partition.name == job.partition), None)
        if record is None:
            pairs = zip(core.partitions, core.requests, strict=True)
            found = next(((p, r) for p, r in pairs if p.name == job.partition), (core.partition, core.request))
            record = Record(core, *found, core.priority, False)
        alloc = self._allocations.of(record, job)
        if alloc is None:
            self._findings.add(Weight.HEAVY, "runs on nodes that other jobs of the dump have", job.shown_id)
            return
        at = self._at(job.start or self.now)
        core.eligible_time = core.eligible_time or job.eligible or job.submit
        self.engine.network.act(
            at, lambda: c.life_cycle.start(record, alloc, job.scheduler or "Main", self._limit_s(job)),
            before_others=True,
        )  # fmt: skip
        if job.state == JobState.SUSPENDED:
            self._suspend(job, live)

    def _limit_s(self, job: SeenJob) -> int | None:
        return job.limit_min * 60 if job.limit_min is not None and job.limit_min >= 0 else None

    def _suspend(self, job: SeenJob, live: LiveJob) -> None:
        at = max(self._at(job.suspended_at or self.now), self.engine.now)
        self.engine.network.advance(at)
        self.engine.network.act(
            at, lambda: self.engine.controller.suspend_facts.on_suspend(Suspend(live.core.id)), before_others=True
        )

    def _end(self, job: SeenJob) -> None:
        live = self.lives.get(id(job))
        if live is None or live.over:
            return
        self._split(live, job)
        core, c = live.core, self.engine.controller
        at = max(min(job.end or self.now, self.now), self.engine.now)
        self.engine.network.act(at, lambda: end(c, core, job.state, job.exit_code), before_others=True)
        if self.engine.jobs.get(core.id) is live:
            core.exit_code = job.exit_code

    def _split(self, live: LiveJob, job: SeenJob) -> None:
        """Give a task the id that the dump has for it."""
        table = self.engine.job_table
        if live.array is None or live.own_id is not None:
            return
        live.order = live.array.order
        live.take_id(job.id)
        if live.array.left():
            table.last_id = max(table.last_id, job.id)
            live.array.order = table.take_place()
        table.keep(live)

    # -- waiting jobs --------------------------------------------------------------------------------------------------

    def settle_waiting(self) -> None:
        """Let waiting jobs wait for what the dump says that they wait for."""
        self._settle_throttles()
        for job in self.seen:
            live = self.lives.get(id(job))
            if live is None or job.state != JobState.PENDING or live.over:
                continue
            lives = [live]
            if live.array is not None:
                if _has_own_id(job):
                    self._split(live, job)
                else:
                    lives = live.array.unsplit()
            for one in lives:
                self._wait(one, job)

    def _settle_throttles(self) -> None:
        limits: dict[int, int] = {}
        for job in self.seen:
            live, limit = self.lives.get(id(job)), _throttle(job)
            if live is not None and live.array is not None and limit:
                limits[live.array.id] = limit
        for number, limit in limits.items():
            self.engine.network.tell(self.now, [SetArrayLimit(number, limit)])
            for task in self.engine.job_table.arrays[number].tasks.values():
                task.core.array_limit = limit

    def _wait(self, live: LiveJob, job: SeenJob) -> None:
        number, network = live.core.id, self.engine.network
        if job.dependency:
            text = self.engine.job_table.core_ids(_plain_dependency(job.dependency))
            try:
                live.asked = {**live.asked, "dependency": _plain_dependency(job.dependency)}
                network.tell(self.now, [SetDependency(number, text)])
            except SubmitError as error:
                self._findings.add(Weight.MIDDLE, f"its dependency is not taken over ({error.text})", job.shown_id)
        if job.eligible is not None and job.eligible > self.now and not job.dependency:
            self._begin_later(live, job.eligible)
        if job.priority == 0 or job.reason in (Reason.HELD_USER, Reason.HELD_ADMIN):
            network.tell(self.now, [Hold(number, admin=job.reason == Reason.HELD_ADMIN)])
            live.held_with = job.reason
        if job.nice < 0:
            live.asked = {**live.asked, "nice": job.nice}
            network.tell(self.now, [SetNice(number, job.nice)])

    def _begin_later(self, live: LiveJob, begin: int) -> None:
        live.asked = {**live.asked, "begin_time": begin}
        sub = replace(live.core.sub, begin=begin)
        self.engine.network.tell(self.now, [AlterJob(live.core.id, sub)])


def _task(job: SeenJob) -> int:
    text = job.tasks.partition("%")[0]
    first = "".join(ch if ch.isascii() and ch.isdigit() else " " for ch in text).split()
    return int(first[0]) if first and is_number(first[0]) else -1


def _has_own_id(job: SeenJob) -> bool:
    return is_number(job.tasks)


def _throttle(job: SeenJob) -> int | None:
    text = job.tasks.partition("%")[2] or job.texts.get("array_limit", "")
    return int(text) if is_number(text) and int(text) else None


def _plain_dependency(text: str) -> str:
    """Return a dependency without what only ``show job`` adds: ``afterok:12(unfulfilled)``."""
    return re.sub(r"\([a-z]+\)", "", text).replace("_*", "")
