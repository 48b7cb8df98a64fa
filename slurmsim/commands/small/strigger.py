"""strigger: triggers are not modelled. There are never any to list or clear; setting one is refused by name.

The command line is read as src/strigger of Slurm 22.05 reads it, so that its own complaints come first.
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
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
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
_MODES = ("set", "get", "clear")


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
        given[key] = value or ""
        _check_value(key, value or "", io)
    _validate(given, release, io)
    if "set" in given:
        raise _wrong(io, "triggers are not modelled")
    return _ask(given, io)


def _events(release: str) -> list[LongOption]:
    listed = f"{_EVENTS} {_NEWER}" if releases.has(release, "24.11", "") else _EVENTS
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


def _ask(given: dict[str, str], io: Io) -> int:
    """There are none, if the controller answers."""
    verb = "get_triggers" if "get" in given else "clear_trigger"
    try:
        io.client.call("ping")
    except FAILED_CALLS as error:
        io.error(f"slurm_{verb}: {text_of(error)}")
        return 1
    if "clear" in given and "Q" not in given:
        io.error("slurm_clear_trigger: No such process")
        return 1
    return 0
