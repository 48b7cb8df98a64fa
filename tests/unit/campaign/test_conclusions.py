"""Rankings: pairs, equals, and those that did not start their jobs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from slurmsim.campaign.conclusions import ALSO, overall, rankings
from slurmsim.campaign.pages import ranking_page
from slurmsim.campaign.view import also_rows, as_text, headline
from slurmsim.metrics.classes import CLASSES


def frame(waits: dict[str, list[float]], **more: Any) -> pd.DataFrame:
    """One workload, a cell for each policy and wait."""
    rows = []
    for policy, means in waits.items():
        for seed, mean in enumerate(means):
            one = {
                "workload": "w", "window": "", "load": 1.0, "settings": "", "policy": policy, "seed": seed, "jobs": 100,
                "refused": 0, "never_started": 0, "dropped": 0, "mean_wait_central_s": mean,
                "mean_bounded_slowdown_central": mean / 10, "utilization_central": 0.5, **dict.fromkeys(ALSO, np.nan),
            }  # fmt: skip
            for name in CLASSES:
                one |= {f"{name}_jobs": 25, f"{name}_wait_s": mean}
            rows.append(one | {k: v.get(policy, one[k]) for k, v in more.items()})
    return pd.DataFrame(rows)


NOISE = np.random.default_rng(1).normal(1000, 300, 12)


def test_best_first_and_equals_together() -> None:
    waits = {
        "slow": (NOISE + 50).tolist(), "base": NOISE.tolist(), "same": (NOISE + np.resize([0.1, -0.1], 12)).tolist(),
        "fast": (NOISE - 40).tolist(),
    }  # fmt: skip
    (found,) = rankings(frame(waits), "base")
    assert next((row.policy, row.rank) for row in found.rows) == ("fast", 1)
    ranks = {row.policy: row.rank for row in found.rows}
    assert ranks == {"fast": 1, "base": 2, "same": 2, "slow": 4}
    assert [row.beaten_by for row in found.rows] == [(), ("fast",), ("fast",), ("fast", "base", "same")]
    slow = next(row for row in found.rows if row.policy == "slow")
    against = slow.against["mean_wait_central_s"]
    assert against.mean == pytest.approx(50) and against.n == 12 and (slow.p["mean_wait_central_s"] or 1) < 0.01
    fast = next(row for row in found.rows if row.policy == "fast")
    assert fast.against["mean_wait_central_s"].mean == pytest.approx(-40)
    assert fast.against["mean_wait_central_s"].above == 0
    assert "+50 s" in as_text([found])


def test_who_started_nothing_cannot_be_first() -> None:
    waits = {"honest": [500.0] * 8, "idle": [0.0] * 8}
    (found,) = rankings(frame(waits, never_started={"idle": 99}), "honest")
    assert [row.policy for row in found.rows] == ["honest", "idle"]
    assert [row.complete for row in found.rows] == [True, False] and found.rows[1].rank == 2
    text = as_text([found]).splitlines()
    assert text[1].startswith("idle: 792 jobs never started") and "stands behind" in text[1]
    (refusing,) = rankings(frame(waits, refused={"idle": 99}), "honest")
    assert [row.policy for row in refusing.rows] == ["honest", "idle"]
    lines = headline(frame(waits, never_started={"idle": 99}))
    assert lines == ["idle: in 8 of its cells most jobs never started: no mean says anything about them"]


def test_few_pairs_and_missing_cells_are_said() -> None:
    table = frame({"a": [1.0, 2, 3], "b": [2.0, 3, 4]})
    (found,) = rankings(table[:-1], "a")
    assert found.left_out == 1 and found.rows[0].cells == 2
    text = as_text([found])
    assert (
        "1 cells have no counterpart" in text
        and "With 2 pairs of runs no test can tell 2 policies apart, so there are no places: 6 tell them from" in text
    )
    assert "50 %" in text
    assert [row.rank for row in found.rows] == [None, None]
    assert rankings(table[table.policy == "a"], "a") == []


def test_over_all_workloads_ratios_count() -> None:
    """Twice the waits of one workload and half of those of another are no difference."""
    waits = {"base": [940.0] * 8, "other": [1940.0] * 8}
    turned = {"base": [19_940.0] * 8, "other": [9_940.0] * 8}
    table = pd.concat([frame(waits), frame(turned).assign(workload="v")])
    found = overall(table, "base")
    assert found is not None and found.ratio
    other = next(row for row in found.rows if row.policy == "other").against["mean_wait_central_s"]
    assert other.mean == pytest.approx(0, abs=1e-9) and other.n == 16 and not other.clear
    twice = overall(pd.concat([frame(waits), frame(waits).assign(workload="v")]), "base")
    assert twice is not None and "+100.0 % (+100.0 % to +100.0 %)" in as_text([twice])
    assert overall(frame(waits), "base") is None


def test_who_pays_is_told_by_class() -> None:
    """The mean is better, and the long and wide wait longer."""
    table = frame({"base": NOISE.tolist(), "other": (NOISE - 100).tolist()})
    other = table.policy == "other"
    table.loc[other, "long_wide_wait_s"] = NOISE + 900
    table.loc[table.seed < 3, "short_wide_wait_s"] = np.nan
    (found,) = rankings(table, "base")
    row = next(row for row in found.rows if row.policy == "other")
    paid = row.classes["long_wide"].against
    assert paid is not None and paid.mean == pytest.approx(900) and paid.clear and row.classes["long_wide"].jobs == 300
    few = row.classes["short_wide"].against
    assert (
        few is not None
        and few.n == 9
        and next(r for r in found.rows if r is not row).classes["long_wide"].against is None
    )
    line = next(line for line in as_text([found]).splitlines() if line.lstrip().startswith("other") and "*" in line)
    assert line.count("*") == 4
    twice = pd.concat([table, table.assign(workload="v")])
    board = overall(twice, "base")
    assert board is not None and as_text([board]).count("*:") == 1


def test_fairness_losses_and_energy_are_shown_where_there_are_some() -> None:
    table = frame({"base": [1.0, 2.0], "other": [2.0, 3.0]})
    assert "fairness" not in as_text(rankings(table, "base"))
    table["jain_users"] = [0.5, 0.7, np.nan, np.nan]
    table["lost_cpu_s"] = 0.0
    table["energy_j"] = [7.2e6, 7.2e6, 3.6e6, 3.6e6]
    found = rankings(table, "base")
    assert found[0].rows[0].also["jain_users"] == pytest.approx(0.6) and found[0].rows[1].also["jain_users"] is None
    assert also_rows(found[0]) == [
        ["fairness, losses", "Jain", "energy kWh"], ["base", "0.60", "2.0"], ["other", "–", "1.0"],
    ]  # fmt: skip
    assert "Jain: of the users' mean slowdowns" in as_text(found) and "energy kWh" in ranking_page("x", "y", found)
