"""scancel: jobs end, or a signal is passed on to what runs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from slurmsim.core.records.messages import Cancel
from slurmsim.protocol import DENIED, INVALID_JOB, Refusal
from slurmsim.slurmctld.base import het_jobs
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.fields.job_fields import waits_for
from slurmsim.slurmctld.fields.last_sched_eval import looked_last
from slurmsim.slurmctld.processes import steps
from slurmsim.slurmctld.processes.signals import signal_jobs
from slurmsim.slurmctld.requests.jobs import array_cancel, recurring
from slurmsim.slurmctld.requests.jobs.rights import is_stranger
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

CHANGES = frozenset({"kill"})
OVER = "Job/step already completing or completed"


NOT_NOW = "Job can not be altered now, try again later"


def calls(cluster: LiveCluster) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
    """Return the request by name."""
    return {"kill": partial(_kill, cluster)}


def _kill(cluster: LiveCluster, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
    """scancel; that it was asked for is news to backfill, also where it is refused (job_str_signal)."""
    try:
        return _cancel(cluster, arguments, person)
    except Refusal:
        if arguments.get("step") is None:
            cluster.network.asked_for_jobs()
        raise


def _cancel(cluster: LiveCluster, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
    """Cancel one job, an array, or tasks of it; other signals go to what really runs.

    What waits hears none: for slurmctld it is on its way to a state in which it could.
    """
    name, step = str(arguments["job_id"]), arguments.get("step")
    found = het_jobs.whole(cluster.job_table, cluster.job_table.find(name))
    number = arguments.get("signal")
    signalled = number not in (None, signal.SIGKILL) or bool(arguments.get("batch"))
    if arguments.get("admin_comment") is not None:
        _comment(cluster, found, str(arguments["admin_comment"]), person)
    alive = _check(cluster, arguments, person, found, signalled)
    if step is not None:
        if not steps.cancel(cluster, alive, int(step), number, person.uid):
            raise Refusal(INVALID_JOB, 2017)
        return {}
    recurring.check_cancel(cluster, alive, said=bool(arguments.get("cron")))
    recurring.disable(cluster, alive)  # whatever the signal
    running = False
    if signalled:
        number = signal.SIGKILL if number is None else int(number)
        unheard_of = _signal(cluster, arguments, found, alive, number)
        if number != signal.SIGKILL or not unheard_of:
            return {}
        running, alive = len(alive) > len(unheard_of), unheard_of  # jobs that do not run are cancelled
    waits = any(live.core.state == JobState.PENDING and not het_jobs.leads(live) for live in alive)
    if len(found) == 1 and waits and not arguments.get("ctld"):  # --ctld ends one waiting component alone
        raise Refusal(*het_jobs.NOT_WHOLE)
    _end(cluster, alive, person, whole="_" not in name and not running)
    return {}


def _comment(cluster: LiveCluster, found: Sequence[LiveJob], text: str, person: Person) -> None:
    """Note why an administrator cancels jobs, also those that are over or do not hear a signal. Raises Refusal."""
    if not cluster.database.is_administrator(person):
        raise Refusal("Invalid user id", 2010)
    for live in found:
        live.asked = {**live.asked, "admin_comment": text}


def _check(
    cluster: LiveCluster, arguments: dict[str, Any], person: Person, found: Sequence[LiveJob], signalled: bool
) -> list[LiveJob]:
    """Return those of `found` that are not over. Raises Refusal, in slurmctld's order."""
    name, step = str(arguments["job_id"]), arguments.get("step")
    if not found:
        if step is None and array_cancel.is_of_another(cluster, name, person):
            raise Refusal(DENIED, 2002)
        raise Refusal(INVALID_JOB, 2017)
    alive = [live for live in found if not live.over]
    if not alive and (signalled or step is not None):  # a script or a step that is gone, of any user
        raise Refusal(INVALID_JOB, 2017)
    if not alive and arguments.get("ctld"):
        raise Refusal(OVER, 2021)  # of any user: slurmctld filters before it checks rights
    if any(is_stranger(cluster, person, live) for live in found):
        raise Refusal(DENIED, 2002) if step is None else Refusal("Invalid user id", 2010)
    if step is None and array_cancel.is_unheard(cluster, name, found[0]):
        raise Refusal(INVALID_JOB, 2017)
    if not alive:
        raise Refusal(OVER, 2021)
    return alive


def _signal(
    cluster: LiveCluster, arguments: dict[str, Any], found: Sequence[LiveJob], alive: list[LiveJob], number: int
) -> list[LiveJob]:
    """Signal what runs; return those of `alive` that do not run. Raises Refusal."""
    kills = number == signal.SIGKILL
    if not kills and all(live.core.state == JobState.PENDING for live in alive):
        raise Refusal(NOT_NOW, 2020)
    unheard_of = [live for live in alive if live.core.state != JobState.RUNNING]
    signal_jobs(cluster, alive, number, bool(arguments.get("batch")), bool(arguments.get("full")))
    if not kills and _has_waiting_record(found):
        raise Refusal(NOT_NOW, 2020)
    return unheard_of


def _end(cluster: LiveCluster, alive: list[LiveJob], person: Person, *, whole: bool) -> None:
    """Cancel these jobs; `whole` arrays with them."""
    waits = [live for live in alive if live.core.state == JobState.PENDING]
    waited = {live: (waits_for(live, cluster), looked_last(live, cluster)) for live in waits}
    array_cancel.take_out(cluster, alive, whole=whole)
    for live in alive:
        live.cancelled_by = person.uid
    cluster.network.tell(cluster.now, [Cancel(live.core.id) for live in alive])
    for live, (reason, scheduler) in waited.items():
        if live.over:
            live.core.reason, live.core.scheduler = reason, scheduler  # slurmctld leaves them as they were


def _has_waiting_record(jobs: Sequence[LiveJob]) -> bool:
    """Return True if the jobs are of an array that still has a pending record for tasks that were not split off.

    A client that signals any task then gets the error of that record, though the task got the signal (job_str_signal).
    """
    array = jobs[0].array
    return array is not None and any(live.core.state == JobState.PENDING for live in array.unsplit())
