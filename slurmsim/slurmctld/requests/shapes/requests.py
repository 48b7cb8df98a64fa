"""Every request of the daemon and the shapes of its arguments: the door at which what is malformed is turned away.

A handler may rely on what is written here. What depends on the state of the cluster (does the job exist, may this user
do that) is not: handlers answer such things with a `Refusal`, in Slurm's words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from slurmsim.purge_age import KINDS as PURGED
from slurmsim.records import Field
from slurmsim.records.node import NODE
from slurmsim.records.partition import PARTITION
from slurmsim.records.reservation import RESERVATION
from slurmsim.slurmctld.requests.shapes.jobs import (
    FLAG,
    JOB,
    LIST,
    MEMORY,
    MOST_WORDS,
    NUMBER,
    PLAIN,
    PRODUCT,
    SIGNED,
    STEP,
    TEXT,
    TIME,
    UPDATE,
)
from slurmsim.slurmctld.requests.shapes.values import (
    Absent,
    AnyObject,
    Either,
    Fields,
    ListOf,
    Malformed,
    OneOf,
    Real,
    Row,
    Shape,
    Tagged,
    Text,
    Whole,
)

TRIGGER_KINDS = ("job", "node", "slurmctld", "slurmdbd", "database", "other")
TRIGGER_EVENTS = (
    "fini", "time", "burst_buffer", "down", "drained", "fail", "idle", "up", "draining", "resume", "reconfig",
    "primary_slurmctld_failure", "primary_slurmctld_resumed_operation", "primary_slurmctld_resumed_control",
    "primary_slurmctld_acct_buffer_full", "backup_slurmctld_failure", "backup_slurmctld_resumed_operation",
    "backup_slurmctld_assumed_control", "primary_slurmdbd_failure", "primary_slurmdbd_resumed_operation",
    "primary_database_failure", "primary_database_resumed_operation",
)  # fmt: skip
_ID = Either((Whole(0, 0xFFFFFFFF), LIST))
_JOB_ID: dict[str, Shape] = {"job_id": _ID}
_OWN_ID: dict[str, Shape] = {"job_id": NUMBER}
_WORDS = ListOf(TEXT, MOST_WORDS)
_NUMBERS = ListOf(Either((SIGNED, PRODUCT)), MOST_WORDS)
_COLUMNS = ListOf(Text(100), 2000)
_STEP_ID = Whole(0, 0xFFFFFFFF)
_UNSIGNED_RANGE = Row((PRODUCT, PRODUCT), frozenset({0, 1}))


def _fields(*needed: str, **known: Shape) -> Fields:
    return Fields(known, frozenset(needed))


_NONE = _fields()
_LOOK: dict[str, Shape] = {"fields": _COLUMNS, "show_all": FLAG}
_SETTINGS = ListOf(Row((TEXT, TEXT, TEXT)), 1000)
_COND = Fields(
    {
        **dict.fromkeys(("accounts", "clusters", "default_accounts", "descriptions", "names", "organizations",
                         "parents", "partitions", "users"), _WORDS),
        "ids": _NUMBERS,
    },
    others=Either((PLAIN, ListOf(PLAIN, MOST_WORDS))),
)  # fmt: skip
_NAME = Text(1000, 1)
_FACTS: dict[str, Shape] = {"description": TEXT, "organization": TEXT}
_STREAM = Text(4 << 20)
_TEXTS = Fields(others=Text(16 << 20), most=MOST_WORDS)
_KEPT = _fields(
    "n", "began", n=Whole(0, 1 << 62), began=TIME, cwd=TEXT, umask=NUMBER, stdin=_STREAM, stdout=_STREAM,
    stderr=_STREAM, cut=FLAG, environ=_TEXTS, files=_TEXTS,
)  # fmt: skip
_COORDINATORS = _fields("users", "accounts", users=_WORDS, accounts=_WORDS)
_ONE_CHANGE = Tagged("action", {
    "add_account": _fields("names", names=_WORDS, parent=TEXT, settings=_SETTINGS, **_FACTS),
    "add_user": _fields("names", "accounts", names=_WORDS, accounts=_WORDS, partitions=_WORDS,
                        default_account=TEXT, admin_level=TEXT, settings=_SETTINGS, wckeys=_WORDS, default_wckey=TEXT),
    "add_qos": _fields("names", names=_WORDS, settings=_SETTINGS, **_FACTS),
    "modify_associations": _fields("kind", "cond", "settings", kind=OneOf(("account", "user", "cluster")), cond=_COND,
                                   settings=_SETTINGS),
    "modify_users": _fields("cond", cond=_COND, admin_level=TEXT, default_account=TEXT, new_name=TEXT),
    "modify_accounts": _fields("cond", cond=_COND, **_FACTS),
    "modify_qos": _fields("cond", cond=_COND, settings=_SETTINGS, **_FACTS),
    "delete": _fields("kind", "cond", kind=OneOf(("account", "user")), cond=_COND, whole=FLAG, keep=FLAG),
    "delete_qos": _fields("cond", cond=_COND, force=FLAG),
    "add_coordinator": _COORDINATORS,
    "delete_coordinator": _COORDINATORS,
    "put_account": _fields("object", "description", "organization", object=_NAME, coordinators=_WORDS, **_FACTS),
    "put_association": _fields("account", account=_NAME, user=TEXT, partition=TEXT, settings=_SETTINGS,
                               is_default=FLAG),
    "put_user": _fields("object", object=_NAME, admin_level=TEXT, default_account=TEXT, default_wckey=TEXT),
    "put_qos": _fields("object", object=_NAME, settings=_SETTINGS, **_FACTS),
    "put_wckey": _fields("object", object=_NAME, user=TEXT),
    "delete_wckey": _fields("object", object=_NAME, user=TEXT),
    "delete_user": _fields("object", object=_NAME),
    "delete_account": _fields("object", object=_NAME),
    "default_if_there": _fields("object", "account", object=_NAME, account=_NAME),
    "flush": _NONE,
})  # fmt: skip
_MANY = _fields("changes", changes=ListOf(_ONE_CHANGE, 1 << 20))
_ACCOUNT_CHANGE = Tagged("action", {**_ONE_CHANGE.kinds, "many": _MANY})
_FLAGS_OF_RESOURCES = ListOf(OneOf(("Absolute", "SharedPool")), 2)
_RESOURCE_COND = _fields(
    **dict.fromkeys(("allowed", "clusters", "descriptions", "ids", "names", "server_types", "servers"), _WORDS)
)
_RESOURCE_FACTS: dict[str, Shape] = {
    "description": TEXT, "count": NUMBER, "last_consumed": NUMBER, "allowed": NUMBER, "server_type": TEXT,
    "flags": _FLAGS_OF_RESOURCES,
}  # fmt: skip
_RESOURCE_CHANGE = Tagged("action", {
    "add": _fields("names", "server", "count", names=_WORDS, server=_NAME, clusters=_WORDS, **_RESOURCE_FACTS),
    "modify": _fields("cond", "new", cond=_RESOURCE_COND,
                      new=_fields(operator=OneOf(("", "+", "-")), **_RESOURCE_FACTS)),
    "delete": _fields("cond", cond=_RESOURCE_COND),
    "add_clusters": _fields("names", names=_WORDS),
    "delete_clusters": _fields("names", names=_WORDS),
})  # fmt: skip
_OF_KINDS: dict[str, Shape] = {
    **dict.fromkeys(("text", "names", "words", "node list", "modes"), LIST), "flag": FLAG, "memory": MEMORY,
    **dict.fromkeys(("count", "small count", "priority", "node count", "limit", "node limit"), NUMBER),
    **dict.fromkeys(("minutes", "minutes over", "delay"), NUMBER), "time": TIME, "counts": ListOf(NUMBER, 1000),
    "flags": ListOf(Text(100, 2), 1000), "tres": Absent(),  # a command says its parts
    "share": Row((OneOf(("NO", "EXCLUSIVE", "YES", "FORCE")), NUMBER)),
    "state": OneOf(("INACTIVE", "DOWN", "UP", "DRAIN")),
}  # fmt: skip


_OF_NODES = {**_OF_KINDS, **dict.fromkeys(("text", "words", "state"), TEXT)}


def settable(rows: Iterable[Field], kinds: Mapping[str, Shape] = _OF_KINDS, needed: str = "name") -> Fields:
    """Return the shape of a record that an update gives: the rows that have a keyword, each as its kind is."""
    return Fields({row.name: kinds[row.kind] for row in rows if row.update}, frozenset({needed}))


_PARTITION = Fields({**settable(PARTITION).known, "exclusive": OneOf(("NO", "NODE", "USER", "TOPO"))})
_RESERVATION = Fields({**settable(RESERVATION).known, "duration_sign": OneOf(("+", "-")), "purge_comp": NUMBER})
_KINDS = ("association", "cluster", "tres", "user", "event", "account", "qos", "transaction", "reservation", "problem",
          "wckey")  # fmt: skip
_ANSWER = Text(1 << 28, 1)  # of a solver: plans of thousands of jobs
_ENDED = _fields("core_id", "restarts", "status", core_id=Whole(0, 1 << 80), restarts=NUMBER, status=NUMBER)
_PROGRAM_ENDED = _fields("core_id", "restarts", "kind", "node", "status", core_id=Whole(0, 1 << 80), restarts=NUMBER,
                         kind=Text(8), node=NUMBER, status=NUMBER)  # fmt: skip
_RANGES: dict[str, Shape] = dict.fromkeys(("n_nodes", "cpus", "time_limit"), _UNSIGNED_RANGE)
_LONG = Whole(-(1 << 63), (1 << 64) - 1)
_JOBS_ASKED = ListOf(Row((_LONG, _LONG), frozenset({1})), MOST_WORDS)

_CRON_JOB = _fields("job", "spec", "first", "last", job=JOB, spec=TEXT, first=Whole(1, 1 << 24), last=Whole(1, 1 << 24))
_LATE = Real(0, 1e9)
_PLACE = Whole(-1, 1 << 62)

USAGES = ("cluster", "associations", "qos", "wckeys", "jobs", "reservations")  # kinds of usage
_JOB_COND = Fields(
    {
        **dict.fromkeys(
            ("accounts", "constraints", "flags", "names", "partitions", "qos", "reasons", "states", "wckeys"), _WORDS
        ),
        **dict.fromkeys(("associations", "gids", "uids"), ListOf(_LONG, MOST_WORDS)),
        **_RANGES,
        "duplicates": FLAG,
        "no_steps": FLAG,
        "script": FLAG,
        "env": FLAG,
        "start": TIME,
        "end": TIME,
        "nodes": LIST,
        "jobs": _JOBS_ASKED,
        "components": ListOf(Row((_LONG, _LONG)), MOST_WORDS),
        "whole_hetjob": OneOf(("yes", "no")),
        "after": _PLACE,
        "most": NUMBER,
        "late": _LATE,
    }
)
_JOB_CHANGES = _fields("cond", "new", cond=_JOB_COND, new=_fields(
    derived_ec=NUMBER, derived_es=TEXT, admin_comment=TEXT, system_comment=TEXT, extra=TEXT, wckey=TEXT,
    tres=Fields(others=Whole(0, 1 << 63)),
))  # fmt: skip
REQUESTS: dict[str, Shape] = {
    # jobs
    "submit": _fields("job", job=JOB, components=ListOf(JOB, 1000), will_run=FLAG, of_job=NUMBER),
    "ended": _ENDED,
    "program_ended": _PROGRAM_ENDED,
    "solved": _fields("number", "answer", number=NUMBER, answer=_ANSWER),
    "last_id": _fields("id", id=NUMBER),
    "crontab": _fields(user=TEXT),
    "update_crontab": _fields("crontab", "jobs", user=TEXT, crontab=Text(16 << 20), jobs=ListOf(_CRON_JOB, MOST_WORDS)),
    "remove_crontab": _fields(user=TEXT),
    "kill": _fields("job_id", **_JOB_ID, step=_STEP_ID, signal=Whole(0, 0xFFFF), batch=FLAG, full=FLAG,
                    cron=FLAG, ctld=FLAG, admin_comment=TEXT),
    "hold_job": _fields("job_id", "kind", **_JOB_ID, kind=OneOf(("hold", "uhold", "release"))),
    "update_job": _fields("job_id", "job", **_JOB_ID, job=UPDATE, acting_uid=NUMBER),
    "suspend_job": _fields("job_id", "op", **_JOB_ID, op=OneOf(("suspend", "resume"))),
    "requeue_job": _fields("job_id", **_JOB_ID, hold=FLAG, incomplete=FLAG, special=FLAG),
    "top_job": _fields("job_id", **_JOB_ID),
    "notify_job": _fields("job_id", **_JOB_ID, message=TEXT),
    "job_ready": _fields("job_id", **_JOB_ID),
    "batch_script": _fields("job_id", **_JOB_ID),
    "update_step": _fields(**_JOB_ID, step_id=TEXT, time_limit=SIGNED),
    # allocations and steps
    "complete_job": _fields("job_id", "status", **_OWN_ID, status=NUMBER),
    "client_gone": _fields("job_id", **_OWN_ID),
    "allocation": _fields("job_id", **_OWN_ID),
    "wait_ready": _fields("job_id", **_OWN_ID, hold=FLAG),
    "wait_allocation": _fields("job_id", **_OWN_ID, hold=FLAG, until=TIME),
    "wait_over": _fields("job_id", **_JOB_ID),
    "wait_mail": _fields("job_id", "after", **_OWN_ID, after=NUMBER, step_id=_STEP_ID, hold=FLAG, told=FLAG),
    "wait_until": _fields("until", until=TIME),
    "step_create": _fields("step", step=STEP, wait=FLAG),
    "step_end": _fields("job_id", "step_id", "status", **_OWN_ID, step_id=_STEP_ID, status=NUMBER,
                        het_comp=NUMBER),
    "step_begun": _fields("job_id", "step_id", **_OWN_ID, step_id=_STEP_ID),
    "steps_drained": _fields("job_id", **_OWN_ID, after=NUMBER),
    "step_layout": _fields("job_id", "step_id", **_OWN_ID, step_id=_STEP_ID),
    "steps": _fields("fields", **_LOOK, **_JOB_ID, step_id=_STEP_ID),
    # looking
    "jobs": _fields("fields", **_LOOK, **_JOB_ID, user_id=NUMBER, late=_LATE, alike=FLAG),
    "every_job": _fields("fields", fields=_COLUMNS, after=_PLACE, most=NUMBER, job_id=NUMBER, newest=NUMBER),
    "nodes": _fields("fields", **_LOOK, single=FLAG, future=FLAG),
    "partitions": _fields("fields", **_LOOK),
    "reservations": _fields("fields", **_LOOK),
    "users": _fields("names", names=_WORDS),
    "groups": _fields("names", names=_WORDS),
    "user_names": _fields("ids", ids=_NUMBERS),
    "config": _fields("names", names=_WORDS),
    "priority_factors": _NONE,
    "shares": _fields(users=_WORDS, accounts=_WORDS),
    "statistics": _NONE,
    "reset_statistics": _NONE,
    "licenses": _NONE,
    "job_counts": _NONE,
    "topology": _fields(topology=TEXT, conf=FLAG),
    "show_config": _NONE,
    "assoc_mgr": _fields(accounts=_WORDS, flags=_WORDS, qos=_WORDS, users=_WORDS),
    "ping": _NONE,
    "hello": _NONE,
    # nodes, partitions, reservations, the cluster
    "node_action": _fields("action", "nodes", action=OneOf(("fail", "drain", "resume", "register")), nodes=LIST,
                           reason=TEXT),
    "update_node": Fields({**settable(NODE, _OF_NODES, "names").known, "power_action": TEXT}, frozenset({"names"})),
    "create_node": _fields("line", line=TEXT),
    "register_node": _fields("line", line=TEXT, host=TEXT, gres=TEXT),
    "delete_node": _fields("target", target=LIST),
    "reboot_nodes": _fields("names", names=LIST, asap=FLAG, forced=FLAG, next_state=OneOf(("DOWN", "RESUME")),
                            reason=TEXT, power_action=TEXT),
    "update_partition": _fields("partition", partition=replace(_PARTITION, needed=frozenset({"name"}))),
    "create_partition": _fields("partition", partition=replace(_PARTITION, needed=frozenset({"name"}))),
    "delete_partition": _fields("target", target=TEXT),
    "create_reservation": _fields("reservation", reservation=_RESERVATION),
    "update_reservation": _fields("reservation", reservation=replace(_RESERVATION, needed=frozenset({"name"}))),
    "delete_reservation": _fields("target", target=TEXT),
    "reconfigure": _NONE,
    # programs that run when something happens
    "triggers": _NONE,
    "set_trigger": _fields(
        "kind", "events", "offset", "program", "runs",
        kind=OneOf(TRIGGER_KINDS), asked=TEXT, events=ListOf(OneOf(TRIGGER_EVENTS), len(TRIGGER_EVENTS)),
        offset=Whole(-32000, 32000), permanent=FLAG, program=TEXT, runs=FLAG,
    ),
    "clear_trigger": _fields(id=SIGNED, job_id=NUMBER, user_id=NUMBER),
    "shutdown": _NONE,
    "set_debug": _fields(level=SIGNED, flags=_WORDS, sched_log=SIGNED, dampening=SIGNED),
    # accounting
    "accounting_enabled": _NONE,
    "accounting_jobs": _JOB_COND,
    "job_changes_check": _JOB_CHANGES,
    "change_jobs": _JOB_CHANGES,
    "archive_dump": _fields("ages", ages=_fields(**dict.fromkeys(PURGED, NUMBER)), clusters=_WORDS),
    "archive_load": _fields("cluster", "kind", "spans", cluster=TEXT, kind=OneOf(PURGED),
                            spans=ListOf(ListOf(SIGNED, 2), MOST_WORDS), check=FLAG),
    "account_list": _fields("kind", kind=OneOf(_KINDS), own=FLAG),
    "account_change": _ACCOUNT_CHANGE,
    "account_check": _ACCOUNT_CHANGE,
    "resource_change": _RESOURCE_CHANGE,
    "resource_check": _RESOURCE_CHANGE,
    "resources": _fields(cond=_RESOURCE_COND),
    "qos_ids": _NONE,
    "usage": _fields("start", "end", start=TIME, end=TIME, kind=OneOf(USAGES), cond=_JOB_COND,
                     by_user=FLAG),
    # the daemon itself
    "clock": Tagged("action", {
        "show": _NONE, "freeze": _NONE, "fast": _NONE, "rate": _fields("rate", rate=Real(-1e300, 1e300)),
        "step": _fields("seconds", seconds=Real(-1e9, 1e11), late=FLAG),
        "until-idle": _fields(limit_s=Whole(0, 10**11)),
    }),
    "down": _NONE,
    "snapshot": _fields("path", path=TEXT),
    "status": _NONE,
    "news": _fields("since", since=Whole(0, 1 << 62)),
    "log_call": _fields("argv", argv=_WORDS, rc=Whole(-(1 << 31), 0xFFFFFFFF), seconds=Real(0, 1e12),
                        faults=ListOf(Text(200), 1000), kept=_KEPT),
    "record": Tagged("action", {"start": _fields("path", path=TEXT), "stop": _NONE, "show": _NONE}),
    "record_begin": _NONE,
    "calls": _fields(command=TEXT),
    # faults on request
    "inject": _fields("what", what=TEXT, given=Fields(others=Either((FLAG, Real(-1e300, 1e300), Text(1 << 20))))),
    "end_fault": _fields(id=NUMBER),
    "faults": _NONE,
    "meet_faults": _fields("command", command=Text(100), job=TEXT, **_JOB_ID),
}  # fmt: skip
"""Request -> what its arguments are."""


_MESSAGE = Fields(
    {"call": Text(100), "args": AnyObject(), "user": Text(1000), "asks": FLAG}, frozenset({"call"})
)  # fmt: skip


def check_message(message: Any) -> None:
    """Turn away what is no request at all: its sender speaks another protocol. Raises Malformed."""
    _MESSAGE.check(message, "")


def check_arguments(call: str, arguments: Any) -> None:
    """Turn away arguments that a call does not take, and calls that there are not. Raises Malformed."""
    shape = REQUESTS.get(call)
    if shape is None:
        raise Malformed("call", "the name of a request")
    shape.check(arguments or {}, "")
