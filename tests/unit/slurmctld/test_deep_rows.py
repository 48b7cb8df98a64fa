"""JSON nested too deeply, where the daemon or a command reads it: refused or left out, never a RecursionError."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import slurmsim
from slurmsim.live.waiting import past
from slurmsim.protocol import Client, Refusal
from slurmsim.slurmctld.database.record_rows import COLUMNS, to_record
from slurmsim.slurmctld.history.history import ACCOUNTING

DEEP = "[" * 100_000


def test_rows_that_show_jobs(tmp_path: Path) -> None:
    """`slurmsim why` of a cluster that does not run goes on without them, as for other damage."""
    with sqlite3.connect(tmp_path / ACCOUNTING) as db:
        db.execute("CREATE TABLE job (place INTEGER, shown TEXT)")
        db.execute("INSERT INTO job VALUES (1, ?)", (DEEP,))
    assert past._read(tmp_path) == []


def test_records() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        to_record([*[0] * sum(column.attribute is not None for column in COLUMNS), "{}", DEEP, None])


def test_answers_of_solvers(tmp_path: Path) -> None:
    """The owner may send one over the socket."""
    with slurmsim.cluster(nodes=1, frozen=True, folder=tmp_path / "c") as c:
        client = Client(str(c.folder), None, 20.0)
        with pytest.raises(Refusal) as refused:
            client.call("solved", number=1, answer=DEEP)
        assert refused.value.text and "\n" not in refused.value.text
        assert client.call("ping")["cluster"] == "cluster"
        client.close()
