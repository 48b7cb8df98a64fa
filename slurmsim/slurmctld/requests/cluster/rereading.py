"""scontrol reconfigure: slurm.conf says anew what scontrol said of partitions and nodes (read_slurm_conf, 22.05).

States of nodes, their reasons and texts stay, but that scontrol made them future: for slurm.conf they are there, and
their slurmd registers anew (_restore_node_state). So do partitions that scontrol made and that are in use; slurmctld
ends their jobs as NODE_FAIL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slurmsim.bitmap import to_indices
from slurmsim.core.records.messages import AlterNodes, AlterPartition, DeletePartition, Fact, NodesResume
from slurmsim.release_changes import since
from slurmsim.slurmctld.database.resources import settle
from slurmsim.slurmctld.fields.job_details import untried
from slurmsim.slurmctld.fields.node_fields import UNTOLD_COMING, UNTOLD_OFF, count_cpus, is_future
from slurmsim.slurmctld.requests.cluster.nodes import administrators_only
from slurmsim.slurmctld.requests.cluster.partitions import in_use
from slurmsim.states import Reason

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import Row
    from slurmsim.slurmctld.base.people import Person

Arguments = dict[str, Any]
CHANGES = frozenset({"reconfigure"})


def calls(cluster: LiveCluster) -> dict[str, Callable[[Arguments, Person], Arguments]]:
    """Return the requests by name."""

    def reconfigure(arguments: Arguments, person: Person) -> Arguments:
        administrators_only(cluster, person)
        cluster.told_cpus = []  # of the new records of nodes none are counted
        facts = [*_partitions(cluster), *_nodes(cluster), *_no_longer_future(cluster)]
        if facts:
            cluster.network.tell(cluster.now, facts)
        if since(cluster.release, "reconfigure_begins_anew"):
            cluster.network.tell(cluster.now, [])
            cluster.controller.recalculation.restart(cluster.now)
            cluster.controller.host.begin_anew(cluster.now)
            _idle_from_now_on(cluster)
            cluster.network.tell(cluster.now, [])
            for i in range(cluster.controller.state.table.n):
                cluster.node_texts.setdefault(i, {})["slurmd_start_time"] = cluster.now  # slurmd is a new process, too
            count_cpus(cluster)
            settle(cluster)
            _read_jobs(cluster)
        else:
            cluster.node_reasons.forget_users()
        power = cluster.controller.state.power
        for nodes, untold in ((power.off, UNTOLD_OFF), (power.coming, UNTOLD_COMING)):
            for i in to_indices(nodes).tolist():
                cluster.node_texts.setdefault(i, {})["untold"] = untold  # its slurmd does not register
        cluster.event_triggers.note_reread()
        return {}

    return {"reconfigure": reconfigure}


def _idle_from_now_on(cluster: LiveCluster) -> None:
    """Note that nodes are idle since the new slurmctld has them; the time until they are powered down begins then."""
    state = cluster.controller.state
    if cluster.controller.power is not None:
        cluster.controller.power.begin_anew()
    for i in to_indices(state.table.idle & ~(state.power.off | state.power.going | state.power.coming)).tolist():
        cluster.node_texts.setdefault(i, {})["last_busy"] = cluster.now


_LOST = -1


def _read_jobs(cluster: LiveCluster) -> None:
    """Note of jobs that wait, and for which nodes were looked, that slurmctld has read them from its state.

    The number of nodes that were found for a job is read of jobs that wait alone.
    """
    for row in cluster.job_table.rows():
        core, known = row.core, row.job.asked.get("read_again")
        if core.start_time is not None:
            mark = _LOST
        elif core.end_time is None and (_untold(row, cluster) or (known == _LOST and core.eligible_time is None)):
            continue
        else:
            mark = core.restarts
        for live in row.tasks or (row.job,):
            live.asked = {**live.asked, "read_again": mark}


def _untold(row: Row, cluster: LiveCluster) -> bool:
    """Return True for jobs no nodes were looked for; for one that is only too long for its partition they were."""
    return untried(row, cluster) and row.core.reason != Reason.PARTITION_TIME_LIMIT


def _partitions(cluster: LiveCluster) -> Iterable[Fact]:
    """Partitions as slurm.conf has them, the default one last: it takes that from any other."""
    flags = str(cluster.conf.scalar("ReconfigFlags") or "").lower().split(",")
    if "keeppartinfo" in flags:
        return
    present = cluster.controller.state.cluster.by_name
    of_file = {spec.name: spec for spec in cluster.spec.partitions}
    for name, spec in sorted(of_file.items(), key=lambda item: item[1].default):
        cluster.partition_texts.pop(name, None)
        if name in present and "keeppartstate" in flags:
            spec = replace(spec, state=present[name].spec.state)
        if name not in present or present[name].spec != spec:
            yield AlterPartition(spec)
    for name in [name for name in present if name not in of_file and not in_use(cluster, name)]:
        cluster.partition_texts.pop(name, None)
        yield DeletePartition(name)


def _nodes(cluster: LiveCluster) -> Iterable[Fact]:
    """Weights, GRES and features as slurm.conf has them, all features active."""
    table = cluster.controller.state.table
    for i, node in enumerate(cluster.spec.nodes):
        if table.gone >> i & 1:
            continue
        kept, present = cluster.node_texts.get(i, {}).pop("features_act", None), table.specs[i]
        asked = (present.weight, present.features, present.gres)
        if kept is not None or asked != (node.weight, node.features, node.gres):
            yield AlterNodes((node.name,), node.weight, node.features, node.gres)


def _no_longer_future(cluster: LiveCluster) -> Iterable[Fact]:
    table = cluster.controller.state.table
    for i, name in enumerate(table.names):
        if is_future(cluster, i) and not table.specs[i].dynamic:
            cluster.node_texts[i]["future"] = None
            yield NodesResume((name,))
