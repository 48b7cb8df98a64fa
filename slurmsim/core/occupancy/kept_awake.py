"""Nodes that stay up although nothing runs there: SuspendExcNodes, SuspendExcParts and SuspendExcStates.

Mirrors power_save.c (26.05). A set of nodes with a count keeps so many of its nodes up: those with jobs count, then its
first idle ones stay. What is asked for by POWER_DOWN is powered down all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from slurmsim.bitmap import Bitmap, from_indices, lowest
from slurmsim.hostlist import expand
from slurmsim.model.power_saving import excluded_nodes

if TYPE_CHECKING:
    from slurmsim.core.occupancy.node_states import NodeStates
    from slurmsim.core.state.controller_state import ControllerState


class Counted(NamedTuple):
    """So many of these nodes stay up."""

    nodes: Bitmap
    wanted: int


class KeptAwake:
    """The nodes of one cluster that power saving leaves alone.

    Attributes
    ----------
    never
        Nodes that are never powered down for being idle.
    """

    def __init__(self, state: ControllerState, states: NodeStates) -> None:
        self._state, self._states = state, states
        option = state.spec.option
        self.never: Bitmap = 0
        self._counted: list[Counted] = []
        for text, count in excluded_nodes(option("SuspendExcNodes")):
            nodes = self._named(expand(text))
            if count is None or count >= nodes.bit_count():
                self.never |= nodes
            else:
                self._counted.append(Counted(nodes, count))
        for name in option("SuspendExcParts"):
            partition = state.cluster.by_name.get(name)
            self.never |= 0 if partition is None else self._named(partition.spec.nodes)
        words = {word.strip().upper() for word in str(option("SuspendExcStates")).split(",")}
        self._of_states = [nodes for word, nodes in self._by_state().items() if word in words]

    def _named(self, names: Iterable[str]) -> Bitmap:
        index = self._state.table.index
        return from_indices(sorted(index[name] for name in names if name in index))

    def _by_state(self) -> dict[str, Callable[[], Bitmap]]:
        """Return the nodes that are in a state now, by its word."""
        states, state = self._states, self._state
        cloud = from_indices([i for i, spec in enumerate(state.spec.nodes) if spec.state == "CLOUD"])
        return {
            "DOWN": lambda: states.down, "DRAIN": lambda: states.drained, "FAIL": lambda: states.failing,
            "NOT_RESPONDING": lambda: states.silent | states.mute, "CLOUD": lambda: cloud,
            "MAINT": lambda: self._reserved("MAINT"), "RESERVED": lambda: self._reserved(""),
        }  # fmt: skip

    def _reserved(self, flag: str) -> Bitmap:
        """Return the nodes of reservations that have begun; of those with `flag` alone if there is one."""
        now, found = self._state.now, 0
        for one in self._state.reserved.all:
            if one.full and one.began and one.covers(now, now + 1) and (not flag or flag in one.flags):
                found |= one.nodes
        return found

    def now(self, idle: Bitmap, asleep: Bitmap) -> Bitmap:
        """Return the nodes that stay up now. `idle`: could be powered down; `asleep`: off, or on their way."""
        found: Bitmap = 0
        for in_state in self._of_states:
            found |= in_state()
        if self._counted:
            stopped = self._state.holders.suspended_nodes()
            busy = ~(self._state.table.idle | asleep | self._states.drained | stopped)
            for nodes, wanted in self._counted:
                awake = nodes & idle
                left = wanted - (nodes & busy).bit_count()
                found |= lowest(awake, min(left, awake.bit_count())) if left > 0 else 0
        return found
