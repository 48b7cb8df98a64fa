"""Verdicts on published claims: the rule, and that the papers' own numbers pass while a trivial dispatcher does not."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.experiments.claims import Goal, Listed, claims_table, in_order, list_of_claims, not_attempted
from slurmsim.experiments.verdicts import (
    CONSTRUCTED,
    DIRECTION,
    MISSING,
    NOT,
    REPRODUCED,
    UNDETERMINED,
    Interval,
    Target,
    judge,
    seeds_to_decide,
)
from slurmsim.metrics.estimate import Estimate, Share
from slurmsim.papers.eurora import goals as eurora
from slurmsim.papers.eurora.data import MODELS
from slurmsim.papers.lomonosov import goals as lomonosov
from slurmsim.papers.parm import goals as parm
from slurmsim.papers.pcp20 import goals as pcp20
from slurmsim.papers.titan import goals as titan

FIVE = Target.near(5.2, 0.2, no_effect=1)  # 4.16 to 6.24


@pytest.mark.parametrize(
    ("mean", "half", "verdict"),
    [
        (5.0, 0.5, REPRODUCED),
        (5.0, 1.0, DIRECTION),  # reaches below 4.16, but not to 1
        (5.0, 4.5, UNDETERMINED),
        (2.0, 0.5, DIRECTION),
        (2.0, 1.5, NOT),  # holds no effect and does not reach 4.16
        (0.5, 0.2, NOT),
        (9.0, 1.0, DIRECTION),
    ],
)
def test_the_rule_with_a_direction(mean: float, half: float, verdict: str) -> None:
    assert judge(FIVE, Estimate(mean, half, 5)) == verdict
    turned = Target(-FIVE.high, -FIVE.low, -1)
    assert judge(turned, Estimate(-mean, half, 5)) == verdict


def test_the_rule_without_a_direction() -> None:
    target = Target.near(100, 0.1)
    assert [judge(target, Estimate(mean, 5, 3)) for mean in (100, 107, 130)] == [REPRODUCED, UNDETERMINED, NOT]
    assert [judge(target, value) for value in (90, 110, 111)] == [REPRODUCED, REPRODUCED, NOT]


def test_what_is_forced_is_no_finding_and_one_replicate_decides_nothing() -> None:
    assert judge(FIVE, 5.2, constructed=True) == CONSTRUCTED
    assert judge(FIVE, Estimate(5.2, None, 1)) == UNDETERMINED
    assert judge(Target(low=0, no_effect=0), Estimate(1.0, None, 1)) == UNDETERMINED


def test_a_share_is_an_interval() -> None:
    """Wilson's: 81 to 263 of Newcombe's example are 25.5 to 36.6 %; of no case nothing is known."""
    assert [round(end, 1) for end in Share(81, 263).ends] == [25.5, 36.6]
    assert Share(0, 0).ends == (0.0, 100.0) and Share(0, 0).text() == "none"
    nearly_all = Target(95, 100, 50)
    assert [judge(nearly_all, Share(n, n)) for n in (0, 1, 16, 80)] == [
        UNDETERMINED,
        UNDETERMINED,
        DIRECTION,
        REPRODUCED,
    ]
    assert Goal("x", "", nearly_all, unit="%", digits=0).measured(Share(3, 4)).ours == "75 % of 4 (30 to 95)"


@given(n=st.integers(1, 500), data=st.data())
def test_the_interval_of_a_share_holds_it(n: int, data: st.DataObject) -> None:
    """It is turned where the other cases count, and narrower with more cases."""
    share = Share(data.draw(st.integers(0, n)), n)
    low, high = share.ends
    assert 0 <= low <= share.mean <= high <= 100
    assert Share(n - share.cases, n).ends == pytest.approx((100 - high, 100 - low))
    wider = Share(10 * share.cases, 10 * n).ends
    assert wider[1] - wider[0] < high - low


def test_a_tie_is_not_the_papers_difference() -> None:
    positive = Target(low=0.0, no_effect=0.0)
    assert [judge(positive, value) for value in (0.0, 0.1, -0.1)] == [NOT, REPRODUCED, NOT]
    assert in_order([("a", 2.0), ("b", 1.0), ("c", 2.0)]) == "b < a = c"


def test_how_many_replicates_would_decide() -> None:
    assert seeds_to_decide(FIVE, Estimate(5.2, 5.0, 5)) == math.ceil(5 * (5.0 / 4.2) ** 2)  # 4.2 from no effect
    assert seeds_to_decide(Target.near(100, 0.1), Estimate(112, 8, 4)) == 4 * 16  # 2 from the target
    assert seeds_to_decide(FIVE, 5.0) is seeds_to_decide(FIVE, Estimate(5.0, None, 1)) is None
    claim = Goal.near("x", "Table 1", 100, 0.1).measured(Estimate(112, 8, 4))
    assert claim.outcome == "undetermined (about 64 replicates would decide)"


finite = st.floats(-1e6, 1e6)


@given(low=finite, width=st.floats(0, 1e6), gap=st.floats(1e-3, 1e6), mean=finite, half=st.floats(0, 1e6))
def test_verdicts_say_what_they_mean(low: float, width: float, gap: float, mean: float, half: float) -> None:
    """Reproduced: every value is inside. Direction only: none is without effect. A narrower interval keeps both."""
    target = Target(low, low + width, low - gap)
    ours = Interval(mean - half, mean + half)
    verdict = judge(target, Estimate(mean, half, 3))
    if verdict == REPRODUCED:
        assert ours.low >= target.low and ours.high <= target.high
    if verdict == DIRECTION:
        assert ours.low > low - gap
    if verdict == UNDETERMINED:
        assert ours.low <= low - gap <= ours.high and ours.high >= low
    if verdict == NOT:
        assert ours.low <= low - gap
    if verdict in (REPRODUCED, DIRECTION):
        assert judge(target, Estimate(mean, half / 2, 3)) in (REPRODUCED, DIRECTION)


def all_goals() -> Iterator[Goal]:
    """Every goal of the five systems that has a number of its paper."""
    for module in (lomonosov, parm, pcp20, titan, eurora):
        for value in vars(module).values():
            found = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
            yield from (one for one in found if isinstance(one, Goal))
    for name, row in eurora.PAPER.items():
        yield from (eurora.of_batch_1(name, measure) for measure in row)
    for system, letter in pcp20.TABLES_1_2:
        for name in ("pcp19", "pcp20"):
            goal = pcp20.of_ratio(system, letter, name)
            yield from () if goal is None else (goal,)
            yield from (pcp20.whole_run(system, letter, name),) if pcp20.WHOLE_S[system, letter][name] else ()


PRINTED = [goal for goal in all_goals() if goal.value is not None]


@pytest.mark.parametrize("goal", PRINTED, ids=[goal.what for goal in PRINTED])
def test_the_papers_own_numbers_pass_their_test(goal: Goal) -> None:
    assert goal.value is not None
    assert goal.measured(goal.value).verdict in (REPRODUCED, CONSTRUCTED)


def test_there_are_goals_of_every_paper() -> None:
    assert len(PRINTED) > 70
    assert all(goal.where for goal in PRINTED)


@pytest.mark.parametrize("name", MODELS)
def test_a_dispatcher_with_zero_waits_reproduces_no_wait(name: str) -> None:
    """Nor one with the whole machine in use. A wait below a second is not told from none."""
    for measure in eurora.WAITS:
        goal = eurora.of_batch_1(name, measure)
        if goal.value is not None and goal.value > eurora.WAIT_S:
            assert goal.measured(0.0).verdict == DIRECTION
    for measure, full in (("cores", 1024.0), ("gpus", 64.0)):
        assert eurora.of_batch_1(name, measure).measured(full).verdict == DIRECTION
    assert eurora.ORDER.measured(0.0).verdict == NOT


def test_printed_and_corrected_stand_apart() -> None:
    use = titan.USE.measured(13_824_000.0)
    assert (use.paper, use.corrected, use.ratio) == ("13,822,864", "13,824,000", "1.00")
    assert titan.VARIANCE.measured(416.0).paper == "the printed formula gives 96"


def test_tables_and_lists() -> None:
    goal, other = Goal.near("a wait", "Table 1", 10, 0.1), Goal.positive("a gain", "", "larger")
    claims = [goal.measured(10.5), other.measured(-1.0), not_attempted("a log", "it is not public")]
    rows = claims_table(claims)
    assert rows[0] == ["claim", "where", "paper", "counts as the same", "ours", "ratio", "verdict"]
    assert rows[1] == ["a wait", "Table 1", "10.00", "9 to 11", "10.50", "1.05", REPRODUCED]
    assert rows[2] == ["a gain", "–", "larger", "> 0", "-1.00", "–", NOT]
    assert rows[3][-1] == MISSING and "it is not public" in rows[3]
    listed = (Listed("Table 1", ("a wait", "a gain")), Listed("Figure 1", shown="drawn"), Listed("Figure 2", ("b",)),
              Listed("Figure 3", shown="no data", attempted=False))  # fmt: skip
    assert [row[1] for row in list_of_claims(listed, claims)[1:]] == [
        "1 reproduced, 1 not reproduced", "drawn", "not attempted: this part was not run", "not attempted: no data",
    ]  # fmt: skip
