"""Rows that are made by position have the columns of the schema: as many cells, and each in its place."""

from __future__ import annotations

import ast
from pathlib import Path

from parsed_sources import below

from slurmsim.core.records import usage_totals
from slurmsim.sim import recorder
from slurmsim.trace import schema

CORE = Path(usage_totals.__file__).parents[1]


def event_rows() -> list[tuple[str, ast.Tuple]]:
    """Tuples in the core whose second cell may be the kind of an event."""
    found = []
    for file, tree in below(CORE).items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Tuple) and len(node.elts) > 4:
                kind = node.elts[1]
                if isinstance(kind, ast.Constant) and kind.value in schema.EVENT_KINDS:
                    found.append((f"{file.name}:{node.lineno}", node))
    return found


def test_events_have_a_cell_for_each_column():
    rows = event_rows()
    assert len(rows) >= 8
    assert [where for where, row in rows if len(row.elts) != len(schema.EVENTS)] == []
    place = list(schema.EVENTS)
    for where, row in rows:
        cells = dict(zip(place, row.elts, strict=True))
        assert ast.unparse(cells["time"]).endswith("now"), where
        assert ast.unparse(cells["job_id"]) == "None" or ast.unparse(cells["job_id"]).endswith("id"), where
        assert ast.unparse(cells["partition"]) in ("''", "where") or "partition" in ast.unparse(cells["partition"]), (
            where
        )


def job_rows() -> list[list[str]]:
    """The tuples of as many local variables as a row of jobs has cells, in the recorder."""
    tree = ast.parse(Path(recorder.__file__).with_name("recorder.py").read_text(encoding="utf-8"))
    tuples = [node for node in ast.walk(tree) if isinstance(node, ast.Tuple) and len(node.elts) > len(schema.JOBS) // 2]
    return [[ast.unparse(cell) for cell in node.elts] for node in tuples]


def test_cells_of_jobs_have_the_names_of_their_columns():
    assert job_rows() == [list(schema.JOBS)] * 2  # of a job, and of a refused submission
