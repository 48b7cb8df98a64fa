"""Every job and array task of a cluster's life, also those slurmctld has forgotten: for programs that play with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from itertools import islice
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from slurmsim.json_text import loads
from slurmsim.slurmctld.base.live_job import LiveJob, Row
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.base.private_data import job_filter
from slurmsim.slurmctld.fields.job_fields import FIELDS

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

CHANGES: frozenset[str] = frozenset()
SHOWN = (
    "job_id", "array_job_id", "array_task_id", "name", "user_id", "user_name", "account", "partition", "qos",
    "job_state", "state_reason", "submit_time", "eligible_time", "start_time", "end_time", "time_limit", "nodes",
    "num_nodes", "num_cpus", "num_tasks", "priority", "exit_code", "restart_cnt", "dependency", "work_dir", "std_out",
    "std_err", "comment",
)  # fmt: skip
"""What is told of jobs that slurmctld has forgotten; of others every field of a job."""
OWNER = ("user_id", "account")
_PLACES = {name: k for k, name in enumerate(SHOWN)}


def calls(cluster: LiveCluster) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
    return {"every_job": lambda arguments, person: every_job(cluster, arguments, person)}


def shown_of(cluster: LiveCluster, live: LiveJob) -> list[Any]:
    """Return the values of `SHOWN` for a job that is about to be forgotten."""
    row = Row(live)
    return [FIELDS[name](row, cluster) for name in SHOWN]


def every_job(cluster: LiveCluster, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
    """Columns of all jobs that the user sees, in order of submission; ``job_id``: of that one, or of an array's tasks.

    ``most`` limits the rows of an answer; ``further`` is what to ask ``after`` then, None where nothing is left.
    ``newest`` leaves out all but the last so many places of the job table.
    """
    fields = [str(name) for name in arguments["fields"]]
    after = int(arguments["after"]) if arguments.get("after") is not None else -1
    if arguments.get("newest") is not None:
        after = max(after, cluster.job_table.place - int(arguments["newest"]) - 1)
    wanted = None if arguments.get("job_id") is None else int(arguments["job_id"])
    most = None if arguments.get("most") is None else max(1, int(arguments["most"]))
    sees = job_filter(cluster, person)
    found = _rows(cluster, [*fields, *OWNER], after, wanted)
    found = ((place, values) for place, values in found if sees is None or sees(*values[len(fields) :]))
    rows = list(found if most is None else islice(found, most))
    further = rows[-1][0] if most is not None and len(rows) == most else None
    columns = {name: [values[k] for _, values in rows] for k, name in enumerate(fields)}
    return {"now": cluster.now, "n": len(rows), "columns": columns, "further": further}


def _rows(cluster: LiveCluster, fields: list[str], after: int, wanted: int | None) -> Iterator[tuple[int, list[Any]]]:
    """Place in the job table, and the values of `fields`."""
    store = cluster.storage.store
    getters = [FIELDS.get(name) for name in fields]
    places = [_PLACES.get(name) for name in fields]

    def of_shown(place: int, shown: Any) -> tuple[int, list[Any]]:
        return place, [None if at is None else shown[at] for at in places]

    def of_living(live: LiveJob) -> tuple[int, list[Any]]:
        row = Row(live)
        return live.order, [None if get is None else get(row, cluster) for get in getters]

    if wanted is None:
        written = store.shown(after)
        lives = list(cluster.network.live.values())
    else:
        number = max(min(wanted, (1 << 63) - 1), -1)
        written = store.shown(after, "(id_job = ? OR id_array_job = ?)", (number, number))
        lives = [live for live in cluster.job_table.lives_of({wanted}) if live.core.id in cluster.network.live]
    waiting = [of_shown(place, shown) for place, record, shown in store.waiting_shown()
               if place > after and wanted in (None, record.job_id, record.array_job_id)]  # fmt: skip
    lives = sorted((live for live in lives if live.order > after), key=attrgetter("order"))
    first = itemgetter(0)
    return merge(
        (of_shown(place, loads(text)) for place, text in written), sorted(waiting, key=first),
        map(of_living, lives), key=first,
    )  # fmt: skip
