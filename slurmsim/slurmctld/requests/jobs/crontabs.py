"""scrontab: the tables of users, and the jobs that recur by them.

Mirrors crontab_submit and the requests about crontabs (cron.c, 24.11). A new table is taken whole or not at all: the
jobs of a table that is refused are gone as if they had never been, though their ids are used up. Once it is taken, the
jobs of the table before it that wait are cancelled with exit code 0:1, and those that run do not recur.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from slurmsim.core.records.messages import Cancel
from slurmsim.cron import Cron, CronError, of
from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.fields.job_fields import waits_for
from slurmsim.slurmctld.fields.last_sched_eval import looked_last
from slurmsim.slurmctld.requests.jobs.recurring import recurs, stop, words
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.requests.submit.submissions import Submissions

BAD_USER = ("Invalid user id", 2010)
REPLACED = "0:1"
_NOT_ASKED = {"array_inx": None, "allocate": False, "requeue": 1, "user_name": None, "group_id": None}
"""What a line of a table cannot ask for."""


class Crontabs:
    """The requests about tables.

    Parameters
    ----------
    forget
        Told of jobs that were never to be seen.
    """

    CHANGES = frozenset({"update_crontab", "remove_crontab"})

    def __init__(
        self, cluster: LiveCluster, submissions: Submissions, forget: Callable[[Sequence[LiveJob]], None]
    ) -> None:
        self._cluster, self._submissions, self._forget = cluster, submissions, forget

    def calls(self) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
        """Return the requests by name."""
        return {"crontab": self.show, "update_crontab": self.update, "remove_crontab": self.remove}

    def show(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """Return a user's table; None where there is none. Raises Refusal."""
        return {"crontab": self._cluster.crontabs.get(self._owner(arguments, person).uid)}

    def remove(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """No table any more, and no jobs of it. Raises Refusal."""
        owner = self._owner(arguments, person)
        self._cluster.crontabs.pop(owner.uid, None)
        self._end(self._jobs_of(owner))
        return {}

    def update(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """Take a new table; return which lines were refused, and why, if any were. Raises Refusal."""
        owner, cluster = self._owner(arguments, person), self._cluster
        entries = [(entry, _times(entry["spec"])) for entry in arguments["jobs"]]
        before, made = self._jobs_of(owner), list[LiveJob]()
        for entry, times in entries:
            lines = (int(entry["first"]), int(entry["last"]))
            begin = times.next_after(cluster.now)
            request = {**entry["job"], "begin_time": begin, **_NOT_ASKED}
            try:
                job_id = self._submissions.recurring(request, owner, times.text, lines)
            except Refusal as refusal:
                self._undo(made)
                *notes, text = refusal.text.split("\n")
                return {"refused": text, "notes": "\n".join(notes) or None, "lines": lines}
            live = cluster.job_table.shown(job_id)
            assert live is not None
            made.append(live)
        cluster.crontabs[owner.uid] = str(arguments["crontab"])
        self._end(before)
        return {}

    def _owner(self, arguments: dict[str, Any], person: Person) -> Person:
        """Return the owner of the table: `person`, or any user if the cluster's owner or root asks. Raises Refusal."""
        if "enable" not in words(self._cluster):
            raise Refusal("Requested operation is presently disabled")
        name = arguments.get("user")
        if name is None or name == person.name:
            return person
        if person.uid not in (0, self._cluster.owner):
            raise Refusal(*BAD_USER)
        return self._cluster.people.by_name(str(name))

    def _jobs_of(self, owner: Person) -> list[LiveJob]:
        found = self._cluster.jobs.values()
        return [live for live in found if live.person.uid == owner.uid and recurs(live) and not live.over]

    def _end(self, jobs: Sequence[LiveJob]) -> None:
        """End these jobs: their table is gone."""
        cluster = self._cluster
        waits = [live for live in jobs if live.core.state == JobState.PENDING]
        waited = [(live, waits_for(live, cluster), looked_last(live, cluster)) for live in waits]
        for live in jobs:
            stop(live)
        cluster.network.tell(cluster.now, [Cancel(live.core.id) for live in waits])
        for live, reason, scheduler in waited:
            live.core.exit_code, live.core.reason, live.core.scheduler = REPLACED, reason, scheduler

    def _undo(self, jobs: Sequence[LiveJob]) -> None:
        """Undo these jobs, so that they are never seen."""
        for live in jobs:
            stop(live)
        self._cluster.network.tell(self._cluster.now, [Cancel(live.core.id) for live in jobs])
        self._forget(jobs)


def _times(text: object) -> Cron:
    """Return the times of a request. Raises Refusal."""
    try:
        found = of(str(text))
    except CronError:
        raise Refusal("Invalid argument") from None
    if found.next_after(0) is None:
        raise Refusal("Invalid argument")
    return found
