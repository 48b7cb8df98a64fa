"""The text of ``scontrol --help``, in our own words, for the rows of its tables."""

from __future__ import annotations

from slurmsim.releases import has

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


_WORDS = {
    "abort": "stop the daemon at once", "all": "show hidden partitions too, from now on",
    "cancel_reboot": "NODES: do not reboot them after all", "completing": "jobs with processes that are not gone yet",
    "cluster": "NAME: ask another cluster; there is one", "create": "ENTITY...: a node, partition or reservation",
    "details": "show more of jobs and nodes, from now on", "errnumstr": "NUMBER: the text of an error number",
    "exit": "end the session", "getaddrs": "NODES: their addresses", "help": "this text",
    "hide": "undo all and details", "oneliner": "one line a record, from now on",
    "pidinfo": "PID: the job of a process", "ping": "whether the daemon answers",
    "power": "UP|DOWN [ASAP|FORCE] NODES: power them", "quiet": "no messages, from now on", "quit": "end the session",
    "reboot_nodes": "[ASAP] [nextstate=RESUME|DOWN] [reason=TEXT] ALL|NODES",
    "reconfigure": "read slurm.conf again", "requeue": "[incomplete] JOBS: put them back into the queue",
    "requeuehold": "[state=SpecialExit] JOBS: the same, and hold them", "hold": "JOBS: keep them from starting",
    "uhold": "JOBS: the same, and let their users release them", "release": "JOBS: let them start again",
    "suspend": "JOBS: stop them where they are", "resume": "JOBS: let them go on",
    "top": "JOB: before the user's other jobs", "token": "[lifespan=S] [username=U]: refused, no JWT here",
    "wait_job": "JOB: until its nodes are up", "setdebugflags": "{+|-}NAME...: what the daemon's log tells of",
    "fsdampeningfactor": "NUMBER: FairShareDampeningFactor", "setdebug": "LEVEL: how much the daemon's log tells",
    "schedloglevel": "0|1: a log of the scheduler", "show": "a record, or all: see below",
    "write": "batch_script JOB [FILE|-] | config [FILE]", "takeover": "[INDEX]: let a backup take over",
    "shutdown": "[slurmctld|controller]: stop the daemon", "update": "SPECIFICATIONS: change a job, node, ...",
    "delete": "ENTITY=ID: remove a node, partition or reservation", "verbose": "say more, from now on",
    "version": "the release", "listpids": "[JOB[.STEP]] [NODE]: processes of steps on this node",
    "listjobs": "[NODE]: jobs on this node", "liststeps": "[NODE]: steps on this node",
    "getent": "[NODE]: users of steps on this node", "notify": "JOB MESSAGE: write to the job's standard error",
    "callerid": "refused, no network here",
}  # fmt: skip
_OPTIONS = {
    "a": "as the keyword all", "d": "as details", "F": "nodes of the future too", "h": "this text", "hide": "as hide",
    "M": "the cluster by its name", "o": "as oneliner", "Q": "as quiet", "u": "update jobs as this user",
    "v": "as verbose", "V": "as version", "federation": "accepted; there is one cluster",
    "local": "accepted; there is one cluster", "sibling": "accepted; there is one cluster",
}  # fmt: skip


def text(
    release: str,
    options: Iterable[tuple[str, str, str, str, str]],
    keywords: Iterable[tuple[str, int, str, str, object]],
    entities: Iterable[tuple[str, int, str, str, object]],
) -> str:
    """Return the whole text: the rows of the three tables the command is read with, those that the release has."""
    lines = ["scontrol [<OPTION>] [<COMMAND>]", "  Valid <OPTION> values are:"]
    told: set[str] = set()
    for name, argument, key, since, _ in options:
        if key in told or since > release or key not in _OPTIONS:
            continue
        told.add(key)
        letter = f"-{key}, " if len(key) == 1 else "    "
        lines.append(f"    {letter}--{name}{'=VALUE' if argument == 'required' else ''}".ljust(30) + _OPTIONS[key])
    lines.append("  Valid <COMMAND> values are: (without one they are read from standard input)")
    for name, _, since, until, _ in keywords:
        if name in _WORDS and has(release, since, until):
            synopsis = "show <ENTITY> [<ID>]" if name == "show" else name
            lines.append(f"    {synopsis}".ljust(30) + _WORDS[name])
    shown = [name.lower() for name, _, since, until, _ in entities if has(release, since, until)]
    lines.append("  Entities of show: " + ", ".join(shown))
    return "\n".join(lines) + "\n"
