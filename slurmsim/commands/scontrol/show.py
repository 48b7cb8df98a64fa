"""``scontrol show``: what there is to show, and how it is looked up. The layouts are in `scontrol_*_text`."""

from __future__ import annotations

from slurmsim import sluid
from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.scontrol.hosts import host_list, host_names
from slurmsim.commands.scontrol.session import Session
from slurmsim.commands.text.clock_text import Dates, long_clock
from slurmsim.release_changes import since
from slurmsim.releases import has

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Words = Sequence[str]
_OPTIONS_MAY_FOLLOW = ("assoc_mgr", "bbstat", "dwstat", "topology")


def show(session: Session, words: Words) -> None:
    """``show ENTITY[=VALUE | VALUE]``."""
    if len(words) < 2:
        session.warn(f"too few arguments for keyword:{words[0]}")
        return
    tag = words[1]
    follow = tag.lower()[:2] in {name[:2] for name in _OPTIONS_MAY_FOLLOW[:3]} or (
        since(session.release, "topology_with_options") and tag.lower()[:4] == "topo"
    )
    if len(words) > 3 and not follow:
        session.warn(f"too many arguments for keyword:{words[0]}")
        return
    name, equals, text = tag.partition("=")
    value = text if equals else words[2] if len(words) == 3 else None
    for entity, least, first, gone, handler in ENTITIES:
        size = max(len(name), least)
        if has(session.release, first, gone) and name.lower()[:size] == entity.lower()[:size]:
            if session.dump and entity not in text_anyway(session.release):
                from slurmsim.commands.scontrol import dump  # rarely wanted

                dump.show(session, entity, value, words)
            else:
                handler(session, value, words)
            return
    blank = "" if since(session.release, "invalid_entity_without_blank") else " "
    session.warn(f"invalid entity:{tag} for keyword:{words[0]}{blank}")


def text_anyway(release: str) -> frozenset[str]:
    """Entities that are shown as text whatever form was asked for."""
    from slurmsim.commands.scontrol.dump import ANYWAY

    return ANYWAY if since(release, "configuration_as_document") else ANYWAY | {"config"}


NO_TASK = "4294967294"  # in the file names of an array's own record

# -- jobs and steps --------------------------------------------------------------------------------------------------


def _jobs(session: Session, value: str | None, words: Words) -> None:
    from slurmsim.commands.scontrol.job_text import FIELDS, job_text

    job = task = component = None
    if value is not None:
        named = sluid.number_of(value) is not None
        if not named and any(sign not in "0123456789_+" for sign in value):
            session.complain("scontrol_print_job error", "Invalid job id specified", loud=session.quiet != 1)
            return
        if not named:
            job, task, component = _job_id(value)
    asked = {} if value is None else {"job_id": value if job is None else str(job)}
    rows = _load(session, "jobs", list(FIELDS), "slurm_load_jobs error", **asked)
    if rows is None:
        return
    dates = Dates(session.io.environ, session.now, unset="Unknown")
    _say_update(session, dates, len(rows))
    if component is not None:
        rows = [row for row in rows if row["het_job_offset"] == component]
    if task is not None:
        rows = [_of_task(row, task) for row in rows if _has_task(row, task)]
    _load_threads(session, rows)
    for row in rows:
        session.io.out(job_text(row, session, dates))
    if rows:
        return
    if value is None:
        _tell(session, "No jobs in the system")
        return
    name = f"{job or 0}" + (f"_{task}" if task is not None else f"+{component}" if component is not None else "")
    session.code = 1
    if session.quiet != 1:
        say = session.io.error if since(session.release, "job_not_found_is_an_error") else _line(session)
        say(f"Job {name} not found")


def _load_threads(session: Session, rows: list[dict[str, Any]]) -> None:
    """Load nodes for the threads of the jobs' cores; releases that need them let slurmctld count CPUs by that."""
    if session.details and any(row["cpu_ids"] for row in rows) and not since(session.release, "threads_known_of_jobs"):
        _load(session, "nodes", ["name"], "slurm_load_nodes error")


def _job_id(value: str) -> tuple[int | None, int | None, int | None]:
    """Return job, task and component of ``12_3`` or ``12+1``."""
    first, under, rest = value.partition("_")
    base, plus, offset = first.partition("+")
    task = int(rest.partition("+")[0] or 0) if under else None
    return int(base or 0) or None, task, int(offset or 0) if plus else None


def _of_task(row: dict[str, Any], task: int) -> dict[str, Any]:
    """Turn the record of an array's waiting tasks into that of one of them."""
    if row["array_task_str"]:
        row["array_task_str"], row["array_task_id"] = None, task
        for name in ("shown_out", "shown_err", "std_in"):
            row[name] = row[name] and row[name].replace(NO_TASK, str(task))
    return row


