"""The workload port: job logs as columns, and what a reader of a format must offer.

A `Workload` is a set of equally long columns, one row a job or array task, ordered by submit time then job id.
Integer columns are int64 with -1 for "not given"; text columns are dictionary-coded (`codes` into `values`), because
a million jobs have few users. Readers put in what the log says, repaired; what they repaired or dropped is counted
in `quality`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass, field

IntColumn = npt.NDArray[np.int64]

# name -> (meaning, default). Times are absolute int seconds on the log's own clock (see WorkloadHeader.epoch).
INT_COLUMNS: dict[str, tuple[str, int]] = {
    "job_id": ("job number, unique, > 0", -1),
    "submit": ("submit time", 0),
    "run_time": ("actual run time, seconds; -1 when the job never ran", -1),
    "time_limit": ("requested time, seconds; -1 the partition's default; -2 UNLIMITED", -1),
    "time_min": ("--time-min, seconds", -1),
    "nodes": ("minimum nodes (-N); -1 not given", -1),
    "nodes_max": ("maximum nodes (-N a-b); -1 not given", -1),
    "tasks": ("tasks (-n); -1 not given", -1),
    "cpus_per_task": ("CPUs a task (-c)", 1),
    "tasks_per_node": ("--ntasks-per-node; -1 not given", -1),
    "mem_per_node": ("--mem, MiB; 0 all memory; -1 not given", -1),
    "mem_per_cpu": ("--mem-per-cpu, MiB; -1 not given", -1),
    "min_nodes": ("fewest nodes a policy that chooses sizes may give it; -1: those it asks for", -1),
    "max_nodes": ("most of them; `run_time` and `time_limit` are meant for so many; -1: those it asks for", -1),
    "malleable": ("1: its nodes may also change while it runs", 0),
    "exclusive": ("1 for --exclusive", 0),
    "oversubscribe": ("1 for -s", 0),
    "contiguous": ("1 for --contiguous", 0),
    "begin": ("--begin, absolute; -1 not given", -1),
    "nice": ("--nice", 0),
    "priority": ("explicitly set priority; -1 none", -1),
    "hold": ("1 for -H", 0),
    "requeue": ("0 for --no-requeue", 1),
    "deadline": ("--deadline, absolute; -1 not given", -1),
    "cancel_at": ("time the user cancels the job; -1 never", -1),
    "exit_code": ("exit status of the script", 0),
    "exit_signal": ("signal that ended the script, 0 none", 0),
    "array_job_id": ("id of the array; -1 not an array task", -1),
    "array_task_id": ("index in the array; -1 not an array task", -1),
    "array_limit": ("%N throttle; -1 none", -1),
    "think_after": ("SWF preceding job: this job's submit is that many seconds after the job in `depends_on` ended; -1",
                    -1),
    "depends_on": ("SWF preceding job number; -1 none", -1),
    # what the log recorded, for grading a replay against it; never shown to a policy
    "log_eligible": ("recorded eligible time; -1 unknown", -1),
    "log_start": ("recorded start; -1 never started or unknown", -1),
    "log_end": ("recorded end; -1 unknown", -1),
}  # fmt: skip
TEXT_COLUMNS: dict[str, str] = {
    "name": "job name",
    "user": "user name",
    "account": "account",
    "partition": "partition or comma list of partitions; empty: the default one",
    "qos": "QOS",
    "gres": "requested GRES a node, Slurm syntax: gpu:2, gpu:a100:1,nvme:1",
    "gpus": "--gpus in Slurm syntax (total for the job), e.g. 4 or a100:4",
    "constraint": "--constraint",
    "node_list": "--nodelist (required nodes), hostlist",
    "exclude": "--exclude, hostlist",
    "options": "rarer sbatch options, as on the command line: --spread-job --use-min-nodes --switches=n@t"
    " --exclusive=user --gpus-per-node= --gpus-per-task= --gpus-per-socket= --tres-per-task=gres/name=n"
    " --sockets-per-node= --mem-per-gpu= --no-kill --kill-on-invalid-dep= --threads-per-core= --hint=nomultithread"
    " --ntasks-per-core= --ntasks-per-socket= --mincpus= --gres-flags=",
    "dependency": "Slurm dependency expression on job ids of this workload: afterok:12:13,afterany:4",
    "reservation": "--reservation: one name, or several to choose from",
    "licenses": "--licenses: mat:2,flu",
    "outcome": "what ends the job if no limit, failure or cancel does: COMPLETED, FAILED, OUT_OF_MEMORY, NODE_FAIL;"
    " empty means COMPLETED (exit code 0) or FAILED (any other)",
    "app": "its application (slurmsim.energy): LeanMD:parallelism=24:sigma=0.2, or all numbers by name",
    "failed_runs": "seconds after which its first runs failed and were repeated: 60,1200",
    "watts": "what all its nodes drew, measured: 900, or 300:900,950 with a value for each 300 s of its run",
    "log_state": "recorded final state",
    "log_nodes": "recorded node list, hostlist",
}


ADDED = ("min_nodes", "max_nodes", "malleable", "app", "failed_runs", "watts")
"""Columns that came later: a file has them only where some job says something in them."""


def constant(n: int, value: int, kind: type[np.signedinteger[Any]] = np.int64) -> npt.NDArray[Any]:
    """Return a read-only column of `n` equal values in the room of one, as most columns of most logs are."""
    return np.broadcast_to(np.array(value, kind), n)


def compact(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the column itself, or a `constant` where all its values are equal."""
    if len(column) and column[0] == column[-1] and (column == column[0]).all():
        return constant(len(column), column[0], column.dtype.type)
    return column


