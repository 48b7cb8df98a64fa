"""What dispatchers answer: the worked example, variables, limits, admission, and the door for other processes."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import pytest
from cp_cases import WORKED_EXAMPLE, made, plan_from
from plan_checker import problems

from slurmsim.errors import ConfigError, PolicyError
from slurmsim.policy import load_policy
from slurmsim_policies.cp.admission import next_q_length
from slurmsim_policies.cp.box_board import BoxBoard
from slurmsim_policies.cp.listing import earliest_starts
from slurmsim_policies.cp.models.boxes import BoxModel
from slurmsim_policies.cp.options import EURORA_MODELS, OPTIONS, interval_limit
from slurmsim_policies.cp.plain import instance_from, plain_from
from slurmsim_policies.cp.solve import solve

ALL = [("cp_eurora", {"model": model}) for model in EURORA_MODELS] + [
    (name, {}) for name in OPTIONS if name[1:3] == "cp"
]
ALL += [("cp_classes", {"model": model}) for model in ("slowdown", "mks", "wt", "nl")]


def asked(data: dict[str, Any], dispatcher: str, clock: Any = None, **more: Any) -> dict[str, Any]:
    """The answer; `more` are options, but for q_length."""
    request = {"dispatcher": dispatcher, "instance": data, "q_length": more.pop("q_length", None), "options": more}
    return solve(request, clock)


@pytest.mark.parametrize("dispatcher, options", ALL)
def test_the_worked_example(dispatcher: str, options: dict[str, str]) -> None:
    """Every dispatcher proves its optimum; for the makespan that is 14,400, in less than a second."""
    answer = asked(WORKED_EXAMPLE, dispatcher, time.process_time, **options)
    pooled = dispatcher == "hcp19"
    assert problems(instance_from(WORKED_EXAMPLE), plan_from(answer), queued=answer["queued"], pooled=pooled) == []
    assert answer["status"] == "optimal"
    assert answer["values"]["mks"] >= 14_400
    if answer["criterion"] == "mks":
        assert (answer["objective"], answer["bound"]) == (14_400, 14_400)
        assert answer["seconds"] < 1


@pytest.mark.parametrize("dispatcher", ["pcp19", "pcp20", "cp_classes"])
def test_the_solver_proves_the_worked_example(dispatcher: str) -> None:
    """The least sum of slowdowns is 5.5 (003 waits for 004), which no list schedule can know."""
    answer = asked(WORKED_EXAMPLE, dispatcher, time.process_time)
    assert answer["asked"] and (answer["status"], answer["objective"]) == ("optimal", 5.5)


def in_kb(data: dict[str, Any]) -> dict[str, Any]:
    """`data` with a million times the cores, and a crumb more on each node."""
    found = json.loads(json.dumps(data))
    for table in found["nodes"]:
        table["core"] = 1_000_000 * table["core"] + 17
    for job in found["jobs"]:
        job["core"] = 1_000_000 * job["core"]
    return dict(found)


@pytest.mark.parametrize("fixed", [False, True])
def test_positions_are_as_large_as_all_demands_allow(fixed: bool) -> None:
    """A million positions that no box divides are one: the same variables, and the way back is right."""
    models = []
    for data in (contested(), in_kb(contested())):
        instance = instance_from(data)
        board = BoxBoard(instance)
        models.append(BoxModel(instance, earliest_starts(instance), board.loads, fixed=fixed))
    domains = [[str(variable) for variable in model.cp.proto.variables] for model in models]
    assert domains[0] == domains[1]
    small, large = asked(contested(), "pcp20", limit=0.02), asked(in_kb(contested()), "pcp20", limit=0.02)
    assert small["asked"] and small["starts"] == large["starts"]
    assert problems(instance_from(in_kb(contested())), plan_from(large)) == []


@pytest.mark.parametrize("nodes", [2, 20])
def test_variables_are_counted_by_the_papers_formulas(nodes: int) -> None:
    """Of waiting jobs; PCP'20's number is the same on ten times the nodes, the solver's too."""
    jobs = [
        {"rn": 3, "core": 2, "gpu": 1, "mem": 5, "duration": 9}, {"core": 8, "mem": 1, "duration": 4},
        {"core": 1, "mem": 1, "duration": 30, "start": 0, "nodes": [0]},
    ]  # fmt: skip
    data = plain_from(
        made([{"count": nodes, "core": 8, "gpu": 2, "mem": 20}, {"count": nodes, "core": 8, "mem": 20}], jobs)
    )
    count = {name: asked(data, name)["variables"] for name in ("cp_eurora", "pcp19", "pcp20", "hcp19", "cp_classes")}
    copies = 2 + 2 * nodes + 2 * nodes  # two a GPU node for the first job (GPUs), one a node for the second
    assert count == {"cp_eurora": copies, "pcp19": copies, "pcp20": 2 + 3 * 3 + 2, "hcp19": 2, "cp_classes": 5}


