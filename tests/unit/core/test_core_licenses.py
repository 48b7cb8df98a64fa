"""Licenses under every policy, those reservations keep, bf_licenses; deadlines and minimum times."""

from __future__ import annotations

import pytest
from properties.verdict import approve
from world import World, simple

from slurmsim.core.records.messages import CreateReservation, Requeue, UpdateReservation
from slurmsim.model.reservation import ReservationSpec
from slurmsim.tres import parse_licenses

POLICIES = ("backfill", "builtin", "easy", "conservative", "fcfs")
EVENT_DRIVEN = ("easy", "conservative", "fcfs")


@pytest.mark.parametrize("text", ["a:", "a:-1", ":2", "a|b", "a b", "a:1:2"])
def test_what_is_no_license_request(text: str) -> None:
    with pytest.raises(ValueError, match="is no license and count"):
        parse_licenses(text)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_job_that_lacks_one_blocks_nobody(policy: str) -> None:
    w = World(simple(4, more="Licenses=a:2,b"), policy)
    w.sbatch("-J first -N1 -L a:2 -t 10", 300, at=0)
    w.sbatch("-J lacks -N1 -L a:1,b -t 10", 300, at=0)
    w.sbatch("-J plain -N1 -t 10", 300, at=0)
    w.sbatch("-J other -N1 -L b -t 10", 30, at=0)
    w.sbatch("-J never -N1 -L b:2 -t 10", 30, at=0)
    w.until(20)
    assert w.refused == {"never": "Invalid license specification"}
    assert None not in (w.start("first"), w.start("plain"), w.start("other"))
    assert w.reason("lacks") == "Licenses"
    w.until(1000)
    assert w["first"].end_time <= w.start("lacks") <= w["first"].end_time + 3
    assert w.controller.licenses.used == {"a": 0, "b": 0}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_requeued_job_gives_its_licenses_back(policy: str) -> None:
    w = World(simple(2, more="Licenses=a"), policy)
    w.sbatch("-J one -N1 -L a -t 10", 60, at=0)
    w.sbatch("-J two -N1 -L a -t 10", 60, at=0)
    w.tell(Requeue(1), 20)
    w.until(1000)
    assert w.start("two") in range(20, 24)
    assert w["one"].restarts == 1 and w.state("one") == "COMPLETED"
    assert w.start("one") >= 141


@pytest.mark.parametrize(
    ("asked", "kept"),
    [("mat", "mat@flex:1"), ("mat:5,flu", "mat@flex:5;flu:1"), ("mat@flex", "mat@flex"), ("two", "two:1"),
     ("flu:2|mat", "flu:2|mat@flex:1"), ("flu@flex:3,flu", "flu@flex:3;flu:1"), ("a b", "a b"), ("", "")],
)  # fmt: skip
def test_the_server_of_a_remote_license_may_be_left_out(asked: str, kept: str) -> None:
    """As 26.05 keeps such requests: a license of the cluster comes first, and of two servers neither is meant."""
    w = World(simple(2, more="Licenses=flu:9\nLicenseParameters=RemoteFuzzyMatch"), "backfill", release="26.05")
    for name in ("mat@flex", "flu@flex", "two@a", "two@b"):
        w.controller.licenses.set_remote(name, 10, 0, 0, 0)
    assert w.controller.licenses.spelled(asked) == kept
    plain = World(simple(2, more="Licenses=flu:9"), "backfill", release="26.05").controller.licenses
    assert plain.spelled(asked) == asked and not plain.fuzzy


def test_licenses_a_reservation_keeps() -> None:
    """Outside jobs whose limit reaches into the reservation get what it leaves."""
    w = World(simple(4, more="Licenses=a:3"), "backfill")
    spec = ReservationSpec("r", 600, 1200, licenses=(("a", 2),), users=("bob",), flags=frozenset({"ANY_NODES"}))
    w.tell(CreateReservation(spec), 0)
    w.sbatch("-J short -N1 -L a:2 -t 5", 60, at=10)
    w.sbatch("-J long -N1 -L a:2 -t 20", 60, at=10)
    w.sbatch("-J one -N1 -L a:1 -t 20", 1000, at=10)
    w.sbatch("--reservation=r -J in -N1 -L a:2 -t 5", 60, at=10, user="bob")
    w.until(100)
    assert w.start("short") == 10 and w.start("one") in range(70, 74)  # two are kept, one is left
    assert w.reasons("long in") == {"long": "Licenses", "in": "Reservation"}
    w.until(2000)
    assert w.start("in") in range(600, 606)
    assert w.start("long") in range(1200, 1261)
    w.tell(UpdateReservation("r", licenses=(("a", 9),)), 2001)
    w.until(2001)
    assert w.refused == {"r": "Requested reservation is invalid"}  # gone


