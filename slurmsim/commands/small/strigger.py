"""strigger: triggers are not modelled. There are never any to list; setting one is refused by name."""

from __future__ import annotations

from slurmsim import releases
from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.text.release import release_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.io import Io


def run(argv: list[str], io: Io) -> int:
    """One strigger call in the world `io`; the exit code."""
    if "-V" in argv or "--version" in argv:
        io.out(releases.version_line(release_of(io)) + "\n")
        return 0
    if argv and argv[0] == "--get":
        return _get(io)
    io.error("strigger: error: triggers are not modelled")
    return 1


def _get(io: Io) -> int:
    """There are none, if the controller answers."""
    try:
        io.client.call("ping")
    except FAILED_CALLS as error:
        io.error(f"slurm_get_triggers: {text_of(error)}")
        return 1
    return 0
