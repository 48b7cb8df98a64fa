"""What the kernel says of limits is what their rows say, one by one."""

from __future__ import annotations

from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.kernel import constants, limits, load
from slurmsim.kernel import queue as queues

COLUMNS = 5
ROWS = st.lists(
    st.tuples(st.integers(0, COLUMNS - 1), st.integers(1, 9), st.integers(0, 12), st.integers(1, 40), st.booleans()),
    max_size=3,
)
JOBS = st.lists(st.tuples(ROWS, ROWS, ROWS, ROWS), max_size=90)


def broken(rows: list[Any], values: list[int]) -> list[int]:
    """The reasons of the rows that are broken, negative where other nodes may do."""
    return [
        reason if sure else -reason for column, amount, most, reason, sure in rows if values[column] + amount > most
    ]


@pytest.mark.parametrize("form", ["python", "load"])
@given(jobs=JOBS, values=st.lists(st.integers(0, 9), min_size=COLUMNS, max_size=COLUMNS), data=st.data())
def test_rows_of_limits(form: str, jobs: list[Any], values: list[int], data: st.DataObject) -> None:
    kernel = limits if form == "python" else load("limits")
    rules, queue = kernel.Limits(), (queues if form == "python" else load("queue")).Queue()
    queue.replace(0, 0, array("q", range(len(jobs))))
    rules.know(array("q", values))
    news = []
    for at, job in enumerate(jobs):
        flat = [n for rows in job for *row, reason, sure in rows for n in (*row, reason if sure else -reason)]
        rules.learn(array("q", flat), *(len(rows) for rows in job[:3]))
        alone, shown = data.draw(st.booleans()), data.draw(st.integers(0, 40))
        found = [*job[0], *job[1], *job[2], *(job[3] if alone else ())]
        held = abs(next(iter(broken(found, values)), 0))
        if data.draw(st.booleans()):
            shown = held
        queue.tell(at, 0, 60, constants.ALONE if alone else 0, at, shown)
        if shown != held:
            news.append(at)
    for number, (before, early, asked, planned) in enumerate(jobs):
        first = [abs(next(iter(broken(rows, values)), 0)) for rows in (before, early, planned)]
        assert [rules.before(number), rules.too_many_nodes(number), rules.planned(number)] == first
        sure = any(reason > 0 for reason in broken(asked, values))
        assert rules.bars(number) == bool(broken(before + early, values) or sure)
    at, found = -1, []
    while (at := queue.next_news(at + 1, rules)) < len(jobs):
        found.append(at)
    assert found == news


def test_whom_somebody_else_judges_is_news_and_whom_nothing_limits_is_not() -> None:
    queue, rules = queues.Queue(), limits.Limits()
    queue.replace(0, 0, array("q", (0, 1, 2)))
    for slot, number in enumerate((constants.UNLIMITED, constants.UNKNOWN, constants.UNLIMITED)):
        queue.tell(slot, 0, 60, 0, number, 0)
    assert queue.next_news(0, rules) == 1
    assert queue.next_news(2, rules) == 3
    queue.tell(2, 0, 60, 0, constants.UNLIMITED, 7)  # it shows one that is no more
    assert queue.next_news(2, rules) == 2
