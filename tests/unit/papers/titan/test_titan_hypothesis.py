"""Fixed bins beside the random strategy: what is drawn, what a run leaves, and the comparison by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slurmsim.papers.titan import hypothesis
from slurmsim.papers.titan.cells import bin_ranges
from slurmsim.papers.titan.hypothesis import (
    FOLLOWS,
    RANDOM,
    STREAMS,
    Tried,
    Way,
    by_model,
    mixture,
    rows_of,
    way_use,
    ways,
)
from slurmsim.papers.titan.run import Result
from slurmsim.papers.titan.view import as_text

HOURS = 2190  # of the period: allocations are those of three months


def test_each_bin_is_as_likely() -> None:
    nodes = np.array([1, 2, 3, 4, 5, 6, 200, 400, 400, 4000, 12_000])
    rows = rows_of(nodes, RANDOM)
    drawn = nodes[rows]
    for low, high in bin_ranges():
        assert ((drawn >= low) & (drawn <= high)).sum() == len(rows) / 5
    assert nodes[rows_of(nodes, 3)].tolist() == [400, 400]


def test_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hours on the empty machine: four jobs of bin 1 side by side do not fit, so each waits for the one before."""
    monkeypatch.setattr(hypothesis, "LEAD_H", 1)
    way = Way("x", 1, "end", 4, 1, 128)
    found = way_use(way, str(tmp_path))
    assert found["starts"] >= 1 and found["between_h"][0] > 0
    assert found["use_node_h"] == pytest.approx(found["starts"] * found["per_job"][0])
    assert way_use(way, str(tmp_path)) == found
    assert way.name not in {one.name for one in ways(1, 1000)} and len({one.name for one in ways(2, 1000)}) == 48


def tried(random: list[float], fixed: list[list[float]]) -> Tried:
    """One way of submitting; `fixed` has a list of seeds for each bin."""
    use = np.array([random, *fixed]).T
    return Tried({("start", 1): use}, {("start", 1): [((1.0, 1.0), (1.0, 1.0))] * use.shape[1]}, HOURS)


def test_comparison_by_hand() -> None:
    """Allocations are 0.1, 0.3, 1 and 3 million: 2 million use up three of them, 500,000 two, 50,000 none."""
    found = tried([5e5, 5e5], [[2e6, 5e5], [5e4, 5e4], [5e5, 5e5]])
    any_fixed = found.share_above(best_only=False)
    assert any_fixed is not None  # seed 1: bin 1 wins one, bin 2 loses two; seed 2: bin 2 loses two
    assert any_fixed.mean == pytest.approx((100 / 3 + 0) / 2) and any_fixed.n == 2
    best = found.share_above(best_only=True)  # of seed 1 by seed 2: bins 1 and 3 tie, the first; seed 2: no difference
    assert best is not None and (best.mean, best.n) == (100.0, 1)
    cases = {case.target: case for case in found.cases()}
    assert cases[1e6].chances == {0: 0.0, 1: 0.5, 2: 0.0, 3: 0.0} and cases[1e6].best == 1
    assert cases[1e6].above() == (1, 2, 0) and cases[1e5].above() == (0, 2, 1)
    assert tried([1.0], [[2.0]]).share_above(best_only=True) is None  # no allocation is used up


def test_random_by_the_model() -> None:
    """The mean of the means, and the spread between and within."""
    assert mixture([(1.0, 1.0), (3.0, 2.0)]) == (2.0, pytest.approx((2.5 + 1) ** 0.5))
    found = by_model([(1.0, 1.0), (1.0, 1.0)], [(10.0, 1.0), (1000.0, 1.0)], 2190)
    assert set(found) == {(k, target) for k in STREAMS for target in hypothesis.ALLOCATIONS}
    drawn, small, large = found[1, 1e6]
    assert small < drawn < large and large > 0.99  # 2.19 million by jobs of 1,000 node-hours, half of it at random


def test_tables_and_claims() -> None:
    use = {RANDOM: 2e5, 1: 4e5, 2: 1e5, 3: 1e4, 4: 1e3, 5: 1e2}
    runs = {
        hypothesis.way_name(b, follows, streams, k): {
            "use_node_h": x / 30 * (1 + k / 10), "between_h": [1.0, 1.0], "per_job": [x / 2190, 1.0], "starts": 1,
        }
        for b, x in use.items() for follows in FOLLOWS for streams in STREAMS for k in (1, 2)
    }  # fmt: skip
    found = Result(2, hypothesis.SHORTER * round(72 * 64.16), {}, {}, runs)
    text = as_text(found)
    assert "hypothesis, in 72 h" in text and "1 reproduced, 1 not reproduced" in text
    assert sum(line.startswith(("start  ", "end  ")) for line in text.replace("    ", "  ").splitlines()) >= 16
