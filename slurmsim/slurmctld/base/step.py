"""One job step: what it was given and how it ended. The records `squeue -s`, `scontrol show step` and `sacct` read."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from slurmsim.data_classes import dataclass
from slurmsim.hostlist import compress
from slurmsim.states import JobState

BATCH, EXTERN, INTERACTIVE = 0xFFFFFFFB, 0xFFFFFFFC, 0xFFFFFFFA
"""Numbers of the steps that have names; srun's count from 0."""
NO_STATUS = 0xFFFFFFFE  # the wait status of a step with an unknown end
NAMES = {BATCH: "batch", EXTERN: "extern", INTERACTIVE: "interactive"}
WAITED = "waited"  # mark in `Step.asked` of an asynchronous step that had to wait for its place
ENDED = (JobState.CANCELLED, JobState.TIMEOUT)  # jobs that were ended, with all their steps


@dataclass(slots=True, eq=False)
class Step:
    """One step of one run of a job."""

    number: int  # 0, 1, 2 …, or one of `BATCH`, `EXTERN`, `INTERACTIVE`
    name: str
    # start, end: seconds since the epoch; None while it runs
    start: int
    # nodes, tasks, cpus, memory: its nodes (places in the node table), and of each how many tasks, CPUs and MiB it has
    nodes: tuple[int, ...]
    tasks: tuple[int, ...]
    cpus: tuple[int, ...]
    memory: tuple[int, ...]
    run: int  # of which run of its job: `Job.restarts` then
    asked: Mapping[str, Any]  # the request it was made from; empty for a batch step
    # ``PENDING`` of an asynchronous step without a place; ``RUNNING``, then ``COMPLETED``, ``FAILED`` or ``CANCELLED``;
    # ``TIMEOUT`` from when its own limit was reached
    state: str = JobState.RUNNING
    exit_code: int = 0  # a wait status, or `NO_STATUS`
    end: int | None = None
    cancelled_by: int | None = None  # the uid that cancelled it alone
    supposed: bool = False  # its end was not reported: it is what became of its job

    @property
    def text(self) -> str:
        """``0``, ``0+1`` in one of several components in an ordinary job, or ``batch``."""
        tail = "" if self.het_comp is None else f"+{self.het_comp}"
        return NAMES.get(self.number, f"{self.number}{tail}")

    @property
    def waits(self) -> bool:
        """True of an asynchronous step that has no place yet."""
        return self.end is None and self.state == JobState.PENDING

    @property
    def het_comp(self) -> int | None:
        """Which component it is, if it is one of several of a step in an ordinary job."""
        found = self.asked.get("het_comp")
        return None if found is None else int(found)

    def node_list(self, names: Sequence[str]) -> str:
        """Return its nodes as Slurm prints them; `names`: of all nodes in table order."""
        return compress([names[i] for i in self.nodes])

    def finish(self, now: int, status: int) -> None:
        """End the step with the wait status `status`, unless it is known to be over."""
        if self.end is not None and not self.supposed:
            return
        self.supposed = False
        if self.state == JobState.OUT_OF_MEMORY:
            return
        self.end, self.exit_code = now if self.end is None else self.end, status
        if self.state == JobState.TIMEOUT:
            return
        if status == NO_STATUS or status & 0x7F:
            self.state = JobState.CANCELLED
        else:
            self.state = JobState.FAILED if status else JobState.COMPLETED


def lost_script(steps: Iterable[Step]) -> Step | None:
    """Return the step of a batch script that was lost with its node, so that its end is not known; else None."""
    return next((step for step in steps if step.number == BATCH and step.exit_code == NO_STATUS), None)


def derived_code(steps: Iterable[Step], run: int, over_at: int | None) -> int:
    """Return the highest wait status of a run's steps (DerivedExitCode); `over_at`: when the job was ended, if it was.

    Steps that went with it were reported too late to count.
    """
    ended = (step for step in steps if step.run == run and step.end is not None and step.number not in NAMES)
    return max((one.exit_code for one in ended if over_at is None or (one.end or 0) < over_at), default=0)
