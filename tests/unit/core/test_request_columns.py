"""What a kernel is asked with of a request: numbers of 64 bits, and nothing else that matters."""

from __future__ import annotations

import pytest

from slurmsim.config.load import parse_cluster
from slurmsim.core.placement.cluster_state import ClusterState, compile_request
from slurmsim.core.placement.compiled_request import CompiledRequest
from slurmsim.model.request import ResourceRequest

CONF = (
    "ClusterName=c", "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core",
    "NodeName=n[1-4] CPUs=4 Feature=a", "PartitionName=p Nodes=ALL Default=YES",
)  # fmt: skip


def compiled(request: ResourceRequest) -> CompiledRequest:
    state = ClusterState(parse_cluster(CONF, "cluster of four nodes")[0])
    return compile_request(state, request, state.partitions[0])


def test_a_plain_request() -> None:
    columns = compiled(ResourceRequest(n_tasks=6)).columns
    assert columns is not None
    assert max(columns) < 1 << 53


@pytest.mark.parametrize("n_tasks", [10**20, 1 << 53])
def test_a_number_no_kernel_could_hold(n_tasks: int) -> None:
    assert compiled(ResourceRequest(n_tasks=n_tasks, min_nodes=1, max_nodes=1)).columns is None


def test_other_wishes() -> None:
    assert compiled(ResourceRequest(n_tasks=2, node_list=("n1",))).columns is None
    assert compiled(ResourceRequest(n_tasks=2, contiguous=True)).columns is None
