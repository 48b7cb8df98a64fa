"""Checkpoints of simulated jobs: a requeued job goes on from its last one, also after a failure of its nodes.

A job writes one after every interval of work, and stands still meanwhile. A run that begins from a checkpoint reads it
first. After the last of the work nothing is written. Times are whole seconds; the time limit counts all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from slurmsim.core.records.job import Job
from slurmsim.data_classes import asdict, dataclass
from slurmsim.errors import ConfigError
from slurmsim.numerals import is_number

EXPECTED = "INTERVAL, INTERVAL:WRITE or INTERVAL:WRITE:RESTART in whole seconds, the interval above 0"


class Progress(NamedTuple):
    """What one run did: seconds of work, how much work is saved at its end, and seconds of writes and of its restart.

    `work_s` and `overhead_s` make up the time it ran.
    """

    work_s: int
    saved_s: int
    overhead_s: int


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """How often jobs write a checkpoint, and what writing one and going on from one cost, seconds."""

    interval_s: int
    write_s: int = 0
    restart_s: int = 0

    @classmethod
    def read(cls, text: str) -> Checkpoints:
        """Return what ``INTERVAL[:WRITE[:RESTART]]`` says. Raises ConfigError."""
        words = text.split(":")
        if len(words) > 3 or not all(map(is_number, words)) or int(words[0]) < 1:
            raise ConfigError(f"{text!r}", field="--checkpoint", expected=EXPECTED)
        return cls(*map(int, words))

    @classmethod
    def configured(cls, parameters: Mapping[str, str]) -> Checkpoints | None:
        """Return what SchedulerParameters say (checkpoint_interval, checkpoint_write, checkpoint_restart)."""
        interval, write, restart = (
            int(parameters.get(f"checkpoint_{name}") or 0) for name in ("interval", "write", "restart")
        )
        return cls(interval, write, restart) if interval else None

    def parameters(self) -> dict[str, str]:
        """Return what `configured` reads."""
        return {f"checkpoint_{name.removesuffix('_s')}": str(value) for name, value in asdict(self).items()}

    def run_time(self, work_s: int, saved_s: int) -> int:
        """Return how long a run takes that begins with `saved_s` of `work_s` seconds of work done."""
        left = work_s - saved_s
        return (self.restart_s if saved_s else 0) + left + self._writes(left) * self.write_s

    def _writes(self, left_s: int) -> int:
        """Return how many checkpoints are written while `left_s` seconds of work are done."""
        return max(0, left_s - 1) // self.interval_s

    def progress(self, work_s: int, saved_s: int, ran_s: int) -> Progress:
        """Return what a run of `ran_s` seconds did of `work_s` (below 0: unknown), with `saved_s` done before."""
        on = max(0, ran_s - (self.restart_s if saved_s else 0))
        written = on // (self.interval_s + self.write_s)
        if work_s >= 0:
            written = min(written, self._writes(work_s - saved_s))
        rest = on - written * (self.interval_s + self.write_s)
        at_work = rest if work_s >= 0 and written == self._writes(work_s - saved_s) else min(rest, self.interval_s)
        work = written * self.interval_s + at_work
        return Progress(work, saved_s + written * self.interval_s, ran_s - work)


class SavedWork:
    """How much work of each job its checkpoints hold."""

    def __init__(self, spec: Checkpoints) -> None:
        self.spec = spec
        self.saved: dict[int, int] = {}  # seconds of work, by job id; jobs that were never requeued are not in it

    def run_time(self, job_id: int, work_s: int) -> int:
        """Return how long the next run of the job takes; -1 if that is unknown."""
        return work_s if work_s < 0 else self.spec.run_time(work_s, self.saved.get(job_id, 0))

    def over(self, run: Job, work_s: int, *, last: bool) -> tuple[int, ...] | None:
        """Take in that `run` is over, `last` of its job; return its row of ``checkpoints.parquet``, None without nodes.

        `run` is the job's record at the end of the run. All work of a job that completed is done.
        """
        before = self.saved.pop(run.id, 0) if last else self.saved.get(run.id, 0)
        if run.alloc is None or run.start_time is None or run.end_time is None:
            return None
        ran = run.end_time - run.start_time - run.suspended_s
        found = self.spec.progress(work_s, before, ran)
        saved = found.saved_s
        if last and work_s >= 0 and ran >= self.spec.run_time(work_s, before):
            saved = work_s
        if not last:
            self.saved[run.id] = saved
        return run.id, run.start_time, run.end_time, run.n_cpus, before, found.work_s, saved, found.overhead_s
