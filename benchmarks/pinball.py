"""Predictors beside each other on a log: pinball loss, how often an interval holds, how often a median is too short.

``python benchmarks/pinball.py LOG.swf.gz [JOBS]``. Jobs come and end as the log says; a predictor is asked when a job
comes, and told when one has ended, so nothing of the future. The first quarter of the jobs is not counted. The loss is
the mean over the quantiles 0.1, 0.5 and 0.9, in seconds; without an interval the median stands for all three.
"""

from __future__ import annotations

import heapq
import sys
import time
from types import SimpleNamespace
from typing import Any

from slurmsim.policy import load_predictor
from slurmsim_workloads import read_workload

QUANTILES = (0.1, 0.5, 0.9)


def main(log: str, most: int) -> None:
    """Print a row for each predictor."""
    workload = read_workload(log)
    jobs = [job_of(workload, row) for row in range(min(most, len(workload)))]
    print(f"{len(jobs):,} jobs\n{'predictor':14}{'pinball s':>11}{'median only s':>15}{'in interval %':>15}"
          f"{'too short %':>13}{'CPU s':>8}")  # fmt: skip
    for name in ("requested", "last_two", "data_driven", "learned"):
        began = time.process_time()
        row = measured(load_predictor(name)(), jobs)
        print(f"{name:14}{row[0]:>11,.0f}{row[1]:>15,.0f}{row[2]:>15.1f}{row[3]:>13.1f}"
              f"{time.process_time() - began:>8.1f}", flush=True)  # fmt: skip


def job_of(workload: Any, row: int) -> Any:
    ints, texts = workload.ints, workload.texts
    limit, tasks = int(ints["time_limit"][row]), int(ints["tasks"][row])
    return SimpleNamespace(
        id=int(ints["job_id"][row]), user=texts["user"][row], name=texts["name"][row], time_limit_s=max(limit, 1),
        partitions=[SimpleNamespace(name="p")], asked=(("node", 1), ("cpu", tasks)), account=texts["account"][row],
        qos="", came=int(ints["submit"][row]), ran=int(ints["run_time"][row]), log_start=int(ints["log_start"][row]),
    )  # fmt: skip


def measured(predictor: Any, jobs: list[Any]) -> tuple[float, float, float, float]:
    """Return the losses, and the shares of jobs in the interval and beyond the median."""
    ends: list[tuple[int, int, Any]] = []
    losses, medians, inside, short, n = 0.0, 0.0, 0, 0, 0
    for k, job in enumerate(jobs):
        while ends and ends[0][0] <= job.came:
            at, _, ended = heapq.heappop(ends)
            predictor.ended(ended, at, ended.ran)
        found = predictor.predict(job, job.came)
        told = predictor.estimate(job, job.came)
        heapq.heappush(ends, (max(job.log_start, job.came) + job.ran, k, job))
        if k < len(jobs) // 4:
            continue
        middle = job.time_limit_s if found is None else min(found, job.time_limit_s)
        three = (middle,) * 3 if told is None else (told.low_s, told.median_s, told.high_s)
        three = tuple(min(end, job.time_limit_s) for end in three)
        losses += sum(loss(q, job.ran, end) for q, end in zip(QUANTILES, three, strict=True)) / 3
        medians += loss(0.5, job.ran, middle)
        inside += three[0] <= job.ran <= three[2]
        short += middle < job.ran
        n += 1
    return losses / n, medians / n, 100 * inside / n, 100 * short / n


def loss(q: float, real: float, said: float) -> float:
    """Return the pinball loss of one prediction."""
    return max(q * (real - said), (q - 1) * (real - said))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 62)
