"""The five packing losses: packs worked out by hand, and a brute-force recount on random ones."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.errors import ConfigError
from slurmsim.metrics.packing import (
    EQUAL_WEIGHTS,
    MEASURES,
    JobClass,
    Pack,
    Rectangles,
    check_weights,
    losses,
    losses_of_slots,
)
from slurmsim.metrics.utilization import Interval

Row = tuple[int, int | None, int | None, int, str]  # queued, start, end, nodes, user


def of(rows: list[Row]) -> Rectangles:
    """Rows as columns, None as NaN."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * 5
    queued, start, end, nodes, user = columns
    return Rectangles.of({
        "queued": np.array(queued, np.int64), "start": np.array(start, float), "end": np.array(end, float),
        "nodes": np.array(nodes, np.int64), "user": np.array(user, str),
    })  # fmt: skip


# A strip of H = 10 nodes over [100, 200]: T = 100, H T = 1000 node-seconds.
STRIP = Interval(100, 200)
PACK: list[Row] = [
    (20, 50, 150, 2, "ann"),  # runs when the slot begins; its first 50 s lie before
    (90, 100, 120, 3, "ann"),  # starts at the very begin: from the queue
    (100, 110, 300, 1, "bob"),  # runs on after the slot
    (130, 200, 260, 4, "cid"),  # starts at the very end: in the pack, but on no area of the strip
    (140, None, None, 8, "bob"),  # still waits
    (60, 230, 240, 1, "dan"),  # starts after the slot: not in this one
    (150, None, 170, 1, "eve"),  # cancelled in the queue
    (10, None, 100, 1, "fay"),  # cancelled as the slot begins: gone
    (10, 20, 100, 9, "gus"),  # ended as the slot begins: gone
    (201, 210, 220, 1, "hal"),  # comes later
]


def test_who_belongs_to_the_pack() -> None:
    pack = Pack(of(PACK), STRIP)
    assert np.flatnonzero(pack.running).tolist() == [0]
    assert np.flatnonzero(pack.queue).tolist() == [1, 2, 3, 4, 5, 6]
    assert np.flatnonzero(pack.placed).tolist() == [1, 2, 3]
    assert pack.longest_wait_s == 200 - 20  # D: ann's first job was queued at 20


def test_empty_strip_by_hand() -> None:
    """Inside the strip: 2 x (150 - 100) + 3 x (120 - 100) + 1 x (200 - 110) + 4 x (200 - 200) = 100 + 60 + 90 + 0.

    So 1 - 250/1000. The printed form, with times from X0 (starts -50, 0, 10, 100; T = 100), takes
    2 x (50 + 50) + 3 x (20 - 0) + 1 x (100 - 10) + 4 x (100 - 100) = 200 + 60 + 90 = 350.
    """
    assert Pack(of(PACK), STRIP).utilization(10) == pytest.approx((0.75, 0.65))


def test_first_jobs_by_hand() -> None:
    """Waits: ann 30 and 10, bob 10, cid 70. Least a user: 10, 10, 70, mean 30; over D = 180: 1/6.

    The job that starts first: ann's at 50, which waited 30: (30 + 10 + 70)/3 = 36.67.
    """
    pack = Pack(of(PACK), STRIP)
    assert pack.first_jobs() == pytest.approx((30 / 180, 30))
    assert pack.first_jobs(first=True) == pytest.approx((110 / 3 / 180, 110 / 3))


def test_of_jobs_that_start_together_the_one_queued_first_is_first() -> None:
    pack = Pack(of([(120, 150, 160, 1, "ann"), (110, 150, 160, 1, "ann")]), STRIP)
    assert pack.first_jobs(first=True).raw == 40 and pack.first_jobs().raw == 30


def test_started_jobs_by_hand() -> None:
    """|Z_start| = 1, |Z_queue| = 6, |Z| = 4: (1 + 6 - 4)/6."""
    assert Pack(of(PACK), STRIP).started_jobs() == (0.5, 0.5)


def test_started_users_by_hand() -> None:
    """The queue has ann, bob, cid, dan, eve; nothing of dan and eve starts: 2/5.

    Printed: users of Z_start (ann) 1 + users of the queue 5 - users of Z (ann, bob, cid) 3 = 3, ann counted twice.
    """
    assert Pack(of(PACK), STRIP).started_users() == (0.4, 3)


def test_mean_wait_by_hand() -> None:
    """All: (30 + 10 + 10 + 70)/4 = 30. Two nodes and more, fewer than four: (30 + 10)/2 = 20. Eight and more: none."""
    pack = Pack(of(PACK), STRIP)
    assert pack.mean_wait() == pytest.approx((30 / 180, 30))
    assert pack.mean_wait(JobClass(2, 4)) == pytest.approx((20 / 180, 20))
    assert pack.mean_wait(JobClass(8)) == (0, 0)


