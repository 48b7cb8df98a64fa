"""Start a cluster from its folder: header, journal, clock, server. The daemon's composition root."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from slurmsim.config.accounting.draft import Draft
from slurmsim.config.accounting.load import read_draft
from slurmsim.config.load import load_cluster, make_cluster
from slurmsim.model.cluster import ClusterSpec
from slurmsim.policy import load_policy
from slurmsim.slurmctld.association_database import engine_database
from slurmsim.slurmctld.clock import FROZEN, Clock
from slurmsim.slurmctld.conf_facts import read_facts
from slurmsim.slurmctld.engine import Engine
from slurmsim.slurmctld.journal import Journal
from slurmsim.slurmctld.people import People
from slurmsim.slurmctld.real_jobs import RealJobs
from slurmsim.slurmctld.server import Server
from slurmsim.slurmctld.simulated import behaviour
from slurmsim.slurmd.executor import Executor

JOURNAL = "journal"
CONF = "slurm.conf"


def new_header(
    *, start: int, mode: str, rate: float, conf: str = "", nodes: int = 4, cpus: int = 8, owner: int | None = None,
    users: Mapping[str, str] | None = None, release: str = "22.05", jobs: str = "simulate",
    accounting: Sequence[str] = (), storage: str = "",
) -> dict[str, Any]:  # fmt: skip
    """The first entry of a journal: all an engine is made of.

    `conf` is the path of a slurm.conf, empty for none; `storage` is ``none``, ``slurmdbd``, or empty for what the conf
    says.
    """
    return {
        "version": 1, "start": start, "mode": mode, "rate": rate, "conf": conf, "nodes": nodes, "cpus": cpus,
        "owner": os.getuid() if owner is None else owner, "users": dict(users or {}), "release": release, "jobs": jobs,
        "accounting": list(accounting), "storage": storage,
    }  # fmt: skip


def make_engine(header: Mapping[str, Any], folder: Path) -> Engine:
    """The engine a header describes, at its first instant."""
    cluster, draft = _cluster(header, folder)
    database = engine_database(cluster, draft, int(header["owner"]), int(header["start"]))
    name = str(cluster.option("SchedulerType")).removeprefix("sched/")
    engine = Engine(
        cluster, load_policy(name)({}), int(header["start"]), People(header["users"]), int(header["owner"]),
        database=database, run_time=behaviour,
        release=str(header["release"]), runs_jobs=header["jobs"] == "run",
    )  # fmt: skip
    engine.conf = read_facts(folder / str(header["conf"]) if header["conf"] else None)
    stored = str(header.get("storage") or engine.conf.scalar("AccountingStorageType"))  # else nobody forbade it
    engine.storage.enabled = stored.lower().removeprefix("accounting_storage/") != "none"
    return engine


def _cluster(header: Mapping[str, Any], folder: Path) -> tuple[ClusterSpec, Draft | None]:
    storage = header.get("storage")
    changes = [("AccountingStorageType", f"accounting_storage/{storage}")] if storage else []
    if not header["conf"]:
        cluster = make_cluster(int(header["nodes"]), int(header["cpus"]), partitions=("debug", "batch"))
        cluster = replace(cluster, options={**cluster.options, **dict(changes)})
    else:
        cluster, _ = load_cluster(folder / str(header["conf"]), changes, release=str(header["release"]))
    files = [folder / name for name in header["accounting"]]
    return cluster, read_draft(files, cluster=cluster.name) if files else None


def replay(engine: Engine, entries: Sequence[Sequence[Any]]) -> int:
    """Carry out the journal's entries; the last instant it speaks of."""
    last = engine.now
    for now, call, uid, name, arguments in entries:
        person = engine.people.by_uid(uid) if engine.people.by_uid(uid).name == name else engine.people.by_name(name)
        last = max(last, int(now))
        if call == "clock":
            engine.network.advance(last)
        else:
            engine.execute(last, call, arguments, person)
    return last


def open_cluster(folder: Path, header: Mapping[str, Any] | None) -> Server:
    """The server of the cluster in `folder`; `header` for a new one, None to go on with what is there."""
    journal = Journal(folder / JOURNAL)
    entries = journal.open()
    if entries:
        header = entries[0]
    else:
        assert header is not None
        journal.append(header)
        journal.sync()
    assert header is not None
    engine = make_engine(header, folder)
    last = replay(engine, entries[1:])
    mode, rate = str(header["mode"]), float(header["rate"])
    start = last if mode == FROZEN or rate != 1.0 else None
    server = Server(folder, engine, Clock(start, mode, rate), journal)
    if header["conf"]:
        engine.conf_path = str(folder / str(header["conf"]))
        engine.host = _host((folder / str(header["conf"])).read_text("utf-8", "replace"))
    if engine.runs_jobs:
        engine.real = RealJobs(engine, Executor(folder / "jobs"))
    return server


def _host(conf: str) -> str:
    """The controller's address in a slurm.conf: ``SlurmctldHost=name(address)``."""
    found = re.search(r"^\s*SlurmctldHost\s*=\s*([^\s(]+)(?:\(([^)\s]+)\))?", conf, re.MULTILINE | re.IGNORECASE)
    return (found[2] or found[1]) if found else "localhost"


def serve(folder: Path, header: Mapping[str, Any] | None) -> None:
    """Run the daemon in this process until it is told to stop."""

    async def run() -> None:
        await open_cluster(folder, header).run()

    asyncio.run(run())
