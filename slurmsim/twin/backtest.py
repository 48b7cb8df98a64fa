"""How well forecasts would have held on a site's own past: waits of its log, asked when they began.

Of each wait the twin of that second is made of the log: who ran where, who waited. The forecast may draw only from jobs
that had ended by then. What the log does not tell (priorities of that time, reservations, drained nodes) is as now.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from slurmsim.errors import SlurmSimError
from slurmsim.live.waiting.interval import LEAST_COPIES
from slurmsim.live.waiting.onlooker import Onlooker
from slurmsim.states import JobState
from slurmsim.twin.build import build
from slurmsim.twin.dump import Dump
from slurmsim.twin.folder import write
from slurmsim.twin.forecast import Forecaster
from slurmsim.twin.jobs import NO_LIMIT, SeenJob
from slurmsim.twin.past import known
from slurmsim.workload import Workload

MOST_WAITS, MOST_S = 24, 20.0
SLACK_S = 30  # by which a start may lie beside an interval: schedulers look that often
LEAST_WAIT_S = 60  # shorter ones need no forecast
ENOUGH = 40  # ended jobs before the first wait that is asked


def backtest(dump: Dump, records: Workload, release: str, seed: int = 0, most: int = MOST_WAITS) -> dict[str, Any]:
    """Return how many waits were asked (``n``), and how many starts lay in the intervals (``in80``, ``in50``)."""
    found = {"n": 0, "in80": 0, "in50": 0}
    began = time.monotonic()
    rows = _waits(records)
    for row in Random(seed).sample(rows, min(len(rows), most)):
        if time.monotonic() - began > MOST_S:
            break
        told = _asked(dump, records, row, release)
        if told is None:
            continue
        start = int(records.ints["log_start"][row])
        found["n"] += 1
        found["in80"] += _within(start, told["low80"], told["high80"])
        found["in50"] += _within(start, told["low50"], told["high50"])
    return found


def _within(start: int, low: int | None, high: int | None) -> bool:
    return low is not None and low - SLACK_S <= start and (high is None or start <= high + SLACK_S)


def _waits(records: Workload) -> list[int]:
    """Return the rows that waited for nodes, and came when enough jobs had ended."""
    ints = records.ints
    submit, eligible, start, end = (ints[name] for name in ("submit", "log_eligible", "log_start", "log_end"))
    ended = sorted(end[end > 0].tolist())
    if len(ended) <= ENOUGH:
        return []
    first = ended[ENOUGH]
    waited = (start - submit >= LEAST_WAIT_S) & (eligible <= submit + 1) & (submit >= first)
    waited &= ints["array_task_id"] < 0
    return [int(row) for row in waited.nonzero()[0]]


def _asked(dump: Dump, records: Workload, row: int, release: str) -> dict[str, Any] | None:
    """Return the forecast for a job of the log at its submission; None where it cannot be made."""
    then = int(records.ints["submit"][row])
    jobs = list(_alive(records, then))
    with tempfile.TemporaryDirectory(prefix="slurmsim-twin-") as name:
        scratch, folder = Path(name) / "scratch", Path(name) / "cluster"
        scratch.mkdir()
        folder.mkdir(mode=0o700)
        try:
            twin = build(dump, scratch, release=release, then=(then, jobs))
            write(twin, folder)
        except SlurmSimError:
            return None
        number = int(records.ints["job_id"][row])
        with Onlooker(folder) as onlooker:
            live = next((one for one in onlooker.engine.jobs.values() if one.id == number), None)
            past = known(records, before=then)
            forecaster = Forecaster(onlooker, past)
            if live is None or live.core.state != JobState.PENDING or not forecaster.knows_enough:
                return None
            found: dict[str, Any] = forecaster.forecast(live, LEAST_COPIES)["start"]
            return found


def _alive(records: Workload, then: int) -> Iterator[SeenJob]:
    """Yield the jobs that ran or waited at that instant, as a dump would have had them."""
    ints, texts = records.ints, records.texts
    start, end, submit = ints["log_start"], ints["log_end"], ints["submit"]
    for row in ((submit <= then) & ((end > then) | (end <= 0))).nonzero()[0].tolist():
        ran = 0 < int(start[row]) <= then
        if int(start[row]) <= 0 and int(ints["log_eligible"][row]) > then:
            continue
        number = int(ints["job_id"][row])
        nodes, cpus = max(int(ints["nodes"][row]), 1), int(ints["tasks"][row]) * max(int(ints["cpus_per_task"][row]), 1)
        limit = int(ints["time_limit"][row])
        memory = int(ints["mem_per_node"][row])
        yield SeenJob(
            id=number, line=row + 2, file="sacct.txt", state=JobState.RUNNING if ran else JobState.PENDING,
            user=texts["user"][row], uid=None, group="", gid=None, name="", account=texts["account"][row],
            qos=texts["qos"][row], limit_min=limit // 60 if limit > 0 else NO_LIMIT, submit=int(submit[row]),
            eligible=int(submit[row]), start=int(start[row]) if ran else None, partition=texts["partition"][row],
            nodes=texts["log_nodes"][row] if ran else "", min_nodes=nodes, max_nodes=nodes, cpus=max(cpus, 1),
            n_tasks=max(int(ints["tasks"][row]), 1), mem_per_node_mib=memory if memory > 0 else None,
            shared="exclusive" if ints["exclusive"][row] else "", licenses=texts["licenses"][row],
            features=texts["constraint"][row],
            gres={"tres_per_node": f"gres:{texts['gres'][row]}"} if texts["gres"][row] else {},
        )  # fmt: skip
