"""The Titan experiment in small: figures by hand, files, claims, bad words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from slurmsim.allocation import normal_probability
from slurmsim.bench import titan
from slurmsim.bench.claims import MISSING, REPRODUCED
from slurmsim.bench.titan import Projects, Result, experiment, model_figures, parse_parts, project_use
from slurmsim.bench.titan_view import as_text, claims
from slurmsim.cli import main
from slurmsim.errors import ConfigError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("titan") / "out"
    options = ["--parts", "model,queue", "--seeds", "2", "--jobs", "1000", "--workers", "2", "--quiet"]
    assert main(["bench", "titan", "--out", str(folder), *options]) == 0
    return folder


def test_files(folder: Path) -> None:
    """Every run is kept, every figure has an interval, and what the log would be needed for is said to be missing."""
    data = json.loads((folder / "results.json").read_text())
    assert sorted(data["runs"]) == [f"queue-{v}-{k}" for v in ("no_boosts", "no_limit", "titan") for k in (1, 2)]
    one = data["runs"]["queue-titan-1"]
    assert one["summary"]["jobs"] == 1000 and 0.3 < one["load"] < 1
    assert 0 <= one["free_median"] <= titan.NODES and one["bin5"]["jobs"] > 500
    waits = [data["runs"][f"queue-titan-{k}"]["wait_h"] for k in (1, 2)]
    assert data["queue"]["titan"]["wait_h"]["mean"] == pytest.approx(np.mean(waits))
    change = [data["runs"][f"queue-no_limit-{k}"]["wait_h"] - waits[k - 1] for k in (1, 2)]
    assert data["changes"]["no limit"]["wait_h"]["mean"] == pytest.approx(np.mean(change))
    assert data["claims"][-1]["verdict"] == MISSING
    assert [one["verdict"] for one in data["claims"][:3]] == [REPRODUCED] * 3
    assert (folder / "titan.png").stat().st_size > 5_000
    assert "18,688" in (folder / "results.txt").read_text()


def test_it_goes_on_where_it_stopped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All is there: nothing is run again."""
    monkeypatch.setattr("slurmsim.bench.runs.ProcessPoolExecutor", None)
    assert len(experiment(folder, parts=["queue"], seeds=2, jobs=1000, workers=1).runs) == 6


def test_busy_nodes_by_hand() -> None:
    """Two jobs on a grid of ten minutes: [0, 1200) and [600, 1800) of 2 and 3 nodes."""
    got = titan._busy(np.array([0, 600]), np.array([1200, 1800]), np.array([2, 3]), 0, 2400)
    assert got.tolist() == [2, 5, 3, 0]


def test_the_models_figures() -> None:
    found = model_figures()
    assert found["expected_use"] == pytest.approx(13_824_000, abs=1)
    assert found["use_variance"] == pytest.approx(416)
    assert found["check"] == pytest.approx(0.8295, abs=5e-5)
    assert found["overlapping_more_than_4900"] == pytest.approx(0.8413, abs=0.003)


def test_projects(monkeypatch: pytest.MonkeyPatch) -> None:
    """500 h instead of 5,000: means within 4 standard deviations of their mean; a seed gives the same again."""
    monkeypatch.setattr(titan, "PERIOD_H", 500)
    for variant, mean, sd in (("A", 500, 1000**0.5), ("B", 250, 125**0.5)):
        cell = Projects("x", variant, tuple(range(1, 13)))
        use = project_use(cell, "")["use"]
        assert abs(np.mean(use) - mean) < 4 * sd / 12**0.5
        assert len(set(use)) == 12 and project_use(cell, "")["use"] == use


def test_distances_and_verdicts() -> None:
    """Uses at the quantiles of the model are near it; uses that are all alike are not."""
    model = Result.spread("A")
    even = np.interp(1 - (np.arange(100) + 0.5) / 100, normal_probability(np.arange(4000, 6000), model)[::-1],
                     np.arange(4000, 6000)[::-1]).tolist()  # fmt: skip
    good = Result(1, 1000, {}, {"A": even, "B": [2530.0 + k for k in range(-50, 50)]}, {})
    assert good.distance("A") < 0.01
    assert good.distance("B") > 0.1
    bad = Result(1, 1000, {}, {"A": [5000.0] * 100, "B": [2500.0] * 100}, {})
    assert bad.distance("A") == pytest.approx(0.5, abs=0.01)
    verdicts = {claim.what.split(":")[0] + claim.what[-10:]: claim.verdict for claim in claims(bad)}
    assert list(verdicts.values()).count(REPRODUCED) == 2  # the two means
    assert "validation 2 A" in as_text(bad)


@pytest.mark.parametrize("words", [["--parts", "all,queue"], ["--seeds", "0"], ["--jobs", "10"]])
def test_what_cannot_be_asked(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "titan", "--out", str(tmp_path), *words]) == 2
    assert capsys.readouterr().err.startswith(f"slurmsim: error: {words[0]}: ")
    with pytest.raises(ConfigError):
        parse_parts("model,queues")
