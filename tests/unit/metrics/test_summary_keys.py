"""Summary keys: all there, in order, and all explained in docs/metrics.md."""

from __future__ import annotations

import re
from pathlib import Path

from slurmsim.campaign.results import COUNTS, MEANS
from slurmsim.metrics.classes import CLASSES
from slurmsim.metrics.summary import summarize, summarize_trace
from slurmsim.trace import schema
from slurmsim.trace.reader import read_trace
from slurmsim.trace.writer import TraceWriter

DOC = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")
# What only the run itself knows.
OF_THE_RUN = (
    "dropped", "cancelled_waiting", "ended_waiting", "waiting", "stopped",
    "wall_s", "jobs_per_s", "passes", "backfilled", "peak_rss_bytes", "policy", "seed", "fair_start_jobs",
    "unfair_share", "mean_unfair_wait_s",
)  # fmt: skip
OF_STREAMS = ("mean_buffer_s",)  # there only where there are any
OF_POWER_AND_GPUS = (
    "gpu_utilization", "gpu_stranded", "energy_j", "co2_kg", "energy_cost", "node_cost", "idle_node_cost",
)  # fmt: skip
OF_CHECKPOINTS = ("checkpoint_cpu_s",)  # there only where jobs make some
OF_TRACES = ("goodput", "lost_cpu_s", "useful_share", "jain_users", "users_slowdown_spread")  # of other tables, too
CONDITIONAL = (*OF_THE_RUN, *OF_STREAMS, *OF_CHECKPOINTS, *OF_TRACES, *OF_POWER_AND_GPUS)
EMPTY = {"submit": [], "start": [], "end": [], "cpus": [], "nodes": [], "state": []}


def test_every_key_of_the_jobs_is_there_in_order():
    found = [key for key in summarize(EMPTY, cpus=1) if key in schema.SUMMARY_KEYS]
    assert found == [key for key in schema.SUMMARY_KEYS if key not in CONDITIONAL]
    of_streams = summarize({**EMPTY, "submit": [5], "start": [7], "end": [9], "cpus": [1], "nodes": [1],
                            "state": ["COMPLETED"], "arrived": [2]}, cpus=1)  # fmt: skip
    assert list(of_streams) == [key for key in schema.SUMMARY_KEYS if key in of_streams]
    assert of_streams["mean_buffer_s"] == 3 and of_streams["mean_wait_s"] == 2


def test_no_jobs_have_no_means():
    found = summarize(EMPTY, cpus=1)
    assert all(found[key] is None for key in found if key.startswith(("mean", "median", "p95", "max", "util")))
    assert found["jobs"] == found["never_started"] == 0


def test_every_key_is_explained():
    of_runs, of_campaigns = re.split("^## In campaigns$", DOC, flags=re.MULTILINE)
    of_campaigns, of_the_run = re.split("^## ", of_campaigns, maxsplit=1, flags=re.MULTILINE)
    assert explained(of_runs) | explained(of_the_run) == set(schema.SUMMARY_KEYS)
    others = {name for name in (*COUNTS, *MEANS) if name not in schema.SUMMARY_KEYS}
    others -= {f"{one}_{what}" for one in CLASSES[1:] for what in ("jobs", "wait_s", "slowdown")}  # in words
    assert explained(of_campaigns) == others


def explained(text: str) -> set[str]:
    """Names in first columns of tables."""
    found = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE)))
    assert len(found) == len(set(found))
    return set(found)


def test_a_trace_counts_lost_runs_and_down_nodes(tmp_path):
    """Two nodes of two CPUs: node 2 down for half the time; the job ran 0-40 and, requeued, 60-100 on node 1."""
    row = {n: None if c.kind == "int64?" else 0 if c.kind == "int64" else "" for n, c in schema.JOBS.items()}
    row |= {
        "job_id": 1,
        "nodes": 1,
        "cpus": 2,
        "submit": 0,
        "start": 60,
        "end": 100,
        "state": "COMPLETED",
        "restarts": 1,
    }
    with TraceWriter(tmp_path / "t") as writer:
        writer.jobs.append(tuple(row.values()))
        for time, part, alloc, idle, down in (
            (0, "", 1, 1, 0), (0, "p", 7, 7, 7), (40, "", 0, 2, 0), (50, "", 0, 1, 1), (60, "", 1, 0, 1),
            (100, "", 0, 1, 1),
        ):  # fmt: skip
            writer.usage.append((time, part, alloc, idle, down, 2 * alloc, 0, 0, alloc, 0, 0, 0))
    found = summarize_trace(read_trace(tmp_path / "t"), cpus=4)
    assert found["utilization"] == (2 * 40 + 2 * 40) / (4 * 100 - 2 * 50)
    assert found["mean_wait_s"] == 60
    assert summarize(read_trace(tmp_path / "t").jobs, cpus=4)["utilization"] == 2 * 40 / 400
