"""Values of job options: text in, the field's value out, or `BadValue` with the lines Slurm prints.

Mirrors the option setters that sbatch, srun and salloc share (22.05). Numbers are read as C does: leading blanks and
a sign are fine, what fits no 32-bit integer wraps. Each reader takes the text, the option as users write it
(``--mem``) and a `Context`; a reader of an option with an optional argument may be given None.
"""

from __future__ import annotations

from slurmsim import sluid
from slurmsim.commands.text.dates import BadDate, parse_date
from slurmsim.numerals import is_number
from slurmsim.records.request import THREAD_FLAG
from slurmsim.release_changes import since
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


INFINITE = 0xFFFFFFFF
NO_VALUE = 0xFFFFFFFE
NICE_LIMIT = 0x7FFFFFFD
_SPACES = " \t\n\v\f\r"
_LONG = 1 << 63
_TOO_BIG = {"22.05": (_LONG - 1, "to big"), "23.11": (0x7FFFFFFF, "too large")}

SIGNALS = {
    "HUP": 1,
    "INT": 2,
    "QUIT": 3,
    "ABRT": 6,
    "KILL": 9,
    "ALRM": 14,
    "TERM": 15,
    "USR1": 10,
    "USR2": 12,
    "URG": 23,
    "CONT": 18,
    "STOP": 19,
    "TSTP": 20,
    "TTIN": 21,
    "TTOU": 22,
    "XCPU": 24,
}
MAIL_BITS = {
    "ARRAY_TASKS": 0x200,
    "INVALID_DEPEND": 0x400,
    "BEGIN": 0x01,
    "END": 0x02,
    "FAIL": 0x04,
    "REQUEUE": 0x08,
    "STAGE_OUT": 0x100,
    "TIME_LIMIT_50": 0x80,
    "TIME_LIMIT_80": 0x40,
    "TIME_LIMIT_90": 0x20,
    "TIME_LIMIT": 0x10,
}
"""In the order ``-v`` lists them."""
_MAIL_ALL = 0x50F


class BadValue(Exception):
    """A value is wrong.

    Parameters
    ----------
    errors
        Lines printed after ``sbatch: error: ``.
    plain
        Lines printed before those, without a prefix.
    status
        Exit code of the command.
    """

    def __init__(self, *errors: str, plain: tuple[str, ...] = (), status: int = 255) -> None:
        self.errors, self.plain, self.status = errors, plain, status
        super().__init__(" ".join(errors))


class Context:
    """What readers may look at beside their text: which command, the clock (epoch seconds), who calls, from where."""

    __slots__ = ("command", "cwd", "environ", "now", "release", "uid")

    def __init__(
        self,
        command: str,
        release: str,
        now: int = 0,
        uid: int = 0,
        cwd: str = "/",
        environ: dict[str, str] | None = None,
    ) -> None:
        self.command, self.release, self.now, self.uid, self.cwd = command, release, now, uid, cwd
        self.environ = environ or {}


def invalid(option: str) -> BadValue:
    """Slurm's usual complaint."""
    return BadValue(f"Invalid {option} specification")


def leading_number(text: str) -> tuple[int, str]:
    """Return the integer `text` begins with and what follows, as strtol; no digits: 0 and the whole text."""
    start = len(text) - len(text.lstrip(_SPACES))
    end = start + (text[start : start + 1] in ("+", "-") and start < len(text))
    first = end
    while "0" <= text[end : end + 1] <= "9":
        end += 1
    if end == first:
        return 0, text
    # more digits than a long can hold clamp; int() would refuse or crawl on thousands of them
    value = int(text[start:end]) if end - first <= 19 else _LONG * (-1 if text[start] == "-" else 1)
    return max(-_LONG, min(value, _LONG - 1)), text[end:]


