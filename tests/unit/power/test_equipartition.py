"""Equipartition: shares by hand, and whole runs that the validator finds valid."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from power_runs import LEAN, Script, column, jobs, run

from slurmsim.energy.profile import read_profile
from slurmsim.errors import SlurmSimError
from slurmsim.metrics.work import of_trace
from slurmsim_policies.equipartition import deal


def shares(*ranges: tuple[int, int], spare: int) -> list[int]:
    """What jobs of such ranges get, in order."""
    told: Any = [(SimpleNamespace(id=k), *one) for k, one in enumerate(ranges)]
    return list(deal(told, spare).values())


def test_shares_by_hand() -> None:
    assert shares((4, 16), (4, 16), spare=16) == [12, 12]
    assert shares((4, 16), (4, 6), spare=16) == [16, 6]  # who has its most leaves the rest
    assert shares((1, 9), (5, 9), (2, 9), spare=5) == [4, 5, 4]  # the least first
    assert shares((1, 9), (1, 9), (1, 9), spare=4) == [3, 2, 2]  # what is left over to the first
    assert shares((2, 2), spare=5) == [2] and shares(spare=3) == []


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), max_size=6), st.integers(0, 60))
def test_shares_are_as_even_as_can_be(ranges: list[tuple[int, int]], spare: int) -> None:
    """All is dealt out that somebody can take; no job gets a node while one that could take it has fewer by two."""
    whole = [(least, least + more) for least, more in ranges]
    given = shares(*whole, spare=spare)
    assert sum(given) == sum(least for least, _ in whole) + min(spare, sum(more for _, more in ranges))
    for a, (least, _) in zip(given, whole, strict=True):
        for b, (_, most) in zip(given, whole, strict=True):
            assert a <= max(least, b + 1) or b == most


def test_a_run(tmp_path: Path) -> None:
    """One job has its most; with the second both shrink or start on half; when one ends the other grows again."""
    frame = jobs({"max_nodes": 32}, {"submit": 500, "max_nodes": 32}, {"submit": 600, "malleable": 0, "nodes": 4})
    trace = run(tmp_path, frame, "equipartition", nodes=32)
    phases = trace.phases_frame()
    first = phases.query("job_id == 1")
    assert first["nodes"].tolist()[0] == 32 and 16 in first["nodes"].tolist()
    assert column(trace, "start") == {1: 0, 2: 500, 3: 600}
    last = phases.sort_values("end").iloc[-1]
    assert last["nodes"] in (32, 28)  # alone, or beside the moldable one
    assert set(column(trace, "state").values()) == {"COMPLETED"}
    assert len(trace.requeued) and of_trace(trace, 32)["lost_cpu_s"] == 0  # earlier sizes are no loss


def test_every(tmp_path: Path) -> None:
    """Who shrinks does so at once; nobody grows more often than that."""
    frame = jobs({"max_nodes": 32}, *[{"submit": 300 * k, "run_time": 200, "max_nodes": 32} for k in range(1, 6)])
    often, seldom = (
        run(tmp_path / str(k), frame, f"equipartition{more}", nodes=32) for k, more in enumerate(("", ":every=900"))
    )
    grown = []
    for trace in (often, seldom):
        sizes = trace.phases_frame().query("job_id == 1").sort_values("start")
        times = sizes["start"].to_numpy()[1:][sizes["nodes"].diff().to_numpy()[1:] > 0]
        grown.append(times.tolist())
    assert len(grown[0]) > len(grown[1])
    assert all(b - a >= 900 for a, b in zip(grown[1], grown[1][1:], strict=False))


@pytest.mark.parametrize("budget", ["1500", "2500"])
def test_under_a_budget(tmp_path: Path, budget: str) -> None:
    """What the budget forbids is carried out as far as it can be; everybody ends."""
    frame = jobs(*[{"submit": 200 * k, "run_time": 900 + k} for k in range(6)])
    trace = run(tmp_path, frame, "equipartition", nodes=32, power_budget=budget)
    assert set(column(trace, "state").values()) == {"COMPLETED"}
    assert trace.usage_frame()["charged_mw"].max() <= 1000 * int(budget)


@pytest.mark.parametrize("policy", ["equipartition", "parm:budget_w=3000"])
def test_sizes_change_at_scheduling_points_alone(tmp_path: Path, policy: str) -> None:
    """An application that is able to after each 700 s of work does so nowhere else, and uses them."""
    profile = read_profile(f"{LEAN}:points=700", 4, 32, True)
    frame = jobs(*[{"submit": 500 * k, "max_nodes": 32, "app": f"{LEAN}:points=700"} for k in range(4)])
    phases = run(tmp_path, frame, policy, nodes=32).phases_frame()
    changed = 0
    for _, mine in phases.sort_values("start").groupby("job_id"):
        rows = list(mine.itertuples())
        same = list(takewhile(lambda row, first=rows[0]: row.nodes == first.nodes, rows))  # type: ignore[misc]
        if len(same) == len(rows):
            continue
        changed += 1
        done = sum((row.end - row.start) / profile.slowdown(row.nodes, row.cap_mw) for row in same)
        assert (done + 1e-6) % 700 < 1 / profile.slowdown(same[-1].nodes, same[-1].cap_mw) + 1e-6
    assert changed


def test_changes_elsewhere_are_refused(tmp_path: Path) -> None:
    """At a point, which comes after 700 s of work, they are not; caps may change anywhere."""
    app = "LeanMD:parallelism=16:sigma=0:points=700"  # on its most nodes at full power
    frame = jobs({"nodes": 16, "app": app})
    script = Script(changes={600: {1: (8, None)}, 650: {1: (None, 60.0)}, 700: {1: (8, None)}, 900: {1: (4, None)}})
    run(tmp_path, frame, script)
    assert script.outcomes == {600: False, 650: True, 700: True, 900: False}


@pytest.mark.parametrize("points", ["0.5", "-1", "nan", "inf"])
def test_points_that_cannot_be(tmp_path: Path, points: str) -> None:
    with pytest.raises(SlurmSimError, match="scheduling points after each"):
        run(tmp_path, jobs({"app": f"{LEAN}:points={points}"}))
