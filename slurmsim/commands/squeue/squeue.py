"""squeue: the queue as a table.

Mirrors squeue 22.05 (later rows from 24.11 and 26.05): which request is made, what is printed when it fails, and the
order in which things happen. What can be shown is in `columns` and `step_columns`, which rows in `rows`.
"""

from __future__ import annotations

import os

from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.squeue import rows as job_rows
from slurmsim.commands.squeue.options import read
from slurmsim.commands.squeue.order import SortError, sort_fields, sort_jobs, sort_letters, sort_steps
from slurmsim.commands.squeue.rows import Wanted
from slurmsim.commands.text import array_text, print_fields
from slurmsim.commands.text.clock_text import Dates
from slurmsim.commands.text.cluster_facts import Cluster, named_cluster
from slurmsim.commands.text.iterating import print_repeatedly
from slurmsim.commands.text.messages import Stop, stoppable
from slurmsim.commands.text.plugin_lines import plugin_lines
from slurmsim.commands.text.release import of_openapi, release_of
from slurmsim.fast_imports import pattern
from slurmsim.protocol import Refusal, Unreachable
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.io import Io
    from slurmsim.commands.json.command import Dump
    from slurmsim.commands.squeue.options import Asked
    from slurmsim.commands.text.print_fields import Column, Layout, Table


_DEFAULT = (
    "jobarrayid:.18 ,partition:.9 ,name:.8 ,username:.8 ,statecompact:.2 ,timeused:.10 ,numnodes:.6 ,reasonlist:0"
)
_LONG = (
    "jobarrayid:.18 ,partition:.9 ,name:.8 ,username:.8 ,state:.8 ,timeused:.10 ,timelimit:.9 ,numnodes:.6 ,"
    "reasonlist:0"
)
_STEPS = "%.15i %.8j %.9P %.8u %.9M %N"
_ONLY_STATE = "jobarrayid:.18 ,statecompact:.2"
_UNSENT = {"start_time": 0, "priority": 0, "partition": "(null)", "user_name": "root"}  # how what is not sent looks
_STATE_ONLY_FIELDS = frozenset({
    "job_id", "array_job_id", "array_task_id", "array_task_str", "het_job_id", "het_job_offset", "job_state",
    "state_flags",
})  # fmt: skip


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One squeue call in the world `io`; the exit code."""
    asked = read(argv, io, release_of(io))
    asked.argv = list(argv)
    nodes = _known_nodes(asked, io)
    users = _user_ids(asked, io)
    if asked.clusters is not None:
        asked.clusters = named_cluster(io, "squeue", asked.clusters)
    if asked.dump and of_openapi("squeue", asked.release, io):
        from slurmsim.commands.json.openapi_job import dump_jobs  # long, and rarely wanted

        return dump_jobs(asked.dump, io, asked.release)
    wanted = Wanted(
        ids=asked.ids, steps=asked.step_ids, users=users, states=asked.states, all_states=asked.all_states,
        not_user=_my_id(io) if asked.not_me else None, partitions=_set(asked.partitions),
        accounts=_folded(asked.accounts), qos=_folded(asked.qos), names=_folded(asked.names),
        licenses=_set(asked.licenses), reservation=asked.reservation, nodes=nodes,
    )  # fmt: skip
    if asked.dump:
        return _dump(asked, wanted, io)
    if asked.verbose:
        from slurmsim.commands.squeue.verbose import options_text

        io.out(options_text(asked))
    once = _print_steps if asked.steps else _print_jobs
    return print_repeatedly(asked, io, lambda: once(asked, wanted, io))


def _dump(asked: Asked, wanted: Wanted, io: Io) -> int:
    """--json and --yaml: the jobs or steps that pass, in the controller's order."""
    from slurmsim.commands.json import documents  # long, and rarely wanted
    from slurmsim.commands.json.command import Dump

    dump = Dump(io, asked.release, asked.dump, asked.parser, ["squeue", *asked.argv])
    if asked.steps:
        return _dump_steps(asked, dump)
    fields = {*documents.job_fields(), *wanted.fields(), *job_rows.ALWAYS}
    try:
        answer = _load_jobs(asked, wanted, fields, io)
    except FAILED_CALLS as error:
        io.error(f"slurm_load_jobs error: {text_of(error)}")
        return 1
    dump.jobs(job_rows.choose_jobs(answer["columns"], answer["n"], wanted), answer["now"], answer["last_backfill"])
    return 0


def _dump_steps(asked: Asked, dump: Dump) -> int:
    """``-s --json``: all steps, whatever else is asked."""
    from slurmsim.commands.json import documents, frame

    try:
        found = documents.steps(dump.io.client, dump.version, show_all=asked.all)
    except FAILED_CALLS as error:
        dump.io.error(f"slurm_get_job_steps error: {text_of(error)}")
        return 1
    nameless = frame.no_tres(dump.io.client.call("hello"))
    dump.write(found, nameless + documents.step_warnings(found, asked.release))
    return 0


def _set(words: list[str] | None) -> frozenset[str] | None:
    return None if words is None else frozenset(words)


