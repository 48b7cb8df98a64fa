"""Slurm's time limits as text: ``30``, ``1:30:00``, ``2-12``, ``UNLIMITED``.

Formats (22.05): ``M``, ``M:S``, ``H:M:S``, ``D-H``, ``D-H:M``, ``D-H:M:S``, and ``-1``, ``INFINITE`` or
``UNLIMITED``. Fields may exceed their usual range (``90:00`` is ninety minutes).
"""

from __future__ import annotations

import re

from slurmsim.errors import InputError

FORMATS = "minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S or UNLIMITED"

_UNLIMITED = frozenset({"-1", "infinite", "unlimited"})
_PLAIN = re.compile(r"(\d{1,18})(?::(\d{1,18}))?(?::(\d{1,18}))?", re.ASCII)
_DAYS = re.compile(r"(\d{1,18})-(\d{1,18})(?::(\d{1,18}))?(?::(\d{1,18}))?", re.ASCII)


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
    if match := _DAYS.fullmatch(stripped):
        days, hours, minutes, seconds = (int(field or 0) for field in match.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if match := _PLAIN.fullmatch(stripped):
        first, second, third = match.groups()
        if third is not None:
            return (int(first) * 60 + int(second)) * 60 + int(third)
        return int(first) * 60 + int(second or 0)
    raise DurationError(f"{text!r} is not a time", expected=FORMATS)


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
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    clock = f"{hour:02d}:{minute:02d}:{second:02d}"
    return f"{days}-{clock}" if days else clock