def contested(n_nodes: int = 2) -> dict[str, Any]:
    """More than fits, with running jobs: nobody's plan is trivial."""
    jobs: list[dict[str, Any]] = [{"core": 3, "duration": 40, "q": -9, "start": -9, "nodes": [0], "ewt": 7}]
    jobs += [{"rn": 1 + n % 2, "core": 1 + n % 4, "duration": 5 + 7 * n % 31, "q": -n, "ewt": 3 + n} for n in range(12)]
    return plain_from(made([{"count": n_nodes, "core": 4}], jobs))


@pytest.mark.parametrize("dispatcher, options", ALL)
def test_no_worse_than_the_list_schedule_and_the_same_again(dispatcher: str, options: dict[str, str]) -> None:
    """Whatever the limit, and byte for byte."""
    for limit in (0.0001, 0.05):
        answer = asked(contested(), dispatcher, limit=limit, **options)
        assert answer["objective"] <= answer["hint_objective"] <= answer["first_objective"] or answer["bounds"]
        assert answer["bound"] is None or answer["bound"] <= answer["objective"]
        pooled = dispatcher == "hcp19"
        plan = plan_from(answer)
        assert problems(instance_from(contested()), plan, queued=answer["queued"], pooled=pooled) == []
        assert json.dumps(asked(contested(), dispatcher, limit=limit, **options)) == json.dumps(answer)


@pytest.mark.parametrize("scheme", ["parallel", "serial"])
def test_a_list_schedule_alone_is_a_plan_too(scheme: str) -> None:
    answer = asked(contested(), "list", scheme=scheme, order="duration")
    assert problems(instance_from(contested()), plan_from(answer)) == []
    assert not answer["asked"] and answer["objective"] == answer["hint_objective"] > answer["bound"]
    assert answer["start_now"] and answer["variables"] == 0


def test_without_a_hint_and_time_the_list_schedule_is_fallen_back_on() -> None:
    answer = asked(contested(), "cp_eurora", model="wt", limit=1e-9, hint=0)
    assert (answer["status"], answer["objective"]) == ("fallback", answer["hint_objective"])
    assert answer["solves"] == 4  # one and three more while there is no solution


def crowd(jobs: int) -> dict[str, Any]:
    """64 nodes, on each of which one job fits at a time; every third job lasts ten times as long."""
    waiting = [{"core": 3, "duration": 100 if n % 3 else 1000, "q": -n, "ewt": 30} for n in range(jobs)]
    return plain_from(made([{"count": 64, "core": 4}], waiting))


def test_a_model_that_the_default_limit_has_no_time_for_is_not_built() -> None:
    """From 77 jobs on 64 nodes on; with a limit that is given it is, and without a list schedule in hand."""
    large, given = (asked(crowd(77), "cp_eurora", model="wt", **limit) for limit in ({}, {"limit": 0.001}))
    assert large["variables"] == 77 + 77 * 64 > 5000
    assert large["status"] == "fallback" and not large["asked"] and large["solver_variables"] == 0
    assert large["objective"] == large["hint_objective"] and "not asked" in large["note"]
    assert given["asked"] and given["note"] == "" and given["objective"] <= large["objective"]


