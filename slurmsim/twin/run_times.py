"""How long the jobs of a twin run: as they are known to, or to their limits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from slurmsim.errors import ConfigError
from slurmsim.input_file import read_text
from slurmsim.numerals import is_number
from slurmsim.sim.network import Behaviour
from slurmsim.states import JobState
from slurmsim.twin.jobs import SeenJob

NEVER_S = 365 * 86_400


class RunTimes:
    """Says of each job how long its run takes and how it ends.

    Parameters
    ----------
    known
        Seconds and exit status by id as users name it (``12`` or ``12_3``), where they are known.
    """

    def __init__(self, known: Mapping[str, tuple[int, int]] | None = None) -> None:
        self._known = known or {}

    def of(self, job: SeenJob, task: int | None = None) -> tuple[int, int]:
        """Return the seconds a run of `job` takes, and its exit status; `task`: of that one of its tasks."""
        names = (job.shown_id, str(job.id)) if task is None else (f"{job.array_id}_{task}",)
        found = next((self._known[name] for name in names if name in self._known), None)
        if found is not None:
            return found
        limit = job.limit_min
        return (NEVER_S if limit is None or limit < 0 else limit * 60), 0

    def behaviour(self, job: SeenJob, task: int) -> Behaviour:
        """Return the same for a task: the script is the same for all of its array."""
        seconds, status = self.of(job, task)
        state = JobState.COMPLETED if status == 0 else JobState.FAILED
        return Behaviour(seconds, state, f"{status}:0", -1)


def read_run_times(path: Path) -> RunTimes:
    """Return the run times of a CSV file: a job, its seconds and, if it is not 0, its exit status.

    Raises ConfigError.
    """
    try:
        lines = read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"cannot be read: {said}", file=str(path), field="--run-times") from None
    known: dict[str, tuple[int, int]] = {}
    for number, line in enumerate(lines, 1):
        cells = [cell.strip() for cell in line.split(",")]
        if not line.strip() or (number == 1 and not is_number(cells[-1])):
            continue
        if len(cells) not in (2, 3) or not all(map(is_number, cells[1:])) or int(cells[1]) > NEVER_S:
            raise ConfigError(f"{line[:40]!r}", file=str(path), line=number, expected="job,seconds[,exit]")
        known[cells[0]] = int(cells[1]), int(cells[2]) & 0xFF if len(cells) == 3 else 0
    return RunTimes(known)
