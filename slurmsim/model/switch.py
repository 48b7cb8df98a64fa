"""A network switch as topology.conf describes it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SwitchSpec:
    """One SwitchName: a leaf has `nodes`, any other the names of the `switches` below it."""

    name: str
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
