"""A running cluster goes on under another configuration from now on: ``scontrol reconfigure``, or a restart.

Comments and keys that only `scontrol show config` prints cost nothing. For others an engine is made of the new
configuration and given the state of the old one, as after a restart of slurmctld; partitions and nodes that differ are
then updated as `scontrol update` would. What an engine cannot go on under is refused by name, and nothing has changed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from slurmsim.core.queue.priority import Multifactor
from slurmsim.core.records.messages import AlterNodes, AlterPartition, DeletePartition, Fact
from slurmsim.errors import OutputError, SubmitError
from slurmsim.model.node import NodeSpec
from slurmsim.model.partition import PartitionSpec
from slurmsim.sim.growing import growth
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.history.reconfiguration import RUNNING, Configuration, differences
from slurmsim.slurmctld.snapshot.image import restore, take

Make = Callable[[Configuration], Engine]
KEYS = frozenset({
    "SchedulerParameters", "BatchStartTimeout", "CompleteWait", "DefCpuPerGPU", "DefMemPerCPU", "DefMemPerGPU",
    "DefMemPerNode", "DependencyParameters", "DisableRootJobs", "EnforcePartLimits", "Epilog",
    "FairShareDampeningFactor",
    "InactiveLimit", "JobRequeue", "KillWait", "MaxArraySize", "MaxBatchRequeue", "MaxMemPerCPU", "MaxMemPerNode",
    "MessageTimeout", "MinJobAge", "OverTimeLimit", "PreemptExemptTime", "PriorityFavorSmall", "PriorityMaxAge",
    "PriorityWeightAge", "PriorityWeightAssoc", "PriorityWeightFairshare", "PriorityWeightJobSize",
    "PriorityWeightPartition", "PriorityWeightQOS", "PrivateData", "PrologFlags",
    "RequeueExit", "RequeueExitHold", "ResvOverRun", "ReturnToService", "SchedulerTimeSlice",
})  # fmt: skip
"""Honoured keys that no state rests on: every other one is refused while a cluster lives."""
OF_NODES = ("weight", "features", "gres")  # what may change of a node
_ASIDE = ("line",)  # where in the file a node is


def adopt(engine: Engine, old: Configuration, new: Configuration, make: Make) -> Engine:
    """Return the engine that goes on under `new`; `make` makes one of a configuration.

    Raises
    ------
    OutputError
        There is none; it names each change that is in the way. `engine` is as it was.
    """
    found = differences(old, new)
    if found:
        _refuse([what for what in found if not _may_change(what, old, new)])
        engine = _carried_over(engine, old, new, make)
    engine.conf, engine.host = new.facts, new.host
    files = new.cluster
    engine.spec = replace(
        engine.spec, options=files.options, nodes=files.nodes, partitions=files.partitions, database=files.database
    )  # fmt: skip
    return engine


def _may_change(what: str, old: Configuration, new: Configuration) -> bool:
    kind, _, rest = what.partition(" ")
    if kind == "partition":
        return True
    if kind == "node":
        name, _, how = rest.partition(" is ")
        if how:
            return any(one.dynamic and one.name == name for one in (*old.cluster.nodes, *new.cluster.nodes))
        before = {node.name: node for node in old.cluster.nodes}.get(rest)
        after = {node.name: node for node in new.cluster.nodes}.get(rest)
        if before is None or after is None:
            return False
        return not [f.name for f in fields(NodeSpec) if f.name not in (*OF_NODES, *_ASIDE)
                    and getattr(before, f.name) != getattr(after, f.name)]  # fmt: skip
    return kind in KEYS


def _carried_over(engine: Engine, old: Configuration, new: Configuration, make: Make) -> Engine:
    present = replace(new.cluster, nodes=_until_told(old, new), partitions=old.cluster.partitions)
    again = make(replace(new, cluster=present))
    restore(again, list(take(engine)), growth(again.controller) if old.cluster.nodes != present.nodes else None)
    again.storage.store = engine.storage.store
    again.real = engine.real
    c = again.controller
    if isinstance(c.priority, Multifactor):
        c.priority.weigh_partitions(c.state.partitions)
        if c.recalculation.columns is not None:
            for records in c.state.queue.jobs.values():
                c.recalculation.columns.edited(records[0].job)
    try:
        again.network.tell(again.now, [*_nodes(old, new), *_partitions(again, old, new)])
    except SubmitError as error:
        _refuse([error.text])
    return again


def _until_told(old: Configuration, new: Configuration) -> tuple[NodeSpec, ...]:
    """Return the nodes before what has changed of them is told: those there were, and the new ones behind them."""
    known = old.cluster.nodes
    kept = (replace(node, dynamic=now.dynamic) for node, now in zip(known, new.cluster.nodes, strict=False))
    return (*kept, *new.cluster.nodes[len(known) :])


def _nodes(old: Configuration, new: Configuration) -> Iterable[Fact]:
    for node, before in zip(new.cluster.nodes, old.cluster.nodes, strict=False):
        changes: dict[str, Any] = {
            name: getattr(node, name) for name in OF_NODES if getattr(node, name) != getattr(before, name)
        }
        if changes:
            yield AlterNodes((node.name,), **changes)


def _partitions(engine: Engine, old: Configuration, new: Configuration) -> Iterable[Fact]:
    """Yield what the file says anew; what only scontrol said of a partition the file leaves as it was, stays."""
    before: Mapping[str, PartitionSpec] = {p.name: p for p in old.cluster.partitions}
    after = {p.name: p for p in new.cluster.partitions}
    c = engine.controller
    for name, spec in after.items():
        if before.get(name) != spec:
            yield AlterPartition(spec)
    for name in before:
        found = c.state.cluster.by_name.get(name)
        if name not in after and found is not None:
            if any(found in live.core.partitions and not live.over for live in engine.jobs.values()):
                _refuse([f"partition {name} is gone and has jobs"])
            if any(reservation.partition is found for reservation in c.state.reserved.all):
                _refuse([f"partition {name} is gone and a reservation names it"])
            yield DeletePartition(name)


def _refuse(what: list[str]) -> None:
    """Raise OutputError for what is in the way, if anything is."""
    if not what:
        return
    listed = ", ".join(what[:6]) + (f" and {len(what) - 6} more" if len(what) > 6 else "")
    raise OutputError(
        f"the configuration has changed in what running clusters cannot change: {listed}; put the files back (those "
        f"the cluster runs under are in {RUNNING}/ in its folder), or begin another cluster with --state"
    )
