"""The rows of ended jobs as tables of plain data, for a file that holds a whole cluster."""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from slurmsim.errors import OutputError, WorkloadError
from slurmsim.slurmctld.database.record_rows import COLUMNS
from slurmsim.slurmctld.database.record_store import RecordStore

ROWS, SCRIPTS = "ended jobs", "scripts of ended jobs"
KINDS = frozenset({ROWS, SCRIPTS})
SCHEMA = 1
TOGETHER = 500
_NAMES = [column.name for column in COLUMNS]


def tables(store: RecordStore) -> Iterator[dict[str, Any]]:
    """All written rows, some hundred in a table."""
    if not store.mark:
        return  # the file is made with its first row
    columns = ", ".join(("row", *_NAMES))
    yield from _in_tables(ROWS, store.execute(f"SELECT {columns} FROM job ORDER BY row"))
    scripts = store.execute("SELECT id, digest, text FROM script ORDER BY id")
    yield from _in_tables(SCRIPTS, ([number, _text(digest), _text(text)] for number, digest, text in scripts))


def _in_tables(kind: str, rows: Iterable[Any]) -> Iterator[dict[str, Any]]:
    found: list[list[Any]] = []
    for row in rows:
        found.append(list(row))
        if len(found) == TOGETHER:
            yield {"kind": kind, "schema": SCHEMA, "rows": found}
            found = []
    if found:
        yield {"kind": kind, "schema": SCHEMA, "rows": found}


def fill(store: RecordStore, found: Iterable[Mapping[str, Any]]) -> None:
    """Write the rows of `tables` into a new store.

    Raises
    ------
    OutputError
        They cannot be written.
    WorkloadError
        They are of a newer slurmsim.
    """
    try:
        for table in found:
            if table["schema"] != SCHEMA:
                raise WorkloadError(f"rows of ended jobs of format {table['schema']}", expected=f"format {SCHEMA}")
            if table["kind"] == ROWS:
                marks = ", ".join("?" * (len(_NAMES) + 1))
                store.insert(f"INSERT INTO job (row, {', '.join(_NAMES)}) VALUES ({marks})", table["rows"])
            else:
                rows = [[number, _bytes(digest), _bytes(text)] for number, digest, text in table["rows"]]
                store.insert("INSERT INTO script (id, digest, text) VALUES (?, ?, ?)", rows)
    except sqlite3.Error as error:
        raise OutputError(f"{store.path}: cannot write the rows of ended jobs: {error}") from None


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)
