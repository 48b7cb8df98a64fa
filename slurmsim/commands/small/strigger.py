"""strigger: triggers are not modelled. There are never any to list; setting one is refused by name."""

from __future__ import annotations

from slurmsim import releases
from slurmsim.commands.io import run_command
from slurmsim.commands.text.release import release_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.io import Io


_NAME = "strigger"


def main(argv: list[str] | None = None) -> int:
    """Run strigger; the exit code."""
    return run_command(_NAME, run, argv)


def run(argv: list[str], io: Io) -> int:
    """One strigger call in the world `io`; the exit code."""
    if "-V" in argv or "--version" in argv:
        io.out(releases.version_line(release_of(io)) + "\n")
        return 0
    if argv and argv[0] == "--get":
        return 0
    io.error("strigger: error: triggers are not modelled")
    return 1
