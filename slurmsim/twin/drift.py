"""What a twin missed of what became of its cluster: the starts between two dumps, by the reason ours gave.

The twin of the earlier dump lives on to the instant of the later one, and jobs that ended by then run as long as
they did. So what differs is a decision, not a run time. Jobs that came meanwhile are counted; our twin lacks them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from slurmsim.data_classes import dataclass, field
from slurmsim.hostlist import HostlistError, expand
from slurmsim.numerals import is_number
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.submit_request import MOST_NAMES
from slurmsim.states import JobState
from slurmsim.twin.build import build
from slurmsim.twin.dump import Dump
from slurmsim.twin.jobs import SeenJob
from slurmsim.twin.run_times import RunTimes
from slurmsim.twin.twin import Twin

TIE_S = 30  # a start is foreseen that lies no farther beyond the later dump
MOST_SHOWN = 5


@dataclass(slots=True)
class Drift:
    """Starts between two dumps: theirs, and those of ours alone.

    Attributes
    ----------
    missed, early
        Jobs that started without ours, or ours without them, by the reason that the other side gives.
    """

    starts: int = 0
    foreseen: int = 0
    same_nodes: int = 0
    came: int = 0
    missed: dict[str, list[str]] = field(default_factory=dict)
    early: dict[str, list[str]] = field(default_factory=dict)

    def counts(self) -> Counter[tuple[str, str]]:
        """Return how many jobs were missed or early, by that word and the reason."""
        sides = (("missed", self.missed), ("early", self.early))
        return Counter({(kind, reason): len(jobs) for kind, side in sides for reason, jobs in side.items()})


def drift(before: Dump, after: Twin, records: str, scratch: Path, release: str = "") -> Drift:
    """Return what the twin of `before` missed of what had become of its jobs by the dump of `after`.

    `records`: the sacct.txt of the later dump.

    Raises SlurmSimError.
    """
    theirs = {job.shown_id: job for job in after.jobs}
    known = {**_told(records), **_ran(after.jobs)}
    twin = build(before, scratch, release=release, run_times=RunTimes(known))
    since, until = twin.now, max(twin.now, after.now)
    waiting = dict(_waiting(twin))
    twin.engine.network.advance(until)
    reasons = {name: str(live.core.reason) for name, live in waiting.items()}
    twin.engine.network.advance(until + TIE_S)
    found = Drift(came=sum(job.submit > since for job in after.jobs))
    for name, live in waiting.items():
        seen, start = theirs.get(name), live.core.start_time
        if seen is None:
            continue
        if bool(seen.nodes) and seen.start is not None and since < seen.start <= until:
            found.starts += 1
            if start is None:
                found.missed.setdefault(reasons[name], []).append(name)
            else:
                found.foreseen += 1
                found.same_nodes += _nodes(twin, live) == _names(seen.nodes)
        elif seen.state == JobState.PENDING and start is not None and start < until - TIE_S:
            found.early.setdefault(seen.reason or "None", []).append(name)
    return found


def _told(records: str) -> dict[str, tuple[int, int]]:
    """Return the same of the lines of sacct, which know jobs that slurmctld has forgotten."""
    lines = records.splitlines()
    head = lines[0].split("|") if lines else []
    if not {"JobID", "State", "ExitCode", "Start", "End"} <= set(head):
        return {}
    found = {}
    for line in lines[1:]:
        row = dict(zip(head, line.split("|"), strict=False))
        times = row.get("Start", ""), row.get("End", "")
        code = row.get("ExitCode", "").partition(":")[0]
        if row.get("State") in ("COMPLETED", "FAILED") and all(map(is_number, (*times, code))):
            found[row["JobID"]] = max(int(times[1]) - int(times[0]), 0), int(code) & 0xFF
    return found


def _ran(jobs: Iterable[SeenJob]) -> dict[str, tuple[int, int]]:
    """Return how long jobs ran that are over, and their exit status."""
    return {
        job.shown_id: (max(job.end - job.start, 0), int(job.exit_code.partition(":")[0]))
        for job in jobs
        if job.is_over and job.start is not None and job.end is not None and job.state in ("COMPLETED", "FAILED")
    }


def _waiting(twin: Twin) -> Iterable[tuple[str, LiveJob]]:
    for live in twin.engine.jobs.values():
        if live.core.start_time is None and live.core.state == JobState.PENDING:
            yield (str(live.id) if live.array is None else f"{live.array.id}_{live.task}"), live


def _nodes(twin: Twin, live: LiveJob) -> list[str]:
    alloc = live.core.alloc
    return [] if alloc is None else _names(twin.engine.controller.state.cluster.node_list(alloc))


def _names(text: str) -> list[str]:
    try:
        return sorted(expand(text, MOST_NAMES))
    except HostlistError:
        return []