def test_bf_licenses_plans_with_them() -> None:
    """With bf_licenses a job gets a planned start when licenses come back, and nobody starts who would delay it."""
    parameters = "SchedulerParameters=bf_interval=10,bf_licenses"
    w = World(simple(4, more=f"Licenses=a:2\n{parameters}"), "backfill", plan_all=True)
    w.sbatch("-J holds -N1 -L a:1 -t 10", 2000, at=0)
    w.until(10)
    w.sbatch("-J both -N1 -L a:2 -t 10", 60, at=10)
    w.sbatch("-J long -N1 -L a:1 -t 30", 60, at=10)
    w.sbatch("-J short -N1 -L a:1 -t 5", 60, at=10)
    w.sbatch("-J plain -N1 -t 30", 60, at=10)
    w.until(60)
    assert w.planned("both")[0] == 600  # the end of `holds`, rounded down
    assert w.start("short") in range(10, 31) and w["short"].scheduler == "Backfill"
    assert w.start("plain") in range(10, 31)
    assert w.planned("long")[0] == 1200  # behind `both`
    assert w.reason("both") == "Licenses"


@pytest.mark.parametrize("policy", POLICIES)
def test_a_deadline_that_cannot_be_kept_ends_the_job(policy: str) -> None:
    w = World(simple(1), policy)
    w.sbatch("-J runs -N1 -t 10", 590, at=0)
    w.sbatch("-J late -N1 -t 5 --deadline=600", 60, at=5)
    w.sbatch("-J open -N1 --deadline=800", 600, at=6)
    w.until(2000)
    assert (w.state("late"), w.reason("late")) == ("DEADLINE", "DeadLine")
    assert w.start("late") is None and w["late"].exit_code == "0:1"
    assert w["late"].end_time == 301 if policy in EVENT_DRIVEN else w["late"].end_time >= 301
    # without a limit it gets the whole minutes that are left
    assert w.state("open") == "TIMEOUT"
    assert w["open"].time_limit_s == (800 - w.start("open")) // 60 * 60


@pytest.mark.parametrize("policy", ["eos", "titan", "bins", *EVENT_DRIVEN])
def test_a_job_that_ends_as_it_is_tried_is_not_planned(policy: str) -> None:
    """Tasks of an array come into the queue while the policy is at work, and cannot keep their deadline."""
    w = World(simple(3, 4), policy)
    w.sbatch("-J one -N1 -t 2 --deadline=280", 60, at=160)
    w.sbatch("-J two -N1 -t 5", 60, at=160)
    w.sbatch("-J late -N1 -t 2 --deadline=260 -a 1-3%1", 60, at=160)
    w.until(2000)
    assert [w.state(f"late_{task}") for task in (1, 2, 3)] == ["DEADLINE"] * 3
    approve(w.controller, list(w.all.values()), w.controller.state.events)
    assert not [event for event in w.controller.state.events if event[1] == "PLAN" and event[3] != "PENDING"]


@pytest.mark.parametrize(("release", "state"), [("22.05", "PENDING"), ("24.11", "DEADLINE"), ("26.05", "DEADLINE")])
def test_a_held_job_misses_its_deadline_too(release: str, state: str) -> None:
    w = World(simple(2), "backfill", release=release)
    w.sbatch("-J held -H -N1 -t 5 --deadline=600", 60, at=5)
    w.until(359)
    assert w.state("held") == "PENDING"
    w.until(361)
    assert w.state("held") == state


def test_a_deadline_with_a_minimum_time() -> None:
    w = World(simple(1), "backfill")
    w.sbatch("-J runs -N1 -t 10", 590, at=0)
    w.sbatch("-J cut -N1 -t 60 --time-min=2 --deadline=1000", 600, at=5)
    w.until(3000)
    assert w.start("cut") in range(590, 604)
    assert w["cut"].time_limit_s == (1000 - w.start("cut")) // 60 * 60
    assert w.state("cut") == "TIMEOUT"


def test_backfill_takes_the_minimum_where_the_limit_is_too_long() -> None:
    """A limit beyond MaxTime is no obstacle to backfill when the minimum is inside it."""
    w = World(simple(1, partition="").replace("MaxTime=UNLIMITED", "MaxTime=10"), "backfill")
    w.sbatch("-J long -N1 -t 60 --time-min=5", 60, at=0)
    w.until(40)
    assert w.start("long") is not None and w["long"].time_limit_s == 300
