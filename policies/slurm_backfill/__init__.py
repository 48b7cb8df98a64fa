"""sched/backfill, Slurm's own, on the policy port: the `cycle`, the `search` for one job, plans put off (`deferred`),
jobs that others decide for (`dominated`), and `licenses` over time.
"""

from slurmsim_policies.slurm_backfill.cycle import SlurmBackfill

__all__ = ["SlurmBackfill"]
