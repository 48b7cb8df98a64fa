"""The fake commands: thin programs that ask the daemon and print what Slurm prints.

A room a command (`squeue`, `sinfo`, `sacct`, `sacctmgr`, `scontrol`, `scancel`, `scrontab`, `sreport`), one for those
that submit (`submit`) and one for the `small` ones; what they share is in `text` and `json`, what they see of the world
in `io`.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_ROOMS = {
    "submit": ("salloc", "sbatch", "srun"),
    "squeue": ("squeue",),
    "sinfo": ("sinfo",),
    "sacct": ("sacct",),
    "sacctmgr": ("sacctmgr",),
    "scontrol": ("scontrol",),
    "scancel": ("scancel",),
    "scrontab": ("scrontab",),
    "sreport": ("sreport",),
    "small": ("sattach", "sbcast", "sdiag", "seff", "scrun", "slurmd", "sprio", "sshare", "sstat", "strigger", "swait"),
}
MODULES = {name: f"slurmsim.commands.{room}.{name}" for room, names in _ROOMS.items() for name in names}
"""The commands there are, and the module each is; its `run` takes the words and a world (`io`)."""

_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
GC_THRESHOLD = 200_000
"""Allocations between looks for dead cycles: what is loaded and the rows of 10,000 jobs all live until the end."""


def main(name: str) -> int:
    """Be the command `name`; return its exit code."""
    gc.set_threshold(GC_THRESHOLD, 10, 10)
    _forget_coercion()
    from slurmsim.commands.io import run_command

    return run_command(name, __import__(MODULES[name], fromlist=["run"]).run)


def _forget_coercion() -> None:
    """Take LC_CTYPE out of the environment if this Python has put it there (PEP 538): jobs and tasks would get it."""
    if os.environ.get("LC_CTYPE") in _COERCED and os.environ.get("LANG", "C") in ("", "C", "POSIX"):
        try:
            with open("/proc/self/environ", "rb") as file:
                given = file.read().split(b"\0")
        except OSError:
            return
        if not any(entry.startswith(b"LC_CTYPE=") for entry in given):
            del os.environ["LC_CTYPE"]


def command(name: str) -> NoReturn:
    """Be the command `name` and end this process at once: taking apart what was loaded takes a tenth of squeue's time.

    Programs in clusters' folders call this, or `main` if an older release wrote them, wherever the module is by then.
    """
    code = main(name)
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):  # Python itself says what it could not write
        sys.exit(code)
    if "threading" in sys.modules:  # tasks of srun
        sys.exit(code)
    os._exit(code & 0xFF)
