"""Values of options about where tasks go on a node and how it runs: distribution, geometry, hints, frequencies.

Same readers as in `values`. Our scheduler keeps most of these without acting on them, but wrong ones are refused with
Slurm's words. Mirrors 22.05.
"""

from __future__ import annotations

from slurmsim.commands.text.values import INFINITE, NO_VALUE, BadValue, int32, invalid, leading_number
from slurmsim.gpu_bindings import is_frequency
from slurmsim.numerals import is_number
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from slurmsim.commands.text.values import Context


_FIRST = ("block", "cyclic")
_NEXT = ("block", "cyclic", "fcyclic")
_DEFAULTS = ("block", "cyclic", None)  # of "*"; the third is what the second is
_INT_MAX = 0x7FFFFFFF
_MOST_NODES = 65536  # numbers in a list of node counts stay below
_GOVERNORS = (
    ("co", "Conservative"),
    ("perf", "Performance"),
    ("pow", "PowerSave"),
    ("user", "UserSpace"),
    ("onde", "OnDemand"),
    ("sche", "SchedUtil"),
)
_FREQUENCIES = (
    ("lo", "Low"),
    ("him1", "Highm1"),
    ("highm1", "Highm1"),
    ("hi", "High"),
    ("med", "Medium"),
)
_NAMED_FREQUENCY = {"Low": 0x80000001, "Medium": 0x80000002, "High": 0x80000003, "Highm1": 0x80000004}
_ALLOWED_GOVERNORS = ("OnDemand", "Performance", "UserSpace")  # CpuFreqGovernors' default
PROFILES = ("energy", "lustre", "network", "task")
_SAMPLERS = ("energy", "task", "filesystem", "network")
_MEM_FLAGS = {
    "p": ("prefer", True),
    "prefer": ("prefer", True),
    "sort": ("sort", True),
    "nosort": ("sort", False),
    "v": ("verbose", True),
    "verbose": ("verbose", True),
    "q": ("verbose", False),
    "quiet": ("verbose", False),
}
MAX_REPEATS = 1 << 16  # most repetitions in one word of a binding list
_HINTS = ("compute_bound", "memory_bound", "multithread", "nomultithread")
HINT_HELP = f"Hints for --hint (several are separated by commas): {', '.join(_HINTS)}.\n"


def node_count(text: str, option: str, context: Context) -> dict[str, Any]:
    """``4``, ``2-8``, ``1k``: the least and most nodes; from 23.02 on also lists, ``2,4-8:2``."""
    if since(context.release, "node_count_lists") and ("," in text or ":" in text):
        return _node_list(text)
    low_text, dash, high_text = text.partition("-")
    least = _nodes(low_text)
    if least < 0:
        if not dash:
            raise BadValue(f'"{text}" is not a valid node count')
        least = 1
    most = _nodes(high_text) if dash else least
    if most and most < least:
        raise BadValue(f"Maximum node count {most} is less than minimum node count {least}")
    return {"min_nodes": least, "max_nodes": most, "job_size_str": None}


def _node_list(text: str) -> dict[str, Any]:
    sizes: set[int] = set()
    for part in text.split(","):
        ends, colon, step_text = part.partition(":")
        first, dash, last = ends.partition("-")
        numbers = [leading_number(number) for number in (first, last if dash else first, step_text if colon else "1")]
        if any(rest or value >= _MOST_NODES for value, rest in numbers):
            raise BadValue(f'"{part}" is not a valid node count')
        (low, _), (high, _), (step, _) = numbers
        if high < low or step < 1:
            raise BadValue(f'"{text}" is not a valid node count')
        sizes.update(range(low, high + 1, step))
    return {"min_nodes": min(sizes), "max_nodes": max(sizes), "job_size_str": text}


def _nodes(text: str) -> int:
    """Return a node count with its suffix; -1 for blanks."""
    value, rest = leading_number(text)
    if rest == text:
        value = -1
    else:
        for letters, factor in (("kK", 1024), ("mM", 1024 * 1024)):
            if rest and rest[0] in letters:
                value, rest = value * factor, rest[1:]
    if rest.strip():
        raise BadValue(f'"{text}" is not a valid node count')
    return int32(value)


