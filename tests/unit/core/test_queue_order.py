"""Records of a queue stand in the order of their keys, however they came there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from unit.core.world import World, simple

from slurmsim.core.placement.cluster_state import compile_request
from slurmsim.core.records.job import UNSPLIT, Job
from slurmsim.core.records.job_queue import PoolQueue, Record
from slurmsim.model.request import ResourceRequest
from slurmsim.model.submission import Submission

CONF = simple() + "PartitionName=more Nodes=ALL PriorityTier=2\n"
WORLD = World(CONF, "easy")


def record(tier: int, priority: int, submit: int, task: int) -> Record:
    """Of a task of array 7, in the partition of lower or of higher tier."""
    cluster = WORLD.controller.state.cluster
    part, asked = cluster.by_name[("main", "more")[tier]], ResourceRequest()
    request = compile_request(cluster, asked, part)
    sub = Submission(8 + task, asked, array_job_id=7, array_task_id=task)
    return Record(Job(sub, (part,), (request,), submit), part, request, priority, False)


PLACES = st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(0, 2), st.integers(0, 3))
MANY = st.lists(PLACES, max_size=12, unique=True)


@given(MANY, st.data())
def test_the_order_is_that_of_keys(places: list[tuple[int, int, int, int]], data: st.DataObject) -> None:
    queue = PoolQueue()
    for place in places:
        queue.insert(record(*place))
    keys = [one.key for one in queue.records]
    assert keys == sorted(keys)
    for one in queue.records:  # priorities are worked out anew; tasks may have become jobs of their own
        job = one.job
        if job.rank >= UNSPLIT and data.draw(st.booleans()):
            job.rank -= UNSPLIT
        one.reprioritise(data.draw(st.integers(0, 3)))
        assert one.key == (-one.partition.tier, -one.priority, job.submit_time, 7, job.rank, 0)
    queue.resort()
    keys = [one.key for one in queue.records]
    assert keys == sorted(keys)
    for tier in (-2, -1):
        assert queue.behind_tier(tier) == sum(key[0] <= tier for key in keys)
    for at in reversed(range(len(queue.records))):
        if keys.count(keys[at]) == 1:
            assert queue.position(queue.records[at]) == at
            assert queue.delete(queue.records[at]) == at
