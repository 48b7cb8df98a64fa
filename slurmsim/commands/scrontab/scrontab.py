"""scrontab: set, show, edit and remove a user's table of recurring jobs.

Mirrors scrontab 24.11 and 26.05: the command reads the table and makes the requests, the daemon takes all of them or
none. Debian's 22.05 has no such command.
"""

from __future__ import annotations

import os

from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.scrontab.options import Options
from slurmsim.commands.scrontab.table import BadTable, entries
from slurmsim.commands.submit.job_request import Builder
from slurmsim.commands.submit.scripts.job_environment import batch_environment
from slurmsim.commands.text.cluster_facts import Cluster
from slurmsim.commands.text.messages import Messages, Stop, stoppable
from slurmsim.commands.text.option_reader import NO, REQUIRED, LongOption, OptionError, Parser
from slurmsim.commands.text.values import NO_VALUE, Context
from slurmsim.fast_imports import NamedTuple
from slurmsim.release_changes import CHANGES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.io import Io

_NAME = "scrontab"
_LETTERS = tuple(LongOption(None, REQUIRED if letter == "u" else NO, letter) for letter in "elruv")
_USAGE = """usage:	scrontab [-u user] file
	scrontab [-u user] [ -e | -l | -r | -v]
	-e	Edit user's crontab (default action if stdin is a TTY)
	-l	List user's crontab
	-r	Delete user's crontab
	-u	User to edit crontab for"""
_MOST = 16 << 20
_NEW = """# Recurring jobs: times and a command a line.
#
# minute hour day-of-month month day-of-week command
# Options of sbatch for the next of them stand in lines before it:
#SCRON --time=1
# 0 5 * * * /my/script
"""
"""The text that a user without a table begins to edit."""