def distribution(text: str, option: str, context: Context) -> dict[str, Any]:
    """``block:cyclic,pack``, ``arbitrary``, ``plane=4``: normalised, with the size of a plane."""
    if text.lower().startswith("plane"):
        return {"distribution": "plane", "plane_size": _plane_size(text, option, context)}
    base, _, flag = text.lstrip().partition(",")
    if not base:
        raise invalid(option)
    levels = _levels([level for level in base.split(":") if level])
    if levels is None:
        if base.lower() not in ("pack", "nopack"):
            raise invalid(option)
        levels = base.lower()
    flag = flag.lower()
    if flag not in ("", "pack", "nopack"):
        raise invalid(option)
    return {"distribution": f"{levels},{flag}" if flag else levels, "plane_size": None}


def _levels(levels: list[str]) -> str | None:
    """Return the levels with ``*`` filled in; None when they are no distribution."""
    if not 1 <= len(levels) <= 3:
        return None
    filled: list[str] = []
    for i, level in enumerate(levels):
        filled.append((_DEFAULTS[i] or filled[1]) if level == "*" else level.lower())
    if len(filled) == 1 and filled[0] in ("arbitrary", "hostfile"):
        return "arbitrary"
    if filled[0] not in _FIRST or any(level not in _NEXT for level in filled[1:]):
        return None
    return ":".join(filled)


def _plane_size(text: str, option: str, context: Context) -> int:
    size_text = text.partition("=")[2] if "=" in text else context.environ.get("SLURM_DIST_PLANESIZE", "")
    value, rest = leading_number(size_text)
    if rest or not size_text or not 0 < value <= _INT_MAX:
        raise BadValue("Invalid plane size or size not specified", f"Invalid {option} specification")
    return value


def geometry(text: str, option: str, context: Context) -> dict[str, Any]:
    """``sockets[:cores[:threads]]``; ``*`` and nothing mean any (None)."""
    parts = [part[:47] for part in [*text.split(":"), "", ""][:3]]
    names = ("sockets_per_node", "cores_per_socket", "threads_per_core")
    return {name: _least(part, f"{nth} arg of -B") for name, nth, part in zip(names, _NTH, parts, strict=True)}


_NTH = ("first", "second", "third")


def _least(text: str, what: str) -> int | None:
    """Least of ``count`` or ``min-max``."""
    if not text or text[0] == "*":
        return None
    value, rest = _with_unit(text)
    _check(text, what, value, rest, least=0)
    if rest[:1] == "-":
        most, tail = _with_unit(rest[1:])
        _check(text, what, most, tail, least=1)
        if value == 1 and most == _INT_MAX:
            return None
    return value


def _with_unit(text: str) -> tuple[int, str]:
    value, rest = leading_number(text)
    unit = rest[:1].lower()
    if unit and unit in "km":
        return value * (1024 if unit == "k" else 1048576), rest[1:]
    return value, rest


def _check(text: str, what: str, value: int, rest: str, least: int) -> None:
    if (rest and rest[0] != "-") or value < least:
        raise BadValue(f'Invalid numeric value "{text}" for {what}.', status=1)
    if value > _INT_MAX:
        raise BadValue(f"Numeric argument ({value}) to big for {what}.", status=1)


ANY_TASKS = 0xFFFF  # tasks of a core: as many as it may have


def hint_settings(text: str) -> dict[str, Any]:
    """Return what ``--hint`` implies; `HINT_HELP` is asked for with ``help`` (KeyError names it).

    Raises
    ------
    BadValue
        A word is no hint.
    """
    found: dict[str, Any] = {}
    for word in _words(text):
        name = word.lower()
        if name == "help":
            raise KeyError("help")
        if name not in _HINTS:
            raise BadValue(f'unrecognized --hint argument "{word}", see --hint=help', status=1)
        if name == "compute_bound":
            found.update(sockets_per_node=None, cores_per_socket=None, threads_per_core=1)
        elif name == "memory_bound":
            found.update(cores_per_socket=1, threads_per_core=1)
        elif name == "multithread":
            found.update(threads_per_core=None, ntasks_per_core=ANY_TASKS)
        else:
            found.update(threads_per_core=1)
    return found


def _is_number(text: str) -> bool:
    """Return True if a number begins here, or a hexadecimal one fills the place to the next comma."""
    return is_number(text[:1]) or not set(text.partition(",")[0].lower()) - set("0123456789abcdef")


