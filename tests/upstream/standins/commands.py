"""Slurm's commands, as slurmsim has them. Those that talk to a daemon that is not started find none.

Controller and database are one process of slurmsim. So whether "slurmctld" or "slurmdbd" runs is a link in var/run,
which is the cluster's folder for commands of the one kind or of the other.
"""

from __future__ import annotations

import fcntl
import os
import sys

from slurmsim import protocol
from slurmsim.releases import VERSION_VARIABLE, version_line
from tests.upstream.standins.asking import ask

RELEASE = "26.05"
_DATABASE = ("sacct", "sacctmgr", "sreport")
_BRIEF = ("squeue", "sinfo", "sprio", "sshare", "sdiag")
_AT_ONCE = 16
"""Displays that run at once, of the hundreds that one module starts: each is a process of Python."""


def main(name: str, prefix: str) -> int:
    """Be the command `name`."""
    words = sys.argv[1:]
    if name == "scontrol" and words[:1] == ["shutdown"]:
        return ask(prefix, "stop", "slurmctld", *words[1:])
    if name == "sacctmgr" and words[:1] == ["shutdown"]:
        return ask(prefix, "stop", "slurmdbd")
    if name == "scontrol" and words[:1] and "reconfigure".startswith(words[0]) and len(words[0]) > 2:
        ask(prefix, "copy")
    kind = "slurmdbd" if name in _DATABASE else "slurmctld"
    protocol.HOME = os.path.join(prefix, "var", "run", kind)
    os.environ.pop(protocol.FOLDER_VARIABLE, None)  # a job's, which is the same folder
    os.environ.setdefault(VERSION_VARIABLE, RELEASE)  # also where no daemon tells
    if name == "slurmrestd":
        if sys.argv[1:] == ["-V"]:
            print(version_line(RELEASE, "upstream"))
            return 0
        from slurmsim.rest.server import main as serve

        return serve()
    from slurmsim.commands import main as command

    if name in _BRIEF and not any(word.startswith(("-i", "--iter")) for word in words):
        slot = open(os.path.join(prefix, "var", "run", f"slot{os.getpid() % _AT_ONCE}"), "wb")  # noqa: SIM115
        fcntl.flock(slot, fcntl.LOCK_EX)
    return command(name)