def _folded(words: list[str] | None) -> frozenset[str] | None:
    return None if words is None else frozenset(word.lower() for word in words)


def _my_id(io: Io) -> int:
    """Return the uid of the caller; -1 while the daemon is away, which is reported when the jobs are loaded."""
    try:
        return int(io.client.call("hello")["uid"])
    except Unreachable:
        return -1


def _user_ids(asked: Asked, io: Io) -> frozenset[int] | None:
    """Ids of the users asked for; who is unknown is complained about and left out."""
    if asked.me:
        return frozenset({_my_id(io)})
    if asked.users is None:
        return None
    try:
        ids = io.client.call("users", names=asked.users)["uids"]
    except Unreachable:
        return frozenset()  # told when the jobs are loaded
    except Refusal as refusal:
        io.error(f"squeue: error: {refusal.text}")
        raise Stop(1) from None
    for name, uid in zip(asked.users, ids, strict=True):
        if uid is None:
            io.error(f"squeue: error: Invalid user: {name}\n")
    return frozenset(uid for uid in ids if uid is not None)


def _known_nodes(asked: Asked, io: Io) -> frozenset[str] | None:
    """Return the nodes of -w by their names; the name of a node's host will do. Raises Stop at an unknown one."""
    if asked.nodes is None:
        return None
    from slurmsim.commands.text.typed_hosts import typed_hosts  # rarely wanted
    from slurmsim.hostlist import HostlistError

    try:
        typed = names = typed_hosts(asked.nodes, lambda text: io.error(f"squeue: error: {text}"), asked.release)
    except HostlistError:
        io.error(f"squeue: error: '{asked.nodes}' invalid entry for --nodelist")
        raise Stop(1) from None
    try:
        columns = io.client.call("nodes", fields=["name", "node_hostname"], show_all=True)["columns"]
    except FAILED_CALLS as error:
        io.error(f"slurm_load_node error: {text_of(error)}")
        raise Stop(1) from None
    names = [os.uname().nodename.partition(".")[0] if name.lower() == "localhost" else name for name in names]
    known = {host: name for name, host in reversed(list(zip(columns["name"], columns["node_hostname"], strict=True)))}
    known.update((name, name) for name in columns["name"])
    for name, written in zip(names, typed, strict=True):
        if name not in known:
            io.error(f"squeue: error: Invalid node name {written}")
            raise Stop(1)
    return frozenset(known[name] for name in names)


# ---- jobs ----


def _print_jobs(asked: Asked, wanted: Wanted, io: Io) -> int:
    layout = _job_layout(asked)
    letters = sort_letters(asked.sort if asked.sort is not None else "P,t,-p", asked.release)
    fields = layout.fields() | wanted.fields() | sort_fields(letters) | job_rows.ALWAYS
    try:
        answer = _load_jobs(asked, wanted, fields, io)
        tiers = _partition_tiers(asked, io)
    except FAILED_CALLS as error:
        io.error(f"slurm_load_jobs error: {text_of(error)}")
        return 1
    if asked.verbose:
        if asked.nodes is None:  # for -w they are loaded with the nodes, before messages are shown
            for line in plugin_lines(Cluster(io).configured("SelectTypeParameters"), asked.release):
                io.error(f"squeue: {line}")
        narrowed = any(ids is not None and len(ids) == 1 for ids in (asked.ids, wanted.users))
        io.out(f"last_update_time={0 if narrowed else answer['now']} records={answer['n']}\n")
    for name in layout.unknown:
        io.error(f"squeue: error: Invalid job format specification: {name}")
    dates = Dates(io.environ, answer["now"])
    length = 0 if asked.whole_lists else array_text.length_from(io.environ)
    from slurmsim.commands.squeue.columns import Show

    long_ids = asked.whole_lists or "SLURM_BITSTR_LEN" in io.environ
    show = Show(answer["now"], dates, long_ids=long_ids, convert=asked.convert, expand=asked.expand)
    if not asked.no_header:
        io.out(print_fields.header(layout) + "\n")
    _old_gres_letter(letters, io)
    if answer.get("partitions_denied") and not asked.only_state:
        io.error("slurm_load_partitions: Access/permission denied")
    try:
        table = _job_rows(answer, asked, wanted, tiers, length)
        order = sort_jobs(table, letters, show)
    except SortError as error:
        io.error(f"squeue: error: Invalid sort specification: {error}")
        return 1
    printed = layout.fields() | {"job_id", "array_task_id", "array_task_str"}
    table = job_rows.take({field: table[field] for field in printed}, order)
    if asked.array:
        table = job_rows.one_row_a_task(table)
    _write(io, print_fields.lines(layout, show, table, len(table["job_id"])), dates)
    return 0


def _job_layout(asked: Asked) -> Layout:
    from slurmsim.commands.squeue.columns import COLUMNS

    if asked.format is not None:
        return print_fields.parse_letters(asked.format, print_fields.by_letter(COLUMNS, asked.release))
    text = _whole_names(asked, ("numtasks", "numtask"))
    if asked.long_format is None:
        text = _ONLY_STATE if asked.only_state else _LONG if asked.long else _DEFAULT
    return print_fields.parse_names(text, print_fields.by_name(COLUMNS, asked.release))