def _words(text: str, is_value: Callable[[str], bool] = lambda text: is_number(text[:1])) -> list[str]:
    """Cut at commas, except those before a value (they belong to a list of numbers)."""
    words = [""]
    for i, char in enumerate(text):
        if char == "," and not is_value(text[i + 1 :]):
            words.append("")
        else:
            words[-1] += char
    return words


_ONE_VALUE = "Please specify only one value for the desired frequency (p1)"
_RANGE_WITHOUT_GOVERNOR = (
    f"You must explicitly choose a governor when defining a range. {_ONE_VALUE} or choose a specific governor (p3)."
)


def frequency(text: str, option: str, context: Context) -> dict[str, Any]:
    """``low-high:OnDemand``, ``2200000``, ``Performance``: bounds and governor."""
    head, colon, governor_text = text.partition(":")
    low_text, dash, high_text = head.partition("-")
    bad = f"Invalid {option} argument"
    found: dict[str, Any] = {"cpu_freq_min": None, "cpu_freq_max": None, "cpu_freq_gov": None}
    by_userspace = since(context.release, "frequency_by_userspace")
    governor = _governor(low_text)
    if governor:
        if colon:
            raise BadValue(f"governor cannot be specified twice {low_text}{{-}}:{governor_text} in --cpu-freq", bad)
    else:
        found["cpu_freq_max"] = _frequency(low_text, bad)
    if dash:
        found["cpu_freq_min"] = found["cpu_freq_max"]
        found["cpu_freq_max"] = _frequency(high_text, bad)
        if _rank(found["cpu_freq_max"]) < _rank(found["cpu_freq_min"]):
            raise BadValue(f"min cpu-frec ({low_text}) must be < max cpu-freq ({high_text})", bad)
        if by_userspace and not colon:
            raise BadValue(_RANGE_WITHOUT_GOVERNOR, bad)
    if colon:
        governor = _governor_beside(governor_text, bool(dash), by_userspace, bad)
    elif by_userspace and not governor:
        governor = "UserSpace"
    if governor and governor not in _ALLOWED_GOVERNORS:
        raise BadValue(f"governor of {text} is not allowed in slurm.conf", bad)
    found["cpu_freq_gov"] = governor
    return found


def _governor_beside(text: str, range_given: bool, by_userspace: bool, bad: str) -> str:
    """Return the governor after a frequency or a range; UserSpace takes one frequency, the others a range."""
    governor = _governor(text)
    if not range_given and not (by_userspace and governor in (None, "UserSpace")):
        raise BadValue(f"gov on cpu-frec ({text}) illegal without max", bad)
    if governor is None:
        raise BadValue(f"illegal governor: {text} on --cpu-freq", bad)
    if range_given and by_userspace and governor == "UserSpace":
        raise BadValue(f"{text} governor does not support a range. {_ONE_VALUE} or choose a different governor.", bad)
    return governor


def _governor(text: str) -> str | None:
    lower = text.lower()
    return next((name for prefix, name in _GOVERNORS if lower.startswith(prefix)), None)


def _frequency(text: str, bad: str) -> str:
    lower = text.lower()
    named = next((name for prefix, name in _FREQUENCIES if lower.startswith(prefix)), None)
    if named:
        return named
    value = leading_number(text)[0] % (1 << 32)
    if not value:
        raise BadValue(f'unrecognized --cpu-freq argument "{text}"', bad)
    return str(value)


def _rank(frequency_text: str | None) -> int:
    if frequency_text is None:
        return NO_VALUE
    return _NAMED_FREQUENCY.get(frequency_text) or int(frequency_text)


def profile(text: str, option: str, context: Context) -> str:
    """``none``, ``all`` or some of `PROFILES`; words are looked for anywhere in the text."""
    lower = text.lower()
    if "none" in lower:
        return "None"
    found = [name.capitalize() for name in PROFILES if name in lower or "all" in lower]
    if not found:
        raise BadValue(f"invalid {option}={text} option")
    return ",".join(found)


def sampling(text: str, option: str, context: Context) -> str:
    """``30`` or ``task=30,energy=60``."""
    bad = [f"Invalid {option} specification: {word}" for word in text.split(",") if word and not _is_sampler(word)]
    if bad:
        raise BadValue(*bad)
    return text


def _is_sampler(word: str) -> bool:
    if leading_number(word)[1] != word:
        return True
    lower = word.lower()
    for name in _SAMPLERS:
        _, found, value = lower.partition(f"{name}=")
        if found and leading_number(value)[1] != value:
            return True
    return False


