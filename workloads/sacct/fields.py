"""The fields of ``sacct``: which ones are read, and what one value of each means.

Each function takes one text and returns its value or raises ValueError with what was expected; the caller adds
file, line and field. Mirrors the printing rules of sacct 17.11 to 26.05.
"""

from __future__ import annotations

import re

from slurmsim.data_classes import dataclass
from slurmsim.duration import parse_duration
from slurmsim.numerals import is_number
from slurmsim.tres import parse_memory, parse_tres

USED = (
    "JobID", "JobIDRaw", "Submit", "Eligible", "Start", "End", "Suspended", "Elapsed", "ElapsedRaw", "Timelimit",
    "TimelimitRaw", "State", "ExitCode", "NNodes", "AllocNodes", "NCPUS", "AllocCPUS", "ReqCPUS", "ReqNodes", "ReqTRES",
    "AllocTRES", "ReqMem", "ReqGRES", "Partition", "QOS", "Account", "User", "UID", "Restarts", "Reservation",
    "Licenses", "NodeList", "Constraints", "Dependency", "Exclusive", "OverSubscribe", "JobName", "SubmitLine",
)  # fmt: skip
# Known, and of no use to a replay: not read, never refused.
UNUSED = (
    "AdminComment", "AssocID", "AveCPU", "AveCPUFreq", "AveDiskRead", "AveDiskWrite", "AvePages", "AveRSS", "AveVMSize",
    "BlockID", "Cluster", "Comment", "ConsumedEnergy", "ConsumedEnergyRaw", "Container", "CPUTime", "CPUTimeRAW",
    "DBIndex", "DerivedExitCode", "Extra", "FailedNode", "Flags", "GID", "Group", "Layout", "MaxRSS", "McsLabel",
    "NTasks", "Planned", "PlannedCPU", "Priority", "QOSRAW", "QOSREQ", "Reason", "Reserved", "SLUID", "StdErr", "StdIn",
    "StdOut", "SystemComment", "SystemCPU", "TotalCPU", "UserCPU", "WCKey", "WorkDir",
)  # fmt: skip
CANONICAL = {name.lower(): name for name in (*USED, *UNUSED)}
# Fields that hold whatever a user typed, a delimiter included.
FREE_TEXT = frozenset(
    {
        "JobName",
        "SubmitLine",
        "Comment",
        "AdminComment",
        "SystemComment",
        "Extra",
        "WorkDir",
        "StdErr",
        "StdIn",
        "StdOut",
    }
)

