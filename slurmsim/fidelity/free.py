"""Replay freely: the engine of ``slurmsim run``, told only submissions and elapsed times.

No recorded start, end or node is used. The controller starts when slurmctld did and runs on its clock; nothing takes
time but what Slurm's rules say (the 3 s between requested passes, bf_interval), so every launch is a little earlier
than the real one and the replay drifts ahead along chains of launches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from slurmsim.core.job import Job
from slurmsim.fidelity.recording import Recording
from slurmsim.policy import load_policy
from slurmsim.sim.simulation import Simulation


@dataclass(slots=True)
class Free:
    """The jobs of a free replay by id, with their node lists; times on slurmctld's clock."""

    jobs: dict[int, Job]
    nodes: dict[int, str]


def replay_freely(recording: Recording) -> Free:
    """Simulate `recording`. Time limits are off: the recorded elapsed times hold. Every backfill cycle is made."""
    cluster = recording.cluster
    cluster = replace(cluster, scheduler_parameters={**cluster.scheduler_parameters, "slurmsim_every_cycle": ""})
    jobs: dict[int, Job] = {}
    simulation = Simulation(
        cluster, recording.workload, load_policy(recording.scheduler)(), start_time=recording.up_since,
        enforce_limits=False, on_finished=lambda job: jobs.__setitem__(job.id, job),
    )  # fmt: skip
    simulation.run()
    state = simulation.controller.state
    return Free(jobs, {job.id: state.node_list(job.alloc) for job in jobs.values() if job.alloc is not None})
