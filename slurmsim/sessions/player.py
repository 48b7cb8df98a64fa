"""A live cluster on a frozen clock that is asked what a session asked: each command at its second.

Where scripts really run the clock goes on second by second, each time when all their processes wait. A command that
waits lets it go on in the same way.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from slurmsim.protocol import Client
from slurmsim.sessions.quiet import Quiet


class Player:
    """The clock of one cluster, and what runs there.

    Parameters
    ----------
    real
        Whether its scripts really run.
    alone
        True if only the cluster's jobs and its commands wait for its clock: without any of them the clock may jump.
    """

    def __init__(self, folder: Path, *, real: bool, alone: bool = False) -> None:
        self.client, self.real, self._alone = Client(str(folder)), real, alone
        self.now = int(self.client.call("ping")["now"])  # the cluster's time, seconds since the epoch
        self._quiet = Quiet(folder)

    def until(self, instant: int, each: Callable[[], None] | None = None, *, late: bool = False) -> None:
        """Step the clock to that instant; `each` is called after every second where scripts or commands run.

        What is asked then comes `late` if slurmctld's loop has gone round for the second: backfill may be first.
        """
        busy = each is not None or (self.real and not self._alone)
        if instant > self.now and (busy or (self.real and any(self.client.call("status")["queue"].values()))):
            self._quiet.wait()
            self.step(0)  # what waits to be ended, as requeued scripts do, ends before the clock goes on
            self._quiet.wait()
            while self.now < instant:
                self.step(1)
                self._quiet.wait()
                if each is not None:
                    each()
        elif instant > self.now:
            self.step(instant - self.now, late=late)
            return
        if late:
            self.step(0, late=True)

    def step(self, seconds: int, *, late: bool = False) -> None:
        """Let the clock go on."""
        more = {"late": True} if late else {}
        self.now = int(self.client.call("clock", action="step", seconds=seconds, **more)["now"])

    def ended(self, command: subprocess.Popen[bytes]) -> bool:
        """Wait for the command, or until it only waits itself."""
        for patience in (0.25 if self.real else 2.0, 0.0):  # looking at all processes costs more than the command
            try:
                command.wait(patience)
                return True
            except subprocess.TimeoutExpired:
                self._quiet.wait()
        return False
