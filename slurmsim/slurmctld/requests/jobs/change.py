"""One update of one job as far as it has been looked at: what is to be changed, and how the core is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import (
    AlterJob,
    Fact,
)  # fmt: skip
from slurmsim.errors import SubmitError
from slurmsim.protocol import DENIED, Refusal
from slurmsim.slurmctld.base.submit_request import resources
from slurmsim.slurmctld.requests.jobs.ids import Record
from slurmsim.slurmctld.requests.submit.refusals import serving
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.model.submission import Submission
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

NOT_PENDING = "Job is no longer pending execution"
FINISHED, BAD_USER = "Job has already finished", "Invalid user id"
NOT_SUPPORTED = "Requested operation not supported on this system"
BAD_NODES, BAD_NODE_COUNT = "Invalid node name specified", "Node count specification invalid"
BAD_TIME_MIN = "Invalid time-min specification (exceeds job's time or other limits)"
BAD_TIME = "Invalid time specified"
HELD = "Job is in held state, pending scheduler release"
SIZED = "Sizes of a waiting job with an application are not changed: its run time is meant for the largest"
NOT_PERSISTENT = "Changes to job priority are not persistent, change nice instead"
NEITHER = "Job is not pending nor running"
ALL_NODES = 0xFFFFFFFF
_RAN = (JobState.RUNNING, JobState.SUSPENDED)
GRES = ("cpus_per_tres", "tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task", "mem_per_tres")
# what makes another request of a waiting job
_REQUEST = frozenset({
    "min_nodes", "max_nodes", "num_tasks", "cpus_per_task", "ntasks_per_node", "pn_min_memory", "mem_per_cpu", "shared",
    "min_cpus", "pn_min_cpus", "features", "prefer", "req_nodes", "exc_nodes", "contiguous", "req_switch",
    "wait4switch", "sockets_per_node", "cores_per_socket", "threads_per_core", "pn_min_tmp_disk", *GRES,
})  # fmt: skip
_SUB = {
    "account": "account", "qos": "qos", "reservation": "reservation", "licenses": "licenses", "deadline": "deadline",
    "name": "name",
}  # fmt: skip


class Update:
    """One update of one record, as far as it has been looked at."""

    def __init__(self, cluster: LiveCluster, record: Record, job: Mapping[str, Any], person: Person) -> None:
        self.cluster, self.record, self.person = cluster, record, person
        self.live = record.first
        self.core: Job = record.first.core
        self.asked = {key: value for key, value in job.items() if value is not None}
        self.operator = cluster.database.is_operator(person)
        self.pending, self.runs = self.core.state == JobState.PENDING, self.core.state in _RAN
        self.new: dict[str, Any] = {}
        self.facts: list[Callable[[int], Fact]] = []
        self.tres_changed = False
        self.tres_before: dict[str, int] = {}
        self.ranks = False  # the way out leads past the end of an update, also where it is refused

    def get(self, name: str) -> Any:
        """Return what is asked for a field; None leaves it."""
        return self.asked.get(name)

    def present(self, name: str) -> Any:
        """Return what the job asked for."""
        return self.live.asked.get(name)

    def set(self, *names: str) -> None:
        """Note new values of fields."""
        for name in names:
            if name in self.asked:
                self.new[name] = self.asked[name]

    def need_pending(self) -> None:
        """Refuse what only waiting jobs can be given."""
        if not self.pending:
            raise Refusal(NOT_PENDING)

    def need_operator(self) -> None:
        """Refuse what only operators may do."""
        if not self.operator:
            raise Refusal(DENIED, 2002)

    def submission_of(self, core: Job) -> Submission:
        """Return the job's submission with what has been noted. Raises SubmitError."""
        new = self.new
        changes: dict[str, Any] = {field: new[name] or type(getattr(core.sub, field) or "")()
                                   for name, field in _SUB.items() if name in new and name != "deadline"}  # fmt: skip
        if "deadline" in new:
            changes["deadline"] = new["deadline"]
        if "partition" in new:
            changes["partitions"] = tuple(filter(None, new["partition"].split(",")))
        if "time_min" in new:
            changes["time_min_s"] = new["time_min"] * 60 or None
        if "begin_time" in new:
            changes["begin"] = int(new["begin_time"])
        if "requeue" in new and not self.live.asked.get("allocate"):
            changes["requeue"] = bool(new["requeue"])
        if not _REQUEST.isdisjoint(new):
            asked = {**self.live.asked, **new}
            request = changes["request"] = serving(self.cluster, resources(asked), asked)
            if core.sub.profile is not None and (request.min_nodes, request.max_nodes) != (
                core.sub.request.min_nodes, core.sub.request.max_nodes
            ):  # fmt: skip
                raise Refusal(SIZED)
        # another default since then is for other jobs
        changes.setdefault("account", core.sub.account or core.account)
        changes.setdefault("qos", core.sub.qos or core.qos)
        return replace(core.sub, exempt=self._exempt(core), **changes)

    def _exempt(self, core: Job) -> str:
        """Return the resources that are exempt from limits: an operator changed them, and no other user since."""
        request, new = core.sub.request, self.new
        changed = {
            "cpu": new.get("min_cpus", request.min_cpus) != request.min_cpus or "max_cpus" in self.asked,
            "node": any(new.get(name, (now := getattr(request, name))) != now for name in ("min_nodes", "max_nodes")),
            "mem": new.get("pn_min_memory") is not None,
            "time": "time_limit" in new,
        }
        touched = {name for name, is_changed in changed.items() if is_changed}
        present = set(filter(None, core.sub.exempt.split(",")))
        return ",".join(sorted(present | touched if self.operator else present - touched))

    def test(self) -> None:
        """Have the core look at what has been noted. Raises Refusal with Slurm's text."""
        controller = self.cluster.controller
        moved = not {"partition", "account", "qos"}.isdisjoint(self.new)
        try:
            found = controller.job_alterations.probe(self.core, self.submission_of(self.core))
            if moved and controller.access.closed and controller.state.enforce.limits and not self.operator:
                controller.access.refuse(found.partitions, found.bars)
        except SubmitError as error:
            raise Refusal(error.text) from None

    # -- doing it -----------------------------------------------------------------------------------------------------

    def apply(self) -> None:
        """Tell the core, and keep what it need not know. Raises Refusal."""
        cluster, network = self.cluster, self.cluster.network
        alters = not (_REQUEST | set(_SUB) | {"partition", "time_min", "begin_time"}).isdisjoint(self.new)
        facts: list[Fact] = []
        for live in self.record.jobs:
            core = live.core
            lifts = self.pending and self._exempt(core) != core.sub.exempt
            if lifts or (alters and (self.pending or "licenses" in self.new)):
                facts.append(AlterJob(core.id, self.submission_of(core)))
            facts += [make(core.id) for make in self.facts]
        already = len(network.refused_edits)
        changed = {**self.live.asked, **self.new}
        for live in self.record.jobs:
            live.asked = changed
            if "requeue" in self.new and not live.asked.get("allocate"):
                live.core.sub.requeue = bool(self.new["requeue"])
        network.tell(cluster.now, facts)
        refused = network.refused_edits[already:]
        del network.refused_edits[already:]
        if refused:
            raise Refusal(refused[0][1].partition(" for job ")[0])


class Done(Refusal):
    """Nothing more is looked at, and nothing is wrong."""

    def __init__(self) -> None:
        super().__init__("No error")
