"""GRES requests are read by one reader, which is told what a count may end in."""

from __future__ import annotations

import pytest

from slurmsim.gres_counts import UNITS, bare, gres_items, read_item


@pytest.mark.parametrize(
    ("item", "plain", "with_units"),
    [
        ("gpu", ("gpu", "", 1), ("gpu", "", 1)),
        ("gpu:2", ("gpu", "", 2), ("gpu", "", 2)),
        ("gpu:0", ("gpu", "", 0), ("gpu", "", 0)),
        ("gpu:a100", ("gpu", "a100", 1), ("gpu", "a100", 1)),
        ("gpu:a100:2", ("gpu", "a100", 2), ("gpu", "a100", 2)),
        ("gpu:2k", ("gpu", "2k", 1), ("gpu", "", 2048)),
        ("gpu:a100:3M", None, ("gpu", "a100", 3 << 20)),
        ("gpu:k", ("gpu", "k", 1), ("gpu", "k", 1)),
        ("gpu:", ("gpu", "", 1), ("gpu", "", 1)),
        ("gpu:²", ("gpu", "²", 1), ("gpu", "²", 1)),
        ("gpu:" + "9" * 19, ("gpu", "9" * 19, 1), ("gpu", "9" * 19, 1)),
        ("gpu:a:b", None, None),
        ("gpu:a:b:2", None, None),
        (":2", None, None),
        ("", None, None),
    ],
)
def test_an_item(item: str, plain: tuple[str, str, int] | None, with_units: tuple[str, str, int] | None) -> None:
    assert read_item(item) == plain
    assert read_item(item, UNITS) == with_units


def test_what_stands_before_the_name() -> None:
    assert [bare(item) for item in ("gres:gpu:2", "gres/gpu:2", "gpu:2", "gres:gres/gpu")] == ["gpu:2"] * 3 + ["gpu"]


def test_a_command_passes_over_what_it_cannot_read() -> None:
    assert gres_items("gres:gpu:a:2,,nvme:0,a:b:c,nvme", "node") == [("gpu", "a", 2, "node"), ("nvme", "", 1, "node")]
