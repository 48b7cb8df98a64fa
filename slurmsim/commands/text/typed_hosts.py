"""Host lists as users type them: bounded as Slurm's own are, and with what hostlist.c says of a range it cannot use."""

from __future__ import annotations

from slurmsim.hostlist import MAX_RANGE, BadRange, HostlistError, expand
from slurmsim.release_changes import since
from slurmsim.releases import RELEASES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class TextAfterBrackets(HostlistError):
    """A name goes on behind its last bracket, as in ``n[1-2]-ib``; 22.05 cannot read that."""


def typed_hosts(text: str, complain: Callable[[str], None], release: str = RELEASES[-1]) -> list[str]:
    """Return the names in `text`.

    Parameters
    ----------
    release
        What it may look like depends on it.
    complain
        Takes the line of hostlist.c about a range, before the error is raised: commands say more after it.

    Raises
    ------
    HostlistError
        It is no host list, or stands for too many names.
    """
    if "]" in text and _goes_on(text) and not since(release, "text_after_brackets"):
        raise TextAfterBrackets(f"text behind the last bracket in {text!r}")
    try:
        return expand(text, widest=MAX_RANGE)
    except BadRange as error:
        complain(error.complaint)
        raise


def _goes_on(text: str) -> bool:
    """Return True if a name goes on behind its last bracket.

    >>> _goes_on("a[1-2]b[1-2],c"), _goes_on("a[1-2]b[1-2]c"), _goes_on("a[1-2]3,b")
    (False, True, True)
    """
    heads = [part.partition(",")[0] for part in text.replace(" ", ",").split("]")[1:]]
    return any(head and "[" not in head for head in heads)
