"""Decisions of PARM: equal to trying everything, within nodes and watts, ties as promised; and files of them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmsim.cli import main
from slurmsim.energy import TABLE, Application
from slurmsim.errors import InputError
from slurmsim_policies.parm.decision import IDLE, Choice, Decision, JobOptions, Option, Options
from slurmsim_policies.parm.exact import FEW, _States, _undominated, choose
from slurmsim_policies.parm.plain import decision_from, plain_from
from slurmsim_policies.parm.relaxation import priced, relax


def job(name: str, mine: Sequence[Option], running: tuple[int, float] | None = None) -> JobOptions:
    return JobOptions(name, Options.of(mine), running)


options = st.builds(
    Option, st.integers(1, 6), st.sampled_from([10.0, 20.5, 30.25]), st.sampled_from([0.0, 0.5, 1.0, 1.1, 2.0, 3.75])
)


@st.composite
def decisions(draw: st.DrawFn) -> Decision:
    jobs = []
    for k in range(draw(st.integers(0, 5))):
        mine = tuple(draw(st.lists(options, min_size=1, max_size=5)))
        now = draw(st.sampled_from(mine)) if draw(st.booleans()) else None
        jobs.append(job(f"j{k}", mine, None if now is None else (now.nodes, now.watts)))
    return Decision(draw(st.integers(1, 14)), draw(st.sampled_from([60.0, 150.5, 333.3, 700.0])), 5.5, tuple(jobs))


def tried(decision: Decision) -> tuple[float, int, int] | None:
    """By trying everything: the best sum of values, then the fewest resizes, then the fewest watts."""
    best: tuple[float, int, int] | None = None
    for choice in itertools.product(*([*range(len(j.options)), *([] if j.running else [None])] for j in decision.jobs)):
        taken = [(j, j.options[k]) for j, k in zip(decision.jobs, choice, strict=True) if k is not None]
        watts = sum(decision.draw(one) for _, one in taken)
        if sum(one.nodes for _, one in taken) > decision.nodes or watts > decision.budget:
            continue
        resizes = sum(j.running is not None and one.nodes != j.running[0] for j, one in taken)
        found = (sum(one.value for _, one in taken), -resizes, -watts)
        if best is None or (round(found[0], 9), *found[1:]) > (round(best[0], 9), *best[1:]):
            best = found
    return best


@settings(max_examples=200)
@given(decision=decisions())
def test_equal_to_trying_everything(decision: Decision) -> None:
    best, found = tried(decision), choose(decision)
    if best is None:
        assert found.status == "infeasible"
        return
    assert found.status == "optimal"
    assert found.objective == found.bound == pytest.approx(best[0], abs=1e-9)
    taken = [(decision.jobs[j], decision.jobs[j].options[k]) for j, k in found.chosen.items()]
    assert sum(one.nodes for _, one in taken) <= decision.nodes
    resizes = sum(j.running is not None and one.nodes != j.running[0] for j, one in taken)
    assert (-resizes, -sum(decision.draw(one) for _, one in taken)) == best[1:]
    assert {j for j, job in enumerate(decision.jobs) if job.running} <= found.chosen.keys()


@given(decision=decisions(), price_n=st.floats(0, 50), price_w=st.floats(0, 50))
def test_any_prices_bound_the_best(decision: Decision, price_n: float, price_w: float) -> None:
    """And no choice with an option is worth more than the bound less that option's loss."""
    best = tried(decision)
    columns = decision.columns
    if best is None or not len(columns.value):
        return
    found = priced(decision, columns, price_n, price_w)
    assert found.bound >= best[0] - 1e-9
    for k in range(len(columns.value)):
        at, option = int(columns.job[k]), int(columns.option[k])
        asked = decision.jobs[at]
        only = () if option == IDLE else (job(asked.id, (asked.options[option],), (0, 0.0)),)
        with_it = tried(Decision(decision.nodes, decision.budget_w, decision.base_w, (
            *decision.jobs[:at], *only, *decision.jobs[at + 1:],
        )))  # fmt: skip
        assert with_it is None or with_it[0] <= found.bound - found.loss[k] + 1e-9


