"""sched/backfill, Slurm's own, on the policy port.

Its parts are the `cycle`, the `search` for one job, its plans as sets of nodes or of atoms (`node_plans`,
`atom_plans`), the `walk` through the queue or the kernel's (`kernel_walk`), and `licenses` over time. `kernel_part`
says what the kernel does of a cycle.
"""

from slurmsim_policies.slurm_backfill.cycle import SlurmBackfill

__all__ = ["SlurmBackfill"]
