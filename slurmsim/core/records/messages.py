"""Facts the controller is told and actions it answers with. The order of facts at one instant is fixed here.

Constructors of what every job has are written out: a dataclass's own is Python in the compiled build, too.
"""

from __future__ import annotations

from typing import Final

from slurmsim.bitmap import Bitmap
from slurmsim.core.records.job import Job
from slurmsim.data_classes import dataclass
from slurmsim.model.accounting import Accounting
from slurmsim.model.node import Gres
from slurmsim.model.partition import PartitionSpec
from slurmsim.model.reservation import ReservationSpec
from slurmsim.model.submission import Submission


@dataclass(slots=True)
class OfNodes:
    """A fact or an action about nodes, by name."""

    nodes: tuple[str, ...]


@dataclass(slots=True)
class OfJob:
    """A fact or an action about a job."""

    job_id: int


@dataclass(slots=True, init=False)
class JobEnded:
    """A job's processes are gone. `state` is COMPLETED, FAILED, OUT_OF_MEMORY or NODE_FAIL; `exit_code` code:signal."""

    job_id: int
    state: str
    exit_code: str
    restarts: int

    def __init__(self, job_id: int, state: str, exit_code: str, restarts: int) -> None:
        self.job_id, self.state, self.exit_code, self.restarts = job_id, state, exit_code, restarts


@dataclass(slots=True)
class ProcessesGone(OfJob):
    """The last process of a run that was told to end is gone: its nodes need not wait for it any more.

    `nodes`: it is gone from these alone; None: from all.
    """

    restarts: int
    nodes: Bitmap | None = None


@dataclass(slots=True)
class NodesDown(OfNodes):
    """Nodes stop answering or are set DOWN: their jobs end or are requeued. `nodes` by name.

    `alone`: they are nothing else any more, neither drained nor failing.
    """

    reason: str = "Not responding"
    alone: bool = False


@dataclass(slots=True)
class NodesDrain(OfNodes):
    """Nodes take no new jobs; running ones finish."""

    reason: str = ""


@dataclass(slots=True)
class NodesFail(OfNodes):
    """State=FAIL: expected to fail; no new jobs, running ones finish. Only a resume clears it."""

    reason: str = ""


@dataclass(slots=True)
class NodesResume(OfNodes):
    """Nodes are usable again (clears DOWN, DRAIN and FAIL). `registers`: once their slurmd has told about them."""

    registers: bool = False


@dataclass(slots=True)
class NodesUndrain(OfNodes):
    """State=UNDRAIN: clears DRAIN alone. `registers` as in `NodesResume`."""

    registers: bool = False


@dataclass(slots=True)
class NodesMute(OfNodes):
    """State=NORESP: taken for silent until slurmctld asks them the next time whether they are there."""


@dataclass(slots=True)
class NodesRegister(OfNodes):
    """Nodes answer again by themselves; ReturnToService says whether that brings them back."""


@dataclass(slots=True)
class NodesReboot(OfNodes):
    """scontrol reboot: when no job is on them; with `asap` they take no new jobs until then.

    `forced` ends their jobs.
    """

    asap: bool = False
    reason: str = ""
    forced: bool = False


@dataclass(slots=True)
class NodesRebootCancel(OfNodes):
    """scontrol cancel_reboot: of nodes that wait for it; what ASAP drained is undrained."""


@dataclass(slots=True)
class NodesBooted(OfNodes):
    """The answer to `Boot`: the nodes are up."""


@dataclass(slots=True)
class NodesPower(OfNodes):
    """State=POWER_UP or POWER_DOWN (when idle); without power saving nothing happens.

    `forced`: POWER_DOWN_FORCE, which does not wait for the jobs.
    """

    up: bool
    forced: bool = False


@dataclass(slots=True)
class LaunchFailed(OfJob):
    """slurmd could not launch the job; it is requeued."""

    restarts: int


@dataclass(slots=True)
class StartAtOnce(OfJob):
    """An interactive job (srun, salloc) was submitted: it may start before any pass."""


@dataclass(slots=True)
class Cancel(OfJob):
    """scancel of a pending or running job."""


@dataclass(slots=True)
class Requeue(OfJob):
    """scontrol requeue of a running job."""


@dataclass(slots=True)
class RequeueHold(OfJob):
    """scontrol requeuehold of a running job, `special` with State=SpecialExit."""

    special: bool = False


@dataclass(slots=True)
class ResizeJob(OfJob):
    """scontrol update NumNodes of a running job, to fewer nodes; `nodes` names those it keeps."""

    n_nodes: int
    nodes: tuple[str, ...] = ()


@dataclass(slots=True)
class Suspend(OfJob):
    """scontrol suspend of a running job by an administrator: it gives its CPUs away and keeps its memory."""


