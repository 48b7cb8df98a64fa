"""Submissions refused once they had a job id: slurmctld keeps them as FAILED jobs with the reason BadConstraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slurmsim.core.records.job import Job
from slurmsim.errors import SubmitError
from slurmsim.slurmctld.base.live_job import Array, LiveJob
from slurmsim.slurmctld.base.submit_request import array_tasks, submission
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person


def keep_rejected(
    cluster: LiveCluster, shown: int, asked: Mapping[str, Any], person: Person, order: int
) -> LiveJob | None:
    """Return the record of a job no node could ever run; None where not even that can be made."""
    controller = cluster.controller
    try:
        sub = submission(shown, asked, person.name, cluster.now, bool(cluster.spec.option("JobRequeue")))
        dependency, sub.dependency = cluster.job_table.core_ids(sub.dependency), ""
        sub.request = replace(sub.request, exclude=(), node_list=(), constraint="", prefer="")
        try:
            partitions, requests = controller.state.cluster.compiled(sub)
        except SubmitError:  # of a type of GRES no node has
            sub.request = replace(sub.request, gres=())
            partitions, requests = controller.state.cluster.compiled(sub)
        core = Job(sub, partitions, requests, cluster.now)
        if controller.accounting.accounts is not None:
            controller.accounting.accounts.admit(core, controller.state.rules)
        controller.waiting.set_time_limit(core)
        waits = sub.hold or bool(dependency and controller.eligibility.would_wait(core, dependency))
    except SubmitError:
        return None
    core.partition = sorted(partitions, key=lambda p: -p.tier)[-1]  # the last one that was tried
    core.priority = min(controller.priority.submit(core, cluster.now))
    core.state, core.reason, core.exit_code = JobState.FAILED, Reason.BAD_CONSTRAINTS, "0:1"
    core.end_time = cluster.now
    core.eligible_time = None if waits else max(sub.begin or 0, cluster.now)  # who waited for others never was
    if asked.get("array_inx"):
        return _array(core, shown, asked, person, order, int(cluster.spec.option("MaxArraySize")))
    live = LiveJob(asked, shown, person, order)
    live.core = core
    return live


def _array(core: Job, shown: int, asked: Mapping[str, Any], person: Person, order: int, most: int) -> LiveJob:
    """All tasks of an array as the one record they never left."""
    tasks, core.array_limit = array_tasks(str(asked["array_inx"]), most)
    array = Array(shown, str(asked["array_inx"]), order=order)
    members = tuple(LiveJob(asked, None, person, order, array, task) for task in tasks)
    for member in members:
        member.core = core
    first = members[0]
    first.record_of = members
    first.take_id(shown)
    array.tasks = dict.fromkeys(tasks, first)
    return first
