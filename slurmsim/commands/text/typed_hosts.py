"""Host lists as users type them: bounded as Slurm's own are, and with what hostlist.c says of a range it cannot use."""

from __future__ import annotations

from slurmsim.hostlist import MAX_RANGE, BadRange, expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def typed_hosts(text: str, complain: Callable[[str], None]) -> list[str]:
    """Return the names in `text`.

    Parameters
    ----------
    complain
        Takes the line of hostlist.c about a range, before the error is raised: commands say more after it.

    Raises
    ------
    HostlistError
        It is no host list, or stands for too many names.
    """
    try:
        return expand(text, widest=MAX_RANGE)
    except BadRange as error:
        complain(error.complaint)
        raise
