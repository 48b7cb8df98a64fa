"""What a job only carries is a row: an option of sbatch that only travels needs nothing else."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace

import pytest

from slurmsim.commands.json import job as document
from slurmsim.commands.scontrol import job_text, job_values
from slurmsim.commands.scontrol.keywords import keywords
from slurmsim.commands.submit.options import job_options
from slurmsim.records import Field, merged
from slurmsim.records.job import CARRIED
from slurmsim.rest import job_description


def test_names_are_given_once_and_in_order() -> None:
    names = [row.name for row in CARRIED]
    assert names == sorted(set(names))


def test_every_kind_is_known_where_it_is_met() -> None:
    kinds = {row.kind for row in CARRIED}
    for table in (job_options._CARRIED, job_values._CARRIED, document._KINDS, job_description._KINDS):
        assert kinds <= table.keys()


def test_every_line_stands_where_its_row_says() -> None:
    """A row that names a line after which nothing is put would be lost."""
    told: dict[str, str] = defaultdict(lambda: "x")
    own = job_text._OWN_LINES.values()
    optional = [line for _, _, line in job_text.LINES if "_optional" in line.__qualname__ or line in own]
    shown = [line(told, SimpleNamespace(release="26.05")) for line in optional]  # type: ignore[arg-type]
    for row in CARRIED:
        assert row.line is None or any(f"{row.line.label}=x" in str(text).split() for text in shown), row.name


def test_a_new_option_is_a_row(more_rows: dict[str, object]) -> None:
    """Asked by sbatch and REST, set by scontrol, in a snapshot, shown as text, column and document, on the page."""
    assert more_rows["job"] == {
        "asked": "good", "set": [0, "", ""], "text": True, "column": ["MOOD", "bad"], "listed": True,
        "document": "bad", "described": [{"type": "string"}] * 2, "body": {"mood": "bad"}, "page": [True, True],
    }  # fmt: skip


def test_keywords_are_read_from_the_rows() -> None:
    """A keyword may have come later than its field; it goes with it."""
    row = Field("over_subscribe", "text", update="OverSubscribe:5 Shared:2:26.05", since="24.11", until="27.05")
    found = [(word.name, word.least, word.since, word.until, word.row) for word in keywords([row])]
    assert found == [("OverSubscribe", 5, "24.11", "27.05", row), ("Shared", 2, "26.05", "27.05", row)]


def test_rows_stand_before_those_they_name() -> None:
    assert merged("ace", [("c", "b"), ("e", "d"), ("e", "D")], str) == ("a", "b", "c", "d", "D", "e")
    with pytest.raises(KeyError, match="x"):
        merged("ace", [("x", "b")], str)
