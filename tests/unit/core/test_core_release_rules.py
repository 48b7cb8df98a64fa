"""Decisions in which the releases of Slurm differ."""

from __future__ import annotations

import pytest
from world import World, simple

from slurmsim.core.placement import Ask, distribute
from slurmsim.core.release_rules import rules_of

RELEASES = ("22.05", "24.11", "26.05")
UNAVAILABLE = "Requested node configuration is not available"
PROBLEM = "Job dependency problem"
BASIC = "SchedulerType=sched/builtin\nPriorityType=priority/basic\n"


def refused(line: str, more: str = "", partition: str = "") -> list[str | None]:
    """What each release says when `line` is refused, None where it is not."""
    found = []
    for release in RELEASES:
        w = World(simple(4, 2, more=more, partition=partition), "backfill", release=release)
        w.sbatch(line, run=10)
        w.until(5)
        found.append(next(iter(w.refused.values()), None))
    return found


def test_an_unknown_release_has_the_rules_of_the_one_before() -> None:
    assert rules_of("23.02") == rules_of("22.05.8") == rules_of("22.05") == rules_of("20.11")
    assert rules_of("24.11.5") == rules_of("24.11") == rules_of("25.05")
    assert rules_of("26.05.5") == rules_of("26.05")


@pytest.mark.parametrize(
    ("line", "partition", "said"),
    [
        ("-N5", "", [None, UNAVAILABLE, None]),
        ("-n9", "", [None, UNAVAILABLE, None]),
        ("-N3", "MaxNodes=2", [None, None, None]),  # the limit is found before nodes are looked for
        ("-N2 -w n[1-3]", "", [UNAVAILABLE, None, None]),
    ],
)
def test_what_no_nodes_could_serve(line: str, partition: str, said: list[str | None]) -> None:
    assert refused(line, partition=partition) == said


@pytest.mark.parametrize(
    ("dependency", "said"),
    [
        ("afterok:99", [None, PROBLEM, PROBLEM]),
        ("afternotok:99", [None, PROBLEM, PROBLEM]),
        ("afterany:99", [None, None, None]),
        ("afterany:99,afterany:98?singleton", [None, None, PROBLEM]),
    ],
)
def test_dependencies_that_are_refused(dependency: str, said: list[str | None]) -> None:
    assert refused(f"-N1 -d {dependency}") == said


def test_of_a_longer_list_as_many_nodes_as_asked_for_are_taken() -> None:
    w = World(simple(4, 2), "backfill", release="24.11")
    w.sbatch("-J one -N2 --exclusive -w n[2-4] -t 10", run=100)
    w.sbatch("-J two -N2 --exclusive -w n[2-4] -t 10", run=100)
    w.until(50)
    assert w.start("one") is not None
    assert w.start("two") is None  # n1 is free, and not in the list


def test_any_of_several_licenses() -> None:
    invalid = "Invalid license specification"
    assert refused("-N1 -L 'a|b'", more="Licenses=a,b") == [invalid, invalid, None]
    assert refused("-N1 -L 'a|b,c'", more="Licenses=a,b,c") == [invalid, invalid, invalid]
    w = World(simple(4, more="Licenses=a,b"), "backfill", release="26.05")
    for name in ("one", "two", "three"):
        w.sbatch(f"-J {name} -N1 -L 'a|b' -t 10", run=100)
    w.until(50)
    assert w.controller.licenses.used == {"a": 1, "b": 1}
    assert w.reason("three") == "Licenses"
    w.until(300)
    assert w.start("three") is not None
    assert w.controller.licenses.used == {"a": 0, "b": 0}


def test_cpus_for_the_tasks_there_are() -> None:
    """``-N3 -n10 -c2 --ntasks-per-node=4``: 24.11 deals the ten tasks out."""
    ask = Ask(3, 3, 3, 20, False, 8, 1, False, 8, False)
    assert distribute(ask, [8, 8, 8], 2, 4, [1, 1, 1]) == [8, 8, 8]
    assert distribute(ask, [8, 8, 8], 2, 4, [1, 1, 1], 10) == [8, 6, 6]
    assert [rules_of(release).deals_tasks for release in RELEASES] == [False, True, False]


@pytest.mark.parametrize(("release", "together"), [("22.05", True), ("24.11", False), ("26.05", False)])
def test_whether_a_dependent_job_starts_in_the_pass_of_what_it_waits_for(release: str, together: bool) -> None:
    w = World(simple(2, more=BASIC), "builtin", release=release)
    w.sbatch("-J running -N2 -t 10", run=100)
    first = w.sbatch("-J first -N1 -t 10", run=50, at=5)
    w.sbatch(f"-J second -N1 -t 10 -d after:{first}", run=50, at=6)
    w.until(1000)
    assert (w.start("first") == w.start("second")) is together
    assert w.start("second") is not None
