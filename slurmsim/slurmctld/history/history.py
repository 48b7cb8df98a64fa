"""A cluster's past on disk: journal, snapshot, rows of ended jobs, and the configuration all of it was decided under.

The journal's header names the snapshot it stands on, by file and checksum, so the two change places in one rename. A
start makes an engine of the configuration in the header, restores the snapshot onto it, has the rows of ended jobs
forget what came later, and carries out the entries since.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from slurmsim.errors import ConfigError, OutputError
from slurmsim.slurmctld.database.record_store import RecordStore
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.history.carrying_over import adopt
from slurmsim.slurmctld.history.header import JOURNAL
from slurmsim.slurmctld.history.initial_engine import make_engine
from slurmsim.slurmctld.history.journal import Journal, read
from slurmsim.slurmctld.history.journal_file import FORMAT, Contents
from slurmsim.slurmctld.history.migration import migrated, replace_journal
from slurmsim.slurmctld.history.noting import note_decisions, note_people
from slurmsim.slurmctld.history.reconfiguration import RUNNING, Configuration, read_configuration, write_running
from slurmsim.slurmctld.history.replaying import CONF, OURS, WRITER, Restored, replay
from slurmsim.slurmctld.history.starter import Progress, watched
from slurmsim.slurmctld.snapshot import file as snapshot_file
from slurmsim.slurmctld.snapshot.image import restore

ACCOUNTING = "accounting.db"  # the file of the rows of ended jobs in a cluster's folder
SNAPSHOT = "snapshot-"  # names of snapshots begin like this, and end in the number of the last entry they stand for


class History:
    """All of it for one cluster.

    Parameters
    ----------
    folder
        The cluster's.
    header
        Of a new one; None to go on with the one that is there.
    progress
        Told how many entries have been carried out again, of how many.

    Attributes
    ----------
    header
        The journal's.
    restored
        The engine and the clock as they are where the journal ends.

    Raises
    ------
    OutputError
        A file cannot be used, is damaged, or is a newer slurmsim's.
    ConfigError
        The configuration of a new cluster is wrong.
    """

    def __init__(self, folder: Path, header: Mapping[str, Any] | None, progress: Progress | None = None) -> None:
        self.folder, self.journal = folder, Journal(folder / JOURNAL)
        self.store = RecordStore(folder / ACCOUNTING)
        try:
            self._open(header, progress)
        except BaseException:
            self.close()
            raise

    def _open(self, header: Mapping[str, Any] | None, progress: Progress | None) -> None:
        path, folder = self.journal.path, self.folder
        if header is not None:
            self._check_owner(header)
        if os.path.lexists(path):
            found = self._read()
            self.restored = self._replay(found, progress)
            self.journal.open(found)
            if self.restored.upgraded:
                self.journal.append([self.restored.now, WRITER, 0, "", {"writer": OURS}])
            with suppress(OutputError):  # no room: the daemon does it
                note_people(self.restored.engine, self.journal, 0)
        elif header is None:
            raise OutputError(f"{path}: no cluster is there")
        else:
            self.configuration = read_configuration(header, folder, None)
            engine = make_engine(header, folder, self.configuration)
            self._begin_rows(engine, 0)
            self.header = self.journal.begin({**header, "texts": self.configuration.texts})  # now that it can be made
            self.restored = Restored(engine, engine.now, str(header["mode"]), float(header["rate"]))
        self.remove_snapshots(but=self.header.get("snapshot"))

    # -- from the disk ----------------------------------------------------------------------------------------------

    def _read(self) -> Contents:
        """Return what the journal holds, in today's format."""
        path = self.journal.path
        found = read(path)
        if found.format == 1:
            header = {name: value for name, value in found.header.items() if name != "version"}
            configuration = read_configuration(header, self.folder, None)
            engine = make_engine(header, self.folder, configuration)
            kept = replace_journal(path, {**header, "texts": configuration.texts}, migrated(engine, found.entries))
            print(f"{path}: format 1 became format {FORMAT}; the original is {kept.name}", file=sys.stderr)
            found = read(path)
        return found

    def _replay(self, found: Contents, progress: Progress | None = None) -> Restored:
        self.header = header = found.header
        self._check_owner(header)
        self.configuration = read_configuration(header, self.folder, header["texts"])
        engine = make_engine(header, self.folder, self.configuration)
        self._restore_snapshot(engine, header)
        restored = replay(
            engine, watched(found.entries, progress), str(header["mode"]), float(header["rate"]),
            writer=str(header["writer"]), journal=str(self.journal.path), first=int(header["after"]), adopt=self._adopt,
        )  # fmt: skip
        engine = restored.engine
        engine.exchange(engine.people.parted())
        return restored

    def _restore_snapshot(self, engine: Engine, header: Mapping[str, Any]) -> None:
        """Restore what the journal stands on, if it does not tell all from the beginning."""
        named = header.get("snapshot")
        if named is None:
            self._begin_rows(engine, 0)
            return
        path = self.folder / str(named["file"])
        about, tables, crc = snapshot_file.read(path)
        journal = named.get("journal", header["id"])  # another one's where that was salvaged
        if crc != named["crc"] or about["journal"] != journal or about["after"] != header["after"]:
            raise OutputError(f"{path}: is not the snapshot {self.journal.path} stands on")
        self._begin_rows(engine, int(about["rows"]))
        restore(engine, tables)

    def _check_owner(self, header: Mapping[str, Any]) -> None:
        if int(header["owner"]) != os.geteuid():  # a copy of another user's folder: that user would own our daemon
            raise OutputError(f"{self.folder}: the cluster was made by uid {header['owner']}, who is not who starts it")

    def _begin_rows(self, engine: Engine, mark: int) -> None:
        """Let `engine` keep the rows of ended jobs in our file, from the state on that had `mark` of them."""
        for said in self.store.rewind(mark):
            print(f"slurmsim: warning: {said}", file=sys.stderr)
        engine.storage.store = self.store

    def remade(self) -> Engine:
        """Return the engine once more, of what is written."""
        return self._replay(read(self.journal.path)).engine

    # -- a shorter journal --------------------------------------------------------------------------------------------

    def stand_on(self, snapshot: Path, crc: int, after: int, clock: Mapping[str, Any], entries: bytes) -> None:
        """Let the journal begin anew behind a snapshot that is on the disk, with the `entries` since."""
        self.store.checkpoint()
        kept = {name: value for name, value in self.header.items() if name not in ("after", "snapshot")}
        header = {**kept, **clock, "snapshot": {"file": snapshot.name, "crc": crc}}
        self.header = self.journal.begin(header, after, entries)
        self.remove_snapshots(but=self.header["snapshot"])

    def remove_snapshots(self, *, but: Mapping[str, Any] | None) -> None:
        """Snapshots no journal stands on any more, or not yet."""
        for path in self.folder.glob(f"{SNAPSHOT}*"):
            if but is None or path.name != but["file"]:
                with suppress(OSError):
                    path.unlink()

    def close(self) -> None:
        """Close the files; what was written stays."""
        try:
            self.journal.close()
        finally:
            self.store.close()

    # -- another configuration ----------------------------------------------------------------------------------------

    def _make(self, configuration: Configuration) -> Engine:
        return make_engine(self.header, self.folder, configuration)

    def _adopt(self, engine: Engine, texts: Mapping[str, str]) -> Engine:
        new = read_configuration(self.header, self.folder, texts)
        engine = adopt(engine, self.configuration, new, self._make)
        self.configuration = new
        return engine

    def reread(self, engine: Engine, now: int) -> Engine:
        """Return the engine that goes on under the files as they are, from `now` on.

        Raises
        ------
        OutputError
            It cannot, or the files cannot be read; those it runs under are put beside them.
        """
        try:
            present = read_configuration(self.header, self.folder, None)
            if present.texts == self.configuration.texts:
                return engine
            engine.network.advance(now)  # under the rules of until then
            texts = Journal.text([engine.now, CONF, 0, "", {"texts": present.texts}])
            self.journal.reserve(len(texts))
            again = adopt(engine, self.configuration, present, self._make)
        except ConfigError as error:
            write_running(self.folder, self.configuration.texts)
            raise OutputError(f"{error}; the files the cluster runs under are in {RUNNING}/ in its folder") from None
        except OutputError:
            write_running(self.folder, self.configuration.texts)
            raise
        note_decisions(engine, self.journal)
        self.journal.append_text(texts)
        self.configuration = present
        return again
