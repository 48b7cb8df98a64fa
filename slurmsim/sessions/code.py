"""Which commands of a recorded session run programs of whoever recorded it: only the caller may allow that.

A session is a file, and files name no code (docs/security.md). Most commands ask and print. ``srun`` and ``salloc``
run a program on this machine, batch scripts run where the cluster's jobs do, and variables such as ``LD_PRELOAD`` load
code into the commands themselves.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from slurmsim.commands.recorded import read_by_commands
from slurmsim.errors import ConfigError
from slurmsim.sessions.of_others import is_asked
from slurmsim.sessions.session_file import Session

RUNNING = ("salloc", "srun")
EXPECTED = "--allow-code, if you trust whoever recorded it"


def check_no_code(session: Session, *, scripts: bool) -> None:
    """Raises ConfigError where the session would run programs; `scripts`: batch scripts really run."""
    if scripts:
        raise ConfigError("the session runs its batch scripts", expected=f"--jobs simulate, or {EXPECTED}")
    for command in session.commands:
        if (
            not command.inside
            and is_asked(command, real=scripts)
            and os.path.basename(command.argv[0] if command.argv else "") in RUNNING
        ):
            raise ConfigError(f"command {command.number} runs a program: {' '.join(command.argv)}", expected=EXPECTED)


def harmless(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that Slurm's commands read themselves."""
    return {name: value for name, value in environ.items() if read_by_commands(name)}
