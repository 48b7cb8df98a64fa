"""What a policy may decide: the messages its `schedule` yields."""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from slurmsim.bitmap import Bitmap
from slurmsim.data_classes import dataclass
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


@dataclass(slots=True)
class Suspend:
    """Stop running `job` where it is: other jobs may have its CPUs, it keeps its memory and GRES. Outcome: done or not.

    Its run time and its limit stand still. False for a job on nodes that still boot, for one that shares in a power
    budget, and for a component of a heterogeneous job.
    """

    job: JobView


@dataclass(slots=True)
class Resume:
    """Let suspended `job` go on, on the nodes it had. Outcome: False while other jobs have its CPUs."""

    job: JobView


@dataclass(slots=True)
class Requeue:
    """Put running or suspended `job` back into the queue: it loses its nodes and may start again later.

    That is after `requeue_delay` (120 s unless set) and one second more.

    Outcome: False for a job that may not be requeued (--no-requeue, JobRequeue=0), or is a component of a
    heterogeneous one. It begins anew, or goes on from its last checkpoint where jobs make them.
    """

    job: JobView


@dataclass(slots=True)
class Migrate:
    """Requeue running or suspended `job`, and have its next runs take nodes out of `within` alone. Outcome: as Requeue.

    False also where those nodes could never serve it. `fits` and `Start` count no other nodes for it from then on.
    """

    job: JobView
    within: Bitmap


@dataclass(slots=True)
class Cancel:
    """Cancel `job`, pending or not; one that has nodes at the end of `grace_s` seconds. Outcome: True.

    In its grace time it works on and may end by itself; `end_limit` says when it is over at the latest. A second
    Cancel of it is refused (False), as is one of a component of a heterogeneous job.
    """

    job: JobView
    grace_s: int = 0


@dataclass(slots=True)
class SetLimit:
    """Give waiting or running `job` another time limit, counted from its start. Outcome: False in its grace time.

    A running job that has run for longer ends at once (TIMEOUT).
    """

    job: JobView
    time_limit_s: int


@dataclass(slots=True)
class SetPriority:
    """Give pending `job` that priority, which lasts until a `Release`, as an administrator's does. Outcome: True."""

    job: JobView
    priority: int


@dataclass(slots=True)
class SetNice:
    """Give pending `job` that nice value. Outcome: False where an administrator or a policy has set its priority."""

    job: JobView
    nice: int


@dataclass(slots=True)
class Hold:
    """Hold pending `job`, as an administrator does: it leaves the queue until a `Release`. Outcome: done or not.

    False for a job that is held, and for a component of a heterogeneous job. `ClusterView.waiting` has it then.
    """

    job: JobView


@dataclass(slots=True)
class Release:
    """Release pending `job`: its hold ends, and so does a priority that was set. Outcome: False if a user holds it."""

    job: JobView


Decision = (
    Start | StartTogether | Plan | Reject | Tested | WakeAt | Resize | Reconfigure | Solve | Suspend | Resume | Requeue
    | Migrate | Cancel | SetLimit | SetPriority | SetNice | Hold | Release
)  # fmt: skip
Outcome = bool | None
Decisions = Generator[Decision, Outcome, None]  # what is sent back is the outcome
