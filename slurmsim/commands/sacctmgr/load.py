"""sacctmgr load: change the database to what a file says, written by ``dump`` or by hand.

Mirrors load_sacctmgr_cfg_file of file_functions.c (22.05; later rows from 24.11 and 26.05). A record that exists is
compared, and each change is printed as its line is read. New records are shown in tables at the end, and then all of
them are one change of the database. ``clean`` deletes the cluster's associations first, even if the rest fails.
"""

from __future__ import annotations

import errno
import os
import time

from slurmsim.commands.sacctmgr.fields import matches
from slurmsim.commands.sacctmgr.load_lines import Line, Unreadable, lines_of
from slurmsim.commands.sacctmgr.load_records import Changes
from slurmsim.commands.sacctmgr.requests import COMMIT, level_of, reply
from slurmsim.commands.sacctmgr.words import Session, names_in, word_of
from slurmsim.release_changes import since

_FLUSH = "You requested to flush the cluster before adding it again.\n"
_ADVICE = (
    "It is advised to not have your slurmctld running while doing this operation.\n"
    "If you have jobs running on this cluster this operation will abort.\n"
)
_MOST = 1 << 26  # characters of a file
_SURE = "Are you sure you want to continue?"
_FIRST = " You need to specify a cluster name first with 'Cluster - $NAME' in your file"
_FAILED = " Problem with requests: Unspecified error"


class _Stop(Exception):
    """The file cannot be loaded; everything has been said."""