def int32(value: int) -> int:
    """`value` as C's conversion to a 32-bit int leaves it."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def integer(text: str | None, option: str, context: Context, least: int) -> int:
    """Return a whole number of at least `least`; exit code 1 when it is none, unlike most bad values."""
    value, rest = leading_number(text or "")
    if text is None or rest or value < least:
        raise BadValue(f'Invalid numeric value "{text}" for {option}.', status=1)
    most, words = row(_TOO_BIG, context.release)
    if value >= most:
        raise BadValue(f"Numeric argument ({value}) {words} for {option}.", status=1)
    return int32(value)


def positive(text: str, option: str, context: Context) -> int:
    """Return a number of at least 1."""
    return integer(text, option, context, 1)


def job(text: str, option: str, context: Context) -> int | str:
    """Return the number of a job, or its SLUID or ``ARRAY_TASK`` (since 26.05) as it is."""
    array, _, task = text.partition("_")
    of_task = is_number(array) and is_number(task) and since(context.release, "jobid_names_tasks")
    return text if of_task or sluid.number_of(text) is not None else positive(text, option, context)


def natural(text: str, option: str, context: Context) -> int:
    """Return a number of at least 0."""
    return integer(text, option, context, 0)


def string(text: str, option: str, context: Context) -> str:
    return text


def switch(text: str | None, option: str, context: Context) -> bool:
    """Return True: the option is there."""
    return True


def mebibytes(text: str) -> int | None:
    """MiB of ``1000``, ``2G``, ``100K`` (rounded up), ``1tb``; None when it is no size."""
    value, rest = leading_number(text)
    if rest == text or value < 0 or value == _LONG - 1:
        return None
    unit = rest[:1].lower()
    if rest[1:] not in ("", "B", "b") or unit not in ("", "k", "m", "g", "t"):
        return None
    if unit == "k":
        return (value + 1023) // 1024
    return value * {"": 1, "m": 1, "g": 1024, "t": 1024 * 1024}[unit]


def memory(text: str, option: str, context: Context) -> int:
    """Return a size in MiB."""
    found = mebibytes(text)
    if found is None:
        raise invalid(option)
    return found


def seconds_of(text: str) -> int | None:
    """Seconds of a duration; INFINITE without limit, None when it is none. May be negative (``-5`` is minus 5 days)."""
    if not text or text.lower() in ("-1", "infinite", "unlimited"):
        return INFINITE if text else None
    if not _is_duration(text):
        return None
    day_text, dash, clock = text.partition("-")
    if dash and not day_text:  # "-5": the sign of the days
        return int32(-int(clock) * 86400)
    fields = [int32(int(field)) if field else 0 for field in (clock if dash else text).split(":")]
    fields += [0] * (3 - len(fields))
    if dash:
        return int32(int32(int(day_text)) * 86400 + fields[0] * 3600 + fields[1] * 60 + fields[2])
    if text.count(":") == 2:
        return int32(fields[0] * 3600 + fields[1] * 60 + fields[2])
    return int32(fields[0] * 60 + fields[1])


def _is_duration(text: str) -> bool:
    """Digits with at most one dash, before the colons, and two colons; a number on each side of every colon."""
    if set(text) - set("0123456789-:"):
        return False
    head, dash, tail = text.partition("-")
    numbers = sum(1 for part in text.replace("-", ":").split(":") if part)
    colons = text.count(":")
    if not numbers or "-" in tail or (dash and ":" in head) or colons > 2:
        return False
    return not colons or numbers >= colons + (2 if dash else 1)


def minutes_of(text: str) -> int | None:
    """Minutes of a duration, rounded up; INFINITE without limit, None when it is none."""
    seconds = seconds_of(text)
    if seconds is None or seconds == INFINITE:
        return seconds
    raised = seconds + 59
    return raised // 60 if raised >= 0 else -(-raised // 60)


def time_limit(text: str, option: str, context: Context) -> int:
    """Minutes as the 32 bits Slurm sends: 0 means no limit, a negative limit is a huge one."""
    minutes = minutes_of(text)
    if minutes is None:
        raise invalid(option)
    return minutes % (1 << 32) if minutes else INFINITE


def delay(text: str, option: str, context: Context) -> int:
    """Seconds of a duration."""
    seconds = seconds_of(text)
    if seconds is None:
        raise invalid(option)
    return seconds


def moment(text: str, option: str, context: Context) -> int:
    """Epoch second of a date."""
    try:
        found = parse_date(text, context.now)
    except BadDate as bad:
        raise BadValue(f"Invalid {option} specification", plain=(bad.line,)) from None
    if not found:
        raise invalid(option)
    return found


def nice(text: str | None, option: str, context: Context) -> int:
    """Return an adjustment of the priority; 100 when no number is given, 0 when it is no number."""
    value = 100 if text is None else leading_number(text)[0]
    if abs(value) > NICE_LIMIT:
        raise BadValue(f"Invalid --nice value, out of range (+/- {NICE_LIMIT})")
    return value


def priority(text: str, option: str, context: Context) -> int:
    """Return a priority, or ``TOP``."""
    if text.upper() == "TOP":
        return NO_VALUE - 1
    value = leading_number(text)[0]
    if value < 0:
        raise BadValue("Priority must be >= 0")
    if value >= NO_VALUE:
        raise BadValue(f"Priority must be < {NO_VALUE}")
    return value


def choice(**values: Any) -> Any:
    """Return a reader of one of a few words, whatever their case; `default` is what no argument means."""
    default = values.pop("default", None)

    def read(text: str | None, option: str, context: Context) -> Any:
        if text is None:
            return default
        try:
            return values[text.lower()]
        except KeyError:
            raise invalid(option) from None

    return read


def open_mode(text: str, option: str, context: Context) -> str:
    """``append`` or ``truncate``; the first letter decides."""
    letter = text[:1].lower()
    if letter not in ("a", "t") or not letter:
        raise invalid(option)
    return letter


def signal_number(text: str) -> int:
    """Return the number of ``USR1``, ``SIGUSR1`` or ``10``; 0 when unknown."""
    value, rest = leading_number(text)
    if rest != text:
        return 0 if rest.strip(_SPACES) else int32(value)
    name = text.strip(_SPACES).upper()
    return SIGNALS.get(name.removeprefix("SIG"), 0)


def warning_signal(text: str, option: str, context: Context) -> dict[str, Any]:
    """``[R|B:]signal[@seconds]``. The letters need no colon; only sbatch knows B (the script itself)."""
    flags = ""
    rest = text
    for letter in "RBR" if context.command == "sbatch" else "R":
        if rest[:1].upper() == letter:
            flags += letter
            rest = rest[1:]
    name, at, time_text = rest.removeprefix(":").partition("@")
    number = signal_number(name) & 0xFFFF
    seconds, tail = leading_number(time_text) if at else (60, "")
    if number < 1 or not 0 <= seconds <= 0xFFFF or tail:
        raise invalid(option)
    return {"warn_signal": number, "warn_time": seconds, "warn_flags": "".join(sorted(set(flags), reverse=True))}


def mail_type(text: str, option: str, context: Context) -> int:
    """Return the bits of the events to mail; unknown words count only when there is no known one."""
    bits = 0
    for word in filter(None, text.split(",")):
        name = word.upper()
        if name == "NONE":
            return 0
        bits |= _MAIL_ALL if name == "ALL" else MAIL_BITS.get(name, 0)
    if not bits:
        raise invalid(option)
    return bits


def output_file(text: str, option: str, context: Context) -> str:
    """Return a file name pattern; ``none`` is nowhere."""
    return "/dev/null" if text.lower() == "none" else text


def directory(text: str, option: str, context: Context) -> str:
    """Return an absolute path."""
    return text if text.startswith("/") else f"{context.cwd}/{text}"


def gres(text: str, option: str, context: Context) -> str:
    """GRES with their prefix; ``none`` stays as it is."""
    if text.lower() == "none":
        return text
    return f"gres:{text}".replace(",", ",gres:").replace("gres:gres:", "gres:")


def switches(text: str, option: str, context: Context) -> dict[str, Any]:
    """``count[@max-time]``."""
    count, at, wait = text.partition("@")
    found: dict[str, Any] = {}
    if at:
        found["wait4switch"] = wait_for_switches(wait, option, context)
    found["req_switch"] = integer(count, option, context, 1)
    return found


def wait_for_switches(text: str, option: str, context: Context) -> int:
    """Seconds of a duration; what is none counts as never."""
    seconds = seconds_of(text)
    return NO_VALUE if seconds is None else seconds


def thread_spec(text: str, option: str, context: Context) -> int:
    """Threads kept from the job."""
    return integer(text, option, context, 1) | THREAD_FLAG


def user_env(text: str | None, option: str, context: Context) -> str:
    """``[timeout][S|L]``; empty for the default timeout. Anything may follow the letter."""
    if text is None:
        return ""
    rest = leading_number(text)[1]
    if rest and rest[0] not in "sSlL":
        raise invalid(option)
    return text


def privileged(text: str, option: str, context: Context) -> str:
    """Only root may say who a job belongs to."""
    if context.uid != 0:
        raise BadValue(f"{option} only permitted by root user")
    return text