def test_the_solves_of_a_composite_share_the_time_of_one_model() -> None:
    """Where models are large; makespan is proven by a bound here, so late jobs and tardiness under bounds are asked."""
    pure = asked(crowd(70), "cp_eurora", model="wt")
    composite = asked(crowd(70), "cp_eurora", model="wt_mks_nl")
    assert 4000 < pure["variables"] < 5000 and pure["solves"] == 1 and composite["solves"] == 2
    assert 0.003 < composite["deterministic_time"] < pure["deterministic_time"]


def test_the_solver_is_not_asked_when_everything_can_start() -> None:
    data = plain_from(made([{"count": 4, "core": 4}], [{"core": 4, "duration": n + 1, "q": -n} for n in range(4)]))
    for dispatcher, options in ALL:
        answer = asked(data, dispatcher, **options)
        assert not answer["asked"] and answer["status"] == "optimal"
        assert len(answer["start_now"]) == 4 and set(answer["starts"].values()) == {0}


def test_composites_keep_their_bounds_and_say_them() -> None:
    answer = asked(contested(), "cp_eurora", model="mks_wt_nl", limit=0.2)
    assert set(answer["bounds"]) <= {"wt", "nl"}
    assert answer["status"] == "fallback" or all(answer["values"][k] <= most for k, most in answer["bounds"].items())


def small() -> dict[str, Any]:
    """Four jobs for two nodes on which two others run; without the implied cumulative the solver crawls."""
    jobs: list[dict[str, Any]] = [
        {"id": "r0", "core": 1, "mem": 1, "mic": 4, "duration": 43200, "start": -43199, "nodes": [1], "ewt": 86399},
        {"id": "r1", "core": 2, "mem": 2, "mic": 1, "duration": 32400, "ewt": 5, "start": 0, "nodes": [0]},
        {"core": 1, "mic": 1, "duration": 7200, "ewt": 1800},
        {"q": -14400, "core": 1, "mem": 4, "mic": 1, "duration": 3600, "ewt": 3},
        {"q": -14400, "core": 1, "mem": 4, "mic": 1, "duration": 3600, "ewt": 3},
        {"q": -43200, "rn": 2, "core": 2, "mic": 1, "duration": 3600, "ewt": 5},
    ]
    for job in jobs[:2]:
        job["q"] = job["start"]
    return plain_from(made([{"core": 2, "mem": 4, "mic": 2}, {"core": 4, "mem": 16, "mic": 4}], jobs))


def test_a_composite_is_not_called_optimal_under_bounds_that_are_not_proven() -> None:
    """The pure model of tardiness is not solved to its end, so its double may be more than twice the least."""
    least = asked(small(), "cp_eurora", model="wt")
    short = asked(small(), "cp_eurora", model="nl_mks_wt", delta=1, limit=0.005, pooled=0)
    assert least["status"] == "optimal" and short["bounds"]["wt"] > least["objective"]
    assert short["status"] == "feasible" and "not proven" in short["note"]


def test_small_models_are_given_more_time() -> None:
    """Where `limit` is not given: 0.005, what models of 64 nodes have, is over in milliseconds with two nodes."""
    spent = [asked(small(), "cp_eurora", model="wt", pooled=0, **given)["deterministic_time"]
             for given in ({"limit": 0.005}, {}, {"limit": "auto"})]  # fmt: skip
    assert spent[0] < 0.01 < 0.05 < spent[1] == spent[2]
    assert [interval_limit("auto", n) for n in (0, 36, 100, 500, 2000, 90_000)] == [0.1, 0.1, 0.1, 0.02, 0.005, 0.005]
    assert interval_limit(0.3, 36) == interval_limit(0.3, 36, share=4) == 0.3
    assert [interval_limit("auto", n, share=4) for n in (100, 2000, 4000, 90_000)] == [0.1, 0.005, 0.0025, 0.00125]


