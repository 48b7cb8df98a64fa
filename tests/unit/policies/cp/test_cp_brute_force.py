"""On tiny instances every dispatcher finds what trying everything finds, and the checker agrees with each plan."""

from __future__ import annotations

import pytest
from cp_brute_force import all_box_starts, all_starts, best, pooled
from cp_cases import instances, plan_from
from hypothesis import HealthCheck, given, settings
from plan_checker import problems

from slurmsim_policies.cp.options import EURORA_MODELS
from slurmsim_policies.cp.plain import plain_from
from slurmsim_policies.cp.problem import Instance
from slurmsim_policies.cp.solve import solve

tried = settings(suppress_health_check=[HealthCheck.too_slow])
ALONE = ("mks", "wt", "nl")


def answered(instance: Instance, dispatcher: str, **options: object) -> dict:
    """The answer of a dispatcher, its plan checked."""
    answer = solve({"dispatcher": dispatcher, "options": {"limit": 5, **options}, "instance": plain_from(instance)})
    judged = problems(instance, plan_from(answer), queued=answer["queued"], pooled=dispatcher == "hcp19")
    assert judged == [], answer
    assert answer["hint_objective"] <= answer["first_objective"]
    return answer


@pytest.mark.parametrize("hint", [0, 1])
@given(instance=instances())
@tried
def test_eurora_alone(instance: Instance, hint: int) -> None:
    plans = all_starts(instance)
    for model in ALONE:
        answer = answered(instance, "cp_eurora", model=model, hint=hint)
        assert (answer["status"], answer["objective_integer"]) == ("optimal", best(instance, model, plans))


@given(instance=instances())
@tried
def test_eurora_composites(instance: Instance) -> None:
    """The least of the first name under twice (or once) the optimum of the others; else said to be a fallback."""
    plans = all_starts(instance)
    for model in EURORA_MODELS[3:]:
        name, *others = model.split("_")
        for delta in (1, 2):
            thetas = {other: best(instance, other, plans) or 0 for other in others}
            bounds = {other: delta * theta for other, theta in thetas.items() if theta > 0}
            answer = answered(instance, "cp_eurora", model=model, delta=delta)
            expected = best(instance, name, plans, bounds)
            if expected is None:
                assert answer["status"] == "fallback"
            else:
                assert (answer["status"], answer["objective_integer"]) == ("optimal", expected)


@pytest.mark.parametrize("hint", [0, 1])
@given(instance=instances())
@tried
def test_pcp19_and_hcp19(instance: Instance, hint: int) -> None:
    answer = answered(instance, "pcp19", hint=hint)
    expected = best(instance, "slowdown", all_starts(instance))
    assert (answer["status"], answer["objective_integer"]) == ("optimal", expected)
    answer = answered(instance, "hcp19", hint=hint)
    expected = best(instance, "slowdown", all_starts(pooled(instance)))
    assert (answer["status"], answer["objective_integer"]) == ("optimal", expected)


@pytest.mark.parametrize("cuts", ["none", "time+positions+ordered", "time+positions+ordered+disjunctive"])
@given(instance=instances(most_jobs=4, most_waiting=3, most_cores=4))
@tried
def test_pcp20_equals_all_boxes(instance: Instance, cuts: str) -> None:
    """With and without what the paper adds to the boxes: it is implied."""
    answer = answered(instance, "pcp20", hint=int(cuts == "none"), cuts=cuts)
    expected = best(instance, "slowdown", all_box_starts(instance))
    assert (answer["status"], answer["objective_integer"]) == ("optimal", expected)


@pytest.mark.parametrize("criterion", ["slowdown", "wt"])
@given(instance=instances())
@tried
def test_ours_is_right_where_it_says_so(instance: Instance, criterion: str) -> None:
    """Its optimum is one of nodes; what could not be placed is never called optimal."""
    answer = answered(instance, "cp_classes", model=criterion)
    expected = best(instance, criterion, all_starts(instance))
    assert answer["objective_integer"] >= expected
    assert answer["bound"] * answer["scale"] <= expected + 1e-6 * answer["scale"]
    assert answer["status"] != "optimal" or answer["objective_integer"] == expected
