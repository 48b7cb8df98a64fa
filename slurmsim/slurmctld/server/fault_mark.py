"""The small file that tells commands to ask which faults they meet: without it a call costs them one look at a folder.

It says nothing that the engine does not know, so it is made anew whenever a daemon starts.
"""

import os
from contextlib import suppress

from slurmsim.protocol import FAULTS
from slurmsim.slurmctld.history.state_folder import StateFolder


class FaultMark:
    """The file of one cluster."""

    def __init__(self, folder: StateFolder) -> None:
        self._folder = folder
        self._there: bool | None = None  # not looked yet

    def show(self, wanted: bool) -> None:
        """Have the file there, or not. A disk without room for its name is tried again at the next turn."""
        if wanted is self._there:
            return
        with suppress(OSError):
            if wanted:
                os.close(self._folder.open(FAULTS, os.O_WRONLY | os.O_CREAT))
            else:
                (self._folder.path / FAULTS).unlink(missing_ok=True)
            self._there = wanted