def load(session: Session, words: list[str]) -> None:
    """``load [file=]FILE [cluster=NAME] [clean]``."""
    if not session.io.client.call("hello")["operator"]:
        session.wrong(" Your user does not have sufficient privileges to load files.")
        return
    path, cluster, clean = _asked(session, words)
    if not path:
        session.wrong(" No filename given, specify one with file=''")
        return
    try:
        with open(os.path.join(session.io.cwd, path), encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(_MOST + 1)
            if len(text) > _MOST:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "Invalid argument"
        session.wrong(f' Unable to read "{path}": {reason}')
        return
    began = time.monotonic()
    loading = _Loading(session, cluster, clean)
    try:
        loading.read(text)
    except _Stop:
        if loading.changes.told:
            session.note(f"sacctmgr: Done adding cluster in usec={int((time.monotonic() - began) * 1e6)}")
        session.wrong(_FAILED)
        return
    loading.finish(began)


def _asked(session: Session, words: list[str]) -> tuple[str, str, bool]:
    path, cluster, clean = "", "", False
    for word in map(word_of, words):
        if not word.equals and matches(word.text, "Clean:3"):
            clean = True
        elif not word.equals or matches(word.name, "File:1"):
            if path:
                session.wrong(f" File name already set to {path}")
                continue
            path = word.value.strip("\"'")
        elif matches(word.name, "Cluster:3"):
            cluster = word.value.strip("\"'").lower()
        else:
            session.wrong(f" Unknown option: {word.text}")
    return path, cluster, clean


class _Loading:
    """One file on its way."""

    def __init__(self, session: Session, cluster: str, clean: bool) -> None:
        self.session, self.cluster, self.clean = session, cluster, clean
        self.changes = Changes(session)  # what it would change of what there is
        self._named = ""
        self._parent = "root"

    def read(self, text: str) -> None:
        """Every line. Raises _Stop."""
        for line in lines_of(text, typed=since(self.session.release, "typed_tres_loaded")):
            if self.session.code:
                self._problem(line, error=not since(self.session.release, "dumps_hold_qos"))
            kind = line.kind
            if kind is None:
                self.session.wrong(f" Misformatted line({line.number}): {line.text}\n")
                raise _Stop
            if kind == "QOS":
                self._qos(line)
            elif kind == "Cluster":
                self._cluster(line)
            elif not self._named:
                self.session.wrong(_FIRST)
                return
            elif not {"Parent": self._inside, "Account": self._account, "User": self._user}[kind](line):
                return

    def finish(self, began: float) -> None:
        """Show what is new, ask, and make it so."""
        session, changes = self.session, self.changes
        if not changes.told and not changes.shows_anything():
            session.io.out(" Nothing new added.\n")
            self._commit()  # QOS count for nothing here, and are changed all the same
            return
        changes.show_new()
        if not (session.quiet and since(session.release, "dumps_hold_qos")):
            session.note(f"sacctmgr: Done adding cluster in usec={int((time.monotonic() - began) * 1e6)}")
        if not session.ask(COMMIT):
            session.io.out(" Changes Discarded\n")
            return
        self._commit()

    def _commit(self) -> None:
        """Make it so, all at once."""
        session, requests = self.session, self.changes.requests()
        if not requests:
            return
        answer = reply(session, "account_change", {"action": "many", "changes": requests})
        if isinstance(answer, str):
            session.wrong(f" Problem with requests: {answer}")
        elif answer.get("error"):
            session.wrong(_FAILED)

    def _problem(self, line: Line, *, error: bool = False) -> None:
        self.session.wrong(f" {'error: ' if error else ''}Problem with line({line.number})")
        raise _Stop

    def _options(self, line: Line) -> dict[str, str]:
        """Return the options that are no settings, and settings in `changes`. Raises _Stop."""
        try:
            return line.options(self.session)
        except Unreadable as error:
            if str(error):
                self.session.wrong(str(error))
            self._problem(line)
            raise AssertionError from None

    # -- kinds of lines -----------------------------------------------------------------------------------------------

    def _qos(self, line: Line) -> None:
        if self._named:
            self.session.wrong("  You need to specify all QOS before the 'Cluster - $NAME' in your file")
            raise _Stop
        try:
            self.changes.qos(line)
        except Unreadable as error:
            self.session.io.out(f" Unknown option: {error}\n Use keyword 'where' to modify condition\n")
            self.session.wrong(f" Unknown option: {error}")
            self._problem(line)

    def _cluster(self, line: Line) -> None:
        session = self.session
        if self._named:
            session.wrong(" You can only add one cluster at a time.")
            raise _Stop
        name = self.cluster or line.name.lower()
        known = str(session.list("cluster")[0]["cluster"])
        self.changes.show_qos()
        if name != known.lower():
            session.wrong(f"sacctmgr: error: cluster {name}: slurmsim has one cluster, {known}")
            raise _Stop
        flushed = self.clean and self._flush()
        session.io.out(f"For cluster {known}\n")
        self._options(line)
        self._named = known
        self.changes.cluster(line, fresh=flushed)

    def _flush(self) -> bool:
        """Delete every association but the root's. Raises _Stop."""
        session = self.session
        advice = _ADVICE if since(session.release, "flush_advises") else ""
        if not session.immediate:
            session.io.out(_FLUSH + advice)
            if not session.ask(_SURE):
                raise _Stop
        answer = reply(session, "account_change", {"action": "flush"})
        if isinstance(answer, str) or answer.get("error"):
            told = answer if isinstance(answer, str) else str(answer["error"])
            session.wrong(f" Error with request: {told}")
            raise _Stop
        self.changes.forget()
        return True

    def _inside(self, line: Line) -> bool:
        name = line.name.lower()
        if name not in self.changes.accounts_there():
            self.session.wrong(f" line({line.number}) You need to add this parent ({name}) as a child before you can "
                               "add children to it.")  # fmt: skip
            return False
        self._parent = name
        return True

    def _account(self, line: Line) -> bool:
        said = self._options(line)
        self.changes.account(line, self._parent, said)
        return True

    def _user(self, line: Line) -> bool:
        said = self._options(line)
        partition = said.get("partition", "").lower()
        default = said.get("defaultaccount", "").lower()
        level = level_of(said["adminlevel"]) if "adminlevel" in said else ""
        coordinates = names_in(said["coordinator"]) if said.get("coordinator") else []
        self.changes.user(line, self._parent, partition, default, level, coordinates)
        return True
