"""A whole configured cluster: nodes in table order, partitions, typed options."""

from collections.abc import Mapping
from typing import Any

from slurmsim.data_classes import dataclass, field
from slurmsim.model.block import BlockTopologySpec
from slurmsim.model.hierarchy import HierarchySpec
from slurmsim.model.node import NodeSpec
from slurmsim.model.partition import PartitionSpec
from slurmsim.model.power import PowerSpec
from slurmsim.model.power_action import PowerAction
from slurmsim.model.switch import SwitchSpec
from slurmsim.model.topology import DEFAULT, RingSpec, TopologySpec


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """What the core needs to know of a cluster, already validated."""

    name: str
    # in *table order*: sorted by name, numeric-aware (``n2`` before ``n10``), as slurmctld sorts them at start
    nodes: tuple[NodeSpec, ...]
    partitions: tuple[PartitionSpec, ...]  # in slurm.conf order; every node they name exists
    # slurm.conf scalars by canonical key (``"KillWait"``), typed, defaults filled in: times in seconds,
    # UNLIMITED/INFINITE as None, booleans as bool, lists as tuples of str, the rest int or str
    options: Mapping[str, Any] = field(default_factory=dict)
    # SchedulerParameters by lower-cased name: ``{"bf_interval": "30", "bf_continue": ""}`` (flags map to "")
    scheduler_parameters: Mapping[str, str] = field(default_factory=dict)
    switches: tuple[SwitchSpec, ...] = ()  # topology.conf, in its order; empty without TopologyPlugin=topology/tree
    blocks: BlockTopologySpec | None = None  # topology.conf under TopologyPlugin=topology/block
    # groups of each user who is in one; None where nothing is known of groups
    groups: Mapping[str, frozenset[str]] | None = None
    # the Slurm release to follow where decisions differ between releases (`core.records.release_rules`)
    release: str = "22.05"
    # users read the state between passes, as in a live cluster. They see the expected start of every pending job, even
    # where it decides nothing. They also see when backfill runs, so that the effect of its own plans on its cadence
    # counts as well.
    watched: bool = False
    pass_limit_s: float | None = None  # most seconds for a pass of a policy from outside; None: as the core has it
    power: PowerSpec | None = None  # what is known of watts; None where nothing is, and no job has an application
    rings: tuple[RingSpec, ...] = ()  # topology.conf under TopologyPlugin=topology/ring
    # topology.yaml, the default first: its switches, blocks or rings are those above; empty without such a file
    topologies: tuple[TopologySpec, ...] = ()
    # slurmdbd.conf by canonical key, typed, with defaults; None where there is no such file
    database: Mapping[str, Any] | None = None

    power_actions: tuple[PowerAction, ...] = ()  # lines PowerAction, in their order
    hierarchies: tuple[HierarchySpec, ...] = ()  # resources.yaml, in its order

    def option(self, key: str) -> Any:
        """Value of the slurm.conf scalar `key`, its default when the file does not set it."""
        return self.options[key]

    @property
    def networks(self) -> tuple[TopologySpec, ...]:
        """All topologies, the default of partitions that name none first."""
        if self.topologies:
            return self.topologies
        plugin = str(self.options.get("TopologyPlugin") or "")
        return (TopologySpec(DEFAULT, plugin, self.switches, self.blocks, self.rings),)

    def network_of(self, topology: str) -> TopologySpec:
        """Return the topology of a partition that names `topology`, or none."""
        return next((one for one in self.networks if one.name == topology), self.networks[0])
