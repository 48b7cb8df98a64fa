"""Slurm's time limits as text: ``30``, ``1:30:00``, ``2-12``, ``UNLIMITED``.

Formats (22.05): ``M``, ``M:S``, ``H:M:S``, ``D-H``, ``D-H:M``, ``D-H:M:S``, and ``-1``, ``INFINITE`` or
``UNLIMITED``. Fields may exceed their usual range (``90:00`` is ninety minutes).
"""

from slurmsim.errors import InputError
from slurmsim.numerals import is_number

FORMATS = "minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S or UNLIMITED"

LONGEST_S = (2**32 - 2) * 60
"""The longest time Slurm can hold, in minutes of 32 bits; its greatest number means no limit."""
_UNLIMITED = frozenset({"-1", "infinite", "unlimited"})


class DurationError(InputError, ValueError):
    """A text is no Slurm time limit."""


def parse_duration(text: str) -> int | None:
    """Seconds a time limit stands for; None when unlimited.

    Raises
    ------
    DurationError
        The text has none of Slurm's formats.

    Examples
    --------
    >>> parse_duration("30"), parse_duration("1-12"), parse_duration("UNLIMITED")
    (1800, 129600, None)
    """
    stripped = text.strip()
    if stripped.lower() in _UNLIMITED:
        return None
    days, dash, clock = stripped.rpartition("-")
    fields = clock.split(":")
    if len(fields) <= 3 and all(map(is_number, [days, *fields] if dash else fields)):
        found = _seconds(int(days) if dash else None, [int(field) for field in fields])
        if found > LONGEST_S:
            raise DurationError(f"{text!r} is too long", expected=f"at most {LONGEST_S // 86400:,} days")
        return found
    raise DurationError(f"{text!r} is not a time", expected=FORMATS)


def _seconds(days: int | None, fields: list[int]) -> int:
    if days is not None:
        hours, minutes, seconds = (*fields, 0, 0)[:3]
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if len(fields) == 3:
        return (fields[0] * 60 + fields[1]) * 60 + fields[2]
    return fields[0] * 60 + (fields[1] if len(fields) == 2 else 0)


def parse_time_limit(text: str) -> int | None:
    """Seconds of a *time limit*, which Slurm keeps in whole minutes: seconds round up to the next minute.

    Raises DurationError as `parse_duration` does.
    """
    seconds = parse_duration(text)
    return None if seconds is None else -(-seconds // 60) * 60


def format_duration(seconds: int | None) -> str:
    """Slurm's long form ``[D-]HH:MM:SS`` (scontrol, sacct); None is UNLIMITED.

    Examples
    --------
    >>> format_duration(93784), format_duration(600), format_duration(None)
    ('1-02:03:04', '00:10:00', 'UNLIMITED')
    """
    if seconds is None:
        return "UNLIMITED"
    if seconds < 0:
        raise DurationError(f"{seconds} s is negative", expected="a duration of at least 0 s")
    return long_form(seconds)


def long_form(seconds: int) -> str:
    """Return ``[D-]HH:MM:SS``."""
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    clock = f"{hour:02d}:{minute:02d}:{second:02d}"
    return f"{days}-{clock}" if days else clock
