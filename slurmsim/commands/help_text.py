"""The long help of squeue and sinfo, in our own words, and the lists of what a format may ask for.

The options come from the tables the commands are read with, so that none is forgotten; the lists are in the order of
the releases that have them (24.11, 26.05).
"""

from __future__ import annotations

from collections.abc import Iterable

from slurmsim import releases

_SQUEUE = {
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
_SINFO = {
    "a": "hidden partitions too", "d": "nodes that do not answer", "e": "only equal nodes on one line",
    "federation": "accepted; there is one cluster", "F": "nodes of the future too", "help": "this text",
    "helpformat": "letters that -o takes", "helpFormat": "names that -O takes", "helpstate": "states that -t takes",
    "hide": "no hidden partitions", "i": "again every SECONDS", "local": "accepted; there is one cluster",
    "l": "more columns", "M": "the cluster by its name", "n": "these nodes", "noconvert": "sizes as they were given",
    "h": "no heading", "N": "a line for each node", "o": "columns by letter, %[.][WIDTH]LETTER[TEXT]...",
    "O": "columns by name, NAME[:[.]WIDTH[TEXT]],...", "p": "these partitions", "r": "nodes that answer",
    "R": "why nodes are down or drained", "s": "a line for each partition", "S": "order, letters of -o",
    "t": "nodes in these states: , for any, & for all", "T": "reservations", "usage": "a shorter text",
    "v": "say more", "V": "the release", "json": "everything as JSON", "yaml": "everything as YAML",
}  # fmt: skip


def squeue_help(release: str) -> str:
    """What ``squeue --help`` prints."""
    from slurmsim.commands.squeue_options import ROWS

    return _help("squeue", ROWS, _SQUEUE, release)


def sinfo_help(release: str) -> str:
    """What ``sinfo --help`` prints."""
    from slurmsim.commands.sinfo_options import ROWS

    return _help("sinfo", ROWS, _SINFO, release)


def _help(command: str, rows: Iterable[tuple[str, str, str, str, str]], words: dict[str, str], release: str) -> str:
    lines = [f"Usage: {command} [OPTIONS]"]
    told: set[str] = set()
    for name, argument, key, since, until in rows:
        if key in told or since > release or (until and release >= until):
            continue
        told.add(key)
        letter = f"-{key}, " if len(key) == 1 else "    "
        value = {"no": "", "required": "=VALUE", "optional": "[=VALUE]"}[argument]
        lines.append(f"  {letter}--{name}{value}".ljust(32) + f" {words[key]}")
    return "\n".join(lines) + "\n"


# ---- what a format may ask for ----

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
ArrayJobId ArrayTaskId Cluster Container ContainerId CPUFreq cpus-per-tres JobId mem-per-tres Network Nodes NumCPUs
NumTasks Partition ResvPorts StartTime StepId StepName StepState TimeLimit TimeUsed tres-bind tres-freq tres-per-job
tres-per-socket tres-per-step tres-per-task UserId UserName
"""
_NODE_NAMES = """
AllocMem AllocNodes Available Cluster Comment Cores CPUs CPUsLoad CPUsState DefaultTime Disk Extra Features
features_act FreeMem Gres GresUsed Groups MaxCPUsPerNode Memory NodeAddr NodeAI NodeAIOT NodeHost NodeList Nodes
OverSubscribe Partition PartitionName Port PreemptMode PriorityJobFactor PriorityTier Reason Reservation Root Size
Sockets SocketCoreThread StateCompact StateComplete StateLong Threads Time TimeStamp User UserLong Version Weight
"""
_NAMES = {"job": _JOB_NAMES, "step": _STEP_NAMES, "node": _NODE_NAMES}


def names(kind: str, release: str) -> list[str]:
    """Names that -O takes for jobs, steps or nodes, spelt as Slurm's list has them."""
    rows = [(name, since, "") for name, _, since in (word.partition("@") for word in _NAMES[kind].split())]
    return releases.listed(rows, release)


def format_names(kind: str, release: str) -> str:
    """What ``--helpFormat`` prints: four names a line."""
    return _in_rows([f"{name:<20}" for name in names(kind, release)], 4)


def format_letters(kind: str, release: str) -> str:
    """What ``--helpformat`` prints: eight letters a line, in the order of the names."""
    from slurmsim.commands import job_columns, node_columns, print_fields, step_columns

    columns = {"job": job_columns, "step": step_columns, "node": node_columns}[kind].COLUMNS
    by_name = print_fields.by_name(columns, release)
    letters = [by_name[name.lower()].letter for name in names(kind, release)]
    if kind == "node":  # Slurm gives GRES_USED the letter of GRES in this list, though not in formats
        letters[names(kind, release).index("GresUsed")] = "G"
    return _in_rows([f"%{letter}    " for letter in letters if letter], 8)


def _in_rows(cells: list[str], per_row: int) -> str:
    return "".join("".join(cells[at : at + per_row]) + "\n" for at in range(0, len(cells), per_row))