def test_efficiency_by_hand() -> None:
    """0.2 x (3/4 + 1/6 + 1/2 + 2/5 + 1/6) = 119/300; and all weight on one measure is that measure."""
    found = losses(of(PACK), STRIP, 10)
    assert found.efficiency() == pytest.approx(119 / 300)
    assert found.efficiency((0, 0, 0, 1, 0)) == 0.4
    assert (found.jobs, found.queued, found.started) == (4, 6, 3)


def test_a_full_strip_and_an_empty_one() -> None:
    """One job of all nodes over the whole slot: nothing lost. Nobody there: the strip is empty, nobody waits."""
    assert losses(of([(0, 0, 300, 10, "ann")]), STRIP, 10).values == (0, 0, 0, 0, 0)
    assert losses(of([]), STRIP, 10).values == (1, 0, 0, 0, 0)
    waiting = losses(of([(0, None, None, 20, "ann")]), STRIP, 10)  # D = 200, but nobody in the pack waits
    assert waiting.values == (1, 0, 1, 1, 0)


def test_a_job_queued_at_the_end_of_the_slot_and_started_at_once() -> None:
    """D = 0: nobody can have waited."""
    assert losses(of([(200, 200, 210, 1, "ann")]), STRIP, 10).values == (1, 0, 0, 0, 0)


def test_jobs_that_share_nodes_do_not_make_the_loss_negative() -> None:
    """Three jobs on one node: 1 - 3 x 100/100 = -2; the loss is cut to 0, raw says what the formula gives."""
    assert Pack(of([(0, 0, 300, 1, "ann")] * 3), STRIP).utilization(1) == pytest.approx((0, 1 - 3 * 200 / 100))


def test_slots_in_a_row_agree_with_each_alone() -> None:
    slots = [Interval(t, t + 40) for t in range(0, 320, 40)]
    assert losses_of_slots(of(PACK), slots, 10) == [losses(of(PACK), slot, 10) for slot in slots]


