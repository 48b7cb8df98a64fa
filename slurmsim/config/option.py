"""One row of the option tables: what a key is called, how its value is read, what slurmsim does with it."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from slurmsim.data_classes import dataclass
from slurmsim.duration import FORMATS, parse_duration, parse_time_limit
from slurmsim.errors import ConfigError
from slurmsim.numerals import is_number, leading_number
from slurmsim.releases import RELEASES, VERSIONS
from slurmsim.tres import parse_licenses, parse_memory, parse_weights

OLDEST, LATEST = RELEASES[0], RELEASES[-1]


class Status(StrEnum):
    """What slurmsim does with a key."""

    HONOURED = "honoured"
    HARMLESS = "harmless"  # read, but without effect on a schedule
    NOT_MODELLED = "not modelled"  # would have an effect; refused or warned about when set


@dataclass(frozen=True, slots=True)
class Option:
    """A key of slurm.conf (or a sub-option, or a key of an object line)."""

    name: str  # canonical spelling
    kind: str  # how the value is read: a key of `KINDS`
    # status, why: what slurmsim does with it, and for anything but HONOURED why, or what happens instead
    status: Status
    why: str = ""
    default: Any = None  # typed default of the oldest release; `later` = (release, default from that release on)
    later: tuple[str, Any] | None = None
    choices: tuple[str, ...] = ()  # canonical words allowed (kind ``choice`` and ``words``); compared without case
    beyond: tuple[str, ...] = ()  # values of a ``choice`` that Slurm knows and slurmsim does not model: refused by name
    # values (lower case) of a NOT_MODELLED option that switch the thing off and so need no warning
    off: tuple[str, ...] = ()
    # low, high: inclusive range of a number; outside is an error, unless
    low: int | None = None
    high: int | None = None
    outside: int | None = None  # says which number is used instead, as slurmctld takes such a value
    lenient: bool = False  # slurmctld takes any text; what it does not understand of it is mended as `MENDED` says
    # a NOT_MODELLED option that is an error when set, because a schedule without it would be meaningless
    refuse: bool = False
    master: str = ""  # the key without which this one has no effect; only the master is warned about
    # since, gone: first release that knows the key, first that does not ("" = throughout 22.05 to 26.05); a key that
    # went before 22.05 has 22.05
    since: str = ""
    gone: str = ""
    instead: str = ""  # what replaced an obsolete key
    ignored: tuple[str, ...] = ()  # values of a `gone` key that the daemons pass over with a line in the log

    def default_for(self, release: str) -> Any:
        if self.later is not None and not earlier(release, self.later[0]):
            return self.later[1]
        return self.default

    def known_in(self, release: str) -> bool:
        """Return True if `release` accepts the key."""
        return not (self.since and earlier(release, self.since)) and not (self.gone and not earlier(release, self.gone))

    def parse(self, text: str) -> Any:
        """Return the typed value. Raises ValueError(message, expected) for a text the kind does not allow."""
        value = KINDS[self.kind](text, self)
        if isinstance(value, int) and not isinstance(value, bool):
            low, high = self.low, self.high
            if (low is not None and value < low) or (high is not None and value > high):
                bounds = f"{low} to {high}" if high is not None else f"at least {low}"
                raise OutOfRange(value, f"{text!r} is out of range", bounds)
        return value

    def read(self, text: str) -> tuple[Any, str]:
        """Return the typed value, and how it differs from the text, if slurmctld takes that ("" if it does not differ).

        Raises ValueError(message, expected) for what slurmctld does not take either.
        """
        try:
            return self.parse(text), ""
        except OutOfRange as error:
            if self.outside is None or not 0 <= error.number <= (_SHORT if (self.high or 0) <= _SHORT else _LONG):
                raise ValueError(*error.args) from None
            return self.outside, f"{error.args[0]}: {self.outside} is used"
        except ValueError as error:
            if not self.lenient:
                raise
            value, how = MENDED[self.kind](text, self)
            return value, f"{error.args[0]}: {how}, as Slurm does"

    def refused(self, text: str) -> str:
        """Return why the real daemons refuse a value that slurmsim reads; "" where they do not."""
        if self.kind.startswith("memory") and has_memory_unit(text):
            return "slurmctld takes MiB without a unit here and does not start"
        return ""

    def is_off(self, text: str) -> bool:
        """Return True if a value leaves a not modelled feature switched off."""
        return text.strip().lower() in self.off


def honoured(name: str, kind: str = "text", default: Any = None, why: str = "", **more: Any) -> Option:
    """Return a key that counts as in Slurm."""
    return Option(name, kind, Status.HONOURED, why, default, **more)


class OutOfRange(ValueError):
    """A number that an option does not allow."""

    def __init__(self, number: int, message: str, expected: str) -> None:
        super().__init__(message, expected)
        self.number = number


def earlier(release: str, other: str) -> bool:
    """Return True if `release` (``"22.05"``) came before `other`."""
    return tuple(map(int, release.split("."))) < tuple(map(int, other.split(".")))


def check_release(release: str) -> None:
    """Raise ConfigError unless the defaults of `release` are known."""
    if release not in VERSIONS:
        raise ConfigError(
            f"unknown Slurm release {release!r}", field="release", expected=f"one of {', '.join(RELEASES)}"
        )


def parse_flag(text: str) -> bool:
    """Slurm's yes/no words. Raises ValueError."""
    word = text.strip().lower()
    if word in ("yes", "up", "true", "1"):
        return True
    if word in ("no", "down", "false", "0"):
        return False
    raise ValueError(f"{text!r} is not a yes or no", "YES or NO")


