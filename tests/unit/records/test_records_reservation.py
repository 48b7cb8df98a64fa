"""A field of a reservation is a row: each room has it from there."""

from __future__ import annotations

from slurmsim.commands.json import small_records as document
from slurmsim.commands.scontrol.keywords import keyword_of
from slurmsim.records.reservation import RESERVATION
from slurmsim.rest import controller_writing
from slurmsim.slurmctld.fields import reservation_fields
from slurmsim.slurmctld.requests.shapes import requests as request_shapes


def test_names_are_given_once() -> None:
    for values in ([row.name for row in RESERVATION], [row.json for row in RESERVATION if row.json]):
        assert len(values) == len(set(values))


def test_every_kind_is_known_where_it_is_met() -> None:
    assert {row.kind for row in RESERVATION if row.update} <= request_shapes._OF_KINDS.keys()
    bodies = {row.kind for row in controller_writing._BODY.values()}
    assert bodies <= controller_writing._OF_RESERVATIONS.keys() & controller_writing._DESCRIBED.keys()
    composed = {one.key for group in document._COMPOSED.values() for one in group}
    assert {row.kind for row in RESERVATION if row.json and row.json not in composed} <= document._KINDS.keys()


def test_what_is_shown_is_told() -> None:
    assert {row.name for row in RESERVATION if row.shown} <= reservation_fields.RESERVATION_FIELDS.keys()


def test_a_keyword_has_its_releases() -> None:
    """Comment came with 24.11 (24.05 of Slurm), Watts went with it."""
    for word in ("Comment", "Watts"):
        words = [keyword_of(RESERVATION, word.lower(), release) for release in ("22.05", "24.11", "26.05")]
        found = [one and one.name for one in words]
        assert found == ([None, word, word] if word == "Comment" else [word, None, None])