def _has_task(row: dict[str, Any], task: int) -> bool:
    from slurmsim.commands.text.array_text import tasks_of

    return row["array_task_id"] == task or bool(row["array_task_str"] and task in tasks_of(row["array_task_str"]))


def _steps(session: Session, value: str | None, words: Words) -> None:
    from slurmsim.commands.scontrol.step_text import FIELDS, parse_step, step_text

    wanted = parse_step(value)
    every = wanted.job is None or (not wanted.job and not since(session.release, "steps_by_what_was_asked"))
    asked = {} if every else {"job_id": wanted.job, "step_id": wanted.step}
    try:
        rows = session.load("steps", list(FIELDS), show_all=session.all, **asked)
    except FAILED_CALLS as error:
        if since(session.release, "steps_by_what_was_asked"):
            session.code = 1
            if session.quiet != 1:
                session.error(f"scontrol_print_step: slurm_get_job_steps({value}) failed: {text_of(error)}")
        else:
            _loud(session, "slurm_get_job_steps error", text_of(error))
        return
    dates = Dates(session.io.environ, session.now, unset="Unknown")
    if every and not since(session.release, "steps_by_what_was_asked"):
        rows = [row for row in rows if row["array_task_id"] is None]  # job 0 is asked for, the array of other jobs
    _say_update(session, dates, len(rows))
    rows = [row for row in rows if wanted.task is None or row["array_task_id"] == wanted.task]
    for row in rows:
        session.io.out(step_text(row, session, dates))
    if rows:
        return
    if value is None:
        _tell(session, "No job steps in the system")
        return
    session.code = 1
    task = f"_{wanted.task}" if wanted.task is not None else ""
    name = wanted.name if wanted.step is not None else ""
    _tell(session, f"Job step {wanted.job or 0}{task}.{name} not found")


def completing(session: Session, words: Words) -> None:
    """Show ``completing``: jobs with processes that are not gone yet, and where."""
    rows = _load(session, "jobs", ["job_id", "state_flags", "end_time", "nodes"], "slurm_load_jobs error")
    if rows is None or _load(session, "nodes", ["name"], "slurm_load_nodes error") is None:
        return
    dates = Dates(session.io.environ, session.now, unset="Unknown")
    for row in rows:
        if "COMPLETING" in row["state_flags"]:
            ago = long_clock(max(session.now - row["end_time"], 0))
            where = f"Nodes(COMPLETING)={row['nodes']} " if row["nodes"] else ""
            end = dates(row["end_time"])
            session.io.out(f"JobId={row['job_id']} EndTime={end} CompletingTime={ago} {where}\n")


# -- nodes, partitions, reservations, licenses -----------------------------------------------------------------------


def _nodes(session: Session, value: str | None, words: Words) -> None:
    from slurmsim.commands.scontrol.node_text import node_text
    from slurmsim.commands.text.typed_hosts import typed_hosts
    from slurmsim.records.node import NODE

    try:
        shown = [row.name for row in NODE if row.shown]
        rows = session.load("nodes", shown, show_all=session.all, future=session.future)
    except FAILED_CALLS as error:
        _loud(session, "slurm_load_node error", text_of(error))
        return
    try:
        partitions = session.load("partitions", ["name", "node_names"], show_all=session.all)
    except FAILED_CALLS as error:
        _loud(session, "slurm_load_partitions error", text_of(error))
        return
    dates = Dates(session.io.environ, session.now, unset="Unknown")
    _say_update(session, dates, len(rows))
    members = [(partition["name"], frozenset(partition["node_names"])) for partition in partitions]
    for row in rows:  # partitions that are hidden from who asks are not named
        row["partitions"] = ",".join(name for name, nodes in members if row["name"] in nodes)
    if value is None:
        for row in rows:
            session.io.out(node_text(row, session, dates))
        if not rows:
            _tell(session, "No nodes in the system")
        return
    by_name = {row["name"]: row for row in rows}
    try:
        names = typed_hosts(value, session.error, session.release)
    except ValueError:
        session.warn(f"unable to parse node list {value}")
        return
    for name in names:
        if name in by_name:
            session.io.out(node_text(by_name[name], session, dates))
        else:
            session.code = 1
            _tell(session, f"Node {name} not found")


def _partitions(session: Session, value: str | None, words: Words) -> None:
    from slurmsim.commands.scontrol.node_text import partition_text
    from slurmsim.records.partition import PARTITION

    shown = [row.name for row in PARTITION if row.shown]
    _named(session, value, "partitions", shown, "slurm_load_partitions error", "Partition",
           "No partitions in the system", lambda row, dates: partition_text(row, session))  # fmt: skip


