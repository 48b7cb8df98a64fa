"""The arena: the set, and the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from slurmsim.campaign import arena
from slurmsim.campaign.grid import read_grid
from slurmsim.cli import main
from slurmsim.policy.registry import policy_names


def test_the_set_has_every_installed_policy() -> None:
    grid = read_grid(arena.grid())
    assert sorted(policy.name for policy in grid.policies) == policy_names()
    assert grid.baseline == "easy" and len(grid) == 3 * 6 * len(policy_names())
    assert len(read_grid(arena.grid(of=arena.FULL))) == 4 * 2 * 2 * 5 * len(policy_names())


@pytest.mark.slow
def test_the_full_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena, "FULL", replace(arena.FULL, seeds=1, jobs=20))
    assert main(["arena", "--full", "--out", str(tmp_path / "a"), "--policy", "fcfs", "--quiet"]) == 0
    page = (tmp_path / "a" / "leaderboard.md").read_text()
    assert page.startswith("# Arena 2 (full)\n\nslurmsim ") and "at 1 and 2 times their load; plain; failing." in page
    frame = pd.read_parquet(tmp_path / "a" / "summaries.parquet")
    cells = frame.groupby(["workload", "load", "settings"]).size()
    assert len(cells) == 16 and set(cells) == {2}


def test_a_leaderboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(arena, "QUICK", replace(arena.QUICK, seeds=2))
    words = ["arena", "--out", str(tmp_path / "a"), "--policy", "fcfs", "--policy", "bins:table=nonsense"]
    assert main(words) == 2  # known before anything runs
    assert "bins" in capsys.readouterr().err
    assert main(words[:-2]) == 0
    page = (tmp_path / "a" / "leaderboard.md").read_text()
    assert capsys.readouterr().out == page
    lines = page.splitlines()
    assert lines[0] == "# Arena 2 (quick)"
    assert [line for line in lines if line.startswith("## ")] == [
        "## wait (`mean_wait_central_s`)", "## slowdown (`mean_bounded_slowdown_central`)",
        "## use (`utilization_central`)", "## Where each policy loses",
    ]  # fmt: skip
    rows = [line for line in lines if line.startswith("| 1 |")]
    assert len(rows) >= 3 and any("| easy |" in row for row in rows)
    assert any(line.startswith("- **easy**: ") for line in lines)
    assert main([*words[:-2], "--quiet"]) == 0
    assert (tmp_path / "a" / "leaderboard.md").read_text() == page


def test_who_failed_somewhere_has_no_place_and_costs_nobody_else_theirs() -> None:
    from slurmsim.campaign.arena import _whole

    cells = [("a", "w"), ("a", "v"), ("b", "w"), ("b", "v"), ("half", "w")]
    frame = pd.DataFrame({"policy": [p for p, _ in cells], "workload": [w for _, w in cells], "key": range(5)})
    assert _whole(frame)["policy"].tolist() == ["a", "a", "b", "b"]
