"""Flags of jobs in accounting: how their start was tried."""

from __future__ import annotations

from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FLAGS = ("SchedNotSet", "SchedSubmit", "SchedMain", "SchedBackfill", "StartRecieved")


def flags_in(release: str, flags: Iterable[str]) -> list[str]:
    """Return flags as that release spells them."""
    if not since(release, "start_received"):
        return list(flags)
    return ["StartReceived" if flag == "StartRecieved" else flag for flag in flags]
