"""Rankings and leaderboards as pages, and sweeps, traces and comparisons in a notebook."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

from slurmsim.campaign.arena import html, leaderboard, markdown
from slurmsim.campaign.conclusions import ALSO, MEASURES, rankings
from slurmsim.campaign.pages import differences, ranking_page
from slurmsim.campaign.sweep import Sweep
from slurmsim.campaign.view import also_rows, as_text, cells, class_rows
from slurmsim.metrics.classes import CLASSES
from slurmsim.report import page


def frame(
    *, workloads: tuple[str, ...] = ("a", "b"), policies: tuple[str, ...] = ("easy", "<i>fcfs</i>")
) -> pd.DataFrame:
    """Cells of made-up figures: a later policy is slower by its place, more or less with the seed."""
    rows = [
        {"key": f"{w}{p}{s}", "policy": policy, "workload": w, "load": 2.0, "settings": "", "window": "", "seed": s,
         "jobs": 100, "refused": p, "never_started": 0, "dropped": 0}
        | dict.fromkeys(MEASURES, 100.0 * (1 + p) + 7 * s * (p + 1))
        | dict.fromkeys(ALSO, 0.5 + p)
        | {f"{one}_{what}": 25 * (p + 1) for one in CLASSES for what in ("jobs", "wait_s")}
        for w in ("a", "b") for p, policy in enumerate(("easy", "<i>fcfs</i>")) for s in range(6)
    ]  # fmt: skip
    return pd.DataFrame(rows)


class Made(Sweep):
    """A sweep of these cells."""

    def frame(self) -> pd.DataFrame:
        return frame()


@pytest.fixture
def made(tmp_path: Path) -> Sweep:
    return Made(tmp_path, "easy", 24, 24, 24)


def cells_of(text: str) -> list[str]:
    return [unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", text)]


def test_the_page_of_a_sweep_has_each_row_and_each_interval() -> None:
    found = rankings(frame(), "easy")
    text = ranking_page("<b>grid</b>", "24 of 24 cells are done.", found)
    assert cells_of(text) == [
        cell for one in found
        for row in (*(cells(row, one) for row in one.rows), *class_rows(one)[1:], *also_rows(one)[1:]) for cell in row
    ]  # fmt: skip
    assert text.count('class="interval"') == 2 and "<i>fcfs" not in text and "<b>grid" not in text
    assert "Content-Security-Policy" in text and "<img" not in text
    for note in as_text(found).split("\n\n")[-1].splitlines():
        assert note[:60] in unescape(text)
    assert "no two policies" in ranking_page("x", "y", [])


def test_an_interval_is_drawn_where_it_is() -> None:
    text = page.intervals("t", [("up", 5.0, 0.0, 10.0, "+5"), ("down", -10.0, None, None, "-10")])
    zeros = {float(x) for x in re.findall(r'class="zero" x1="([\d.]+)"', text)}
    assert zeros == {50.0}
    assert re.findall(r'class="span" x1="([\d.]+)" x2="([\d.]+)"', text) == [("50.0", "100.0")]
    assert [float(x) for x in re.findall(r'class="mean" x1="([\d.]+)"', text)] == [75.0, 0.0]
    assert page.intervals("t", []) == ""


def test_ratios_are_drawn_as_shares(made: Sweep) -> None:
    board = leaderboard(made).boards[0]
    (row,) = [row for row in board.rows if row.against]
    found = row.against[board.by]
    assert board.ratio and found.mean > 0
    assert re.search(r'class="mean" x1="(\d+)', differences(board))


def test_the_leaderboard_says_the_same_in_markdown_and_as_a_page(made: Sweep) -> None:
    board = leaderboard(made)
    lines, text = markdown(board), unescape(html(board))
    rows = [line.strip("| ").split(" | ") for line in lines.splitlines() if line.startswith(("| 1", "| 2"))]
    assert rows and all(cell in text for row in rows for cell in row)
    for policy, where in board.losses:
        assert where in text and f"- **{policy}**: {where}" in lines
    assert all(line in text for line in board.missing) and board.missing
    assert html(board).count("<section>") == len(board.boards) + 2


def test_a_sweep_shows_itself_in_a_notebook(made: Sweep) -> None:
    shown = made._repr_html_()
    assert "24 of 24 cells are done" in shown and "&lt;i&gt;fcfs" in shown
    assert "<i>" not in shown and "<html" not in shown
