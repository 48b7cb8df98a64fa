"""What a walk knows of its queue is what it would be told of it anew."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.kernel import constants, load
from slurmsim.kernel import queue as queues
from slurmsim_policies.slurm_backfill.walked_queue import WalkedQueue, Watched

UNSEEN, SEEN, REFUSED = constants.UNSEEN, constants.SEEN, constants.REFUSED
ORDERS = st.lists(st.lists(st.integers(0, 80), unique=True, max_size=80), min_size=2, max_size=6)


class Record:
    """A record, of whose job no plan is seen."""

    def __init__(self, number: int) -> None:
        self.number, self.job = number, SimpleNamespace(planned_start=None, shown=0)


@pytest.mark.parametrize("kernel", [queues, load("queue")])
@given(orders=ORDERS, data=st.data())
def test_columns_follow_the_queue(kernel: Any, orders: list[list[int]], data: st.DataObject) -> None:
    records = [Record(number) for number in range(81)]
    queue, looked_at = WalkedQueue(kernel.Queue()), []

    def look_at(one: Any) -> Watched:
        looked_at.append(one.number)
        array = (one.number, 0, None, False) if one.number % 9 == 8 else None
        return Watched(
            one.number, 60 * one.number, UNSEEN, SEEN, array, limited=one.number + 3, shown=one.job.shown,
        )  # fmt: skip

    before: list[int] = []
    edited: set[int] = set()
    said: set[int] = set()
    refused: set[int] = set()
    for order in orders:
        looked_at.clear()
        queue.follow(cast("Any", [records[number] for number in order]), look_at)
        assert sorted(looked_at) == sorted([*(set(order) - set(before)), *(edited & set(before))])
        refused -= {*looked_at, *said}
        assert queue.tasks == sum(number % 9 == 8 for number in order)
        columns = queue.columns
        assert columns.n == len(order)
        for at, number in enumerate(order):
            flags = UNSEEN if records[number].job.planned_start is None else SEEN
            flags |= REFUSED if number in refused else 0
            slot = columns.order[at]
            assert (columns.shapes[slot], columns.lasting[slot]) == (number, 60 * number)
            assert (columns.flags[slot], columns.limited[slot]) == (flags, number + 3)
            assert columns.shown[slot] == records[number].job.shown
        for at in data.draw(st.lists(st.sampled_from(range(len(order))), max_size=3)) if order else ():
            records[order[at]].job.planned_start = data.draw(st.sampled_from((None, 7)))
            queue.looked_at(at)
            if data.draw(st.booleans()):
                queue.refused(at, REFUSED)
                refused.add(order[at])
        edited, said = (data.draw(st.sets(st.integers(0, 80), max_size=4)) for _ in range(2))
        for number in edited | said:
            records[number].job.shown += 1
        told = [(records[number], records[number].job.shown) for number in said]
        queue.restated(cast("Any", [records[number] for number in edited]), cast("Any", told))
        refused &= set(order)
        before = order
