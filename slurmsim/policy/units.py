"""Units: what a job is made of where a policy says which node gets how many of them (docs/writing-a-policy.md)."""

from slurmsim.bitmap import Bitmap
from slurmsim.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """Amounts on one node: CPUs (whole cores), MiB (0 where memory is no resource), and (name, count) of each GRES."""

    cpus: int
    mem_mib: int = 0
    gres: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class JobUnits:
    """A job as equal units, any number of which may share a node.

    Attributes
    ----------
    count
        How many units it has: its tasks, or its nodes where what it asks for is per node.
    unit
        What one unit needs of its node.
    nodes
        Nodes that may hold one: of its partition, with its features and sizes, not excluded; busy, down or not.
    per_node
        Most units on one node, 0 for as many as fit.
    whole
        It shares its nodes with no other job and gets all their CPUs; a unit is a node then.
    refusal
        Why it cannot be laid out by units ("" if it can): what it asks for that no layout can say.
    """

    count: int
    unit: Unit
    nodes: Bitmap
    per_node: int = 0
    whole: bool = False
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Holding:
    """What a running job holds on the node of number `node`: `units` equal ones (1 for a job without a layout)."""

    node: int
    units: int
    total: Unit
