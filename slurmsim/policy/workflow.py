"""Workflows: jobs that wait for each other as a graph, and the longest way through what is left of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slurmsim.policy.cluster import ClusterView, JobView


class Workflow:
    """The jobs that have not ended, and which of them wait for which.

    It is a picture of one instant: make a new one in each call of `schedule`, or when `generation` has changed.

    Attributes
    ----------
    jobs
        Every job that is running, suspended or pending, by id.
    followers
        By id of a job: the jobs that wait for its end or start.
    """

    jobs: Mapping[int, JobView]
    followers: Mapping[int, Sequence[JobView]]

    def __init__(self, view: ClusterView) -> None:
        everything = [*view.running, *view.suspended, *view.pending, *view.waiting]
        self.jobs = {job.id: job for job in everything}
        followers: dict[int, list[JobView]] = {}
        for job in view.waiting:
            for other in view.dependencies(job):
                followers.setdefault(other.id, []).append(job)
        self.followers = followers
        self._now = view.now
        self._longest: dict[int, int] = {}

    def left_s(self, job: JobView) -> int:
        """Return how long `job` is expected to run from now on, seconds."""
        end = job.expected_end
        return job.expected_s if end is None else max(0, end - self._now)

    def critical_s(self, job: JobView) -> int:
        """Return the expected seconds of the longest chain of jobs that begins with `job`, itself included.

        Waits are not in it. Linear in the jobs and dependencies behind it, and remembered.
        """
        todo, open_ids = [job], set()
        while todo:
            at = todo[-1]
            behind = self.followers.get(at.id, ())
            left = [one for one in behind if one.id not in self._longest and one.id not in open_ids]
            if at.id in self._longest or not left:
                todo.pop()
                known = [self._longest.get(one.id, 0) for one in behind]
                self._longest.setdefault(at.id, self.left_s(at) + max(known, default=0))
            else:
                open_ids.add(at.id)
                todo += left
        return self._longest[job.id]

    def critical_path(self, job: JobView) -> list[JobView]:
        """Return the jobs of that chain, `job` first; of chains of one length the one of lower ids."""
        path, ids = [job], {job.id}
        while behind := [one for one in self.followers.get(path[-1].id, ()) if one.id not in ids]:
            path.append(max(behind, key=lambda one: (self.critical_s(one), -one.id)))
            ids.add(path[-1].id)
        return path