def _reservations(session: Session, value: str | None, words: Words) -> None:
    from slurmsim.commands.scontrol.node_text import reservation_text
    from slurmsim.records.reservation import RESERVATION

    shown = [row.name for row in RESERVATION if row.shown]
    _named(session, value, "reservations", shown, "slurm_load_reservations error", "Reservation",
           "No reservations in the system", lambda row, dates: reservation_text(row, session, dates))  # fmt: skip


def _named(
    session: Session, value: str | None, what: str, fields: list[str], failed: str, kind: str, none: str,
    text: Callable[[dict[str, Any], Dates], str],
) -> None:  # fmt: skip
    """Things with names: all, or the one asked for."""
    rows = _load(session, what, fields, failed)
    if rows is None:
        return
    dates = Dates(session.io.environ, session.now, unset="Unknown")
    _say_update(session, dates, len(rows))
    chosen = [row for row in rows if value is None or row["name"] == value]
    for row in chosen if value is None else chosen[:1]:
        session.io.out(text(row, dates))
    if not chosen and value is None:
        _tell(session, none)
    elif not chosen:
        session.code = 1
        _tell(session, f"{kind} {value} not found")


_ANY_NUMBER = 2**32 - 1  # of a layer of a hierarchical resource that never lacks any


def _licenses(session: Session, value: str | None, words: Words) -> None:
    try:
        answer = session.io.client.call("licenses")
        rows = answer["licenses"]
    except FAILED_CALLS as error:
        _loud(session, "slurm_load_license error", text_of(error))
        return
    if not rows:
        session.io.out("No licenses configured in Slurm.\n")
        return
    short = value if answer.get("fuzzy") and value is not None and "@" not in value else None
    chosen = [
        row for row in sorted(rows, key=lambda row: str(row["name"]))
        if value in (None, row["name"]) or (row["remote"] and short == row["name"].rpartition("@")[0])
    ]  # fmt: skip
    if short is not None and sum(row["name"] != value for row in chosen) > 1:
        session.refuse(f'query "{value}" matched more than one result, exiting.')
        return
    if not chosen and since(session.release, "unknown_license_is_an_error"):
        session.refuse(f'query "{value}" matched zero licenses.')
    gap = " " if session.one_line else "\n    "
    dates = Dates(session.io.environ, session.now, unset="Unknown")
    for row in chosen:
        remote, deficit = row["remote"], row["deficit"]
        total = row["total"]
        free = total if total == _ANY_NUMBER else max(0, total - row["used"] - deficit)
        heard = remote and since(session.release, "resources_consumed")
        session.io.out(
            f"LicenseName={row['name']}{gap}Total={total} Used={row['used']} Free={free} "
            f"Reserved={row['reserved']} Remote={'yes' if remote else 'no'}"
        )
        if row.get("mode"):
            session.io.out(f"{gap}Nodes={row['nodes']} Mode={row['mode']}")
        elif heard:
            session.io.out(
                f"{gap}LastConsumed={row['consumed']} LastDeficit={deficit} LastUpdate={dates(row['updated'])}"
            )
        session.io.out("\n")


# -- the cluster -----------------------------------------------------------------------------------------------------


def _config(session: Session, value: str | None, words: Words) -> None:
    from slurmsim.commands.scontrol.config_text import config_text

    try:
        answer = session.io.client.call("show_config")
    except FAILED_CALLS as error:
        session.complain("slurm_load_ctl_conf error", text_of(error))
        return
    dates = Dates(session.io.environ, session.now, unset="N/A")
    session.io.out(config_text(answer, session.release, dates) + "\n")
    _ping(session)


def ping(session: Session, words: Words) -> None:
    if session.dump:
        from slurmsim.commands.scontrol import dump  # rarely wanted

        dump.ping(session, words)
    else:
        _ping(session)


def _ping(session: Session) -> None:
    try:
        session.io.client.patience_s = 0  # this command tries once
        session._hello = session.io.client.call("ping")
        session.code = 0
        host, state = session.hello.get("host") or "localhost", "UP"
    except FAILED_CALLS:
        session.code = 1
        host, state = "localhost", "DOWN"
    session.io.out(f"Slurmctld(primary) at {host} is {state}\n")


def _daemons(session: Session, value: str | None, words: Words) -> None:
    if value:
        session.warn(f"too many arguments for keyword:{words[0]}")
    else:
        session.io.out("slurmctld slurmd\n")


