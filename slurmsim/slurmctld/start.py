"""Start a cluster from its folder: header, journal, clock, server. The daemon's composition root."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from slurmsim.config.accounting.draft import Draft
from slurmsim.config.accounting.load import read_draft
from slurmsim.config.load import load_cluster, make_cluster
from slurmsim.errors import OutputError
from slurmsim.model.cluster import ClusterSpec
from slurmsim.policy import load_policy
from slurmsim.protocol import Refusal
from slurmsim.slurmctld.association_database import engine_database
from slurmsim.slurmctld.clock import REAL, Clock
from slurmsim.slurmctld.completion_log import completion_log
from slurmsim.slurmctld.conf_facts import read_facts
from slurmsim.slurmctld.connections import more_descriptors
from slurmsim.slurmctld.engine import Engine
from slurmsim.slurmctld.header import JOURNAL, new_header
from slurmsim.slurmctld.journal import Journal, read
from slurmsim.slurmctld.people import People
from slurmsim.slurmctld.real_jobs import RealJobs
from slurmsim.slurmctld.server import Server, run_server
from slurmsim.slurmctld.simulated import behaviour
from slurmsim.slurmctld.starter import Progress, watched
from slurmsim.slurmctld.state_folder import StateFolder
from slurmsim.slurmd.executor import Executor

__all__ = ["make_engine", "new_header", "open_cluster", "replay", "serve"]


def make_engine(header: Mapping[str, Any], folder: Path) -> Engine:
    """The engine a header describes, at its first instant."""
    cluster, draft = _cluster(header, folder)
    # users see when every waiting job is expected to start, also where that decides nothing
    cluster = replace(cluster, scheduler_parameters={**cluster.scheduler_parameters, "slurmsim_plan_all": ""})
    database = engine_database(cluster, draft, int(header["owner"]), int(header["start"]))
    name = str(cluster.option("SchedulerType")).removeprefix("sched/")
    engine = Engine(
        cluster, load_policy(name)({}), int(header["start"]), People(header["users"]), int(header["owner"]),
        database=database, run_time=behaviour,
        release=str(header["release"]), runs_jobs=header["jobs"] == "run",
    )  # fmt: skip
    database.operators = frozenset(map(str, header.get("operators", ())))
    engine.conf = read_facts(folder / str(header["conf"]) if header["conf"] else None)
    if header["conf"]:
        engine.conf_path = str(folder / str(header["conf"]))
        engine.host = _host((folder / str(header["conf"])).read_text("utf-8", "replace"))
    stored = str(header.get("storage") or engine.conf.scalar("AccountingStorageType"))  # else nobody forbade it
    engine.storage.enabled = stored.lower().removeprefix("accounting_storage/") != "none"
    engine.storage.completed = completion_log(engine, folder)
    return engine


def _cluster(header: Mapping[str, Any], folder: Path) -> tuple[ClusterSpec, Draft | None]:
    if not header["conf"]:
        spec = make_cluster(int(header["nodes"]), int(header["cpus"]), partitions=("debug", "batch"))
        return replace(spec, release=str(header["release"])), None
    storage = header.get("storage")
    changes = [("AccountingStorageType", f"accounting_storage/{storage}")] if storage else []
    cluster, _ = load_cluster(folder / str(header["conf"]), changes, release=str(header["release"]))
    files = [folder / name for name in header["accounting"]]
    return cluster, read_draft(files, cluster=cluster.name) if files else None


@dataclass(slots=True)
class Restored:
    """Where the clock was when the journal ends."""

    now: int
    mode: str
    rate: float


def replay(engine: Engine, entries: Iterable[Sequence[Any]], mode: str = REAL, rate: float = 1.0) -> Restored:
    """Carry out the journal's entries; the clock they leave, `mode` and `rate` being its first."""
    found = Restored(engine.now, mode, rate)
    for now, call, uid, name, arguments in entries:
        found.now = max(found.now, int(now))
        if call == "clock":
            found.mode, found.rate = arguments.get("mode", found.mode), arguments.get("rate", found.rate)
            engine.network.advance(found.now)
            continue
        person = engine.people.by_uid(uid)
        if person.name != name:
            person = engine.people.by_name(name)
        with suppress(Refusal):  # as it was refused then, having taken an id
            engine.execute(found.now, call, arguments, person)
    return found


def open_cluster(held: StateFolder, header: Mapping[str, Any] | None, progress: Progress | None = None) -> Server:
    """The server of the cluster in a folder; `header` for a new one, None to go on with what is there.

    `progress` is told how far the journal has been carried out again.
    """
    folder = held.path
    journal = Journal(folder / JOURNAL)
    entries = journal.open()
    if entries:
        header = entries[0]
    if header is None:
        raise OutputError(f"{journal.path}: the journal is empty")
    first: Mapping[str, Any] = header
    if int(first["owner"]) != os.geteuid():  # a copy of somebody else's folder: he would own a daemon that is not his
        raise OutputError(f"{folder}: the cluster was made by uid {first['owner']}, who is not who starts it")
    engine = make_engine(first, folder)
    if not entries:  # only now that it can be made
        journal.append(first)
        journal.sync()
    found = replay(engine, watched(entries[1:], progress), str(first["mode"]), float(first["rate"]))
    clock = Clock(None if found.mode == REAL else found.now, found.mode, found.rate)

    def restore() -> Engine:
        again = make_engine(first, folder)
        replay(again, read(journal.path)[1:])
        return again

    server = Server(held, engine, clock, journal, restore)
    if engine.runs_jobs:
        engine.real = RealJobs(engine, Executor(folder / "jobs"), journal.reserve)
    return server


def _host(conf: str) -> str:
    """The controller's address in a slurm.conf: ``SlurmctldHost=name(address)``."""
    found = re.search(r"^\s*SlurmctldHost\s*=\s*([^\s(]+)(?:\(([^)\s]+)\))?", conf, re.MULTILINE | re.IGNORECASE)
    return (found[2] or found[1]) if found else "localhost"


def serve(
    folder: StateFolder, header: Mapping[str, Any] | None, progress: Progress | None = None,
    ready: Callable[[], None] | None = None,
) -> int:  # fmt: skip
    """Run the daemon in this process until it is told to stop; the exit code. `ready` is called when it answers.

    The folder is held until the process ends.
    """
    folder.for_life = True
    more_descriptors()
    return run_server(open_cluster(folder, header, progress), ready)
