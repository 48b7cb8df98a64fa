"""Users who submit by themselves: jobs of streams in a live cluster (`slurmsim.sim.sources`).

They are jobs like all others: what a user would have sent is kept with each, the controller is told of it within the
second it comes in, and the journal has it among what was decided. Which job is next is state, so a cluster that is
carried out again, or restored, submits what it would have submitted.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from slurmsim.core.records.messages import Submit
from slurmsim.errors import WorkloadError
from slurmsim.sim.sources import Item, Sources
from slurmsim.slurmctld.base.decisions import submitted
from slurmsim.slurmctld.requests.submit.submissions import Submissions
from slurmsim.workload import Streams

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster


class StreamJobs:
    """The streams of one cluster; their seconds count from its first instant."""

    def __init__(self, cluster: LiveCluster, submissions: Submissions, streams: Streams) -> None:
        self._cluster, self._submissions = cluster, submissions
        self.timers = cluster.network.timers
        # how far each stream is
        self.sources: Sources = Sources(self, streams, len(cluster.spec.nodes), origin=cluster.network.start_time)
        self._coming: dict[int, None] = {}  # jobs of which the controller is told in its next turn
        self._told: dict[int, None] = {}  # and in this one
        self.sources.begin()

    def submit(self, item: Item, arrived: int) -> int:
        """As sbatch of the stream's user would, in another turn within this second; the id it is shown with."""
        drawn, behaviour = item
        network = self._cluster.network
        person = self._cluster.people.by_name(drawn.user)
        limit_s = drawn.time_limit_s
        asked: dict[str, Any] = {
            "name": drawn.name, "account": drawn.account or None, "partition": ",".join(drawn.partitions) or None,
            "script": f"#!/bin/sh\n#SLURMSIM runtime={behaviour.run_time}\n", "work_dir": person.home,
            "min_nodes": drawn.request.min_nodes, "max_nodes": drawn.request.max_nodes,
            "num_tasks": drawn.request.n_tasks, "shared": "exclusive",
            "time_limit": None if limit_s is None else -(-limit_s // 60),
        }  # fmt: skip
        sub = self._submissions.begin(asked, person, limit_s, behaviour.run_time)
        network.decided.append(submitted(self._cluster.now, sub))
        self._coming[sub.job_id] = None
        network.tell_later(Submit(sub))
        return sub.job_id

    def turns(self) -> None:
        """Tell the controller of all new jobs as its turn begins."""
        self._told, self._coming = self._coming, {}

    def turned(self) -> None:
        """Collect the jobs that come after started ones, for the controller's next turn."""
        for job_id in self._told:
            self._submissions.finish(job_id)
        self._told = {}

    def refused(self, job_id: int) -> bool:
        """Return True if the job is a stream's, which now has one less."""
        if job_id not in self._told:
            return False
        del self._told[job_id], self._cluster.network.entering[job_id], self._cluster.network.behaviour[job_id]
        self.sources.refused(job_id)
        return True

    def source_dry(self) -> None:
        """Do nothing: the cluster goes on after a stream's last job."""

    def source_broke(self, error: WorkloadError) -> None:
        """Warn that a stream has ended with an error; the other streams go on."""
        print(f"slurmsim: warning: {error}; the stream has ended", file=sys.stderr, flush=True)