def test_composites_that_cannot_be_fall_back_on_a_pure_solution() -> None:
    """Job a or b is late; only a's lateness costs little, only b's is one late job less: no plan has both optima."""
    data = plain_from(made([{"core": 1}], [
        {"id": "big", "core": 1, "duration": 10, "ewt": 1}, {"id": "s1", "core": 1, "duration": 1, "ewt": 100},
        {"id": "s2", "core": 1, "duration": 4, "ewt": 3}, {"id": "s3", "core": 1, "duration": 2, "ewt": 2},
    ]))  # fmt: skip
    found = {asked(data, "cp_eurora", model=model, delta=1, limit=1)["status"] for model in EURORA_MODELS[3:]}
    assert found <= {"optimal", "fallback"}


def test_only_jobs_that_fit_now_enter() -> None:
    """By slowdown, as many as the queue may have; the others stay queued. A solved call opens the queue again."""
    data = plain_from(made([{"count": 2, "core": 4}], [
        {"id": "run", "core": 4, "duration": 9, "start": 0, "nodes": [0]},
        {"id": "wide", "rn": 2, "core": 4, "duration": 5},
        {"id": "old", "core": 2, "duration": 5, "q": -50}, {"id": "new", "core": 3, "duration": 5},
    ]))  # fmt: skip
    for dispatcher in ("pcp20", "pcp19", "hcp19"):
        answer = asked(data, dispatcher, admit="now")
        assert answer["queued"] == ["wide"] and answer["start_now"] == ["old"] and answer["q_length"] == 100
        answer = asked(data, dispatcher, admit="now", q_length=1)
        assert set(answer["queued"]) == {"wide", "new"} and set(answer["starts"]) == {"run", "old"}
    assert next_q_length(100, 7, solved=False) == 3 and next_q_length(1, 1, solved=False) == 1


def test_pcp19_uses_nodes_that_hold_a_unit_now() -> None:
    """Under the paper's admission; so its plan can be worse than PCP'20's."""
    data = plain_from(made([{"count": 2, "core": 4}], [
        {"core": 4, "duration": 3, "start": 0, "nodes": [0]}, {"core": 4, "duration": 50}, {"core": 4, "duration": 50},
    ]))  # fmt: skip
    assert asked(data, "pcp20", admit="now")["values"]["mks"] == 53
    assert asked(data, "pcp19", admit="now")["values"]["mks"] == 100
    assert asked(data, "pcp19")["values"]["mks"] == 53


def test_hcp19_leaves_queued_what_does_not_fit_on_nodes() -> None:
    """Four cores are free, two on each node: enough in all, not for the one unit."""
    data = plain_from(made([{"count": 2, "core": 4}], [
        {"core": 2, "duration": 9, "start": 0, "nodes": [0]}, {"core": 2, "duration": 9, "start": 0, "nodes": [1]},
        {"id": "big", "core": 4, "duration": 5},
    ]))  # fmt: skip
    answer = asked(data, "hcp19")
    assert (answer["objective"], answer["queued"], answer["start_now"]) == (1, ["big"], [])


def test_contiguity_can_cost() -> None:
    """PCP'20 is worse than PCP'19 here, though it proves its optimum: four cores, of which neighbours are needed.

    x1, x2 follow the job that ends at 1, y1, y2 the one that ends at 2. x1 and y1 end at 5, x2 and y2 at 6. So that two
    wide jobs can start at 5 and 6, x1 must lie beside y1 and x2 beside y2, but x1 lies beside x2, and y1 beside y2.
    """
    data = plain_from(made([{"core": 4, "gpu": 2}], [
        {"core": 2, "duration": 1, "start": 0, "nodes": [0]},
        {"core": 2, "gpu": 2, "duration": 2, "start": 0, "nodes": [0]},
        {"id": "x1", "core": 1, "duration": 4}, {"id": "x2", "core": 1, "duration": 5},
        {"id": "y1", "core": 1, "gpu": 1, "duration": 3}, {"id": "y2", "core": 1, "gpu": 1, "duration": 4},
        {"id": "wide1", "core": 2, "duration": 10}, {"id": "wide2", "core": 2, "duration": 10},
    ]))  # fmt: skip
    plain, boxes = asked(data, "pcp19", limit=1), asked(data, "pcp20", limit=1)
    assert plain["status"] == boxes["status"] == "optimal"
    assert boxes["objective_integer"] - plain["objective_integer"] == 10_000  # one wide job starts a second later


