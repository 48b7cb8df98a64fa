"""scontrol's requests about partitions: update, create, delete (update_part and delete_partition, 22.05)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slurmsim.config.partitions import named_sets
from slurmsim.core.accounting.relative_limits import partition_qos
from slurmsim.core.placement.compiled_request import NO_SUCH_TOPOLOGY
from slurmsim.core.records.messages import AlterPartition, DeletePartition, SetPartitionState
from slurmsim.errors import SubmitError
from slurmsim.hostlist import expand
from slurmsim.model.partition import PartitionSpec
from slurmsim.numerals import is_number
from slurmsim.protocol import Refusal
from slurmsim.records import Field
from slurmsim.records.partition import PARTITION
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.submit_request import MOST_NAMES
from slurmsim.slurmctld.fields.job_fields import billed, tres_asked
from slurmsim.slurmctld.fields.node_fields import COUNTED_WEIGHTS
from slurmsim.slurmctld.requests.cluster.nodes import administrators_only
from slurmsim.states import JobState
from slurmsim.tres import TresError, parse_weights

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

Arguments = dict[str, Any]
CHANGES = frozenset({"update_partition", "create_partition", "delete_partition"})
BAD_PARTITION, BAD_NODE, IN_USE = (
    "Invalid partition name specified",
    "Invalid node name specified",
    "Partition is in use",
)
_PER_GPU = {"DefCpuPerGPU": "def_cpu_per_gpu", "DefMemPerGPU": "def_mem_per_gpu_mib"}
_PAIRS = {
    word: [row.attribute for row in PARTITION if row.kind == "memory" and row.attribute.startswith(word)]
    for word in ("def_", "max_")
}
_DEFAULTS = {"defcpupergpu": "DefCpuPerGPU", "defmempergpu": "DefMemPerGPU"}


def calls(cluster: LiveCluster) -> dict[str, Callable[[Arguments, Person], Arguments]]:
    """Return the requests by name."""
    control = _Partitions(cluster)
    return {
        "update_partition": control.update, "create_partition": control.create, "delete_partition": control.delete,
    }  # fmt: skip


class _Partitions:
    def __init__(self, cluster: LiveCluster) -> None:
        self.cluster = cluster

    def update(self, arguments: Arguments, person: Person) -> Arguments:
        """Carry out ``scontrol update partitionname``."""
        administrators_only(self.cluster, person)
        asked = arguments["partition"]
        found = self.cluster.controller.state.cluster.by_name.get(str(asked["name"]))
        if found is None:
            raise Refusal(BAD_PARTITION)
        self._set(asked, found.spec)
        return {}

    def create(self, arguments: Arguments, person: Person) -> Arguments:
        """Carry out ``scontrol create partitionname``."""
        administrators_only(self.cluster, person)
        asked = arguments["partition"]
        name = str(asked["name"])
        if name in self.cluster.controller.state.cluster.by_name:
            named = since(self.cluster.release, "duplicate_partition")
            raise Refusal("Duplicate partition name" if named else BAD_PARTITION)
        self._set(asked, PartitionSpec(name, min_nodes=1))  # one that slurm.conf names has none
        return {}

    def _set(self, asked: Mapping[str, Any], before: PartitionSpec) -> None:
        spec = self._spec(asked, before)
        if spec == replace(before, state=spec.state) and before.name in self.cluster.controller.state.cluster.by_name:
            # also of what it is already: each update asks for a pass (_slurm_rpc_update_partition)
            self.cluster.network.tell(self.cluster.now, [SetPartitionState(spec.name, spec.state)])
            self.cluster.controller.state.cluster.by_name[spec.name].spec = spec
        else:
            if _defaults_of(spec) != _defaults_of(before):
                self._keep_counted(spec.name, "mem")
            if spec.tres_billing_weights != before.tres_billing_weights:
                self._keep_counted(spec.name, "billing")
            try:
                self.cluster.network.tell(self.cluster.now, [AlterPartition(spec)])
            except SubmitError as error:
                raise Refusal(error.text) from None
        kept = self.cluster.partition_texts.setdefault(spec.name, {})
        if "nodes" in asked:  # only then does slurmctld count the partition's TRES again
            kept.pop(COUNTED_WEIGHTS, None)
        elif "billing_weights" in asked:
            kept.setdefault(COUNTED_WEIGHTS, before.tres_billing_weights)
        for row in PARTITION:
            if row.name in asked and row.beside:
                kept[row.name] = _defaults(asked[row.name]) if row.name == "job_defaults" else asked[row.name]

    def _keep_counted(self, name: str, tres: str) -> None:
        """Keep what jobs ask for as it was counted (job_set_req_tres), though it would be another now.

        A new default is what jobs without memory of their own ask for (job_limits_check); new weights are not looked
        at before their TRES change. What has started is billed as it was then, and its request still comes to the same.
        """
        alike: dict[int, dict[str, Any]] = {}  # tasks of an array share what was asked
        for live in self.cluster.jobs.values():
            core, asked = live.core, live.asked
            if core.partition.name != name:
                continue
            given = core.state != JobState.PENDING and core.alloc is not None
            if tres == "mem" and (given or asked.get("pn_min_memory") is not None):
                continue
            if id(asked) not in alike:
                counted = {tres: tres_asked(live, self.cluster)[tres]} | (asked.get("tres_settled") or {})
                alike[id(asked)] = {**asked, "tres_settled": counted}
            live.asked = alike[id(asked)]
            if given:
                live.asked = {**live.asked, "billed": [core.start_time, billed(live, self.cluster)]}

    def _spec(self, asked: Mapping[str, Any], before: PartitionSpec) -> PartitionSpec:
        """Return the partition with what is asked. Raises Refusal."""
        changes: dict[str, Any] = {}
        if asked.get("qos") and not self._knows_qos(str(asked["qos"])):
            raise Refusal("Invalid qos specification")
        if asked.get("qos"):
            self._check_relative(str(asked["qos"]).lower())
        known = [one.name for one in self.cluster.spec.networks]
        if asked.get("topology") and asked["topology"] not in known:
            raise Refusal(NO_SUCH_TOPOLOGY)
        if "job_defaults" in asked:
            given = dict(word.split("=") for word in filter(None, _defaults(str(asked["job_defaults"])).split(",")))
            for name, field in _PER_GPU.items():
                changes[field] = int(given[name]) if name in given else None
        for row in PARTITION:
            if row.name in asked and row.attribute and row.kind != "node list":
                self._change(row, asked[row.name], changes)
        if "exclusive" in asked:
            changes["exclusive_user"] = asked["exclusive"] == "USER"
            changes["exclusive_topo"] = asked["exclusive"] == "TOPO"
            shared = str(changes.get("oversubscribe", before.oversubscribe)).upper()
            whole = asked["exclusive"] in ("NODE", "TOPO")
            if whole or shared == "EXCLUSIVE":
                changes["oversubscribe"] = "EXCLUSIVE" if whole else "NO"
        elif asked.get("exclusive_topo"):
            changes["oversubscribe"] = "EXCLUSIVE"
        if "priority" in asked:
            changes["priority_tier"] = changes["priority_job_factor"] = asked["priority"]
        if "billing_weights" in asked:
            changes["tres_billing_weights"] = _weights(str(asked["billing_weights"]))
        if "nodes" in asked:
            changes["nodes"] = self._nodes(str(asked["nodes"]), before)
            changes["node_sets"] = named_sets(str(asked["nodes"]), (), self.cluster.release)
        return replace(before, **changes)

    def _change(self, row: Field, value: Any, changes: dict[str, Any]) -> None:
        """Note what `value` makes of the attribute of `row`. Raises Refusal."""
        if row.kind in ("minutes", "minutes over"):
            value = None if value is None else int(value) * 60
        elif row.kind == "names":
            words = tuple(word for word in str(value).split(",") if word)
            value = () if [word.upper() for word in words] == ["ALL"] else words
            known = not row.name.endswith("qos") or all(self._knows_qos(word) for word in value)
            if not known and since(self.cluster.release, "partition_qos_lists_known"):
                raise Refusal("Invalid qos specification")
        elif row.kind == "memory":  # of a CPU or of a node: the other one is gone
            changes.update(dict.fromkeys(_PAIRS[row.attribute[:4]]))
            value = value or None
        elif row.kind == "share":
            value, most = value
            changes["oversubscribe_max"] = max(most, 1)
        elif row.kind == "node count":
            value = value or 0
        changes[row.attribute] = value

    def _knows_qos(self, name: str) -> bool:
        accounting = self.cluster.database.accounting() if self.cluster.database.exists else None
        if accounting is None:
            return not since(self.cluster.release, "partition_qos_known")
        return any(one.name.lower() == name.lower() for one in accounting.qos)

    def _check_relative(self, name: str) -> None:
        """Refuse a QOS with the flag Relative that a partition has: also that partition, as slurmctld does."""
        state = self.cluster.controller.state
        if name in state.relative_qos and name in partition_qos(state.partitions):
            raise Refusal("Invalid QOS specification, relative QOS can only be used in a single partition per cluster.")

    def _nodes(self, text: str, before: PartitionSpec) -> tuple[str, ...]:
        """``n[01-04]``, ``ALL``, or ``+n05,-n01`` beside what there is, in the order of the table."""
        table = self.cluster.controller.state.table
        if text.upper() == "ALL":
            return tuple(table.names)
        chosen = set(before.nodes) if text[:1] in ("+", "-") and text else set()
        sign = "+"
        for part in _parts(text):
            if part[:1] in ("+", "-"):
                sign, part = part[0], part[1:]
            try:
                names = expand(part, MOST_NAMES) if part else []
            except ValueError:
                raise Refusal(BAD_NODE) from None
            if not all(map(table.has, names)):
                raise Refusal(BAD_NODE)
            chosen = chosen | set(names) if sign == "+" else chosen - set(names)
        return tuple(name for name in table.names if name in chosen)

    def delete(self, arguments: Arguments, person: Person) -> Arguments:
        """Delete a partition, but not while a job is in it, or a reservation names it."""
        administrators_only(self.cluster, person)
        name = str(arguments["target"])
        if name not in self.cluster.controller.state.cluster.by_name:
            raise Refusal(BAD_PARTITION)
        if in_use(self.cluster, name):
            raise Refusal(IN_USE)
        self.cluster.network.tell(self.cluster.now, [DeletePartition(name)])
        self.cluster.partition_texts.pop(name, None)
        return {}


def in_use(cluster: LiveCluster, name: str) -> bool:
    """Return True if a job that is not over is in the partition `name`, or a reservation names it."""
    state = cluster.controller.state
    found = state.cluster.by_name[name]
    used = any(found in live.core.partitions and not live.over for live in cluster.jobs.values())
    return used or any(r.partition is found for r in state.reserved.all)


def _defaults_of(spec: PartitionSpec) -> tuple[int | None, int | None]:
    return spec.def_mem_per_cpu_mib, spec.def_mem_per_node_mib


def _defaults(text: str) -> str:
    """``DefCpuPerGPU=2,DefMemPerGPU=1000`` as slurmctld spells it. Raises Refusal.

    >>> _defaults("defcpupergpu=2")
    'DefCpuPerGPU=2'
    """
    found = []
    for word in filter(None, text.split(",")):
        name, _, number = word.partition("=")
        if name.lower() not in _DEFAULTS or not is_number(number):
            raise Refusal("Invalid JobDefaults specification")
        found.append(f"{_DEFAULTS[name.lower()]}={int(number)}")
    return ",".join(found)


def _parts(text: str) -> list[str]:
    """Split a comma list; commas in brackets do not count."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign == "[") - (sign == "]")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def _weights(text: str) -> tuple[tuple[str, float], ...]:
    try:
        return parse_weights(text)
    except TresError:
        raise Refusal("Invalid Trackable RESource (TRES) specification") from None
