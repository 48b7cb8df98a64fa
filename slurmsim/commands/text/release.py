"""Which release of Slurm a command is to look like."""

from __future__ import annotations

import os

from slurmsim import wire_json
from slurmsim.commands.io import FAILED_CALLS
from slurmsim.releases import RELEASES, VERSION_VARIABLE, short, version_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.io import Io

_JOURNAL = "journal"
_MOST = 1 << 24  # bytes of its first line that are looked at


def release_of(io: Io) -> str:
    """Return the release: the environment's, else the daemon's, else its folder's, else the first.

    A command must print its usage, and what is wrong, without a daemon too.
    """
    named = io.environ.get(VERSION_VARIABLE) or _told(io, "slurm_version", "release")
    return short(named) if named else RELEASES[0]


def version_of(io: Io) -> str:
    """Return the line of ``--version``: the release, under the name of the cluster's flavour."""
    return version_line(release_of(io), _told(io, "flavour", "flavour") or "upstream") + "\n"


def _told(io: Io, name: str, key: str) -> str | None:
    """Return what the daemon says, else the header of its journal; None where neither does."""
    client = io.client
    patience, client.patience_s = client.patience_s, 0  # what is asked for next waits for a daemon
    try:
        found = client.call("hello").get(name)
    except FAILED_CALLS:
        found = _kept(client.folder).get(key)
    finally:
        client.patience_s = patience
    return None if found is None else str(found)


def _kept(folder: str) -> dict[str, Any]:
    """Return what the first line of the cluster's journal says; empty where it cannot be read."""
    try:
        with open(os.path.join(folder, _JOURNAL), "rb") as file:
            line = file.readline(_MOST)
        return dict(wire_json.loads(line[line.index(b"{") :].decode()))
    except (OSError, ValueError, TypeError):
        return {}
