"""Damage in the rows of ended jobs: each row has a checksum, and one that does not fit is put aside.

SQLite notices a damaged page, and no damaged text. The sum of a row takes in its number and all its columns, byte for
byte. Rows that do not fit are moved to the table `aside`, scripts to `script_aside`: whatever is left of them is still
there, and no query meets them. A file with damaged pages is left as it is under another name; the rows that can still
be read from it go into a new one.
"""

import sqlite3
import zlib
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from slurmsim.data_classes import dataclass
from slurmsim.json_text import loads
from slurmsim.slurmctld.database.record_rows import COLUMNS

_JOB = ", ".join(column.name for column in COLUMNS)
LAYOUT = (
    f"CREATE TABLE aside (row INTEGER PRIMARY KEY, {', '.join(f'{c.name} {c.kind}' for c in COLUMNS)}, crc INTEGER)",
    "CREATE TABLE script_aside (id INTEGER PRIMARY KEY, digest BLOB, text BLOB)",
)
"""Tables for what is damaged."""
_JSON = ("tres_alloc", "rest", "shown")
_LEGIBLE = " AND ".join(
    f"legible('{'json' if c.name in _JSON else 'text'}', CAST({c.name} AS BLOB))" for c in COLUMNS if c.kind == "TEXT"
)
_TOGETHER = 256  # rows that are read at once from a damaged file, before they are tried one by one


def sum_of(*values: str) -> str:
    """Return the SQL for the checksum of a row with these expressions for its number and its columns."""
    joined = " || '|' || ".join(f"ifnull({value}, '~')" for value in values)
    return f"checksum(CAST({joined} AS BLOB))"  # bytes: a damaged text need not be one


SUM = sum_of("row", *(column.name for column in COLUMNS))
FITS = f"crc IS {SUM}"
"""True for a row that is as it was written. In a query over more tables `job.row` must be the only row."""


@dataclass(frozen=True, slots=True)
class Aside:
    """A damaged row and the job it says it is of, or a damaged script (None)."""

    row: int
    job: int | None

    @property
    def text(self) -> str:
        return f"script {self.row}" if self.job is None else f"row {self.row} (job {self.job})"


def add_functions(db: sqlite3.Connection) -> None:
    """Register the functions that the SQL here calls."""
    db.create_function("checksum", 1, zlib.crc32, deterministic=True)
    db.create_function("digest_of", 1, _digest, deterministic=True)
    db.create_function("legible", 2, _legible, deterministic=True)


def _digest(text: bytes | None) -> bytes | None:
    return None if text is None else sha256(text if isinstance(text, bytes) else str(text).encode()).digest()


def _legible(kind: str, data: bytes | None) -> bool:
    try:
        text = "null" if data is None else data.decode()
        if kind == "json":
            loads(text)
    except ValueError:
        return False
    return True


def seal(db: sqlite3.Connection) -> None:
    """Give a checksum to rows that have none, those of an older file or of a copy, if they can be read at all."""
    db.execute(f"UPDATE job SET crc = {SUM} WHERE crc IS NULL AND {_LEGIBLE}")


def find_damage(db: sqlite3.Connection) -> list[Aside]:
    """Put every row and script aside that is not as it was written; those that were found now."""
    rows = [int(row) for (row,) in db.execute(f"SELECT row FROM job WHERE NOT {FITS}")]
    scripts = [int(number) for (number,) in db.execute("SELECT id FROM script WHERE digest IS NOT digest_of(text)")]
    if not rows and not scripts:
        return []
    db.execute("REINDEX")  # a row is found in its indexes by what it has become
    db.execute("BEGIN")
    for row in rows:
        db.execute("INSERT OR REPLACE INTO aside SELECT * FROM job WHERE row = ?", (row,))
        db.execute("DELETE FROM job WHERE row = ?", (row,))
    for number in scripts:
        db.execute("INSERT OR REPLACE INTO script_aside SELECT * FROM script WHERE id = ?", (number,))
        db.execute("DELETE FROM script WHERE id = ?", (number,))
    db.execute("COMMIT")
    found = aside(db)
    return [one for one in found if one.row in (scripts if one.job is None else rows)]


def aside(db: sqlite3.Connection) -> list[Aside]:
    """All that has been put aside."""
    jobs = db.execute("SELECT row, CAST(id_job AS INTEGER) FROM aside ORDER BY row")
    scripts = db.execute("SELECT id FROM script_aside ORDER BY id")
    return [*(Aside(row, job or 0) for row, job in jobs), *(Aside(number, None) for (number,) in scripts)]


def rescue(db: sqlite3.Connection, damaged: Path, mark: int) -> int:
    """Copy the rows up to `mark`, and the scripts, that can be read from a damaged file into the new `db`; how many."""
    with suppress(sqlite3.Error):
        db.execute("ATTACH ? AS damaged", (f"{damaged.absolute().as_uri()}?immutable=1",))
        has_sums = any(name == "crc" for _, name, *_ in db.execute("PRAGMA damaged.table_info(job)"))
        columns = f"row, {_JOB}, crc" if has_sums else f"row, {_JOB}"
        _copy(db, "job", columns, "row", 1, mark)
        (most,) = db.execute("SELECT coalesce(max(script), 0) FROM job").fetchone()
        _copy(db, "script", "id, digest, text", "id", 1, int(most))
    with suppress(sqlite3.Error):
        db.execute("DETACH damaged")
    seal(db)
    found: Any = db.execute("SELECT count(*) FROM job").fetchone()[0]
    return int(found)


def _copy(db: sqlite3.Connection, table: str, columns: str, key: str, first: int, last: int) -> None:
    """Copy rows with keys from `first` to `last`; where some cannot be read, in ever smaller parts."""
    for start in range(first, last + 1, _TOGETHER):
        end = min(last, start + _TOGETHER - 1)
        if not _copied(db, table, columns, key, start, end):
            for one in range(start, end + 1):
                _copied(db, table, columns, key, one, one)


def _copied(db: sqlite3.Connection, table: str, columns: str, key: str, first: int, last: int) -> bool:
    statement = (
        f"INSERT OR REPLACE INTO main.{table} ({columns}) SELECT {columns} FROM damaged.{table} "
        f"WHERE {key} BETWEEN ? AND ?"
    )
    try:
        db.execute(statement, (first, last))
    except sqlite3.Error:
        return False
    return True
