"""What scontrol shows of the cluster itself, and what it asks the daemon to do to itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slurmsim.core.placement.compiled_request import NO_SUCH_TOPOLOGY
from slurmsim.protocol import Refusal
from slurmsim.slurmctld.requests.cluster.nodes import administrators_only
from slurmsim.slurmctld.requests.show.assoc_usage import assoc_mgr
from slurmsim.slurmctld.requests.show.network_rows import conf_rows, network_rows

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

Arguments = dict[str, Any]
CHANGES: frozenset[str] = frozenset()


def calls(cluster: LiveCluster) -> dict[str, Callable[[Arguments, Person], Arguments]]:
    """Return the requests by name."""
    control = _Shows(cluster)
    return {
        "licenses": control.licenses, "topology": control.topology, "show_config": control.config,
        "shutdown": control.shutdown, "set_debug": control.set_debug,
        "assoc_mgr": lambda arguments, person: assoc_mgr(cluster, arguments, person),
    }  # fmt: skip


_LOCAL = {"remote": False, "consumed": 0, "deficit": 0, "updated": 0}  # of a license that no other server has


class _Shows:
    def __init__(self, cluster: LiveCluster) -> None:
        self.cluster = cluster

    def licenses(self, arguments: Arguments, person: Person) -> Arguments:
        """Each license, how many are in use and how many are kept for reservations."""
        licenses, now = self.cluster.controller.licenses, self.cluster.now
        found = []
        for name, total in licenses.totals().items():
            remote = licenses.remote.get(name)
            found.append({
                "name": name, "total": total, "used": licenses.used[name],
                "reserved": licenses.kept(name, now, now + 1, None), "remote": remote is not None,
                "consumed": remote.consumed if remote else 0, "deficit": remote.deficit if remote else 0,
                "updated": remote.updated if remote else 0, "nodes": "", "mode": 0,
            })  # fmt: skip
        if licenses.layers is not None:
            plain = sum(not row["remote"] for row in found)  # those of servers come at the end
            found[plain:plain] = [{**_LOCAL, **row} for row in licenses.layers.rows(now)]
        return {"licenses": found, "fuzzy": licenses.fuzzy}

    def topology(self, arguments: Arguments, person: Person) -> Arguments:
        """Switches as slurmctld numbers them, blocks, rings or tori of the topology named, or the cluster's default."""
        spec = self.cluster.spec
        if arguments.get("conf"):
            return {"conf": conf_rows(spec.topologies)}
        name = str(arguments.get("topology") or spec.networks[0].name)
        if name not in [one.name for one in spec.networks]:
            raise Refusal(NO_SUCH_TOPOLOGY)
        network = spec.network_of(name)
        return {"kind": network.plugin, **network_rows(network, by_yaml=bool(spec.topologies))}

    def config(self, arguments: Arguments, person: Person) -> Arguments:
        """slurm.conf as written, and what it does not say."""
        cluster, conf = self.cluster, self.cluster.conf
        folder = conf.scalar("ClusterName") and "/etc/slurm/slurm.conf"
        facts: dict[str, Any] = {
            "BOOT_TIME": cluster.network.start_time, "NEXT_JOB_ID": cluster.job_table.last_id + 1,
            "MaxNodeCount": int(cluster.spec.options.get("MaxNodeCount") or cluster.controller.state.table.n),
            "ClusterName": cluster.spec.name,
            "SLURM_CONF": folder or "/etc/slurm/slurm.conf", "SLURM_VERSION": cluster.version,
            "SlurmctldHost[0]": conf.hosts[0] if conf.hosts else "localhost",
        }  # fmt: skip
        uids = {name: cluster.people.by_name(name).uid for name in (conf.scalar("SlurmUser"), conf.scalar("SlurmdUser"))
                if name}  # fmt: skip
        return {"now": cluster.now, "given": dict(conf.scalars), "facts": facts, "uids": uids}

    def shutdown(self, arguments: Arguments, person: Person) -> Arguments:
        """Check the user and do nothing else: the cluster's owner takes it down by `slurmsim down`."""
        administrators_only(self.cluster, person)
        return {}

    def set_debug(self, arguments: Arguments, person: Person) -> Arguments:
        """There are no logs of levels."""
        if not self.cluster.database.is_administrator(person):
            raise Refusal("Permission denied")
        if arguments.get("sched_log") is not None and not self.cluster.conf.scalar("SlurmSchedLogFile"):
            raise Refusal("Requested operation is presently disabled")
        return {}
