"""The rows of jobs slurmctld has forgotten, in SQLite: what `sacct` asks for and no scheduler needs.

Rows are numbered in the order the engine hands them over. The engine is a pure function of its requests, so the n-th
row is the same whenever they are carried out again; a restart forgets the rows behind the state it begins from
(`rewind`) and gets them once more. That is why a row need not be on the disk when a request is answered: they are
collected and written many at a time, and `checkpoint` says when all of them have to be safe.

The file is in write-ahead mode, which neither a kill nor a loss of power damages, and locked for as long as it is
open. Without a file the rows are in memory. The columns are those by which queries select, under slurmdbd's names; all
else is JSON. A newer schema is refused, an older file becomes one of today's. A row that is damaged is put aside,
and so is a file that SQLite cannot read; what is lost is said (`record_checks`).
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from slurmsim.errors import OutputError
from slurmsim.slurmctld.base.job_record import JobRecord
from slurmsim.slurmctld.database import record_checks
from slurmsim.slurmctld.database.record_checks import FITS, Aside, sum_of
from slurmsim.slurmctld.database.record_rows import COLUMNS, script_of, to_record, to_row

SCHEMA = 2  # number of the layout of the file (``PRAGMA user_version``)
APPLICATION = 0x736C7364
NAMED = 5  # damaged rows that a warning names
TOGETHER = 1000  # rows that are collected before they are written
DAMAGED = ".damaged"
_LAYOUT = (
    f"CREATE TABLE job (row INTEGER PRIMARY KEY, {', '.join(f'{c.name} {c.kind}' for c in COLUMNS)}, crc INTEGER)",
    *record_checks.LAYOUT,
    "CREATE TABLE script (id INTEGER PRIMARY KEY, digest BLOB UNIQUE, text BLOB)",
    "CREATE INDEX job_by_id ON job (id_job, time_submit DESC)",
    "CREATE INDEX job_by_array ON job (id_array_job) WHERE id_array_job <> 0",
    "CREATE INDEX job_by_end ON job (time_end)",
    "CREATE INDEX job_by_place ON job (place) WHERE place IS NOT NULL",
)
_MARKS = [f"?{k}" for k in range(1, len(COLUMNS) + 2)]
_INSERT = f"INSERT OR REPLACE INTO job VALUES ({', '.join(_MARKS)}, {sum_of(*_MARKS)})"
_SELECT = (
    f"SELECT {FITS}, {', '.join(f'job.{c.name}' for c in COLUMNS)}, (SELECT text FROM script WHERE id = job.script) "
    "FROM job {index}"
)


class RecordStore:
    """All rows of ended jobs of one cluster.

    Parameters
    ----------
    path
        The file, made when it does not exist; None: memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._last = 0
        self._waiting: list[tuple[int, JobRecord, int | None, Sequence[Any] | None]] = []
        self._scripts: dict[bytes, int] = {}
        self._made: sqlite3.Connection | None = None

    @property
    def mark(self) -> int:
        """The number of the last row: what a snapshot of the engine keeps, for `rewind`."""
        return self._last

    # -- writing ------------------------------------------------------------------------------------------------------

    def add(self, record: JobRecord, place: int | None = None, shown: Sequence[Any] | None = None) -> None:
        """Keep a row; of the last run of a job with its place in the job table and the values `every_job` shows."""
        self._last += 1
        self._waiting.append((self._last, record, place, shown))
        if len(self._waiting) % TOGETHER == 0:
            with suppress(OutputError):  # a full disk: they stay here, and are tried again with the next ones
                self.flush()

    def flush(self) -> None:
        """Write what waits; it need not be on the disk yet. Raises OutputError, having lost nothing."""
        if not self._waiting:
            return
        with self._errors("write"):
            db = self._connection
            db.execute("BEGIN")
            try:
                rows = [(row, *to_row(record, self._script(record), place, shown))
                        for row, record, place, shown in self._waiting]  # fmt: skip
                db.executemany(_INSERT, rows)
                db.execute("COMMIT")
            except BaseException:
                self._scripts.clear()
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        self._waiting.clear()

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        """Turn an error of SQLite inside into an OutputError."""
        try:
            yield
        except sqlite3.Error as error:
            raise OutputError(f"{self.path}: cannot {doing} the rows of ended jobs: {error}") from None

    def _script(self, record: JobRecord) -> int | None:
        """Return the number of a job's script; equal ones are stored once, as slurmdbd does it."""
        digest, text = script_of(record)
        if digest is None:
            return None
        known = self._scripts.get(digest)
        if known is None:
            db = self._connection
            db.execute("INSERT OR IGNORE INTO script (digest, text) VALUES (?, ?)", (digest, text))
            known = int(db.execute("SELECT id FROM script WHERE digest = ?", (digest,)).fetchone()[0])
            if len(self._scripts) >= TOGETHER:
                self._scripts.clear()
            self._scripts[digest] = known
        return known

    def checkpoint(self) -> int:
        """Bring every row so far to the disk; the mark. Called before a snapshot takes the journal's place.

        Raises OutputError: then the snapshot must not be used.
        """
        self.flush()
        if self.path is not None:
            with self._errors("write"):
                busy, _, _ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy:
                raise OutputError(f"{self.path}: cannot write the rows of ended jobs: another process reads them")
        return self._last

    def rewind(self, mark: int) -> list[str]:
        """Forget all rows behind `mark`, so that the engine goes on from a state of then; 0: from the beginning.

        Returns
        -------
        list of str
            A sentence for each loss: rows up to `mark` that are not there (any more).

        Raises
        ------
        OutputError
            The file cannot be used, or was made by a newer slurmsim.
        """
        self._waiting.clear()
        self._scripts.clear()
        self._last = mark
        if not mark and self._made is None and (self.path is None or not self.path.exists()):
            return []  # a new cluster: the file is made with its first rows
        said = [] if self._made is not None or self.path is None else self._look(self.path, mark)
        with self._errors("use"):
            db = self._connection
            for table in ("job", "aside"):
                db.execute(f"DELETE FROM {table} WHERE row > ?", (mark,))
            if not mark:
                db.execute("DELETE FROM script")
                db.execute("DELETE FROM script_aside")
            record_checks.find_damage(db)
            damaged = record_checks.aside(db)
            (left,) = db.execute("SELECT (SELECT count(*) FROM job) + (SELECT count(*) FROM aside)").fetchone()
        if damaged:
            said.append(self._said(damaged))
        if left < mark:
            said.append(f"{self.path}: {mark - left:,} of {mark:,} rows of ended jobs are lost: "
                        "sacct and sreport do not know these runs")  # fmt: skip
        return said

    def close(self) -> None:
        """Close the file. What waits is not written: it comes again, as after a kill."""
        if self._made is not None:
            self._made.close()
            self._made = None

    # -- reading ------------------------------------------------------------------------------------------------------

    def waiting(self) -> list[JobRecord]:
        """Rows that are not written yet, in order."""
        return [record for _, record, _, _ in self._waiting]

    def select(self, condition: str, values: Sequence[Any], *, walk: bool) -> Iterator[JobRecord]:
        """Written rows that meet an SQL condition, by job and the newest first, one after the other.

        To `walk` over the table in that order costs nothing before the first row; else what is found is sorted.
        """
        index, first = ("INDEXED BY job_by_id", "") if walk else ("", "+")
        order = f"ORDER BY {first}id_job, time_submit DESC, row"
        for found in self._rows(f"{_SELECT.format(index=index)} WHERE {condition} {order}", values, checked=True):
            yield to_record(found)

    def shown(self, after: int, condition: str = "TRUE", values: Sequence[Any] = ()) -> Iterator[tuple[int, str]]:
        """Of the last runs of jobs behind the place `after`, written ones: place and the JSON of what is shown."""
        statement = f"SELECT {FITS}, place, shown FROM job WHERE place > ? AND {condition} ORDER BY place"
        yield from self._rows(statement, (after, *values), checked=True)

    def waiting_shown(self) -> list[tuple[int, JobRecord, Sequence[Any]]]:
        """Of those that are not written yet: place, row and the values."""
        return [(place, record, shown) for _, record, place, shown in self._waiting
                if place is not None and shown is not None]  # fmt: skip

    def execute(self, statement: str, values: Sequence[Any] | dict[str, Any] = ()) -> Iterator[Any]:
        """Return what SQLite answers to a query on the written rows."""
        return self._rows(statement, values, checked=False)

    def _rows(self, statement: str, values: Sequence[Any] | dict[str, Any], *, checked: bool) -> Iterator[Any]:
        """Yield the same; damage that is met is put aside, and the query goes on behind what it has given.

        `checked`: the first column is whether a row is as it was written, and left out.
        """
        given = 0
        while True:
            at, damaged = 0, False
            try:
                for found in self._connection.execute(statement, values):
                    if checked and not found[0]:
                        damaged = True
                        continue
                    at += 1
                    if at > given:
                        given = at
                        yield found[1:] if checked else found
                if damaged:
                    self._mend()
                return
            except sqlite3.Error:
                if not self._mend():
                    raise

    @property
    def aside(self) -> list[Aside]:
        """What is damaged and has been put aside."""
        return [] if self._made is None else record_checks.aside(self._made)

    def _mend(self) -> bool:
        """Put aside what is damaged and say so; whether anything was."""
        db, path = self._connection, self.path
        try:
            found = record_checks.find_damage(db)
            said = [self._said(found)] if found else []
        except sqlite3.OperationalError:  # a disk that is full or away
            return False
        except sqlite3.DatabaseError as error:  # a page of the file
            if path is None:
                raise
            self.close()
            said = self._replace(path, self._last - len(self._waiting), error)
        for line in said:
            print(f"slurmsim: warning: {line}", file=sys.stderr, flush=True)
        return bool(said)

    def _said(self, found: Sequence[Aside]) -> str:
        names = ", ".join(one.text for one in found[:NAMED]) + (" and others" if len(found) > NAMED else "")
        what = "a row of an ended job is" if len(found) == 1 else f"{len(found):,} rows of ended jobs are"
        return f"{self.path}: {what} damaged and put aside: {names}; sacct and sreport do not know them"

    def insert(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Carry out an INSERT for many rows at once. Raises sqlite3.Error."""
        db = self._connection
        db.execute("BEGIN")
        db.executemany(statement, rows)
        record_checks.seal(db)
        db.execute("COMMIT")

    # -- the file -----------------------------------------------------------------------------------------------------

    @property
    def _connection(self) -> sqlite3.Connection:
        if self._made is None:
            self._made = _open(self.path)
        return self._made

    def _look(self, path: Path, mark: int) -> list[str]:
        """Open the file; a damaged one is put aside and a new one made. What is lost of the rows up to `mark`."""
        try:
            self._made = _open(path, check=True)
        except sqlite3.OperationalError as error:
            raise OutputError(f"{path}: cannot use the rows of ended jobs: {error}") from None
        except sqlite3.DatabaseError as error:
            return self._replace(path, mark, error)
        return []

    def _replace(self, path: Path, mark: int, error: Exception) -> list[str]:
        """Put a damaged file aside and go on with a new one, of the rows up to `mark` that can be read; what to say."""
        aside = _put_aside(path)
        self._scripts.clear()
        self._made = _open(path)
        kept = record_checks.rescue(self._made, aside, mark) if mark else 0
        lost = f"{kept:,} of {mark:,} rows were read from it" if mark else "they are made again from the journal"
        return [f"{path}: damaged ({error}): put aside as {aside.name}; {lost}"]


def _put_aside(path: Path) -> Path:
    """Another name for a damaged file, never over one that was put aside before."""
    number = 0
    while (aside := path.with_name(path.name + DAMAGED + (f"-{number}" if number else ""))).exists():
        number += 1
    path.rename(aside)
    for name in ("-wal", "-journal"):
        path.with_name(path.name + name).unlink(missing_ok=True)
    return aside


def _open(path: Path | None, *, check: bool = False) -> sqlite3.Connection:
    """Return the connection, with all tables. Raises OutputError for a file of a newer slurmsim, sqlite3.Error."""
    if path is None:
        db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        _add_functions(db)
        _lay_out(db)
        return db
    try:  # with this mode from the start
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    except OSError as error:
        raise OutputError(f"{path}: cannot use the rows of ended jobs: {error.strerror}") from None
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, uri=True)
    _add_functions(db)
    try:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")  # also needs no shared memory, which network file systems lack
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (application,) = db.execute("PRAGMA application_id").fetchone()
        if version > SCHEMA:
            raise OutputError(
                f"{path}: written by a newer slurmsim (format {version}, this one knows {SCHEMA}): use that one"
            )
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        if check and version:
            _check(db)
        if version and application != APPLICATION:
            raise sqlite3.DatabaseError("the database of something else")
        if not version:
            _lay_out(db)
        elif version < SCHEMA:
            _upgrade(db)
    except BaseException:
        db.close()
        raise
    return db


def _add_functions(db: sqlite3.Connection) -> None:
    db.create_function("lowered", 1, str.lower, deterministic=True)
    record_checks.add_functions(db)


def _check(db: sqlite3.Connection) -> None:
    """Look at all pages, and at the indexes, which are made anew where they alone are wrong. Raises DatabaseError."""
    if not _wrong(db, "quick_check") and _wrong(db, "integrity_check"):
        db.execute("REINDEX")
    if wrong := _wrong(db, "quick_check"):
        raise sqlite3.DatabaseError(wrong)


def _wrong(db: sqlite3.Connection, check: str) -> str:
    (said,) = db.execute(f"PRAGMA {check}(1)").fetchone()
    return "" if said == "ok" else str(said)


def _upgrade(db: sqlite3.Connection) -> None:
    """Give a file of schema 1 checksums, of what is there now."""
    db.execute("BEGIN")
    db.execute("ALTER TABLE job ADD COLUMN crc INTEGER")
    for statement in record_checks.LAYOUT:
        db.execute(statement)
    record_checks.seal(db)
    db.execute(f"PRAGMA user_version = {SCHEMA}")
    db.execute("COMMIT")


def _lay_out(db: sqlite3.Connection) -> None:
    """Make the tables of a new file."""
    db.execute("BEGIN")
    for statement in _LAYOUT:
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {SCHEMA}")
    db.execute("COMMIT")
