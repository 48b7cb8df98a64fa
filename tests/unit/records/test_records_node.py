"""A field of a node is a row: each room has it from there."""

from __future__ import annotations

import dataclasses

from slurmsim.commands.json import node as document
from slurmsim.model.node import NodeSpec
from slurmsim.records.node import NODE
from slurmsim.rest import controller_writing
from slurmsim.slurmctld.fields import node_fields
from slurmsim.slurmctld.requests.cluster import nodes
from slurmsim.slurmctld.requests.shapes import requests as request_shapes


def test_names_are_given_once() -> None:
    for values in ([row.name for row in NODE], [row.json for row in NODE if row.json]):
        assert len(values) == len(set(values))


def test_attributes_are_those_of_the_model() -> None:
    assert {row.attribute for row in NODE if row.attribute} <= {field.name for field in dataclasses.fields(NodeSpec)}


def test_every_kind_is_known_where_it_is_met() -> None:
    composed = {one.key for group in document._COMPOSED.values() for one in group}
    assert {row.kind for row in NODE if row.json and row.json not in composed} <= document._KINDS.keys()
    assert {row.kind for row in NODE if row.update} <= request_shapes._OF_NODES.keys()
    assert {row.kind for row in NODE if row.update and row.body} <= controller_writing._OF_NODES.keys()


def test_what_is_shown_is_told() -> None:
    assert {row.name for row in NODE if row.shown} <= node_fields.NODE_FIELDS.keys()


def test_what_no_rule_changes_is_kept_beside() -> None:
    """Weight, features and GRES are the core's; a reason and a state have rules."""
    rest = {row.name for row in NODE if row.update} - set(nodes._TEXTS)
    assert rest == {"names", "weight", "features", "gres", "reason", "state"}


def test_a_new_field_is_a_row(more_rows: dict[str, object]) -> None:
    """It is set by scontrol and by both of REST's doors, checked, kept, told, shown as a line and described."""
    assert more_rows["node"] == {
        "set": [0, "", ""], "text": True, "then": "r7", "replayed": "r7", "body": [True, True],
        "refused": "'rack': expected a text of 0 to 131072 characters", "described": {"type": "string"},
    }  # fmt: skip
