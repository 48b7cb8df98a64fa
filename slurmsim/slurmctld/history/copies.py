"""A whole cluster in one file, and a cluster made of such a file: the same past, a future of its own.

The file is a snapshot (`slurmsim.slurmctld.snapshot.file`). Its first line also has what the cluster is made of, the
texts of its configuration among it. The rows of ended jobs come behind the engine's tables. Nothing of it is code.

Scripts do not run in a copy: their processes belong to the first cluster. What they would do is modelled, see
`slurmsim.slurmctld.processes.standing_in`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError, OutputError, WorkloadError
from slurmsim.slurmctld.base.clock import REAL, RUNNING
from slurmsim.slurmctld.database import record_dump
from slurmsim.slurmctld.database.record_store import RecordStore
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.history.header import JOURNAL
from slurmsim.slurmctld.history.history import ACCOUNTING, SNAPSHOT, History
from slurmsim.slurmctld.history.initial_engine import make_engine
from slurmsim.slurmctld.history.journal import Journal
from slurmsim.slurmctld.history.reconfiguration import read_configuration
from slurmsim.slurmctld.history.replaying import OURS
from slurmsim.slurmctld.history.state_folder import StateFolder
from slurmsim.slurmctld.processes.standing_in import stand_in
from slurmsim.slurmctld.snapshot import file as snapshot_file
from slurmsim.slurmctld.snapshot.image import restore, take

_OF_JOURNAL = ("format", "writer", "schema", "id", "after", "snapshot")
"""What a header says of its journal, and not of the cluster."""
_MODE = 0o644


@dataclass(frozen=True, slots=True)
class Copied:
    """What was made: the instant, and the number of running jobs with real processes, which are not part of it."""

    now: int
    n_real: int


def save(path: Path, engine: Engine, history: History, now: int, mode: str, rate: float) -> None:
    """Write the cluster down at `path`, as it is between two turns. Raises OutputError: nothing is left then."""
    made_of = {name: value for name, value in history.header.items() if name not in _OF_JOURNAL}
    cluster = {**made_of, "texts": history.configuration.texts, "mode": mode, "rate": rate}
    rows = engine.storage.store
    rows.flush()
    header = {"writer": OURS, "after": 0, "now": now, "rows": rows.mark, "cluster": cluster}
    snapshot_file.write(path, header, chain(take(engine), record_dump.tables(rows)))


def save_stopped(folder: Path, path: Path) -> int:
    """Write a cluster that does not run; return its last instant. Raises OutputError, ConfigError: it runs, say."""
    if not (folder / JOURNAL).is_file():
        raise OutputError(f"{folder}: no cluster is there")
    held = StateFolder.take(folder)
    try:
        history = History(folder, None)
        try:
            found = history.restored
            now = max(found.now, found.engine.now)
            save(path, found.engine, history, now, found.mode, found.rate)
        finally:
            history.close()
    finally:
        held.close()
    return now


def make(path: Path, folder: Path, *, mode: str | None = None, rate: float | None = None) -> Copied:
    """Make the cluster in the file at `path` anew, in a `folder` without one; `slurmsim up` starts it.

    Parameters
    ----------
    mode, rate
        Its clock; None: as the first one's was. One with the machine's time goes on from the instant it was copied at.

    Raises
    ------
    ConfigError
        There is a cluster in `folder`, or the file is another user's.
    OutputError, WorkloadError
        The file cannot be read, is damaged, or of a format this version does not know.
    """
    about, tables, _ = snapshot_file.read(path)
    if "cluster" not in about:
        raise WorkloadError("a cluster's own snapshot, which is no copy of a cluster", file=str(path), line=1,
                            expected="a file that slurmsim snapshot made")  # fmt: skip
    header = dict(about["cluster"])
    if int(header["owner"]) != os.geteuid():
        raise ConfigError(f"made by uid {header['owner']}, who would own the cluster", file=str(path),
                          expected="a file of one's own")  # fmt: skip
    held = StateFolder.take(folder)
    try:
        if os.path.lexists(folder / JOURNAL):
            raise ConfigError("there is a cluster", file=str(folder), expected="a folder without one")
        return _make(folder, about, header, tables, mode, rate)
    finally:
        held.close()


def _make(
    folder: Path, about: Mapping[str, Any], header: dict[str, Any], tables: list[dict[str, Any]],
    mode: str | None, rate: float | None,
) -> Copied:  # fmt: skip
    _write_texts(folder, header["texts"])
    of_engine = [table for table in tables if table["kind"] not in record_dump.KINDS]
    ran = header["jobs"] == "run"
    n_real = 0
    engine = make_engine(header, folder, read_configuration(header, folder, header["texts"]))
    restore(engine, of_engine)
    again: Iterator[dict[str, Any]] = iter(of_engine)
    if ran:
        n_real = stand_in(engine)
        again = take(engine)
    store = RecordStore(folder / ACCOUNTING)
    try:
        record_dump.fill(store, [table for table in tables if table["kind"] in record_dump.KINDS])
    finally:
        store.close()
    was = str(header["mode"])
    header |= {
        "id": os.urandom(8).hex(), "jobs": "simulate", "programs": False,
        "mode": mode or (RUNNING if was == REAL else was), "rate": float(header["rate"] if rate is None else rate),
    }  # fmt: skip
    now = int(about["now"])
    _begin(folder, header, now, again, writer=str(about["writer"]), rows=int(about["rows"]))
    return Copied(now, n_real)


def write_folder(folder: Path, header: dict[str, Any], now: int, tables: Iterable[dict[str, Any]]) -> None:
    """Write a cluster that was made in this process, without rows of ended jobs, to a `folder` that is held.

    `header` has the texts of its configuration and its `id`. Raises ConfigError, OutputError.
    """
    _write_texts(folder, header["texts"])
    RecordStore(folder / ACCOUNTING).close()
    _begin(folder, header, now, tables, writer=OURS, rows=0)


def _begin(
    folder: Path, header: dict[str, Any], now: int, tables: Iterable[dict[str, Any]], *, writer: str, rows: int
) -> None:
    """Write a snapshot of `tables`, and a journal that stands on it and begins at `now`."""
    written = folder / f"{SNAPSHOT}0"
    crc = snapshot_file.write(written, {"writer": writer, "journal": header["id"], "after": 0, "rows": rows}, tables)
    journal = Journal(folder / JOURNAL)
    try:
        journal.begin({**header, "snapshot": {"file": written.name, "crc": crc}})
        journal.append([now, "clock", header["owner"], "", {"now": now, "mode": header["mode"],
                                                            "rate": header["rate"]}])  # fmt: skip
    finally:
        journal.close()


def _write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the files of the configuration, under the names they had. Raises ConfigError, OutputError."""
    for name, text in texts.items():
        target = Path(name)
        try:
            if target.is_absolute() or ".." in target.parts:
                if target.read_text("utf-8", "replace") != text:
                    raise ConfigError("it is another file here than the cluster was made of", file=name,
                                      expected="the same text")  # fmt: skip
                continue
            target = folder / target
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            target.write_text(text, "utf-8")
            target.chmod(_MODE)
        except OSError as error:
            raise OutputError(f"{target}: {error.strerror}") from None