FINISHED = (
    "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY",
)  # fmt: skip
RUNNING = ("RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "RESIZING", "STAGE_OUT", "STOPPED", "SIGNALING")
WAITING = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD", "REVOKED")
STATES = FINISHED + RUNNING + WAITING

NOTHING = frozenset({"", "unknown", "none", "n/a", "(null)", "none assigned", "invalid"})
_LAST_WORDS = re.compile(r"([A-Z_]+)(\+?)( by \S+)?")
_GRES_USAGE = frozenset({"gpumem", "gpuutil"})


def parse_state(text: str) -> str:
    """Return the state's name: ``CANCELLED by 1000``, ``CANCELLED+`` (cut by sacct without -P) are CANCELLED."""
    match = _LAST_WORDS.fullmatch(text.strip())
    if match:
        if match[1] in STATES and not match[2]:
            return match[1]
        fits = [state for state in STATES if state.startswith(match[1])] if match[2] else []
        if len(fits) == 1:
            return fits[0]
    raise ValueError("a job state such as COMPLETED, CANCELLED by 1000 or PENDING")


def parse_limit(text: str) -> int:
    """Timelimit in seconds; -1 for the partition's own limit, -2 for UNLIMITED."""
    if text.lower() in NOTHING or text.lower() == "partition_limit":
        return -1
    try:
        seconds = parse_duration(text)
    except ValueError:
        raise ValueError("[D-]HH:MM:SS, UNLIMITED or Partition_Limit") from None
    return -2 if seconds is None else seconds or -1


def parse_limit_raw(text: str) -> int:
    """TimelimitRaw, in minutes, as seconds; -1 and -2 as `parse_limit`."""
    if is_number(text):
        return int(text) * 60 or -1
    if text.lower() in NOTHING or text.lower() in ("partition_limit", "unlimited"):
        return parse_limit(text)
    raise ValueError("minutes, UNLIMITED or Partition_Limit")


def parse_elapsed(text: str) -> int:
    """[D-]HH:MM:SS[.frac] in seconds; -1 when empty."""
    if text.lower() in NOTHING:
        return -1
    seconds = parse_duration(text.partition(".")[0]) if ":" in text else None
    if seconds is None:
        raise ValueError("[D-]HH:MM:SS")
    return seconds


def parse_number(text: str) -> int:
    """Return a count; -1 when empty."""
    if text.lower() in NOTHING:
        return -1
    if not is_number(text):
        raise ValueError("a whole number")
    return int(text)


def parse_exit(text: str) -> tuple[int, int]:
    """ExitCode ``code:signal``."""
    if text.lower() in NOTHING:
        return 0, 0
    match = re.fullmatch(r"(\d{1,9}):(\d{1,9})", text, re.ASCII)
    if not match:
        raise ValueError("CODE:SIGNAL such as 1:0")
    return int(match[1]), int(match[2])


# What `parse_tres_field` leaves out of a list and what is another number in each job.
TRES_CUTS = ((r",?\b(?:billing|energy)=\d{1,19}\b", ""), ("^,", ""))


@dataclass(frozen=True, slots=True)
class Tres:
    """What ReqTRES or AllocTRES says, for the whole job; -1: not said. `gres` is ((name, type, count), …)."""

    cpu: int = -1
    mem: int = -1
    node: int = -1
    gres: tuple[tuple[str, str, int], ...] = ()


def parse_tres_field(text: str) -> Tres:
    """ReqTRES or AllocTRES; kinds that are no request of resources (billing, energy, licenses, disks) are left out."""
    if text.lower() in NOTHING:
        return Tres()
    try:
        counts = parse_tres(text)
    except ValueError:
        raise ValueError("a list such as cpu=4,mem=8G,node=1,gres/gpu=2") from None
    gres: dict[str, list[tuple[str, str, int]]] = {}
    for key, count in counts.items():
        kind, _, name = key.partition("/")
        name, _, type_ = name.partition(":")
        if kind.lower() == "gres" and name and name not in _GRES_USAGE and count > 0:
            gres.setdefault(name, []).append((name, type_, count))
    # gres/gpu=2,gres/gpu:a100=2 are the same two
    kept = [item for items in gres.values() for item in ([i for i in items if i[1]] or items)]
    return Tres(counts.get("cpu", -1), counts.get("mem", -1), counts.get("node", -1), tuple(sorted(kept)))


@dataclass(frozen=True, slots=True)
class Memory:
    """ReqMem in MiB and its scope: per ``node``, per ``cpu`` or for the whole ``job``."""

    mib: int
    scope: str


_NO_MEMORY_MIB = 1 << 44  # before 24.11 sacct prints 16777216.00T where a job asked for none
_MEMORY = re.compile(r"(\d{1,18}(?:\.\d*)?[KMGTPkmgtp]?)([nc]?)", re.ASCII)


def parse_req_mem(text: str) -> Memory:
    """ReqMem: ``4Gn`` a node and ``4Gc`` a CPU up to 20.11, ``8G`` for the job since 21.08."""
    if text.lower() in NOTHING or text == "?":
        return Memory(-1, "job")
    match = _MEMORY.fullmatch(text.strip())
    if not match:
        raise ValueError("a size such as 8G, 4Gn or 2000Mc")
    mib = parse_memory(match[1])
    return Memory(mib if mib < _NO_MEMORY_MIB else -1, {"n": "node", "c": "cpu", "": "job"}[match[2]])


def parse_yes(text: str) -> int:
    """Exclusive and OverSubscribe (26.05): 1 for anything but NO, OK or nothing."""
    return int(text.upper() not in ("NO", "OK", "0") and text.lower() not in NOTHING)


_ARRAY_ITEM = re.compile(r"(\d{1,18})(?:-(\d{1,18})(?::(\d{1,18}))?)?", re.ASCII)


def parse_task_list(text: str) -> tuple[list[int], int] | None:
    """``[1-5,9%2]`` as task numbers and throttle (-1: none); None for a list sacct has cut short with ``...``."""
    inner = text.removeprefix("[").removesuffix("]")
    if "..." in inner or not text.endswith("]"):
        return None
    items, percent, limit = inner.partition("%")
    if percent and not is_number(limit):
        raise ValueError("an array such as 12_[1-5,9%2]")
    tasks: list[int] = []
    for item in items.split(","):
        match = _ARRAY_ITEM.fullmatch(item)
        if not match:
            raise ValueError("an array such as 12_[1-5,9%2]")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or step < 1 or last > 4_000_000:
            raise ValueError("an array such as 12_[1-5,9%2]")
        tasks += range(first, last + 1, step)
    return sorted(set(tasks)), int(limit) if limit and int(limit) > 0 else -1