@pytest.mark.parametrize("dispatcher", ["cp_eurora", "pcp19", "hcp19", "pcp20", "cp_classes"])
def test_reservations_spread_and_power_are_in_every_model(dispatcher: str) -> None:
    data = {**contested(6), "reservations": [{"start": 12, "duration": 30, "nodes": [1, 4]}], "power": 9}
    for number, job in enumerate(data["jobs"]):
        job["power_w"] = number % 4
        if number % 3 == 0 and "start" not in job:
            job["per_node"] = 1
            job["within"] = [0, 2, 3, 4]
    answer = asked(data, dispatcher, limit=0.05, hint=0)
    pooled = dispatcher == "hcp19"
    assert answer["asked"] and "the solver" not in answer["note"]  # which would say what it cannot take
    judged = problems(instance_from(data), plan_from(answer), queued=answer["queued"], pooled=pooled)
    assert [line for line in judged if not (pooled and "reserved" in line)] == []


def test_waits_whose_multiple_is_too_large_give_a_bound_all_the_same() -> None:
    primes = [10_007, 10_009, 10_037, 10_039, 10_061, 10_067, 10_069, 10_079, 10_091, 10_093, 10_099, 10_103]
    data = contested()
    for job, ewt in zip(data["jobs"][1:], primes, strict=False):
        job["ewt"], job["q"] = ewt, -ewt
    answer = asked(data, "cp_eurora", model="wt", limit=0.05)
    assert answer["scale"] > 2**64 and answer["bound"] <= answer["objective"] <= answer["hint_objective"]


def test_wrong_requests_get_one_line() -> None:
    with pytest.raises(ConfigError, match="no dispatcher is called 'pcp21'"):
        asked(WORKED_EXAMPLE, "pcp21")
    with pytest.raises(ConfigError, match="unknown option 'speed' of policy pcp20"):
        asked(WORKED_EXAMPLE, "pcp20", speed=1)
    for key, value in [
        ("model", "mks_wt"), ("delta", "0.9"), ("delta", "1/0"), ("limit", "0"), ("seed", "-1"), ("guard", "soon"),
    ]:  # fmt: skip
        with pytest.raises(ConfigError, match=f"bad value '{value}' for option {key} of policy cp_eurora"):
            asked(WORKED_EXAMPLE, "cp_eurora", **{key: value})
        with pytest.raises(ConfigError, match=f"bad value '{value}' for option {key} of policy cp_eurora"):
            load_policy("cp_eurora")({key: value})


def test_a_guard_that_is_not_reached_changes_nothing() -> None:
    answer = asked(contested(), "pcp20", limit=0.01, guard=100)
    assert answer["repeatable"] and answer == asked(contested(), "pcp20", limit=0.01)
    for guard in ("1e-6", "1e-4", "0.001"):
        assert not asked(contested(6), "pcp19", limit=100, guard=guard)["repeatable"]


def test_without_or_tools_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("ortools", "slurmsim_policies.cp.models"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "slurmsim_policies.cp.search", raising=False)
    monkeypatch.setitem(sys.modules, "ortools", None)
    with pytest.raises(PolicyError, match=r"policy pcp20: needs OR-Tools, .* pip install '.\[cp\]'") as raised:
        asked(contested(), "pcp20")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", OPTIONS)
def test_policies_are_registered_and_plan_single_instances(name: str) -> None:
    policy = load_policy(name)({} if name == "list" else {"limit": "0.01"})
    assert policy.dispatch(WORKED_EXAMPLE)["dispatcher"] == name  # type: ignore[attr-defined]
