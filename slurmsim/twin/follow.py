"""Rounds after a real cluster: each reads a new dump, tells what the twin of the last one missed, and forgets that."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from slurmsim.data_classes import dataclass, field
from slurmsim.errors import OutputError, SlurmSimError, WorkloadError
from slurmsim.states import JobState
from slurmsim.twin.build import build
from slurmsim.twin.collect import collect
from slurmsim.twin.drift import MOST_SHOWN, Drift, drift
from slurmsim.twin.dump import MOST, Dump, read_dump
from slurmsim.twin.twin import Twin

LONGEST_S = 600  # that a command may take
MOST_APART_S = 7 * 86_400  # between two dumps: from farther on nothing is foreseen, and the later one is as the first
MOST_REASONS = 50  # told apart over all rounds; others count together
OTHER = "other"


@dataclass(frozen=True, slots=True)
class Round:
    """One of them: what the cluster has and does, and what the twin before missed; None in the first."""

    number: int
    now: int
    running: int
    waiting: int
    nodes: int
    seconds: float
    drift: Drift | None
    findings: int


@dataclass(slots=True)
class Totals:
    """What all rounds counted."""

    rounds: int = 0
    failed: int = 0
    starts: int = 0
    foreseen: int = 0
    same_nodes: int = 0
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, one: Round) -> None:
        """Add a round."""
        self.rounds += 1
        if one.drift is None:
            return
        self.starts += one.drift.starts
        self.foreseen += one.drift.foreseen
        self.same_nodes += one.drift.same_nodes
        for (kind, reason), count in one.drift.counts().items():
            known = (kind, reason) in self.reasons or len(self.reasons) < MOST_REASONS
            self.reasons[kind, reason if known else OTHER] += count


class Follower:
    """Follows one cluster; of all dumps it keeps the last. `show` is given the twin of each."""

    def __init__(self, release: str = "", show: Callable[[Twin], None] | None = None) -> None:
        self._release, self._show = release, show
        self._last: Dump | None = None
        self._last_at = 0
        self._number = 0

    def round(self, dump: Dump) -> Round:
        """Read a dump. Raises SlurmSimError, and then the last good one stays."""
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="slurmsim-twin-") as name:
            scratch, other = Path(name) / "now", Path(name) / "before"
            scratch.mkdir()
            other.mkdir()
            twin = build(dump, scratch, release=self._release)
            missed = None
            if self._last is not None and 0 <= twin.now - self._last_at <= MOST_APART_S:
                missed = drift(self._last, twin, dump.text("sacct.txt"), other, self._release)
            if self._show is not None:
                self._show(twin)
        self._last, self._last_at, self._number = dump, twin.now, self._number + 1
        return Round(
            self._number, twin.now, sum(job.is_running for job in twin.jobs),
            sum(job.state == JobState.PENDING for job in twin.jobs), twin.engine.controller.state.table.n,
            time.monotonic() - began, missed, len(twin.findings.all()),
        )  # fmt: skip


@contextmanager
def asked(command: Sequence[str]) -> Iterator[Path]:
    """Yield the tar that `command` prints; of no command what the cluster on PATH answers. Raises OutputError."""
    with tempfile.TemporaryDirectory(prefix="slurmsim-twin-") as name:
        path = Path(name) / "dump"
        if command:
            _print_into(path, command)
        else:
            collect(path)
        yield path


def _print_into(path: Path, command: Sequence[str]) -> None:
    try:
        with path.open("wb") as file:
            ran = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.PIPE, timeout=LONGEST_S, check=False
            )
    except subprocess.TimeoutExpired:
        raise OutputError(f"{command[0]}: took longer than {LONGEST_S} s") from None
    except OSError as error:
        raise OutputError(f"{command[0]}: {error.strerror or error}") from None
    if ran.returncode:
        said = ran.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise OutputError(f"{command[0]}: ended with {ran.returncode}{f': {said[0]}' if said else ''}")
    if not 0 < path.stat().st_size <= MOST:
        raise WorkloadError("printed no tar of a dump", file=command[0], expected="such as tar -c slurm-dump prints")


def follow(
    command: Sequence[str], every_s: float, rounds: int | None, follower: Follower, tell: Callable[[Round], None],
    fail: Callable[[Exception], None],
) -> None:  # fmt: skip
    """Make rounds, `every_s` from begin to begin where they do not take longer; `fail` is told of those that fail."""
    done, due = 0, time.monotonic()
    while rounds is None or done < rounds:
        time.sleep(max(0.0, due - time.monotonic()))
        due, done = time.monotonic() + every_s, done + 1
        try:
            with asked(command) as path:
                one = follower.round(read_dump(path))
        except (SlurmSimError, OSError) as error:
            fail(error)
        else:
            tell(one)


def as_line(one: Round) -> str:
    """Return a round as a line, and a line for each reason of starts that were missed or early."""
    when = datetime.fromtimestamp(one.now).isoformat(" ", "seconds")
    head = f"{when}  {one.running} running, {one.waiting} waiting"
    if one.drift is None:
        return f"{head}; {one.findings} findings of the dump"
    d = one.drift
    lines = [f"{head}; {d.starts} started, {d.foreseen} foreseen ({d.same_nodes} on the same nodes), {d.came} came"]
    for text, side in (("started, and our reason to wait was", d.missed), ("waits, and started in ours", d.early)):
        for reason, jobs in sorted(side.items(), key=lambda item: -len(item[1])):
            more = f" and {len(jobs) - MOST_SHOWN} more" if len(jobs) > MOST_SHOWN else ""
            lines.append(f"  {', '.join(jobs[:MOST_SHOWN])}{more} {text}: {reason}")
    return "\n".join(lines)


def as_gauges(one: Round | None, totals: Totals) -> str:
    """Return the last round and all together as Prometheus reads them."""
    lines: list[str] = []

    def add(name: str, what: str, kind: str, *values: tuple[str, float]) -> None:
        lines.extend([f"# HELP slurmsim_twin_{name} {what}", f"# TYPE slurmsim_twin_{name} {kind}"])
        lines.extend(f"slurmsim_twin_{name}{labels} {value:.15g}" for labels, value in values)

    if one is not None:
        add("time_seconds", "Instant of the last dump that was read.", "gauge", ("", one.now))
        add("jobs", "Jobs of the last dump.", "gauge", ('{state="running"}', one.running),
            ('{state="pending"}', one.waiting))  # fmt: skip
        add("nodes", "Nodes of the last dump.", "gauge", ("", one.nodes))
        add("round_seconds", "What the last round took.", "gauge", ("", round(one.seconds, 3)))
    add("rounds_total", "Dumps that were read, or were not.", "counter", ('{result="read"}', totals.rounds),
        ('{result="failed"}', totals.failed))  # fmt: skip
    add("starts_total", "Starts of the cluster between two dumps.", "counter", ("", totals.starts))
    add("starts_foreseen_total", "Those that the twin made too.", "counter", ("", totals.foreseen))
    add("starts_on_same_nodes_total", "Those on the same nodes.", "counter", ("", totals.same_nodes))
    reasons = [(f'{{kind="{kind}",reason="{_label(reason)}"}}', float(count))
               for (kind, reason), count in sorted(totals.reasons.items())]  # fmt: skip
    add("drift_total", "Starts of one side alone, by the reason the other gives.", "counter", *reasons)
    return "\n".join([*lines, ""])


def _label(text: str) -> str:
    return text[:200].replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def write_gauges(path: Path, text: str) -> None:
    """Put the text in place of what is at `path`, whole at any time. Raises OutputError."""
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_text(text, "utf-8")
        new.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}") from None
