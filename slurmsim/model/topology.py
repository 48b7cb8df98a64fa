"""Networks of a cluster: rings and tori of nodes, and topologies by name as topology.yaml describes them (25.05 on)."""

from slurmsim.data_classes import dataclass
from slurmsim.model.block import BlockTopologySpec
from slurmsim.model.switch import SwitchSpec

Point = tuple[int, int, int]
ORIGIN: Point = (0, 0, 0)
DEFAULT = "default"  # the name of the one topology of a cluster without topology.yaml


@dataclass(frozen=True, slots=True)
class RingSpec:
    """One ring: nodes in the order in which they are joined, the last one to the first."""

    name: str
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlacementSpec:
    """A box of nodes that a torus gives to jobs; boxes begin at `seed` and every `spacing` from there, round the torus.

    All three are x, y and z.
    """

    dims: Point
    seed: Point = ORIGIN
    spacing: Point = ORIGIN  # 0: that of `dims`

    @property
    def size(self) -> int:
        """Nodes of a box."""
        return self.dims[0] * self.dims[1] * self.dims[2]

    @property
    def step(self) -> Point:
        """What lies between the beginnings of two boxes."""
        x, y, z = (given or own for given, own in zip(self.spacing, self.dims, strict=True))
        return x, y, z

    def starts(self, dims: Point) -> tuple[list[int], list[int], list[int]]:
        """Return where boxes begin along each side of a torus of `dims`, once round it."""
        x, y, z = (_starts(*axis) for axis in zip(dims, self.step, self.seed, strict=True))
        return x, y, z

    def anchors(self, dims: Point) -> int:
        """Return how many boxes there are in a torus of `dims`."""
        x, y, z = self.starts(dims)
        return len(x) * len(y) * len(z)


def _starts(side: int, step: int, seed: int) -> list[int]:
    """Return where boxes begin along one side.

    >>> _starts(4, 2, 1), _starts(3, 2, 0)
    ([1, 3], [0, 2, 1])
    """
    found = [seed]
    while (after := (found[-1] + step) % side) != seed:
        found.append(after)
    return found


@dataclass(frozen=True, slots=True)
class RegionSpec:
    """A box of a torus from `anchor` on, with its names of nodes, x varying fastest."""

    anchor: Point
    dims: Point
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TorusSpec:
    """One three-dimensional torus; `cells` has a node or "" for each place, x varying fastest."""

    name: str
    dims: Point
    cells: tuple[str, ...] = ()
    placements: tuple[PlacementSpec, ...] = ()
    regions: tuple[RegionSpec, ...] = ()  # by which the file gave the cells; empty where it gave them all at once

    @property
    def nodes(self) -> tuple[str, ...]:
        """Its nodes in the order of their places."""
        return tuple(name for name in self.cells if name)

    def cell_of(self, x: int, y: int, z: int) -> int:
        """Return the cell at a place."""
        return x + (y + z * self.dims[1]) * self.dims[0]

    def place_of(self, cell: int) -> Point:
        """Return x, y and z of a cell."""
        x, y, _ = self.dims
        return cell % x, cell // x % y, cell // (x * y)


@dataclass(frozen=True, slots=True)
class TopologySpec:
    """One topology: what its `plugin` reads, flat where it reads nothing."""

    name: str
    plugin: str = "topology/flat"
    switches: tuple[SwitchSpec, ...] = ()
    blocks: BlockTopologySpec | None = None
    rings: tuple[RingSpec, ...] = ()
    toruses: tuple[TorusSpec, ...] = ()
    alpha_step_rank: bool = False  # of a flat one: steps get nodes, and number their tasks, in the order of names
