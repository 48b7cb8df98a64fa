"""What would start a waiting job now: each change is tried in a copy of the cluster, by cancelling and submitting anew.

Whatever the scheduler, its limits, reservations and plans say of the changed job counts, because it is asked itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from slurmsim.duration import format_duration
from slurmsim.live.waiting.onlooker import Onlooker
from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.engine.engine import Engine

LOOK_S = 65  # after at least so many seconds slurmctld has looked at all jobs: it does so every minute
MOST_FORKS = 40
Change = dict[str, Any]
Offer = dict[str, Any]


class Offers:
    """Tries changes of one pending job."""

    def __init__(self, onlooker: Onlooker, live: LiveJob) -> None:
        self._onlooker, self._live = onlooker, live
        self._id = str(live.id) if live.array is None else f"{live.array.id}_{live.task}"
        self._forks = 0

    def all(self) -> Iterator[Offer]:
        """Yield changes under which it would start at once, of each kind the least one: ``option``, ``after_s``.

        Where it would start anew as it is, an option would tell nothing: then there is that alone, as ``""``.
        """
        unchanged = self.after({})
        if unchanged is not None:
            yield {"option": "", "after_s": unchanged}
            return
        core, asked = self._live.core, self._live.asked
        minutes = int(core.time_limit_s // 60)
        yield from self._most("--time={}", 1, minutes - 1, _time, lambda n: format_duration(n * 60))
        nodes = int(asked.get("min_nodes") or 1)
        yield from self._most("--nodes={}", 1, nodes - 1, lambda n: {"min_nodes": n, "max_nodes": n})
        tasks = int(asked.get("num_tasks") or 1)
        if tasks > nodes:
            each = int(asked.get("cpus_per_task") or 1)
            yield from self._most("--ntasks={}", nodes, tasks - 1, lambda n: {"num_tasks": n, "min_cpus": n * each})
        for partition in self._onlooker.engine.controller.state.partitions:
            if partition not in core.partitions:
                after = self.after({"partition": partition.name})
                if after is not None:
                    yield {"option": f"--partition={partition.name}", "after_s": after}

    def by_itself(self) -> bool:
        """Return True if it starts within the next look of the scheduler as it is."""
        fork = self._onlooker.fork()
        fork.network.advance(fork.now + look_s(fork))
        return _started(fork, self._live.core.id) is not None

    def after(self, change: Change) -> int | None:
        """Seconds until it starts if it is cancelled and submitted anew with `change`; None: not by the next look."""
        if self._forks >= MOST_FORKS:
            return None
        self._forks += 1
        fork, person = self._onlooker.fork(), self._live.person
        now = fork.now
        job = {name: value for name, value in self._live.asked.items() if name not in ("array_inx", "allocate")}
        try:
            fork.execute(now, "kill", {"job_id": self._id}, person)
            number = int(fork.execute(now, "submit", {"job": {**job, **change}}, person)["job_id"])
        except Refusal:
            return None
        fork.network.advance(now + look_s(fork))
        live = fork.job_table.shown(number)
        start = None if live is None else _started(fork, live.core.id)
        return None if start is None else start - now

    def _most(
        self, option: str, low: int, high: int, change: Callable[[int], Change], shown: Callable[[int], Any] = str
    ) -> Iterator[Offer]:
        """Yield the largest number in [low, high] with which it would start: those below it do, too."""
        if high < low or (after := self.after(change(low))) is None:
            return
        while low < high:
            middle = (low + high + 1) // 2
            found = self.after(change(middle))
            if found is None:
                high = middle - 1
            else:
                low, after = middle, found
        yield {"option": option.format(shown(low)), "after_s": after}


def look_s(engine: Engine) -> int:
    """Return the seconds after which main scheduler and backfill have looked at all jobs."""
    return max(LOOK_S, 2 * int(getattr(engine.controller.host.policy, "interval", 0) or 0) + 5)


def _time(minutes: int) -> Change:
    return {"time_limit": minutes}


def _started(engine: Engine, core_id: int) -> int | None:
    """When the job started; None if it has not."""
    live = engine.jobs.get(core_id)
    return int(live.core.start_time) if live is not None and live.core.start_time is not None else None
