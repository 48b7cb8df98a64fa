"""A field of a job's request is a row: shapes, what sbatch copies, what the job tells and bodies have it from there."""

from __future__ import annotations

from slurmsim.records.job import CARRIED
from slurmsim.records.request import REQUEST
from slurmsim.rest import job_description
from slurmsim.slurmctld.fields import job_fields
from slurmsim.slurmctld.requests.shapes import jobs


def test_names_are_given_once_and_in_order() -> None:
    names = [row.name for row in REQUEST]
    assert names == sorted(set(names)) and not set(names) & {row.name for row in CARRIED}
    places = [row.json for row in (*REQUEST, *CARRIED) if row.json]
    assert len(places) == len(set(places))


def test_every_kind_is_known_where_it_is_met() -> None:
    assert {row.kind for row in REQUEST} - {"own"} <= jobs._KINDS.keys()
    assert {row.name for row in REQUEST if row.kind == "own"} == jobs._OWN.keys()
    read = {row.kind for row in REQUEST if row.body and row.json not in job_description._OWN}
    assert read <= job_description._KINDS.keys()


def test_what_is_told_has_a_getter() -> None:
    assert {row.name for row in REQUEST if row.shown} <= job_fields.FIELDS.keys()


def test_a_new_field_is_a_row(more_rows: dict[str, object]) -> None:
    """It is copied by sbatch, read and described by REST, checked at the door, kept and told by the job."""
    assert more_rows["request"] == {
        "copied": True, "body": {"pace": 3}, "told": [3],
        "described": {"$ref": "#/components/schemas/v0.0.45_uint32_no_val_struct"},
        "refused": "'job'.'pace': expected a whole number from 0 to 4294967295",
    }  # fmt: skip
