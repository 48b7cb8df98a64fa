"""A cluster as it is, in this process, made of what is on its disk: to be asked and changed at will."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slurmsim.errors import OutputError
from slurmsim.slurmctld.database.record_store import RecordStore
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.history.carrying_over import adopt
from slurmsim.slurmctld.history.header import JOURNAL
from slurmsim.slurmctld.history.initial_engine import make_engine
from slurmsim.slurmctld.history.journal import read
from slurmsim.slurmctld.history.reconfiguration import Configuration, read_configuration
from slurmsim.slurmctld.history.replaying import replay
from slurmsim.slurmctld.snapshot import file as snapshot_file
from slurmsim.slurmctld.snapshot.image import restore, take

_TRIES = 5  # a running cluster may begin its journal anew while we read


class Onlooker:
    """A copy of the cluster in `folder`, and copies of that. A context manager: its scratch folder goes with it.

    Nothing is written to the cluster's folder. Rows of jobs it has forgotten are not looked at.

    Raises
    ------
    OutputError
        There is no cluster, its files are damaged, or its journal is of an older release and must be migrated first.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._scratch = tempfile.TemporaryDirectory(prefix="slurmsim-why-")
        try:
            (Path(self._scratch.name) / "var" / "log").mkdir(parents=True)
            self.engine = self._read()
        except BaseException:
            self._scratch.cleanup()
            raise

    def __enter__(self) -> Onlooker:
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.cleanup()

    def advance(self, now: int) -> None:
        """Let pass what has passed since the journal's last entry."""
        self.engine.network.advance(max(now, self.engine.now))

    def fork(self) -> Engine:
        """Return another copy of the cluster as it is now; changes to the copy have no effect elsewhere."""
        again = self._make(self._configuration)
        restore(again, list(take(self.engine)), shares=False)
        return again

    # -- from the disk ------------------------------------------------------------------------------------------------

    def _read(self) -> Engine:
        for left in reversed(range(_TRIES)):
            try:
                return self._read_once()
            except OutputError:
                if not left:
                    raise
        raise AssertionError("unreachable: the last try raises")

    def _read_once(self) -> Engine:
        path = self._folder / JOURNAL
        found = read(path)
        if found.format == 1:
            raise OutputError(f"{path}: format 1 has to be migrated first: slurmsim up")
        header = self._header = found.header
        self._configuration = read_configuration(header, self._folder, header["texts"])
        engine = self._make(self._configuration)
        named = header.get("snapshot")
        if named is not None:
            about, tables, crc = snapshot_file.read(self._folder / str(named["file"]))
            if crc != named["crc"] or about["after"] != header["after"]:
                raise OutputError(f"{self._folder}: the journal does not stand on its snapshot")
            restore(engine, tables)
        engine.storage.store = RecordStore()
        return replay(
            engine, found.entries, str(header["mode"]), float(header["rate"]), writer=str(header["writer"]),
            journal=str(path), first=int(header["after"]), adopt=self._adopt,
        ).engine  # fmt: skip

    def _make(self, configuration: Configuration) -> Engine:
        return make_engine(self._header, Path(self._scratch.name), configuration)

    def _adopt(self, engine: Engine, texts: Mapping[str, Any]) -> Engine:
        new = read_configuration(self._header, self._folder, texts)
        engine = adopt(engine, self._configuration, new, self._make)
        self._configuration = new
        return engine
