"""The judge of hierarchical resources: what is right passes, and each way of being wrong is found."""

from __future__ import annotations

from typing import Any

import pytest

from slurmsim.errors import WorkloadError
from slurmsim.validate import validate_schedule

LAYERS = [
    ["flat", 2, "n[1-8]", 6], ["flat", 2, "n[1-4]", 4], ["one", 1, "n[1-8]", 5], ["one", 1, "n[5-8]", 3],
    ["watts", 3, "n[1-4]", 300], ["watts", 3, "n[5-8]", 300], ["watts", 3, "n[1-8]", None],
]  # fmt: skip


def problems(*jobs: tuple[str, str], layers: Any = LAYERS) -> list[str]:
    """What is wrong with jobs (licenses, nodes) that run together."""
    n = len(jobs)
    columns = {
        "job_id": list(range(1, n + 1)), "submit": [0] * n, "start": [10] * n, "end": [20] * n,
        "node_list": [nodes for _, nodes in jobs], "licenses": [licenses for licenses, _ in jobs],
        "cpus_per_node": ["1"] * n, "mem_per_node_mib": ["1"] * n,
    }  # fmt: skip
    cluster = {"nodes": [["n[1-8]", 9, 9000, {}]], "partitions": {}, "layers": layers, "licenses": {"mat": 3}}
    report = validate_schedule(columns, cluster)
    return [text for check in report.checks if check.name.endswith("not_overused") for text in check.examples
            if "license" in text or "in use" in text or "layer" in text]  # fmt: skip


@pytest.mark.parametrize(
    "jobs",
    [
        (("flat:4", "n1"), ("flat:2", "n5")), (("one(n[1-8]):5", "n5"), ("one(n[5-8]):3", "n5")),
        (("watts:100", "n[1-3]"), ("watts:300", "n5")), (("mat:3,flat:4", "n[1-8]"),), (("", "n1"),),
    ],
)  # fmt: skip
def test_what_is_right(jobs: tuple[tuple[str, str], ...]) -> None:
    assert problems(*jobs) == []


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        ((("flat:4", "n1"), ("flat:1", "n2")), "5 of 4 flat on n[1-4] in use"),
        ((("flat:4", "n[5-8]"), ("flat:3", "n5")), "7 of 6 flat on n[1-8] in use"),
        ((("one(n[5-8]):3", "n[1-2]"),), "job 1 has one of no layer that its nodes are in"),
        ((("one:3", "n5"),), "job 1 has one of no layer that its nodes are in"),
        ((("one(n[5-8]):3", "n5"), ("one(n[5-8]):1", "n6")), "4 of 3 one on n[5-8] in use"),
        ((("watts:100", "n[1-4]"),), "400 of 300 watts on n[1-4] in use"),
        ((("mat:4,one(n[5-8]):1", "n5"),), "4 of 3 licenses mat in use"),
    ],
)  # fmt: skip
def test_what_is_wrong(jobs: tuple[tuple[str, str], ...], message: str) -> None:
    found = problems(*jobs)
    assert len(found) == 1 and message in found[0]


def test_facts_that_are_none() -> None:
    with pytest.raises(WorkloadError, match=r"cluster\.layers"):
        problems(("flat:1", "n1"), layers=[["flat", 2]])
