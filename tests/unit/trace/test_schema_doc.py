"""docs/trace-schema.md lists exactly the columns of the schema, in order, with their types and version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slurmsim.trace import schema
from slurmsim.trace.writer import arrow_schema

DOC = (Path(__file__).parents[3] / "docs" / "trace-schema.md").read_text(encoding="utf-8")


def rows(section: str) -> list[tuple[str, str]]:
    text = DOC.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \| (int64\??|text) \| \S", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("section", "columns"),
    [("jobs.parquet", schema.JOBS), ("events.parquet", schema.EVENTS), ("usage.parquet", schema.USAGE)],
)
def test_columns(section, columns):
    assert rows(section) == [(name, kind) for name, (kind, _) in columns.items()]


def test_requeued_runs_have_the_columns_of_jobs():
    assert arrow_schema("requeued") == arrow_schema("jobs")
    assert "with the columns of `jobs.parquet`" in DOC.split("\n## requeued.parquet\n")[1]


def test_version():
    assert f"Schema version: **{schema.SCHEMA_VERSION}**" in DOC


def test_every_event_is_explained():
    text = DOC.split("| event | when | value |")[1].split("\n## ")[0]
    explained = re.findall(r"`([A-Z]+)`", text)
    assert sorted(explained) == sorted(schema.EVENTS["event"][1].split())
