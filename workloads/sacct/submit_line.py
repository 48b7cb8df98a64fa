"""What sacct's SubmitLine (21.08 and later) tells of a request that no other field of sacct does.

The line is the command's words joined by blanks, quotes lost, so reading stops at the first word that is no option
(the script or the command) and at ``--wrap``. Options inside the script's ``#SBATCH`` lines are not in it: what is
found here refines a record, what is missing means nothing. Options that other fields hold better (times, partition,
names) are passed over; so is ``--hold``, because the record shows when the hold ended, as its eligible time.
"""

import re
from collections.abc import Callable

from slurmsim.data_classes import dataclass
from slurmsim.duration import parse_time_limit
from slurmsim.numerals import is_number
from slurmsim.tres import parse_memory

# Options with a value: short letter -> long name. Those of interest are handled in `_apply`.
_SHORT_VALUE = {
    "A": "account", "a": "array", "B": "extra-node-info", "b": "begin", "C": "constraint", "c": "cpus-per-task",
    "D": "chdir", "d": "dependency", "e": "error", "F": "nodefile", "G": "gpus", "i": "input", "J": "job-name",
    "L": "licenses", "M": "clusters", "m": "distribution", "N": "nodes", "n": "ntasks", "o": "output",
    "p": "partition", "q": "qos", "S": "core-spec", "T": "threads", "t": "time", "w": "nodelist", "x": "exclude",
    "r": "relative",
}  # fmt: skip
_SHORT_FLAG = {"s": "oversubscribe"}
_LONG_VALUE = frozenset(
    {*_SHORT_VALUE.values(), "batch", "bb", "bbf", "cluster-constraint", "comment", "container", "cores-per-socket",
     "cpu-freq", "cpus-per-gpu", "deadline", "delay-boot", "export", "export-file", "gid", "gpu-bind", "gpu-freq",
     "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "hint", "licenses", "mail-type", "mail-user",
     "mcs-label", "mem", "mem-bind", "mem-per-cpu", "mem-per-gpu", "mincpus", "network", "ntasks-per-core",
     "ntasks-per-gpu", "ntasks-per-node", "ntasks-per-socket", "open-mode", "prefer", "priority", "profile",
     "reservation", "segment", "signal", "gres-flags", "kill-on-invalid-dep", "extra", "sockets-per-node",
     "switches", "thread-spec", "threads-per-core", "time-min", "tmp", "tres-bind",
     "tres-per-task", "uid", "wckey", "mpi", "cpu-bind", "jobid"}
)  # fmt: skip
# What would change a schedule and slurmsim does not model: named in the quality report. Others are passed over because
# another field holds what they ask for, or because they do not matter to a schedule.
NOT_MODELLED = frozenset(
    {"batch", "bb", "bbf", "cluster-constraint", "cores-per-socket", "cpus-per-gpu", "delay-boot", "extra",
     "extra-node-info", "gres-flags", "hint", "mcs-label", "nodefile", "ntasks-per-gpu", "prefer",
     "segment", "tmp"}
)  # fmt: skip
# What `parse_submit_line` never looks at, and what takes its place: all behind the command and what can be its options
# with their values; then options with values that differ from job to job, where no option before them can take them
# as its value.
_VARIED = (
    r"(?:-[JoeiD] *[^-\s]\S*"
    r"|--(?:job-name|output|error|input|chdir|comment|export|mail-user)(?:=\S*| +[^-\s]\S*))"
)
_COMPLETE = r"^\S+| [^-\s]\S*| --[a-z-]+=\S*| --(?:exclusive|requeue|no-requeue|contiguous|hold|parsable)"
CUTS = (
    (r"(?s)^(\S+(?: +-\S*(?: +[^-\s]\S*)?)*).*", r"\1"),
    (rf"({_COMPLETE})(?: +{_VARIED})+", r"\1"),
)
_NODES = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?", re.ASCII)
_SWITCHES = re.compile(r"[1-9]\d{0,8}(@\d{1,2}(:\d{1,2}){0,2})?", re.ASCII)
_THROTTLE = re.compile(r"%(\d{1,18})$", re.ASCII)


@dataclass(slots=True)
class SubmitLine:
    """Options found; -1 or empty where the line does not say."""

    nodes: int = -1
    nodes_max: int = -1
    cpus_per_task: int = -1
    tasks_per_node: int = -1
    mem_per_node: int = -1
    mem_per_cpu: int = -1
    exclusive: int = 0
    oversubscribe: int = 0
    contiguous: int = 0
    nice: int = 0
    requeue: int = 1
    array_limit: int = -1
    time_min: int = -1
    dependency: str = ""
    node_list: str = ""
    exclude: str = ""
    options: str = ""
    ignored: tuple[str, ...] = ()


