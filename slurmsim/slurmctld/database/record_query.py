"""What selects rows of accounting: `slurmdb_job_cond_t` as tests of a record, and as far as SQL can tell as SQL.

The tests decide; the SQL only spares reading rows that cannot meet them. Mirrors as_mysql_jobacct_process.c (22.05).
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from slurmsim.hostlist import expand
from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.job_record import JobRecord
from slurmsim.slurmctld.base.submit_request import MOST_NAMES
from slurmsim.slurmctld.database.record_rows import encodable
from slurmsim.states import JobState

Test = Callable[[JobRecord], bool]
_TEXTS = (("accounts", "account", "account"), ("names", "name", "job_name"), ("partitions", "partition", "partition"),
          ("qos", "qos", "qos"))  # fmt: skip
_NUMBERS = (("uids", "uid", "id_user"), ("gids", "gid", "id_group"), ("associations", "assoc_id", "id_assoc"))
_MOST = (1 << 63) - 1
_LARGEST_ID = (1 << 52) - 1  # SLUIDs are larger: they have the cluster's number above


def words(value: Any) -> set[str]:
    """Return the words of an option, in small letters."""
    if not value:
        return set()
    return {word.strip().lower() for word in (value.split(",") if isinstance(value, str) else value)}


# -- as tests ---------------------------------------------------------------------------------------------------------


def conditions(cond: Mapping[str, Any]) -> list[Test]:
    """Return what a row must meet. Texts compare without regard to case, as the database's do."""
    found: list[Test] = []
    for key, attribute, _ in _TEXTS:
        if cond.get(key):
            found.append(_one_of(attribute, cond[key]))
    if cond.get("wckeys"):
        wanted = {str(key).lower() for key in cond["wckeys"]}
        found.append(lambda r: str(r.asked.get("wckey") or "").lower() in wanted)
    for key, attribute, _ in _NUMBERS:
        if cond.get(key) is not None:
            found.append(_number_of(attribute, cond[key]))
    if cond.get("reasons"):
        found.append(_one_of("reason", cond["reasons"]))
    if cond.get("constraints"):
        parts = [str(part).lower() for part in cond["constraints"]]
        found.append(lambda r: all(p in (r.constraints or "").lower() if p else not r.constraints for p in parts))
    if cond.get("flags"):
        flags = set(cond["flags"])
        found.append(lambda r: bool(flags & set(r.flags)))
    if cond.get("jobs"):
        found.append(_chosen(cond["jobs"]))
    return found + _ranges(cond) + _window(cond)


def on_nodes(cond: Mapping[str, Any]) -> Test | None:
    """Return the test of the nodes a job must have had one of; None for any. Raises Refusal."""
    nodes = nodes_of(cond)
    return (lambda r: bool(r.start) and not nodes.isdisjoint(expand(r.nodes))) if nodes else None


def nodes_of(cond: Mapping[str, Any]) -> set[str]:
    """Return the nodes of which jobs, and their steps, must have had one; empty for any. Raises Refusal."""
    try:
        return set(expand(cond.get("nodes") or "", MOST_NAMES))
    except ValueError:
        raise Refusal("Invalid argument", errno.EINVAL) from None


def _one_of(attribute: str, wanted: Iterable[Any]) -> Test:
    found = {str(word).lower() for word in wanted}
    return lambda r: str(getattr(r, attribute)).lower() in found


def _number_of(attribute: str, wanted: Iterable[Any]) -> Test:
    numbers = {int(number) for number in wanted}
    return lambda r: getattr(r, attribute) in numbers


def _chosen(jobs: Iterable[Any]) -> Test:
    """Jobs by id (of an array: all its tasks), tasks by array and index."""
    whole, tasks = chosen_ids(jobs)
    return lambda r: (
        r.job_id in whole or r.db_index in whole or r.array_job_id in whole
        or (r.array_task_id is not None and (r.array_job_id, r.array_task_id) in tasks)
    )  # fmt: skip


def has_sluids(jobs: Iterable[int]) -> bool:
    """Return True if any number is a SLUID's, larger than any job's."""
    return any(number > _LARGEST_ID for number in jobs)


def chosen_ids(jobs: Iterable[Any]) -> tuple[set[int], set[tuple[int, int]]]:
    """Ids of jobs and arrays, and (array, task)."""
    pairs = [(int(one[0]), one[1]) for one in jobs]
    return {job for job, task in pairs if task is None}, {(job, int(task)) for job, task in pairs if task is not None}