def taken(column: npt.NDArray[Any], rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return those `rows` of the column, indices or a mask; of a `constant` another one."""
    if len(column) and column.strides == (0,):
        n = int(np.count_nonzero(rows)) if rows.dtype == bool else len(rows)
        return constant(n, column[0], column.dtype.type)
    found: npt.NDArray[Any] = column[rows]
    return found


@dataclass(slots=True)
class TextColumn:
    """Dictionary-coded text: `values[codes[i]]` is row i's text. `values[0]` is the empty string."""

    codes: npt.NDArray[np.int32]
    values: list[str]

    @classmethod
    def constant(cls, n: int, value: str = "") -> TextColumn:
        values = [""] if value == "" else ["", value]
        return cls(constant(n, len(values) - 1, np.int32), values)

    @classmethod
    def from_list(cls, items: list[str]) -> TextColumn:
        index: dict[str, int] = {"": 0}
        codes = np.fromiter((index.setdefault(x, len(index)) for x in items), np.int32, len(items))
        return cls(codes, list(index))

    def __getitem__(self, i: int) -> str:
        return str(self.values[self.codes[i]])

    def used(self) -> list[int]:
        """Return the codes that occur, ascending (as `np.unique`, which sorts, and loads masked arrays first: 8 ms)."""
        there = np.zeros(len(self.values), np.bool_)
        there[self.codes[:1] if self.codes.strides == (0,) else self.codes] = True
        return there.nonzero()[0].tolist()

    def said(self) -> npt.NDArray[np.bool_]:
        """Return of each row whether it says something."""
        return np.array([bool(text) for text in self.values], np.bool_)[self.codes]

    def is_silent(self) -> bool:
        """Return True if no row says anything."""
        return not any(self.values[code] for code in self.used())

    def take(self, rows: npt.NDArray[Any]) -> TextColumn:
        return TextColumn(taken(self.codes, rows), self.values)


@dataclass(slots=True)
class QualityReport:
    """Every repair and every dropped record of a log, counted by reason.

    `repaired` and `dropped` map a reason (one plain sentence part, e.g. ``"run time longer than requested"``) to
    a count; `examples` maps it to up to three places (``"line 17: job 12"``).
    """

    records: int = 0
    jobs: int = 0
    repaired: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def repair(self, reason: str, count: int = 1, example: str = "") -> None:
        self._count(self.repaired, reason, count, example)

    def drop(self, reason: str, count: int = 1, example: str = "") -> None:
        self._count(self.dropped, reason, count, example)

    def _count(self, table: dict[str, int], reason: str, count: int, example: str) -> None:
        if count:
            table[reason] = table.get(reason, 0) + count
            if example and len(self.examples.setdefault(reason, [])) < 3:
                self.examples[reason].append(example)


@dataclass(slots=True)
class WorkloadHeader:
    """What the log says of itself. `epoch` is the Unix time of its second 0 (0: times are already Unix times)."""

    source: str = ""
    format: str = ""
    epoch: int = 0
    max_nodes: int = 0
    max_procs: int = 0
    fields: dict[str, str] = field(default_factory=dict)


class Stream(Protocol):
    """Jobs of one source, which comes to its next one as time goes on, or as its jobs start or end.

    Attributes
    ----------
    name
        What messages call it.
    follows
        What its next job comes on: ``gap`` (time alone), ``start`` or ``end`` of the job before.
    chains
        How many jobs it has on the way at once, where the next follows from one: with ``start`` so many are always
        queued.
    limit, drops
        Most jobs it has in the queue (None: any number); beyond them the next is dropped, or waits in a buffer.
    jobs, last
        Jobs in all, and the second from which on it submits none; None for no such bound.
    start
        The second it begins; this and `last` count from the first submission of the log beside it, if there is one.
    """

    @property
    def name(self) -> str: ...
    @property
    def follows(self) -> str: ...
    @property
    def chains(self) -> int: ...
    @property
    def limit(self) -> int | None: ...
    @property
    def drops(self) -> bool: ...
    @property
    def jobs(self) -> int | None: ...
    @property
    def last(self) -> int | None: ...
    @property
    def start(self) -> int: ...

    def gaps(self, first: int, count: int, seed: int) -> npt.NDArray[np.float64]:
        """Seconds before each of the jobs number `first` and following: since the one before, or what it follows."""

    def rows(self, first: int, count: int, seed: int) -> Workload:
        """Return these jobs, without ids and times of submission."""


@dataclass(frozen=True, slots=True)
class Streams:
    """All streams of a file; `limit` is on the jobs of all of them in the queue, `seed` None for the run's."""

    streams: tuple[Stream, ...]
    limit: int | None = None
    drops: bool = False
    seed: int | None = None
    file: str = ""


@dataclass(slots=True)
class Workload:
    """Jobs as columns. Missing columns are filled with their defaults; all columns have `len(self)` rows.

    `streams` submit jobs as time goes on, beside those.
    """

    ints: dict[str, IntColumn]
    texts: dict[str, TextColumn]
    header: WorkloadHeader = field(default_factory=WorkloadHeader)
    quality: QualityReport = field(default_factory=QualityReport)
    streams: Streams | None = None

    def __post_init__(self) -> None:
        n = len(self.ints["job_id"])
        for name, (_, default) in INT_COLUMNS.items():
            if name not in self.ints:
                self.ints[name] = constant(n, default)
        for name in TEXT_COLUMNS:
            if name not in self.texts:
                self.texts[name] = TextColumn.constant(n)

    def __len__(self) -> int:
        return len(self.ints["job_id"])

    def take(self, rows: npt.NDArray[Any]) -> Workload:
        """Return the workload made of `rows` (indices or a mask), in that order; header and quality are shared."""
        return Workload(
            {k: taken(v, rows) for k, v in self.ints.items()},
            {k: v.take(rows) for k, v in self.texts.items()},
            self.header,
            self.quality,
            self.streams,
        )

    def sorted(self) -> Workload:
        """By submit time, then job id; itself where it is so already."""
        order = np.lexsort((self.ints["job_id"], self.ints["submit"]))
        return self if (order[1:] > order[:-1]).all() else self.take(order)


class WorkloadFormat(Protocol):
    """A reader (and perhaps writer) of one format, registered as an entry point in ``slurmsim.workloads``."""

    name: str
    suffixes: tuple[str, ...]

    def sniff(self, head: bytes) -> bool:
        """Return True if a file that starts with `head` (decompressed) looks like this format."""

    def read(self, path: Path, options: Mapping[str, str]) -> Workload:
        """Read `path`. Raises WorkloadError naming file, line and field."""

    def write(self, workload: Workload, path: Path) -> None:
        """Write atomically. Raises OutputError; formats that cannot hold something say what, in WorkloadError."""