class _Refused(NamedTuple):
    """A table that was not taken: what was said, and the lines that are wrong."""

    said: str
    first: int
    last: int
    by_daemon: bool = False


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One scrontab call in the world `io`; the exit code."""
    say = Messages(io, _NAME)
    try:
        return _Call(io, say).run(argv)
    except FAILED_CALLS as error:
        say.error(text_of(error))
        return 1


class _Call:
    def __init__(self, io: Io, say: Messages) -> None:
        self.io, self.say = io, say
        self.cluster = Cluster(io)
        self.release = self.cluster.release
        self.owner: dict[str, str] = {}  # the owner of the table if -u names one, as requests have it
        self.chosen: set[str] = set()

    def run(self, argv: list[str]) -> int:
        first = CHANGES["recurring_jobs"][0]
        if self.release < first:
            self.say.fatal(f"there is none in release {self.release}: --slurm-version {first} or later has it")
        path = self._read(argv)
        words = (self.cluster.configured("ScronParameters") or "").lower().split(",")
        if "enable" not in words:
            self.say.fatal("scrontab is disabled on this cluster")
        if "r" in self.chosen:
            self._ask("remove_crontab")
            return 0
        if "l" in self.chosen:
            return self._show()
        if "e" in self.chosen:
            return self._edit()
        return 0 if self._set(self._text(path)) is None else 1

    def _read(self, argv: list[str]) -> str | None:
        """Read the words; the file they name, None for standard input."""
        parser = Parser(_LETTERS, permute=True)
        try:
            for key, value in parser.parse(argv):
                self.chosen.add(key)
                if key == "u":
                    self._find_owner(value or "")
                self.say.level += key == "v"
        except OptionError:
            self._usage()
        doing = self.chosen & {"e", "l", "r"}
        if len(parser.rest) > 1 or (parser.rest and doing):
            self._usage()
        if not parser.rest and not doing and self.io.stdin.isatty():
            self.chosen.add("e")
        if "e" in self.chosen and not self.io.stdin.isatty():
            self.say.fatal("Standard input is not a TTY")
        return None if not parser.rest or parser.rest[0] == "-" else parser.rest[0]

    def _usage(self) -> None:
        self.io.error(_USAGE)
        raise Stop(1)

    def _find_owner(self, name: str) -> None:
        known = self.io.client.call("users", names=[name])["names"][0]
        if known is None:
            self.say.fatal(f"Could not find user {name}")
        self.owner = {"user": str(known)}

    def _person(self) -> tuple[str, str]:
        """Return name and home of the table's owner."""
        known = self.io.client.call("users", names=[self.owner.get("user", str(self.cluster.uid))])
        home = None if self.owner else self.io.environ.get("HOME")
        return str(known["names"][0]), str(home or known["homes"][0] or "/")

    def _ask(self, call: str) -> dict[str, Any]:
        try:
            return self.io.client.call(call, **self.owner)
        except FAILED_CALLS as error:
            what = {"crontab": "slurm_request_crontab", "remove_crontab": "slurm_remove_crontab"}[call]
            self.say.fatal(f"{what} failed: {text_of(error)}")

    # -- showing and editing ----------------------------------------------------------------------------------------

    def _show(self) -> int:
        text = self._ask("crontab")["crontab"]
        if text is None:
            self.io.out(f"no crontab for {self._person()[0]}\n")
            return 1
        self.io.out(text)
        return 0

    def _edit(self) -> int:
        import tempfile  # rarely wanted

        before = self._ask("crontab")["crontab"]
        text = _NEW if before is None else before
        descriptor, path = tempfile.mkstemp(prefix="scrontab-")
        os.close(descriptor)
        try:
            while True:
                with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                    file.write(text)
                self._call_editor(path)
                text = self._text(path)
                if text == before:
                    self.say.info("No modification made")
                    return 0
                refused = self._set(text)
                if refused is None or not self._again(refused):
                    return 0
                first, last = refused.first, refused.last
                lines = text.split("\n")
                lines[first - 1 : last] = [f"#BAD: {line}" for line in lines[first - 1 : last]]
                before = text = "\n".join(lines)
        finally:
            os.unlink(path)

    def _call_editor(self, path: str) -> None:
        import subprocess  # rarely wanted

        editor = self.io.environ.get("VISUAL") or self.io.environ.get("EDITOR") or "vi"
        try:
            failed = subprocess.run([editor, path], check=False).returncode
        except OSError:
            failed = 1
        if failed:
            self.say.fatal("editor returned non-zero exit code")

    def _again(self, refused: _Refused) -> bool:
        """Return True if the user wants to go on with the same text."""
        what = "failed lines are" if refused.by_daemon else "failed line(s) is"
        while True:
            self.io.out(f"The {what} commented out with #BAD:\nDo you want to retry the edit? (y/n) ")
            self.io.stdout.flush()
            answer = self.io.stdin.readline().strip().lower()
            if answer in ("y", "n", ""):
                return answer == "y"
            self.io.out(refused.said)

    # -- setting ----------------------------------------------------------------------------------------------------

    def _text(self, path: str | None) -> str:
        if path is None:
            return self.io.stdin.read(_MOST)
        full = os.path.join(self.io.cwd, path)
        if os.path.isdir(full):  # it can be opened, and nothing read from it
            return ""
        try:
            with open(full, encoding="utf-8", errors="surrogateescape", newline="") as file:
                text = file.read(_MOST)
        except OSError:
            self.say.fatal(f"failed to open {path}")
        self.io.files[path] = text
        return text

    def _set(self, text: str) -> _Refused | None:
        """Set the table to `text`; what is wrong with it, which is said."""
        try:
            jobs = self._jobs(text)
        except BadTable as bad:
            for line in bad.lines:
                self.say.error(line)
            refused = _Refused("There are errors in your crontab.\n", bad.at, bad.at)
            self.io.out(refused.said)
            return refused
        try:
            found = self.io.client.call("update_crontab", crontab=text, jobs=jobs, **self.owner)
        except FAILED_CALLS as error:
            found = {"refused": text_of(error)}
        if not found.get("refused"):
            return None
        first, last = found.get("lines") or (0, 0)
        said = (
            f"There was an issue with the job submission on lines {f'{first}-{last}' if first else '(null)'}\n"
            f"The error code return was: {found['refused']}\nThe error message was: {found.get('notes') or '(null)'}\n"
        )
        self.io.out(said)
        return _Refused(said, first, last, by_daemon=True)

    def _jobs(self, text: str) -> list[dict[str, Any]]:
        """Return the requests of a table's entries. Raises BadTable."""
        name, home = self._person()
        environ = {"HOME": home, "LOGNAME": name, "USER": name, "MAIL": f"/var/mail/{name}", "SHELL": _shell(name)}
        context = Context("sbatch", self.release, self.cluster.now, self.cluster.uid, home, environ)
        options = Options(context, self.say)
        jobs = []
        for entry in entries(text, self.release, options.read):
            chosen = options.chosen
            options.begin()
            builder = Builder(chosen, self.say, 1, self.cluster.configured, checks=False)
            builder.verify(None)
            host = os.uname().nodename
            environment = batch_environment(builder, None, host)
            for variable in ("SLURM_SUBMIT_DIR", "SLURM_SUBMIT_HOST"):
                environment.pop(variable)
            job = {
                "name": entry.name, "oom_kill_step": 0, **builder.request(), "script": entry.script,
                "alloc_node": host, "alloc_sid": NO_VALUE, "environment": {**environment, "SLURM_GET_USER_ENV": "1"},
            }  # fmt: skip
            jobs.append({"job": job, "spec": entry.spec, "first": entry.first, "last": entry.last})
        return jobs


def _shell(name: str) -> str:
    """Return the login shell of a user."""
    import pwd  # rarely wanted

    try:
        return pwd.getpwnam(name).pw_shell or "/bin/sh"
    except KeyError:
        return "/bin/bash"