def _ranges(cond: Mapping[str, Any]) -> list[Test]:
    found: list[Test] = []
    values: dict[str, Callable[[JobRecord], int | None]] = {
        "cpus": lambda r: r.tres_alloc.get("cpu", 0),
        "n_nodes": lambda r: r.alloc_nodes,
        "time_limit": lambda r: r.time_limit,
    }
    for key, value in values.items():
        if cond.get(key):
            found.append(_in_range(value, *cond[key]))
    return found


def _in_range(value: Callable[[JobRecord], int | None], low: int, high: int | None) -> Test:
    def test(record: JobRecord) -> bool:
        found = value(record)
        if found is None:
            return False
        return low <= found <= high if high else found == low

    return test


def _window(cond: Mapping[str, Any]) -> list[Test]:
    """States at some time of the window, or who was eligible in it."""
    start, end = int(cond.get("start") or 0), int(cond.get("end") or 0)
    states = cond.get("states")
    if states:
        return [lambda r: any(_was(r, state, start, end) for state in states)]
    if cond.get("jobs"):
        return [lambda r: r.submit < end and (r.end >= start or not r.end)]
    return [lambda r: bool(r.eligible) and (r.eligible or 0) < end and (r.end >= start or not r.end)]


def _was(record: JobRecord, state: str, start: int, end: int) -> bool:
    if state == JobState.PENDING:
        if not record.eligible or record.eligible >= end:
            return False
        if record.start:
            return start < record.start
        return start < record.end if record.end else record.state == JobState.PENDING
    if state == JobState.RUNNING:
        over = start < record.end if record.end else record.state == JobState.RUNNING
        return bool(record.start) and over and end > record.start
    if state == JobState.SUSPENDED:
        return record.state == JobState.SUSPENDED or record.suspended > 0
    return record.state == state and bool(record.end) and start <= record.end <= end


# -- as SQL -----------------------------------------------------------------------------------------------------------


class Sql:
    """A condition under way: terms that all must hold, and their values."""

    def __init__(self) -> None:
        self.terms: list[str] = []
        self.values: list[Any] = []

    def add(self, term: str, *values: Any) -> None:
        """One more term; numbers no column can hold are brought to the nearest that it can."""
        self.terms.append(term)
        self.values += (_held(value) for value in values)

    @property
    def text(self) -> str:
        return " AND ".join(f"({term})" for term in self.terms) or "TRUE"


def _held(value: Any) -> Any:
    return max(-_MOST - 1, min(value, _MOST)) if isinstance(value, int) else value


def _numbers(numbers: Iterable[int]) -> str:
    """Return whole numbers as a list for ``IN``, without numbers that no column can hold."""
    return ",".join(str(number) for number in sorted(numbers) if -_MOST <= number <= _MOST)


def sql(cond: Mapping[str, Any]) -> Sql:
    """Return what rows that meet `conditions` of `cond` have in common, as far as plain columns tell."""
    found = Sql()
    for key, _, column in _TEXTS:
        if cond.get(key):
            wanted = sorted({encodable(str(word).lower()) for word in cond[key]})
            found.add(f"lowered({column}) IN ({','.join('?' * len(wanted))})", *wanted)
    for key, _, column in _NUMBERS:
        if cond.get(key) is not None:
            found.add(f"{column} IN ({_numbers(int(number) for number in cond[key])})")
    if cond.get("jobs"):
        whole, tasks = chosen_ids(cond["jobs"])
        arrays = _numbers(whole | {array for array, _ in tasks})
        if 0 not in whole and not has_sluids(whole):  # the array of jobs that are in none
            found.add(f"id_job IN ({_numbers(whole)}) OR (id_array_job <> 0 AND id_array_job IN ({arrays}))")
    _add_window(found, cond)
    return found


def _add_window(found: Sql, cond: Mapping[str, Any]) -> None:
    start, end = int(cond.get("start") or 0), int(cond.get("end") or 0)
    states = cond.get("states")
    if states:
        terms, values = [], []
        for state in states:
            term, *more = _was_sql(str(state), start, end)
            terms.append(term)
            values += more
        found.add(" OR ".join(f"({term})" for term in terms), *values)
        return
    found.add("time_submit < ?" if cond.get("jobs") else "time_eligible < ?", end)
    found.add("time_end >= ? OR time_end = 0", start)


def _was_sql(state: str, start: int, end: int) -> tuple[Any, ...]:
    if state == JobState.PENDING:
        return "time_eligible < ? AND (time_start > ? OR time_start = 0)", end, start
    if state == JobState.RUNNING:
        return "time_start <> 0 AND time_start < ? AND (time_end > ? OR time_end = 0)", end, start
    if state == JobState.SUSPENDED:
        return "state = ? OR time_suspended > 0", str(JobState.SUSPENDED)
    return "state = ? AND time_end BETWEEN ? AND ?", encodable(state), start, end
