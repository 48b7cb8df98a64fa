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