@dataclass(slots=True)
class Resume(OfJob):
    """scontrol resume of a suspended job."""


@dataclass(slots=True)
class Hold(OfJob):
    """scontrol hold (priority 0, by the user or an administrator)."""

    admin: bool = False


@dataclass(slots=True)
class Release(OfJob):
    """scontrol release."""


@dataclass(slots=True)
class SetTimeLimit(OfJob):
    """scontrol update TimeLimit: `time_limit_s` seconds."""

    time_limit_s: int


@dataclass(slots=True)
class SetArrayLimit:
    """scontrol update ArrayTaskThrottle: so many tasks of the array at a time, None for any number."""

    array_job_id: int
    limit: int | None


@dataclass(slots=True)
class SetDependency(OfJob):
    """scontrol update Dependency of a pending job; "" for none."""

    dependency: str


@dataclass(slots=True)
class SetPriority(OfJob):
    """scontrol update Priority.

    A job keeps the priority an administrator sets, and 0 holds it. The priority a user lowers it to (not `lasts`) goes
    as soon as priorities are computed.
    """

    priority: int
    lasts: bool = True


@dataclass(slots=True)
class SetNice(OfJob):
    """scontrol update Nice."""

    nice: int


@dataclass(slots=True)
class SetSiteFactor(OfJob):
    """scontrol update SiteFactor."""

    factor: int


@dataclass(slots=True)
class RankAnew(OfJob):
    """The end of any scontrol update of a job.

    The job's priority is computed anew, and the loop is asked for a pass unless the update was `refused`.
    """

    refused: bool = False


@dataclass(slots=True)
class AlterJob(OfJob):
    """scontrol update of the request of a pending job: `sub` takes the place of its submission.

    A running job gets the licenses of `sub`, nothing else.
    """

    sub: Submission


@dataclass(slots=True)
class AlterNodes(OfNodes):
    """scontrol update of nodes' Weight, Features or Gres; None leaves a thing as it is.

    Features that are `active` are those jobs are given nodes by; all of `features`, where only these are given.
    """

    weight: int | None = None
    features: tuple[str, ...] | None = None
    gres: tuple[Gres, ...] | None = None
    active: tuple[str, ...] | None = None


@dataclass(slots=True)
class AlterPartition:
    """scontrol update or create partition: `spec` is what it is from now on."""

    spec: PartitionSpec


@dataclass(slots=True)
class ReplaceAccounting:
    """sacctmgr: these are the associations and QOS from now on. Every partition's QOS is among them."""

    accounting: Accounting


@dataclass(slots=True)
class DeletePartition:
    """scontrol delete partition; its jobs have been looked for."""

    name: str


@dataclass(slots=True)
class SetPartitionState:
    """scontrol update PartitionName State: UP, DOWN, DRAIN or INACTIVE."""

    partition: str
    state: str


@dataclass(slots=True)
class Maintain(OfNodes):
    """scontrol create reservation with the flags MAINT and IGNORE_JOBS: `nodes` are closed over [start, end)."""

    start: int
    end: int
    reason: str = ""
    name: str = ""


@dataclass(slots=True)
class CreateReservation:
    """scontrol create reservation; `restored`: it was there when slurmctld started, so it may have begun."""

    spec: ReservationSpec
    restored: bool = False


@dataclass(slots=True)
class UpdateReservation:
    """scontrol update reservation; None (or nothing) leaves a thing as it is. Times are absolute seconds."""

    name: str
    start: int | None = None
    end: int | None = None
    duration_s: int | None = None
    nodes: tuple[str, ...] = ()
    node_count: int | None = None
    users: tuple[str, ...] | None = None
    accounts: tuple[str, ...] | None = None
    licenses: tuple[tuple[str, int], ...] | None = None
    set_flags: frozenset[str] = frozenset()
    clear_flags: frozenset[str] = frozenset()
    partition: str | None = None  # "": none
    qos: tuple[str, ...] | None = None
    allowed_partitions: tuple[str, ...] | None = None
    skip: bool = False  # a recurring one goes on to its next period
    purge_comp_s: int | None = None


@dataclass(slots=True)
class DeleteReservation:
    """scontrol delete reservation."""

    name: str


@dataclass(slots=True, init=False)
class Submit:
    """sbatch, or with `again` the requeue of a job that has ended.

    No limit refuses such a requeue (_job_requeue_op), and the job keeps the priority it `had`, if any.
    """

    sub: Submission
    again: bool = False
    had: int = 0

    def __init__(self, sub: Submission, again: bool = False, had: int = 0) -> None:
        self.sub, self.again, self.had = sub, again, had


@dataclass(slots=True)
class Solved:
    """The answer to `AskSolver`, JSON text; "null" if the solver failed. An answer to an old request is ignored."""

    number: int
    answer: str


