"""``--until``: a moment of the simulation, in the ways people say it."""

import datetime as dt

from slurmsim.duration import parse_duration
from slurmsim.errors import ConfigError
from slurmsim.numerals import is_number
from slurmsim.workload import Workload

EXPECTED = "seconds of the log's clock, +D-HH:MM:SS after its first job, or YYYY-MM-DD[THH:MM:SS]"


def parse_until(text: str, workload: Workload) -> int:
    """Absolute second on the workload's clock. Raises ConfigError if it is no time or before the first job."""
    at = parse_moment(text, workload)
    first = int(workload.ints["submit"].min()) if len(workload) else 0
    if at < first:
        raise ConfigError(f"{text!r} is before the first job is submitted ({first})", field="--until",
                          expected=EXPECTED)  # fmt: skip
    return at


def parse_moment(text: str, workload: Workload) -> int:
    """Read any time in the same way, also one before the first job. Raises ConfigError if it is no time."""
    first = int(workload.ints["submit"].min()) if len(workload) else 0
    try:
        if text.startswith("+"):
            seconds = parse_duration(text[1:])
            if seconds is None:
                raise ValueError(text)
            at = first + seconds
        elif is_number(text.lstrip("-")):
            at = int(text)
        else:
            moment = dt.datetime.fromisoformat(text)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=dt.UTC)
            at = int(moment.timestamp()) - workload.header.epoch
    except (ValueError, OverflowError):
        raise ConfigError(f"{text!r} is no time", field="--until", expected=EXPECTED) from None
    return at
