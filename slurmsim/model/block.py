"""Base blocks of nodes as topology.conf describes them."""

from slurmsim.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class BlockSpec:
    """One BlockName: nodes joined by the fastest network, often a rack."""

    name: str
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BlockTopologySpec:
    """The base blocks in the order of topology.conf, and how they are joined to larger ones.

    `base` is the number of nodes a base block counts with. `levels` are powers of two: ``1`` says that two neighbouring
    base blocks are a block, ``2`` that four are, in rising order.
    """

    blocks: tuple[BlockSpec, ...] = ()
    base: int = 0
    levels: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()  # of blocks, as written
