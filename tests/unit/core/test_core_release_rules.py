"""Decisions in which the releases of Slurm differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from world import World, simple

from slurmsim.bitmap import runs
from slurmsim.core.placement.best_fit import distribute
from slurmsim.core.records.messages import CreateReservation, Hold
from slurmsim.core.records.release_rules import rules_of
from slurmsim.model.accounting import Accounting, Association
from slurmsim.model.reservation import ReservationSpec

RELEASES = ("22.05", "24.11", "26.05")
UNAVAILABLE = "Requested node configuration is not available"
PROBLEM = "Job dependency problem"
PRIORITY = "PriorityType=priority/basic\n"
BASIC = f"SchedulerType=sched/builtin\n{PRIORITY}"


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
    assert rules_of("22.11") == rules_of("22.05.8") == rules_of("22.05") == rules_of("20.11")
    assert rules_of("24.11.5") == rules_of("24.11") == rules_of("25.02")
    assert rules_of("26.05.5") == rules_of("26.05")


def test_some_rules_know_releases_between() -> None:
    assert rules_of("23.02").all_periods_collide and not rules_of("23.02").license_equals
    assert rules_of("23.11").license_equals and not rules_of("23.11").ranks_requeued_anew
    assert rules_of("25.11").attracts_what_fits and not rules_of("25.05").attracts_what_fits
    assert rules_of("25.05").limits_of_another_qos and not rules_of("24.11").limits_of_another_qos


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
    assert distribute(20, 8, [8, 8, 8], 2, 4, [1, 1, 1]) == [8, 8, 8]
    assert distribute(20, 8, [8, 8, 8], 2, 4, [1, 1, 1], 10) == [8, 6, 6]
    assert [rules_of(release).deals_tasks for release in RELEASES] == [False, True, False]


def test_whole_tasks_where_memory_is_asked_for_a_node() -> None:
    conf = simple(4, 8, more="SelectTypeParameters=CR_Core_Memory").replace("CPUs=8", "CPUs=8 RealMemory=1000")
    given = []
    for release in RELEASES:
        w = World(conf, "backfill", release=release)
        w.sbatch("-J one -n6 -c3 --mem=100 -t 10", run=100)
        w.until(5)
        alloc = w["one"].alloc
        assert alloc is not None
        given.append([int(cpus) for cpus in np.broadcast_to(alloc.cpus, alloc.n_nodes)])
    assert given == [[8, 6, 3], [6, 6, 6], [6, 6, 6]]


@pytest.mark.parametrize(("release", "together"), [("22.05", True), ("24.11", False), ("26.05", False)])
def test_whether_a_dependent_job_starts_in_the_pass_of_what_it_waits_for(release: str, together: bool) -> None:
    w = World(simple(2, more=BASIC), "builtin", release=release)
    w.sbatch("-J running -N2 -t 10", run=100)
    first = w.sbatch("-J first -N1 -t 10", run=50, at=5)
    w.sbatch(f"-J second -N1 -t 10 -d after:{first}", run=50, at=6)
    w.until(1000)
    assert (w.start("first") == w.start("second")) is together
    assert w.start("second") is not None


def each_release(script: list[tuple[int, str]], nodes: int) -> list[World]:
    """The world of each release after the first cycles of backfill, everybody being planned."""
    worlds = []
    for release in RELEASES:
        w = World(simple(nodes, 1, more=PRIORITY), "backfill", release=release, plan_all=True)
        for at, line in script:
            w.sbatch(line, run=5000, at=at)
        w.until(100)
        worlds.append(w)
    return worlds


def test_what_ends_before_the_instant_tried_is_gone() -> None:
    """c is tried when b's plan ends. 22.05 asks for what is idle even now, 24.11 for all that is free then."""
    script = [(0, "-J a -w n[1-2] -N2 -t 10"), (0, "-J b -N4 -t 1"), (0, "-J c -N2 -t 20")]
    assert [w.planned("c")[1] for w in each_release(script, 4)] == ["n[3-4]", "n[1-2]", "n[1-2]"]


def test_a_plan_begins_with_the_last_end_on_its_nodes() -> None:
    """Both jobs are supposed gone at once; before 26.05 the later end counts, whatever is chosen."""
    script = [(0, "-J a -w n1 -N1 -t 10"), (20, "-J b -w n2 -N1 -t 10"), (40, "-J c -N1 -t 5")]
    found = []
    for w in each_release(script, 2):
        ends = {w["a"].end_limit: "a", w["b"].end_limit: "b"}
        start, nodes = w.planned("c")
        found.append((ends[start], nodes))
    assert found == [("b", "n1"), ("b", "n1"), ("a", "n1")]


