"""Sessions and think times inferred from a log, so that it can be replayed with feedback.

In a log submissions are fixed times. Real users wait for results: on a faster machine they come back sooner, on a
slower one later. Of each user: a *batch* is jobs submitted before the ones of it that were there have all ended. The
next batch, if it comes within 20 minutes of the last end, belongs to the same *session*: it followed from that end, and
the time between is *think time*. A later batch begins a new session, at its own time in the log.

So the first job of a batch within a session depends on the job that ended last before it, and comes its think time
after that job's end; the other jobs of the batch keep their distances to it. A dependent job may come earlier than in
the log: it is known from the submission of the job it depends on.

Source: N. Zakay and D. Feitelson, "Preserving user behavior characteristics in trace-based simulation of parallel job
scheduling", MASCOTS 2014, with their 20 minutes for sessions. Sessions begin at their hours in the log, which keeps its
daily cycle; by which hours delayed ones are put off is not in what is public of the paper, and left out.
"""

import numpy as np

from slurmsim.errors import WorkloadError
from slurmsim.workload import Workload

SESSION_GAP_S = 1200


def with_feedback(workload: Workload, file: str, gap_s: int = SESSION_GAP_S) -> Workload:
    """Return `workload` with preceding jobs and think times, for users with recorded ends of jobs.

    Parameters
    ----------
    file
        For messages.
    gap_s
        Longest think time within a session, seconds.

    Raises
    ------
    WorkloadError
        It has think times already, or no users, or no recorded ends.

    Notes
    -----
    Sorting apart, linear in the number of jobs.
    """
    ints, users = workload.ints, workload.texts["user"]
    if (ints["think_after"] >= 0).any():
        raise WorkloadError("the log has think times of its own, which count", file=file, field="--feedback",
                            expected="a log with fields 17 and 18 empty")  # fmt: skip
    if not any(users.values[code] for code in np.unique(users.codes).tolist()):
        raise WorkloadError("no job has a user", file=file, field="--feedback", expected="a log with users")
    end = np.where(ints["log_end"] >= 0, ints["log_end"], -1)
    ran = (ints["log_start"] >= 0) & (ints["run_time"] >= 0)
    end = np.where((end < 0) & ran, ints["log_start"] + ints["run_time"], end)
    if not (end >= 0).any():
        raise WorkloadError(
            "no job has a recorded end", file=file, field="--feedback", expected="a log of jobs that ran"
        )
    submit, ids, codes = ints["submit"].tolist(), ints["job_id"].tolist(), users.codes.tolist()
    before, think, known = ints["depends_on"].copy(), ints["think_after"].copy(), ints["submit"].copy()
    last: dict[int, tuple[int, int]] = {}  # by user: the latest end of a job of his, and its row
    head: dict[int, int] = {}  # by user: the job the present batch followed from, by row; -1 for none
    ends = end.tolist()
    for row in np.lexsort((ints["job_id"], ints["submit"])).tolist():
        user = codes[row]
        if not users.values[user]:
            continue
        ended, which = last.get(user, (-1, -1))
        if ended <= submit[row]:  # whatever he had has ended: a new batch
            head[user] = which if which >= 0 and submit[row] - ended <= gap_s else -1
        source = head[user]
        if source >= 0:
            before[row], think[row] = ids[source], submit[row] - ends[source]
            known[row] = known[source]
        if ends[row] >= ended:
            last[user] = ends[row], row
    fed = {**ints, "depends_on": before, "think_after": think, "submit": known}
    return Workload(fed, workload.texts, workload.header, workload.quality, workload.streams).sorted()
