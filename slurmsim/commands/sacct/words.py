"""sacct's options by name, and what a command line comes to."""

from __future__ import annotations

from slurmsim.commands.text.dashed_table import Style
from slurmsim.commands.text.option_reader import NO, OPTIONAL, REQUIRED, LongOption
from slurmsim.fast_imports import dataclass, field, pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.sacct.fields import Field


_O = LongOption
OPTIONS: tuple[tuple[LongOption, str], ...] = (
    (_O("allusers", NO, "a"), ""), (_O("accounts", REQUIRED, "A"), ""), (_O("allocations", NO, "X"), ""),
    (_O("brief", NO, "b"), ""), (_O("batch-script", NO, "B"), ""), (_O("completion", NO, "c"), ""),
    (_O("constraints", REQUIRED, "C"), ""), (_O("delimiter", REQUIRED, "delimiter"), ""),
    (_O("duplicates", NO, "D"), ""), (_O("federation", NO, "federation"), ""), (_O("helpformat", NO, "e"), ""),
    (_O("help-fields", NO, "e"), ""), (_O("endtime", REQUIRED, "E"), ""), (_O("env-vars", NO, "env-vars"), ""),
    (_O("file", REQUIRED, "f"), ""), (_O("flags", REQUIRED, "F"), ""), (_O("gid", REQUIRED, "g"), ""),
    (_O("group", REQUIRED, "g"), ""), (_O("help", NO, "h"), ""), (_O("local", NO, "local"), ""),
    (_O("name", REQUIRED, "name"), ""), (_O("nnodes", REQUIRED, "i"), ""), (_O("ncpus", REQUIRED, "I"), ""),
    (_O("jobs", REQUIRED, "j"), ""), (_O("timelimit-min", REQUIRED, "k"), ""),
    (_O("timelimit-max", REQUIRED, "K"), ""), (_O("long", NO, "l"), ""), (_O("allclusters", NO, "L"), ""),
    (_O("cluster", REQUIRED, "M"), ""), (_O("clusters", REQUIRED, "M"), ""), (_O("nodelist", REQUIRED, "N"), ""),
    (_O("noconvert", NO, "noconvert"), ""), (_O("units", REQUIRED, "units"), ""), (_O("noheader", NO, "n"), ""),
    (_O("fields", REQUIRED, "o"), ""), (_O("format", REQUIRED, "o"), ""), (_O("parsable", NO, "p"), ""),
    (_O("parsable2", NO, "P"), ""), (_O("qos", REQUIRED, "q"), ""), (_O("partition", REQUIRED, "r"), ""),
    (_O("reason", REQUIRED, "R"), ""), (_O("state", REQUIRED, "s"), ""), (_O("starttime", REQUIRED, "S"), ""),
    (_O("truncate", NO, "T"), ""), (_O("uid", REQUIRED, "u"), ""), (_O("use-local-uid", NO, "use-local-uid"), ""),
    (_O("usage", NO, "U"), ""), (_O("user", REQUIRED, "u"), ""), (_O("verbose", NO, "v"), ""),
    (_O("version", NO, "V"), ""), (_O("wckeys", REQUIRED, "W"), ""), (_O("whole-hetjob", OPTIONAL, "whole"), ""),
    (_O("associations", REQUIRED, "x"), ""), (_O(None, NO, "t"), ""),
    (_O("array", NO, "array"), "23.02"), (_O("helpreason", NO, "helpreason"), "24.05"),
    (_O("helpstate", NO, "helpstate"), "24.05"), (_O("expand-patterns", NO, "expand"), "24.05"),
)  # fmt: skip
ACCOUNTED = frozenset(
    [
        "PENDING",
        "RUNNING",
        "SUSPENDED",
        "COMPLETED",
        "CANCELLED",
        "FAILED",
        "TIMEOUT",
        "NODE_FAIL",
        "PREEMPTED",
        "BOOT_FAIL",
        "DEADLINE",
        "OUT_OF_MEMORY",
        "REQUEUED",
        "RESIZING",
        "REVOKED",
    ]
)
STEPS = {"batch": -5, "extern": -4, "interactive": -6}
JOBCOMP = "Slurm job completion is disabled"
Step = tuple[int, int | None, int | None]  # job, task, step


@dataclass
class Asked:
    """What the command line says."""

    release: str
    cond: dict[str, Any] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    columns: list[tuple[Field, int]] = field(default_factory=list)
    style: Style = field(default_factory=Style)
    help: str = ""
    dump: str = ""
    parser: str | None = None
    script: bool = False
    env: bool = False
    no_steps: bool = False
    truncate: bool = False
    convert: bool = True
    unit: str = ""
    expand: bool = False
    array: bool = False
    now: int = 0
    log: str = ""  # of ended jobs, which is read instead of the database


_REASONS = frozenset(
    """
    None Prolog Priority Dependency Resources PartitionNodeLimit PartitionTimeLimit PartitionDown PartitionInactive
    JobHeldAdmin JobHeldUser NvidiaImexChannels BeginTime Licenses Reservation ReqNodeNotAvail SchedDefer
    PartitionDown NodeDown BadConstraints SystemFailure JobLaunchFailure NonZeroExitCode RaisedSignal TimeLimit
    InactiveLimit InvalidAccount InvalidQOS Cleaning AccountNotAllowed DependencyNeverSatisfied JobHoldMaxRequeue
    JobArrayTaskLimit BurstBufferResources BurstBufferStageIn BurstBufferOperation DeadLine PartitionConfig
    AccountingPolicy FedJobLock OutOfMemory ReservationDeleted ReservationInvalid Constraints MpiPortsBusy
    """.lower().split()
)  # fmt: skip
_LIMITS = pattern(r"(assoc|qos|max)\w+")


def known_reason(word: str) -> bool:
    """Whether --reason takes a word: the name of a reason, in any case (job_state_reason_num); limits by their pattern.

    >>> known_reason("priority"), known_reason("QOSGrpCpuLimit"), known_reason("1")
    (True, True, False)
    """
    return word.lower() in _REASONS or _LIMITS.fullmatch(word.lower()) is not None
