"""Hierarchical resources of a cluster: counts that the nodes of a layer share, as resources.yaml describes them."""

from slurmsim.data_classes import dataclass

ONE_LAYER, ALL_LAYERS, PER_NODE = 1, 2, 3
"""Modes: a job takes its count once from one layer, once from each layer, or from each layer once per node there."""


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """Some nodes and what they share.

    Parameters
    ----------
    shown
        The nodes as the file has them.
    count
        How many there are for jobs, without those that something else takes all the time; None: any number.
    above
        Mode 3: number of the layer that has this one's nodes and more; -1 for the top.
    """

    nodes: tuple[str, ...]
    shown: str
    count: int | None
    above: int = -1


@dataclass(frozen=True, slots=True)
class HierarchySpec:
    """One resource with its layers in slurmctld's order; `variables` are names for counts."""

    name: str
    mode: int
    layers: tuple[LayerSpec, ...]
    variables: tuple[tuple[str, int], ...] = ()
    topology: str = ""
