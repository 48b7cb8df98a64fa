"""Rules of faults: what they are made of, whom they strike, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.errors import ConfigError
from slurmsim.faults.draws import draw
from slurmsim.faults.kinds import COMMANDS, KINDS, drawn
from slurmsim.faults.rule import NEVER, make_rule, settings_of
from slurmsim.live.programs import NAMES

NOW = 1000
NEEDED: dict[str, Any] = {"seconds": 5, "nodes": "n1"}


def rule(what: str = "unreachable", **said: Any) -> Any:
    return make_rule(1, what, said, NOW)


def struck(one: Any, n: int) -> list[int]:
    return [k for k in range(1, n + 1) if one.strikes()]


@pytest.mark.parametrize("what", KINDS)
def test_every_kind_can_be_asked_for(what: str) -> None:
    needed = {name: NEEDED[name] for name, parameter in KINDS[what].parameters.items() if parameter.needed}
    found = make_rule(7, what, needed, NOW)
    assert (found.id, found.what, found.since, found.until, found.met) == (7, what, NOW, NEVER, 0)
    assert found.parameters.keys() == KINDS[what].parameters.keys()
    assert all(parameter.about for parameter in settings_of(what).values())


def test_states_in_any_writing() -> None:
    assert rule("out-of-memory").what == rule("OUT_OF_MEMORY").what == rule("out_of_memory").what == "OUT_OF_MEMORY"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, [1, 2, 3, 4, 5, 6, 7]),
        ({"every": 3}, [3, 6]),
        ({"every": 3, "after": 1}, [4, 7]),
        ({"times": 2}, [1, 2]),
        ({"every": "2", "after": "2", "times": "1"}, [4]),
        ({"probability": 0}, []),
    ],
)
def test_when_it_strikes(said: dict[str, Any], expected: list[int]) -> None:
    one = rule(**said)
    assert struck(one, 7) == expected
    assert (one.seen, one.met) == (7, len(expected))


@given(st.integers(0, 2**63 - 1), st.floats(0.05, 0.95))
def test_chance_is_of_the_seed(seed: int, probability: float) -> None:
    first, second = (rule(seed=seed, probability=probability) for _ in range(2))
    assert struck(first, 50) == struck(second, 50)
    assert len({draw(seed, 1, k, "strike") for k in range(50)}) == 50


def test_chance_is_as_often_as_it_says() -> None:
    assert 2700 < len(struck(rule(probability=0.3), 10_000)) < 3300
    assert struck(rule(probability=0.3, seed=1), 50) != struck(rule(probability=0.3, seed=2), 50)


def test_whom_it_concerns() -> None:
    one = rule(command="sbatch,sq*", user="al*", job="train*,x")
    assert one.concerns("squeue", "alice", "train7") and one.concerns("sbatch", "al", "x")
    assert not one.concerns("sinfo", "alice", "x") and not one.concerns("squeue", "bob", "x")
    assert not one.concerns("squeue", "alice", "y") and not one.concerns("squeue", "alice", None)
    assert one.is_by("squeue", "alice") and not one.is_by("squeue", "bob")
    assert rule().concerns("squeue", "bob", None)


def test_it_lasts_for_a_while() -> None:
    assert rule(**{"for": 60}).lasts(NOW + 59) and not rule(**{"for": 60}).lasts(NOW + 60)
    one = rule(times=1)
    assert one.lasts(NOW + 10**9) and one.strikes() and not one.lasts(NOW)


@given(st.floats(0, 0.999999), st.floats(0, 100), st.floats(0, 100))
def test_seconds_are_of_their_distribution(chance: float, low: float, more: float) -> None:
    assert drawn(["fixed", low], chance) == low
    assert low <= drawn(["uniform", low, low + more], chance) <= low + more
    assert drawn(["exponential", low], chance) >= 0


def test_the_mean_of_a_distribution() -> None:
    chances = [draw(0, 1, k, "seconds") for k in range(10_000)]
    assert sum(drawn(["exponential", 2], chance) for chance in chances) / 10_000 == pytest.approx(2, rel=0.05)


@pytest.mark.parametrize(
    ("what", "said", "words"),
    [
        ("crash", {}, "what: no such fault: 'crash' (expected unreachable, away, timeout"),
        ("slow", {}, "seconds: slow needs it (expected real seconds"),
        ("slow", {"seconds": "uniform:3:1"}, "seconds: bad value 'uniform:3:1' (expected seconds, uniform:LOW:HIGH"),
        ("slow", {"seconds": "exponential"}, "seconds: bad value 'exponential'"),
        ("slow", {"seconds": -1}, "seconds: bad value -1"),
        ("slow", {"seconds": float("nan")}, "seconds: bad value nan"),
        ("cut", {"keep": 2}, "keep: bad value 2 (expected a number from 0 to 1)"),
        ("cut", {"probability": 1.5}, "probability: bad value 1.5 (expected a number from 0 to 1)"),
        ("cut", {"every": 0}, "every: bad value 0 (expected a whole number from 1"),
        ("cut", {"every": 1.5}, "every: bad value 1.5 (expected a whole number"),
        ("cut", {"every": True}, "every: bad value True"),
        ("cut", {"command": "sqeue"}, "command: no such command: 'sqeue' (expected sacct, sacctmgr"),
        ("cut", {"command": ""}, "command: bad value '' (expected patterns between commas)"),
        ("busy", {"command": "squeue"}, "command: busy cannot happen to squeue (expected sbatch or srun or salloc)"),
        ("away", {"command": "sacct"}, "command: away cannot happen to sacct"),
        ("timeout", {"lost": "both"}, "lost: bad value 'both' (expected request or answer)"),
        ("PREEMPTED", {"requeue": "maybe"}, "requeue: bad value 'maybe' (expected yes or no)"),
        ("TIMEOUT", {"command": "sbatch"}, "command: TIMEOUT has no such setting (expected user, job, every"),
        ("drain", {"nodes": "n1", "every": 2}, "every: drain has no such setting (expected for, nodes, reason)"),
        ("answer", {"job": "x"}, "job: a command that only prints has no job"),
        ("answer", {"stdout": 3}, "stdout: no text (expected a text)"),
        ("answer", {"rc": 256}, "rc: bad value 256 (expected a whole number from 0 to 255)"),
    ],
)
def test_what_is_refused(what: str, said: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        make_rule(1, what, said, NOW)
    assert str(refused.value).startswith(words) and "\n" not in str(refused.value)


def test_commands_are_those_of_a_cluster() -> None:
    assert set(COMMANDS) == set(NAMES) - {"slurmd", "slurmrestd"}  # servers
