"""A field of an association or a QOS is a row: documents and bodies have it at one place, as one setting."""

from __future__ import annotations

import dataclasses

import pytest

from slurmsim.commands.json import accounts
from slurmsim.commands.sacctmgr import fields, settings
from slurmsim.config.accounting.fields import ASSOCIATION_FIELDS, NOT_MODELLED, QOS_FIELDS, Fields
from slurmsim.model.accounting import Limits, Qos
from slurmsim.records import Field
from slurmsim.records.accounting import ASSOCIATION, QOS
from slurmsim.rest import database_tables

TABLES = pytest.mark.parametrize(("rows", "known"), [(QOS, QOS_FIELDS), (ASSOCIATION, ASSOCIATION_FIELDS)])


@TABLES
def test_names_places_and_settings_are_given_once(rows: tuple[Field, ...], known: Fields) -> None:
    """What sets a part of a list has the name of the list, and no place of its own."""
    placed = [row for row in rows if row.json]
    named = [row.conf for row in placed if row.conf]
    for values in ([row.name for row in placed], [row.json for row in placed], named):
        assert len(values) == len(set(values))


@TABLES
def test_settings_are_those_of_sacctmgr(rows: tuple[Field, ...], known: Fields) -> None:
    """A comment is kept beside the record; run minutes of associations have no effect."""
    for setting in {row.conf for row in rows if row.conf} - {"Comment"} - NOT_MODELLED.keys():
        assert known.find(setting) is not None, setting


@TABLES
def test_every_kind_is_known_where_it_is_met(rows: tuple[Field, ...], known: Fields) -> None:
    assert {row.kind for row in rows if row.json} <= accounts._KINDS.keys()
    assert {row.kind for row in rows if row.json and row.conf} <= database_tables._KINDS.keys()
    assert {row.kind for row in rows if row.update and ":" not in row.kind} <= settings._READERS.keys()


def test_every_setting_has_a_column() -> None:
    """MaxTRESRunMins of associations has none in Slurm either; what a QOS has per user shares that of associations."""
    columns = {field.key for field in fields.FIELDS}
    for rows in (QOS, ASSOCIATION):
        named = {"".join((row.name, *row.kind.partition(":")[1:])) for row in rows if row.conf}
        assert named - columns <= {"max_jobs_pu", "max_submit_pu", "max_tres_run_mins", "max_tres_run_mins:cpu"}


def test_every_attribute_of_a_qos_has_a_place() -> None:
    """Three limits are of associations alone."""
    attributes = {field.name for cls in (Qos, Limits) for field in dataclasses.fields(cls)} - {"limits"}
    only_of_associations = {"max_jobs", "max_jobs_accrue", "max_submit_jobs"}
    assert attributes - {row.name for row in QOS} == only_of_associations