def test_nodes_of_one_user_are_planned_with_for_when_they_are_free() -> None:
    """Somebody has n1 to himself for ten minutes; 22.05 plans as if that went on."""
    found = []
    for release in RELEASES:
        w = World(simple(3, 2, more=PRIORITY), "backfill", release=release, plan_all=True)
        w.sbatch("-J own -w n1 -n1 --exclusive=user -t 10", run=5000, user="bob")
        w.sbatch("-J other -w n2 -n1 -t 20", run=5000, user="bob")
        w.sbatch("-J first -N2 --exclusive -t 5", run=50, at=5)
        w.sbatch("-J all -N3 --exclusive -t 5", run=50, at=5)
        w.until(100)
        ends = {w[name].end_limit: name for name in ("own", "other")}
        (start, nodes), (last, everywhere) = w.planned("first"), w.planned("all")
        found.append((ends[start], nodes, last is not None and (ends[last], everywhere)))
    assert found == [("other", "n[2-3]", False), *[("own", "n[1,3]", ("other", "n[1-3]"))] * 2]


@pytest.mark.parametrize(("line", "nodes"), [("-N1", "n4 n4 n1"), ("-n1", "n4 n4 n1"), ("-N2", "n[1-2] n[1-2] n[1-2]")])
def test_a_job_of_one_node_gets_the_first_or_the_tightest_fit(line: str, nodes: str) -> None:
    found = []
    for release in RELEASES:
        w = World(simple(4, 2), "backfill", release=release)
        w.sbatch("-J busy -w n3 -N1 --exclusive -t 10", run=100)
        w.sbatch(f"-J asked {line} -t 10", run=100)
        w.until(5)
        found.append(w.nodes("asked"))
    assert found == nodes.split()


def test_priorities_are_recalculated_without_slurmdbd() -> None:
    """And whole nodes count with all their CPUs once backfill has tried the job: (2/4 + 8/16)/2 for (2/4 + 2/16)/2."""
    more = "PriorityType=priority/multifactor\nPriorityWeightJobSize=1000\nPriorityCalcPeriod=1\n"
    found = []
    for release in RELEASES:
        w = World(simple(4, 4, more=more), "backfill", release=release)
        w.sbatch("-J a -N4 --exclusive -t 10", run=500)
        w.sbatch("-J b -N2 --exclusive -t 10", run=100)
        w.until(50)
        before = w["b"].priority
        w.until(70)
        found.append((before, w["b"].priority))
    assert found == [(312, 312), (312, 500), (312, 500)]


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_a_pass_of_the_second_in_which_priorities_are_recalculated_comes_before(release: str) -> None:
    """By the CPUs backfill found for it b goes before c, 750 to 500; as long as it has 469, c does."""
    more = "PriorityType=priority/multifactor\nPriorityWeightJobSize=1000\nPriorityCalcPeriod=1\n"
    for run, first in ((56, "c"), (57, "c"), (58, "b")):  # the pass follows 3 s later
        w = World(simple(4, 4, more=more), "backfill", release=release)
        w.sbatch("-J a -N4 --exclusive -t 10", run=run)
        w.sbatch("-J b -N3 --exclusive -t 10", run=100)
        w.sbatch("-J c -N2 -n8 --exclusive -t 10", run=100)
        w.until(run + 10)
        assert {name for name in "bc" if w.state(name) == "RUNNING"} == {first}, run


def test_plans_of_a_throttled_array() -> None:
    """22.05 plans all tasks as long as one may start, 24.11 as many as the throttle lets run: d finds nodes sooner."""
    script = [(0, "-J a -N4 -t 10"), (0, "-J b -N1 -t 20 -a 1-4%2"), (0, "-J d -N1 -t 5")]
    found = []
    for w in each_release(script, 4):
        first = w["a"].end_limit
        start, nodes = w.planned("d")
        found.append((start == first or start - first < 60, nodes))
    assert found == [(False, "n1"), (True, "n3"), (True, "n3")]


