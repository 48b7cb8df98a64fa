"""What sbatch's own look for nodes says where nodes are down, also of jobs that could not start yet (22.05)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engine_calls import START, THREE_NODES, do, engine_of, show, submit, wait


@pytest.mark.parametrize(
    ("more", "later"),
    [
        ({}, "ReqNodeNotAvail"), ({"array_inx": "0-3"}, "ReqNodeNotAvail"), ({"begin_time": START + 500}, "BeginTime"),
        ({"dependency": "afterany:1"}, "Dependency"),
    ],
)  # fmt: skip
def test_they_are_named_whatever_else_the_job_waits_for(more: dict[str, Any], later: str, tmp_path: Path) -> None:
    e = engine_of(tmp_path, THREE_NODES)
    do(e, "update_node", names="n1", state="DRAIN", reason="x")
    submit(e)
    job = submit(e, req_nodes="n[1-2]", min_nodes=2, **more)
    assert show(e, job, "state_reason", "state_desc") == ["ReqNodeNotAvail", "ReqNodeNotAvail, UnavailableNodes:n1"]
    wait(e, 60)
    assert show(e, job, "state_reason") == [later]


@pytest.mark.parametrize(
    ("release", "said"), [("22.05", "UnavailableNodes:n1"), ("24.11", "May be reserved for other job")]
)
def test_a_node_that_a_job_ahead_waits_for_is_named_before_24_11(release: str, said: str, tmp_path: Path) -> None:
    """Both jobs name the node, which a third has; as recorded in a lab with priority/basic."""
    e = engine_of(tmp_path, THREE_NODES, release=release)
    submit(e, req_nodes="n1", min_cpus=8)
    wait(e, 5)
    first = submit(e, req_nodes="n1", min_cpus=8)
    wait(e, 5)
    second = submit(e, req_nodes="n1", min_cpus=8)
    wait(e, 5)
    assert show(e, first, "state_reason") == ["Resources"]
    assert show(e, second, "state_desc") == [f"ReqNodeNotAvail, {said}"]
