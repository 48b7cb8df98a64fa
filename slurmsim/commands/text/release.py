"""Which release of Slurm a command is to look like."""

from __future__ import annotations

import os

from slurmsim import wire_json
from slurmsim.commands.io import FAILED_CALLS
from slurmsim.releases import RELEASES, VERSION_VARIABLE, short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.io import Io

_JOURNAL = "journal"
_MOST = 1 << 24  # bytes of its first line that are looked at


def release_of(io: Io) -> str:
    """Return the release: the environment's, else the daemon's, else its folder's, else the first.

    A command must print its usage, and what is wrong, without a daemon too.
    """
    named = io.environ.get(VERSION_VARIABLE)
    if not named:
        try:
            named = io.client.call("hello").get("slurm_version")
        except FAILED_CALLS:
            named = _kept(io.client.folder)
    return short(named) if named else RELEASES[0]


def _kept(folder: str) -> str | None:
    """Return what the first line of the cluster's journal says; None where it cannot be read."""
    try:
        with open(os.path.join(folder, _JOURNAL), "rb") as file:
            line = file.readline(_MOST)
        return str(wire_json.loads(line[line.index(b"{") :].decode())["release"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
