"""Progress of jobs whose nodes and caps change: to the second what a closed form says."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from power_runs import LEAN, WAVE, Script, column, ends, jobs, run

from slurmsim.core.records.shape import Shape
from slurmsim.energy import TABLE, Application
from slurmsim.energy.profile import read_profile
from slurmsim.errors import SlurmSimError
from slurmsim.model.power import PowerSpec

SPEC = PowerSpec()


def slower(nodes: int, watts: float, row: str = "LeanMD", parallelism: float = 24, sigma: float = 0.2) -> Fraction:
    """Seconds a second of work on 16 nodes at full power takes there, by the model alone."""
    app = Application(1e4, parallelism, sigma, **TABLE[row])
    return Fraction(float(app.time_s(nodes, watts))) / Fraction(float(app.time_s(16, 60)))


def closed_form(work: int, phases: list[tuple[int, int, float]]) -> int:
    """When a job ends that has `nodes` at `watts` from each `begin` on; changes of nodes cost 2 t_se."""
    left, lost = Fraction(work), Fraction(0)
    for k, (begin, nodes, watts) in enumerate(phases):
        if k and nodes != phases[k - 1][1]:
            lost += 2 * Fraction(SPEC.resize_s(phases[k - 1][1], nodes))
        slow = slower(nodes, watts)
        end = begin + lost + left * slow
        following = phases[k + 1][0] if k + 1 < len(phases) else None
        if following is None or end <= following:
            return ceil(end - Fraction(1, 10**6))
        passed = following - begin
        left -= max(Fraction(0), passed - lost) / slow
        lost = max(Fraction(0), lost - passed)
    raise AssertionError


def test_a_job_that_changes_nothing(tmp_path: Path) -> None:
    """As many nodes as its run time is meant for: that run time; fewer, or capped: as the model says."""
    frame = jobs({"nodes": 16}, {"nodes": 8}, {"nodes": 4}, {"app": WAVE, "nodes": 4, "max_nodes": 4})
    assert ends(run(tmp_path, frame)) == {1: 3600, 2: ceil(3600 * slower(8, 60)), 3: ceil(3600 * slower(4, 60)),
                                          4: 3600}  # fmt: skip
    capped = ends(run(tmp_path, frame, power_cap="40W"))
    assert capped[1] == ceil(3600 * slower(16, 40)) and capped[4] == 3600  # Wave2D uses no more than 40 W


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 900), st.integers(4, 16), st.sampled_from([30.0, 33.3, 44.0, 60.0])),
        min_size=1, max_size=5,
    ),
    st.integers(1, 5000),
)  # fmt: skip
def test_phases_are_never_rounded(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, float]], work: int
) -> None:
    """Whatever changes when: the second of the end is that of exact fractions."""
    phases, now = [(0, 8, 60.0)], 0
    for gap, nodes, watts in steps:
        now += gap + 400  # longer than any change of size takes
        phases.append((now, nodes, watts))
    script = Script(changes={now: {1: (nodes, watts)} for now, nodes, watts in phases[1:]})
    trace = run(tmp_path_factory.mktemp("p"), jobs({"run_time": work, "time_limit": 10**6}), script)
    assert ends(trace)[1] == closed_form(work, phases)


def test_shapes_that_change_while_data_move() -> None:
    """A cap may; the seconds that are lost are lost once."""
    profile = read_profile(LEAN, 4, 16, True)
    shape = Shape(profile, 8, 60_000, 56_000, 100)
    shape.lost_s = 90.5
    shape.advance(150)
    assert (shape.done_s, shape.lost_s) == (0.0, 40.5)
    shape.take(8, 30_000, 56_000)
    slow = profile.slowdown(8, 30_000)
    assert shape.end_of(10) == 150 + ceil(40.5 + 10 * slow)
    assert shape.done_by(200) == pytest.approx((50 - 40.5) / slow)


def test_the_cost_of_a_change_of_size() -> None:
    """Equations 20 and 21 by hand: 8 to 16 nodes move half of 8 GiB, and boot."""
    moved = 1024 / 2 * 8 / (2 * 425 * 8 ** (2 / 3))
    assert SPEC.resize_s(8, 16) == pytest.approx(moved + 8 * 0.01904 + 72.73)
    assert SPEC.resize_s(16, 8) == pytest.approx(1024 * 8 / (2 * 425 * 8 ** (2 / 3)))
    assert SPEC.resize_s(8, 8) == 0


def test_all_that_are_resized_together_stand_still_for_the_longest(tmp_path: Path) -> None:
    """And one whose cap alone changes does not."""
    script = Script(changes={100: {1: (4, None), 2: (9, None), 3: (None, 40.0)}})
    trace = run(tmp_path, jobs({}, {}, {}), script)
    lost = 2 * max(SPEC.resize_s(8, 4), SPEC.resize_s(8, 9))
    done = Fraction(100) / slower(8, 60)
    expected = {1: 100 + lost + (3600 - done) * slower(4, 60), 2: 100 + lost + (3600 - done) * slower(9, 60),
                3: 100 + (3600 - done) * slower(8, 40)}  # fmt: skip
    assert ends(trace) == {job: ceil(end) for job, end in expected.items()}
    assert script.outcomes == {100: True}
    requeued = trace.requeued_frame()
    assert sorted(zip(requeued["job_id"], requeued["state"], requeued["nodes"], strict=True)) == [
        (1, "RESIZING", 8), (2, "RESIZING", 8),
    ]  # fmt: skip


def test_limits_move_with_the_shape_or_stay(tmp_path: Path) -> None:
    """A limit is meant for the most nodes at full power: a job that ends within it there ends within it anywhere."""
    frame = jobs({"run_time": 3600, "time_limit": 3600}, {"run_time": 3601, "time_limit": 3600})
    script = Script(changes={500: {1: (4, 30.0)}, 700: {2: (5, 33.0)}})
    trace = run(tmp_path, frame, script)
    assert column(trace, "state") == {1: "COMPLETED", 2: "TIMEOUT"}
    assert ends(trace)[1] == closed_form(3600, [(0, 8, 60.0), (500, 4, 30.0)])
    over = [(0, 8, 60.0), (700, 5, 33.0)]  # the limit it is submitted with is whole seconds, rounded up
    assert closed_form(3600, over) <= ends(trace)[2] < closed_form(3601, over)
    kept = run(tmp_path, frame, Script(changes={500: {1: (4, 30.0)}}), limit="keep")
    assert column(kept, "state") == {1: "TIMEOUT", 2: "TIMEOUT"} and ends(kept) == {1: 3600, 2: 3600}


def test_suspended_and_requeued_between_changes(tmp_path: Path) -> None:
    """What was done before a suspension counts after it; a requeued job begins anew."""
    budget = tmp_path / "budget.csv"
    budget.write_text("time,watts\n0,2000\n300,100\n1300,2000\n", encoding="utf-8")
    trace = run(tmp_path, jobs({"malleable": 0, "min_nodes": 8}), power_budget=str(budget))
    # caps go down first, which does not suffice, then it is suspended; later it goes on under that cap, then at full
    kinds = trace.events_frame().query("job_id == 1")["event"].tolist()
    assert [kind for kind in kinds if kind in ("SUSPEND", "RESUME", "CAP")] == ["CAP", "SUSPEND", "RESUME", "CAP"]
    assert ends(trace)[1] == closed_form(3600, [(0, 8, 60.0)]) + 1000
    events = tmp_path / "events.csv"
    first = str(trace.jobs_frame()["node_list"][0])
    events.write_text(f'time,action,nodes\n1000,down,"{first}"\n1001,resume,"{first}"\n', encoding="utf-8")
    trace = run(tmp_path, jobs({}), node_events=str(events))
    start = column(trace, "start")[1]
    assert start >= 1000 and ends(trace)[1] == start + closed_form(3600, [(0, 8, 60.0)])
    assert trace.phases_frame()["end"].tolist() == [1000, ends(trace)[1]]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"app": "LeanND:parallelism=2:sigma=0"}, "job 1: 'LeanND:parallelism=2:sigma=0': 'LeanND' is no row of the"),
        ({"app": "LeanMD:parallelism=2"}, "sigma is missing"),
        ({"app": "LeanMD:parallelism=2:sigma=1.5"}, "sigma = 1.5"),
        ({"app": "LeanMD:parallelism=x:sigma=0"}, "'parallelism=x' is no number"),
        ({"app": ""}, "job 1: sizes, and no application"),
        ({"nodes": 3}, "job 1: 3 nodes, sizes from 4 to 16"),
        ({"nodes": -1}, "job 1: -1 nodes of a job with an application"),
        ({"tasks": 4}, "job 1: tasks of a job with an application"),
        ({"nodes_max": 9}, "job 1: a range beside min_nodes and max_nodes"),
    ],
)
def test_applications_that_are_none(tmp_path: Path, row: dict[str, object], message: str) -> None:
    with pytest.raises(SlurmSimError) as wrong:
        run(tmp_path, jobs(row))
    assert message in str(wrong.value) and "\n" not in str(wrong.value)
