"""Which release of Slurm a command is to look like."""

from __future__ import annotations

from slurmsim.commands.io import FAILED_CALLS
from slurmsim.releases import RELEASES, VERSION_VARIABLE, short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.io import Io


def release_of(io: Io) -> str:
    """The environment says, else the daemon, else the first: a command must print its usage without a daemon too."""
    named = io.environ.get(VERSION_VARIABLE)
    if not named:
        try:
            named = io.client.call("hello").get("slurm_version")
        except FAILED_CALLS:
            named = None
    return short(named) if named else RELEASES[0]
