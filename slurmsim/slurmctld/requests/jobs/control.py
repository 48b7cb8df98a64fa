"""scontrol's requests about jobs but for updates: hold, release, requeue, suspend, resume, top, notify, scripts."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slurmsim.bitmap import Bitmap
from slurmsim.core.records.messages import Requeue, RequeueHold, Resume, Submit, Suspend
from slurmsim.numerals import is_number
from slurmsim.protocol import DENIED, INVALID_JOB, Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.base import het_jobs
from slurmsim.slurmctld.base.live_job import LiveJob, Row
from slurmsim.slurmctld.base.simulated import behaviour_of
from slurmsim.slurmctld.base.stepmgr import has_stepmgr
from slurmsim.slurmctld.fields.job_details import says_requeue
from slurmsim.slurmctld.fields.job_fields import tres_given
from slurmsim.slurmctld.processes import steps
from slurmsim.slurmctld.requests.jobs.change import NOT_SUPPORTED
from slurmsim.slurmctld.requests.jobs.holds import hold_record
from slurmsim.slurmctld.requests.jobs.ids import Record, for_each, records_of
from slurmsim.slurmctld.requests.jobs.limits import partition_takes
from slurmsim.slurmctld.requests.jobs.rights import is_stranger
from slurmsim.slurmctld.requests.jobs.top import named_for_top, to_the_top
from slurmsim.slurmctld.requests.jobs.update import update
from slurmsim.states import REQUEUED, JobState, Reason

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

Arguments = dict[str, Any]
CHANGES = frozenset({"hold_job", "update_job", "suspend_job", "requeue_job", "top_job", "update_step"})
PENDING = "Job is pending execution"
BAD_USER = "Invalid user id"
ENDED = "Job/step already completing or completed"
DISABLED = "Requested operation is presently disabled"
_RAN = (JobState.RUNNING, JobState.SUSPENDED)


def calls(cluster: LiveCluster) -> dict[str, Callable[[Arguments, Person], Arguments]]:
    """Return the requests by name."""
    control = _Jobs(cluster)
    return {
        "hold_job": control.hold, "update_job": control.update, "suspend_job": control.suspend,
        "requeue_job": control.requeue, "top_job": control.top, "notify_job": control.notify,
        "job_ready": control.ready, "batch_script": control.script, "update_step": control.update_step,
    }  # fmt: skip


class _Jobs:
    def __init__(self, cluster: LiveCluster) -> None:
        self.cluster = cluster

    def _operator(self, person: Person) -> bool:
        return self.cluster.database.is_operator(person)

    def _tell(self, *facts: Any) -> None:
        self.cluster.network.tell(self.cluster.now, facts)

    # -- hold and release -------------------------------------------------------------------------------------------

    def hold(self, arguments: Arguments, person: Person) -> Arguments:
        """Hold, uhold or release."""
        named = records_of(self.cluster, str(arguments["job_id"]), split=True)
        kind = str(arguments["kind"])

        def hold(record: Record) -> None:
            hold_record(self.cluster, record, kind, person)
            partition_takes(self.cluster, record.first)

        return for_each(self.cluster, named, hold)

    # -- update -----------------------------------------------------------------------------------------------------

    def update(self, arguments: Arguments, person: Person) -> Arguments:
        """Carry out ``scontrol update job``."""
        acting = arguments.get("acting_uid")
        if acting is not None and self._operator(person):
            person = self.cluster.people.by_uid(int(acting))
        job_id, job = str(arguments["job_id"]), arguments["job"]
        named = records_of(self.cluster, job_id, split=True)
        of_array = named.array is not None and "_" not in job_id
        arrays_alone = since(self.cluster.release, "throttle_of_arrays_alone")
        if job.get("array_inx") is not None and not of_array and arrays_alone:
            return for_each(self.cluster, named, _no_throttle)
        return for_each(self.cluster, named, lambda record: update(self.cluster, record, job, person))

    def update_step(self, arguments: Arguments, person: Person) -> Arguments:
        """Carry out ``scontrol update stepid``: the time limit of one step of srun, or of all of them."""
        live = self._own(arguments, person)
        text, limit = str(arguments.get("step_id") or ""), arguments.get("time_limit")
        number = int(text) if is_number(text) else None
        if text and number is not None and all(step.number != number for step in live.running_steps):
            if not has_stepmgr(self.cluster, live):
                raise Refusal(INVALID_JOB, 2017)
        elif limit and (number is not None or not text):
            steps.set_limit(self.cluster, live, number, int(limit))
        return {}

    def _found(self, arguments: Arguments) -> LiveJob:
        """Return the job that is named. Raises Refusal."""
        found = self.cluster.job_table.find(str(arguments.get("job_id")))
        if not found:
            raise Refusal(INVALID_JOB, 2017)
        return found[0]

    def _own(self, arguments: Arguments, person: Person) -> LiveJob:
        """Return the job that is named, which only its owner and operators may ask for. Raises Refusal."""
        live = self._found(arguments)
        if person.uid != live.person.uid and not self._operator(person):
            raise Refusal(BAD_USER)
        return live

    # -- suspend and resume -----------------------------------------------------------------------------------------

    def suspend(self, arguments: Arguments, person: Person) -> Arguments:
        """Suspend or resume: operators alone, since 26.05 owners too (job_suspend2)."""
        job_id, stop = str(arguments["job_id"]), arguments["op"] == "suspend"
        unreadable = Refusal("Unexpected message received")  # the command cannot read what slurmctld says
        if since(self.cluster.release, "owners_suspend"):
            found = self.cluster.job_table.find(job_id.partition("_")[0])
            if not found:
                raise unreadable
            if is_stranger(self.cluster, person, found[0]):
                raise Refusal(DENIED, 2002)
            named = records_of(self.cluster, job_id, split=False)
        else:
            try:
                named = records_of(self.cluster, job_id, split=False)
            except Refusal:
                raise unreadable from None
            if not self._operator(person):
                raise Refusal(DENIED, 2002)
        if not named.records and not self.cluster.job_table.find(job_id.partition("_")[0]):
            raise unreadable
        if named.part_of_het_job:
            raise Refusal(*het_jobs.NOT_WHOLE)
        return for_each(self.cluster, named, lambda record: self._suspend(record, stop))

    def _suspend(self, record: Record, stop: bool) -> None:
        core = record.first.core
        if core.state == JobState.PENDING:
            raise Refusal(PENDING)
        if record.first.over:
            raise Refusal(ENDED, 2021)
        if not stop and core.state != JobState.SUSPENDED:
            raise Refusal("Job is not suspended")
        if not stop and core.request.own_cpus is not None and self._keeps_cores_on(core.nodes):
            raise Refusal("Requested nodes are busy", 2016)
        self._tell(Suspend(core.id) if stop else Resume(core.id))

    def _keeps_cores_on(self, nodes: Bitmap) -> bool:
        """Return True if a job with --core-spec runs on some of `nodes` (_job_resume_test)."""
        running = [entry[2] for entry in self.cluster.controller.state.running]
        return any(job.request.own_cpus is not None and job.nodes & nodes for job in running)

    # -- requeue ----------------------------------------------------------------------------------------------------

    def requeue(self, arguments: Arguments, person: Person) -> Arguments:
        """Requeue and requeuehold."""
        if "+" in str(arguments["job_id"]):
            raise Refusal(INVALID_JOB, 2017)
        named = records_of(self.cluster, str(arguments["job_id"]), split=False)
        if named.part_of_het_job:
            raise Refusal(*het_jobs.NOT_LEADER)
        return for_each(self.cluster, named, lambda record: self._requeue(record, arguments, person))

    def _requeue(self, record: Record, arguments: Arguments, person: Person) -> None:
        live, core = record.first, record.first.core
        if is_stranger(self.cluster, person, live):
            raise Refusal(DENIED, 2002)
        if arguments.get("incomplete") and core.state not in _RAN:
            return
        if not says_requeue(self.cluster, live) or core.partition.index in self.cluster.controller.state.cluster.gone:
            raise Refusal(DISABLED)
        if not live.asked.get("script"):
            raise Refusal("Only batch jobs are accepted or processed")
        if core.state == JobState.PENDING:
            raise Refusal(PENDING)
        ran, reason = not live.over, core.reason
        if ran:
            live.requeued_at, live.ran_with_priority = self.cluster.now, core.priority
        else:
            self._again(live)
            self.cluster.controller.main.walk.pending_reasons.show_as_before(live.core, reason)
        if ran or reason == Reason.NONE:
            live.edited_at = self.cluster.now  # it has no reason until a pass looks at it
        if arguments.get("hold"):
            self._tell(RequeueHold(core.id, special=bool(arguments.get("special"))))
        elif ran:
            self._tell(Requeue(core.id))

    def _again(self, live: LiveJob) -> None:
        """Submit an ended job once more, under its id, account and QOS. Raises Refusal."""
        before, network = live.core, self.cluster.network
        left = tres_given(Row(live), self.cluster)  # only epilogs take it away, and there is none
        begin = self.cluster.now + self.cluster.controller.life_cycle.again_s
        sub = replace(before.sub, begin=begin, hold=False, account=before.account, qos=before.qos)
        network.entering[before.id] = live
        network.behaviour[before.id] = copy(behaviour_of(self.cluster, live.asked, live.task))
        already = len(network.refused)
        self._tell(Submit(sub, again=True, had=live.core.priority))
        network.entering.pop(before.id, None)
        if len(network.refused) > already:  # its association is gone
            raise Refusal(network.refused.pop()[1])
        live.core = network.core_of(before.id)
        live.core.restarts = before.restarts + 1
        live.core.foremost = before.partition.index if len(before.partitions) > 1 else None
        live.asked = {**live.asked, "tres_left": (live.core.restarts, left)}
        live.core.priority = before.priority  # in 22.05 until it is worked out anew, when its time has come
        self.cluster.controller.waiting.rank_requeued(live.core)
        network.live[before.id] = live
        live.cancelled_by = None
        run = copy(before)
        if not since(self.cluster.release, "ended_rows_stay"):  # its row tells as if it had run until now
            run.state, run.end_time = REQUEUED, self.cluster.now
        self.cluster.storage.requeued(run, ended=before)

    # -- the rest ---------------------------------------------------------------------------------------------------

    def top(self, arguments: Arguments, person: Person) -> Arguments:
        """Jobs go before the others of the same user, partition, account and QOS."""
        enabled = "enable_user_top" in self.cluster.spec.scheduler_parameters
        operator = self._operator(person)
        if not operator and not enabled:
            raise Refusal(DENIED, 2002)
        named = named_for_top(self.cluster, str(arguments["job_id"]))
        self._tell(*to_the_top(self.cluster, named, None if operator else person))
        return {}

    def notify(self, arguments: Arguments, person: Person) -> Arguments:
        """Send a message to the job's terminal; a batch job has only its error file."""
        live = self._found(arguments)
        if person.uid != live.person.uid and not self.cluster.database.is_administrator(person):
            raise Refusal(BAD_USER)
        if live.over:
            raise Refusal(ENDED, 2021)
        if live.core.state not in _RAN:
            raise Refusal(DISABLED)
        return {}

    def ready(self, arguments: Arguments, person: Person) -> Arguments:
        """Tell if a job's nodes are up: ready, waiting or gone."""
        live = self._found(arguments)
        if live.over:
            return {"state": "gone"}
        core, power = live.core, self.cluster.controller.power
        waits = core.state == JobState.PENDING or (
            power is not None and core.nodes & (power.nodes.off | power.nodes.coming)
        )
        return {"state": "waiting" if waits else "ready"}

    def script(self, arguments: Arguments, person: Person) -> Arguments:
        """Return the script of a batch job, for its owner and operators."""
        live = self._own(arguments, person)
        if not live.asked.get("script"):
            raise Refusal("Job has no batch script")
        return {"script": live.asked["script"]}


def _no_throttle(record: Record) -> None:
    raise Refusal(f"Update of ArrayTaskThrottle is only allowed on ArrayJobId\n{NOT_SUPPORTED}")
