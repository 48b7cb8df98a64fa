"""The clock of a log: times that cannot be, clocks that were changed, and what zone the times are in."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from slurmsim.calibrate.remarks import Remark
from slurmsim.report.text import duration
from slurmsim.workload import Workload
from slurmsim_workloads.sacct.clock import DumpClock

BACK_S = 60  # submissions are said to run backwards where they do by more than this
AROUND = 5
"""Submissions on either side; their medians are compared, since one job requeued and submitted again is no clock."""
HOUR, DAY = 3600, 86_400
RHYTHM = 0.1  # length of the mean vector of the hours from which on a log has days and nights


def clock_remarks(workload: Workload, dump: DumpClock | None, timed: Sequence[int] = ()) -> list[Remark]:
    """Return what is odd about the times of a log; `timed` are those of events and reservations given beside it."""
    found = list(_zone(dump)) if dump is not None else []
    found += _order(workload)
    found += _backwards(workload)
    found += _nights(workload)
    found += _beside(workload, timed)
    return found


def _zone(dump: DumpClock) -> Iterator[Remark]:
    if dump.local and dump.unix:
        yield Remark("warning", f"{dump.local:,} times are dates without a zone and {dump.unix:,} are Unix seconds: "
                     "pieces of the dump were made differently", dump.local)  # fmt: skip
    if dump.never:
        yield Remark("warning", f"{dump.never:,} times never were in the zone given, clocks were put forward: the zone "
                     "is not that of the dump", dump.never)  # fmt: skip
    if dump.twice:
        yield Remark("note", f"{dump.twice:,} times lie in an hour that came twice; the first is taken", dump.twice)
    for shift in dump.shifts:
        ran, way = ("less", "forward") if shift.seconds > 0 else ("more", "back")
        remedy = "; times are local: give their zone with --option timezone=…" if dump.local else ""
        yield Remark("warning", f"{shift.jobs:,} jobs ran {duration(abs(shift.seconds))} {ran} than from their start "
                     f"to their end: clocks were put {way} between {_date(shift.after)} and {_date(shift.before)}"
                     f"{remedy}", shift.jobs)  # fmt: skip
    if dump.unequal:
        yield Remark("warning", f"{dump.unequal:,} jobs ran another time than from their start to their end",
                     dump.unequal)  # fmt: skip
    if dump.local and not dump.shifts and not dump.never:
        yield Remark("note", f"{dump.local:,} times are dates without a zone; no job shows that the zone they are read "
                     "in is wrong", dump.local)  # fmt: skip


def _order(workload: Workload) -> Iterator[Remark]:
    """Yield remarks on records with times that contradict each other."""
    submit, eligible, start, end = (workload.ints[name] for name in ("submit", "log_eligible", "log_start", "log_end"))
    for what, mask in (
        ("started before they were submitted", (start >= 0) & (start < submit)),
        ("ended before they started", (start >= 0) & (end >= 0) & (end < start)),
        ("started before they were eligible", (start >= 0) & (eligible >= 0) & (start < eligible)),
    ):
        if n := int(np.count_nonzero(mask)):
            first = int(workload.ints["job_id"][mask][0])
            yield Remark("warning", f"{n:,} jobs {what} (the first: job {first})", n)


def _backwards(workload: Workload) -> Iterator[Remark]:
    """Job numbers rise with time; where submissions fall with them, a clock was put back or pieces disagree."""
    single = workload.ints["array_job_id"] == -1
    ids, submit = workload.ints["job_id"][single], workload.ints["submit"][single]
    order = np.argsort(ids, kind="stable")
    ids, submit = ids[order], submit[order]
    if len(ids) <= 2 * AROUND:
        return
    windows = np.lib.stride_tricks.sliding_window_view(submit, AROUND)
    middle = np.median(windows, axis=1)
    back = middle[:-AROUND] - middle[AROUND:]  # at i: those before i + AROUND against those from it on
    at = np.flatnonzero(back > BACK_S)
    if not len(at):
        return
    episodes = np.split(at, np.flatnonzero(np.diff(at) > AROUND) + 1)
    worst = int(at[np.argmax(back[at])])
    yield Remark("warning", f"submissions run backwards {len(episodes)} times as job numbers rise, by up to "
                 f"{duration(float(back[worst]))} (at job {int(ids[worst + AROUND])}): a clock was put back, job "
                 "numbers began anew, or pieces of the log are in different zones", len(episodes))  # fmt: skip


def _nights(workload: Workload) -> Iterator[Remark]:
    """When the fewest jobs are submitted, where the log has days and nights: it tells the zone."""
    submit = workload.ints["submit"] + workload.header.epoch
    if len(submit) < 500 or int(np.ptp(submit)) < 7 * DAY:
        return
    angle = 2 * np.pi * (submit % DAY) / DAY
    if float(np.abs(np.exp(1j * angle).mean())) < RHYTHM:
        return
    quiet = _quiet(submit)
    if quiet not in range(22, 24) and quiet not in range(4):
        yield Remark("note", f"fewest jobs are submitted from {quiet:02d} to {(quiet + 6) % 24:02d} o'clock: nights "
                     "are elsewhere, so the times are read in another zone than the site's: that matters for what "
                     "goes by midnights (resets of usage, reservations)")  # fmt: skip


def _quiet(submit: npt.NDArray[np.int64]) -> int:
    """Return the hour that begins the six hours with the fewest submissions."""
    hours = np.bincount(submit % DAY // HOUR, minlength=24)
    six = np.array([np.roll(hours, -h)[:6].sum() for h in range(24)])
    return int(np.argmin(six))


def _beside(workload: Workload, timed: Sequence[int]) -> Iterator[Remark]:
    """Events and reservations of another time than the log."""
    if not len(timed) or not len(workload):
        return
    low, high = (
        int(workload.ints["submit"].min()),
        int(max(workload.ints["log_end"].max(), workload.ints["submit"].max())),
    )
    outside = sum(1 for t in timed if not low - DAY <= t <= high + DAY)
    if outside:
        yield Remark("warning", f"{outside:,} of {len(timed):,} events and reservations lie outside the log's time: is "
                     "one in local time and the other in UTC?", outside)  # fmt: skip


def _date(seconds: int) -> str:
    return f"{dt.datetime.fromtimestamp(seconds, dt.UTC):%Y-%m-%d %H:%M}"
