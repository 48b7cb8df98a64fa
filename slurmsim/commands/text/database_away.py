"""What commands that ask the database say when it does not answer.

Mirrors slurm_persist_conn_open and its callers (22.05). The address is the default one of slurmdbd.
"""

from __future__ import annotations

from slurmsim.protocol import TimedOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.protocol import Unreachable

_REFUSED = (
    "slurm_persist_conn_open_without_init: failed to open persistent connection to host:localhost:6819: "
    "Connection refused"
)


def database_away(command: str, error: Unreachable, last: str = "") -> str:
    """Return the lines on standard error; `last` is the one that command adds, with ``{}`` for what is wrong."""
    if isinstance(error, TimedOut):
        first, why = "slurm_persist_conn_open: No response to persist_init", "Resource temporarily unavailable"
    else:
        first, why = _REFUSED, "Connection refused"
    lines = [f"error: {first}", f"error: Sending PersistInit msg: {why}", *([last.format(why)] if last else [])]
    return "\n".join(f"{command}: {line}" for line in lines)
