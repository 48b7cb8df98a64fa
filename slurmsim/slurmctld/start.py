"""Start a cluster from its folder: header, journal, clock, server. The daemon's composition root."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
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
from slurmsim.slurmctld.record_store import RecordStore
from slurmsim.slurmctld.server import Server, run_server
from slurmsim.slurmctld.simulated import behaviour
from slurmsim.slurmd.executor import Executor

ACCOUNTING = "accounting.db"
"""The file of the rows of ended jobs in a cluster's folder."""

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


def open_cluster(folder: Path, header: Mapping[str, Any] | None) -> Server:
    """The server of the cluster in `folder`; `header` for a new one, None to go on with what is there."""
    journal = Journal(folder / JOURNAL)
    entries = journal.open()
    if entries:
        header = entries[0]
    if header is None:
        raise OutputError(f"{journal.path}: the journal is empty")
    first: Mapping[str, Any] = header
    engine = make_engine(first, folder)
    store = RecordStore(folder / ACCOUNTING)
    _begin(engine, store)
    if not entries:  # only now that it can be made
        journal.append(first)
        journal.sync()
    found = replay(engine, entries[1:], str(first["mode"]), float(first["rate"]))
    clock = Clock(None if found.mode == REAL else found.now, found.mode, found.rate)

    def restore() -> Engine:
        again = make_engine(first, folder)
        _begin(again, store)
        replay(again, read(journal.path)[1:])
        return again

    server = Server(folder, engine, clock, journal, restore)
    if engine.runs_jobs:
        engine.real = RealJobs(engine, Executor(folder / "jobs"))
    return server


def _begin(engine: Engine, store: RecordStore, mark: int = 0) -> None:
    """Let `engine` keep the rows of ended jobs in `store`, from the state on that had `mark` of them."""
    for said in store.rewind(mark):
        print(f"slurmsim: warning: {said}", file=sys.stderr)
    engine.storage.store = store


def _host(conf: str) -> str:
    """The controller's address in a slurm.conf: ``SlurmctldHost=name(address)``."""
    found = re.search(r"^\s*SlurmctldHost\s*=\s*([^\s(]+)(?:\(([^)\s]+)\))?", conf, re.MULTILINE | re.IGNORECASE)
    return (found[2] or found[1]) if found else "localhost"


def serve(folder: Path, header: Mapping[str, Any] | None) -> int:
    """Run the daemon in this process until it is told to stop; the exit code."""
    more_descriptors()
    return run_server(open_cluster(folder, header))
