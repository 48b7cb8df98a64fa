"""Commands that other users of the machine gave, in a recorded session: which of them its owner asks again.

A replay runs commands as the user who replays. What another user wrote into them (variables, words, a script, standard
input) must not run a program or write a file then. So a command of another is asked only where it is one of these.
"""

import os

from slurmsim.sessions.session_file import Command

_LOOK = frozenset({"squeue", "sinfo", "sacct", "sshare", "sprio", "sdiag", "sstat", "sreport", "scancel"})
_VERBS = {
    "scontrol": frozenset({"show", "hold", "uhold", "release", "requeue", "suspend", "resume", "update", "top"}),
    "sacctmgr": frozenset({"show", "list"}),
}
"""Verbs, whole, of commands that with others write files, or read more commands."""


def is_asked(command: Command, *, real: bool) -> bool:
    """Return True if a command is asked again; `real` says that scripts run."""
    if not command.of_other:
        return True
    name = os.path.basename(command.argv[0]) if command.argv else ""
    if name == "sbatch":
        return not real
    verb = next((word for word in command.argv[1:] if not word.startswith("-")), "")
    return name in _LOOK or verb in _VERBS.get(name, ())
