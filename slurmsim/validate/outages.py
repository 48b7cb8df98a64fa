"""When nodes were down or took no new jobs, from the NODE events of a trace."""

from __future__ import annotations

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.validate.columns import IntArray, Table
from slurmsim.validate.nodelists import NodeIndex

DOWN, DRAIN = 1, 2  # kinds of outage: nothing may run; what runs may go on, nothing may start


NEVER = int(np.iinfo(np.int64).max)


@dataclass(slots=True)
class Outages:
    """Outages in order of node: `node` could not be used from `begin` until before `end`.

    `told` is the row of the events table that tells of it.
    """

    node: IntArray
    begin: IntArray
    end: IntArray
    kind: IntArray
    told: IntArray

    def instants(self) -> IntArray:
        """All times at which an outage begins or ends, but for those that never end."""
        return np.concatenate([self.begin, self.end[self.end != NEVER]])

    def at(self, times: IntArray) -> Outages:
        """Return the same with `begin` and `end` as indices into `times`, which holds all `instants`."""
        begin, end = np.searchsorted(times, self.begin), np.searchsorted(times, self.end)
        return Outages(self.node, begin, end, self.kind, self.told)


def kind_of(state: str) -> int:
    """Kind of outage a node state means, 0 for a node that can be used.

    >>> kind_of("DOWN*"), kind_of("IDLE+DRAIN"), kind_of("DRAINED"), kind_of("MIXED")
    (1, 2, 2, 0)
    """
    state = state.upper()
    if "FAILING" in state:
        return DRAIN
    if any(word in state for word in ("DOWN", "FAIL", "POWERED_OFF")):
        return DOWN
    return DRAIN if "DRAIN" in state or "MAINT" in state else 0


def outages(events: Table | None, index: NodeIndex) -> tuple[Outages, dict[int, str]]:
    """Outages of all nodes, and what is wrong with the node list of an event, by row.

    A node is usable until its first NODE event; an outage lasts until the node's next event of another kind. Where
    the trace tells of reservations, maintenance is none: who may use such nodes is judged with the reservations.
    """
    reserved = events is not None and bool(events.texts["event"].mask(["RESERVATION"]).any())
    rows = np.flatnonzero(events.texts["event"].mask(["NODE"])) if events is not None else np.zeros(0, np.int64)
    spans: list[tuple[int, int, int, int, int]] = []
    bad: dict[int, str] = {}
    if events is not None and len(rows):
        lists = events.texts["nodes"]
        runs = index.runs([lists[r] for r in rows])
        bad = {int(rows[i]): message for i, message in runs.bad.items()}
        current: dict[int, tuple[int, int, int]] = {}  # node -> (since, kind, row)
        for text, low, high in zip(runs.text.tolist(), runs.low.tolist(), runs.high.tolist(), strict=True):
            row = int(rows[text])
            time, kind = int(events.ints["time"][row]), kind_of(events.texts["state"][row])
            if kind == DRAIN and reserved and "MAINT" in events.texts["state"][row].upper():
                kind = 0
            for node in range(low, high + 1):
                since, was, told = current.get(node, (0, 0, 0))
                if kind == was:
                    continue
                if was:
                    spans.append((node, since, time, was, told))
                current[node] = (time, kind, row)
        spans += [(node, since, NEVER, kind, told) for node, (since, kind, told) in current.items() if kind]
    spans.sort()
    columns = np.array(spans, np.int64).reshape(-1, 5)
    return Outages(*(columns[:, k] for k in range(5))), bad