def memory_binding(text: str, option: str, context: Context) -> str:
    """``local``, ``verbose,map_mem:0,1`` as flags in a fixed order and a mode with its list; empty: nothing asked."""
    flags = {"verbose": False, "prefer": False, "sort": False}
    mode = numbers = ""
    for word in _words(text, _is_number):
        lower = word.lower()
        name, _, listed = lower.replace("=", ":", 1).partition(":")
        if lower in _MEM_FLAGS and not (lower.endswith("sort") and since(context.release, "no_sorted_memory")):
            flag, flags_value = _MEM_FLAGS[lower]
            flags[flag] = flags_value
        elif lower in ("no", "none", "rank", "local"):
            mode, numbers = "none" if lower == "no" else lower, ""
        elif name.startswith(("map_mem", "mapmem", "mask_mem", "maskmem")):
            mode = "mask_mem" if name.startswith("mask") else "map_mem"
            if not listed:
                raise BadValue(f'missing list for "--mem-bind={mode}:<list>"')
            numbers = _repeated(listed, hexadecimal=mode == "mask_mem")
        else:
            raise BadValue(f'unrecognized --mem-bind argument "{word}"')
    asked = [flag for flag, there in flags.items() if there] + ([mode] if mode else [])
    return ",".join(asked) + (f":{numbers}" if numbers else "")


def _repeated(text: str, hexadecimal: bool) -> str:
    """``0*2,3`` as ``0,0,3``."""
    found: list[str] = []
    for word in filter(None, text.split(",")):
        number, star, times = (word.removeprefix("0x") if hexadecimal else word).partition("*")
        _digits(f"*{times}", times, "0123456789")
        if star and not 0 < int(times or 0) <= MAX_REPEATS:
            raise BadValue(f"Invalid {'mask' if hexadecimal else 'map'}_mem multiplier: {times}")
        _digits(number, number, "0123456789abcdef" if hexadecimal else "0123456789")
        found.extend([number] * (int(times) if star else 1))
    return ",".join(found)


def _digits(shown: str, text: str, allowed: str) -> None:
    wrong = next((char for char in text if char not in allowed), None)
    if wrong is not None:
        raise BadValue(f"Failed to validate number: {shown}, the offending character is {wrong}")


def gpu_binding(text: str, option: str, context: Context) -> str:
    """``[verbose,]closest``, ``single:2``, ``map_gpu:0,1``, ``mask_gpu:0x3``, ``per_task:2``, ``none``."""
    complaint = f"Invalid {option} argument: gpu:{text}"
    body = text.lower().removeprefix("verbose,")
    name, colon, listed = body.partition(":")
    good = body[:1] in ("c", "n")
    if colon and name in ("single", "per_task"):
        good = leading_number(listed)[0] >= 0
    elif colon and name in ("map_gpu", "mask_gpu"):
        for word in filter(None, listed.split(",")):
            _check_count(word.removeprefix("0x") if name == "mask_gpu" else word, name == "mask_gpu", complaint)
        good = True
    if not good:
        raise BadValue(complaint)
    return text


def _check_count(word: str, hexadecimal: bool, complaint: str) -> None:
    """Check a number, perhaps with a star and how often it is repeated."""
    allowed = "0123456789abcdef" if hexadecimal else "0123456789"
    wrong = next((char for char in word if char not in allowed and char != "*"), None)
    if wrong is not None:
        raise BadValue(f"Failed to validate {word}, offending character is {wrong}", complaint)
    if word.count("*") > 1:
        raise BadValue(complaint)


def gpu_frequency(text: str, option: str, context: Context) -> str:
    """``medium``, ``450,memory=high,verbose``."""
    if not is_frequency(text):
        raise BadValue(f"Invalid {option} argument: gpu:{text}")
    return text


def umask(text: str, option: str, context: Context) -> int:
    """Return a file mode mask from ``#PBS -W umask=``: octal with a leading 0, else decimal."""
    base = 8 if text[:1] == "0" else 10
    value = 0
    for char in text:
        if char not in "0123456789"[:base]:
            break
        value = min(value * base + int(char), INFINITE)
    if int32(value) > 0o777:
        raise BadValue("Invalid -W umask= specification")
    return value
