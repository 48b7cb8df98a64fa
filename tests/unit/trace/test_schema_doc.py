"""docs/trace-schema.md shows the table of columns as it is; the table keeps its own rules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slurmsim.trace import schema
from slurmsim.trace.columns import arrow_type
from slurmsim.trace.document import SECTIONS, rewrite
from slurmsim.trace.writer import arrow_schema

DOC = (Path(__file__).parents[3] / "docs" / "trace-schema.md").read_text(encoding="utf-8")


def test_the_page_is_made_from_the_table():
    assert rewrite(DOC) == DOC


@pytest.mark.parametrize("table", SECTIONS)
def test_the_page_has_every_table(table):
    text = DOC.split(f"\n## {table}.parquet\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \| (int64\??|text) \|", text, re.MULTILINE) == [
        (name, column.kind) for name, column in schema.TABLES[table].items()
    ]


def test_the_page_has_every_event():
    text = DOC.split("| event | when | value |")[1].split("\n## ")[0]
    assert re.findall(r"^\| `([A-Z]+)` \|", text, re.MULTILINE) == list(schema.EVENT_KINDS)


def test_the_page_has_the_columns_of_power():
    text = DOC.split("\n## phases.parquet\n")[1].split("\n## ")[0]
    assert all(f"`{name}`" in text for table in schema.POWER.values() for name in table)


def test_requeued_runs_have_the_columns_of_jobs():
    assert arrow_schema("requeued") == arrow_schema("jobs")
    assert "with the columns of `jobs.parquet`" in DOC.split("\n## requeued.parquet\n")[1]


@pytest.mark.parametrize(
    ("name", "column"),
    [
        (f"{table}.{name}", c)
        for tables in (schema.TABLES, schema.POWER)
        for table, cs in tables.items()
        for name, c in cs.items()
    ],
)
def test_a_column(name, column):
    arrow_type(column.kind)
    assert column.unit in ("", "time", "s", "MiB", "ppm", "mW", "J") and column.meaning.endswith(".")
    suffix = {"s": "_s", "MiB": "_mib", "ppm": "_ppm", "mW": "_mw", "J": "_j"}.get(column.unit)
    assert suffix is None or name.endswith(suffix)
    assert schema.OLDEST <= column.since <= schema.SCHEMA_VERSION
    # older traces are read with nulls or empty texts in its place
    assert column.since == schema.OLDEST or column.kind != "int64"
