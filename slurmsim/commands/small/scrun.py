"""scrun: refused. Containers are not modelled. Releases before 24.11 do not have it at all."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.io import Io


def run(argv: list[str], io: Io) -> int:
    """One scrun call in the world `io`; the exit code."""
    io.error("scrun: error: containers are not modelled")
    return 1