def parse_submit_line(line: str) -> SubmitLine:
    """Read a SubmitLine; options with values that make no sense are passed over, `ignored` ones are named.

    Examples
    --------
    >>> parse_submit_line("sbatch -N2-4 --exclusive --mem=8G -d afterok:7 job.sh -c 99").nodes_max
    4
    """
    found = SubmitLine()
    words = iter(line.split()[1:])
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if name == "wrap" or not name:
                break
            if not equals and name in _LONG_VALUE:
                value = next(words, "")
            _apply(found, name, value)
        elif word.startswith("-") and len(word) > 1:
            for i, letter in enumerate(word[1:], 2):
                if letter in _SHORT_VALUE:
                    _apply(found, _SHORT_VALUE[letter], (word[i:] or next(words, "")).removeprefix("="))
                    break
                _apply(found, _SHORT_FLAG.get(letter, ""), "")
        else:
            break
    return found


def _apply(found: SubmitLine, name: str, value: str) -> None:
    """Note one option."""
    if name in _SET:
        attribute, read = _SET[name]
        setattr(found, attribute, read(value))
    elif name in _KEPT and _KEPT[name](value):
        found.options += f" --{name}={value}" if name in _WITH_VALUE else f" --{name}"
    elif name in ("nodes", "mem", "mem-per-cpu", "exclusive"):
        _apply_size(found, name, value)
    elif name in NOT_MODELLED and name not in found.ignored:
        found.ignored += (name,)


def _apply_size(found: SubmitLine, name: str, value: str) -> None:
    """Note an option that sets more than one thing."""
    match name:
        case "nodes":
            if numbers := _NODES.fullmatch(value):
                found.nodes = int(numbers[1])
                found.nodes_max = int(numbers[2]) if numbers[2] else -1
        case "mem":
            found.mem_per_node, found.mem_per_cpu = _mib(value), -1
        case "mem-per-cpu":
            found.mem_per_cpu, found.mem_per_node = _mib(value), -1
        case "exclusive":
            found.exclusive = int(value in ("", "exclusive"))
            if value == "user":
                found.options += " --exclusive=user"


def _count(value: str) -> int:
    return int(value) if is_number(value) and int(value) > 0 else -1


def _seconds(value: str) -> int:
    try:
        return parse_time_limit(value) or -1
    except ValueError:
        return -1


def _mib(value: str) -> int:
    try:
        return parse_memory(value)
    except ValueError:
        return -1


def _nice(value: str) -> int:
    return int(value) if re.fullmatch(r"-?\d{1,10}", value, re.ASCII) else (0 if value else 100)


def _array_limit(value: str) -> int:
    throttle = _THROTTLE.search(value)
    return int(throttle[1]) if throttle and int(throttle[1]) else -1


# Options that set one attribute: which, and how the value is read.
_SET: dict[str, tuple[str, Callable[[str], object]]] = {
    "cpus-per-task": ("cpus_per_task", _count), "ntasks-per-node": ("tasks_per_node", _count),
    "oversubscribe": ("oversubscribe", lambda _: 1), "share": ("oversubscribe", lambda _: 1),
    "contiguous": ("contiguous", lambda _: 1), "nice": ("nice", _nice), "no-requeue": ("requeue", lambda _: 0),
    "requeue": ("requeue", lambda _: 1), "array": ("array_limit", _array_limit), "dependency": ("dependency", str),
    "time-min": ("time_min", _seconds), "nodelist": ("node_list", str), "exclude": ("exclude", str),
}  # fmt: skip
# Options that are kept as they are, where their value makes sense.
_COUNTED = (
    "sockets-per-node", "threads-per-core", "ntasks-per-core", "ntasks-per-socket", "mincpus", "thread-spec",
)  # fmt: skip
_KEPT: dict[str, Callable[[str], object]] = {
    "kill-on-invalid-dep": ("yes", "no").__contains__,
    "switches": _SWITCHES.fullmatch, "spread-job": lambda _: True, "use-min-nodes": lambda _: True,
    "no-kill": lambda _: True, "hint": ("multithread", "nomultithread").__contains__,
    "core-spec": lambda value: is_number(value) and int(value) < 1 << 15,
    **dict.fromkeys(_COUNTED, lambda value: _count(value) > 0),
}  # fmt: skip
_WITH_VALUE = ("kill-on-invalid-dep", "core-spec", "switches", "hint", *_COUNTED)
