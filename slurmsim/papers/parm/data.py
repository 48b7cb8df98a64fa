"""Jobs for PARM on large machines: windows of a synthetic Intrepid, and of a real log.

Windows of a large machine begin at the jobs the paper names; a job of the log has its size as most nodes, 20 to 60 % of
that as fewest, and a row of Table IV.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slurmsim.energy import TABLE
from slurmsim.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

IntArray = NDArray[np.int64]
FIRST = {"Set1": 1, "Set2": 10_500, "Set3": 27_000}
"""The first job of each window, counted from 1; in a log of another length as far in as there."""
MOST, FEWEST = "baseline", "fewest nodes"
"""The two baselines: the paper gives jobs the most nodes in VI-G and VII-B, the fewest in VI-F."""
PAIRS = (("noMM", MOST), ("noMM", FEWEST), ("noSE", "noMM"), ("wSE", "noSE"))
PAPERS_MACHINE = "intrepid"
LOGGED = 68_936
GAP_S = 305  # of the log's eight months
SMALL, LARGE = (64, 128, 256), (512, 1024, 2048, 4096, 8192, 16384, 32768, 40960)
SMALL_SHARE, LOAD, MEDIAN_S, CUT_S = 0.3, 0.6, 1200, 43_200


@lru_cache(maxsize=4)
def intrepid(seed: int) -> tuple[IntArray, IntArray, IntArray]:
    """Submit times, sizes and run times of a synthetic eight months on 40,960 nodes, (68936,) each.

    Sizes are 64 to 256 nodes for development, else with weights as one over the root of the nodes; gaps exponential;
    run times lognormal, cut at twelve hours, of such a spread that the load is 60 % of the machine.
    """
    rng = np.random.default_rng([seed, 0x1237])
    weights = np.array([SMALL_SHARE / len(SMALL)] * len(SMALL) + [n**-0.5 for n in LARGE])
    weights[len(SMALL) :] *= (1 - SMALL_SHARE) / weights[len(SMALL) :].sum()
    nodes = rng.choice([*SMALL, *LARGE], LOGGED, p=weights)
    submit = np.floor(rng.exponential(GAP_S, LOGGED).cumsum()).astype(np.int64)
    normal = rng.standard_normal(LOGGED)
    wanted = LOAD * LARGE[-1] * GAP_S / float(nodes.mean())  # seconds a job in the mean, sizes apart
    low, high = 0.0, 5.0
    for _ in range(60):  # the mean grows with the spread
        middle = (low + high) / 2
        mean = np.minimum(MEDIAN_S * np.exp(middle * normal), CUT_S).mean()
        low, high = (middle, high) if mean < wanted else (low, middle)
    run = np.clip(np.round(MEDIAN_S * np.exp(low * normal)), 1, CUT_S).astype(np.int64)
    run = np.maximum(1, np.round(run * min(1.0, wanted / run.mean()))).astype(np.int64)
    return submit, nodes.astype(np.int64), run


@lru_cache(maxsize=2)
def logged(path: str, most: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the same of the jobs of a log that ran, those beyond `most` nodes left out."""
    from slurmsim_workloads import read_workload

    found = read_workload(path, None, {}).ints
    nodes = np.where(found["nodes"] > 0, found["nodes"], found["tasks"])
    kept = (found["run_time"] > 0) & (nodes > 0) & (nodes <= most)
    return found["submit"][kept], nodes[kept], found["run_time"][kept]


@dataclass(frozen=True, slots=True)
class Open:
    """What the paper leaves open of its jobs."""

    ratio: float = 3.0  # most nodes by fewest nodes, on the testbed; on the large machine the paper says it
    parallelism: float | None = None  # a by the most nodes; None draws it log-uniform from 1 to 4
    sigma: float | None = None  # None draws it uniform from 0 to 1


OURS = Open()


def window(
    log: tuple[IntArray, IntArray, IntArray], name: str, gamma: float, count: int, seed: int, chosen: Open = OURS
) -> pd.DataFrame:
    """`count` successive jobs of `log` from the window's first, arrivals times gamma, as jobs of PARM.

    The draws are the same whatever is `chosen`. Raises ConfigError where the log has not that many.
    """
    import pandas as pd

    first = (FIRST[name] - 1) * len(log[0]) // LOGGED
    submit, nodes, run = (column[first : first + count] for column in log)
    if len(submit) < count:
        raise ConfigError(f"{len(submit)} jobs from job {first + 1} on", field="--log", expected=f"{count}")
    rng = np.random.default_rng([seed, FIRST[name], 0x51DE])
    rows = list(TABLE)
    apps = rng.integers(len(rows), size=count)
    times = 4 ** rng.uniform(size=count)
    spread, theta = rng.uniform(size=count), rng.uniform(0.2, 0.6, count)
    wide = nodes * (times if chosen.parallelism is None else np.full(count, chosen.parallelism))
    sigma = spread if chosen.sigma is None else np.full(count, chosen.sigma)
    return pd.DataFrame({
        "job_id": np.arange(1, count + 1), "submit": ((submit - submit[0]) * gamma).astype(np.int64), "run_time": run,
        "time_limit": run, "nodes": nodes, "min_nodes": np.maximum(1, np.round(theta * nodes)).astype(np.int64),
        "max_nodes": nodes, "malleable": 1,
        "app": [f"{rows[a]}:parallelism={p:.3f}:sigma={s:.3f}" for a, p, s in zip(apps, wide, sigma, strict=True)],
    })  # fmt: skip