def test_a_frame_with_missing_values_is_as_good_as_arrays() -> None:
    frame = pd.DataFrame(PACK, columns=["queued", "start", "end", "nodes", "user"])
    frame["start"], frame["end"] = frame["start"].astype("Int64"), frame["end"].astype("Int64")
    assert losses(Rectangles.of(frame), STRIP, 10) == losses(of(PACK), STRIP, 10)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ((0.2, 0.2, 0.2, 0.2, 0.1), "sum to 0.9"),
        ((0.5, 0.5), "2 weights"),
        ((1.2, -0.2, 0, 0, 0), "at least 0"),
        ((math.nan, 1, 0, 0, 0), "at least 0"),
    ],
)
def test_weights_that_are_none(weights: tuple[float, ...], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        check_weights(weights)


@pytest.mark.parametrize(("text", "said"), [("big", "unknown class 'big'"), ("4:4", "empty"), ("8:2", "empty"),
                                            ("-1:4", "unknown"), (":4", "unknown"), ("1:x", "unknown")])  # fmt: skip
def test_classes_that_are_none(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        JobClass.parse(text)


def test_classes_read_back() -> None:
    assert [str(JobClass.parse(text)) for text in ("all", "1:8", "128:", "0:")] == ["all", "1:8", "128:", "all"]


def test_bad_columns_slots_and_heights() -> None:
    with pytest.raises(ValueError, match="missing: end, user"):
        Rectangles.of({"queued": [1], "start": [1], "nodes": [1]})
    with pytest.raises(ValueError, match="lengths"):
        Rectangles.of({"queued": [1], "start": [1, 2], "end": [3], "nodes": [1], "user": ["a"]})
    with pytest.raises(ConfigError, match="end after its begin"):
        Pack(of(PACK), Interval(5, 5))
    with pytest.raises(ConfigError, match="height"):
        Pack(of(PACK), STRIP).utilization(0)


# -- brute force ---------------------------------------------------------------------------------------------------

TIMES = st.integers(0, 40)


@st.composite
def packs(draw: st.DrawFn) -> list[Row]:
    rows: list[Row] = []
    for _ in range(draw(st.integers(0, 12))):
        queued = draw(TIMES)
        wait, run = draw(st.integers(0, 20)), draw(st.integers(0, 20))
        fate = draw(st.sampled_from(("done", "done", "done", "runs", "waits", "cancelled")))
        start = queued + wait if fate in ("done", "runs") else None
        end = queued + wait + run if fate == "done" else queued + wait if fate == "cancelled" else None
        rows.append((queued, start, end, draw(st.integers(1, 4)), draw(st.sampled_from("abc"))))
    return rows


def brute(rows: list[Row], begin: int, end: int, height: int, of_class: JobClass, first: bool) -> dict[str, float]:
    """Every definition word for word, node-second by node-second."""
    running = [r for r in rows if r[1] is not None and r[1] < begin and (r[2] is None or r[2] > begin)]
    queue = [
        r for r in rows
        if r[0] <= end and (r[1] >= begin if r[1] is not None else r[2] is None or r[2] > begin)
    ]  # fmt: skip
    placed = [r for r in queue if r[1] is not None and r[1] <= end]
    pack = running + placed
    used = sum(
        r[3] for r in pack for second in range(begin, end) if r[1] <= second and (r[2] is None or second < r[2])
    )  # fmt: skip
    longest = max((end - r[0] for r in [*pack, *queue]), default=0)

    def share(seconds: float) -> float:
        return min(seconds / longest, 1) if longest else 0

    def users(some: list[Row]) -> set[str]:
        return {r[4] for r in some}

    waits = []
    for user in sorted(users(pack)):
        own = [(r[1], r[0]) for r in pack if r[4] == user]
        waits.append(min(own)[0] - min(own)[1] if first else min(start - queued for start, queued in own))
    fuj = sum(waits) / len(waits) if waits else 0
    chosen = [r[1] - r[0] for r in pack if r[3] >= of_class.low and (of_class.high is None or r[3] < of_class.high)]
    average = sum(chosen) / len(chosen) if chosen else 0
    left = {u for u in users(queue) if not any(r[4] == u for r in placed)}
    return {
        "utilization": max(1 - used / (height * (end - begin)), 0), "first_jobs": share(fuj), "first_jobs raw": fuj,
        "started_jobs": (len(running) + len(queue) - len(pack)) / len(queue) if queue else 0,
        "started_users": len(left) / len(users(queue)) if queue else 0,
        "started_users raw": len(users(running)) + len(users(queue)) - len(users(pack)),
        "mean_wait": share(average), "mean_wait raw": average,
    }  # fmt: skip


CLASSES = st.sampled_from((JobClass(), JobClass(1, 3), JobClass(2), JobClass(3, 4)))


@given(rows=packs(), begin=TIMES, length=st.integers(1, 30), height=st.integers(1, 12), of_class=CLASSES,
       first=st.booleans())  # fmt: skip
def test_a_recount_agrees(
    rows: list[Row], begin: int, length: int, height: int, of_class: JobClass, first: bool
) -> None:  # fmt: skip
    found = losses(of(rows), Interval(begin, begin + length), height, (of_class,), first=first)
    for name, value in brute(rows, begin, begin + length, height, of_class, first).items():
        measure, _, raw = name.partition(" ")
        loss = getattr(found, measure)
        assert (loss.raw if raw else loss.value) == pytest.approx(value), name
    assert all(0 <= value <= 1 for value in found.values)
    assert 0 <= found.efficiency() <= 1


def moved(rows: list[Row], by: int) -> list[Row]:
    return [(q + by, None if s is None else s + by, None if e is None else e + by, n, u) for q, s, e, n, u in rows]


def flat(found: Any) -> list[float]:
    return [x for name in MEASURES for x in getattr(found, name)]


@given(rows=packs(), begin=TIMES, length=st.integers(1, 30), by=st.integers(-(10**9), 10**9), first=st.booleans())
def test_no_measure_depends_on_where_the_clock_begins(
    rows: list[Row], begin: int, length: int, by: int, first: bool
) -> None:  # fmt: skip
    """The raw forms neither: their times are counted from X0."""
    here = losses(of(rows), Interval(begin, begin + length), 8, first=first)
    there = losses(of(moved(rows, by)), Interval(begin + by, begin + length + by), 8, first=first)
    assert flat(here) == flat(there)


@given(rows=packs(), seed=st.integers(0, 99))
def test_no_measure_depends_on_the_order_of_rows_or_on_who_is_called_what(rows: list[Row], seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(rows))
    other = [(*rows[i][:4], {"a": "z", "b": "y", "c": "x"}[rows[i][4]]) for i in order]
    slot = Interval(10, 30)
    assert flat(losses(of(rows), slot, 8)) == pytest.approx(flat(losses(of(other), slot, 8)))


@given(rows=packs(), step=st.integers(1, 15))
def test_slots_in_a_row_agree_with_each_alone_on_anything(rows: list[Row], step: int) -> None:
    slots = [Interval(t, t + step) for t in range(-5, 60, step)]
    assert losses_of_slots(of(rows), slots, 8) == [losses(of(rows), slot, 8) for slot in slots]


def test_a_million_jobs_in_two_seconds() -> None:
    """CPU time: all five, over a year in one slot, and slot by slot over its days."""
    rng, n, day = np.random.default_rng(1), 1_000_000, 86_400
    queued = np.sort(rng.integers(0, 365 * day, n))
    start = queued + rng.integers(0, day, n)
    jobs = Rectangles.of({
        "queued": queued, "start": start, "end": start + rng.integers(1, 2 * day, n),
        "nodes": rng.integers(1, 512, n), "user": rng.integers(0, 900, n),
    })  # fmt: skip
    for work in (
        lambda: losses(jobs, Interval(0, 365 * day), 2000, (JobClass(), JobClass(1, 8))).efficiency(EQUAL_WEIGHTS),
        lambda: losses_of_slots(jobs, [Interval(d * day, (d + 1) * day) for d in range(365)], 2000),
    ):
        began = time.process_time()
        work()
        assert time.process_time() - began < 2
