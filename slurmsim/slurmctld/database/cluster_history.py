"""What slurmdbd keeps of the cluster itself: reservations that were, and when nodes were out of service.

The core tells of both as events of a trace; here they become rows with a begin and an end. A reservation that is
changed after its begin ends there, and goes on as another row (as_mysql_modify_resv).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from slurmsim.slurmctld.base.past_rows import Outage, PastReservation
from slurmsim.slurmctld.fields.node_fields import NODE_FIELDS
from slurmsim.slurmctld.fields.reservation_fields import RESERVATION_FIELDS, reserved_tres

if TYPE_CHECKING:
    from slurmsim.core.records.reservation import Reservation
    from slurmsim.slurmctld.base.live_cluster import LiveCluster


class ClusterHistory:
    """Rows of one cluster, as lists of plain values so that a snapshot can keep them."""

    def __init__(self, cluster: LiveCluster) -> None:
        self._cluster = cluster
        # reservations, outages: rows in the order they were begun, each a list of the values of `PastReservation` and
        # `Outage`
        self.reservations: list[list[Any]] = []
        self.outages: list[list[Any]] = []

    def note(self, kinds: Iterable[str]) -> None:
        """Take note of events of these kinds that have just happened."""
        seen = set(kinds)
        if "RESERVATION" in seen:
            self._note_reservations()
        if "NODE" in seen:
            self._note_nodes()

    def past_reservations(self) -> Iterator[PastReservation]:
        for number, name, start, end, flags, nodes, tres, users, accounts in self.reservations:
            yield PastReservation(number, name, start, end, flags, nodes, dict(tres), tuple(users), tuple(accounts))

    def past_outages(self) -> Iterator[Outage]:
        """Yield all rows of nodes."""
        for row in self.outages:
            yield Outage(*row)

    def _note_reservations(self) -> None:
        now, cluster = self._cluster.now, self._cluster
        there = {r.order: self._row(r) for r in cluster.controller.state.reserved.all}
        last = {row[0]: at for at, row in enumerate(self.reservations)}
        for number, at in last.items():
            before, after = self.reservations[at], there.get(number)
            if after is None:
                if before[2] < now:
                    before[3] = min(before[3], now)
                elif before[2] >= now:
                    before[3] = before[2]  # never begun
            elif after != before:
                if before[2] >= now:
                    self.reservations[at] = after
                elif [*before[:2], *before[4:]] != [*after[:2], *after[4:]] or after[2] > before[3]:
                    before[3] = min(before[3], now)
                    after[2] = max(after[2], now)
                    self.reservations.append(after)
                else:
                    before[3] = after[3]
        self.reservations += [row for number, row in there.items() if number not in last]
        self.reservations = [row for row in self.reservations if row[3] > row[2]]

    def _row(self, r: Reservation) -> list[Any]:
        cluster = self._cluster
        return [
            r.order, r.name, r.start, r.end, RESERVATION_FIELDS["flag_text"](r, cluster),
            RESERVATION_FIELDS["node_list"](r, cluster) or "", reserved_tres(r, cluster), list(r.users),
            list(r.accounts),
        ]  # fmt: skip

    def _note_nodes(self) -> None:
        cluster, now = self._cluster, self._cluster.now
        states = cluster.controller.node_states
        out = (states.down | states.drained) & ~cluster.controller.state.table.gone
        names = cluster.controller.state.table.names
        there = {names[i]: [_state(i, cluster), *_reason(i, cluster)] for i in range(len(names)) if out >> i & 1}
        for row in self.outages:
            if row[2]:
                continue
            if row[0] in there and there[row[0]][0] == row[3]:
                row[3:] = there.pop(row[0])
            else:
                row[2] = now
        self.outages += [[name, now, 0, *told] for name, told in there.items()]


def _reason(node: int, cluster: LiveCluster) -> tuple[str, int]:
    text, _, uid = cluster.node_reasons.of(node)
    return text or "", uid


def _state(node: int, cluster: LiveCluster) -> str:
    if "DRAIN" in NODE_FIELDS["state_flags"](node, cluster):
        return "DRAIN"
    return str(NODE_FIELDS["state"](node, cluster))
