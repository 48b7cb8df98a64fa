"""Shapes that no job has had yet: jobs of an application on other numbers of nodes.

Where a log says which application its jobs are of (`slurmsim.energy`), its jobs on n nodes take as long as the PASS
model says, at full power. Their waits are unknown, so they are drawn from the log's jobs of such a size.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from slurmsim.papers.titan.strategy.categories import FEWEST, SIZES, Category, category
from slurmsim.papers.titan.strategy.data import Applied, FloatArray, History

LEVELS = 8  # sizes between the fewest and the most nodes of an application


def application_shapes(history: History, seed: int) -> tuple[History, list[Category], int]:
    """Return the history with rows for such jobs, their categories, and the number of categories with too few jobs.

    A size is judged where the log has jobs enough of that bin of sizes to know their waits.
    """
    rng = np.random.default_rng(seed)
    bins = np.searchsorted(SIZES, history.nodes)
    parts, shapes, few = [history], list[tuple[str, int, int]](), 0
    at = len(history)
    for one in history.applied:
        for nodes in sizes(one):
            alike = np.flatnonzero(bins == np.searchsorted(SIZES, nodes))
            if len(one.rows) < FEWEST or len(alike) < FEWEST:
                few += 1
                continue
            parts.append(_on(history, one, nodes, history.wait[rng.choice(alike, len(one.rows))]))
            shapes.append((f"{one.name} on {nodes} nodes", at, at + len(one.rows)))
            at += len(one.rows)
    whole = joined(parts)
    return whole, [category(whole, name, np.arange(first, last)) for name, first, last in shapes], few


def sizes(one: Applied) -> list[int]:
    """Up to `LEVELS` numbers of nodes, evenly spaced."""
    low, high = one.profile.min_nodes, one.profile.max_nodes
    return sorted({round(n) for n in np.linspace(low, high, LEVELS).tolist()})


def _on(history: History, one: Applied, nodes: int, wait: FloatArray) -> History:
    """Return the jobs of `one` on so many nodes."""
    slower = one.slower(nodes) / one.slower_as_logged(history.nodes[one.rows])
    return replace(
        history, submit=history.submit[one.rows], limit=np.ceil(history.limit[one.rows] * slower).astype(np.int64),
        nodes=np.full(len(one.rows), nodes, np.int64), wait=wait, run=history.run[one.rows] * slower,
    )  # fmt: skip


def joined(parts: list[History]) -> History:
    """One after the other, with what is not of single jobs from the first."""
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts])
               for name in ("submit", "limit", "nodes", "wait", "run")}  # fmt: skip
    return replace(parts[0], **columns)
