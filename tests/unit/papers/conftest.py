"""Cells of experiments run in this process: to start one that runs them costs more than most of them take.

That worker processes give the same, and end as they should, is what tests/unit/campaign and the Titan experiment show.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from slurmsim.campaign.tasks import Done, Spent, Task
from slurmsim.experiments import runs

IN_A_PROCESS_OF_THEIR_OWN = ("titan",)


def here(tasks: Iterable[Task], *, workers: int) -> Iterator[Done]:
    """As `run_tasks` with one worker: a task goes to it, and its value comes back, pickled."""
    assert workers == 1
    for task in tasks:
        sent: Task = pickle.loads(pickle.dumps(task))
        yield Done(task, pickle.loads(pickle.dumps(sent.work(*sent.arguments))), None, Spent(0, 0, 0))


@pytest.fixture(scope="module", autouse=True)
def _cells_run_here(request: pytest.FixtureRequest) -> Iterator[None]:
    if Path(request.path).parent.name in IN_A_PROCESS_OF_THEIR_OWN:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "run_tasks", here)
        yield
