"""sacctmgr archive dump and load: let old rows of the database go into files, and bring them back.

slurmdbd writes and reads the files of a real cluster; here the command does, in a format of slurmsim's own. Mirrors
archive_functions.c (22.05 to 26.05).
"""

from __future__ import annotations

import errno
import os
import stat
import time

from slurmsim.commands.sacctmgr.fields import matches
from slurmsim.commands.sacctmgr.requests import NOT_ALLOWED, commit, reply
from slurmsim.commands.sacctmgr.words import Session, Word, names_in, word_of
from slurmsim.json_text import loads
from slurmsim.numerals import is_number
from slurmsim.purge_age import ARCHIVE, MONTHS, parse_purge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


_WARNING = ("This may result in loss of accounting database records (if Purge* options enabled).\n"
            "Are you sure you want to continue?")  # fmt: skip
_KINDS = {"Events:1": "Event", "Jobs:1": "Job", "Reservations:1": "Resv", "Steps:1": "Step", "Suspend:1": "Suspend",
          "TXN:1": "TXN", "Usage:1": "Usage"}  # fmt: skip
_AGES = {"PurgeEventAfter:10": "Event", "PurgeJobAfter:10": "Job", "PurgeResvAfter:10": "Resv",
         "PurgeStepAfter:10": "Step", "PurgeSuspendAfter:10": "Suspend", "PurgeTXNAfter:10": "TXN",
         "PurgeUsageAfter:10": "Usage"}  # fmt: skip
_MONTHS = {"PurgeEventMonths:6": "Event", "PurgeJobMonths:6": "Job", "PurgeResvMonths:6": "Resv",
           "PurgeStepMonths:7": "Step", "PurgeSuspendMonths:7": "Suspend", "PurgeTXNMonths:6": "TXN",
           "PurgeUsageMonths:6": "Usage"}  # fmt: skip
_NOT_KEPT = "JobScript:4 JobEnv:4 PurgeJobScriptAfter:10 PurgeJobEnvAfter:10"
# which slurmdbd takes, and does not look at
_WITHOUT_EFFECT = "Accounts:2 Associations:2 End:1 Gid:2 Jobs:1 Partitions:2 Start:2 Users:1"
_DISABLED, _PRESENTLY = "This operation is disabled", "Requested operation is presently disabled"
_FORMAT = "slurmsim archive"
_BAD, _ERROR = os.strerror(errno.EFAULT), "Unspecified error"
_PLUGIN = "accounting_storage/slurmdbd: jobacct_storage_p_archive"
_MODE, _MOST = 0o600, 1 << 20  # characters of an archive: spans, no rows


def archive(session: Session, words: list[str]) -> None:
    """``archive dump ...`` and ``archive load ...``."""
    if words and matches(words[0], "dump:1"):
        _dump(session, words[1:])
    elif words and matches(words[0], "load:1"):
        _load(session, words[1:])
    else:
        session.wrong('No valid entity in archive command\nInput line must include, "Dump", or "load"')


# -- dump -----------------------------------------------------------------------------------------------------------


def _dump(session: Session, words: list[str]) -> None:
    asked: dict[str, Any] = {"ages": {}, "clusters": []}
    session.code = 0
    for word in map(word_of, words):
        _take(session, asked, word)
    folder, script = asked.pop("directory", None), asked.pop("script", None)
    if session.code or not _is_place(session, folder, script):
        return
    if script:
        session.wrong("sacctmgr: error: slurmsim runs no script in place of an archive")
    elif session.ask(_WARNING):
        _write_all(session, asked, folder)
    else:
        session.io.out(" Changes Discarded\n")


def _take(session: Session, asked: dict[str, Any], word: Word) -> None:
    """Take one word of ``archive dump``."""
    name = word.name
    bare = next((kind for names, kind in _KINDS.items() if not word.equals and matches(name, names)), None)
    if not word.equals and matches(name, "Where:5"):
        return
    if bare is not None:
        asked["ages"][bare] = asked["ages"].get(bare, 0) | ARCHIVE
    elif _take_age(session, asked["ages"], word):
        return
    elif matches(name, _NOT_KEPT):
        session.wrong(f"sacctmgr: error: {name}: slurmsim keeps scripts and environments of jobs as long as the jobs")
    elif not word.equals or matches(name, "Clusters:1"):
        asked["clusters"] += names_in(word.value)
    elif matches(name, "Directory:2"):
        asked["directory"] = os.path.join(session.io.cwd, word.value.strip("\"'"))
    elif matches(name, "Script:2"):
        asked["script"] = word.value.strip("\"'")
    elif not matches(name, _WITHOUT_EFFECT):
        session.wrong(f" Unknown condition: {word.text}")


def _take_age(session: Session, ages: dict[str, int], word: Word) -> bool:
    """Take ``Purge...After`` or ``Purge...Months``; return False for another word."""
    after = next((kind for names, kind in _AGES.items() if word.equals and matches(word.name, names)), None)
    months = next((names for names in _MONTHS if word.equals and matches(word.name, names)), None)
    if after is not None:
        try:
            ages[after] = ages.get(after, 0) | parse_purge(word.value)
        except ValueError as error:
            session.wrong(f"sacctmgr: error: {error}")
    elif months is not None and is_number(word.value):
        kind = _MONTHS[months]
        ages[kind] = ages.get(kind, 0) | int(word.value[:9]) | MONTHS
    elif months is not None:
        session.wrong(f"sacctmgr: error: Invalid value for {months.partition(':')[0]} ({word.value})")
    return after is not None or months is not None


