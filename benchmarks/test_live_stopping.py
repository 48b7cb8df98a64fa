"""Claim: a cluster of this process stops within 200 ms, whatever it is doing: 1,000 in a row, at random moments."""

from __future__ import annotations

import contextlib
import random
import threading
import time

from live_cluster import judge

import slurmsim
from slurmsim.errors import SlurmSimError

CLUSTERS = 1000


def test_live_stopping() -> None:
    chance, took = random.Random(1), []
    for _ in range(CLUSTERS):
        with slurmsim.cluster(frozen=True) as c:

            def ask(c: slurmsim.Cluster = c) -> None:
                with contextlib.suppress(SlurmSimError):
                    while True:
                        c.step(60)

            asking = threading.Thread(target=ask)
            if chance.random() < 0.5:
                asking.start()
            time.sleep(chance.choice([0.0, 0.001, 0.02]) * chance.random())
            before = time.perf_counter()
            c.stop()
            took.append(1000 * (time.perf_counter() - before))
            if asking.ident is not None:
                asking.join()
    took.sort()
    judge(
        "live_stopping",
        {"slowest of 1,000 stops, ms": (took[-1], "<=", 200), "median, ms": (took[len(took) // 2], "<=", 50)},
    )
