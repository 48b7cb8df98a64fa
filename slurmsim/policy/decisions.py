"""What a policy may decide: the messages its `schedule` yields."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slurmsim.bitmap import Bitmap
from slurmsim.policy.cluster import JobView, PartitionView, RecordView


@dataclass(slots=True)
class Start:
    """Start `job` now, on nodes the node selector chooses; `within` limits it to some nodes. Outcome: started or not.

    With `time_limit_s` the job gets that limit instead of its own (--time-min); `longer`, told the nodes chosen, may
    give it a longer one, seconds.

    Yielding a Start for a job that does not fit is no error (the outcome is False), nor for one that an accounting
    limit forbids (None); for one that is not pending it is.

    `layout` names the nodes itself: node number to units of the job on it (`LayoutsView.units`). One that does not fit
    now is refused as any start is (False, None). One that never could be right is an error: another count of units, an
    unknown node, more units on a node than the job allows, a job that has no units.

    `nodes` is how many a job of several sizes gets, and `cap` the watts its processors may draw (`PowerView`): errors
    where its application does not know them. A start beyond the budget is refused as any start is (False).
    """

    job: JobView | RecordView
    within: Bitmap | None = None
    partition: PartitionView | None = None
    time_limit_s: int | None = None
    layout: Mapping[int, int] | None = None
    nodes: int | None = None
    cap: float | None = None
    longer: Callable[[Bitmap], int] | None = None


@dataclass(slots=True)
class StartTogether:
    """Start all of these jobs now, each on nodes of its own, or none. Outcome: whether they started; None for a limit.

    Of each `Start` the record, `within` and `time_limit_s` count. What forbids them is shown by the one it forbids.
    """

    starts: Sequence[Start]


@dataclass(slots=True)
class Plan:
    """Show that `job` is planned to start at `start` (on `nodes`), as squeue --start does; None: unknown.

    The trace gets every change of a `promise`; of mere estimates, which move at every pass, only the first.
    """

    job: JobView | RecordView
    start: int | None
    nodes: Bitmap = 0
    promise: bool = True


@dataclass(slots=True)
class Reject:
    """Show `reason` for pending `job`."""

    job: JobView | RecordView
    reason: str


@dataclass(slots=True)
class Tested:
    """When the job of `record` could start was worked out, be it only to know; None: that of every job in the queue.

    Slurm's plugins do so; it tells slurmctld how many CPUs a job would get, which `squeue` shows.
    """

    record: RecordView | None = None


@dataclass(slots=True)
class WakeAt:
    """Call `schedule` again at `time` even if nothing happens until then."""

    time: int


@dataclass(slots=True)
class Resize:
    """Give running `job` `n_nodes` nodes: its first ones, or more of those that are idle (out of `within`).

    Outcome: done or not. Jobs that hold whole equal nodes can grow; every job can shrink. What that does to its run
    time the driver knows; the limit stays.
    """

    job: JobView
    n_nodes: int
    within: Bitmap | None = None


@dataclass(slots=True)
class Change:
    """What running `job` is to have: nodes, and watts its processors may draw; None for what it has."""

    job: JobView
    nodes: int | None = None
    cap: float | None = None


@dataclass(slots=True)
class Reconfigure:
    """Carry all `changes` out together, those that lower first. Outcome: done, or nothing has changed (False).

    All jobs that are resized in it stand still for twice the longest of their changes of size; while data move the
    larger watts of each count. False if nodes or watts do not suffice, for a suspended or booting job, and for another
    size of a job while its data move. A size or cap that its application does not know is an error, as is another size
    of a job that is not malleable.
    """

    changes: Sequence[Change]


@dataclass(slots=True)
class Solve:
    """Have `solver` (``package.module:function``) called with `request`, outside of the controller.

    What the function returns comes back by `Policy.solved`, some time later. Request and answer are plain data: what
    JSON can write. Outcome: False while another answer is awaited; then nothing is asked.
    """

    request: Any
    solver: str


Decision = Start | StartTogether | Plan | Reject | Tested | WakeAt | Resize | Reconfigure | Solve
Outcome = bool | None
Decisions = Generator[Decision, Outcome, None]  # what is sent back is the outcome
