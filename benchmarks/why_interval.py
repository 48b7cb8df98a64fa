"""How often a job starts within the interval that `slurmsim why` gives: one log, asked about at random waits.

    python benchmarks/why_interval.py LOG.swf NODES [WAITS] [FIRST] [JOBS]

A cluster of NODES of one CPU lives through JOBS jobs of the log from number FIRST on under Slurm's backfill, as a live
one does: it knows limits, and run times of those that have ended. After the first third some waiting job is drawn at
each of WAITS instants; its start in each copy is kept, and compared with its real one. Printed: JSON, then lines.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from random import Random

import slurmsim
from slurmsim.live.waiting.interval import HIGH, LOW, at_level, starts
from slurmsim.live.waiting.onlooker import Onlooker
from slurmsim.live.waiting.past import newest
from slurmsim.protocol import Client
from slurmsim.states import JobState

WAITED_S = 120
"""Who has waited less has perhaps not been looked at."""


def main(log: str, nodes: int, waits: int = 60, first: int = 1000, jobs: int = 900) -> None:
    rows = [line.split() for line in _text(Path(log)).splitlines() if line.strip() and line[0] != ";"]
    rows = [row for row in rows if int(row[3]) > 0 and 0 < int(row[7] if int(row[7]) > 0 else row[4]) <= nodes]
    rows = sorted(rows, key=lambda row: int(row[1]))[first : first + jobs]
    begin, rng, asked = int(rows[0][1]), Random(1), {}
    users = {f"u{row[11]}" for row in rows}
    at = {len(rows) // 3 + k * (2 * len(rows) // 3) // waits for k in range(waits)}
    epoch = 1_767_600_000
    with slurmsim.cluster(nodes=nodes, cpus_per_node=1, frozen=True, start=epoch,
                          users={user: 3000 + k for k, user in enumerate(sorted(users))}) as c:  # fmt: skip
        clients = {user: Client(str(c.folder), user, None) for user in users}
        for k, row in enumerate(rows):
            ahead = epoch + int(row[1]) - begin - c.now
            if ahead > 0:
                c.step(ahead)
            size, limit = int(row[7] if int(row[7]) > 0 else row[4]), max(int(row[8]), int(row[3]), 60)
            job = {"name": "j", "script": f"#!/bin/sh\n#SLURMSIM runtime={int(row[3])}\n", "work_dir": "/",
                   "min_nodes": size, "max_nodes": size, "num_tasks": size, "time_limit": -(-limit // 60)}  # fmt: skip
            clients[f"u{row[11]}"].call("submit", job=job)
            if k in at:
                _ask(c, rng, asked)
        c.until_idle()
        real = {job.job_id: job.start_time for job in c.jobs()}
    for job_id, (now, found) in asked.items():
        print(json.dumps({"job": job_id, "now": now, "real": real[job_id], "starts": found}))
    for low, high in ((LOW, HIGH), (0.1, 0.9), (0.0, 1.0)):
        inside = [at_level(found, low) <= real[job] <= at_level(found, high) for job, (_, found) in asked.items()]
        widths = sorted(at_level(found, high) - at_level(found, low) for _, found in asked.values())
        print(f"# levels {low:g}-{high:g}: {sum(inside)} of {len(inside)} inside ({sum(inside) / len(inside):.0%}), "
              f"median width {widths[len(widths) // 2] / 3600:.2f} h")  # fmt: skip
    late = sum(real[job] > found[-1] for job, (_, found) in asked.items())
    early = sum(real[job] < found[0] for job, (_, found) in asked.items())
    print(f"# before all copies {early}, after all {late}")


def _text(log: Path) -> str:
    return (gzip.decompress(log.read_bytes()) if log.suffix == ".gz" else log.read_bytes()).decode("latin-1")


def _ask(c: slurmsim.live.cluster.Cluster, rng: Random, asked: dict[int, tuple[int, list[float]]]) -> None:
    """Draw a waiting job that was not drawn before, and let its copies live."""
    with Onlooker(c.folder) as onlooker:
        onlooker.advance(c.now)
        waiting = [live for live in onlooker.engine.jobs.values()
                   if live.core.state == JobState.PENDING and live.id not in asked
                   and c.now - live.core.submit_time > WAITED_S]  # fmt: skip
        if waiting:
            live = rng.choice(sorted(waiting, key=lambda one: one.id))
            found = starts(onlooker, live, newest(c.folder, running=True))
            asked[live.id] = c.now, found
            print(f"# {len(asked)}: job {live.id}, {len(found)} copies", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *map(int, sys.argv[3:]))
