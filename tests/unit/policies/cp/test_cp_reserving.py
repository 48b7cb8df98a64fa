"""``reserve=oldest``: who has waited longest starts as soon as it could alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "core"))
from world import World, simple

from slurmsim.errors import ConfigError
from slurmsim.policy import load_policy
from slurmsim_policies.cp.picture import picture_of
from slurmsim_policies.cp.reserving import around, oldest

ADMITTING = ("pcp19", "hcp19", "pcp20")


def stream(policy: str) -> World:
    """One wide job in a stream of narrow ones that would keep it out: one comes whenever one ends."""
    w = World(simple(4), policy)
    for k in range(2):
        w.sbatch(f"-J a{k} -N1 -t 100s", run=60 + 20 * k)
    w.sbatch("-J wide -N4 -t 100s", run=50, at=5)
    for k in range(30):
        w.sbatch(f"-J n{k} -N1 -t 60s", run=55, at=10 + 15 * k)
    return w


@pytest.mark.parametrize("policy", ADMITTING)
def test_a_wide_job_does_not_starve(policy: str) -> None:
    w = stream(f"{policy}:reserve=oldest")
    w.until(6)
    assert w.planned("wide")[0] == 100  # when both have used up their limits
    w.until(2000)
    assert w.start("wide") == 80  # they have ended, and nobody else had begun
    assert w.start("n0") == 10  # but who ends by then has
    if policy == "hcp19":
        w = stream(policy)
        w.until(2000)
        assert (w.start("wide") or 0) >= 450  # after the stream


def test_later_ones_come_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """Narrow ones start while they end before the start that is kept, and on nodes it does not need."""
    w = World(simple(4), "hcp19:reserve=oldest")
    w.sbatch("-J a -N2 -t 100s", run=100)
    w.sbatch("-J wide -N3 -t 100s", run=50, at=1)
    w.sbatch("-J short -N1 -t 90s", run=90, at=2)
    w.sbatch("-J long -N1 -t 900s", run=900, at=3)
    w.sbatch("-J more -N1 -t 900s", run=900, at=4)
    w.until(2000)
    assert w.start("wide") == 100
    assert (w.start("short"), w.start("long")) == (2, 3)  # on the fourth node
    assert w.start("more") == 150


def test_the_picture_around_a_kept_start() -> None:
    w = World(simple(4), "hcp19")
    w.sbatch("-J a -N2 -t 100s", run=100)
    w.until(1)
    w.sbatch("-J wide -N3 -t 50s", run=50, at=1)
    w.sbatch("-J old -N4 -t 50s", run=50, at=1)
    w.until(2)
    picture = picture_of(w.controller.view, 2, {})  # type: ignore[arg-type]
    kept = oldest(picture, ())
    assert kept is not None and (kept.name, kept.start, kept.duration, len(kept.layout)) == ("2", 100, 50, 3)
    other = around(picture, kept)
    assert list(other.waiting) == ["3"] and [job["id"] for job in other.plain["jobs"]] == ["1", "3"]
    assert other.plain["reservations"] == [{"start": 100, "duration": 50, "nodes": sorted(kept.layout)}]
    assert other.instance.waiting and list(picture.waiting) == ["2", "3"]
    assert (second := oldest(picture, {"2"})) is not None and second.name == "3"
    assert oldest(picture, {"2", "3"}) is None


def test_with_an_answer_that_takes_time() -> None:
    """What the solver planned to end before the kept start would end later by now: it is not started."""
    w = stream("pcp20:reserve=oldest")
    w.solving = 30
    w.until(3000)
    assert (w.start("wide") or 0) <= 110
    assert all(w.start(f"n{k}") is not None for k in range(30))


@pytest.mark.parametrize("name", ["cp_eurora", "cp_classes"])
def test_who_plans_all_that_waits_needs_none(name: str) -> None:
    with pytest.raises(ConfigError, match="unknown option 'reserve'"):
        load_policy(name)({"reserve": "oldest"})


@pytest.mark.parametrize("name", ADMITTING)
def test_none_is_the_default(name: str) -> None:
    assert load_policy(name)({}).options["reserve"] == "none"
    with pytest.raises(ConfigError, match="bad value 'youngest' for option reserve"):
        load_policy(name)({"reserve": "youngest"})


def unable(_: object) -> None:
    """A solver that has no answer."""


@pytest.mark.parametrize("policy", [*ADMITTING, "cp_classes"])
def test_who_could_start_now_starts_without_a_solver(policy: str) -> None:
    """The wide job, first in the order, could not: it is no part of the model, and nobody has to be asked."""
    w = World(simple(4), f"{policy}:solver=no.such:solver")
    w.sbatch("-J a -N3 -t 100s", run=100)
    w.sbatch("-J wide -N4 -t 10s", run=5, at=1)
    w.sbatch("-J long -N1 -t 900s", run=900, at=2)
    w.until(3)
    assert w.start("long") == 2 and w.start("wide") is None


@pytest.mark.parametrize("policy", [*ADMITTING, "cp_classes", "cp_eurora"])
def test_nothing_stalls_without_an_answer(policy: str) -> None:
    """One of the two long ones fits beside the first job, and is started although the wide one is before them."""
    w = World(simple(4), f"{policy}:solver={__name__}:unable")
    w.sbatch("-J a -N3 -t 100s", run=100)
    w.sbatch("-J wide -N4 -t 10s", run=5, at=1)
    for name in ("long1", "long2"):
        w.sbatch(f"-J {name} -N1 -t 900s", run=900, at=2)
    w.until(3)
    assert [w.start("long1"), w.start("long2")] == [2, None] and w.start("wide") is None
