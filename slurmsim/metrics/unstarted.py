"""Jobs without a start, by what became of them."""

from collections import Counter
from typing import Any

import numpy as np

from slurmsim.states import REFUSED, JobState, Reason

COLUMNS = ("start", "state", "reason")
_BY_THE_CLUSTER = (Reason.DEPENDENCY_NEVER,)  # reasons of cancelled jobs that their users did not cancel


def unstarted(jobs: Any) -> dict[str, Any]:
    """Return what became of the jobs of a run that never started.

    Parameters
    ----------
    jobs
        A ``pyarrow.Table`` with the columns `COLUMNS`.

    Returns
    -------
    dict
        ``cancelled_waiting``: the number of jobs that the log cancels while they wait. ``ended_waiting``: jobs that
        the cluster ended, by reason. ``waiting``: jobs that still waited at the end of the run, by reason. Reasons come
        with the most jobs first. The three add up to ``never_started``.
    """
    from slurmsim.trace.columns import NULL, int_values, text_codes

    idle = np.flatnonzero(int_values(jobs.column("start")) == NULL)
    states, state_names = text_codes(jobs.column("state"))
    reasons, reason_names = text_codes(jobs.column("reason"))
    cancelled = 0
    ended: Counter[str] = Counter()
    waiting: Counter[str] = Counter()
    for row in idle.tolist():
        state, reason = state_names[states[row]], reason_names[reasons[row]]
        if state == REFUSED:
            continue
        if state == JobState.PENDING:
            waiting[reason] += 1
        elif state == JobState.CANCELLED and reason not in _BY_THE_CLUSTER:
            cancelled += 1
        else:
            ended[reason if reason not in ("", Reason.NONE) else state] += 1
    return {"cancelled_waiting": cancelled, "ended_waiting": _most_first(ended), "waiting": _most_first(waiting)}


def _most_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
