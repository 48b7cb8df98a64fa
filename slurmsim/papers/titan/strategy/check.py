"""The best candidates tried in a closed loop, on the site's own configuration, beside the log's jobs.

The project's jobs are drawn from those of its category and come as the scheme says; the log's own jobs are the load.
So the waits that are seen include what the project does to the queue, which the log's waits do not. The formula is fed
with them again, and its new best candidates are tried, until all of the best have been tried (the paper's refinement).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from slurmsim.experiments.simulation import Prepared
from slurmsim.papers.titan.strategy.data import HOUR_S, History
from slurmsim.papers.titan.strategy.loop import PROJECT, SampledStream, closed_loop
from slurmsim.papers.titan.strategy.ranking import Candidate, Goal, order, with_waits

ROUNDS = 3  # so at most so many times the number of the best: what is not tried then keeps the log's waits
SURE = 3.0  # standard deviations beyond which formula and simulation disagree
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Check:
    """A candidate in simulation."""

    # before, after: the candidate by the log's waits, and by those of the simulation
    before: Candidate
    after: Candidate
    use: float  # node-hours of the jobs that started within the period, each to its end
    starts: int  # how many
    wait_h: float | None  # their mean wait
    disagrees: bool


def check(
    ranked: Sequence[Candidate], goal: Goal, history: History, prepared: Prepared, *, best: int = 3, seed: int = 0,
    progress: Progress | None = None,
) -> tuple[list[Candidate], list[Check]]:  # fmt: skip
    """Try the `best` of `ranked`; the candidates in their order by then, and the checks in the order they were made."""
    candidates = list(ranked)
    made: dict[str, Check] = {}
    for _ in range(ROUNDS):
        todo = [one for one in candidates[:best] if one.name not in made]
        if not todo:
            break
        for one in todo:
            made[one.name] = found = _try(one, goal, history, prepared, seed)
            candidates[candidates.index(one)] = found.after
            if progress is not None:
                progress(len(made), max(best, len(made)))
        candidates.sort(key=order)
    return candidates, list(made.values())


def _try(one: Candidate, goal: Goal, history: History, prepared: Prepared, seed: int) -> Check:
    workload = prepared.workload
    start = int(workload.ints["submit"].min())
    end = start + round(goal.period_h * HOUR_S)
    rows = one.category.rows
    nodes = history.nodes[rows]
    stream = SampledStream(
        PROJECT, one.scheme, one.streams, 0, end - start, np.rint(history.run[rows] * HOUR_S).astype(np.int64),
        np.maximum(history.limit[rows], np.rint(history.run[rows] * HOUR_S).astype(np.int64)), nodes,
        nodes * history.cpus_per_node,
    )  # fmt: skip
    used = closed_loop(stream, prepared, end, seed)
    waits, node_hours = used.waits_h, used.node_hours
    after = with_waits(one, waits, goal) if len(waits) else one
    far = abs(node_hours - after.expected) > SURE * max(after.sd, 1e-9)
    turned = (node_hours > goal.target and after.probability < 0.05) or (
        node_hours <= goal.target and after.probability > 0.95
    )
    wait = float(waits.mean()) if len(waits) else None
    return Check(one, after, node_hours, len(waits), wait, bool(far or turned) or math.isnan(after.sd))
