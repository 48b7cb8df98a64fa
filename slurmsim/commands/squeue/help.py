"""The long help of squeue, in our own words, and the lists of what its formats may ask for."""

from slurmsim.commands.squeue import columns, step_columns
from slurmsim.commands.text import help_text
from slurmsim.commands.text.option_reader import Rows
from slurmsim.commands.text.print_fields import by_name
from slurmsim.records.job import CARRIED

_WORDS = {
    "A": "jobs of these accounts", "a": "hidden partitions too", "r": "every task of an array on a line of its own",
    "array-unique": "pending tasks with a reason of their own on a line of their own",
    "expand-patterns": "fill in the patterns of file names", "O": "columns by name, NAME[:[.]WIDTH[TEXT]],...",
    "o": "columns by letter, %[.][WIDTH]LETTER[TEXT]...", "federation": "accepted; there is one cluster",
    "help": "this text", "helpstate": "states that -t takes", "helpformat": "letters that -o takes",
    "helpFormat": "names that -O takes", "hide": "no hidden partitions", "i": "again every SECONDS",
    "j": "these jobs, arrays or tasks", "local": "accepted; there is one cluster", "l": "more columns",
    "L": "jobs with these licenses", "M": "the cluster by its name", "me": "one's own jobs",
    "n": "jobs of these names", "noconvert": "sizes as they were given", "w": "jobs on these nodes",
    "h": "no heading", "notme": "other people's jobs", "only-job-state": "ids and states only",
    "p": "jobs of these partitions", "P": "a line for each partition a job may run in", "q": "jobs of these QOS",
    "R": "jobs of this reservation", "sibling": "accepted; there is one cluster", "S": "order, letters of -o",
    "start": "when pending jobs are expected to start", "s": "steps instead of jobs",
    "t": "jobs in these states, or all", "usage": "a shorter text", "u": "jobs of these users",
    "v": "say more", "V": "the release", "json": "everything as JSON", "yaml": "everything as YAML",
}  # fmt: skip

# names that -O takes, in the order of the releases that have a list (24.11, 26.05)
_JOB_NAMES = """
Account AccrueTime admin_comment AllocNodes AllocSID ArrayJobId ArrayTaskId AssocId BatchFlag BatchHost BoardsPerNode
BurstBuffer BurstBufferState Cluster ClusterFeature Command Comment Container ContainerId ContainerType@26.05 Contiguous
Cores CoreSpec CPUsPerTask cpus-per-task cpus-per-tres CronJob@26.05 Deadline DelayBoot Dependency DerivedEC
EligibleTime EndTime ExcNodes Exclusive@26.05 exit_code Feature GroupId GroupName HetJobId HetJobIdSet HetJobOffset
JobArrayId JobId LastSchedEval Licenses LicensesAlloc@26.05 MaxCPUs MaxNodes mem-per-tres MCSLabel MinCPUs MinMemory
MinTime MinTmpDisk Name Network Nice NodeList NTPerCore NTPerNode NTPerSocket NTPerBoard NumCPUs NumNodes NumTasks
Origin OriginRaw OverSubscribe Partition PendingTime PreemptTime Prefer Priority PriorityLong Profile QOS Reason
ReasonList Reboot ReqNodes ReqSwitch Requeue Reservation ResizeTime RestartCnt SchedNodes SCT SegmentSize@26.05
SiblingsActive SiblingsActiveRaw SiblingsViable SiblingsViableRaw SLUID@26.05 Sockets SPerBoard StartTime State
StateCompact StdErr StdIn StdOut SubmitTime system_comment Threads TimeLeft TimeLimit TimeUsed tres-alloc tres-bind
tres-freq tres-per-job tres-per-socket tres-per-task UserId UserName Wait4Switch WCKey WorkDir
"""
_STEP_NAMES = """
ArrayJobId ArrayTaskId Cluster Container ContainerId ContainerType@26.05 CPUFreq cpus-per-tres JobId mem-per-tres
Network Nodes NumCPUs NumTasks Partition ResvPorts StartTime StdErr@25.05 StdIn@25.05 StdOut@25.05 StepId StepName
StepState TimeLimit TimeUsed tres-bind tres-freq tres-per-job tres-per-socket tres-per-step tres-per-task UserId
UserName
"""


def long_help(rows: Rows, release: str) -> str:
    """Return what ``--help`` prints: the options the command is read with, so that none is forgotten."""
    return help_text.option_help("squeue", rows, _WORDS, release)


def names(*, steps: bool, release: str) -> list[str]:
    """Names that -O takes for jobs or steps, spelt as Slurm's list has them."""
    if steps:
        return help_text.names(_STEP_NAMES, release)
    listed = help_text.names(_JOB_NAMES, release)
    return listed + [row.column.name for row in CARRIED if row.column and row.column.name not in listed]


def format_names(*, steps: bool, release: str) -> str:
    """Return what ``--helpFormat`` prints."""
    return help_text.name_table(names(steps=steps, release=release))


def format_letters(*, steps: bool, release: str) -> str:
    """Return what ``--helpformat`` prints: the letters, in the order of the names."""
    known = by_name((step_columns if steps else columns).COLUMNS, release)
    return help_text.letter_table([known[name.lower()].letter for name in names(steps=steps, release=release)])
