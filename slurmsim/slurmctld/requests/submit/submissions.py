"""Submissions: a request becomes a job or an array, a FAILED record, or a refusal with Slurm's text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from slurmsim.core.accounting.limits import REFUSED
from slurmsim.core.placement.compiled_request import NO_SUCH_TOPOLOGY, NOT_AVAILABLE
from slurmsim.core.records.messages import Cancel, Submit
from slurmsim.errors import SubmitError
from slurmsim.model.submission import Submission
from slurmsim.protocol import DENIED, INVALID_JOB, Refusal
from slurmsim.sim.network import Behaviour
from slurmsim.slurmctld.base.forgetting import Forgetting
from slurmsim.slurmctld.base.live_cluster import LiveCluster
from slurmsim.slurmctld.base.live_job import TASK_BITS, Array, LiveJob
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.base.request_interning import Same
from slurmsim.slurmctld.base.simulated import behaviour_of
from slurmsim.slurmctld.base.submit_request import array_tasks, submission
from slurmsim.slurmctld.database.accounting_storage import Storage
from slurmsim.slurmctld.fields import likely_nodes
from slurmsim.slurmctld.fields.last_sched_eval import looks
from slurmsim.slurmctld.requests.show.statistics import Statistics
from slurmsim.slurmctld.requests.submit import allocations, het_submission, size_limits
from slurmsim.slurmctld.requests.submit.applications import add_profile, check_cap
from slurmsim.slurmctld.requests.submit.normalising import normalised_request
from slurmsim.slurmctld.requests.submit.refusals import check, lines, serving, takes_id
from slurmsim.slurmctld.requests.submit.rejected import keep_rejected
from slurmsim.slurmctld.requests.submit.will_run import when_starts, will_run

Made = tuple[Submission, Behaviour, int | None]
"""What the core is told, what the job does once it runs, and the index of a task."""


class Submissions:
    """The requests that make jobs.

    Parameters
    ----------
    same
        Equal parts of requests are kept once.
    submitted
        Told of every job the controller took.
    """

    CHANGES: ClassVar[frozenset[str]] = frozenset({"submit"})

    def __init__(
        self, cluster: LiveCluster, storage: Storage, statistics: Statistics, forgetting: Forgetting, same: Same,
        submitted: Callable[[LiveJob], None],
    ) -> None:  # fmt: skip
        self._cluster, self._storage, self._statistics = cluster, storage, statistics
        self._forgetting, self._same, self._submitted = forgetting, same, submitted

    def calls(self) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
        """Return the requests by name."""
        return {"submit": self.submit, "last_id": self.set_last_id}

    def submit(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """sbatch, or salloc and srun with ``allocate``; with ``will_run`` it is only tested. Raises Refusal.

        With ``of_job`` nothing is submitted: it says when that job would start, which waits.
        """
        if arguments.get("of_job") is not None:
            return self._when_starts(int(arguments["of_job"]))
        if arguments.get("components"):
            return self._submit_het([arguments["job"], *arguments["components"]], arguments, person)
        return self._submit(arguments["job"], person, will=bool(arguments.get("will_run")))

    def _when_starts(self, job_id: int) -> dict[str, Any]:
        live = self._cluster.job_table.shown(job_id)
        if live is None:
            raise Refusal(INVALID_JOB, 2017)
        try:
            return when_starts(self._cluster, live)
        except SubmitError as error:
            raise Refusal("\n".join(lines(self._cluster, error, live.asked, tested=True))) from None

    def recurring(self, request: Mapping[str, Any], person: Person, times: str, lines: tuple[int, int]) -> int:
        """Submit a job that recurs at `times`, of those lines of its user's table; return its id. Raises Refusal."""
        return int(self._submit(request, person, cron={"crontab_spec": times, "crontab_lines": list(lines)})["job_id"])

    def _submit_het(
        self, asked: Sequence[Mapping[str, Any]], arguments: Mapping[str, Any], person: Person
    ) -> dict[str, Any]:
        """Submit the components of a heterogeneous job, one by one; a refusal cancels those before it."""
        cluster, size = self._cluster, len(asked)
        het_submission.check(cluster, asked, will_run=bool(arguments.get("will_run")))
        leader = cluster.job_table.next_id()
        together = het_submission.limits_together(cluster)
        for offset, one in enumerate(het_submission.requests(asked)):
            try:
                if cluster.job_table.next_id() != leader + offset:
                    raise Refusal("Unable to create job record, try again")
                self._submit(one, person, het=(leader, size))
                live = cluster.job_table.shown(leader + offset)
                if live is not None and together is not None and together.add(live.core) is not None:
                    self._give_up(leader + offset, 1)
                    raise Refusal(REFUSED)
                if live is not None and one.get("allocate") and allocations.too_large(cluster, live.core):
                    self._give_up(leader + offset, 1)
                    raise Refusal(NOT_AVAILABLE)
            except Refusal as refusal:
                self._give_up(leader, offset)
                if not offset or not one.get("allocate"):
                    raise
                return {"job_id": leader, "granted": False, "refused": refusal.text}  # who waits is told which is gone
        return {"job_id": leader, "granted": False} if asked[0].get("allocate") else {"job_id": leader}

    def _give_up(self, leader: int, count: int) -> None:
        """Cancel the first components of a job that has been refused; they exit with 1."""
        cluster = self._cluster
        cluster.network.tell(cluster.now, [Cancel(leader + offset) for offset in range(count)])
        for offset in range(count):
            live = cluster.job_table.shown(leader + offset)
            if live is not None:
                live.core.exit_code = "1:0"

    def _submit(
        self, request: Mapping[str, Any], person: Person, *, will: bool = False, het: tuple[int, int] | None = None,
        cron: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """One job, array or component; `cron` has the times at which it recurs. Raises Refusal."""
        cluster = self._cluster
        asked = self._same.share(dict(request))
        if asked.get("user_name"):
            if person.uid != cluster.owner:
                raise Refusal(DENIED)
            asked = {"group_id": person.gid, **asked}  # sbatch names its own
            person = cluster.people.by_name(asked["user_name"])
        asked = normalised_request(cluster, asked)
        if cron is not None:
            asked = {**asked, **cron}
        check_cap(cluster, asked)
        shown = cluster.job_table.next_id()
        try:
            size_limits.check(cluster, asked)
            check(cluster, asked, person)
            if will:
                found = will_run(cluster, self._make(shown, asked, person)[0], shown)
                _use_up(cluster, shown)
                return found
            made: list[Made]
            if asked.get("array_inx"):
                made = self._array(shown, asked, person)
            else:
                made = [(*self._make(shown, asked, person), None)]
                made[0][0].het = het
            self._enter(shown, asked, person, made)
        except SubmitError as error:
            unserved = error.text in (NOT_AVAILABLE, NO_SUCH_TOPOLOGY)
            if takes_id(cluster, error, asked) and (cron is None or unserved):
                _use_up(cluster, shown)
            if unserved and not will and not asked.get("allocate") and cron is None:
                self._keep_rejected(shown, asked, person)
            raise Refusal("\n".join(lines(cluster, error, asked, tested=will))) from None
        if het is not None or not asked.get("allocate"):
            return {"job_id": shown}
        live = cluster.job_table.shown(shown)
        assert live is not None
        return allocations.answer(cluster, live)

    def set_last_id(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """From the journal: a refusal used an id up."""
        if person.uid != self._cluster.owner:
            raise Refusal(DENIED, 2002)
        _use_up(self._cluster, int(arguments["id"]))
        return {}

    def _keep_rejected(self, shown: int, asked: Mapping[str, Any], person: Person) -> None:
        cluster = self._cluster
        live = keep_rejected(cluster, shown, asked, person, cluster.job_table.place)
        if live is not None:
            cluster.job_table.take_place()
            cluster.jobs[shown] = live
            cluster.job_table.keep(live)
            if live.array is not None:
                cluster.job_table.arrays[shown] = live.array
            cluster.controller.eligibility.rejected(live.core)
            cluster.last_end = cluster.now
            self._forgetting.over(shown, cluster.now)

    def _make(self, core_id: int, asked: Mapping[str, Any], person: Person) -> tuple[Submission, Behaviour]:
        cluster = self._cluster
        requeue, default = bool(cluster.spec.option("JobRequeue")), cluster.controller.state.cluster.default
        sub = submission(core_id, asked, person.name, cluster.now, requeue)
        sub.request = cluster.controller.state.cluster.known_request(serving(cluster, sub.request, asked))
        add_profile(cluster, sub, asked)
        by_site = bool(asked.get("by_site"))
        sub.site_factor = int(asked.get("site_factor") or 0) if by_site else 0
        if sub.priority and not by_site and not cluster.database.is_operator(person):
            sub.priority = None  # it may be 0; others are not heard (validate_job_create_req)
        if not sub.partitions and default is not None:
            sub.partitions = (default.name,)  # whatever the default becomes later
        if sub.dependency:
            sub.dependency = cluster.job_table.core_ids(sub.dependency)
        return sub, behaviour_of(cluster, asked, core_id & (1 << TASK_BITS) - 1 if core_id >> 2 * TASK_BITS else None)

    def _array(self, shown: int, asked: Mapping[str, Any], person: Person) -> list[Made]:
        tasks, throttle = array_tasks(asked["array_inx"], int(self._cluster.spec.option("MaxArraySize")))
        made: list[Made] = []
        for task in tasks:
            sub, behaviour = self._make((shown << TASK_BITS) + task + (1 << 2 * TASK_BITS), asked, person)
            sub.array_job_id, sub.array_task_id, sub.array_limit = shown, task, throttle
            made.append((sub, behaviour, task))
        return made

    def _enter(self, shown: int, asked: Mapping[str, Any], person: Person, made: list[Made]) -> None:
        """Tell the controller and keep the records; a refusal leaves nothing behind. Raises SubmitError."""
        cluster, network = self._cluster, self._cluster.network
        already = len(network.refused)
        array = Array(shown, str(asked["array_inx"]), order=cluster.job_table.place) if made[0][2] is not None else None
        for sub, behaviour, task in made:
            order = cluster.job_table.take_place()
            live = LiveJob(asked, None if array is not None else shown, person, order, array, task)
            live.entered_after = looks(cluster.controller)
            network.entering[sub.job_id] = live
            network.behaviour[sub.job_id] = behaviour
            if array is not None and task is not None:
                array.tasks[task] = live
        before, cluster.job_table.last_id = cluster.job_table.last_id, shown
        network.tell(cluster.now, [Submit(sub) for sub, _, _ in made])
        if len(network.refused) > already:
            if cluster.job_table.last_id == shown:  # else the job of a stream that came meanwhile has a later one
                cluster.job_table.last_id = before
            _, text = network.refused[already]
            del network.refused[already:]
            for sub, _, _ in made:
                network.entering.pop(sub.job_id, None)
            raise SubmitError(text)
        for sub, _, _ in made:
            self._entered(sub.job_id)
        likely_nodes.guess(cluster.controller, [network.live[sub.job_id].core for sub, _, _ in made])
        if array is not None:
            cluster.job_table.arrays[shown] = array

    def _entered(self, core_id: int) -> None:
        """Keep the record of a job that the controller has taken."""
        cluster, network = self._cluster, self._cluster.network
        live = network.entering.pop(core_id)
        live.core = network.core_of(core_id)
        cluster.jobs[core_id] = live
        if live.own_id is not None:
            cluster.job_table.keep(live)
        network.live[core_id] = live
        self._storage.entered(live)
        self._statistics.submitted += 1
        self._submitted(live)

    # -- jobs that come by themselves ---------------------------------------------------------------------------------

    def begin(self, asked: dict[str, Any], person: Person, time_limit_s: int | None, run_time: int) -> Submission:
        """Begin the submission of a job of `person`; the caller tells the controller, then calls `finish`.

        Its limit and run time are whole seconds, its request is as `submit` has it.
        """
        cluster, network = self._cluster, self._cluster.network
        shown = cluster.job_table.next_id()
        asked = normalised_request(cluster, self._same.share(asked))
        sub, behaviour = self._make(shown, asked, person)
        sub.time_limit_s, behaviour.run_time = time_limit_s, run_time
        live = LiveJob(asked, shown, person, cluster.job_table.take_place())
        live.entered_after = looks(cluster.controller)
        network.entering[shown], network.behaviour[shown] = live, behaviour
        cluster.job_table.last_id = shown
        return sub

    def finish(self, core_id: int) -> None:
        """Note that the controller took a job that `begin` made."""
        self._entered(core_id)
        likely_nodes.guess(self._cluster.controller, [self._cluster.jobs[core_id].core])


def _use_up(cluster: LiveCluster, number: int) -> None:
    """Use up an id for a job that does not stay; that its record was made is news to backfill all the same."""
    cluster.job_table.last_id = number
    cluster.network.asked_for_jobs()
