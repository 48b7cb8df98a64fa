"""The folder that TMPDIR names, which slurmstepd makes for the first task of a step on each node, and for a script.

Mirrors _make_tmpdir of slurmstepd's task.c (22.05, 24.11, 26.05).
"""

from __future__ import annotations

import os

USUAL = "/tmp"


def temporary_folder(told: str | None) -> tuple[str, list[str]]:
    """Make the folder `told` if it is not there; return the folder to use and what slurmstepd complains of."""
    if told is None:
        return USUAL, []
    wrong = _wrong(told)
    return (USUAL, [wrong, f"Setting TMPDIR to {USUAL}"]) if wrong else (told, [])


def _wrong(folder: str) -> str:
    try:
        os.mkdir(folder, 0o700)
    except ValueError:  # a NUL byte
        return f"Unable to create TMPDIR [{folder}]: Invalid argument"
    except OSError as error:
        if not os.path.exists(folder):
            return f"Unable to create TMPDIR [{folder}]: {os.strerror(error.errno or 0)}"
        if not os.path.isdir(folder):
            return f"TMPDIR [{folder}] is not a directory"
        if not os.access(folder, os.X_OK | os.W_OK):
            return f"TMPDIR [{folder}] is not writeable"
    return ""
