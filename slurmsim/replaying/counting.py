"""Which runs are counted: easy, fcfs, spf or Slurm's backfill as it is, on a plain cluster, of jobs that are rows."""

from __future__ import annotations

from operator import attrgetter

from slurmsim.config.load import make_cluster
from slurmsim.data_classes import fields, replace
from slurmsim.kernel import compiled
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.node import NodeSpec
from slurmsim.policy import Policy
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import Prepared
from slurmsim.sim.counted import can_be_counted

PLAIN = frozenset({
    "workload", "out", "nodes", "format", "policy", "seed", "jobs", "option", "unknown_accounts", "impossible_jobs",
    "window", "weeks", "load", "load_by", "jitter", "fair_start", "max_instances", "conf",
    "cpus_per_node", "until",
})  # fmt: skip
"""Options that only say which jobs there are, on how many nodes, until when, or what is told of them afterwards."""
HEEDED = frozenset({
    "ClusterName", "SchedulerType", "SelectType", "SelectTypeParameters", "AccountingStorageType",
    "PriorityMaxAge", "PriorityWeightAge", "PriorityWeightJobSize", "PriorityCalcPeriod", "MaxArraySize", "MaxJobCount",
})  # fmt: skip
"""Lines of a slurm.conf that a kernel heeds, or that decide nothing here."""
_OF_NODES = {one.name for one in fields(NodeSpec)} - {"name", "line"}
_ALIKE = attrgetter(*sorted(_OF_NODES))
_ASKED = attrgetter(*sorted(_OF_NODES - {"cpus", "sockets", "cores_per_socket", "real_memory_mib"}))


def is_counted(prepared: Prepared) -> bool:
    """Return True if a run decides nothing but by which equal nodes are free, and ages and sizes of jobs."""
    options, policy, cluster = prepared.options, prepared.policy, prepared.cluster
    if any(getattr(options, one.name) != one.default for one in fields(RunOptions) if one.name not in PLAIN):
        return False
    if not _has_kernel(policy):
        return False
    if prepared.timed or prepared.endless or prepared.accounting is not None:
        return False
    linear = cluster.option("SelectType") == "select/linear"
    if options.conf is not None and not (linear and policy.name == "backfill"):
        return False
    if not _is_plain(cluster, options) or not (linear or cluster.nodes[0].cpus == 1 or policy.event_driven):
        return False
    units = len(cluster.nodes) if linear else sum(node.cpus for node in cluster.nodes)
    if not can_be_counted(prepared.workload, units, linear=linear):
        return False
    longest = cluster.partitions[0].max_time_s
    return longest is None or int(prepared.workload.ints["time_limit"].max()) <= longest


def _is_plain(cluster: ClusterSpec, options: RunOptions) -> bool:
    """Return True if a cluster has equal nodes in one partition, and else what `make_cluster` gives one."""
    usual, node, partition = make_cluster(1, 1), cluster.nodes[0], cluster.partitions[0]
    if cluster.power is not None or cluster.watched or cluster.scheduler_parameters or len(cluster.partitions) != 1:
        return False
    if (
        cluster.switches
        or cluster.blocks
        or cluster.rings
        or cluster.topologies
        or cluster.database
        or cluster.hierarchies
    ):
        return False
    said, unsaid = (
        {name: value for name, value in one.options.items() if name not in HEEDED} for one in (cluster, usual)
    )
    if said != unsaid:
        return False
    of_partition = replace(
        usual.partitions[0], name=partition.name, nodes=partition.nodes, default=partition.default,
        max_time_s=partition.max_time_s, node_sets=partition.node_sets,
    )  # fmt: skip
    if (
        partition != of_partition
        or len(partition.nodes) != len(cluster.nodes)
        or _ASKED(node) != _ASKED(usual.nodes[0])
    ):
        return False
    return options.conf is None or all(_ALIKE(one) == _ALIKE(node) for one in cluster.nodes)


def _has_kernel(policy: Policy) -> bool:
    """Return True if a kernel decides as `policy` does with its options, and sooner."""
    of_counts = {"easy": "Easy", "fcfs": "Fcfs", "spf": "Spf"}
    kind, usual = type(policy), {name: one.default for name, one in policy.OPTIONS.items()}
    if policy.name in of_counts:
        order = {"order": policy.options["order"]} if policy.name == "easy" else {}
        known = (f"slurmsim_policies.{policy.name}", of_counts[policy.name])
        return (kind.__module__, kind.__qualname__) == known and policy.options == usual | order
    if policy.name != "backfill" or kind.__module__ != "slurmsim_policies.slurm_backfill.cycle":
        return False
    return policy.options == usual and compiled("slurm_run")  # as Python it is as dear as the core
