"""A network switch as topology.conf describes it."""

from collections.abc import Mapping

from slurmsim.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class SwitchSpec:
    """One SwitchName: a leaf has `nodes`, any other the names of the `switches` below it."""

    name: str
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()


def level_of(switch: SwitchSpec, specs: Mapping[str, SwitchSpec]) -> int:
    """Return how many switches are below `switch` on the longest way; 0 for a leaf. `specs` has all by name."""
    return 1 + max((level_of(specs[name], specs) for name in switch.switches), default=-1)


def nodes_below(switch: SwitchSpec, specs: Mapping[str, SwitchSpec]) -> list[str]:
    """Return the nodes of `switch` and of all switches below it."""
    return [*switch.nodes, *[node for name in switch.switches for node in nodes_below(specs[name], specs)]]
