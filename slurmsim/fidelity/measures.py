"""What is measured on a schedule beside its recording: order, nodes, and where the time between them comes from."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass
from slurmsim.hostlist import expand

IntArray = npt.NDArray[np.int64]
NEVER = np.iinfo(np.int64).max // 4  # start of a job that does not start


def share_in_order(recorded: IntArray, replayed: IntArray) -> float:
    """Share of jobs, in [0, 1], that start in the recorded order relative to every other job.

    Starts within one second of each other are ties. Arrays of shape (n_jobs,), seconds; `NEVER` is never in order.
    """
    before = recorded[:, None] < recorded[None, :] - 1
    swapped = before & (replayed[:, None] > replayed[None, :] + 1)
    wrong = swapped.any(axis=0) | swapped.any(axis=1) | (replayed == NEVER)
    return float(1 - wrong.mean())


def share_of_nodes(recorded: Sequence[str], replayed: Sequence[str]) -> float:
    """Share of jobs, in [0, 1], with the recorded node list."""
    return float(np.mean([expand(a) == expand(b) if b else False for a, b in zip(recorded, replayed, strict=True)]))


@dataclass(frozen=True, slots=True)
class Launches:
    """Launch latency of every job of one schedule, and what it adds up to.

    The latency of a start is the time since the fact that enabled it. Take the first job of that second's pass: the
    fact is the end of the last job's work on its nodes, or its own submission if that came later. So the latency holds
    what that last job took beyond its work, and how long the pass took to come. `total` adds it up along the chain of
    launches that led to a job (the launch of the job that enabled this start by its end, and so on); `length` counts
    them.
    """

    latency: IntArray  # (n_jobs,) seconds
    total: IntArray  # (n_jobs,) seconds
    length: IntArray  # (n_jobs,)


def launches(
    ids: Sequence[int], submit: IntArray, start: IntArray, end: IntArray, work: IntArray, nodes: Sequence[str]
) -> Launches:
    """Launch latencies of a schedule; all sequences have one entry per job, `work` how long each was to work.

    Notes
    -----
    O(jobs × nodes): one walk in the order of starts.
    """
    n = len(ids)
    latency, total, length = (np.zeros(n, np.int64) for _ in range(3))
    hosts = [expand(names) if names else [] for names in nodes]
    users: dict[str, list[int]] = {}  # host -> jobs that ran there so far
    order = sorted(range(n), key=lambda i: (start[i], ids[i]))
    at = 0
    while at < n:
        second = start[order[at]]
        group = [i for i in order[at:] if start[i] == second]
        at += len(group)
        head = group[0]
        before = {k for host in hosts[head] for k in users.get(host, ()) if end[k] <= second}
        last = max(before, key=lambda k: (end[k], total[k], -k), default=None)
        if last is None or end[last] <= submit[head]:
            last = None
        since = submit[head] if last is None else start[last] + work[last]
        for i in group:
            latency[i] = second - since
            total[i] = latency[i] + (0 if last is None else total[last])
            length[i] = 1 + (0 if last is None else length[last])
            for host in hosts[i]:
                users.setdefault(host, []).append(i)
    return Launches(latency, total, length)


def starts(ids: Sequence[int], found: Mapping[int, int | None], epoch: int) -> IntArray:
    """Start of each job since the recording began, `NEVER` where there is none."""
    times = [found.get(job_id) for job_id in ids]
    return np.array([NEVER if t is None else t - epoch for t in times], np.int64)
