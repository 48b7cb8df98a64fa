"""The node table: taking, giving back, and the recount that finds what must not be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.core.records.allocation import Allocation
from slurmsim.core.records.node_columns import grain_cpus
from slurmsim.core.records.node_table import NodeTable
from slurmsim.errors import InvariantError
from slurmsim.model.node import Gres, NodeSpec

N = 4


@dataclass
class Holder:
    """What `NodeTable.check` wants of a job."""

    id: int
    alloc: Allocation


def table() -> NodeTable:
    nodes = [
        NodeSpec(f"n{i}", cpus=8, sockets=2, cores_per_socket=4, real_memory_mib=100, gres=(Gres("gpu", "", 2),))
        for i in range(N)
    ]
    return NodeTable(nodes, "core")


def whole(mask: int) -> Allocation:
    return Allocation(mask, True, mask.bit_count(), 8 * mask.bit_count(), 8, 0)


def part(nodes: list[int], cpus: int, mem: int = 0, gpus: int = 0) -> Allocation:
    idx = np.array(nodes, np.int64)
    gres = ((0, np.full(len(nodes), gpus, np.int64)),) if gpus else ()
    return Allocation(
        sum(1 << n for n in nodes), False, len(nodes), cpus * len(nodes), np.full(len(nodes), cpus), mem, gres, idx
    )


def test_whole_nodes() -> None:
    t = table()
    assert t.allocate(whole(0b0011)) == 0b0011
    assert (t.idle, t.mixed, t.alloc_cpus) == (0b1100, 0, 16)
    with pytest.raises(InvariantError, match="not idle"):
        t.allocate(whole(0b0110))
    assert t.release(whole(0b0011)) == 0b0011
    assert (t.idle, t.alloc_cpus) == (0b1111, 0)


def test_shared_nodes() -> None:
    t = table()
    first, second = part([0, 1], 3, 40, 1), part([1], 5, 60, 1)
    assert t.allocate(first) == 0b0011
    assert t.allocate(second) == 0  # no node was idle
    assert (t.idle, t.mixed) == (0b1100, 0b0011)
    assert t.free_cpus.tolist() == [5, 0, 8, 8]
    assert t.free_mem.tolist() == [60, 0, 100, 100]
    assert t.free_gres[0].tolist() == [1, 0, 2, 2]
    t.check([Holder(1, first), Holder(2, second)])
    assert t.release(first) == 0b0001  # node 1 still has the other
    assert t.release(second) == 0b0010
    t.check([])
    assert t.free_cpus.tolist() == [8, 8, 8, 8]


def test_the_recount_finds_each_kind_of_mistake() -> None:
    t = table()
    a, b = part([0], 5), part([0], 5)
    t.allocate(a)
    with pytest.raises(InvariantError, match="masks differ"):
        t.check([])  # a job nobody knows holds node 0
    t.allocate(b)
    with pytest.raises(InvariantError, match="over-booked"):
        t.check([Holder(1, a), Holder(2, b)])
    t = table()
    t.allocate(a)
    t.free_mem[0] -= 1
    with pytest.raises(InvariantError, match="free counts"):
        t.check([Holder(1, a)])
    t = table()
    t.allocate(whole(0b1))
    with pytest.raises(InvariantError, match="shares nodes it should own"):
        t.check([Holder(1, whole(0b1)), Holder(2, whole(0b1))])


jobs = st.lists(
    st.one_of(
        st.integers(1, (1 << N) - 1).map(whole),
        st.builds(part, st.sets(st.integers(0, N - 1), min_size=1).map(sorted), st.integers(1, 4), st.integers(0, 50),
                  st.integers(0, 1)),
    ),
    max_size=8,
)  # fmt: skip


@given(jobs, st.randoms(use_true_random=False))
def test_what_fits_and_goes_leaves_no_trace(wanted: list[Allocation], random) -> None:
    t = table()
    held: list[Holder] = []
    for i, a in enumerate(wanted):
        idx = a.indices()
        free = t.idle if a.whole else t.idle | t.mixed
        gpus = a.gres[0][1] if a.gres else 0
        enough = a.whole or bool(
            (t.free_cpus[idx] >= a.cpus).all() and (t.free_mem[idx] >= a.mem).all()
            and (t.free_gres[0][idx] >= gpus).all()
        )  # fmt: skip
        if a.mask & ~free or not enough:
            continue
        t.allocate(a)
        held.append(Holder(i, a))
        t.check(held)
        if random.random() < 0.3:
            t.release(held.pop(random.randrange(len(held))).alloc)
            t.check(held)
    while held:
        t.release(held.pop().alloc)
        t.check(held)
    assert (t.idle, t.mixed, t.alloc_cpus) == (t.everything, 0, 0)


def test_the_smallest_share() -> None:
    threads = NodeSpec("a", cpus=16, sockets=2, cores_per_socket=4, threads_per_core=2)
    assert [grain_cpus(threads, unit) for unit in ("cpu", "core", "socket", "node")] == [1, 2, 8, 16]
    cores_only = NodeSpec("a", cpus=8, sockets=2, cores_per_socket=4, threads_per_core=2)
    assert grain_cpus(cores_only, "core") == 1


def test_specialised_cores_and_memory_are_not_for_jobs() -> None:
    node = NodeSpec("a", cpus=16, sockets=2, cores_per_socket=4, threads_per_core=2, real_memory_mib=100,
                    core_spec_count=3, mem_spec_limit_mib=10)  # fmt: skip
    t = NodeTable([node], "core")
    assert (t.cpus.tolist(), t.mem.tolist(), t.total_cpus) == ([10], [90], 10)
