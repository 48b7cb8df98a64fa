"""A field of a partition is a row: each room has it from there."""

from __future__ import annotations

import dataclasses

import pytest

from slurmsim.commands.json import partition as document
from slurmsim.commands.scontrol import partitions as scontrol
from slurmsim.config.line_options import PARTITION_KEYS
from slurmsim.model.partition import PartitionSpec
from slurmsim.records.partition import PARTITION
from slurmsim.rest import controller_writing
from slurmsim.slurmctld.fields import node_fields
from slurmsim.slurmctld.requests.shapes import requests as request_shapes


def test_names_are_given_once() -> None:
    for values in ([row.name for row in PARTITION], [row.json for row in PARTITION if row.json]):
        assert len(values) == len(set(values))


def test_attributes_are_those_of_the_model() -> None:
    """Weights, and what GPUs bring, are given within a text."""
    kept = {row.attribute for row in PARTITION if row.attribute}
    within_texts = {"tres_billing_weights", "def_cpu_per_gpu", "def_mem_per_gpu_mib"}
    assert kept | within_texts == {field.name for field in dataclasses.fields(PartitionSpec)}


def test_keys_are_those_of_the_configuration() -> None:
    assert {row.conf.lower() for row in PARTITION if row.conf} <= PARTITION_KEYS.keys()


def test_every_kind_is_known_where_it_is_met() -> None:
    settable = {row.kind for row in PARTITION if row.update}
    assert settable <= scontrol._READERS.keys() and settable <= request_shapes._OF_KINDS.keys()
    assert {row.kind for row in PARTITION if row.json} <= document._MAKERS.keys()
    assert {row.kind for row in PARTITION if row.json and row.update} <= controller_writing._READERS.keys()


def test_a_partition_tells_every_row_but_the_keyword_for_two() -> None:
    assert {row.name for row in PARTITION} - node_fields.PARTITION_FIELDS.keys() == {"priority"}


def test_a_new_field_is_a_row(more_rows: dict[str, object]) -> None:
    """It is read from slurm.conf, set by scontrol and by REST, checked, kept, told and described."""
    assert more_rows["partition"] == {
        "read": {"colour": "blue"}, "set": [0, "", ""], "then": {"colour": "red"}, "replayed": {"colour": "red"},
        "refused": "'partition'.'colour': expected a text of 0 to 1048576 characters", "body": True,
        "described": {"type": "object", "properties": {"colour": {"type": "string"}}},
    }  # fmt: skip


def test_what_is_composed_is_not_lost() -> None:
    """It stands before a place; without that place it would be left out."""
    with pytest.raises(KeyError, match="grace_time"):
        document.table([row for row in PARTITION if row.json != "grace_time"])
