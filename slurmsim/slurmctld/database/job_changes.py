"""``sacctmgr modify job``: what users and operators change in rows of jobs after the fact.

A change is kept beside the row, by the row's id, so that rows of jobs that are forgotten need not be written again.
Mirrors as_mysql_modify_job (as_mysql_job.c, 26.05); usage that was counted by the hour stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.job_record import JobRecord

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.people import Person

NO_CHANGE = "Data has not changed since time specified"
NOT_ALLOWED = "Access/permission denied"
OF_OPERATORS = ("admin_comment", "system_comment")
OF_REQUEST = ("extra", "wckey")  # what the job itself had asked for
KEPT_HERE = ("derived_es", "system_comment")  # what no row has by itself

Changes = dict[int, dict[str, Any]]
"""Id of a row -> what has been changed of it."""


def applied(changes: Mapping[int, Mapping[str, Any]], record: JobRecord) -> JobRecord:
    """Return a row as it is after its changes."""
    new = changes.get(record.db_index)
    if new is None:
        return record
    own = {name: new[name] for name in ("derived_ec", "admin_comment") if name in new}
    asked = {name: new[name] for name in OF_REQUEST if name in new}
    return replace(
        record, **own, asked={**record.asked, **asked}, tres_alloc=record.tres_alloc | new.get("tres", {}),
    )  # fmt: skip


def check(
    new: Mapping[str, Any], records: Iterable[JobRecord], person: Person, *, is_operator: bool
) -> list[JobRecord]:
    """Return the rows that `person` may change so. Raises Refusal."""
    if not new:
        raise Refusal(NO_CHANGE)
    if not is_operator and any(name in new for name in OF_OPERATORS):
        raise Refusal(NOT_ALLOWED)
    found = [record for record in records if record.db_index]
    if not found:
        raise Refusal(NO_CHANGE)
    if not is_operator and any(record.uid != person.uid for record in found):
        raise Refusal(NOT_ALLOWED)
    return found


def keep(changes: Changes, new: Mapping[str, Any], records: Iterable[JobRecord]) -> None:
    """Take note of a change of these rows."""
    for record in records:
        kept = changes.setdefault(record.db_index, {})
        kept |= {name: value for name, value in new.items() if name != "tres"}
        if "tres" in new:
            kept["tres"] = {**kept.get("tres", {}), **new["tres"]}


def columns(changes: Mapping[int, Mapping[str, Any]], records: Sequence[JobRecord]) -> dict[str, list[Any]]:
    """Return what rows have by changes only, a list a field."""
    return {name: [changes.get(record.db_index, {}).get(name) for record in records] for name in KEPT_HERE}


def told(record: JobRecord) -> dict[str, Any]:
    """Return what sacctmgr tells of a changed row."""
    return {"job_id": record.job_id, "submit": record.submit}
