"""Limits of QOS with the flag Relative: percentages made numbers of what the cluster, or the QOS's partition, has.

Mirrors assoc_mgr_set_qos_tres_relative_cnt (common/assoc_mgr.c) and _calc_part_tres (slurmctld/partition_mgr.c, 24.11).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from slurmsim.errors import ConfigError
from slurmsim.model.accounting import Accounting, Limits, Qos, Tres

if TYPE_CHECKING:
    from slurmsim.core.records.associations import AssociationTree
    from slurmsim.core.records.partition import Partition
    from slurmsim.core.state.controller_state import ControllerState

RELATIVE: Final = "Relative"
OF_A_PARTITION: Final = "RelativeToPartition"  # no flag of sacctmgr: no job may ask for the QOS
_ALL: Final = 100
_OF_LIMITS: Final = ("grp_tres", "grp_tres_mins", "grp_tres_run_mins", "max_tres", "max_tres_per_node", "max_tres_mins")
_OF_QOS: Final = ("max_tres_pu", "max_tres_pa", "max_tres_run_mins_pu", "max_tres_run_mins_pa", "min_tres")


def count_relative(tree: AssociationTree, state: ControllerState, before: AssociationTree | None = None) -> None:
    """Replace the percentages of the QOS in `tree` by numbers, as the nodes and partitions are now.

    A QOS that `before` has without the flag keeps what was set, until all are counted again.

    Raises
    ------
    ConfigError
        Two partitions have the same such QOS.
    """
    later = before.qos.keys() - state.relative_qos.keys() if before is not None else ()
    relative = {name: qos for name, qos in tree.qos.items() if RELATIVE in qos.flags and name not in later}
    if not relative:
        state.relative_qos = relative
        return
    owners = partition_qos(state.partitions)
    whole = cluster_tres(state)
    counted = {}
    for qos in relative.values():
        of = owners.get(qos.name, [])
        if len(of) > 1:
            raise ConfigError(
                f"the QOS {qos.name!r} has the flag Relative and is that of the partitions {of[0].name} and "
                f"{of[1].name}", field=f"PartitionName={of[1].name} QOS", expected="one partition for each such QOS",
            )  # fmt: skip
        counts = {**whole, **state.billing.capacity(of[0])} if of else whole
        counted[qos.name] = absolute(replace(qos, flags=qos.flags | {OF_A_PARTITION}) if of else qos, counts)
    tree.qos.update(counted)
    state.relative_qos = relative


def as_set(tree: AssociationTree, state: ControllerState) -> Accounting:
    """Return the associations and QOS as they were set, with percentages."""
    qos = tree.qos | state.relative_qos
    return Accounting(tuple([branch.spec for branch in tree.branches]), tuple(qos.values()), "")


def partition_qos(partitions: Iterable[Partition]) -> dict[str, list[Partition]]:
    """Return the partitions by the name of their QOS."""
    found: dict[str, list[Partition]] = {}
    for p in partitions:
        if p.spec.qos and p.spec.nodes:  # a deleted one has none
            found.setdefault(p.spec.qos.lower(), []).append(p)
    return found


def cluster_tres(state: ControllerState) -> dict[str, int]:
    """Return what the cluster has of every TRES; its billing is that of its nodes, each in its dearest partition."""
    table, billing = state.table, state.billing
    cpus = int(table.cpus.sum())
    counts = {"cpu": cpus, "mem": int(table.mem.sum()), "node": table.n, "billing": cpus}
    weighted = [p for p in state.partitions if p.spec.tres_billing_weights]
    if weighted:
        counts["billing"] = sum(billing.of_node(i, weighted)["billing"] for i in range(table.n))
    for kind, (name, gtype) in enumerate(table.gres_kinds):
        billing.add_gres(counts, name, gtype, int(table.gres[kind].sum()))
    return counts | {f"license/{name.lower()}": count for name, count in state.license_totals.items()}


def absolute(qos: Qos, counts: Mapping[str, int]) -> Qos:
    """Return a QOS with numbers for percentages of `counts`, rounded down; more than 100 are 100."""
    return replace(
        qos, limits=replace(qos.limits, **_scaled(qos.limits, _OF_LIMITS, counts)),
        **_scaled(qos, _OF_QOS, counts),
    )  # fmt: skip


def _scaled(held: Limits | Qos, fields: Iterable[str], counts: Mapping[str, int]) -> dict[str, Any]:
    found = {}
    for field in fields:
        limits: Tres = getattr(held, field)
        if limits:
            found[field] = {name: min(part, _ALL) * counts.get(name, 0) // _ALL for name, part in limits.items()}
    return found
