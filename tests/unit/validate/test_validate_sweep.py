"""The vectorised walk over nodes against counting second by second."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.hostlist import compress, expand
from slurmsim.trace import schema
from slurmsim.validate import sweep as sweep_module
from slurmsim.validate import validate_schedule
from slurmsim.validate.amounts import parse_counts, parse_gres
from slurmsim.validate.columns import table_of
from slurmsim.validate.facts import cluster_facts
from slurmsim.validate.history import raw_runs
from slurmsim.validate.nodelists import NodeIndex
from slurmsim.validate.outages import Outages, kind_of
from slurmsim.validate.runs import JobRuns, lay_out

NODES = ["n1", "n2", "n3", "n4", "n6", "g01", "g02"]
CLUSTER = {"nodes": [["n[1-4,6]", 4, 10, {}], ["g[01-02]", 6, 10, {"gpu": 2}]], "partitions": {}}
CAPACITY = {name: (4, 10, 0) if name[0] == "n" else (6, 10, 2) for name in NODES}


@st.composite
def allocations(draw: st.DrawFn) -> dict[str, Any]:
    """A job: when, and what it holds on each of its nodes."""
    nodes = draw(st.lists(st.sampled_from(NODES), unique=True, min_size=1, max_size=5))
    nodes = expand(compress(nodes))
    n = len(nodes)
    start = draw(st.integers(0, 20))
    amounts = st.lists(st.integers(1, 3), min_size=n, max_size=n)
    return {
        "start": start, "end": start + draw(st.integers(0, 10)), "nodes": nodes, "cpus": draw(amounts),
        "mem": draw(amounts), "gpus": draw(st.sampled_from([0, 0, 0, 1, 2])),
    }  # fmt: skip


def columns(jobs: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {
        "job_id": list(range(1, len(jobs) + 1)),
        "submit": [0 for _ in jobs],
        "start": [job["start"] for job in jobs],
        "end": [job["end"] for job in jobs],
        "node_list": [compress(job["nodes"]) for job in jobs],
        "cpus_per_node": [",".join(map(str, job["cpus"])) for job in jobs],
        "mem_per_node_mib": [",".join(map(str, job["mem"])) for job in jobs],
        "gres_per_node": [f"gpu:{job['gpus']}" if job["gpus"] else "" for job in jobs],
    }


def naive(jobs: list[dict[str, Any]]) -> tuple[set[tuple[str, str, int]], list[int]]:
    """(resource, node, second) of each over-booking at a start, and busy nodes in each second up to 30."""
    over: set[tuple[str, str, int]] = set()
    busy = []
    for t in range(31):
        there = [(job, k) for job in jobs if job["start"] <= t < job["end"] for k in range(len(job["nodes"]))]
        busy.append(len({job["nodes"][k] for job, k in there}))
        for node in NODES:
            here = [(job, k) for job, k in there if job["nodes"][k] == node]
            if not any(job["start"] == t for job, _ in here):
                continue
            used = {
                "cpus_not_overbooked": sum(job["cpus"][k] for job, k in here),
                "memory_not_overbooked": sum(job["mem"][k] for job, k in here),
                "gres_not_overbooked": sum(job["gpus"] for job, _ in here),
            }
            over |= {
                (name, node, t) for (name, u), c in zip(used.items(), CAPACITY[node], strict=True) if u > c
            }  # fmt: skip
    return over, busy


def laid_out(jobs: list[dict[str, Any]]) -> JobRuns:
    table = table_of(columns(jobs), schema.JOBS, "jobs")
    return lay_out(raw_runs(table, None)[0], table, NodeIndex(cluster_facts(CLUSTER).names), np.zeros(0, np.int64))


@pytest.mark.parametrize("chunk", [1, 7, 1 << 22])
@given(jobs=st.lists(allocations(), min_size=1, max_size=14))
def test_overbooking_and_busy_nodes_equal_a_count(jobs: list[dict[str, Any]], chunk: int) -> None:
    facts, runs = cluster_facts(CLUSTER), laid_out(jobs)
    wanted = sweep_module.resources(facts, runs)
    nothing = np.zeros(0, np.int64)
    none = Outages(nothing, nothing, nothing, nothing, nothing)
    found = sweep_module.sweep(facts, runs, wanted, none, np.zeros(facts.n, np.int64), 10_000, chunk)
    over, busy = naive(jobs)
    told = {(wanted[o.resource].check, facts.names[o.node], int(runs.times[o.time])) for o in found.overbooked}
    assert told == over
    assert sum(found.overbooked_count) == len(found.overbooked) == len(over)
    at = np.searchsorted(runs.times, np.arange(31), "right") - 1
    assert np.where(at >= 0, found.busy[0][at], 0).tolist() == busy


@given(jobs=st.lists(allocations(), min_size=1, max_size=14))
def test_verdict_equals_a_count(jobs: list[dict[str, Any]]) -> None:
    report = validate_schedule(columns(jobs), CLUSTER)
    assert set(report.failed) == {name for name, _, _ in naive(jobs)[0]}


def test_evenly_spread_cpus_are_derived() -> None:
    schedule = {"job_id": [1, 2], "submit": [0, 0], "start": [0, 0], "end": [9, 9], "node_list": ["n[1-2]", "n2"],
                "nodes": [2, 1], "cpus": [4, 3]}  # fmt: skip
    assert validate_schedule(schedule, CLUSTER).check("cpus_not_overbooked").examples == [
        "n2 at 0: 5 CPUs in use of 4 (jobs 1, 2)"
    ]


def test_per_node_texts() -> None:
    assert parse_counts("4(x2),2") == [(2, 4), (1, 2)]
    assert parse_counts("") == []
    assert parse_counts("4(x)") is None and parse_counts("4,,2") is None
    assert parse_gres("") == {}
    assert parse_gres("gpu:2") == {"gpu": [(-1, 2)]}
    assert parse_gres("gpu:a100:3,2,nvme:1") == {
        "gpu:a100": [(1, 3), (1, 2)],
        "gpu": [(1, 3), (1, 2)],
        "nvme": [(-1, 1)],
    }
    assert parse_gres("gpu:a:1(x2),2,gpu:b:1")["gpu"] == [(2, 2), (1, 3)]  # type: ignore[index]
    assert parse_gres("gpu:a:1,2,gpu:b:3(x2)")["gpu"] == [(1, 4), (1, 5)]  # type: ignore[index]
    assert parse_gres("gpu") is None and parse_gres("3,gpu:1") is None


def test_node_states() -> None:
    assert [kind_of(s) for s in ("DOWN*", "FAIL", "DRAINED", "IDLE+DRAIN", "DOWN+DRAIN", "IDLE", "MIXED")] == [
        1, 1, 2, 2, 1, 0, 0
    ]  # fmt: skip


def test_gres_of_the_manifest() -> None:
    """A name beside its types is their total; a name without is their sum."""
    nodes = [["a", 1, 1, {"gpu": 3, "gpu:x": 1, "gpu:y": 2}], ["b", 1, 1, {"gpu:x": 1, "gpu:y": 2}], ["c", 1, 1]]
    facts = cluster_facts({"nodes": nodes})
    assert {name: counts.tolist() for name, counts in facts.gres.items()} == {
        "gpu": [3, 3, 0], "gpu:x": [1, 1, 0], "gpu:y": [2, 2, 0]
    }  # fmt: skip


def test_nothing_ran() -> None:
    empty = {name: [] for name in ("job_id", "submit", "start", "end", "node_list", "state", "time_limit_s")}
    assert validate_schedule(empty, CLUSTER, events={name: [] for name in schema.EVENTS}).valid
    usage = {name: [0] if schema.USAGE[name].kind == "int64" else [""] for name in schema.USAGE}
    usage["idle_nodes"] = [len(NODES)]
    assert validate_schedule(empty, {**CLUSTER, "partitions": {"p": {"nodes": ""}}}, usage=usage).valid