def _aliases(session: Session, value: str | None, words: Words) -> None:
    """Node names on a machine, by its host name."""
    try:
        rows = session.load("nodes", ["name", "node_hostname"], show_all=True)
    except FAILED_CALLS:
        return
    host = value if value is not None else session.hello.get("host")
    names = [row["name"] for row in rows if row["node_hostname"] == host]
    if names:
        session.io.out(" ".join(names) + "\n")


def _topoconf(session: Session, value: str | None, words: Words) -> None:
    from slurmsim.commands.scontrol.topology_text import show_configuration

    show_configuration(session)


def _topology(session: Session, value: str | None, words: Words) -> None:
    from slurmsim.commands.scontrol.topology_text import show_topology

    show_topology(session, value, words)


def _assoc_mgr(session: Session, value: str | None, words: Words) -> None:
    from slurmsim.commands.scontrol.assoc_text import show_assoc_mgr

    show_assoc_mgr(session, words[2:])


def _federation(session: Session, value: str | None, words: Words) -> None:
    """Nothing: the cluster is in none."""


def _front_ends(session: Session, value: str | None, words: Words) -> None:
    if value is None:
        _tell(session, "No nodes in the system")
    else:
        session.code = 1
        _tell(session, f"Node {value} not found")


def _burst_buffers(session: Session, value: str | None, words: Words) -> None:
    """Without a plugin there is nothing to print."""


def _slurmd(session: Session, value: str | None, words: Words) -> None:
    session.complain("slurm_load_slurmd_status", "Unable to contact slurm controller (connect failure)")


def _not_modelled(session: Session, value: str | None, words: Words) -> None:
    session.refuse(f"show {words[1]} is not modelled")


def _resources(session: Session, value: str | None, words: Words) -> None:
    """Say what is wrong with a job as it is named; what a job has on its nodes is not modelled."""
    if value is None:
        session.io.error("missing JobId: No error")
    elif value.isdecimal():
        _not_modelled(session, value, words)
    else:
        session.refuse("JobId=Invalid SLUID=Invalid lookup failed: Invalid job id specified")


# -- small things ----------------------------------------------------------------------------------------------------


def _line(session: Session) -> Callable[[str], None]:
    return lambda text: session.io.out(text + "\n")


def _tell(session: Session, text: str) -> None:
    if session.quiet != 1:
        session.io.out(text + "\n")


def _loud(session: Session, what: str, text: str) -> None:
    """perror, but with -Q."""
    session.code = 1
    if session.quiet != 1:
        session.io.error(f"{what}: {text}")


def _load(session: Session, what: str, fields: list[str], failed: str, **asked: Any) -> list[dict[str, Any]] | None:
    """Return the records that are shown; None, and said why, where they cannot be had."""
    try:
        return session.load(what, fields, show_all=session.all, **asked)
    except FAILED_CALLS as error:
        _loud(session, failed, text_of(error))
        return None


def _say_update(session: Session, dates: Dates, count: int) -> None:
    if session.quiet == -1:
        session.io.out(f"last_update_time={dates(session.now)}, records={count}\n")


if TYPE_CHECKING:
    Entity = tuple[str, int, str, str, Callable[[Session, str | None, Words], None]]
ENTITIES: tuple[Entity, ...] = (
    ("aliases", 1, "", "", _aliases), ("bbstat", 2, "", "", _burst_buffers), ("dwstat", 2, "", "", _burst_buffers),
    ("burstbuffer", 2, "", "", _burst_buffers), ("assoc_mgr", 2, "", "", _assoc_mgr), ("cache", 2, "", "", _assoc_mgr),
    ("config", 1, "", "", _config), ("daemons", 1, "", "", _daemons), ("Federations", 1, "", "", _federation),
    ("FrontendName", 1, "", "25.05", _front_ends), ("hostnames", 5, "", "", host_names),
    ("hostlist", 5, "", "", host_list(False)), ("hostlistsorted", 9, "", "", host_list(True)),
    ("jobs", 1, "", "", _jobs), ("jobid", 1, "", "", _jobs), ("licenses", 2, "", "", _licenses),
    ("nodes", 1, "", "", _nodes), ("partitions", 2, "", "", _partitions), ("partitionname", 2, "", "", _partitions),
    ("reservations", 1, "", "", _reservations), ("reservationname", 1, "", "", _reservations),
    ("resources", 4, "25.11", "", _resources), ("slurmd", 2, "", "", _slurmd), ("steps", 2, "", "", _steps),
    ("topoconf", 5, "25.05", "", _topoconf), ("topology", 1, "", "", _topology),
)  # fmt: skip
"""Entity, how much of it must be there, first release, first one without it, what shows it; the first match counts."""
