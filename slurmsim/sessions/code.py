"""Which commands of a recorded session run a program or write a file: only the caller may allow that.

A session is a file, and files name no code (docs/security.md). Most commands ask and print. ``srun`` and ``salloc``
run a program on this machine, and batch scripts run where the cluster's jobs do. ``sbcast``, ``scontrol write`` and
``sacctmgr dump`` write files wherever they are told to, also when they read the word from standard input. Variables
such as ``LD_PRELOAD`` load code into the commands themselves.
"""

import os
from collections.abc import Mapping

from slurmsim.commands.recorded import read_by_commands
from slurmsim.errors import ConfigError
from slurmsim.sessions.of_others import is_asked
from slurmsim.sessions.session_file import Command, Session

RUNNING = ("salloc", "sbcast", "srun")
WRITING = {"scontrol": "write", "sacctmgr": "dump"}  # commands with a word that writes a file; it may be shortened
EXPECTED = "--allow-code, if you trust the author of the recording"


def check_no_code(session: Session, *, scripts: bool) -> None:
    """Raise ConfigError where the session would run programs; `scripts`: batch scripts really run."""
    if scripts:
        raise ConfigError("the session runs its batch scripts", expected=f"--jobs simulate, or {EXPECTED}")
    for command in session.commands:
        if not command.inside and is_asked(command, real=scripts) and (what := _harm(command)):
            raise ConfigError(f"command {command.number} {what}: {' '.join(command.argv)}", expected=EXPECTED)


def _harm(command: Command) -> str:
    """Return what a command does beside asking; empty for nothing."""
    name = os.path.basename(command.argv[0]) if command.argv else ""
    if name in RUNNING:
        return "runs a program or writes a file"
    words = [*command.argv[1:], *command.stdin.split()]
    writes = WRITING.get(name, "")
    return "writes a file" if writes and any(word and writes.startswith(word.lower()) for word in words) else ""


def harmless(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that Slurm's commands read themselves."""
    return {name: value for name, value in environ.items() if read_by_commands(name)}