def _is_place(session: Session, folder: str | None, script: str | None) -> bool:
    """Return True if a named folder can be written to, and a named script run; say it otherwise."""
    for path, what, right, name in (
        (folder, "directory", os.W_OK, "dir"), (script, "script", os.X_OK, "script"),
    ):  # fmt: skip
        if path is None:
            continue
        try:
            mode = os.stat(path).st_mode
        except OSError as error:
            session.wrong(f" dump: Failed to stat {path}: {os.strerror(error.errno or 0)}\n Note: For archive dump, "
                          f"the {what} must be on the calling host.")  # fmt: skip
            return False
        is_kind, kind = (stat.S_ISDIR, "directory") if name == "dir" else (stat.S_ISREG, "regular file")
        if not is_kind(mode):
            session.wrong(f" dump: archive {name} {path} isn't a {kind}")
            return False
        if not os.access(path, right):
            session.wrong(f" dump: archive {name} {path} is not {'writable' if name == 'dir' else 'executable'}")
            return False
    return True


def _write_all(session: Session, asked: Mapping[str, Any], folder: str | None) -> None:
    """Let the rows go, and write the files of those that are archived; what cannot be written stays."""
    answer = reply(session, "archive_dump", asked)
    if isinstance(answer, str):
        _tell(session, answer, "Problem dumping archive", "Dumping")
        return
    for file in answer["files"]:
        try:
            _write(folder or answer["directory"], file)
        except OSError:
            reply(session, "archive_load", {name: file[name] for name in ("cluster", "kind", "spans")})
            _tell(session, _ERROR, "Problem dumping archive", "Dumping")
            return
    session.io.error(f"sacctmgr: {_PLUGIN}: SUCCESS")


def _write(folder: str, file: Mapping[str, Any]) -> None:
    import json  # it takes long to load

    begin, end = (time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(file[name])) for name in ("begin", "end"))
    first = path = os.path.join(folder, f"{file['cluster']}_{file['table']}_archive_{begin}_{end}")
    number = 2
    while True:
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
            break
        except FileExistsError:
            path, number = f"{first}.{number}", number + 1
    with os.fdopen(fd, "w", encoding="utf-8") as out:
        out.write(json.dumps({_FORMAT: 1, **file}) + "\n")


# -- load -----------------------------------------------------------------------------------------------------------


def _load(session: Session, words: list[str]) -> None:
    path = ""
    session.code = 0
    for word in map(word_of, words):
        if not word.equals or matches(word.name, "File:1"):
            path = word.value.strip("\"'")
        elif matches(word.name, "Insert:2"):
            session.wrong("sacctmgr: error: slurmsim's database knows no SQL")
        else:
            session.wrong(f" Unknown option: {word.text}")
    if session.code:
        return
    found = _read(os.path.join(session.io.cwd, path) if path else "")
    answer = reply(session, "archive_load", {**(_NOTHING if isinstance(found, str) else found), "check": True})
    if isinstance(answer, str) or isinstance(found, str):
        denied = answer if isinstance(answer, str) and answer == NOT_ALLOWED else None
        _tell(session, str(denied or (found if isinstance(found, str) else answer)), "Problem loading archive file",
              "Loading")  # fmt: skip
        return
    session.io.error(f"sacctmgr: {_PLUGIN}_load: SUCCESS")
    commit(session, found, "archive_load")


_NOTHING = {"cluster": "", "kind": "Job", "spans": []}
"""Asks for no row: whether the user may is told before anything of the file."""


def _read(path: str) -> dict[str, Any] | str:
    """Return what an archive says, or why there is none."""
    if not path or (os.path.exists(path) and not os.path.isfile(path)):
        return _ERROR
    try:
        with open(path, encoding="utf-8") as file:
            found = loads(file.read(_MOST))
        if found[_FORMAT] != 1:
            return _BAD
        return {name: found[name] for name in ("cluster", "kind", "spans")}
    except OSError as error:
        return os.strerror(error.errno) if error.errno in (errno.ENOENT, errno.EACCES) else _ERROR
    except (ValueError, TypeError, KeyError, RecursionError):
        return _BAD


def _tell(session: Session, text: str, problem: str, doing: str) -> None:
    """Say that slurmdbd refuses: its own comment, and what the error is called."""
    comments = {
        NOT_ALLOWED: "Your user doesn't have privilege to perform this action",
        _DISABLED: f"{doing} archived data is disabled", os.strerror(errno.ENOENT): "No archive file given to recover.",
    }  # fmt: skip
    session.note(f"sacctmgr: error: {comments.get(text, 'Error with request.')}")
    session.wrong(f" {problem}: {_PRESENTLY if text == _DISABLED else text}")
    if doing == "Loading" and text in (os.strerror(errno.ENOENT), os.strerror(errno.EACCES)):
        session.note(" Note: For archive load, the file must be accessible on the slurmdbd host.")
