"""Replay freely: the engine of ``slurmsim run``, told only submissions and run times.

No recorded start, end or node is used. The controller starts when slurmctld did and runs on its clock; scheduling
takes the time that Slurm's rules say (the 3 s between passes of the loop, bf_interval). What a real system needs
besides, to launch a script and to notice its end, is one number for all jobs, measured on the recording:
`launch_latency`.

Why not each job's recorded elapsed time? It is the difference of two truncated clock readings. A job that held its
nodes for 40.6 s is recorded with 40 or 41, depending on where in its second it was started. The daemon notices an end
at the next turn of its loop, so that the time which counts is 40.6 s *rounded up*, 41 for both. Of two jobs started
together, equally long, one would otherwise end a second before the other, in another pass.
"""

from math import ceil

from slurmsim.core.records.job import Job
from slurmsim.data_classes import dataclass
from slurmsim.fidelity.recording import Recording
from slurmsim.policy import load_policy
from slurmsim.sim.listener import Listener
from slurmsim.sim.simulation import Simulation, Timed


@dataclass(slots=True)
class Free:
    """The jobs of a free replay by id, with their node lists; times on slurmctld's clock."""

    jobs: dict[int, Job]
    nodes: dict[int, str]


class _Ended(Listener):
    """Keeps the jobs that ended, by id."""

    def __init__(self) -> None:
        self.jobs: dict[int, Job] = {}

    def finished(self, job: Job) -> None:
        self.jobs[job.id] = job


def launch_latency(recording: Recording) -> float:
    """Mean seconds by which jobs that ended by themselves took longer than their scripts work.

    The errors of truncation cancel in the mean, whatever the phase of the clock. 0 without such jobs.
    """
    extra = [job.elapsed - job.runtime for job in recording.jobs if job.ended_by_itself]
    return sum(extra) / len(extra) if extra else 0.0


def replay_freely(recording: Recording) -> Free:
    """Simulate `recording`; every backfill cycle is made.

    A job lasts as long as its script works plus `launch_latency`, in whole seconds, rounded up. Time limits are off:
    jobs that were killed last as recorded.
    """
    launch = launch_latency(recording)
    recording = recording.lasting(
        {job.id: max(0, ceil(job.runtime + launch)) if job.ended_by_itself else job.elapsed for job in recording.jobs}
    )
    every = {"every_cycle": "1"} if recording.scheduler == "backfill" else {}
    ended = _Ended()
    simulation = Simulation(
        recording.cluster, recording.workload, load_policy(recording.scheduler)(every), start_time=recording.up_since,
        accounting=recording.accounting, enforce_limits=False, listener=ended,
        timed=[Timed(recording.up_since, fact) for fact in recording.facts],
    )  # fmt: skip
    simulation.run()
    state, jobs = simulation.controller.state.cluster, ended.jobs
    return Free(jobs, {job.id: state.node_list(job.alloc) for job in jobs.values() if job.alloc is not None})
