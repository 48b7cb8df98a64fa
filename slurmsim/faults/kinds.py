"""The table of faults: what can go wrong, what it strikes (commands, jobs or nodes), and which settings it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from slurmsim.data_classes import dataclass, field
from slurmsim.errors import ConfigError, nearest
from slurmsim.states import JobState

COMMAND, JOB, NODES = "command", "job", "nodes"
"""What a fault happens to: calls of commands, jobs of the cluster, its nodes."""
COMMANDS = (
    "sacct", "sacctmgr", "salloc", "sattach", "sbatch", "sbcast", "scancel", "scontrol", "scrontab", "scrun", "sdiag",
    "seff", "sinfo", "sprio", "squeue", "sreport", "srun", "sshare", "sstat", "strigger", "swait",
)  # fmt: skip
"""Those that can meet a fault."""
ASK_THE_DATABASE = ("sacct", "sacctmgr", "sreport")
ANSWER = "answer"
LONGEST_S = 366 * 86400
MOST_TEXT = 1 << 20
_DISTRIBUTIONS = {"uniform": 2, "exponential": 1}
Read = Callable[[str, Any], Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing that may be said of a fault."""

    read: Read  # (its name, what was given) -> the value, plain data. Raises ConfigError.
    default: Any  # the value where nothing is said
    about: str  # for people
    needed: bool = False  # there is no default


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault."""

    of: str  # `COMMAND`, `JOB` or `NODES`
    about: str  # for people
    # its settings beside those of every fault (what it strikes, how often)
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    commands: tuple[str, ...] = ()  # the commands it can happen to; empty for all


def number(low: float, high: float) -> Read:
    """Return a reader of numbers within bounds."""

    def read(name: str, value: Any) -> float | int:
        expected = f"a number from {low:g} to {high:g}"
        try:
            found = float(value)
        except (TypeError, ValueError):
            raise ConfigError(f"bad value {value!r}", field=name, expected=expected) from None
        if isinstance(value, bool) or not low <= found <= high:
            raise ConfigError(f"bad value {value!r}", field=name, expected=expected)
        return int(found) if found == int(found) else found

    return read


def whole(low: int, high: int) -> Read:
    """Return a reader of whole numbers within bounds."""

    def read(name: str, value: Any) -> int:
        try:
            found = number(low, high)(name, value)
        except ConfigError:
            found = 0.5
        if not isinstance(found, int):
            raise ConfigError(f"bad value {value!r}", field=name, expected=f"a whole number from {low} to {high}")
        return found

    return read


def text(name: str, value: Any) -> str:
    """Read a text."""
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        raise ConfigError("no text" if not isinstance(value, str) else "too long a text", field=name, expected="a text")
    return value


def yes_no(name: str, value: Any) -> bool:
    """Read ``yes``, ``no``, true or false."""
    if isinstance(value, bool):
        return value
    if value not in ("yes", "no"):
        raise ConfigError(f"bad value {value!r}", field=name, expected="yes or no")
    return bool(value == "yes")


def one_of(*words: str) -> Read:
    """Return a reader of one of some words."""

    def read(name: str, value: Any) -> str:
        if value not in words:
            raise ConfigError(f"bad value {value!r}", field=name, expected=" or ".join(words))
        return str(value)

    return read


def delay(name: str, value: Any) -> list[Any]:
    """Read seconds or their distribution: ``["fixed", s]``, ``["uniform", low, high]``, ``["exponential", mean]``.

    >>> delay("seconds", 2), delay("seconds", "uniform:1:3"), delay("seconds", "exponential:0.5")
    (['fixed', 2], ['uniform', 1, 3], ['exponential', 0.5])
    """
    word, *numbers = str(value).split(":")
    seconds = number(0, LONGEST_S)
    if word not in _DISTRIBUTIONS:
        word, numbers = "fixed", [value]
    elif len(numbers) != _DISTRIBUTIONS[word]:
        numbers = ["no number"]
    try:
        found = [seconds(name, one) for one in numbers]
    except ConfigError:
        found = []
    if not found or sorted(found) != found:
        expected = "seconds, uniform:LOW:HIGH or exponential:MEAN"
        raise ConfigError(f"bad value {value!r}", field=name, expected=expected)
    return [word, *found]


def drawn(distribution: list[Any], chance: float) -> float:
    """Seconds of a distribution that `delay` read, at the quantile `chance` in [0, 1)."""
    word, *numbers = distribution
    if word == "uniform":
        return float(numbers[0] + chance * (numbers[1] - numbers[0]))
    if word == "exponential":
        return float(-numbers[0] * math.log1p(-chance))
    return float(numbers[0])


_SAYS_AFTER = Parameter(delay, ["fixed", 0], "real seconds until the command says so")
_SUBMITTERS = ("sbatch", "srun", "salloc")
_LATE = Parameter(number(0, LONGEST_S), None, "how far behind, seconds of the cluster's clock", needed=True)


def _ending(about: str, **more: Parameter) -> Kind:
    since = "submission" if "deadline" in about else "its start"
    when = Parameter(whole(1, LONGEST_S), 1, f"how long after {since}, seconds of the cluster's clock")
    return Kind(JOB, about, {"seconds": when, **more})


OUTCOMES = {
    JobState.OUT_OF_MEMORY: _ending("the job is killed for its memory"),
    JobState.NODE_FAIL: _ending(
        "the first node of the job stops responding: all jobs on it are requeued, or end in state NODE_FAIL",
        down=Parameter(whole(1, LONGEST_S), 60, "how long the node is down, seconds of the cluster's clock"),
    ),
    JobState.PREEMPTED: _ending(
        "the job has to go for another one: it ends, or waits again",
        requeue=Parameter(yes_no, False, "yes: it waits again, if it may be requeued"),
    ),
    JobState.TIMEOUT: _ending("the job ends as one over its time limit"),
    JobState.BOOT_FAIL: _ending("the nodes of the job do not boot"),
    JobState.DEADLINE: _ending("the job misses its deadline"),
    "LAUNCH_FAILED": _ending("the job cannot be launched, and waits as 'launch failed requeued held'"),
}
"""What may become of a job, by the word that asks for it."""
_NODES = Parameter(text, None, "the nodes, a list like n[1-3]", needed=True)
KINDS: dict[str, Kind] = {
    "unreachable": Kind(COMMAND, "'Unable to contact slurm controller (connect failure)'", {"seconds": _SAYS_AFTER}),
    "away": Kind(
        COMMAND, "slurmctld is away: commands that ask it say so; those that ask the database do not notice",
        {"seconds": _SAYS_AFTER}, tuple(name for name in COMMANDS if name not in ASK_THE_DATABASE),
    ),
    "timeout": Kind(
        COMMAND, "'Socket timed out on send/recv operation'",
        {
            "lost": Parameter(one_of("request", "answer"), "request",
                              "answer: what was asked for is done, and only the answer is lost"),
            "seconds": _SAYS_AFTER,
        },
    ),
    "busy": Kind(
        COMMAND, "'Slurm temporarily unable to accept job, sleeping and retrying'",
        {"tries": Parameter(whole(1, 100), 1, "how many tries of the submission; sbatch gives up after 16")},
        _SUBMITTERS,
    ),
    "disk-full": Kind(
        COMMAND, "'I/O error writing script/environment to file': slurmctld's disk is full", {}, _SUBMITTERS
    ),
    "slow": Kind(COMMAND, "the command takes longer", {
        "seconds": Parameter(delay, None, "real seconds: a number, uniform:LOW:HIGH or exponential:MEAN", needed=True)
    }),
    "late": Kind(
        COMMAND, "answers are behind: squeue does not show young jobs yet, accounting tells of a while ago",
        {"seconds": _LATE}, ("squeue", "scontrol", "sacct"),
    ),
    "cut": Kind(COMMAND, "the output ends before its end", {
        "keep": Parameter(number(0, 1), 0.5, "which share of its characters is there")
    }),
    "malformed": Kind(COMMAND, "a line of something else lies in the middle of the output", {
        "text": Parameter(text, "slurmstepd: error: *** interrupted ***", "that line")
    }),
    "warning": Kind(COMMAND, "a line stands before the output", {
        "text": Parameter(text, "WARNING: maintenance begins soon", "that line"),
        "stream": Parameter(one_of("stdout", "stderr"), "stdout", "where it stands"),
    }),
    "clock-jump": Kind(
        COMMAND, "times since the injection are shown later, or earlier: the order of events stays",
        {"seconds": Parameter(whole(-LONGEST_S, LONGEST_S), None, "by how much", needed=True)},
        ("squeue", "scontrol", "sacct"),
    ),
    ANSWER: Kind(COMMAND, "the command only prints what is written here", {
        "stdout": Parameter(text, "", "what it prints"),
        "stderr": Parameter(text, "", "what it complains about"),
        "rc": Parameter(whole(0, 255), 0, "its exit code"),
    }),
    **OUTCOMES,
    "flap": Kind(NODES, "nodes go down and come back, again and again", {
        "nodes": _NODES,
        "up": Parameter(whole(1, LONGEST_S), 600, "seconds of the cluster's clock they are up"),
        "down": Parameter(whole(1, LONGEST_S), 60, "seconds of the cluster's clock they are down"),
    }),
    "drain": Kind(NODES, "nodes take no more jobs", {
        "nodes": _NODES, "reason": Parameter(text, "Kill task failed", "what sinfo -R says"),
    }),
    "no-boot": Kind(NODES, "nodes that boot do not come up, as when a cloud has none left", {"nodes": _NODES}),
    "slow-boot": Kind(NODES, "nodes take longer to boot", {
        "nodes": _NODES, "seconds": Parameter(whole(1, LONGEST_S), None, "by how much", needed=True),
    }),
}  # fmt: skip
"""All of them, by name."""


def kind_of(name: str) -> tuple[str, Kind]:
    """Return a kind by its name, states in any writing (``out-of-memory``). Raises ConfigError."""
    for found in (name, name.upper().replace("-", "_")):
        if found in KINDS:
            return found, KINDS[found]
    raise ConfigError(f"no such fault: {name!r}{nearest(name, KINDS)}", field="what", expected=", ".join(KINDS))


def check_commands(kind: Kind, name: str, wanted: Iterable[str]) -> None:
    """Raise ConfigError for a command that this fault cannot happen to."""
    for command in wanted:
        if kind.commands and command not in kind.commands:
            expected = " or ".join(kind.commands)
            raise ConfigError(f"{name} cannot happen to {command}", field="command", expected=expected)
