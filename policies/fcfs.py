"""First come, first served: start jobs in queue order; the first that does not fit blocks all behind it.

Decides nothing about the future, so jobs without a limit are no different. No options. The order is the queue's
(priority, submit time, job id); with equal priorities that is arrival order.
"""

from slurmsim.policy import Decisions, Policy, PoolsView, Start


class Fcfs(Policy):
    """Strict queue order in each pool of overlapping partitions."""

    name = "fcfs"
    summary = "first come, first served: strict queue order, no backfill"
    in_order = True

    def schedule(self, view: PoolsView, now: int) -> Decisions:
        for pool in view.pools:
            queue = pool.pending
            while queue and (yield Start(queue[0])):
                pass
            pool.seen()
