"""Submissions: taken in, or refused with Slurm's text."""

from __future__ import annotations

from dataclasses import replace

from slurmsim.core.job import Job
from slurmsim.core.lifecycle import Lifecycle
from slurmsim.core.messages import Refused, Submit
from slurmsim.core.owners import Owners
from slurmsim.core.partitions import Partition
from slurmsim.core.shape import NOT_AVAILABLE, Shape
from slurmsim.core.top_priority import is_top
from slurmsim.errors import SubmitError
from slurmsim.model.submission import Submission
from slurmsim.states import REFUSED, Reason

CLOSED = ("DRAIN", "INACTIVE")  # states in which a partition takes no submissions


class Admission(Lifecycle):
    """The part of the controller that takes submissions."""

    def _submit(self, fact: Submit) -> None:
        sub = fact.sub
        try:
            self.admit(sub, again=fact.again, had=fact.had)
        except SubmitError as error:
            where = ",".join(sub.partitions)
            self.events.append((self.now, "REFUSE", sub.job_id, REFUSED, error.text, where, "", None, ""))
            self.actions.append(Refused(sub, error.text))

    def admit(self, sub: Submission, *, again: bool = False, had: int = 0) -> Job:
        """Take a submission in, or a job `again` that no limit refuses. Raises SubmitError, changing nothing.

        `had` is the priority a job brings along; 0: it is to get one.
        """
        if sub.job_id in self.jobs:
            raise SubmitError(f"Job id {sub.job_id} is in use")
        partitions, shapes = self.state.compiled(sub)
        if len(partitions) > 1 and not again:
            left = tuple(p.name for p in partitions if p.state not in CLOSED)  # _get_job_parts
            if 0 < len(left) < len(partitions):
                sub = replace(sub, partitions=left)
                partitions, shapes = self.state.compiled(sub)
        job = Job(sub, partitions, shapes, self.now)
        if self.accounts is not None:
            self.accounts.admit(job)
            self.qos_flags.heed(job)
        if self.access.closed:
            self.access.heed(job)
        self.set_time_limit(job)
        alike = self._is_plain(job)  # its like has been admitted before
        if not alike and not again:
            self._check_partitions(job)
        if job.claims:
            job.licenses = self.licenses.wanted(sub.licenses)
        if self.limits is not None:
            self.limits.admit(job, again=again)
        if job.claims and sub.reservation:
            self.reservations.jobs.claim(job, sub.reservation)
        if alike and self._is_plain(job):
            job.within_limits = self.edits
        elif not again:
            self._check_nodes(job)
        independent = not sub.dependency and sub.array_task_id is None
        if not independent:
            self.eligibility.register(job)
        if job.claims:
            self.deadlines.register(job)
        job.order = self.created
        self.created += 1
        self.jobs[job.id] = job
        if sub.request.exclusive_user and self.owners is None:
            self.owners = Owners(entry[2] for entry in self.running)
        self.usage.pending(job, +1)
        if self.limits is not None:
            self.limits.submitted(job)
        self.events.append((self.now, "SUBMIT", job.id, job.state, job.reason, job.partition.name, "", None, ""))
        if sub.hold:
            self.set_reason(job, Reason.HELD_USER)
        else:
            job.priority = had or min(self.priority.submit(job, self.now))
            if independent and sub.begin is None:
                self.enqueue(job)
            else:
                self.eligibility.consider(job)
            asked = job.queued and sub.array_task_id is None and not self.event_driven
            if asked and job.reason == Reason.NONE and not is_top(self.queue, job):
                self.set_reason(job, Reason.PRIORITY)
            if self.limits is not None and job.queued:
                self.limits.show(job)
            if self.unusable and job.queued and sub.array_task_id is None and not self.event_driven:
                self.main.obstacles.show_unavailable(job)
            if not self.event_driven:
                self.main.obstacles.show_busy(job)
                down = self._goes_to_a_partition_that_is_down(job)
                if down and (job.queued or (job.reason == Reason.NONE and not sub.dependency)):
                    self.set_reason(job, Reason.PARTITION_DOWN)
        if not self.event_driven:
            if not sub.hold:
                self.main.obstacles.show_limit(job)
            self._show_bar(job)
            self.main.request()
        self.host.changed = True
        return job

    def _goes_to_a_partition_that_is_down(self, job: Job) -> bool:
        """Whether sbatch's own test of `job` ends there: at the first of its partitions that has nodes for it.

        With EnforcePartLimits it goes on to the others (_select_nodes_parts).
        """
        if self.cluster.option("EnforcePartLimits") != "NO":
            return all(p.state == "DOWN" for p in job.partitions)
        pairs = sorted(zip(job.partitions, job.shapes, strict=True), key=lambda pair: -pair[0].tier)
        return next((p.state for p, shape in pairs if self.selector.possible(shape)), "") == "DOWN"

    def check_access(self, sub: Submission) -> None:
        """Raise SubmitError for whom its partitions do not let in.

        Asked before slurmctld looks at most of what is wanted: a limit, features or a layout nobody has.
        """
        if not self.access.closed:
            return
        partitions = self.state.resolve(sub.partitions)
        if any(p.state in CLOSED for p in partitions):
            return  # which is said first, where none is left
        bars = self.accounts.standing(sub, partitions).bars if self.accounts is not None else None
        self.access.refuse(partitions, self.access.bars_of(sub, partitions, bars))

    def _is_plain(self, job: Job) -> bool:
        """Whether nothing of a job for one partition has to be checked."""
        shape, partition = job.shape, job.partition
        plain = len(job.shapes) == 1 and shape.possible and job.sub.array_task_id is None and partition.state == "UP"
        plain = plain and job.bars is None and not job.threshold
        return bool(plain and job.time_limit_s in shape.limits_met)

    def _show_bar(self, job: Job) -> None:
        """What is wrong with its account or QOS is told at once, even of a job that is held (select_nodes)."""
        if not (job.queued or job.sub.hold):
            return  # the pass will say what else it waits for
        found = [bar for p in job.partitions if (bar := (job.bars or {}).get(p.index)) is not None and bar.text]
        if len(found) == len(job.partitions):
            self.set_reason(job, found[0].text)

    def _check_partitions(self, job: Job) -> None:
        """What its partitions refuse a submission for, before any limit of an association does. Raises SubmitError."""
        if job.sub.array_task_id is not None and job.sub.array_task_id >= self.cluster.option("MaxArraySize"):
            raise SubmitError("Invalid job array specification")
        if any(p.state in CLOSED for p in job.partitions):
            raise SubmitError("Required partition not available (inactive or drain)")
        self.access.refuse(job.partitions, job.bars)
        if self.rules.tasks_reach_nodes:
            _check_tasks(job)
        self.check_partition_limits(job)

    def _check_nodes(self, job: Job) -> None:
        """Whether any nodes could serve it. Raises SubmitError."""
        partitions, shapes = job.partitions, job.shapes
        broken = [self.limit_reason(job, p, s) for p, s in zip(partitions, shapes, strict=True)]
        possible = [self.selector.possible(s) for s in shapes]
        waits = [self._waits_without_nodes(job, *one) for one in zip(partitions, shapes, broken, strict=True)]
        if not any(waits) and not any(possible) and not job.sub.hold:  # who is held is not tried
            raise SubmitError(NOT_AVAILABLE)
        if not any(broken) and all(possible) and job.bars is None and not job.threshold:
            job.within_limits = self.edits

    def _waits_without_nodes(self, job: Job, partition: Partition, shape: Shape, broken: str | None) -> bool:
        """Whether a partition's limit lets a job wait that no nodes could serve.

        Of several partitions the nodes are looked at even where a limit is broken (_select_nodes_parts_resvs).
        """
        if broken is None or not (self.rules.tries_over_limits or len(job.partitions) > 1):
            return broken is not None
        barred = job.bars is not None and partition.index in job.bars
        return barred or broken in self.rules.but_limits or shape.max_nodes < shape.min_nodes


def _check_tasks(job: Job) -> None:
    """A number of tasks below the nodes, also those a partition's MinNodes makes of fewer (_job_create)."""
    request, least = job.sub.request, min(shape.part_min_nodes for shape in job.shapes)
    raised = least if not request.max_nodes or request.max_nodes >= least else 1
    if 0 < request.n_tasks < max(request.min_nodes, raised):
        raise SubmitError("Task count specification invalid")