def test_how_long_a_job_with_a_minimum_time_may_run() -> None:
    """As long as no plan is for its node, since 26.05: b is to start on all nodes after 8 minutes."""
    found = []
    for release in RELEASES:
        w = World(simple(3, 1, more=PRIORITY), "backfill", release=release)
        w.sbatch("-J a -N2 -t 8", run=2000)
        w.sbatch("-J b -N3 -t 5", run=100, at=5)
        w.sbatch("-J c -N1 -t 30 --time-min=2", run=100, at=9)
        w.until(60)
        assert w.start("c") is not None
        found.append(w["c"].time_limit_s // 60)
    assert found == [2, 2, 7]


@pytest.mark.parametrize(
    ("more", "reservation", "seconds"),
    [
        ("", {"nodes": ("n2",)}, 540),
        ("", {"nodes": ("n2",), "flags": frozenset({"FLEX", "MAINT", "IGNORE_JOBS"})}, 540),
        ("", {"nodes": ("n2",), "core_counts": (1,)}, 540),  # of reserved cores all of the node counts
        ("", {"nodes": ("n3",)}, 1800),
        ("", {"nodes": ("n2",), "start": 195}, 120),  # whole minutes
        ("-L a:1", {"nodes": ("n3",), "licenses": (("a", 1),)}, 540),
        ("-L b:1", {"nodes": ("n3",), "licenses": (("a", 1),)}, 1800),
    ],
)  # fmt: skip
def test_a_minimum_time_is_extended_up_to_a_reservation(more: str, reservation: dict[str, Any], seconds: int) -> None:
    """Flags do not matter, nor how many cores or licenses are kept (job_time_adj_resv, read in 26.05)."""
    w = World(simple(3, 2, more="Licenses=a:2,b:2\nSchedulerParameters=bf_interval=30"), "backfill", release="26.05")
    w.sbatch("-J head -w n1 -N1 -t 60 --exclusive", 3600, at=0)
    wish = {"start": 590, "end": 1200, "users": ("bob",), "flags": frozenset({"IGNORE_JOBS"}), **reservation}
    w.tell(CreateReservation(ReservationSpec("r", **wish)), at=1)
    w.sbatch("-J waits -N2 -w n[1-2] -t 60 --exclusive", 3600, at=2)
    w.sbatch(f"-J short -w n2 -N1 -n1 -c2 -t 30 --time-min=2 {more}", 3600, at=3)
    w.until(120)
    assert w["short"].time_limit_s == seconds


def test_what_begins_behind_the_window_is_not_looked_at() -> None:
    """Seen on each release: a reservation of three hours, and a window of one."""
    found = []
    for release in RELEASES:
        w = World(simple(4, 1, more="SchedulerParameters=bf_window=60"), "backfill", plan_all=True, release=release)
        spec = ReservationSpec("r", 120, 10920, users=("bob",), flags=frozenset({"IGNORE_JOBS"}), nodes=("ALL",))
        w.tell(CreateReservation(spec), at=1)
        w.sbatch("-J a -N1 -t 10", run=100, at=2)
        w.until(100)
        found.append(w.planned("a")[0])
    assert found == [10920, None, None]


def test_a_plan_that_begins_as_before_may_have_other_nodes() -> None:
    w = World(simple(4, 1, more=PRIORITY), "backfill", plan_all=True)
    w.sbatch("-J a -N4 -t 10", run=2000)
    w.sbatch("-J b -N2 -t 10", run=100, at=5)
    w.sbatch("-J c -N2 -t 10", run=100, at=6)
    w.until(70)
    before = w.planned("c")
    w.tell(Hold(w["b"].id, admin=True), 71)
    w.until(140)
    assert before[1] == "n[3-4]"
    assert w.planned("c") == (before[0], "n[1-2]")
    assert not w["b"].planned_nodes


def test_which_nodes_a_new_reservation_gets() -> None:
    """24.11 the ones running jobs leave first, 26.05 the lightest that will be free; a job of one node ends sooner."""
    found = []
    for release in RELEASES:
        w = World(simple(4, 1), "backfill", release=release)
        for node, limit in (("n1", 30), ("n2", 20), ("n3", 5), ("n4", 10)):
            w.sbatch(f"-N1 -w {node} -t {limit}", run=5000)
        w.until(5)
        w.tell(CreateReservation(ReservationSpec("r", 7200, 10800, users=("alice",), node_counts=(1,))), 6)
        w.until(7)
        found.append(w.controller.state.cluster.namer.runs(runs(w.controller.state.reserved.all[0].nodes)))
    assert found == ["n1", "n3", "n1"]


def test_a_reservation_of_more_nodes_than_there_are() -> None:
    found = []
    for release in RELEASES:
        w = World(simple(2, 4), "backfill", release=release)
        w.tell(CreateReservation(ReservationSpec("r", 7200, 10800, users=("alice",), node_counts=(3,))), 1)
        w.until(2)
        found.append([r.nodes.bit_count() for r in w.controller.state.reserved.all])
    assert found == [[2], [], []]


def test_the_priority_thread_begins_before_backfill() -> None:
    """Where somebody looks; in 22.05 it begins behind backfill, and before the main scheduler's loop."""
    data = Accounting((Association("root"), Association("sci", parent="root"), Association("sci", "alice")), ())
    for release, between in (("22.05", True), ("24.11", False), ("26.05", False)):
        more = "PriorityType=priority/multifactor\nAccountingStorageType=accounting_storage/slurmdbd"
        w = World(simple(1, more=more), "backfill", plan_all=True, accounting=data, release=release)
        recalculation = w.controller.recalculation
        assert (recalculation.between, recalculation.after_passes) == (between, not between)
