"""Five losses of a schedule seen as a packing of rectangles, and their weighted sum: the Lomonosov efficiency measures.

A slot is a strip of time [X0, X0 + T] and the cluster's height H. In the *pack* Z are the jobs that run when the slot
begins (Z_start) and those of the queue (Z_queue) that start in it. All five are losses: 0 is best, 1 worst.

Notation: job i is queued at Q_i, starts at X_i, runs for T_i, on H_i nodes, and belongs to user U_i.

- Z_start: X_i < X0 < X_i + T_i.
- Z_queue: Q_i <= X0 + T, and neither started before X0 nor left the queue unstarted by X0.
- Z: Z_start, and of Z_queue those with X0 <= X_i <= X0 + T. Both ends belong to the slot, as in the paper; the paper
  prints X0 < X_i, which would forbid a start at once.
- D = X0 + T - min Q_i over Z and Z_queue: the longest wait that the slot can know of. Waits are divided by it and cut
  to [0, 1].

Where the printed formula differs from what is meant, both are given: `Loss.value` and `Loss.raw`.

References
----------
"Supercomputer Efficiency: Complex Approach Inspired by Lomonosov-2 History Evaluation" (metrics 1 to 5 and their
sum). What is corrected, and why: docs/systems/lomonosov.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.metrics.columns import BoolArray, IntArray, nullable
from slurmsim.metrics.utilization import Interval
from slurmsim.numerals import is_number

FOREVER = int(np.iinfo(np.int64).max)
MEASURES = ("utilization", "first_jobs", "started_jobs", "started_users", "mean_wait")
"""The five, in the order of the paper and of the weights."""
EQUAL_WEIGHTS = (0.2,) * 5


class Loss(NamedTuple):
    """A loss in [0, 1] and the number the printed formula gives (seconds, a count, or the same)."""

    value: float
    raw: float


@dataclass(frozen=True, slots=True)
class JobClass:
    """Jobs of `low` nodes and more, but fewer than `high` (None: however many)."""

    low: int = 0
    high: int | None = None

    @classmethod
    def parse(cls, text: str) -> JobClass:
        """``all``, ``A:B`` or ``A:``. Raises ConfigError."""
        if text == "all":
            return cls()
        low, colon, high = text.partition(":")
        if not (colon and is_number(low) and (is_number(high) or not high)):
            raise ConfigError(f"unknown class {text!r}", field="class", expected="all, A:B or A: in nodes, as in 1:8")
        found = cls(int(low), int(high) if high else None)
        if found.high is not None and found.high <= found.low:
            raise ConfigError(f"class {text!r} is empty", field="class", expected="A:B with A below B")
        return found

    def __str__(self) -> str:
        if self.high is None:
            return f"{self.low}:" if self.low else "all"
        return f"{self.low}:{self.high}"


ALL_JOBS = JobClass()


@dataclass(frozen=True)
class Rectangles:
    """Jobs as equally long columns, one row a job; times in whole seconds on one clock."""

    queued: IntArray  # int64: Q
    # start, end: int64; `start` is `FOREVER` where the job never started. `end` is `FOREVER` while it runs; of a job
    # that never started it is when it left the queue.
    start: IntArray
    end: IntArray
    started: BoolArray  # bool
    size: IntArray  # int64: what it takes of the strip's height. Nodes, or CPUs where jobs share nodes.
    nodes: IntArray  # int64: H, by which classes are told
    user: npt.NDArray[np.integer[Any]]  # integer codes

    @classmethod
    def of(cls, jobs: Mapping[str, Any]) -> Rectangles:
        """Columns `queued`, `start`, `end`, `nodes`, `user` and, unless it is the nodes, `size` of a mapping or frame.

        `start` and `end` mark null by NaN, NA, a mask or the least int64; `user` is anything that can be sorted.

        Raises
        ------
        ValueError
            Columns missing or of different lengths.
        """
        names = ("queued", "start", "end", "nodes", "user")
        if missing := [name for name in names if name not in jobs]:
            raise ValueError(f"columns missing: {', '.join(missing)}")
        start, started = nullable(jobs["start"])
        end, ended = nullable(jobs["end"])
        users = np.asarray(jobs["user"])
        nodes = np.asarray(jobs["nodes"], np.int64)
        found = cls(
            np.asarray(jobs["queued"], np.int64),
            np.where(started, start, FOREVER),
            np.where(ended, end, FOREVER),
            started,
            np.asarray(jobs["size"], np.int64) if "size" in jobs else nodes,
            nodes,
            users if users.dtype.kind in "iu" else np.unique(users, return_inverse=True)[1],
        )
        if len({len(column) for column in vars(found).values()}) != 1:
            raise ValueError("columns of different lengths")
        return found

    def __len__(self) -> int:
        return len(self.queued)

    def rows(self, chosen: npt.NDArray[Any]) -> Rectangles:
        """Return these rows only."""
        return Rectangles(
            self.queued[chosen], self.start[chosen], self.end[chosen], self.started[chosen], self.size[chosen],
            self.nodes[chosen], self.user[chosen],
        )  # fmt: skip


class Pack:
    """The jobs of a slot.

    Parameters
    ----------
    jobs
        All jobs; those that have nothing to do with the slot do no harm.
    slot
        [X0, X0 + T]. Raises ConfigError when it has no length.
    """

    def __init__(self, jobs: Rectangles, slot: Interval) -> None:
        if slot.length_s <= 0:
            raise ConfigError(
                f"a slot from {slot.begin} to {slot.end}", field="slot", expected="an end after its begin"
            )
        self.jobs, self.slot = jobs, slot
        begin, end = slot.begin, slot.end
        # Z_start, as bool over the rows of `jobs`
        self.running: BoolArray = jobs.started & (jobs.start < begin) & (jobs.end > begin)
        waits = np.where(jobs.started, jobs.start >= begin, jobs.end > begin)
        self.queue: BoolArray = (jobs.queued <= end) & waits  # Z_queue
        # those of `queue` that start in the slot. Z is `running` and `placed` together.
        self.placed: BoolArray = self.queue & jobs.started & (jobs.start <= end)
        self.inside = np.flatnonzero(self.running | self.placed)

    @cached_property
    def longest_wait_s(self) -> int:
        """D, seconds; 0 where there is no job."""
        known = self.jobs.queued[self.queue | self.running]
        return max(self.slot.end - int(known.min()), 0) if len(known) else 0

    def _share(self, seconds: float) -> float:
        """Return a mean wait as a share of D."""
        return min(max(seconds / self.longest_wait_s, 0.0), 1.0) if self.longest_wait_s else 0.0

    def utilization(self, height: int) -> Loss:
        """Metric 1: the share of the strip that stays empty.

        ``1 - sum over Z of H_i max(0, min(X0 + T, X_i + T_i) - max(X0, X_i)) / (H T)``, cut to [0, 1]: jobs that share
        nodes can sum to more than the strip. Raw is the printed ``1 - sum H_i (min(T, X_i + T_i) - X_i) / (H T)`` with
        times counted from X0; it takes what running jobs did before the slot for use of it.

        Parameters
        ----------
        height
            H, in the unit of `Rectangles.size`.
        """
        if height <= 0:
            raise ConfigError(f"a strip {height} high", field="height", expected="at least 1")
        jobs, slot = self.jobs, self.slot
        start, size = jobs.start[self.inside], jobs.size[self.inside]
        stop = np.minimum(slot.end, jobs.end[self.inside])
        area = height * slot.length_s
        used = np.dot(size, np.maximum(stop - np.maximum(slot.begin, start), 0)) / area
        printed = np.dot(size, stop - start) / area
        return Loss(min(max(1.0 - float(used), 0.0), 1.0), 1.0 - float(printed))

    def first_jobs(self, *, first: bool = False) -> Loss:
        """Metric 2, FUJStartTime: the mean over the users in Z of the least wait of their jobs in Z. Raw: seconds.

        Parameters
        ----------
        first
            Take the wait of the user's job that starts first (of several the one queued first) instead of the least,
            which need not be the first job's although the paper calls it so.
        """
        rows, jobs = self.inside, self.jobs
        if not len(rows):
            return Loss(0.0, 0.0)
        start, queued, user = jobs.start[rows], jobs.queued[rows], jobs.user[rows]
        wait = start - queued
        order = np.lexsort((queued, start, user)) if first else np.lexsort((wait, user))
        ordered = user[order]
        heads = order[np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))]
        seconds = float(wait[heads].mean())
        return Loss(self._share(seconds), seconds)

    def started_jobs(self) -> Loss:
        """Metric 3: the share of the queue that does not start; ``(|Z_start| + |Z_queue| - |Z|) / |Z_queue|``."""
        queued = int(self.queue.sum())
        loss = (queued - int(self.placed.sum())) / queued if queued else 0.0
        return Loss(loss, loss)

    def started_users(self) -> Loss:
        """Metric 4: the share of the users with jobs in the queue, but with no job that starts.

        Raw is the printed count, users of Z_start + users of Z_queue - users of Z, in which a user with jobs in both
        sets counts twice.
        """
        user = self.jobs.user
        queued, placed = np.unique(user[self.queue]), np.unique(user[self.placed])
        raw = len(np.unique(user[self.running])) + len(queued) - len(np.unique(user[self.inside]))
        return Loss((len(queued) - len(placed)) / len(queued) if len(queued) else 0.0, float(raw))

    def mean_wait(self, of: JobClass = ALL_JOBS) -> Loss:
        """Metric 5, AVGStartTime: the mean wait of the jobs of a class in Z, 0 where there are none. Raw: seconds."""
        jobs, rows = self.jobs, self.inside
        nodes = jobs.nodes[rows]
        rows = rows[(nodes >= of.low) & (nodes < (FOREVER if of.high is None else of.high))]
        seconds = float((jobs.start[rows] - jobs.queued[rows]).mean()) if len(rows) else 0.0
        return Loss(self._share(seconds), seconds)


@dataclass(frozen=True, slots=True)
class Losses:
    """The five losses of one slot."""

    slot: Interval
    utilization: Loss
    first_jobs: Loss
    started_jobs: Loss
    started_users: Loss
    by_class: dict[str, Loss]  # Metric 5 of each class asked for, by its name; the first is `mean_wait`
    # jobs, queued, started: |Z|, |Z_queue| and how many of the latter start
    jobs: int
    queued: int
    started: int

    @property
    def mean_wait(self) -> Loss:
        """Metric 5 of the first class."""
        return next(iter(self.by_class.values()))

    @property
    def values(self) -> tuple[float, ...]:
        """The five in [0, 1], in the order of `MEASURES`."""
        return tuple(getattr(self, name).value for name in MEASURES)

    def efficiency(self, weights: Sequence[float] = EQUAL_WEIGHTS) -> float:
        """``sum of c_k m_k``: the lower the better. Raises ConfigError for weights that are none."""
        check_weights(weights)
        return float(np.dot(weights, self.values))


def check_weights(weights: Sequence[float]) -> None:
    """Raise ConfigError unless `weights` are five numbers of at least 0 that sum to one."""
    text = ", ".join(f"{w:g}" for w in weights)
    if len(weights) != len(MEASURES):
        raise ConfigError(f"{len(weights)} weights: {text}", field="weights", expected="five: " + ", ".join(MEASURES))
    if not all(w >= 0 for w in weights):
        raise ConfigError(f"weights {text}", field="weights", expected="numbers of at least 0")
    if abs(sum(weights) - 1) > 1e-9:
        raise ConfigError(f"weights {text} sum to {sum(weights):g}", field="weights", expected="a sum of 1")


def losses(
    jobs: Rectangles,
    slot: Interval,
    height: int,
    classes: Sequence[JobClass] = (ALL_JOBS,),
    *,
    first: bool = False,
) -> Losses:
    """Return the five losses of `jobs` in one slot; parameters as in `Pack`. A million jobs take about 0.3 s."""
    pack = Pack(jobs, slot)
    return Losses(
        slot,
        pack.utilization(height),
        pack.first_jobs(first=first),
        pack.started_jobs(),
        pack.started_users(),
        {str(of): pack.mean_wait(of) for of in classes},
        len(pack.inside),
        int(pack.queue.sum()),
        int(pack.placed.sum()),
    )


def losses_of_slots(
    jobs: Rectangles,
    slots: Sequence[Interval],
    height: int,
    classes: Sequence[JobClass] = (ALL_JOBS,),
    *,
    first: bool = False,
) -> list[Losses]:
    """`losses` of each of `slots`, which ascend and do not overlap.

    Only jobs that are queued or running somewhere in a slot are looked at for it, so a long trace costs as much as
    its jobs have slots in which they wait or run.
    """
    order = np.argsort(jobs.queued, kind="stable")
    queued = jobs.queued[order]
    found, come, there = [], 0, np.zeros(0, np.int64)
    for slot in slots:
        until = int(np.searchsorted(queued, slot.end, side="right"))
        there = np.concatenate([there, order[come:until]])
        come = until
        there = there[(jobs.end[there] > slot.begin) | (jobs.start[there] == slot.begin)]
        found.append(losses(jobs.rows(there), slot, height, classes, first=first))
    return found