def large(jobs: int, seed: int) -> Decision:
    rng = np.random.default_rng(seed)
    rows = list(TABLE)
    made = []
    for k in range(jobs):
        most = int(rng.choice([64, 512, 2048, 8192]))
        sizes = np.unique(np.linspace(max(1, most // 3), most, 8).round().astype(int))
        app = Application(1e5, float(rng.uniform(most, 4 * most)), float(rng.uniform()), **TABLE[rows[k % 5]])
        levels = [level for level in (30, 33, 36, 44, 50, 60) if level >= app.p_low_w]
        times = app.time_s(sizes[:, None], levels)
        mine = [
            Option(int(n), float(p), float(rng.uniform(1, 9) * times[0, 0] / times[i, j]))
            for i, n in enumerate(sizes) for j, p in enumerate(levels)
        ]  # fmt: skip
        made.append(job(f"j{k}", tuple(mine), (mine[0].nodes, mine[0].watts) if k < 3 else None))
    return Decision(50_000, 4_751_360.0, 56.0, tuple(made))


@pytest.mark.parametrize("seed", range(4))
def test_many_jobs_as_another_solver(seed: int) -> None:
    """SciPy's HiGHS, which shares nothing with ours, finds the same best for 60 jobs; the bound is the relaxation's."""
    from scipy.optimize import Bounds, LinearConstraint, linprog, milp

    decision = large(60, seed)
    c, found = decision.columns, choose(decision)
    assert found.status == "optimal" and choose(decision) == found
    rows = np.stack([*(c.job == k for k in range(60)), c.nodes / decision.nodes, c.draw / decision.budget])
    ones = np.array([1.0] * 60 + [0.0, 0.0])
    limits = LinearConstraint(rows, np.where(ones > 0, 1.0, -np.inf), 1)
    other = milp(-c.value, constraints=limits, integrality=1, bounds=Bounds(0, 1), options={"mip_rel_gap": 0.0})
    assert found.objective == pytest.approx(-other.fun, rel=1e-9)
    relaxed = linprog(-c.value, A_ub=rows[60:], b_ub=[1, 1], A_eq=rows[:60], b_eq=np.ones(60))
    assert relax(decision, c).bound == pytest.approx(-relaxed.fun, rel=1e-7)


def test_more_states_than_are_kept() -> None:
    """Nothing is proven then; what is found is within nodes and watts, and the bound holds."""
    decision = large(60, 1)
    best, found = choose(decision), choose(decision, states=2)
    assert found.status == "feasible" and found.objective <= best.objective <= found.bound
    taken = [decision.jobs[j].options[k] for j, k in found.chosen.items()]
    assert sum(one.nodes for one in taken) <= 50_000
    assert sum(decision.draw(one) for one in taken) <= decision.budget


def test_watts_are_counted_as_they_are_written() -> None:
    """Three nodes at 30.1 + 56 W are 258.3 W exactly, though not in binary."""
    jobs = (job("a", (Option(3, 30.1, 1.0),)),)
    assert choose(Decision(3, 258.3, 56.0, jobs)).chosen == {0: 0}
    assert choose(Decision(3, 258.29, 56.0, jobs)).chosen == {}


def test_nothing_to_choose() -> None:
    assert choose(Decision(3, 0.0, 56.0, ())) == Choice({}, 0.0, 0.0, "optimal")
    waits, runs = (job("a", (Option(4, 30.0, 1.0),), now) for now in (None, (4, 30.0)))
    assert choose(Decision(3, 1e6, 56.0, (waits,))).status == "optimal"
    assert choose(Decision(3, 1e6, 56.0, (runs,))).status == "infeasible"


# -- files ------------------------------------------------------------------------------------------------------------

FILE = """nodes = 20
budget_w = 2000
levels_w = [30, 44, 60]

[[jobs]]
id = "md"
app = "LeanMD"
t1_s = 4000
parallelism = 24
sigma = 0.2
sizes = [4, 8, 12]
running = [8, 44]
fixed_nodes = true

[[jobs]]
id = "wave"
app = "Wave2D"
t1_s = 4000
parallelism = 40
sigma = 0
sizes = [2, 4]
weight = 2.5

[[jobs]]
id = "plain"
options = [[6, 30, 1.5], [10, 30, 1.9]]
"""


def write(tmp_path: Path, text: str = FILE) -> Path:
    path = tmp_path / "decision.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """LeanMD may not change its size; Wave2D is not offered 30 W; values are speed-ups over the least of both."""
    assert main(["parm", str(write(tmp_path)), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    md = Application(4000, 24, 0.2, **TABLE["LeanMD"])
    wave = Application(4000, 40, 0, **TABLE["Wave2D"])
    assert found["status"] == "optimal" and found["waiting"] == []
    assert found["chosen"]["md"][0] == 8
    chosen = found["chosen"]
    value = float(md.time_s(4, 30) / md.time_s(*chosen["md"]) + 2.5 * wave.time_s(2, 44) / wave.time_s(*chosen["wave"]))
    assert found["objective"] == pytest.approx(value + {6: 1.5, 10: 1.9}[chosen["plain"][0]])
    assert found["watts"] == sum(n * (p + 56) for n, p in chosen.values()) <= 2000
    assert main(["parm", str(write(tmp_path))]) == 0
    assert capsys.readouterr().out.startswith("optimal: objective ")
    assert main(["parm", str(write(tmp_path, FILE.replace("2000", "600")))]) == 0
    assert capsys.readouterr().out == "infeasible: what runs has no room in these nodes and watts\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("nodes = 20", "nodes = 0"), "nodes: expected an integer from 1 to 1099511627776, got 0"),
        (("budget_w = 2000", ""), "budget_w: expected a number, at least 0, got None"),
        (("nodes = 20", "nodes = 20\nbudget = 3"), "budget: unknown key (expected nodes, budget_w, base_w, levels_w"),
        (('app = "LeanMD"', 'app = "LeanMM"'), "jobs[0].app: expected one of LeanMD, Wave2D, Lulesh, AMR, Jacobi2D"),
        (("sigma = 0.2", "sigma = 1.2"), "jobs[0].sigma: sigma = 1.2 (expected from 0 to 1: Downey's"),
        (("[30, 44, 60]", "[20, 31]"), "jobs[1].app: expected a level of levels_w at 32 W or above"),
        (("[30, 44, 60]", "[0, 31]"), "levels_w: expected watts above 0, got 0"),
        (('id = "plain"', 'id = "md"'), "jobs[2].id: expected an id of its own, 'md' is jobs[0] already"),
        (("[6, 30, 1.5]", "[6, 30]"), "jobs[2].options[0]: expected [nodes, watts, value], got [6, 30]"),
        (("running = [8, 44]", "running = [8]"), "jobs[0].running: expected [nodes, watts], got [8]"),
        (("running = [8, 44]", "running = [7, 44]"), "jobs[0].fixed_nodes: expected a size it has options for, got 7"),
        (("running = [8, 44]", ""), "jobs[0].fixed_nodes: expected a number of nodes: it does not run"),
        (("sizes = [2, 4]", "sizes = []"), "jobs[1].sizes: expected at least one number of nodes"),
        (("weight = 2.5", "weight = -1"), "jobs[1].weight: expected a number, at least 0, got -1"),
        (("nodes = 20", "nodes = "), "Invalid value"),
    ],
)
def test_wrong_files_get_one_line(
    tmp_path: Path, change: tuple[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert FILE.count(change[0])
    path = write(tmp_path, FILE.replace(*change, 1))
    assert main(["parm", str(path)]) == 2
    err = capsys.readouterr().err
    assert f"{path}: {said}" in err and err.count("\n") == 1


def test_numbers_of_an_application_instead_of_a_row(tmp_path: Path) -> None:
    data: dict[str, Any] = {"nodes": 4, "budget_w": 1e3, "levels_w": [40], "jobs": [{
        "id": "x", **TABLE["AMR"], "t1_s": 10, "parallelism": 3, "sigma": 0, "sizes": [1, 2],
    }]}  # fmt: skip
    decision = decision_from(data)
    assert plain_from(decision, choose(decision))["chosen"] == {"x": [2, 40.0]}
    del data["jobs"][0]["beta"]
    with pytest.raises(Exception, match=r"jobs\[0\]\.beta: expected a number, or a row's name in app"):
        decision_from(data)


# -- numbers at their limits ------------------------------------------------------------------------------------------


def test_nodes_times_watts_beyond_64_bits() -> None:
    """Parts of a watt get coarser, never wrong: what is chosen is still within the budget as it is written."""
    jobs = tuple(job(f"j{k}", (Option(1 << 40, 1e6 + 0.123456, 1.0 + k),)) for k in range(3))
    decision = Decision(1 << 41, 3e18, 56.0, jobs)
    assert int(decision.columns.draw.sum()) < 1 << 62 and decision.budget < 1 << 62
    found = choose(decision)
    assert found.status == "optimal" and sorted(found.chosen) == [1, 2]
    assert choose(Decision(1 << 41, 2e18, 56.0, jobs)).chosen == {2: 0}


def test_a_budget_nobody_can_use_up() -> None:
    """It costs no digits: resizes still count before watts."""
    jobs = (job("a", (Option(2, 30.0, 1.0), Option(1, 60.5, 1.0)), (2, 30.0)),)
    assert choose(Decision(4, 1.7e308, 56.0, (*jobs, job("b", (Option(4, 1.7e308, 9.0),))))).chosen == {0: 0}
    found = choose(Decision(4, 1e300, 56.0, jobs))
    assert found.chosen == {0: 0}


states = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5), st.integers(0, 4)), max_size=120)


@given(states)
def test_undominated_as_by_comparing_all_with_all(found: list[tuple[int, int, int]]) -> None:
    """What is left out has one with as many nodes that draws no more and is worth no less; few are all kept."""
    columns = [np.array(column, np.int64) for column in zip(*found, strict=True)] or [np.zeros(0, np.int64)] * 3
    kept = _undominated(_States(*columns, np.zeros(len(found)))).tolist()
    assert len(set(kept)) == len(kept)
    if len(found) < FEW:
        assert len(kept) == len(found)
    for n, w, v in (row for k, row in enumerate(found) if k not in kept):
        assert any(found[k][0] == n and found[k][1] <= w and found[k][2] >= v for k in kept)
    best = {(n, w, v) for n, w, v in found if not any(
        m == n and x <= w and u >= v and (x, u) != (w, v) for m, x, u in found)}  # fmt: skip
    assert len(found) < FEW or ({found[k] for k in kept} == best and len(kept) == len(best))


def test_what_a_resize_draws_while_data_move() -> None:
    """A job that shrinks draws what it had: nobody else can have those watts yet."""
    shrinks = job("a", (Option(1, 44.0, 9.0, 400.0),), (4, 44.0))
    waits = job("b", (Option(2, 44.0, 1.0),))
    assert choose(Decision(6, 599.0, 56.0, (shrinks, waits))).chosen == {0: 0}
    assert choose(Decision(6, 600.0, 56.0, (shrinks, waits))).chosen == {0: 0, 1: 0}


@pytest.mark.parametrize(
    ("job", "field"),
    [
        ({"id": "a", "weight": 1e300, "options": [[1, 30, 1e300]]}, "jobs[0].options[0]"),
        ({"id": "a", "weight": 1.7e308, "app": "LeanMD", "t1_s": 1, "parallelism": 9, "sigma": 0, "sizes": [1, 9]},
         "jobs[0].weight"),
    ],
)  # fmt: skip
def test_weight_times_value_is_a_number(job: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as wrong:
        decision_from({"nodes": 9, "budget_w": 900, "levels_w": [30, 60], "jobs": [job]})
    assert wrong.value.field == field
