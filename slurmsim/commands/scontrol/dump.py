"""``scontrol --json`` and ``--yaml``: show of jobs, nodes, partitions, reservations, licenses and steps, and ping."""

from __future__ import annotations

import time

from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.json import documents, frame
from slurmsim.commands.json.command import Dump
from slurmsim.commands.json.versions import name as name_of
from slurmsim.commands.json.versions import number
from slurmsim.commands.scontrol.session import Session
from slurmsim.commands.text.clock_text import Dates
from slurmsim.commands.text.messages import Stop
from slurmsim.protocol import DENIED, Refusal
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from slurmsim.commands.json.versions import Record

    Shown = tuple[Record, list[Any]]
_NONE_TEXT = "No nodes to dump"
_LOADED = {"nodes": "slurm_load_node error", "partitions": "slurm_load_partitions error"}
ANYWAY = frozenset({"assoc_mgr", "cache", "topology", "hostnames", "hostlist", "hostlistsorted"})
"""Entities that are shown as text whatever was asked for."""


def show(session: Session, entity: str, value: str | None, words: Sequence[str]) -> None:
    """``show ENTITY [VALUE]`` as a document. Raises Stop for an entity that is not modelled in this form."""
    make = _ENTITIES.get(entity)
    if make is None:
        session.refuse(f"show {entity} with --{session.dump} is not modelled")
        raise Stop(1)
    _write(session, words, lambda dump: make(session, value, dump.version), entity)


def ping(session: Session, words: Sequence[str]) -> None:
    """``ping`` as a document."""

    def asked(dump: Dump) -> Shown:
        begin = time.monotonic()
        hello = session.io.client.call("ping")
        return documents.ping(hello, dump.version, int((time.monotonic() - begin) * 1e6)), []

    _write(session, words, asked)


def _write(session: Session, words: Sequence[str], make: Callable[[Dump], Shown], entity: str = "") -> None:
    whole = since(session.release, "meta_tells_whole_command")
    try:
        dump = Dump(session.io, session.release, session.dump, session.parser,
                    session.argv if whole else ["scontrol", *words])  # fmt: skip
        if not whole:
            dump.argv = list(words)
        dump.write(*make(dump))
    except FAILED_CALLS as error:
        session.code = 1
        denied = _LOADED.get(entity) if text_of(error) == DENIED else None
        session.io.error(f"{denied or 'scontrol: error'}: {text_of(error)}")


def _jobs(session: Session, value: str | None, version: int) -> Shown:
    from slurmsim.commands.json.versions import rows_of_job

    if value is None:
        return documents.jobs(session.io.client, version, show_all=session.all), []
    base, _, task = value.partition("_")
    try:
        found = documents.jobs(session.io.client, version, show_all=True, job_id=base)
    except Refusal:
        return {"jobs": [], "last_backfill": number(0), "last_update": number(0)}, []
    found["jobs"] = rows_of_job(found["jobs"], task)
    found["last_update"] = number(0)  # it is told of all jobs only
    return found, []


def _nodes(session: Session, value: str | None, version: int) -> Shown:
    from slurmsim.commands.text.typed_hosts import typed_hosts

    names = None if value is None else typed_hosts(value, session.error)
    found = documents.nodes(session.io.client, version, names, show_all=session.all, future=session.future)
    members = session.load("partitions", ["name", "node_names"], show_all=session.all)
    for node in found["nodes"]:  # partitions that are hidden from who asks are not named
        node["partitions"] = [one["name"] for one in members if node["name"] in one["node_names"]]
    return found, [] if found["nodes"] else [{"description": _NONE_TEXT, "source": ""}]


def _partitions(session: Session, value: str | None, version: int) -> Shown:
    found = documents.partitions(session.io.client, version, value, show_all=session.all)
    return found, frame.no_tres(session.io.client.call("hello"))


def _reservations(session: Session, value: str | None, version: int) -> Shown:
    return documents.reservations(session.io.client, version, value), []


def _licenses(session: Session, value: str | None, version: int) -> Shown:
    found = documents.licenses(session.io.client, version)
    if value is not None:
        found["licenses"] = [one for one in found["licenses"] if one["LicenseName"] == value]
    return found, []


def _steps(session: Session, value: str | None, version: int) -> Shown:
    from slurmsim.commands.scontrol.step_text import parse_step

    wanted = parse_step(value)
    asked = {} if wanted.job is None else {"job_id": wanted.job, "step_id": wanted.step}
    found = documents.steps(session.io.client, version, show_all=session.all, **asked)
    return found, documents.step_warnings(found, session.release)


def _config(session: Session, value: str | None, version: int) -> Shown:
    from slurmsim.commands.json import configuration
    from slurmsim.commands.scontrol.config_text import config_rows

    if version < configuration.FIRST:
        session.refuse(f"show config in data_parser {name_of(version)} is not modelled")
        raise Stop(1)
    answer = session.io.client.call("show_config")
    dates = Dates(session.io.environ, session.now, unset="N/A")
    rows = config_rows(answer, session.release, dates, every=True)
    values = dict(rows)
    hosts = [text for name, text in rows if name.startswith("SlurmctldHost[")]
    given = {key.lower() for key in answer["given"]}
    for name in ("DefMemPerCPU", "MaxMemPerCPU"):
        if name.lower() not in given:
            values.pop(name, None)
    facts = answer["facts"]
    meta = {
        "LastUpdate": facts["BOOT_TIME"], "BOOT_TIME": facts["BOOT_TIME"], "ClusterId": number(0), "HashValue": 0,
        "NEXT_JOB_ID": number(int(values["NEXT_JOB_ID"])), "SLURM_CONF": values["SLURM_CONF"],
        "SLURM_VERSION": values["SLURM_VERSION"],
    }  # fmt: skip
    return {"slurm_conf": configuration.slurm_conf(values, hosts), "slurm_conf_meta": meta}, []


_ENTITIES: dict[str, Callable[[Session, str | None, int], Shown]] = {
    "jobs": _jobs, "jobid": _jobs, "nodes": _nodes, "partitions": _partitions, "partitionname": _partitions,
    "reservations": _reservations, "reservationname": _reservations, "licenses": _licenses, "steps": _steps,
    "config": _config,
}  # fmt: skip
