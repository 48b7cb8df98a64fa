"""A cluster in this process to practise on: each task begins on a copy of its own, and a copy is graded as it stands.

Nothing is on a disk but slurm.conf, nothing is on a socket, and no script runs: a job lasts as long as its script
sleeps. The clock stands still between commands.
"""

from __future__ import annotations

import io
import json
import shlex
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from slurmsim.commands import MODULES
from slurmsim.commands.io import Io
from slurmsim.errors import ConfigError
from slurmsim.json_text import loads
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.history.header import new_header
from slurmsim.slurmctld.history.initial_engine import make_engine
from slurmsim.slurmctld.snapshot.image import restore, take

START = 1_767_600_000  # 2026-01-05, 08:00 UTC: a Monday
RELEASE = "26.05"
ROOT = "root"
COMMANDS = (
    "sbatch", "scancel", "scontrol", "squeue", "sinfo", "sacct", "sacctmgr", "sprio", "sshare", "sdiag", "sreport",
)  # fmt: skip
_FILES = {
    "scontrol": ("wr", "reconf"), "sacctmgr": ("du", "loa", "ar", "file="), "sacct": ("--file",),
    "sbatch": ("--export-f", "--get-user", "--bb"),
}  # fmt: skip
"""How words begin that have a command read or write files, or run something."""
MOST_LINE = 2_000
MOST_LINES = 400
MOST_WAIT_S = 31 * 86_400


class World:
    """A cluster as its set-up left it, of which any number of copies is made. A context manager.

    Parameters
    ----------
    conf
        Text of slurm.conf.
    users
        Names and numbers of the users there are, beside root.
    setup
        Lines ``USER: COMMAND``, carried out one after the other, and ``+ SECONDS``.

    Raises
    ------
    ConfigError
        A line of the set-up fails.
    """

    def __init__(self, conf: str, users: dict[str, int], setup: tuple[str, ...]) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="slurmsim-sandbox-")
        try:
            folder = Path(self._scratch.name)
            (folder / "slurm.conf").write_text(conf, encoding="utf-8")
            self._header = new_header(
                start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0, release=RELEASE,
                users={name: str(uid) for name, uid in users.items()},
            )  # fmt: skip
            first = Copy(make_engine(self._header, folder), START)
            for line in setup:
                first.prepare(line)
            self._now, self._image = first.now, list(take(first.engine))
        except BaseException:
            self._scratch.cleanup()
            raise

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.cleanup()

    def copy(self) -> Copy:
        """Return a copy of the cluster; what is done to it has no effect elsewhere."""
        engine = make_engine(self._header, Path(self._scratch.name))
        restore(engine, self._image, shares=False)
        return Copy(engine, self._now)


class Copy:
    """One copy of a cluster, and its time (s since the epoch)."""

    def __init__(self, engine: Engine, now: int) -> None:
        self.engine, self.now = engine, now

    def wait(self, seconds: int) -> None:
        """Let time pass. Raises ConfigError for more than 31 days at once."""
        if not 0 <= seconds <= MOST_WAIT_S:
            raise ConfigError(f"{seconds} s", field="wait", expected="up to 31 days")
        self.now += seconds
        self.engine.network.advance(self.now)

    def prepare(self, line: str) -> None:
        """Carry out a line of a set-up. Raises ConfigError where its command fails."""
        if line.startswith("+"):
            self.wait(int(line[1:]))
            return
        user, _, command = line.partition(": ")
        code, said = self.command(command, user)
        if code:
            raise ConfigError(f"{line!r} fails: {' '.join(said)}", field="setup", expected="a command that succeeds")

    def command(self, line: str, user: str = ROOT, *, most: int = MOST_LINES) -> tuple[int, list[str]]:
        """Run one of Slurm's commands as `user`; its exit code and the first `most` lines it printed.

        Raises
        ------
        ConfigError
            It is none that a sandbox runs, or one that reads or writes a file.
        """
        words = _words(line)
        program, given = words[0], words[1:]
        out = io.StringIO()
        client: Any = _Client(self, self.engine.people.by_name(user))
        environment = {"SLURMSIM_USER": user, "USER": user, "HOME": f"/home/{user}", "LANG": "C.UTF-8", "TZ": "UTC"}
        world = Io(client, stdin=io.StringIO(), stdout=out, stderr=out, environ=environment, cwd=f"/home/{user}",
                   now=lambda: float(self.now))  # fmt: skip
        try:
            code = int(import_module(MODULES[program]).run(given, world))
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        return code, out.getvalue().splitlines()[:most]


def _words(line: str) -> list[str]:
    if len(line) > MOST_LINE or "\0" in line:
        raise ConfigError("is too long, or no text", field="line", expected=f"up to {MOST_LINE} characters")
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ConfigError(str(error), field="line", expected="words of a shell") from None
    if not words or words[0] not in COMMANDS:
        raise ConfigError(f"{words[0] if words else ''!r}", field="line", expected=", ".join(COMMANDS))
    if words[0] == "sbatch" and not any(word.startswith("--wrap") for word in words):
        raise ConfigError("sbatch of a script's file", field="line", expected="sbatch --wrap='sleep SECONDS'")
    files = _FILES.get(words[0], ())
    if any(word.lower().startswith(files) for word in words[1:]):
        raise ConfigError(f"{line!r} reads or writes a file", field="line", expected="a command without files")
    return words


class _Client:
    """What commands take for their connection."""

    patience_s = 0.0
    folder = "/nowhere"

    def __init__(self, copy: Copy, person: Person) -> None:
        self._copy, self._person = copy, person

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        sent = loads(json.dumps(arguments))  # what comes over a wire shares nothing
        return self._copy.engine.execute(self._copy.now, name, sent, self._person)
