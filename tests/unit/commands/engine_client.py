"""Commands against an engine in the same process: what they change, it journals, and the journal makes it again."""

from __future__ import annotations

import io as streams
import json
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

from slurmsim.commands import MODULES
from slurmsim.commands.io import Io
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.server.start import make_engine, new_header, replay

START = 1_767_600_000  # 2026-01-05T08:00:00Z
CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos
PriorityType=priority/multifactor
PriorityWeightFairshare=10000
PriorityWeightAge=1000
NodeName=n[1-2] CPUs=4 RealMemory=4000
PartitionName=batch Nodes=ALL Default=YES MaxTime=1-0
"""
ROOT = Person("root", 0, "root", 0, "/root")
PEOPLE = {
    "root": ROOT,
    "alice": Person("alice", 2001, "alice", 2001, "/home/alice"),
    "bob": Person("bob", 2002, "bob", 2002, "/home/bob"),
}


Request = tuple[int, str, str, str]  # the time, the request's name, the user, the arguments as JSON


class Cluster:
    """An engine, its journal, and the time."""

    def __init__(
        self, folder: Path, conf: str = CONF, storage: str = "", accounting: str = "", release: str = "22.05",
        users: tuple[str, ...] = ("alice", "bob"), start: int = START,
    ) -> None:  # fmt: skip
        self.folder = folder
        (folder / "slurm.conf").write_text(conf, "utf-8")
        if accounting:
            (folder / "accounting.txt").write_text(accounting, "utf-8")
        self.header = new_header(
            start=start, mode="frozen", rate=1.0, conf="slurm.conf", owner=0, storage=storage,
            users={name: str(2001 + at) for at, name in enumerate(users)},
            accounting=["accounting.txt"] if accounting else [],
            release=release,
        )  # fmt: skip
        self.engine = make_engine(self.header, folder)
        self.journal: list[tuple[int, str, int, str, dict[str, Any]]] = []
        self.asked: list[Request] = []
        self.now = start
        self.release = release  # what commands take the daemon for

    def call(self, name: str, person: Person, arguments: dict[str, Any]) -> dict[str, Any]:
        person = self.engine.people.by_name(person.name)
        text = json.dumps(arguments)
        arguments = json.loads(text)  # what comes over the wire shares nothing
        self.asked.append((self.now, name, person.name, text))
        found = self.engine.execute(self.now, name, arguments, person)
        if name in self.engine.changes:
            self.journal.append((self.now, name, person.uid, person.name, arguments))
        return found

    def run(self, command: str, user: str = "root", **environ: str) -> tuple[int, str, str]:
        """One command: its exit code, output and errors."""
        program, *words = shlex.split(command)
        module = import_module(MODULES.get(program) or f"slurmsim.commands.small.{program}")
        out, error = streams.StringIO(), streams.StringIO()
        environment = {"SLURMSIM_USER": user, "USER": user, **environ}
        client: Any = _Client(self, PEOPLE.get(user) or self.engine.people.by_name(user))
        world = Io(client, stdin=streams.StringIO(), stdout=out, stderr=error, environ=environment,
                   cwd="/home", now=lambda: self.now)  # fmt: skip
        return module.run(words, world), out.getvalue(), error.getvalue()

    def text(self, command: str, user: str = "root") -> str:
        """The output of a command that succeeds."""
        code, out, error = self.run(command, user)
        assert (code, error) == (0, ""), error
        return out

    def submit(self, user: str = "alice", seconds: int = 100, **more: Any) -> int:
        job = {"name": "j", "script": f"#!/bin/sh\nsleep {seconds}\n", "work_dir": "/tmp", "time_limit": 10, **more}
        return int(self.call("submit", PEOPLE[user], {"job": job})["job_id"])

    def again(self) -> Engine:
        """The engine the journal makes."""
        engine = make_engine(self.header, self.folder)
        replay(engine, enumerate(self.journal, 1))
        engine.network.advance(self.now)
        return engine


class _Client:
    patience_s = 0.0
    folder = "/nowhere"

    def __init__(self, cluster: Cluster, person: Person) -> None:
        self.cluster, self.person = cluster, person

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        if name == "hello":
            return {
                "now": self.cluster.now,
                "uid": self.person.uid,
                "user": self.person.name,
                "cluster": "tux",
                "slurm_version": self.cluster.release,
                "flavour": self.cluster.engine.flavour,
                **({} if self.cluster.engine.database.exists else {"accounting": False}),
                "operator": self.cluster.engine.database.is_operator(self.person),
                "administrator": self.cluster.engine.database.is_administrator(self.person),
            }
        return self.cluster.call(name, self.person, arguments)
