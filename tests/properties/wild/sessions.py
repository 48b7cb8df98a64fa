"""A wild world as a live session: the commands its users and its administrator type, and a snapshot on the way.

What a workload cannot have is here too: heterogeneous jobs, suspension by hand, other sizes and limits.
"""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from engine_client import START, Cluster, Request

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.server.start import make_engine
from slurmsim.slurmctld.snapshot.image import restore, take
from wild.world import Row, World

USERS = {"ann": "alice", "bob": "bob", "eve": "alice"}
FLAGS = {"exclusive": "--exclusive", "oversubscribe": "-s", "contiguous": "--contiguous", "hold": "-H"}
VALUES = {
    "tasks": "-n", "cpus_per_task": "-c", "tasks_per_node": "--ntasks-per-node=", "mem_per_node": "--mem=",
    "mem_per_cpu": "--mem-per-cpu=", "nice": "--nice=", "qos": "--qos=", "gres": "--gres=", "gpus": "--gpus=",
    "partition": "-p", "licenses": "-L", "node_list": "-w", "exclude": "-x", "constraint": "-C", "name": "-J",
    "options": "",
}  # fmt: skip
NODE_STATES = {"down": "down", "resume": "resume", "drain": "drain", "fail": "fail", "undrain": "undrain"}
CHANGES = (
    "scontrol suspend {}", "scontrol resume {}", "scontrol hold {}", "scontrol release {}", "scontrol requeue {}",
    "scontrol update jobid={} timelimit=9", "scontrol update jobid={} numnodes=1", "scancel {}",
)  # fmt: skip
STANDS = ("squeue -a -o '%i|%t|%S|%e|%r|%Q|%N|%C'", "scontrol show job", "scontrol show node")
_FIELDS = "JobID,State,Submit,Eligible,Start,End,NodeList,AllocTRES,ExitCode,Priority,Suspended"
ENDED = (f"sacct -aDXP -S 2026-01-01 -o {_FIELDS}",)
Step = tuple[int, str, str]  # second of the world, who, command


def steps(world: World) -> list[Step]:
    """The commands of the session, in order of time."""
    draw = random.Random(world.seed)
    found = list(_submissions(world, draw))
    last = max(at for at, _, _ in found)
    for when, action, nodes, *_ in world.events:
        if action in NODE_STATES:
            command = f"scontrol update nodename={nodes} state={NODE_STATES[action]} reason=x"
            found.append((int(when), "root", command))
    for _ in range(8):
        change = draw.choice(CHANGES).format(draw.randint(1, len(world.jobs)))
        found.append((draw.randint(found[0][0], last + 300), "root", change))
    return sorted(found, key=lambda step: step[0])


def _submissions(world: World, draw: random.Random) -> Iterator[Step]:
    """sbatch lines; one in eight joins the next job to a heterogeneous one."""
    words, run = "", 0
    for job in world.jobs:
        words += f" {_words(job)}"
        if draw.random() < 0.12:
            words += " :"
            continue
        run = int(job.get("run_time", 1))
        yield int(job["submit"]), USERS[str(job["user"])], f"sbatch{words} --wrap 'sleep {run}'"
        words = ""


def _words(job: Row) -> str:
    words = [flag for name, flag in FLAGS.items() if job.get(name) == 1]
    words += [f"{option}{job[name]}" for name, option in VALUES.items() if job.get(name, "") not in ("", -1)]
    if "nodes" in job:
        words.append(f"-N{job['nodes']}-{job.get('nodes_max', job['nodes'])}")
    if int(job.get("time_limit", -1)) > 0:
        words.append(f"-t{-(-int(job['time_limit']) // 60)}")
    if job.get("requeue") == 0:
        words.append("--no-requeue")
    return " ".join(words)


def goes_on_otherwise(world: World, folder: Path) -> str:
    """What an engine taken up from a snapshot half-way answers unlike the one that went straight on; or nothing.

    Raises ConfigError where the live cluster refuses the configuration.
    """
    for name, lines in (("topology.conf", world.topology), ("bins.toml", world.bins)):
        if lines:
            (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
    policy = world.policy.replace("@", f"{folder}/")
    conf = "\n".join([*world.conf, *([f"SchedulerType=sched/{policy}"] if policy != "backfill" else [])]) + "\n"
    accounts = "\n".join(["add cluster wild", *world.accounts, "add user alice Account=a,bb"])
    cluster = Cluster(folder, conf, accounting=accounts if world.accounts else "", release=world.release)
    session = steps(world)
    first, half = session[0][0], len(session) // 2
    other: Engine | None = None
    for number, (at, user, command) in enumerate(session):
        cluster.now = START + at - first
        _advance(cluster, other)
        if number == half:
            other = make_engine(cluster.header, folder)
            restore(other, json.loads(json.dumps(list(take(cluster.engine)))))
        asked = len(cluster.asked)
        cluster.run(command, user)
        for request in cluster.asked[asked:] if other is not None else ():
            _ask(other, request)
    cluster.now += 7200
    _advance(cluster, other)
    assert other is not None
    known = set(_answers(cluster, cluster.engine, *ENDED))  # the database of the other one began half-way
    pairs = itertools.zip_longest(*(_answers(cluster, engine, *STANDS) for engine in (other, cluster.engine)))
    differ = [pair for pair in pairs if pair[0] != pair[1]]
    differ += [(line, "") for line in _answers(cluster, other, *ENDED) if line not in known]
    return f"from the snapshot {differ[0][0]!r}, straight {differ[0][1]!r}" if differ else ""


def _answers(cluster: Cluster, engine: Engine, *commands: str) -> list[str]:
    """What the engine says, line by line."""
    asked = copy.copy(cluster)
    asked.engine = engine
    return [line for command in commands for line in asked.run(command)[1].splitlines()]


def _advance(cluster: Cluster, other: Engine | None) -> None:
    for engine in (cluster.engine, other):
        if engine is not None:
            engine.network.advance(cluster.now)


def _ask(engine: Engine, request: Request) -> None:
    now, call, user, arguments = request
    with suppress(Refusal):
        engine.execute(now, call, json.loads(arguments), engine.people.by_name(user))