def split_words(text: str) -> tuple[str, ...]:
    """Return a comma list without its empty items."""
    return tuple(filter(None, (word.strip() for word in text.split(","))))


_NUMBER = re.compile(r"\+?(?:0x([0-9a-f]{1,15})|(0[0-7]{0,17})|([1-9][0-9]{0,17}))(k?)", re.IGNORECASE | re.ASCII)
_SHORT = 65_535  # the most that a number of 16 bits holds; those take no k
_LONG = 2**32 - 1
_ENDLESS = ("unlimited", "infinite")


def _count(text: str, option: Option) -> int:
    """Return a number as Slurm's reader has it: 0x starts a hexadecimal one, 0 an octal one; k means 1,024.

    UNLIMITED is the most that the number's 16 or 32 bits hold.
    """
    if text.lower() in _ENDLESS:
        return _SHORT if option.high is not None and option.high <= _SHORT else _LONG
    found = _NUMBER.fullmatch(text)
    if found is None and option.low is not None and re.fullmatch("-[0-9]{1,18}", text):
        return int(text)  # out of range, which the caller says
    if found is None or (found[4] and option.high is not None and option.high <= _SHORT):
        raise ValueError(f"{text!r} is not a valid number", "a whole number")
    hexadecimal, octal, decimal, thousands = found.groups()
    number = int(hexadecimal, 16) if hexadecimal else int(octal, 8) if octal else int(decimal)
    return number * 1024 if thousands else number


def _count_or_unlimited(text: str, option: Option) -> int | None:
    return None if text.lower() in _ENDLESS else _count(text, option)


def _minutes(text: str, option: Option) -> int | None:
    count = _count_or_unlimited(text, option)
    return None if count is None else count * 60


