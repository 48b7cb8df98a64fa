"""Numbers as text."""

from __future__ import annotations

import pytest

from slurmsim.report.text import duration, summary_value, table


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"), (float("nan"), "–"), (0, "0 s"), (0.25, "0.2 s"), (59, "59 s"), (60, "1 min"), (61, "1 min 1 s"),
        (3_600, "1 h"), (3_660, "1 h 1 min"), (3_659, "1 h"), (90_000, "1 d 1 h"), (-90, "-1 min 30 s"),
    ],
)  # fmt: skip
def test_duration(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("jobs", 12_345, "12,345"), ("utilization", 0.8766, "87.7 %"), ("mean_wait_s", 6834.6, "1 h 53 min"),
        ("makespan_s", 86_400, "1 d"), ("mean_bounded_slowdown", 92.694, "92.69"), ("seed", 1_000_000, "1000000"),
        ("peak_rss_bytes", 3 << 20, "3.0 MiB"), ("policy", "easy", "easy"), ("mean_slowdown", None, "–"),
        ("jobs_per_s", 15_432.1, "15,432"), ("wall_s", 1.234, "1.23 s"),
    ],
)  # fmt: skip
def test_summary_values_have_the_unit_of_their_key(key, value, text):
    assert summary_value(key, value) == text


def test_tables_align():
    assert table([("a", "number"), ("long", "1"), ("b", "20")]).splitlines() == [
        "a     number",
        "----  ------",
        "long       1",
        "b         20",
    ]