_TOLD: Final = (
    (JobEnded, ProcessesGone, NodesDown, LaunchFailed),
    (
        NodesDrain, NodesFail, NodesResume, NodesUndrain, NodesMute, NodesRegister, NodesReboot, NodesRebootCancel,
        NodesBooted, NodesPower,
    ),
    (
        Cancel, Requeue, RequeueHold, ResizeJob, Suspend, Resume, Hold, Release, SetTimeLimit, SetArrayLimit,
        SetDependency, SetPriority, SetNice, SetSiteFactor, RankAnew, AlterJob, AlterNodes, AlterPartition,
        ReplaceAccounting, DeletePartition, SetPartitionState, Maintain, CreateReservation, UpdateReservation,
        DeleteReservation,
    ),
    (Submit,),
    (StartAtOnce,),
    (Solved,),
)  # fmt: skip
ORDER: Final[dict[type, int]] = {kind: at for at, kinds in enumerate(_TOLD) for kind in kinds}
"""The place of each kind of fact among those of one instant."""

Fact = (
    JobEnded | ProcessesGone | NodesDown | NodesDrain | NodesResume | Cancel | Requeue | Hold | Release | SetTimeLimit
    | SetPartitionState | Maintain | Submit | NodesFail | NodesUndrain | NodesRegister | NodesReboot | NodesBooted
    | NodesPower | LaunchFailed | RequeueHold | ResizeJob | CreateReservation | UpdateReservation | DeleteReservation
    | Suspend | Resume | SetArrayLimit | SetDependency | SetPriority | SetNice | RankAnew | StartAtOnce | AlterJob
    | AlterNodes | AlterPartition | DeletePartition | NodesRebootCancel | NodesMute | ReplaceAccounting
    | Solved | SetSiteFactor
)  # fmt: skip


@dataclass(slots=True, init=False)
class Launch:
    """Start the job's processes on its allocation (``job.alloc``)."""

    job: Job

    def __init__(self, job: Job) -> None:
        self.job = job


@dataclass(slots=True, init=False)
class Kill:
    """Take the job's processes away; the controller has already given back its nodes."""

    job: Job

    def __init__(self, job: Job) -> None:
        self.job = job


@dataclass(slots=True)
class Pause:
    """Stop the job's processes where they are; its run time stands still until `Continue` (or a `Kill`)."""

    job: Job


@dataclass(slots=True)
class Continue:
    """Let the paused job's processes go on."""

    job: Job


@dataclass(slots=True, init=False)
class Finished:
    """The job reached its final state; nothing more will be said of it."""

    job: Job

    def __init__(self, job: Job) -> None:
        self.job = job


@dataclass(slots=True)
class Requeued:
    """The job lost its nodes and is pending again.

    `run` is a copy of its record at the end of that run, with the state Slurm's accounting gives it: REQUEUED,
    NODE_FAIL or PREEMPTED.
    """

    run: Job


@dataclass(slots=True)
class Resized:
    """The job has other nodes from now on. `run` is a copy of its record with those it had until now."""

    run: Job
    job: Job


@dataclass(slots=True)
class Reshaped:
    """The job's nodes or its cap are others from now on: it ends when its shape says (`core.records.shape`)."""

    job: Job


@dataclass(slots=True)
class Boot(OfNodes):
    """Start these nodes, off or to be rebooted; say `NodesBooted` when they are up."""


@dataclass(slots=True)
class PowerDown(OfNodes):
    """Switch these nodes off: SuspendProgram does it where it runs."""


@dataclass(slots=True)
class BootFailed(OfNodes):
    """These nodes did not come up within ResumeTimeout: ResumeFailProgram is told where it runs."""


@dataclass(slots=True)
class Refused:
    """The submission was refused with Slurm's text; it never became a job."""

    sub: Submission
    text: str


@dataclass(slots=True)
class EditRefused(OfJob):
    """A job was not changed; Slurm's text."""

    text: str


@dataclass(slots=True)
class ReservationRefused:
    """A reservation was not created, changed or deleted; Slurm's text."""

    name: str
    text: str


@dataclass(slots=True)
class AskSolver:
    """Have `solver` (``package.module:function``) called with `request`, JSON text; the answer is `Solved`."""

    number: int
    solver: str
    request: str


@dataclass(slots=True)
class Decided(OfJob):
    """A policy changed a job: its limit, priority, nice value, hold, grace time or nodes. For who keeps a journal."""

    restarts: int
    kind: str
    value: int | str


Action = (
    Launch | Kill | Pause | Continue | Finished | Requeued | Resized | Boot | PowerDown | BootFailed | Refused
    | EditRefused | ReservationRefused | AskSolver | Reshaped | Decided
)  # fmt: skip
