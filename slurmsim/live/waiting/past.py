"""What came to a cluster and how long it ran: the newest jobs, from its daemon or, where none runs, from its files."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from slurmsim.data_classes import dataclass
from slurmsim.errors import OutputError
from slurmsim.input_file import read_bytes
from slurmsim.json_text import loads
from slurmsim.protocol import Client
from slurmsim.slurmctld.fields.every_job import SHOWN
from slurmsim.slurmctld.history.history import ACCOUNTING
from slurmsim.states import JobState

NEWEST = 2_000
BEFORE = "before.json"  # in the folder of a cluster that is another's twin: jobs of that one's past
FIELDS = ("user_name", "account", "partition", "qos", "job_state", "submit_time", "start_time", "end_time",
          "time_limit", "num_nodes", "num_cpus")  # fmt: skip
_RAN = frozenset({JobState.COMPLETED, JobState.FAILED, JobState.TIMEOUT, JobState.OUT_OF_MEMORY})
_MINUTE = 60


@dataclass(frozen=True, slots=True)
class Known:
    """A job of the past.

    Times are seconds since the epoch; `used` is the part of its limit that it ran, None where that is not known.
    """

    user: str
    account: str
    partition: str
    qos: str
    submit: int
    limit_min: int
    nodes: int
    cpus: int
    used: float | None


def newest(folder: Path, *, running: bool) -> list[Known]:
    """Return the last jobs of the cluster in `folder`, by submission. Raises Unreachable.

    `running`: its daemon is asked; else its files are read.
    """
    rows = _asked(folder) if running else _read(folder)
    found = [*_kept(folder), *filter(None, map(_known, rows))]
    return sorted(found, key=lambda job: job.submit)


def keep(folder: Path, jobs: Sequence[Known]) -> None:
    """Keep the past of a cluster before its own first instant, for `newest`. Raises OutputError."""
    try:
        (folder / BEFORE).write_text(json.dumps([list(astuple(job)) for job in jobs]), "utf-8")
        (folder / BEFORE).chmod(0o600)
    except OSError as error:
        raise OutputError(f"{folder / BEFORE}: {error.strerror}") from None


def _kept(folder: Path) -> list[Known]:
    """Return what `keep` has written; none where it was not, or is damaged."""
    try:
        return [Known(*row) for row in loads(read_bytes(folder / BEFORE))]
    except (OSError, ValueError, TypeError):
        return []


def _asked(folder: Path) -> list[tuple[Any, ...]]:
    client = Client(str(folder), timeout_s=60.0)
    try:
        columns = client.call("every_job", fields=list(FIELDS), newest=NEWEST)["columns"]
    finally:
        client.close()
    return list(zip(*(columns[name] for name in FIELDS), strict=True))


def _read(folder: Path) -> list[tuple[Any, ...]]:
    file = folder / ACCOUNTING
    if not file.is_file():
        return []
    places = [SHOWN.index(name) for name in FIELDS]
    connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
    try:
        found = connection.execute(
            "SELECT shown FROM job WHERE shown IS NOT NULL ORDER BY place DESC LIMIT ?", (NEWEST,)
        )
        return [tuple(loads(text)[at] for at in places) for (text,) in found]
    except (sqlite3.Error, ValueError, IndexError, TypeError):  # damaged: the next start puts it aside
        return []
    finally:
        connection.close()


def _known(row: tuple[Any, ...]) -> Known | None:
    user, account, partition, qos, state, submit, start, end, limit, nodes, cpus = row
    if not limit or limit < 0 or not submit:
        return None
    used = None
    if state in _RAN and start and end and end >= start:
        used = min(1.0, (end - start) / (limit * _MINUTE))
    return Known(user, account or "", partition, qos or "", submit, limit, int(nodes or 1), int(cpus or 1), used)
