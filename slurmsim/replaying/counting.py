"""Which runs are counted: EASY or Slurm's backfill as it is, on a plain cluster, of jobs that are no more than rows."""

from __future__ import annotations

from slurmsim.data_classes import fields
from slurmsim.kernel import compiled
from slurmsim.policy import Policy
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import Prepared
from slurmsim.sim.counted import can_be_counted

PLAIN = frozenset({
    "workload", "out", "nodes", "format", "policy", "seed", "jobs", "option", "unknown_accounts", "impossible_jobs",
    "window", "weeks", "load", "load_by", "jitter", "fair_start", "max_instances",
})  # fmt: skip
"""Options that only say which jobs there are, on how many nodes, or what is told of them afterwards."""


def is_counted(prepared: Prepared) -> bool:
    """Return True if a run decides nothing but by which equal nodes are free."""
    options, policy, cluster = prepared.options, prepared.policy, prepared.cluster
    if any(getattr(options, one.name) != one.default for one in fields(RunOptions) if one.name not in PLAIN):
        return False
    if not _has_kernel(policy) or any(policy.options[name] != one.default for name, one in policy.OPTIONS.items()):
        return False
    if prepared.timed or prepared.endless or prepared.accounting is not None or prepared.until is not None:
        return False
    plain = len(cluster.partitions) == 1 and cluster.power is None and not cluster.watched
    if not plain or cluster.scheduler_parameters or any(node.cpus != 1 or node.gres for node in cluster.nodes):
        return False
    return can_be_counted(prepared.workload, len(cluster.nodes))


def _has_kernel(policy: Policy) -> bool:
    """Return True if a kernel decides as `policy` does, and sooner."""
    if policy.name == "easy":
        from slurmsim_policies.easy import Easy

        return type(policy) is Easy
    if policy.name == "backfill" and compiled("slurm_run"):
        from slurmsim_policies.slurm_backfill import SlurmBackfill

        return type(policy) is SlurmBackfill
    return False
