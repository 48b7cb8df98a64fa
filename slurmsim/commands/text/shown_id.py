"""The number of a job that is named by its SLUID (since 26.05)."""

from __future__ import annotations

from slurmsim import sluid
from slurmsim.commands.io import FAILED_CALLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.io import Io


def shown_id(io: Io, word: str) -> str:
    """Return `word`, or the id of the job with that SLUID; a number no job has where there is none such."""
    if sluid.number_of(word) is None:
        return word
    try:
        columns = io.client.call("jobs", job_id=word, fields=["job_id"])["columns"]
    except FAILED_CALLS:
        return _NONE
    return str(columns["job_id"][0])


_NONE = "4294967295"
