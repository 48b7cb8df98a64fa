"""Which shares of a node's GPUs a job gets (shard, mps).

Mirrors _set_shared_node_bits, _set_shared_task_bits and _pick_shared_gres (gres_select_filter.c, 22.05 to 26.05): first
of a GPU beside the job's cores, and of one that has all it needs.
"""

from __future__ import annotations

from collections.abc import Sequence

from slurmsim.core.placement.near import Binding, Shares, Want, usable_shares
from slurmsim.core.records.local_cores import Device, NodeLayout


class _Shares:
    """The shares of one node while they are dealt."""

    def __init__(self, layout: NodeLayout, want: Want, shares: Shares, binding: Binding) -> None:
        self.gpus: Sequence[Device] = layout.of_name("gpu")
        self.free = usable_shares(shares, want, binding)
        self.given = [0] * len(self.gpus)
        caps = dict(layout.shared).get(want.shared_kind, (0,) * len(self.gpus))
        self.order = list(range(len(self.gpus)))
        if binding.sharing.least_loaded:
            used = shares.used.get(want.shared_kind, [0] * len(self.gpus))
            self.order.sort(key=lambda k: -(caps[k] - used[k]) / max(caps[k], 1))

    def _on(self, socket: int) -> list[int]:
        """Return the GPUs beside `socket`, -1 for those beside all."""
        return [k for k in self.order if (socket in self.gpus[k].sockets if socket >= 0 else not self.gpus[k].sockets)]

    def pick(self, needed: int, sockets: Sequence[int], *, single: bool, fresh: bool = False) -> int:
        """Take so many, of a `single` GPU if one must have them all; return how many are missing.

        `fresh`: of a GPU of which the job has none yet.
        """
        for socket in sockets:
            for k in self._on(socket):
                left = self.free[k] - self.given[k]
                if needed and left >= (needed if single else 1) and not (fresh and self.given[k]):
                    take = min(left, needed)
                    self.given[k] += take
                    needed -= take
        return needed


def choose_shares(
    layout: NodeLayout, want: Want, shares: Shares, binding: Binding, cores: int, tasks: Sequence[int]
) -> tuple[int, ...] | None:
    """Return how much of each GPU a job gets with `cores` and so many `tasks` of each socket; None: too few."""
    deal = _Shares(layout, want, shares, binding)
    every = range(layout.sockets)
    mine = [socket for socket in every if cores & layout.socket(socket)]
    others = [] if binding.enforce else [socket for socket in every if socket not in mine]
    sockets = (*mine, -1, *others)
    if want.per_task and binding.sharing.several:
        for socket in every:
            for _ in range(tasks[socket]):
                near = (socket, -1, *([] if binding.enforce else [s for s in every if s != socket]))
                if deal.pick(want.per_task, near, single=True, fresh=binding.one_task):
                    return None
        return tuple(deal.given)
    missing = want.per_task * sum(tasks) if want.per_task else want.per_node
    missing = deal.pick(missing, sockets, single=True)
    if missing and binding.sharing.several:
        missing = deal.pick(missing, sockets, single=False)
    return None if missing else tuple(deal.given)
