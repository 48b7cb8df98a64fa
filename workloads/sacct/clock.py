"""What the times of a ``sacct -P`` dump say of the clock they were taken from.

sacct prints times in the zone of the user that runs it, without its name, unless SLURM_TIME_FORMAT=%s is set. Elapsed
times do not depend on the zone, so End - Start - Elapsed shows each change of clocks that a job ran through.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass
from slurmsim_workloads.sacct import fields
from slurmsim_workloads.sacct.columns import Columns, IntColumn, local_to_unix, time_zone
from slurmsim_workloads.sacct.dump import read_dump

QUARTER_S = 900
TIMES = ("Submit", "Eligible", "Start", "End")


@dataclass(frozen=True, slots=True)
class Shift:
    """A change of clocks by `seconds` that `jobs` ran through: End - Start is so much more than they ran.

    It lies between `after` and `before` on the dump's clock.
    """

    seconds: int
    jobs: int
    after: int
    before: int


@dataclass(frozen=True, slots=True)
class DumpClock:
    """The clock of a dump."""

    fields: frozenset[str]  # the fields it has, of those that are read
    # local, unix: how many times are written as dates without a zone, and how many in Unix seconds
    local: int
    unix: int
    # never, twice: with a zone given: dates that never were there (clocks put forward), and those that were twice
    never: int
    twice: int
    shifts: tuple[Shift, ...]  # changes of clocks that jobs ran through and the zone does not explain
    unequal: int  # jobs with another End - Start than they ran, by more than a second, for other reasons


def dump_clock(path: Path, options: Mapping[str, str]) -> DumpClock:
    """Look at the times of a dump, read with `options` of the format sacct. Raises WorkloadError, ConfigError."""
    zone = time_zone(options.get("timezone", ""))
    dump = read_dump(path, options.get("delimiter", ""), drop_bad=options.get("bad_lines") == "drop")
    as_written, columns = Columns(path, dump, None), Columns(path, dump, zone)
    local = unix = never = twice = 0
    for name in TIMES:
        if name not in columns:
            continue
        written = as_written.times(name)
        dated = _dated(columns, name)
        local += int(np.count_nonzero(dated & (written >= 0)))
        unix += int(np.count_nonzero(~dated & (written >= 0)))
        if zone is not None and dated.any():
            wall = np.unique(written[dated & (written >= 0)] // QUARTER_S) * QUARTER_S
            counts = {int(t): n for t, n in zip(*np.unique(written[dated] // QUARTER_S * QUARTER_S, return_counts=True),
                                                strict=True)}  # fmt: skip
            gone, doubled = _odd(wall, zone.key)
            never += sum(counts[int(t)] for t in wall[gone])
            twice += sum(counts[int(t)] for t in wall[doubled])
    shifts, unequal = _shifts(columns)
    return DumpClock(frozenset(dump.columns), local, unix, never, twice, shifts, unequal)


def _dated(columns: Columns, name: str) -> npt.NDArray[np.bool_]:
    import pyarrow.compute as pc

    found: npt.NDArray[np.bool_] = pc.match_substring_regex(columns.array(name), r"^\d{4}-").to_numpy(False)
    return found


def _odd(wall: IntColumn, zone: str) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which wall-clock times never were in a zone, and which were twice."""
    found = time_zone(zone)
    assert found is not None
    first, second = (local_to_unix(wall, found, fold=fold) for fold in (0, 1))
    return first > second, first < second


def _shifts(columns: Columns) -> tuple[tuple[Shift, ...], int]:
    """Return the jobs with another End - Start than they ran: by whole quarters of an hour, and otherwise."""
    if not ("Start" in columns and "End" in columns and ("ElapsedRaw" in columns or "Elapsed" in columns)):
        return (), 0
    raw = "ElapsedRaw" in columns
    elapsed = columns.ints("ElapsedRaw" if raw else "Elapsed", fields.parse_number if raw else fields.parse_elapsed)
    suspended = np.maximum(columns.ints("Suspended", fields.parse_elapsed, 0), 0)
    start, end = columns.times("Start"), columns.times("End")
    known = (start >= 0) & (end >= 0) & (elapsed >= 0)
    off = np.where(known, end - start - suspended - elapsed, 0)
    whole = (off != 0) & (np.abs(off) < 86_400) & (np.abs(off - np.round(off / QUARTER_S) * QUARTER_S) <= 1)
    whole &= np.abs(off) > 1
    steps = (np.round(off / QUARTER_S) * QUARTER_S).astype(np.int64)
    shifts = []
    for seconds in np.unique(steps[whole]).tolist():
        of = whole & (steps == seconds)
        shifts.append(Shift(seconds, int(of.sum()), int(start[of].max()), int(end[of].min())))
    return tuple(shifts), int(np.count_nonzero((np.abs(off) > 1) & ~whole))
