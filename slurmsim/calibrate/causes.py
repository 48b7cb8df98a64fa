"""Which setting would explain what differs: each change replayed, ranked by how much nearer it comes to the log.

The distance of a replay from the log is the geometric mean, over the jobs the log started, of the factor between the
two waits. A minute is added to both waits, so that seconds of latency count as nothing. The grade
(`slurmsim.fidelity.grade`) is shown beside it.

A first replay of each change says which are worth a second look. These, and the baseline, are replayed again with
jittered submit times, the same jitter in both. A change explains the share of the distance (of its logarithm) that it
takes away in these replays, with the 95 % interval of its mean. The replays that chose it do not count.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from math import exp
from typing import Any

import numpy as np

from slurmsim.calibrate.candidates import Candidate
from slurmsim.campaign.tasks import Task
from slurmsim.campaign.workers import run_tasks
from slurmsim.data_classes import dataclass, field, replace
from slurmsim.errors import SlurmSimError
from slurmsim.fidelity.grade import SHORT_S, Fit, Floats, grade
from slurmsim.fidelity.log import LogReplay
from slurmsim.fidelity.waits import on, replay_waits
from slurmsim.metrics.paired import Paired, paired
from slurmsim.replaying.options import RunOptions

ENOUGH = 0.1  # a change that takes away less than this share of the distance explains nothing
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Tried:
    """One change and its replays."""

    candidate: Candidate
    # fit, factor: its grade, and its distance from the log: 1 where each wait is as logged. None where it could not be
    # replayed.
    fit: Fit | None = None
    factor: float | None = None
    # share of the baseline's distance it takes away in the replicates; None for those not looked at twice
    explains: Paired | None = None
    same_as: str = ""  # another change with the very same schedule, or ``nothing``: the configuration as it is
    failed: str = ""  # why it could not be replayed

    @property
    def clear(self) -> bool:
        """True if it explains at least a tenth of the difference, and the whole interval is above zero."""
        one = self.explains
        return one is not None and one.low is not None and one.low > 0 and one.mean >= ENOUGH


@dataclass(slots=True)
class Causes:
    """What was tried, best first; `factor` is the distance of the baseline."""

    factor: float
    tried: list[Tried] = field(default_factory=list)
    replicates: int = 0
    interrupted: bool = False

    @property
    def explaining(self) -> list[Tried]:
        """The candidates with a clear effect."""
        return [one for one in self.tried if one.clear]

    @property
    def sentence(self) -> str:
        """What explains the difference, in words."""
        if not self.tried:
            return "No change was tried."
        n = len(self.tried)
        if self.factor < SAME:
            return f"There is nothing to explain: waits are as logged, to a factor of {self.factor:.2f}."
        if not self.explaining:
            looked = "" if self.replicates else ", and without replicates nothing is sure"
            return f"None of the {n} changes tried explains it{looked}."
        best = self.explaining[0]
        assert best.explains is not None and best.explains.low is not None and best.explains.high is not None
        assert best.factor is not None
        share = f"{best.explains.mean:.0%} of the difference ({best.explains.low:.0%} to {best.explains.high:.0%})"
        if best.factor < SAME:  # what is not explained comes with the jitter of the replicates alone
            share = "all of the difference"
        others = len(self.explaining) - 1
        also = f" {others} more would explain a part." if others else ""
        return (f"{best.candidate.setting} (now {best.candidate.now}) would explain {share}: waits off by a factor of "
                f"{best.factor:.2f} instead of {self.factor:.2f}.{also}")  # fmt: skip


SAME = 1.005  # a distance below this is none


def distance(logged: Floats, replayed: Floats, longest: Floats) -> float:
    """Mean logarithm of the factor between waits; a job the replay has not started waited at least `longest`."""
    started = ~np.isnan(logged)
    if not started.any():
        return 0.0
    a = logged[started]
    b = np.where(np.isnan(replayed), longest, replayed)[started]
    return float(np.abs(np.log((b + SHORT_S) / (a + SHORT_S))).mean())


def find_causes(
    options: RunOptions, baseline: LogReplay, changes: Sequence[Candidate], *, replicates: int, jitter_s: int, top: int,
    progress: Progress | None = None,
) -> Causes:  # fmt: skip
    """Replay all `changes`, and the `top` best and the baseline `replicates` times more; Ctrl-C ends it early."""
    search = _Search(options, baseline, jitter_s, progress or (lambda done, total: None))
    found = Causes(exp(search.far(baseline.replayed)))
    search.total = len(changes) + replicates * (1 + top)
    try:
        found.tried = search.first_look(changes)
        found.tried.sort(key=_order)
        if replicates > 1:
            # the changes with a nearer first replay and a schedule that no other change had before
            nearer = [i for i, one in enumerate(found.tried)
                      if one.factor is not None and not one.same_as and one.factor < found.factor][:top]  # fmt: skip
            for i, shares in search.second_look([(i, found.tried[i].candidate) for i in nearer], replicates):
                found.tried[i] = replace(found.tried[i], explains=paired(shares))
            found.replicates = replicates
    except KeyboardInterrupt:
        found.interrupted = True
        found.tried = sorted(search.seen.values(), key=_order) if not found.tried else found.tried
    found.tried.sort(key=_order)
    return found


def _digest(waits: Floats) -> bytes:
    return hashlib.sha256(waits.tobytes()).digest()


def _order(one: Tried) -> tuple[bool, float, bool, float]:
    """Return a sort key: what explains most, then what came nearest, what changes nothing, and what failed."""
    share = one.explains.mean if one.explains is not None and one.clear else 0.0
    return one.factor is None, -share, bool(one.same_as), one.factor or 0.0


class _Search:
    """The replays, and what they are measured with."""

    def __init__(self, options: RunOptions, baseline: LogReplay, jitter_s: int, progress: Progress) -> None:
        self.options, self.baseline, self.jitter_s, self.progress = options, baseline, jitter_s, progress
        ints = baseline.prepared.workload.ints
        self.ids, self.logged = ints["job_id"], baseline.logged
        over = max(int(ints[name].max(initial=0)) for name in ("submit", "log_start", "log_end"))
        self.longest = (over - ints["submit"]).astype(np.float64)
        self.done = self.total = 0
        self.seen: dict[int, Tried] = {}

    def far(self, replayed: Floats) -> float:
        """Return the distance of a replay."""
        return distance(self.logged, replayed, self.longest)

    def first_look(self, changes: Sequence[Candidate]) -> list[Tried]:
        """One replay of each."""
        tasks = [Task(str(i), replay_waits, (self.changed(one),), "replay") for i, one in enumerate(changes)]
        alike = {_digest(self.baseline.replayed): "nothing"}
        schedules: dict[int, bytes] = {}
        for name, value, error in self.results(tasks):
            i = int(name)
            if error is not None:
                if not isinstance(error, SlurmSimError):
                    raise error
                self.seen[i] = Tried(changes[i], failed=" ".join(str(error).split()))
                continue
            waits = on(self.ids, *value)
            schedules[i] = _digest(waits)
            self.seen[i] = Tried(changes[i], grade(self.logged, waits), exp(self.far(waits)))
        for i in sorted(schedules):  # in the order of the list, whichever was done first
            same = alike.setdefault(schedules[i], changes[i].setting)
            if same != changes[i].setting:
                self.seen[i] = replace(self.seen[i], same_as=same)
        return [self.seen[i] for i in sorted(self.seen)]

    def second_look(
        self, chosen: Sequence[tuple[int, Candidate]], replicates: int
    ) -> Iterator[tuple[int, Sequence[float]]]:
        """Of each the share of the baseline's distance it takes away, in each replicate."""
        sides: list[tuple[int, RunOptions]] = [(-1, self.options), *((i, self.changed(one)) for i, one in chosen)]
        self.total = self.done + replicates * len(sides)
        tasks = [
            Task(f"{k} {i}", replay_waits, (replace(side, jitter=self.jitter_s, seed=side.seed + 1 + k),), "replay")
            for k in range(replicates) for i, side in sides
        ]  # fmt: skip
        far: dict[tuple[int, int], float] = {}
        for name, value, error in self.results(tasks if chosen else ()):
            if error is not None:
                raise error
            k, i = map(int, name.split())
            far[k, i] = self.far(on(self.ids, *value))
        for i, _ in chosen:
            yield i, [1 - far[k, i] / far[k, -1] if far[k, -1] else 0.0 for k in range(replicates)]

    def changed(self, one: Candidate) -> RunOptions:
        return replace(self.options, set=self.options.set + one.set)

    def results(self, tasks: Iterable[Task]) -> Iterator[tuple[str, Any, Exception | None]]:
        """Name, value and error of each task as it is done."""
        with closing(run_tasks(tasks)) as running:
            for done in running:
                self.done += 1
                self.progress(self.done, self.total)
                yield done.task.name, done.value, done.error
