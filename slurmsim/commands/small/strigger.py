"""strigger: programs that run when something happens to nodes, a job or the configuration.

The command line is read as src/strigger reads it; the triggers are slurmctld's (`processes.event_triggers`).
"""

from __future__ import annotations

import os
import stat

from slurmsim import releases
from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.text import short_helps
from slurmsim.commands.text.messages import Stop, stoppable
from slurmsim.commands.text.option_reader import NO, OPTIONAL, REQUIRED, LongOption, Parser, options
from slurmsim.commands.text.release import release_of, version_of
from slurmsim.commands.text.shown_id import shown_id
from slurmsim.numerals import leading_number
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from slurmsim.commands.io import Io

_EVENTS = (
    "primary_slurmctld_failure:a primary_slurmctld_resumed_operation:A primary_slurmctld_resumed_control:b "
    "backup_slurmctld_failure:B backup_slurmctld_resumed_operation:c backup_slurmctld_assumed_control:C down:d "
    "drained:D primary_slurmctld_acct_buffer_full:e fini:f fail:F primary_slurmdbd_failure:g "
    "primary_slurmdbd_resumed_operation:G primary_database_failure:h primary_database_resumed_operation:H idle:I "
    "reconfig:r time:t up:u burst_buffer:burst_buffer"
)
_OTHERS = options(
    ("id", REQUIRED, "i"), ("jobid", REQUIRED, "j"), ("cluster", REQUIRED, "M"), ("clusters", REQUIRED, "M"),
    ("node", OPTIONAL, "n"), ("noheader", NO, "N"), ("offset", REQUIRED, "o"), ("program", REQUIRED, "p"),
    ("quiet", NO, "Q"), ("verbose", NO, "v"), ("version", NO, "V"), ("clear", NO, "clear"),
    ("flags", REQUIRED, "flags"), ("get", NO, "get"), ("help", NO, "help"), ("set", NO, "set"),
    ("usage", NO, "usage"), ("user", REQUIRED, "user"),
)  # fmt: skip
_NEWER = "draining:draining resume:R"
_NAMED = """ (--down, --up, --reconfig, --time, --fini, --burst_buffer,
--primary_slurmctld_failure,
--primary_slurmctld_resumed_operation,
--primary_slurmctld_resumed_control,
--primary_slurmctld_acct_buffer_full,
--backup_slurmctld_failure,
--backup_slurmctld_resumed_operation,
--backup_slurmctld_as_ctrl,
--primary_slurmdbd_failure,
--primary_slurmdbd_resumed_operation,
--primary_database_failure, or 
--primary_database_resumed_operation)
"""  # noqa: W291
_USAGE = "Usage: strigger [--set | --get | --clear | --version] [-aAbBcCdDefFgGhHiIjnNopQrtuv]\n"
_MOST_OFFSET_S = 32000
_MODES = ("set", "get", "clear")
_NAMES = {key: name for name, _, key in (one.partition(":") for one in f"{_EVENTS} draining:draining resume:R".split())}
_OF_JOBS = ("f", "t")  # events that are of jobs alone
_KINDS = {key: name.split("_")[1] for key, name in _NAMES.items() if name.startswith(("primary_", "backup_"))}
_KIND_OF = dict.fromkeys(("d", "D", "F", "I", "u", "draining", "R"), "node") | {"t": "job"} | _KINDS


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One strigger call in the world `io`; the exit code."""
    release = release_of(io)
    given: dict[str, str] = {}
    parser = Parser([*_events(release), *_OTHERS], permute=True)
    for key, value in parser.parse_for("strigger", argv, io):
        if key in ("V", "help", "usage"):
            texts = {"V": version_of(io), "usage": _USAGE}
            io.out(texts.get(key) or short_helps.text("strigger", [*_OTHERS, *_events(release)]))
            return 0
        value = shown_id(io, value or "") if key == "j" else value
        given[key] = value or ""
        _check_value(key, value or "", io)
    _validate(given, release, io)
    return _ACTIONS[next(mode for mode in _MODES if mode in given)](given, io)


def _events(release: str) -> list[LongOption]:
    listed = f"{_EVENTS} {_NEWER}" if releases.has(release, "23.02", "") else _EVENTS
    return [LongOption(name, NO, key) for name, _, key in (one.partition(":") for one in listed.split())]


def _check_value(key: str, value: str, io: Io) -> None:
    if key == "j" and not (value.isdigit() and int(value)):
        raise _wrong(io, f"Invalid jobid {value}")
    if key == "flags" and not value.lower().startswith("perm"):
        raise _wrong(io, f"Invalid flags {value}")
    if key == "user" and not value.isdigit() and io.client.call("users", names=[value])["uids"] == [None]:
        raise _wrong(io, f"Invalid user {value}")


def _validate(given: dict[str, str], release: str, io: Io) -> None:
    """Say what is wrong with the options together (_validate_options). Raises Stop."""
    if len(given.keys() & set(_MODES)) != 1:
        raise _wrong(io, "You must use exactly one of the following options: --set, --get or --clear")
    if "clear" in given and not given.keys() & {"i", "j", "user"}:
        raise _wrong(io, "You must specify a --id, --jobid, or --user to clear")
    events = {event.key for event in _events(release)}
    if "set" in given and not given.keys() & events:
        raise _wrong(io, "You must specify a trigger" + ("" if since(release, "triggers_by_kind") else _NAMED))
    if "set" in given and "p" not in given:
        raise _wrong(io, "You must specify a --program value")
    if given.keys() & {"f", "t"} and "j" not in given:
        raise _wrong(io, "You must specify a --jobid value")
    if "p" in given:
        _check_program(given["p"], io)
    if abs(_offset(given)) > _MOST_OFFSET_S:
        raise _wrong(io, "The --offset parameter must be between +/-32000")


def _check_program(text: str, io: Io) -> None:
    if not text.startswith("/"):
        raise _wrong(io, 'The --program value must start with "/"')
    try:
        mode = os.stat(text.split()[0]).st_mode
    except OSError:
        raise _wrong(io, "Invalid --program value, file not found") from None
    if not stat.S_ISREG(mode):
        raise _wrong(io, "Invalid --program value, not regular file")


def _wrong(io: Io, text: str) -> Stop:
    io.error(f"strigger: error: {text}")
    return Stop(1)


def _offset(given: dict[str, str]) -> int:
    return leading_number(given.get("o", ""))


def _number(given: dict[str, str], key: str) -> int | None:
    return leading_number(given[key]) if key in given else None


def _uid(given: dict[str, str], io: Io) -> int | None:
    text = given.get("user")
    if text is None or text.isdigit():
        return None if text is None else int(text)
    return int(io.client.call("users", names=[text])["uids"][0])


def _set(given: dict[str, str], io: Io) -> int:
    kind = "job" if "j" in given else "other" if "burst_buffer" in given else "node"
    asked = given["j"] if kind == "job" else given.get("n") or "*" if kind == "node" else None
    ignored = () if "j" in given else _OF_JOBS
    names = [event for key, event in _NAMES.items() if key in given and key not in ignored]
    kind = next((_KINDS[key] for key in reversed(_KINDS) if key in given), kind)
    try:
        found = io.client.call(
            "set_trigger", kind=kind, asked=asked, events=names, offset=_offset(given), permanent="flags" in given,
            program=given["p"], runs=_may_run(given["p"].split()[0]),
        )  # fmt: skip
    except FAILED_CALLS as error:
        io.error(f"slurm_set_trigger: {text_of(error)}")
        return 1
    if found:
        io.error(f"slurm_set_trigger: {found['refused']}")
        return 1
    _say(given, io, "trigger set")
    return 0


def _may_run(path: str) -> bool:
    """Return True if the user may execute a file, as its mode says for the owner, the group or the others."""
    found = os.stat(path)
    shift = 6 if found.st_uid == os.geteuid() else 3 if found.st_gid == os.getegid() else 0
    return bool(found.st_mode >> shift & 1)


def _say(given: dict[str, str], io: Io, text: str) -> None:
    if "v" in given:
        io.error(f"strigger: {text}")


def _clear(given: dict[str, str], io: Io) -> int:
    number, job_id, uid = _number(given, "i"), _number(given, "j"), _uid(given, io)
    try:
        io.client.call("clear_trigger", id=number, job_id=job_id, user_id=uid)
    except FAILED_CALLS as error:
        if "Q" in given:
            return 0
        io.error(f"slurm_clear_trigger: {text_of(error)}")
        return 1
    if job_id is not None:
        _say(given, io, f"triggers for job {job_id} cleared")
    elif uid is not None:
        _say(given, io, f"triggers for user {uid} cleared")
    else:
        _say(given, io, f"trigger {number} cleared")
    return 0


def _get(given: dict[str, str], io: Io) -> int:
    try:
        rows = io.client.call("triggers")["triggers"]
    except FAILED_CALLS as error:
        io.error(f"slurm_get_triggers: {text_of(error)}")
        return 1
    _say(given, io, f"Read {len(rows)} trigger records")
    uid = _uid(given, io)
    shown = [row for row in rows if _is_asked(row, given, uid)]
    if shown and "N" not in given:
        io.out(f"TRIG_ID RES_TYPE   RES_ID {'TYPE':<35} OFFSET USER     FLAGS PROGRAM\n")
    for number, kind, asked, events, offset, _, user, permanent, program in shown:
        event = events[0] if len(events) == 1 else "unknown"
        resource, flags = "(null)" if asked is None else asked, "PERM" if permanent else ""
        io.out(f"{number:7} {kind:<9} {resource:>7} {event:<35} {offset:6} {user:<8} {flags:<5} {program}\n")
    return 0


def _is_asked(row: Sequence[Any], given: dict[str, str], uid: int | None) -> bool:
    """Return True if a trigger passes what was asked for: all of it, and of events exactly one."""
    number, kind, asked, events, _, owner, *_ = row
    wanted = [(key, event) for key, event in _NAMES.items() if key in given and key != "r"]
    return (
        all(events == [event] and kind == _KIND_OF.get(key, kind) for key, event in wanted)
        and ("j" not in given or (kind == "job" and asked == str(_number(given, "j"))))
        and ("n" not in given or kind == "node")
        and _number(given, "i") in (None, 0, number)
        and uid in (None, owner)
    )


_ACTIONS = {"set": _set, "get": _get, "clear": _clear}
