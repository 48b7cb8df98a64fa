"""Which release of Slurm a command is to look like, and which of two forms its documents have."""

from __future__ import annotations

import os

from slurmsim import wire_json
from slurmsim.commands.io import FAILED_CALLS
from slurmsim.commands.text.messages import Stop
from slurmsim.release_changes import since
from slurmsim.releases import RECORDED_RELEASES, VERSION_VARIABLE, of_new, short, version_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.io import Io

_JOURNAL = "journal"
_MOST = 1 << 24  # bytes of its first line that are looked at


def release_of(io: Io) -> str:
    """Return the release: the environment's, else the daemon's, else its folder's, else the default.

    A command must print its usage, and what is wrong, without a daemon too.
    """
    named = io.environ.get(VERSION_VARIABLE) or _told(io)[0]
    return short(named or of_new(io.environ))


def version_of(io: Io) -> str:
    """Return the line of ``--version``: the release, under the name of the cluster's flavour."""
    told, flavour = _told(io)
    named = io.environ.get(VERSION_VARIABLE) or told
    return version_line(short(named or of_new(io.environ)), flavour) + "\n"


def _told(io: Io) -> tuple[str, str]:
    """Return release and flavour as the daemon says them, else the header of its journal; "" for no release.

    What names no flavour is from before there was a choice, and is Debian's. Without a cluster it is upstream's.
    """
    client = io.client
    patience, client.patience_s = client.patience_s, 0  # what is asked for next waits for a daemon
    try:
        found, key = client.call("hello"), "slurm_version"
    except FAILED_CALLS:
        found, key = _kept(client.folder), "release"
    finally:
        client.patience_s = patience
    return str(found.get(key) or ""), str(found.get("flavour") or ("debian" if found else "upstream"))


def _kept(folder: str) -> dict[str, Any]:
    """Return what the first line of the cluster's journal says; empty where it cannot be read."""
    try:
        with open(os.path.join(folder, _JOURNAL), "rb") as file:
            line = file.readline(_MOST)
        return dict(wire_json.loads(line[line.index(b"{") :].decode()))
    except (OSError, ValueError, TypeError):
        return {}


def of_openapi(command: str, release: str, io: Io) -> bool:
    """Return True if the documents of `release` have OpenAPI's form, as they had before there were data parsers.

    Prints and raises Stop for a release that has another form which is not modelled.
    """
    if since(release, "data_parsers"):
        return False
    if release == RECORDED_RELEASES[0]:
        return True
    io.error(f"{command}: error: JSON and YAML of Slurm {release} are not modelled")
    raise Stop(1)
