"""The reservations of a dump, as the twin's controller is told of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.reservation import ReservationSpec
from slurmsim.sim.reservation_file import parse_reservations
from slurmsim.twin.dump import Dump
from slurmsim.twin.findings import Findings, Weight
from slurmsim.twin.moments import Moments
from slurmsim.workload import Workload

FILE = "reservation.txt"
_TIME = re.compile(r"\b(StartTime|EndTime)=(\S+)")
_NO_JOBS = Workload(ints={name: np.zeros(0, np.int64) for name in ("job_id", "submit", "run_time")}, texts={})


def reservations(dump: Dump, cluster: ClusterSpec, moments: Moments, findings: Findings) -> Iterator[ReservationSpec]:
    """Yield the reservations; one that cannot be taken over is a finding. Raises WorkloadError for a wrong time."""
    text = dump.text(FILE)
    parts = re.split(r"^(?=[ \t]*ReservationName=)", text, flags=re.MULTILINE)
    line = 1
    for part in parts:
        if part.lstrip().startswith("ReservationName="):
            name = part.lstrip().partition("=")[2].split(maxsplit=1)[0]
            try:
                yield _spec(_in_seconds(part, moments, dump.path(FILE), line), cluster, dump)
            except ConfigError as error:
                findings.add(Weight.HEAVY, f"is not taken over: {error.message}", f"reservation {name}")
        line += part.count("\n")


def _spec(text: str, cluster: ClusterSpec, dump: Dump) -> ReservationSpec:
    found = parse_reservations(text, Path(dump.path(FILE)), cluster, _NO_JOBS)
    spec = getattr(found[0].fact, "spec", None)
    if not isinstance(spec, ReservationSpec):
        raise WorkloadError("no reservation", file=dump.path(FILE))
    return spec


def _in_seconds(text: str, moments: Moments, file: str, line: int) -> str:
    """Return the same with times in seconds since the epoch."""

    def seconds(match: re.Match[str]) -> str:
        return f"{match[1]}={moments.read(match[2], file, line, match[1]) or 0}"

    return _TIME.sub(seconds, text)
