"""The tables of a campaign, from the results of its cells: a few rows at a time, in the order of keys.

The same cells give the same bytes, on every machine and in every order. How long they took, where and when is in
``times.parquet``, which differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from slurmsim.campaign.cells import AXES
from slurmsim.campaign.store import Store
from slurmsim.metrics.classes import CLASSES
from slurmsim.trace.staging import staged_file

COUNTS = (
    "jobs", "completed", "timeout", "cancelled", "failed", "node_fail", "never_started", "unfinished", "refused",
    "cancelled_waiting", "dropped", "first_submit", "last_end", "makespan_s", "max_wait_s", "requeues",
    "requeued_cpu_s", "lost_cpu_s",
    "energy_j", "passes", "backfilled", "fair_start_jobs", *(f"{one}_jobs" for one in CLASSES),
)  # fmt: skip
MEANS = (
    "mean_wait_s", "median_wait_s", "p95_wait_s", "mean_wait_so_far_s", "mean_wait_central_s", "mean_buffer_s",
    "mean_turnaround_s", "mean_slowdown", "mean_bounded_slowdown", "mean_bounded_slowdown_central", "utilization",
    "utilization_central", "goodput", "useful_share", "offered_load", "jain_users", "users_slowdown_spread",
    "unfair_share",
    "mean_unfair_wait_s", "gpu_utilization", "gpu_stranded", "co2_kg", "energy_cost", "node_cost", "idle_node_cost",
    *(f"{one}_{what}" for one in CLASSES for what in ("wait_s", "slowdown")),
)  # fmt: skip
"""Columns of summaries.parquet beside the key and the axes: docs/metrics.md and docs/campaigns.md."""
SPENT = ("began", "wall_s", "cpu_s", "peak_bytes", "host", "python")
BATCH = 2000  # rows of one row group


def write_summaries(store: Store, cells: Sequence[tuple[str, Sequence[Any]]]) -> Path:
    """``summaries.parquet`` of the cells (key, labels) that have been run; returns the file."""
    import pyarrow as pa

    schema = pa.schema(
        [("key", pa.string()), *((name, _kind(name)) for name in AXES)]
        + [(name, pa.int64()) for name in COUNTS] + [(name, pa.float64()) for name in MEANS]
    )  # fmt: skip

    def rows() -> Iterator[dict[str, Any]]:
        for key, labels in cells:
            figures = store.read(key)["figures"]
            known = {name: figures.get(name) for name in (*COUNTS, *MEANS)}
            yield {"key": key, **dict(zip(AXES, labels, strict=True)), **known}

    return _write(store.folder / "summaries.parquet", schema, rows())


def write_times(store: Store, keys: Iterable[str]) -> Path:
    """``times.parquet``: when, where and how long each cell ran."""
    import pyarrow as pa

    kinds = {"host": pa.string(), "python": pa.string(), "peak_bytes": pa.int64()}
    schema = pa.schema([("key", pa.string()), *((name, kinds.get(name, pa.float64())) for name in SPENT)])
    rows = ({"key": key, **store.read(key)["spent"]} for key in keys)
    return _write(store.folder / "times.parquet", schema, rows)


def write_jobs(store: Store, keys: Iterable[str]) -> Path:
    """``jobs.parquet``: the jobs of all cells, each with the key of its cell."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    target = store.folder / "jobs.parquet"
    writer = None
    with staged_file(target) as staged:
        for key in keys:
            table = pq.read_table(store.jobs(key))
            column = pa.DictionaryArray.from_arrays(pa.array([0] * len(table), pa.int32()), pa.array([key]))
            table = table.add_column(0, "key", column).replace_schema_metadata(None)
            writer = writer or pq.ParquetWriter(staged, table.schema, compression="zstd")
            writer.write_table(table)
        if writer is None:
            pq.write_table(pa.table({"key": pa.array([], pa.string())}), staged)
        else:
            writer.close()
    return target


def put_text(target: Path, text: str) -> Path:
    """Write a small file, whole or not at all. Raises OutputError."""
    with staged_file(target) as staged:
        staged.write_text(text, encoding="utf-8")
    return target


def _kind(axis: str) -> Any:
    import pyarrow as pa

    return {"load": pa.float64(), "seed": pa.int64()}.get(axis, pa.string())


def _write(target: Path, schema: Any, rows: Iterator[dict[str, Any]]) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with staged_file(target) as staged, pq.ParquetWriter(staged, schema, compression="zstd") as writer:
        while batch := list(islice(rows, BATCH)):
            writer.write_table(pa.Table.from_pylist(batch, schema))
    return target
