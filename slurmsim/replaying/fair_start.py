"""Fair start times: when a job would have started if no job had come after it.

G. Sabin, P. Sadayappan, "Unfairness metrics for space-sharing parallel job schedulers", JSSPP 2005: a job that starts
later than that was passed by to its harm. A policy decides by what has happened, so up to a job's submission the run of
those that came no later is the run itself; a run of them for each job asked about gives the time.
"""

from dataclasses import replace

import numpy as np

from slurmsim.core.records.job import Job
from slurmsim.replaying.preparation import Prepared, new_policy
from slurmsim.replaying.simulating import simulation_of
from slurmsim.sim.listener import Listener
from slurmsim.sim.simulation import Simulation
from slurmsim.trace.columns import NULL
from slurmsim.trace.reader import Trace


class UntilStart(Simulation):
    """A simulation that ends when the job `wanted` first starts."""

    wanted = -1
    started_at: int | None = None

    def _launch(self, job: Job) -> None:
        super()._launch(job)
        if job.id == self.wanted and self.started_at is None:
            self.started_at = int(self.env.now)
            if not self._over.triggered:
                self._over.succeed()


def fair_start(prepared: Prepared, job_id: int) -> int | None:
    """Return the second at which the job starts if no job is submitted after it; None if it never does."""
    ints = prepared.workload.ints
    own = ints["submit"][ints["job_id"] == job_id][0]
    come = prepared.workload.take(np.flatnonzero(ints["submit"] <= own))
    alone = replace(prepared, workload=come, policy=new_policy(prepared.options, prepared.cluster))
    simulation = simulation_of(alone, Listener(), UntilStart)
    simulation.wanted = job_id
    simulation.run()
    return simulation.started_at


def figures(prepared: Prepared, trace: Trace) -> dict[str, float | int | None]:
    """How a sample of the jobs that started, drawn by the seed, fared against their fair starts.

    Returns
    -------
    dict
        ``fair_start_jobs``: how many were asked about; ``unfair_share``: who started later than fair among them;
        ``mean_unfair_wait_s``: by how much later, the mean over all of them, 0 for who was not late. Jobs that were
        requeued are not asked about.
    """
    ids, start, restarts = trace.ints("jobs", "job_id", "start", "restarts")
    asked = np.flatnonzero((start != NULL) & (restarts == 0))
    rng = np.random.default_rng([prepared.options.seed, 0xFA1])
    late = []
    for k in rng.permutation(asked)[: prepared.options.fair_start].tolist():
        fair = fair_start(prepared, int(ids[k]))
        late.append(0 if fair is None else max(0, int(start[k]) - fair))
    return {
        "fair_start_jobs": len(late),
        "unfair_share": sum(one > 0 for one in late) / len(late) if late else None,
        "mean_unfair_wait_s": sum(late) / len(late) if late else None,
    }
