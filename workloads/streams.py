"""Streams of jobs in TOML: Kendall's sources, open ones and closed loops.

    nodes = 4                    # the machine, where nothing else says how large it is
    limit = 20                   # queued jobs of all streams; over = "buffer" (default) or "drop"
    seed = 1                     # default: the run's

    [[stream]]
    name = "hep"
    jobs = 1000                  # or hours = 2190; both: whichever is over first
    gap = {dist = "expon", scale = 600}      # seconds between two submissions: an open stream
    run = {dist = "norm", loc = 14400, scale = 7200, least = 1}
    nodes = {dist = "poisson", mu = 8, least = 1}

    [[stream]]
    name = "always-two"
    next = "start"               # the next job comes when one starts (or "end"), `think` seconds later
    chains = 2                   # with two of them: two are always queued
    hours = 2190
    run = 3600

Job k of stream s is drawn from a counter-based generator keyed (seed, s, k), each of its quantities by inverting the
distribution: it is the same job under every policy, whatever came before it.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.toml_file import only_keys, read_toml, whole_number
from slurmsim.workload import Streams, TextColumn, Workload, WorkloadHeader
from slurmsim_workloads.distributions import Distribution, read_distribution, uniforms
from slurmsim_workloads.options import Option, check_options
from slurmsim_workloads.parameters import MOST

OPTIONS: tuple[Option, ...] = ()
FOLLOWS = ("gap", "start", "end")
OVER = ("buffer", "drop")
HOUR_S = 3600
_FILE_KEYS = ("nodes", "limit", "over", "seed", "stream")
_KEYS = ("name", "user", "account", "partition", "jobs", "hours", "start", "gap", "next", "think", "chains", "run",
         "nodes", "request", "time_limit", "limit", "over")  # fmt: skip


@dataclass(frozen=True)
class DrawnStream:
    """A stream with drawn jobs (slurmsim.workload.Stream)."""

    number: int  # its place in the file, which keys its draws
    name: str
    user: str
    account: str
    partition: str
    follows: str
    chains: int
    jobs: int | None
    last: int | None
    start: int
    limit: int | None
    drops: bool
    between: Distribution  # seconds between submissions, or from what the next job follows to it
    # run, nodes: run time in seconds, rounded, at least 1; nodes, rounded, at least 1
    run: Distribution
    nodes: Distribution
    # request, time_limit: the time limit is `request` x the run time, rounded up; or `time_limit` seconds, if that is
    # given
    request: float
    time_limit: int | None

    def gaps(self, first: int, count: int, seed: int) -> npt.NDArray[np.float64]:
        """Seconds, (count,)."""
        return np.maximum(self.between.of(uniforms(seed, self.number, first, count)[:, 0]), 0.0)

    def rows(self, first: int, count: int, seed: int) -> Workload:
        """Return jobs `first`, …, with a name, a user, run times, limits and whole nodes."""
        u = uniforms(seed, self.number, first, count)
        run_time = np.maximum(np.rint(self.run.of(u[:, 1])), 1).astype(np.int64)
        nodes = np.maximum(np.rint(self.nodes.of(u[:, 2])), 1).astype(np.int64)
        if self.time_limit is None:
            limit = np.ceil(np.round(run_time * self.request, 6)).astype(np.int64)
        else:
            limit = np.full(count, self.time_limit, np.int64)
        names = [f"{self.name}.{k}" for k in range(first, first + count)]
        texts = {"name": TextColumn(np.arange(count, dtype=np.int32) + 1, ["", *names])}
        for column, value in (("user", self.user), ("account", self.account), ("partition", self.partition)):
            texts[column] = TextColumn.constant(count, value)
        ints = {
            "job_id": np.arange(1, count + 1, dtype=np.int64), "run_time": run_time, "time_limit": limit,
            "nodes": nodes, "nodes_max": nodes, "tasks": nodes.copy(), "exclusive": np.ones(count, np.int64),
        }  # fmt: skip
        return Workload(ints, texts, WorkloadHeader(source=f"stream {self.name}"))


class StreamsFormat:
    """Reader of streams as a workload of no jobs of its own."""

    name = "streams"
    suffixes: tuple[str, ...] = (".toml",)

    def sniff(self, head: bytes) -> bool:
        """Return True if it has a table of streams."""
        return b"[[stream]]" in head

    def read(self, path: Path, options: Mapping[str, str]) -> Workload:
        """Return the streams of `path`. Raises ConfigError naming file and field."""
        check_options("streams", OPTIONS, options)
        return stream_workload(read_toml(str(path), "streams of jobs in TOML"), str(path))

    def write(self, workload: Workload, path: Path) -> None:
        """Jobs are no streams."""
        raise WorkloadError("streams cannot be written", file=str(path), expected="swf or parquet")


def stream_workload(tables: Mapping[str, Any], name: str) -> Workload:
    """Return the workload of streams given as TOML has them; `name` stands for the file in messages."""
    streams, nodes = _streams(tables, name)
    none = {"job_id": np.zeros(0, np.int64)}
    return Workload(none, {}, WorkloadHeader(name, "streams", max_nodes=nodes), streams=streams)


def read_streams(file: str) -> tuple[Streams, int]:
    """Return the streams of a file, and the nodes it says the machine has (0: nothing). Raises ConfigError."""
    return _streams(read_toml(file, "streams of jobs in TOML"), file)


def _streams(found: Mapping[str, Any], file: str) -> tuple[Streams, int]:
    only_keys(file, "", found, _FILE_KEYS)
    rows = found.get("stream")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise ConfigError("has no streams", file=file, field="stream", expected="[[stream]] with gap or next, and run")
    streams = tuple(_stream(file, number, row) for number, row in enumerate(rows))
    names = [one.name for one in streams]
    for k, name in enumerate(names):
        if name in names[:k]:
            raise ConfigError(f"two streams are called {name!r}", file=file, field=f"stream {k + 1}.name",
                              expected="a name of its own")  # fmt: skip
    limit, drops = _limit(file, "", found)
    if drops and any(one.follows != "gap" for one in streams):
        raise ConfigError("a closed loop would end with the first job that is dropped", file=file, field="over",
                          expected="buffer")  # fmt: skip
    seed = whole_number(file, "", found, "seed", 0)
    return Streams(streams, limit, drops, seed, file), whole_number(file, "", found, "nodes", 1, MOST) or 0


def _stream(file: str, number: int, row: Mapping[str, Any]) -> DrawnStream:
    where = f"stream {number + 1}."
    only_keys(file, where, row, _KEYS)
    texts = {key: row.get(key, "") for key in ("name", "user", "account", "partition")}
    for key, value in texts.items():
        if not isinstance(value, str):
            raise ConfigError(f"{value!r}", file=file, field=where + key, expected="a text")
    name = texts["name"] or f"stream{number + 1}"
    follows = row.get("next", "gap")
    if follows not in FOLLOWS:
        raise ConfigError(f"{follows!r}", file=file, field=f"{where}next", expected=", ".join(FOLLOWS))
    closed = follows != "gap"
    unused = "gap" if closed else next((key for key in ("think", "chains") if key in row), "")
    if unused in row:
        raise ConfigError(f"does not go with next = {follows!r}", file=file, field=where + unused,
                          expected="think and chains with start or end, gap without")  # fmt: skip
    if not closed and "gap" not in row:
        raise ConfigError("missing", file=file, field=f"{where}gap", expected='seconds, or next = "start" or "end"')
    between = read_distribution(row.get("think" if closed else "gap", 0), file,
                                where + ("think" if closed else "gap"), positive=not closed)  # fmt: skip
    if "run" not in row:
        raise ConfigError("missing", file=file, field=f"{where}run", expected="seconds")
    limit, drops = _limit(file, where, row)
    if closed and drops:
        raise ConfigError("a closed loop would end with the first job that is dropped", file=file, field=f"{where}over",
                          expected="buffer")  # fmt: skip
    start, hours = whole_number(file, where, row, "start", 0, MOST) or 0, _number(file, where, row, "hours", None)
    request, time_limit = (
        _number(file, where, row, "request", 1.0),
        whole_number(file, where, row, "time_limit", 1, MOST),
    )
    if time_limit is not None and "request" in row:
        raise ConfigError("does not go with time_limit", file=file, field=f"{where}request", expected="one of them")
    last = None if hours is None else start + math.ceil(hours * HOUR_S)
    return DrawnStream(
        number, name, texts["user"] or name, texts["account"], texts["partition"], follows,
        whole_number(file, where, row, "chains", 1, MOST) or 1, whole_number(file, where, row, "jobs", 1, MOST), last,
        start, limit, drops, between, read_distribution(row["run"], file, f"{where}run", positive=True),
        read_distribution(row.get("nodes", 1), file, f"{where}nodes", positive=True), request or 1.0, time_limit,
    )  # fmt: skip


def _limit(file: str, where: str, row: Mapping[str, Any]) -> tuple[int | None, bool]:
    limit, over = whole_number(file, where, row, "limit", 1, MOST), row.get("over", "buffer")
    if over not in OVER:
        raise ConfigError(f"{over!r}", file=file, field=f"{where}over", expected=", ".join(OVER))
    if "over" in row and limit is None:
        raise ConfigError("there is no limit", file=file, field=f"{where}over", expected="limit beside it")
    return limit, over == "drop"


def _number(file: str, where: str, row: Mapping[str, Any], key: str, default: float | None) -> float | None:
    value: float | None = row.get(key, default)
    if value is not None and (type(value) not in (int, float) or not 0 < value < MOST):
        raise ConfigError(f"{value!r}", file=file, field=where + key, expected="a number, more than 0")
    return value