def _whole_names(asked: Asked, *names: tuple[str, str]) -> str:
    """Return the -O text; some names were once compared only by how they begin."""
    text = asked.long_format or ""
    if text and not since(asked.release, "whole_field_names"):
        for whole, begin in names:
            text = pattern(rf"(?i)(^|,){begin}[^,:]*").sub(rf"\g<1>{whole}", text)
    return text


def _load_jobs(asked: Asked, wanted: Wanted, fields: set[str], io: Io) -> dict[str, Any]:
    """Return the jobs: one by its id, one user's, or all, as squeue asks slurmctld."""
    arguments: dict[str, Any] = {"show_all": asked.all or bool(asked.ids)}
    if asked.ids is not None and len(asked.ids) == 1:
        arguments["job_id"] = asked.ids[0].job
    elif wanted.users is not None and len(wanted.users) == 1:
        arguments["user_id"] = min(wanted.users)
    known = _STATE_ONLY_FIELDS if asked.only_state else fields
    answer = io.client.call("jobs", fields=sorted(fields & known), alike=True, **arguments)
    for field, value in answer.pop("alike", {}).items():
        answer["columns"][field] = [value] * answer["n"]
    if asked.only_state:  # nothing but ids and states is sent; the rest looks empty
        columns, count = answer["columns"], answer["n"]
        for field in (fields | {"partition"}) - known:
            columns[field] = [_UNSENT.get(field)] * count
        whole = [text and array_text.ranges(array_text.tasks_of(text)) for text in columns["array_task_str"]]
        columns["array_task_str"] = whole
    return answer


def _partition_tiers(asked: Asked, io: Io) -> dict[str, int]:
    if not asked.priority:
        return {}
    try:
        columns = io.client.call("partitions", fields=["name", "priority_tier"], show_all=True)["columns"]
    except Refusal:  # said of every list of jobs
        return {}
    return dict(zip(columns["name"], columns["priority_tier"], strict=True))


def _job_rows(answer: dict[str, Any], asked: Asked, wanted: Wanted, tiers: dict[str, int], length: int) -> Table:
    table = job_rows.choose_jobs(answer["columns"], answer["n"], wanted)
    table["state_flags"] = [tuple(flags or ()) for flags in table["state_flags"]]  # so that equal rows are known
    if asked.priority:
        table = job_rows.by_partition(table, tiers, wanted.partitions)
    length = 0 if asked.only_state else length  # the list of states is not shortened
    table["array_task_str"] = [text and array_text.shown(text, length) for text in table["array_task_str"]]
    if not asked.array and not asked.array_unique:
        table = job_rows.join_pending_tasks(table, length)
    return table


# ---- steps ----


def _print_steps(asked: Asked, wanted: Wanted, io: Io) -> int:
    from slurmsim.commands.squeue.columns import Show
    from slurmsim.commands.squeue.step_columns import COLUMNS

    layout = _step_layout(asked, COLUMNS)
    letters = sort_letters(asked.sort if asked.sort is not None else "P,i", asked.release)
    fields = layout.fields() | sort_fields(letters, steps=True) | {
        "job_id", "step_id", "array_job_id", "array_task_id", "state", "partition"
    }  # fmt: skip
    fields |= wanted.fields() & {"user_id", "nodes"}
    try:
        answer = io.client.call("steps", fields=sorted(fields), show_all=asked.all)
    except FAILED_CALLS as error:
        io.error(f"slurm_get_job_steps error: {text_of(error)}")
        return 1
    if asked.verbose:
        io.out(f"last_update_time={answer['now']} records={answer['n']}\n")
    for name in layout.unknown:
        io.error(f"squeue: error: Invalid job step format specification: {name}")
    dates = Dates(io.environ, answer["now"])
    show = Show(answer["now"], dates, convert=asked.convert, expand=asked.expand)
    if not asked.no_header:
        io.out(print_fields.header(layout) + "\n")
    table = job_rows.choose_steps(answer["columns"], answer["n"], wanted)
    _old_gres_letter(letters, io)
    table = sort_steps(table, letters)
    _write(io, print_fields.lines(layout, show, table, len(table["job_id"])), dates)
    return 0


def _step_layout(asked: Asked, columns: tuple[Column, ...]) -> Layout:
    if asked.format is None and asked.long_format is not None:
        text = _whole_names(asked, ("numtasks", "numtask"), ("container", "container"))
        return print_fields.parse_names(text, print_fields.by_name(columns, asked.release))
    text = _STEPS if asked.format is None else asked.format
    return print_fields.parse_letters(text, print_fields.by_letter(columns, asked.release))


def _old_gres_letter(letters: list[tuple[str, bool]], io: Io) -> None:
    """Complain about the letter b, which once sorted by GRES."""
    for letter, _ in letters:
        if letter == "b":
            io.error("squeue: Invalid sort specification: b")


def _write(io: Io, lines: list[str], dates: Dates) -> None:
    if dates.problem:
        io.error(f"squeue: error: {dates.problem}")
    if lines:
        io.out("\n".join(lines))
        io.out("\n")
