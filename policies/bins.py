"""Bins: jobs are boosted and held back by their size, and a user has few in the queue; then any scheduler.

A job goes to the bin of its number of nodes. It enters the queue when fewer than `limit` of its user's jobs are queued
(running ones do not count), else it waits in a buffer, where it does not age. The queue is in the order of (time of
entering it - boost of the bin), ties by order of entry: ageing adds the same to every job. The base scheduler decides
in the queue; it does not see the jobs in the buffers.

At one instant: all facts, then the base. With `conservative` every job gets, in queue order, the earliest start at
which enough nodes are free for its whole limit. All jobs that are due start; jobs that enter the queue then are planned
next, and so on. It plans anew if a job ends early or enters ahead of others. `fcfs` tries the head alone, anew after
every start.

Held back: QOSMaxSubmitJobPerUserLimit (the buffer), PartitionNodeLimit (no bin), PartitionTimeLimit (too long).

Options: `OPTIONS` below, and the base's. Source: the queue simulator of "Modeling Allocation Utilization Strategies on
Supercomputers" and OLCF's queue policies; what they leave open: docs/systems/titan.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from slurmsim.errors import ConfigError
from slurmsim.policy import (
    Decision,
    Decisions,
    JobView,
    Policy,
    PolicyOption,
    RecordView,
    Sight,
    SlurmRecord,
    SlurmView,
    load_policy,
    policy_names,
)
from slurmsim_policies.bin_table import DAY_S, EOS, TITAN, Binned, Table, read_table
from slurmsim_policies.choices import one_of

RUN, HOLD = "run", "hold"
AS_FILE = "as the file says"


def _limit(text: str) -> int | None:
    if text == "none":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(text)
    return int(text)


_LIMIT = "a user's jobs in the queue, or none"
_LONGEST = f"jobs longer than their bin allows: {RUN} all the same, or {HOLD} them for ever"
_BOOSTS = PolicyOption(one_of("on", "off"), "on", "on, or off: no job is boosted")
_BASE = "scheduler of the queue, with its own options beside these"


class Bins(Policy):
    """A discipline made of a table of bins, and a base scheduler."""

    name = "bins"
    summary = "bins by size with boosts, and few queued jobs a user, from a file; any scheduler on top"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {
        "file": PolicyOption(read_table, Table(), "table of bins in TOML; none: one bin for everybody"),
        "base": PolicyOption(str, "conservative", _BASE),
        "limit": PolicyOption(_limit, AS_FILE, _LIMIT),
        "boosts": _BOOSTS,
        "longest": PolicyOption(one_of(RUN, HOLD), HOLD, _LONGEST),
    }
    TABLE: ClassVar[Table | None] = None

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        given = dict(options or {})
        super().__init__({key: text for key, text in given.items() if key in self.OPTIONS})
        name = self.options["base"]
        if name not in policy_names() or issubclass(load_policy(name), Bins):
            known = ", ".join(one for one in policy_names() if one not in ("bins", "titan", "eos"))
            raise ConfigError(f"no base scheduler is called {name!r}", field="--policy", expected=known)
        theirs = {key: text for key, text in given.items() if key not in self.OPTIONS}
        base = load_policy(name)
        for key in theirs:
            if key not in base.OPTIONS and key != "predictor":  # of which the base says that it takes none
                known = ", ".join(sorted({*self.OPTIONS, *base.OPTIONS}))
                raise ConfigError(f"unknown option {key!r} of policy {self.name}", field="--policy",
                                  expected=f"one of: {known}")  # fmt: skip
        if name == "conservative":
            theirs.setdefault("early", "replan")
        self.base = base(theirs)
        self.options = {**self.base.options, **self.options}
        table = self.TABLE or self.options["file"]
        limit = table.limit if self.options["limit"] == AS_FILE else self.options["limit"]
        self.options["limit"] = limit
        boosts, hold = self.options["boosts"] == "on", self.options["longest"] == HOLD
        self.discipline = self._binned = Binned(table, limit, boosts=boosts, hold=hold)
        self.event_driven = self.base.event_driven
        self.label = self.base.label or self.base.name
        self.predictor = self.base.predictor

    @property
    def solvers(self) -> frozenset[str]:
        return self.base.solvers

    def configure(self, scheduler_parameters: Mapping[str, str], start_time: int) -> None:
        self.base.watched = self.watched
        self.base.configure(scheduler_parameters, start_time)

    def next_time(self, view: SlurmView, now: int, changed: bool) -> int | None:
        return self.base.next_time(view, now, changed)

    def order(self, view: SlurmView, records: Sequence[SlurmRecord], now: int) -> Sequence[RecordView]:
        return self.base.order(view, records, now)

    def schedule(self, view: SlurmView, now: int) -> Iterable[Decision] | Decisions:
        return self.base.schedule(view, now)

    def solved(self, view: SlurmView, now: int, request: Any, answer: Any) -> Iterable[Decision] | Decisions:
        return self.base.solved(view, now, request, answer)

    def explain(self, view: SlurmView, job: JobView, now: int) -> str:
        said = self.base.explain(view, job, now)
        rules = self._binned
        place = rules.bin_of(job.n_nodes)
        if place is None:
            return f"No bin takes {job.n_nodes} nodes. {said}".strip()
        boost = rules.ahead_s(Sight(job.n_nodes, job.time_limit_s, job.user))
        older = f", which counts it {boost // DAY_S} days older" if boost else ""
        parts = [f"It belongs to the bin of {place}{older}."]
        queue = view.pending
        if rules.limit is not None:
            mine = sum(one.user == job.user for one in queue)
            inside = any(one.id == job.id for one in queue)
            parts.append(f"{job.user} has {mine} of {rules.limit} jobs in the queue"
                         f"{'' if inside else '; it waits in the buffer, where it does not age'}.")  # fmt: skip
        return " ".join([*parts, said]).strip()


_OWN = {key: option for key, option in Bins.OPTIONS.items() if key != "file"}


class Titan(Bins):
    """Titan's bins; longest wall times do not count unless asked for, as in replays of the simulator's authors."""

    name = "titan"
    summary = "Titan's five bins, two of them boosted, and four queued jobs a user; any scheduler on top"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {
        **_OWN,
        "limit": PolicyOption(_limit, 4, _LIMIT),
        "longest": PolicyOption(one_of(RUN, HOLD), RUN, _LONGEST),
    }
    TABLE = TITAN


class Eos(Titan):
    """Eos's three bins."""

    name = "eos"
    summary = "Eos's three bins without boosts, and two queued jobs a user; any scheduler on top"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {**Titan.OPTIONS, "limit": PolicyOption(_limit, 2, _LIMIT)}
    TABLE = EOS