def _time(text: str, _option: Option) -> int | None:
    try:
        return parse_time_limit(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a time", FORMATS) from None


def _duration(text: str, _option: Option) -> int | None:
    try:
        return parse_duration(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a time", FORMATS) from None


def _memory(text: str, _option: Option) -> int | None:
    if text.lower() in _ENDLESS:
        return None
    if has_memory_unit(text):
        return parse_memory(text) or None
    try:
        return _count(text, _option) or None  # 0 is "no limit" or "not set"
    except ValueError:
        raise ValueError(f"{text!r} is not a memory size", "MiB") from None


def has_memory_unit(text: str) -> bool:
    """Return True for a size with M, G or T, which commands take and slurm.conf does not."""
    return re.fullmatch(r"[0-9]{1,18}(?:\.[0-9]{1,18})?[mgt]b?", text, re.IGNORECASE) is not None


def _beginning(text: str, option: Option) -> str:
    """Return the choice `text` begins with, as where Slurm compares no more letters than it has."""
    for choice in option.choices:
        if text.upper().startswith(choice):
            return choice
    raise ValueError(f"unknown value {text!r}", f"one of {', '.join(option.choices)}")


def _words(text: str, option: Option) -> tuple[str, ...]:
    words = split_words(text)
    return tuple(_pick(word, option) for word in words) if option.choices else words


def _seconds(text: str, _option: Option) -> int:
    if text.lower() in ("infinite", "unlimited", "none", "-1"):
        return -1
    if not is_number(text):
        raise ValueError(f"{text!r} is not a number of seconds", "seconds, or INFINITE")
    return int(text)


def _ports(text: str, _option: Option) -> str:
    numbers = [int(number) for number in re.findall("[0-9]{1,18}", text)]
    if not re.fullmatch(r"[\[\]0-9,-]+", text) or not all(1 <= number <= _SHORT for number in numbers):
        raise ValueError(f"{text!r} is no port", f"1 to {_SHORT}, or a list as [7001-7004]")
    return text


def _exit_codes(text: str, _option: Option) -> frozenset[int]:
    codes: set[int] = set()
    for word in split_words(text.strip("[]")):
        low, dash, high = word.partition("-")
        if not is_number(low) or (dash and not is_number(high)) or int(high or low) > 255:
            raise ValueError(f"{text!r} is no list of exit codes", "codes and ranges, 0 to 255: 11,20-29")
        codes.update(range(int(low), int(high or low) + 1))
    return frozenset(codes)


def _pick(text: str, option: Option) -> str:
    word = text.lower()
    for choice in option.choices:
        if word in (choice.lower(), choice.rpartition("/")[2].lower()):  # newer releases allow plugins without "type/"
            return choice
    if word in option.beyond or f"{option.choices[0].partition('/')[0]}/{word}" in option.beyond:
        raise ValueError(f"{text} is not modelled", f"one of {', '.join(option.choices)}")
    raise ValueError(f"unknown value {text!r}", f"one of {', '.join(option.choices)}")


def _weights(text: str, _option: Option) -> tuple[tuple[str, float], ...]:
    try:
        return parse_weights(text)
    except ValueError:
        raise ValueError(f"{text!r} is no list of TRES weights", "TRES=FACTOR,…") from None


def _licenses(text: str, _option: Option) -> tuple[tuple[str, int], ...]:
    if text.lower() in ("", "(null)"):
        return ()
    try:
        return parse_licenses(text)
    except ValueError as error:
        raise ValueError(str(error), "name:count,name:count") from None


def _known_words(text: str, option: Option) -> tuple[tuple[str, ...], str]:
    known = {choice.lower(): choice for choice in option.choices}
    return tuple(known[word.lower()] for word in split_words(text) if word.lower() in known), "it is left out"


def _beginning_number(text: str, _option: Option) -> tuple[int, str]:
    number = max(leading_number(text), 0)
    return number, f"it is read as {number}"


MENDED: Mapping[str, Callable[[str, Option], tuple[Any, str]]] = {
    "words": _known_words,
    "exit codes": lambda _text, option: (option.default, "the list is left out"),
    "seconds": _beginning_number,
}
"""What is made of a text that a lenient option cannot read, by kind, and how to say it."""

KINDS: Mapping[str, Callable[[str, Option], Any]] = {
    "text": lambda text, _option: text,
    "words": _words,
    "flag": lambda text, _option: parse_flag(text),
    "count": _count,  # whole number; also of seconds, microseconds, …
    "count or unlimited": _count_or_unlimited,  # None when unlimited
    "minutes": _minutes,  # whole minutes in the file, seconds in the spec; None when unlimited
    "time": _time,  # minutes or D-HH:MM:SS, rounded up to minutes; seconds in the spec; None when unlimited
    "duration": _duration,  # as time, to the second
    "memory": _memory,  # MiB (k: times 1,024, as for any number); 0 and UNLIMITED give None
    # the same, but of the two only UNLIMITED gives None; only 0 does, and UNLIMITED gives 0
    "memory or none": lambda text, option: None if text.lower() in _ENDLESS else _memory(text, option) or 0,
    "memory limit": lambda text, option: 0 if text.lower() in _ENDLESS else _memory(text, option),
    "choice": _pick,
    "beginning": _beginning,
    "exit codes": _exit_codes,
    "ports": _ports,
    "seconds": _seconds,  # -1 and INFINITE give -1: never
    "weights": _weights,  # TRES weights by lower-cased name; memory per MiB
    "licenses": _licenses,  # ((name, count), …)
}
