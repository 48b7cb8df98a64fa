"""The number of a job that is named by its SLUID or as a task of an array (since 26.05)."""

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
    return _first(io, word, "")


def shown_id_of_task(io: Io, word: str) -> str:
    """Do the same for `word` that may be ``ARRAY_TASK``, too."""
    array, _, task = word.partition("_")
    return _first(io, int(array), task) if task else shown_id(io, word)


def _first(io: Io, asked: int | str, task: str) -> str:
    """Return the id of the first job that is asked for and has that number in its array, if one is given."""
    try:
        columns = io.client.call("jobs", job_id=asked, fields=["job_id", "array_task_id"])["columns"]
    except FAILED_CALLS:
        return _NONE
    rows = zip(columns["job_id"], columns["array_task_id"], strict=True)
    return next((str(job) for job, number in rows if not task or str(number) == task), _NONE)


_NONE = "4294967295"
