"""swait: refused. Waiting for steps of a job is not modelled. Releases before 26.05 do not have it at all."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.io import Io


def run(argv: list[str], io: Io) -> int:
    """One swait call in the world `io`; the exit code."""
    io.error("swait: error: waiting for the steps of a job is not modelled")
    return 1
