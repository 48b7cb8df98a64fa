"""PARM's decision by our search and by HiGHS (SciPy's milp), side by side: CPU seconds of the same random decisions.

``python benchmarks/parm_solvers.py [DECISIONS OF 200 JOBS] [OF 2,000 JOBS]``. Jobs have up to 8 sizes and 6 levels.
Ours settles ties by the fewest resizes and watts; HiGHS does not.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix

from slurmsim.energy import TABLE, Application
from slurmsim_policies.parm.decision import Decision, JobOptions, Option, Options
from slurmsim_policies.parm.exact import choose

LEVELS = (30, 33, 36, 44, 50, 60)
NODES, BUDGET_W, LIMIT_S = 55_248, 4_751_360.0, 20


def decision(count: int, seed: int) -> Decision:
    """Jobs of 64 to 8,192 nodes at most, three of ten running; a machine that has room for those."""
    rng = np.random.default_rng([seed, count])
    rows, jobs, busy = list(TABLE), [], 0
    for number in range(count):
        most = int(rng.choice([64, 128, 256, 512, 1024, 2048, 4096, 8192]))
        least = max(1, round(most * rng.uniform(0.2, 0.6)))
        row = TABLE[rows[rng.integers(len(rows))]]
        app = Application(rng.lognormal(7.1) * most, most * 4 ** rng.uniform(), rng.uniform(), **row)
        sizes = sorted({int(n) for n in np.linspace(least, most, 8).round()})
        caps = [cap for cap in LEVELS if cap >= app.p_low_w]
        worst = float(app.time_s(sizes[0], caps[0]))
        weight = (worst + rng.uniform(0, 3e4)) ** 0.28
        options = tuple(Option(n, p, weight * worst / float(app.time_s(n, p))) for n in sizes for p in caps)
        running = None
        if rng.random() < 0.3:
            one = options[rng.integers(len(options))]
            running, busy = (one.nodes, one.watts), busy + one.nodes
        jobs.append(JobOptions(str(number), Options.of(options), running))
    scale = max(1.0, 1.5 * busy / NODES)
    return Decision(int(NODES * scale), BUDGET_W * scale, 56.0, tuple(jobs))


def by_highs(problem: Decision) -> tuple[float | None, bool]:
    """The objective HiGHS finds, and whether it proves it."""
    c = problem.columns
    jobs, n = len(problem.jobs), len(c.value)
    entries = np.concatenate([np.ones(n), c.nodes / problem.nodes, c.draw / problem.budget])
    rows = np.concatenate([c.job, np.full(n, jobs), np.full(n, jobs + 1)])
    matrix = csr_matrix((entries, (rows, np.tile(np.arange(n), 3))), (jobs + 2, n))
    low = np.array([1.0] * jobs + [-np.inf, -np.inf])
    found = milp(-c.value, constraints=LinearConstraint(matrix, low, np.ones(jobs + 2)), integrality=np.ones(n),
                 bounds=Bounds(0, 1), options={"mip_rel_gap": 0.0, "time_limit": LIMIT_S})  # fmt: skip
    return None if found.fun is None else -found.fun, found.status == 0


def main(small: int = 12, large: int = 2) -> None:
    """Measure and print."""
    for count, replicates in ((200, small), (2000, large)):
        seconds: dict[str, list[float]] = {"ours": [], "HiGHS": []}
        proven, gap = dict.fromkeys(seconds, 0), 0.0
        for seed in range(replicates):
            problem = decision(count, seed)
            best = 0.0
            for name in seconds:
                began = time.process_time()
                if name == "ours":
                    choice = choose(problem)
                    best, sure = choice.objective, choice.status == "optimal"
                else:
                    value, sure = by_highs(problem)
                    gap = max(gap, 0.0 if value is None else abs(best - value) / best)
                seconds[name].append(time.process_time() - began)
                proven[name] += sure
        for name, each in seconds.items():
            print(f"{count} jobs, {name}: median {np.median(each):.3f} s, 95 % below {np.quantile(each, 0.95):.3f}, "
                  f"{proven[name]} of {replicates} proven")  # fmt: skip
        print(f"largest relative difference of objectives {gap:.1e}")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:3]))
