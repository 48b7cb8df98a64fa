"""What goes wrong with requests: written to the daemon's log, its standard error, and never sent to the client."""

import sys
import time
import traceback
from collections import deque
from datetime import datetime

from slurmsim.errors import PolicyError
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.requests.shapes.values import Malformed

KEPT = 20
PAUSE_S = 1.0


class TroubleLog:
    """Lines as slurmctld.log has them."""

    def __init__(self) -> None:
        # the last exceptions that no handler foresaw: bugs of ours, every one
        self.tracebacks: deque[str] = deque(maxlen=KEPT)
        self.policy_error = ""  # the last error of the policy, one line
        self.turned_away = 0  # how many requests were malformed
        self._last = -PAUSE_S
        self._silent = 0

    def malformed(self, call: object, person: Person, error: Malformed) -> None:
        """Log a request that was turned away, at most a line a second, so that no client fills the disk with them."""
        self.turned_away += 1
        now = time.monotonic()
        if now - self._last < PAUSE_S:
            self._silent += 1
            return
        more = f" ({self._silent} more before it)" if self._silent else ""
        self._last, self._silent = now, 0
        self._write(f"Malformed RPC of type {str(call)[:60]!r} received from uid {person.uid}: {error}{more}")

    def broke(self, call: str, person: Person, error: Exception) -> None:
        """Log the exception `error`, which is being handled and came out of a request.

        One of the policy, its owner's code, is one line and no bug of ours.
        """
        if isinstance(error, PolicyError):
            self.policy_error = str(error)
            self._write(f"request {call!r} of uid {person.uid}: {error}")
            return
        self.tracebacks.append(f"{call}: {traceback.format_exc()}")
        self._write(f"request {call!r} of uid {person.uid} broke:\n{traceback.format_exc()}")

    def _write(self, text: str) -> None:
        print(f"[{datetime.now().isoformat(timespec='milliseconds')}] error: {text}", file=sys.stderr, flush=True)
