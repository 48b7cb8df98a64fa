"""Start a cluster from its folder: header, journal, clock, server. The daemon's composition root."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from slurmsim.errors import ConfigError, OutputError
from slurmsim.policy import load_policy
from slurmsim.slurmctld.association_database import engine_database
from slurmsim.slurmctld.clock import REAL, Clock
from slurmsim.slurmctld.completion_log import completion_log
from slurmsim.slurmctld.connections import more_descriptors
from slurmsim.slurmctld.engine import Engine
from slurmsim.slurmctld.header import JOURNAL, new_header
from slurmsim.slurmctld.journal import Journal, read
from slurmsim.slurmctld.journal_file import FORMAT, Contents
from slurmsim.slurmctld.migration import migrated, replace_journal
from slurmsim.slurmctld.noting import note_decisions
from slurmsim.slurmctld.people import People
from slurmsim.slurmctld.real_jobs import RealJobs
from slurmsim.slurmctld.reconfiguration import RUNNING, Configuration, adopt, read_configuration, write_running
from slurmsim.slurmctld.replaying import CONF, OURS, WRITER, Restored, replay
from slurmsim.slurmctld.server import Server, run_server
from slurmsim.slurmctld.simulated import behaviour
from slurmsim.slurmd.executor import Executor

__all__ = ["History", "make_engine", "new_header", "open_cluster", "replay", "serve"]


def make_engine(header: Mapping[str, Any], folder: Path, configuration: Configuration | None = None) -> Engine:
    """The engine a header describes, at its first instant."""
    conf = configuration or read_configuration(header, folder, header.get("texts"))
    # users see when every waiting job is expected to start, also where that decides nothing
    parameters = {**conf.cluster.scheduler_parameters, "slurmsim_plan_all": ""}
    cluster = replace(conf.cluster, scheduler_parameters=parameters)
    database = engine_database(cluster, conf.accounting, int(header["owner"]), int(header["start"]))
    name = str(cluster.option("SchedulerType")).removeprefix("sched/")
    engine = Engine(
        cluster, load_policy(name)({}), int(header["start"]), People(header["users"]), int(header["owner"]),
        database=database, run_time=behaviour,
        release=str(header["release"]), runs_jobs=header["jobs"] == "run",
    )  # fmt: skip
    database.operators = frozenset(map(str, header.get("operators", ())))
    engine.conf, engine.host = conf.facts, conf.host
    if header["conf"]:
        engine.conf_path = str(folder / str(header["conf"]))
    stored = str(header.get("storage") or engine.conf.scalar("AccountingStorageType"))  # else nobody forbade it
    engine.storage.enabled = stored.lower().removeprefix("accounting_storage/") != "none"
    engine.storage.completed = completion_log(engine, folder)
    return engine


class History:
    """A cluster's past: its journal, and the configuration it runs under.

    Parameters
    ----------
    folder
        The cluster's.
    header
        Of a new one; None to go on with the one that is there.

    Attributes
    ----------
    restored
        The engine and the clock as they are where the journal ends.
    """

    def __init__(self, folder: Path, header: Mapping[str, Any] | None) -> None:
        self.folder, self.journal = folder, Journal(folder / JOURNAL)
        path = self.journal.path
        if os.path.lexists(path):
            found = self._read()
            self.restored = self._replay(found)
            self.journal.open(found)
            if self.restored.upgraded:
                self.journal.append([self.restored.now, WRITER, 0, "", {"writer": OURS}])
        elif header is None:
            raise OutputError(f"{path}: no cluster is there")
        else:
            self.configuration = read_configuration(header, folder, None)
            engine = make_engine(header, folder, self.configuration)
            self.header = self.journal.begin({**header, "texts": self.configuration.texts})  # now that it can be made
            self.restored = Restored(engine, engine.now, str(header["mode"]), float(header["rate"]))

    def _read(self) -> Contents:
        """What the journal holds, in today's format."""
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

    def _replay(self, found: Contents) -> Restored:
        self.header = header = found.header
        self.configuration = read_configuration(header, self.folder, header["texts"])
        return replay(
            make_engine(header, self.folder, self.configuration), found.entries, str(header["mode"]),
            float(header["rate"]), writer=str(header["writer"]), journal=str(self.journal.path),
            first=int(header["after"]), adopt=self._adopt,
        )  # fmt: skip

    def _adopt(self, engine: Engine, texts: Mapping[str, str]) -> Engine:
        new = read_configuration(self.header, self.folder, texts)
        engine = adopt(engine, self.configuration, new)
        self.configuration = new
        return engine

    def restore(self) -> Engine:
        """The engine once more, of what is written."""
        return self._replay(read(self.journal.path)).engine

    def reread(self, engine: Engine, now: int) -> Engine:
        """The engine that goes on under the files as they are, from `now` on.

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
            again = adopt(engine, self.configuration, present)
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


def open_cluster(folder: Path, header: Mapping[str, Any] | None) -> Server:
    """The server of the cluster in `folder`; `header` for a new one, None to go on with what is there."""
    history = History(folder, header)
    found = history.restored
    clock = Clock(None if found.mode == REAL else found.now, found.mode, found.rate)
    engine = found.engine
    real = RealJobs(engine, Executor(folder / "jobs")) if engine.runs_jobs else None
    engine.real = real
    engine = history.reread(engine, max(clock.now(), engine.now))
    if real is not None:
        real.adopt(engine)
    history.journal.sync()
    return Server(folder, engine, clock, history.journal, history.restore, history.reread)


def serve(folder: Path, header: Mapping[str, Any] | None) -> int:
    """Run the daemon in this process until it is told to stop; the exit code."""
    more_descriptors()
    return run_server(open_cluster(folder, header))
